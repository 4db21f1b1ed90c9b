"""Printing of book pages to PDF in Chromium, controlled through its pipe.

Scripts are off, and requests are answered from memory only.

Chromium's own protocol (CDP) is JSON messages, each ended by a zero byte. A thread reads ahead, so that there is no
deadlock where both sides wait for the other to read.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from docmind.errors import WorkerFailedError
from docmind.reading.chromium.browser import NOWHERE, Chromium, memory_mb

Message = dict[str, Any]

_PIECE = 1 << 20
_LARGEST_MESSAGE = 1 << 30  # of one message
_TICK_S = 1.0


class Pipe:
    """A CDP connection for commands and events. Use it from one thread.

    Events go to `heard`; while waiting, `tick` is called once a second. What it raises ends the wait.
    """

    def __init__(self, chromium: Chromium, heard: Callable[[Message], None], tick: Callable[[], None]) -> None:
        self._chromium, self._heard, self._tick = chromium, heard, tick
        self._number = 0
        self._messages: queue.Queue[Message | None] = queue.Queue()
        threading.Thread(target=self._read, args=(chromium.incoming,), name="chromium", daemon=True).start()

    def send(self, method: str, parameters: Message | None = None, session: str = "") -> int:
        """Send a command without waiting, and return its number. Raises `WorkerFailedError`."""
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
        """Send a command and return its answer.

        Raises `WorkerFailedError`, also after `until` (monotonic).
        """
        number = self.send(method, parameters, session)
        answer = self.wait(lambda message: message.get("id") == number, until)
        if "error" in answer:
            raise WorkerFailedError(f"Chromium refused {method} ({str(answer['error'].get('message'))[:120]})")
        return answer.get("result", {})

    def wait(self, is_wanted: Callable[[Message], bool], until: float) -> Message:
        """Return the first message that is wanted; earlier ones go to `heard`.

        Raises `WorkerFailedError`.
        """
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
            while (piece := os.read(incoming, _PIECE)) and len(waiting) < _LARGEST_MESSAGE:
                waiting += piece
                while (end := waiting.find(0, seen)) >= 0:
                    message = json.loads(waiting[:end])
                    del waiting[: end + 1]
                    seen = 0
                    if isinstance(message, dict):
                        self._messages.put(message)
                seen = len(waiting)
        except (OSError, ValueError, RecursionError, MemoryError):
            waiting.clear()  # invalid: treated as a closed pipe
        finally:
            self._messages.put(None)
            with contextlib.suppress(OSError):
                os.close(incoming)


# Scripts are off already, and so is the network: this says it a third time, to the page itself. Without
# `allow-scripts`, `sandbox` also stops a page that would send its reader elsewhere.
_POLICY = (
    "default-src 'none'; img-src 'self' data:; style-src 'self' 'unsafe-inline' data:; font-src 'self' data:;"
    " base-uri 'none'; form-action 'none'; sandbox allow-same-origin"
)
_START_S = 30.0
_LARGEST = 64 * 2**20  # of one part; Chromium takes messages up to 256 MB
_WATCH_S = 0.5


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource that Chromium may request: its type and its bytes."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Paper:
    """The size and margin of the sheets in inches."""

    width: float = 5.83  # A5
    height: float = 8.27
    margin: float = 0.6


class Press:
    """Printer of book pages, one after the other. Use it from one thread.

    `tick` is called once a second while it waits; what it raises ends the wait. A Chromium that uses more than
    `most_mb` is ended.
    """

    def __init__(self, chromium: Chromium, most_mb: int, tick: Callable[[], None]) -> None:
        """Connect to Chromium and open a page. Raises `WorkerFailedError` where it does not answer."""
        self._chromium, self._most_mb = chromium, most_mb
        self._serve: Callable[[str], Resource | None] = lambda path: None
        self._loaded = self._is_too_large = False
        self._session = self._context = ""
        self._over = threading.Event()
        self._pipe = Pipe(chromium, self._heard, tick)
        threading.Thread(target=self._watch_memory, name="chromium memory", daemon=True).start()
        self.renew()

    def renew(self) -> None:
        """Open a new page with a new renderer process, also where the previous one hangs or crashed.

        Raises `WorkerFailedError` where Chromium as a whole has failed.
        """
        until = time.monotonic() + _START_S
        self._session = ""  # events of the previous page are ignored
        try:
            if self._context:
                self._pipe.send("Target.disposeBrowserContext", {"browserContextId": self._context})
            self._open(until)
        except KeyError as error:
            raise WorkerFailedError("Chromium opened no page") from error
        except WorkerFailedError as error:
            raise self._explained(error) from error

    def _open(self, until: float) -> None:
        # A separate context keeps cookies, storage and caches in memory.
        context = self._pipe.call("Target.createBrowserContext", {"disposeOnDetach": True}, until=until)
        self._context = str(context["browserContextId"])
        where = {"url": "about:blank", "browserContextId": self._context}
        target = self._pipe.call("Target.createTarget", where, until=until)["targetId"]
        attached = self._pipe.call("Target.attachToTarget", {"targetId": target, "flatten": True}, until=until)
        self._session = str(attached["sessionId"])
        for method, parameters in (
            ("Page.enable", {}),
            ("Inspector.enable", {}),
            ("Emulation.setScriptExecutionDisabled", {"value": True}),
            ("Emulation.setEmulatedMedia", {"media": "print"}),
            ("Fetch.enable", {"patterns": [{"urlPattern": "*"}]}),
        ):
            self._pipe.call(method, parameters, session=self._session, until=until)

    def print(self, path: str, serve: Callable[[str], Resource | None], paper: Paper, until: float) -> bytes:
        """Return the page at `path` as PDF.

        `serve` gives the resource of every path including this one, or None.

        Raises `WorkerFailedError`, also after `until` (monotonic).
        """
        self._serve, self._loaded = serve, False
        try:
            url = f"https://{NOWHERE}/{quote(path)}"
            gone = self._pipe.call("Page.navigate", {"url": url}, session=self._session, until=until).get("errorText")
            if gone:
                raise WorkerFailedError(f"Chromium could not load a chapter ({str(gone)[:80]})")
            while not self._loaded:
                self._heard(self._pipe.wait(lambda message: True, until))
            fonts = {"expression": "document.fonts.ready.then(() => 0)", "awaitPromise": True}
            self._pipe.call("Runtime.evaluate", fonts, session=self._session, until=until)
            printed = self._pipe.call(
                "Page.printToPDF",
                {
                    "paperWidth": paper.width,
                    "paperHeight": paper.height,
                    **dict.fromkeys(("marginTop", "marginBottom", "marginLeft", "marginRight"), paper.margin),
                    "printBackground": True,
                    "generateTaggedPDF": False,
                    "transferMode": "ReturnAsBase64",  # a stream would be a file on the disk
                },
                session=self._session,
                until=until,
            )
            return base64.b64decode(printed["data"], validate=True)
        except (KeyError, TypeError, binascii.Error) as error:
            raise WorkerFailedError("Chromium gave no pages") from error
        except WorkerFailedError as error:
            raise self._explained(error) from error

    def _explained(self, error: WorkerFailedError) -> WorkerFailedError:
        return WorkerFailedError(f"Chromium needed more than {self._most_mb} MB") if self._is_too_large else error

    def close(self) -> None:
        """End Chromium."""
        self._over.set()
        self._pipe.close()
        self._chromium.kill()

    def _heard(self, message: Message) -> None:
        method = message.get("method")
        if message.get("sessionId") != self._session:  # of an abandoned page
            return
        if method == "Fetch.requestPaused":
            self._answer(message["params"])
        elif method == "Page.loadEventFired":
            self._loaded = True
        elif method in ("Inspector.targetCrashed", "Inspector.detached"):
            raise WorkerFailedError("Chromium crashed over a chapter")

    def _answer(self, paused: Message) -> None:
        request = str(paused["requestId"])
        found = self._found(paused["request"])
        if found is None:
            refused = {"requestId": request, "errorReason": "BlockedByClient"}
            self._pipe.send("Fetch.failRequest", refused, self._session)
            return
        headers = {
            "Content-Type": found.media_type,
            "Content-Security-Policy": _POLICY,
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        }
        answer = {
            "requestId": request,
            "responseCode": 200,
            "responseHeaders": [{"name": name, "value": value} for name, value in headers.items()],
            "body": base64.b64encode(found.data).decode(),
        }
        self._pipe.send("Fetch.fulfillRequest", answer, self._session)

    def _found(self, request: Message) -> Resource | None:
        try:
            url = urlsplit(str(request["url"]))
        except ValueError:
            return None
        if url.scheme != "https" or url.netloc != NOWHERE or request.get("method") != "GET":
            return None
        found = self._serve(unquote(url.path).removeprefix("/"))
        return found if found is not None and len(found.data) <= _LARGEST else None

    def _watch_memory(self) -> None:
        while not self._over.wait(_WATCH_S):
            if memory_mb(self._chromium.pid) > self._most_mb:
                self._is_too_large = True
                self._chromium.kill()
                return
