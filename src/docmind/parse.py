"""Any file to pages, read in a process of its own that may be killed.

with Reader(settings.reading) as reader, reader.read(upload) as reading:
    for page in reading:
        ...
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from docmind.config import ReadingSettings
from docmind.errors import (
    EmptyFileError,
    ReaderFailedError,
    TooLargeError,
    WorkerFailedError,
)
from docmind.readers import chromium
from docmind.readers.checked import error_of, opening_of, page_of
from docmind.schema import ParsedPage, Upload
from docmind.worker import Frame, Limits, Worker

Header = dict[str, Any]

_ENTRY = "docmind.readers.serve:serve"
_DRAWING = "docmind.readers.chromium_serve:serve"
_RULES = (
    "max_pages",
    "max_page_megapixels",
    "max_unpacked_mb",
    "max_text_mb",
    "image_side_px",
    "image_quality",
    "thumbnail_side_px",
)
_DEATHS = 3  # pages that may kill their process before the document is given up


class Reader:
    """Opens documents. Threads may share one Reader; each document gets a fresh process.

    One spare process is started ahead, so that a small file does not wait for an interpreter. `close` ends it.
    """

    def __init__(self, settings: ReadingSettings) -> None:
        self._settings = settings
        self._rules = {name: getattr(settings, name) for name in _RULES}
        self._limits = Limits(
            memory_mb=settings.memory_mb, cpu_s=int(settings.timeout_s) + 2 * settings.max_pages, file_mb=0
        )
        self._lock = threading.Lock()
        self._spare: Worker | None = None
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def warm(self) -> None:
        """Start the spare process now, where there is none."""
        with self._lock:
            if self._spare is None and not self._closed:
                self._spare = Worker(_ENTRY, self._limits)

    def read(
        self, upload: Upload, *, skip: Collection[int] = (), waiting: Callable[[], None] = lambda: None
    ) -> Reading:
        """Open one document; its pages come out of the `Reading`, without those in `skip`, which are stored already.

        `waiting` is called now and then where opening takes long, and may end it by raising.

        Raises `EmptyFileError`, `CorruptFileError`, `UnsupportedFileError`, `PasswordNeededError`, `TooLargeError` or
        `ReaderFailedError`; so may the Reading while it is read.
        """
        if not upload.data:
            raise EmptyFileError(f"{upload.name} is empty: it has no bytes.")
        limit = self._settings.max_file_mb
        if len(upload.data) > limit * 1024 * 1024:
            size = len(upload.data) / 1024 / 1024
            raise TooLargeError(
                f"{upload.name} has {size:,.0f} MB; the limit is {limit:,} MB.",
                hint="Split the file, or raise DOCMIND_READING__MAX_FILE_MB.",
            )
        return Reading(self, upload, skip, waiting)

    def close(self) -> None:
        """End the spare process. A Reading that is open goes on."""
        with self._lock:
            spare, self._spare, self._closed = self._spare, None, True
        if spare is not None:
            spare.kill()

    def start(self, upload: Upload, skip: Collection[int], broken: Collection[int], browser: str) -> Worker:
        """A fresh process that has been handed the document; it may say that the `browser` there is should draw it."""
        with self._lock:
            worker, self._spare = self._spare, None
        if worker is None or not worker.is_alive:
            worker = Worker(_ENTRY, self._limits)
        self._hand(worker, upload, {"skip": sorted(skip), "broken": sorted(broken), "browser": browser})
        self.warm()
        return worker

    def start_drawing(self, upload: Upload, skip: Collection[int], broken: Collection[int], header: Header) -> Worker:
        """A fresh process with a browser that draws the document; it limits itself when that has been started."""
        worker = Worker(_DRAWING, Limits())
        own = {"memory_mb": self._limits.memory_mb, "cpu_s": self._limits.cpu_s, "timeout_s": self.timeout_s}
        self._hand(worker, upload, {"skip": sorted(skip), "broken": sorted(broken), **own, **header})
        return worker

    def _hand(self, worker: Worker, upload: Upload, header: Header) -> None:
        own = {"name": upload.name, "password": upload.password, "rules": self._rules}
        try:
            worker.send(own | header, [upload.data])
        except WorkerFailedError:
            worker.kill()
            raise

    @property
    def browser(self) -> str:
        """The program that draws the pages of books, or ""."""
        return chromium.find(self._settings.browser)

    @property
    def is_drawing_wanted(self) -> bool:
        return self._settings.browser != "off"

    @property
    def timeout_s(self) -> float:
        return self._settings.timeout_s


class Reading:
    """One open document: iterate it once for its pages, in order. Use it from one thread; `close` may come from any.

    Pages are made while they are taken: a slow taker holds the reading process back. A page that kills the process is
    an empty sheet, and a fresh process reads on behind it.
    """

    kind: str
    title: str
    pages: int
    told: str
    """What went differently than it should, as a sentence; "" where nothing did."""

    def __init__(self, reader: Reader, upload: Upload, skip: Collection[int], waiting: Callable[[], None]) -> None:
        self._reader = reader
        self._upload = upload
        self._waiting = waiting
        self._skip = set(skip)
        self._browser = reader.browser
        self._folder: Path | None = None
        self._broken: set[int] = set()
        self._closed = False
        self._worker: Worker | None = None
        try:
            self._open()
        except WorkerFailedError as error:
            self.close()
            raise self._failed("while it was opened", error) from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[ParsedPage]:
        try:
            while True:
                try:
                    frame = self._receive()
                    if frame[0].get("end"):
                        return
                    page = page_of(frame, self.pages, self._skip)
                except WorkerFailedError as error:
                    self._restart(error)
                    continue
                self._skip.add(page.page_no)
                yield page
        finally:
            self.close()

    def close(self) -> None:
        """End the reading at once; harmless when it has ended."""
        self._closed = True
        self._end()

    def _end(self) -> None:
        folder, self._folder = self._folder, None
        if folder is not None and self._worker is not None and self._worker.is_alive:
            chromium.end_tree(self._worker.pid)  # one that is still dying would make its folder anew
        if self._worker is not None:
            self._worker.kill()
        if folder is not None:
            chromium.remove_folder(folder)

    def _open(self) -> None:
        self._start(self._reader.start(self._upload, self._skip, self._broken, self._browser))
        header, _ = self._receive()
        drawn = header.get("browser") is True and bool(self._browser)
        failed = ""
        if drawn:
            try:
                header = self._draw()
            except WorkerFailedError as error:
                if self._closed:
                    raise
                drawn, failed, self._browser = False, str(error), ""
                self._end()
                self._start(self._reader.start(self._upload, self._skip, self._broken, ""))
                header, _ = self._receive()
        self.kind, self.title, self.pages, self.told = opening_of(header)
        if self.kind == chromium.DRAWS and not drawn and self._reader.is_drawing_wanted:
            self.told = chromium.plain_since(failed or "no Chromium, Chrome or Edge was found on this computer")

    def _start(self, worker: Worker) -> None:
        self._worker = worker
        if self._closed:  # closed from another thread while the process was started
            worker.kill()

    def _draw(self) -> Header:
        """The opening frame of a process that draws the document with the browser."""
        self._end()
        self._folder = chromium.make_folder()
        header = {"program": self._browser, "folder": str(self._folder)}
        self._start(self._reader.start_drawing(self._upload, self._skip, self._broken, header))
        while "wait" in (header := self._receive()[0]):
            self._waiting()
        return header

    def _receive(self) -> Frame:
        assert self._worker is not None
        frame = self._worker.receive(self._reader.timeout_s)
        if "error" in frame[0]:
            raise error_of(frame[0])
        return frame

    def _restart(self, error: WorkerFailedError) -> None:
        """Read on behind the page that killed the process, unless it was us who did, or too many have."""
        at = next((number for number in range(1, self.pages + 1) if number not in self._skip | self._broken), None)
        if self._closed or at is None or len(self._broken) >= _DEATHS:
            raise self._failed("while it was closed" if self._closed else f"at page {at}", error) from error
        self._broken.add(at)
        self._end()
        before = self.pages
        try:
            self._open()
        except WorkerFailedError as again:
            raise self._failed(f"at page {at}", again) from again
        if self.pages != before:  # drawn before and laid out now: what came already belongs to other pages
            raise self._failed(f"at page {at}", error) from error

    def _failed(self, where: str, error: WorkerFailedError) -> ReaderFailedError:
        return ReaderFailedError(f"Reading {self._upload.name} broke off {where}: {error}.")
