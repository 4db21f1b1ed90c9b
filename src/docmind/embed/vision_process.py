"""A model's child process from outside: frames from any thread, each answered on its own."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from docmind.errors import WorkerFailedError
from docmind.worker import Frame, Limits, Worker

_ENTRY = "docmind.embed.vision_serve:serve"
_FOREVER_S = 10 * 365 * 86_400.0


class VisionProcess:
    """One process. Threads may share it. It ends after `idle_s` seconds in which nobody asked."""

    def __init__(self, idle_s: float) -> None:
        # It reads weights and writes nothing, but torch tries a folder for temporary files with a few bytes as it is
        # imported; on other systems graphics drivers keep compiled programs.
        self._worker = Worker(_ENTRY, Limits(file_mb=1 if sys.platform == "linux" else -1))
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Frame]] = {}
        self._asked = 0
        self._used_s = time.monotonic()
        self._ended = threading.Event()
        threading.Thread(target=self._hand_out, name="vision answers", daemon=True).start()
        threading.Thread(target=self._end_when_idle, args=(idle_s,), name="vision idle", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._worker.pid

    @property
    def is_alive(self) -> bool:
        return not self._ended.is_set() and self._worker.is_alive

    def ask(self, header: dict[str, Any], blobs: Sequence[bytes] = (), *, timeout_s: float) -> Frame | None:
        """Send one frame and wait for its answer; None where the process had ended before it was asked.

        Raises `WorkerFailedError` where the process has gone, and where it takes longer than `timeout_s`: then it is
        stopped, and all other questions with it.
        """
        answer: Future[Frame] = Future()
        with self._lock:
            if self._ended.is_set():
                return None
            self._asked += 1
            number = self._asked
            self._waiting[number] = answer
            self._used_s = time.monotonic()
            self._worker.send({"id": number, **header}, blobs)
        try:
            return answer.result(timeout_s)
        except TimeoutError as error:
            self.end()
            raise WorkerFailedError(f"it took longer than {timeout_s:.0f} s and was stopped") from error

    def end(self) -> None:
        """End it at once; who waits for an answer is told so."""
        self._ended.set()
        self._worker.kill()

    def _hand_out(self) -> None:
        """Give each answer to the thread that waits for it, until the process is gone."""
        while True:
            try:
                header, blobs = self._worker.receive(_FOREVER_S)
            except WorkerFailedError as error:
                reason = WorkerFailedError("it was stopped" if self._ended.is_set() else str(error))
                break
            with self._lock:
                self._used_s = time.monotonic()
                answer = self._waiting.pop(number, None) if isinstance(number := header.get("id"), int) else None
            if answer is not None:
                answer.set_result((header, blobs))
        with self._lock:
            self._ended.set()
            left, self._waiting = list(self._waiting.values()), {}
        self._worker.kill()
        for answer in left:
            answer.set_exception(reason)

    def _end_when_idle(self, idle_s: float) -> None:
        while not self._ended.wait(min(idle_s / 4, 15.0)):
            with self._lock:
                is_idle = not self._waiting and time.monotonic() - self._used_s > idle_s
                if is_idle:
                    self._ended.set()
            if is_idle:
                self._worker.kill()
