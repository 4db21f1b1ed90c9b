"""The library that a command has open, for other processes of its user meanwhile.

Short, because each command imports it: the server is `docmind.api.door`, which the first connection loads. Until then a
thread waits at a socket, which costs nothing.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from docmind.access import COMMAND_SOCKET, Launch, RunningApp, announce, listen_private, remove_socket, withdraw
from docmind.errors import DocMindError

if TYPE_CHECKING:
    from docmind.api.door import Door
    from docmind.application import DocMind

AFTER_S = 0.3
"""A library that is open for less is not shared: whoever wants it waits for the moment."""

_TOLD_S = 1.0  # until it is told that requests are waited for
_FORCED_S = 5.0
_log = logging.getLogger(__name__)


class Sharing:
    """Serves an open library to the processes of its user, from a thread, until `close`."""

    def __init__(self, data_dir: Path, docmind: DocMind, *, after_s: float = AFTER_S) -> None:
        """Begin in `after_s` seconds. For the owner of the library's lock alone."""
        self._data_dir, self._docmind, self._after_s = data_dir, docmind, after_s
        self._stopping = threading.Event()
        self._wake, self._woken = socket.socketpair()
        self._door: Door | None = None
        self._thread = threading.Thread(target=self._run, name="sharing", daemon=True)
        self._thread.start()

    @property
    def idle_s(self) -> float:
        """How long nobody has asked for anything, in seconds; infinite where nobody ever has."""
        door = self._door
        return door.idle_s if door is not None else float("inf")

    def close(self, waits: Callable[[], object] = lambda: None) -> None:
        """Answer what was asked, then stop serving; `waits` is called where that takes a while. Idempotent.

        A `KeyboardInterrupt` meanwhile ends the waiting.
        """
        self._stopping.set()
        with contextlib.suppress(OSError):  # it was closed
            self._wake.send(b"x")
        try:
            self._thread.join(_TOLD_S)
            if self._thread.is_alive():
                waits()
                self._thread.join()
        except KeyboardInterrupt:
            if self._door is not None:
                self._door.force()
            self._thread.join(_FORCED_S)
            raise

    def _run(self) -> None:
        try:
            if not self._stopping.wait(self._after_s):
                self._serve()
        except (OSError, DocMindError) as error:  # the command goes on: the library is its own until it ends
            _log.warning("Other commands can't use the library meanwhile: %s", error)
        finally:
            self._wake.close()
            self._woken.close()

    def _serve(self) -> None:
        launch = Launch()
        private = listen_private(self._data_dir, COMMAND_SOCKET)
        listening, path = private or (socket.create_server(("127.0.0.1", 0), backlog=64), None)
        local = "" if path is not None else f"http://127.0.0.1:{listening.getsockname()[1]}/"
        told = RunningApp("", local, launch.secret, True, os.getpid(), str(path or ""))
        try:
            announce(self._data_dir, told)
            try:
                if self._is_wanted(listening):
                    self._answer(listening, launch, told)
            finally:
                withdraw(self._data_dir, told)
        finally:
            listening.close()
            if path is not None:
                remove_socket(path)

    def _is_wanted(self, listening: socket.socket) -> bool:
        """Wait for the first connection; return False where none comes before `close`."""
        ready, _unused, _none = select.select([listening, self._woken], [], [])
        return listening in ready and not self._stopping.is_set()

    def _answer(self, listening: socket.socket, launch: Launch, told: RunningApp) -> None:
        import asyncio  # 80 ms

        from docmind.api.door import Door

        door = self._door = Door(listening, launch, lambda: self._docmind)

        def stop_when_told() -> None:
            self._stopping.wait()
            try:
                withdraw(self._data_dir, told)  # who comes now waits for the library itself
            finally:
                door.stop()

        stopping = threading.Thread(target=stop_when_told, name="sharing ends", daemon=True)
        stopping.start()
        asyncio.run(door.serve())
