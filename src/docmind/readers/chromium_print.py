"""A page of a book to PDF, in Chromium: scripts off, and everything it asks for answered from memory or not at all."""

from __future__ import annotations

import base64
import binascii
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from docmind.errors import WorkerFailedError
from docmind.readers.chromium import NOWHERE, Chromium, memory_mb
from docmind.readers.chromium_pipe import Message, Pipe

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
    """Something Chromium may ask for: its type and its bytes."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Paper:
    """Size and margin of the sheets in inches."""

    width: float = 5.83  # A5
    height: float = 8.27
    margin: float = 0.6


class Press:
    """Prints one page of a book after the other. Use it from one thread.

    `tick` is called once a second while it waits; what it raises ends the wait. A Chromium that holds more than
    `most_mb` is ended.
    """

    def __init__(self, chromium: Chromium, most_mb: int, tick: Callable[[], None]) -> None:
        """Raises `WorkerFailedError` where Chromium does not answer."""
        self._chromium, self._most_mb = chromium, most_mb
        self._serve: Callable[[str], Resource | None] = lambda path: None
        self._loaded = self._is_too_large = False
        self._session = self._context = ""
        self._over = threading.Event()
        self._pipe = Pipe(chromium, self._heard, tick)
        threading.Thread(target=self._watch_memory, name="chromium memory", daemon=True).start()
        self.renew()

    def renew(self) -> None:
        """Begin anew with another page and another process behind it, also where the one before hangs or crashed.

        Raises `WorkerFailedError` where Chromium as a whole has failed.
        """
        until = time.monotonic() + _START_S
        self._session = ""  # what the page before still says is not heard
        try:
            if self._context:
                self._pipe.send("Target.disposeBrowserContext", {"browserContextId": self._context})
            self._open(until)
        except KeyError as error:
            raise WorkerFailedError("Chromium opened no page") from error
        except WorkerFailedError as error:
            raise self._explained(error) from error

    def _open(self, until: float) -> None:
        # A context of its own keeps cookies, storage and caches in memory.
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
        """The page at `path` as PDF; `serve` answers every path that is asked for, also this one, or None.

        Raises `WorkerFailedError`, also when `until` (monotonic) is over.
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
        if message.get("sessionId") != self._session:  # of a page that was given up
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
