"""Any file to pages, read in a process of its own that may be killed.

with Reader(settings.reading) as reader, reader.read(upload) as reading:
    for page in reading:
        ...
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterator
from types import TracebackType
from typing import Any, Self, TypeGuard, get_args

from docmind import errors
from docmind.config import ReadingSettings
from docmind.errors import (
    DamagedError,
    EmptyFileError,
    ReaderFailedError,
    ReadingError,
    TooLargeError,
    WorkerFailedError,
)
from docmind.schema import ParsedPage, TextSource, Upload
from docmind.words import Words
from docmind.worker import Frame, Limits, Worker

_ENTRY = "docmind.readers.serve:serve"
_RULES = (
    "max_pages",
    "max_page_megapixels",
    "max_unpacked_mb",
    "max_text_mb",
    "image_side_px",
    "image_quality",
    "thumbnail_side_px",
)
_KIND = re.compile("[a-z]{1,8}")
_LARGEST_SIDE, _MOST = 65_535, 1 << 31  # pixels; pages
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

    def read(self, upload: Upload, *, skip: Collection[int] = ()) -> Reading:
        """Open one document; its pages come out of the `Reading`, without those in `skip`, which are stored already.

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
        return Reading(self, upload, skip)

    def close(self) -> None:
        """End the spare process. A Reading that is open goes on."""
        with self._lock:
            spare, self._spare, self._closed = self._spare, None, True
        if spare is not None:
            spare.kill()

    def start(self, upload: Upload, skip: Collection[int], broken: Collection[int]) -> Worker:
        """A fresh process that has been handed the document."""
        with self._lock:
            worker, self._spare = self._spare, None
        if worker is None or not worker.is_alive:
            worker = Worker(_ENTRY, self._limits)
        header = {
            "name": upload.name,
            "password": upload.password,
            "rules": self._rules,
            "skip": sorted(skip),
            "broken": sorted(broken),
        }
        try:
            worker.send(header, [upload.data])
        except WorkerFailedError:
            worker.kill()
            raise
        self.warm()
        return worker

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

    def __init__(self, reader: Reader, upload: Upload, skip: Collection[int]) -> None:
        self._reader = reader
        self._upload = upload
        self._skip = set(skip)
        self._broken: set[int] = set()
        self._closed = False
        self._worker: Worker | None = None
        try:
            self._open()
        except WorkerFailedError as error:
            self.close()
            raise self._failed("while it was opened", error) from error
        except ReadingError:
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
                    page = _page(frame, self.pages, self._skip)
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
        if self._worker is not None:
            self._worker.kill()

    def _open(self) -> None:
        self._worker = self._reader.start(self._upload, self._skip, self._broken)
        if self._closed:  # closed from another thread while the process was started
            self._worker.kill()
        header, _ = self._receive()
        kind, title, pages = header.get("kind"), header.get("title"), header.get("pages")
        if not (isinstance(kind, str) and _KIND.fullmatch(kind) and isinstance(title, str) and _is_count(pages)):
            raise WorkerFailedError("a worker opened a file and did not say what it is")
        self.kind, self.title, self.pages = kind, title, pages

    def _receive(self) -> Frame:
        assert self._worker is not None
        frame = self._worker.receive(self._reader.timeout_s)
        if "error" in frame[0]:
            raise _error(frame[0])
        return frame

    def _restart(self, error: WorkerFailedError) -> None:
        """Read on behind the page that killed the process, unless it was us who did, or too many have."""
        at = next((number for number in range(1, self.pages + 1) if number not in self._skip | self._broken), None)
        if self._closed or at is None or len(self._broken) >= _DEATHS:
            raise self._failed("while it was closed" if self._closed else f"at page {at}", error) from error
        self._broken.add(at)
        if self._worker is not None:
            self._worker.kill()
        try:
            self._open()
        except WorkerFailedError as again:
            raise self._failed(f"at page {at}", again) from again

    def _failed(self, where: str, error: WorkerFailedError) -> ReaderFailedError:
        return ReaderFailedError(f"Reading {self._upload.name} broke off {where}: {error}.")


def _page(frame: Frame, pages: int, before: Collection[int]) -> ParsedPage:
    """One of `pages` pages that did not come `before`.

    The process may have been taken over by the file it reads: what could not be stored or shown is no page. Raises
    `WorkerFailedError`.
    """
    header, blobs = frame
    try:
        text, words, image, thumbnail = blobs
        Words.unpack(words)
        page = ParsedPage(text=text.decode(), words=words, image=image, thumbnail=thumbnail, **header)
    except (TypeError, ValueError, DamagedError) as error:
        raise WorkerFailedError("a worker sent a page that cannot be read") from error
    sides = _is_count(page.width) and _is_count(page.height) and max(page.width, page.height) <= _LARGEST_SIDE
    told = page.text_source in get_args(TextSource) and isinstance(page.confidence, int | float)
    if not (sides and told and _is_count(page.page_no) and page.page_no <= pages and page.page_no not in before):
        raise WorkerFailedError("a worker sent a page that cannot be one of this document")
    return page


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 1 <= value <= _MOST


def _error(header: dict[str, Any]) -> ReadingError:
    """The error that the reading process named; only the classes of our own tree can be named."""
    kind = getattr(errors, str(header["error"]), ReadingError)
    if not (isinstance(kind, type) and issubclass(kind, ReadingError)):
        kind = ReadingError
    return kind(str(header.get("message", "")), hint=str(header.get("hint", kind.hint)))
