"""Chromium's own protocol (CDP) over its pipe: JSON messages, each ended by a zero byte.

A thread reads ahead, so that Chromium never waits for us to take what it says while we wait for it to take what we say.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from docmind.errors import WorkerFailedError
from docmind.readers.chromium import Chromium

Message = dict[str, Any]

_PIECE = 1 << 20
_LARGEST = 1 << 30  # of one message
_TICK_S = 1.0


class Pipe:
    """Commands and events. Use it from one thread.

    Events go to `heard`; once a second of waiting, `tick` is called. What it raises ends the wait.
    """

    def __init__(self, chromium: Chromium, heard: Callable[[Message], None], tick: Callable[[], None]) -> None:
        self._chromium, self._heard, self._tick = chromium, heard, tick
        self._number = 0
        self._messages: queue.Queue[Message | None] = queue.Queue()
        threading.Thread(target=self._read, args=(chromium.incoming,), name="chromium", daemon=True).start()

    def send(self, method: str, parameters: Message | None = None, session: str = "") -> int:
        """Send a command and do not wait; returns its number. Raises `WorkerFailedError`."""
        self._number += 1
        message: Message = {"id": self._number, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        data = memoryview(json.dumps(message).encode() + b"\0")
        try:
            while data:
                data = data[os.write(self._chromium.outgoing, data) :]
        except OSError as error:
            raise WorkerFailedError(self._chromium.obituary()) from error
        return self._number

    def call(self, method: str, parameters: Message | None = None, *, session: str = "", until: float) -> Message:
        """Send a command and wait for its answer. Raises `WorkerFailedError`, also when `until` (monotonic) is over."""
        number = self.send(method, parameters, session)
        answer = self.wait(lambda message: message.get("id") == number, until)
        if "error" in answer:
            raise WorkerFailedError(f"Chromium refused {method} ({str(answer['error'].get('message'))[:120]})")
        return answer.get("result", {})

    def wait(self, is_wanted: Callable[[Message], bool], until: float) -> Message:
        """The first message that is wanted; those before it go to `heard`. Raises `WorkerFailedError`."""
        while True:
            remaining = until - time.monotonic()
            if remaining <= 0:
                raise WorkerFailedError("Chromium took too long over a chapter")
            try:
                message = self._messages.get(timeout=min(_TICK_S, remaining))
            except queue.Empty:
                self._tick()
                continue
            if message is None:
                raise WorkerFailedError(self._chromium.obituary())
            if is_wanted(message):
                return message
            self._heard(message)

    def close(self) -> None:
        """Close our end, which asks Chromium to end."""
        with contextlib.suppress(OSError):
            os.close(self._chromium.outgoing)

    def _read(self, incoming: int) -> None:
        waiting, seen = bytearray(), 0
        try:
            while (piece := os.read(incoming, _PIECE)) and len(waiting) < _LARGEST:
                waiting += piece
                while (end := waiting.find(0, seen)) >= 0:
                    message = json.loads(waiting[:end])
                    del waiting[: end + 1]
                    seen = 0
                    if isinstance(message, dict):
                        self._messages.put(message)
                seen = len(waiting)
        except (OSError, ValueError, RecursionError, MemoryError):
            waiting.clear()  # torn or absurd: the same as a pipe that was closed
        finally:
            self._messages.put(None)
            with contextlib.suppress(OSError):
                os.close(incoming)
