"""The reader: any file to pages, in a separate process that may be killed.

with Reader(settings.reading) as reader, reader.read(upload) as reading:
    for page in reading:
        ...

The file may have taken over the process, so every message from it is checked. Above 500 lines: the checks of all
messages stand beside the protocol that they belong to.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeGuard, get_args

from docmind.blocks import unpack
from docmind.config import ReadingSettings
from docmind.documents import Words, found_facts
from docmind.errors import (
    DamagedError,
    EmptyFileError,
    ReaderFailedError,
    ReadingError,
    TooLargeError,
    WorkerFailedError,
)
from docmind.picture_marks import PictureMarks
from docmind.reading.chromium import browser as chromium
from docmind.reading.figures import LARGEST, LONGEST_SAID, MOST_OF_DOCUMENT, MOST_OF_PAGE, is_webp
from docmind.reading.file_type import DRAWN, MARKED_UP, is_plain
from docmind.reading.formats import engine_of
from docmind.reading.pandoc import PANDOC, find_pandoc, version_of_pandoc
from docmind.reading.plugins import limits_for, usable_readers
from docmind.reading.sheets import is_sheet
from docmind.records.documents import (
    Enclosed,
    Facts,
    FigureKind,
    Loss,
    LossKind,
    PageFigure,
    ParsedPage,
    TextSource,
    Upload,
)
from docmind.rich_text import one_line
from docmind.runtime import Frame, Header, Limits, Worker, error_named
from docmind.wording import _, number_text

_KINDS = get_args(FigureKind)
_KIND, _PHASH = re.compile("[a-z]{1,8}"), re.compile("[0-9a-f]{16}")
_LARGEST_SIDE, _MOST = 65_535, 1 << 31  # pixels; pages
_LONGEST_SENTENCE = 500
_LONGEST_NAME = 400  # characters of the name of a file inside another, with its folders
_MOST_ENCLOSED = 5_000
_LOSSES, _MOST_LOSSES, _LONGEST_PLACE = frozenset(get_args(LossKind)), 200, 100


def opening_of(header: dict[str, Any]) -> tuple[str, Facts, int, str]:
    """Return kind, facts, number of pages, and a note about them. Raises `WorkerFailedError`."""
    kind, facts, pages, told = (header.get(name) for name in ("kind", "facts", "pages", "told"))
    is_named = isinstance(kind, str) and _KIND.fullmatch(kind)
    if not (is_named and isinstance(facts, dict) and _is_count(pages) and isinstance(told, str)):
        raise WorkerFailedError("a worker opened a file and did not say what it is")
    return str(kind), found_facts(facts), pages, told[:_LONGEST_SENTENCE]


def page_of(frame: Frame, pages: int, before: Collection[int]) -> ParsedPage:
    """Return a page: one of `pages` that is not in `before`, and that can be stored and shown.

    Raises `WorkerFailedError`.
    """
    header, blobs = frame
    try:
        text, words, image, thumbnail, marks, blocks, images = blobs
        Words.unpack(words)
        if marks:
            PictureMarks.unpack(marks)
        if not thumbnail and not is_sheet(image):
            raise ValueError("a page without a picture")
        shown = text.decode()
        unpack(blocks, len(shown))
        shape = [header[name] for name in ("width", "height")]
        figures = figures_of(header.pop("figures"), images, shape, len(shown))
        page = ParsedPage(
            text=shown, words=words, image=image, thumbnail=thumbnail, marks=marks, blocks=blocks, figures=figures,
            **header,
        )  # fmt: skip
    except (TypeError, ValueError, KeyError, DamagedError) as error:
        raise WorkerFailedError("a worker sent a page that cannot be read") from error
    sides = _is_count(page.width) and _is_count(page.height) and max(page.width, page.height) <= _LARGEST_SIDE
    told = page.text_source in get_args(TextSource) and isinstance(page.confidence, int | float) and page.ocr is None
    told = told and type(page.dpi) is int and 0 <= page.dpi <= _MOST
    if not (sides and told and _is_count(page.page_no) and page.page_no <= pages and page.page_no not in before):
        raise WorkerFailedError("a worker sent a page that cannot be one of this document")
    return page


def figures_of(rows: list[Any], images: bytes, page: Sequence[int], length: int) -> tuple[PageFigure, ...]:
    """Return the figures of a page of this width and height. Raises `ValueError`, `TypeError`."""
    if len(rows) > MOST_OF_PAGE:
        raise ValueError("more figures than a page can have")
    found: list[PageFigure] = []
    at = 0
    for box, size, text, caption, start, end, phash, bytes_each, kind in rows:
        image = images[at : at + bytes_each]
        at += len(image)
        x, y, width, height = box
        is_placed = all(type(side) is int for side in box) and min(x, y) >= 0 and min(width, height) > 0
        is_placed = is_placed and x + width <= page[0] and y + height <= page[1]
        is_sized = len(size) == 2 and all(_is_count(side) for side in size)
        is_said = isinstance(text, str) and isinstance(caption, str) and 0 <= start <= end <= length
        is_shown = len(image) == bytes_each <= LARGEST and is_webp(image) and _PHASH.fullmatch(phash) is not None
        if not (is_placed and is_sized and is_said and is_shown and kind in _KINDS):
            raise ValueError("not a figure of this page")
        told = one_line(text)[:LONGEST_SAID], one_line(caption)[:LONGEST_SAID]
        found.append(
            PageFigure(
                box=(x, y, width, height), size=(size[0], size[1]), text=told[0], caption=told[1], start=start, end=end,
                image=image, phash=phash, kind=kind,
            )
        )  # fmt: skip
    return tuple(found)


def enclosed_of(frame: Frame) -> Enclosed:
    """Return a file inside the document, its name without what a path would mean. Raises `WorkerFailedError`."""
    header, blobs = frame
    name, error = header.get("enclosed"), header.get("failed")
    if not (isinstance(name, str) and isinstance(error, str) and len(blobs) == 1):
        raise WorkerFailedError("a worker sent a file that has no name")
    return Enclosed(inside_name(name), blobs[0], one_line(error)[:_LONGEST_SENTENCE])


def inside_name(raw: str) -> str:
    """Return the name of a file inside another: folders parted by "/", none of which leads out of it; "" for none."""
    parts = (one_line(part).strip() for part in raw.encode("utf-8", "replace").decode().replace("\\", "/").split("/"))
    return "/".join(part for part in parts if part not in ("", ".", ".."))[-_LONGEST_NAME:].lstrip("/ ")


def losses_of(header: dict[str, Any]) -> tuple[Loss, ...]:
    """Return what a worker did not read of a file. Raises `WorkerFailedError`."""
    try:
        found = [(kind, count, place) for kind, count, place in header.pop("losses")]
        if not all(kind in _LOSSES and _is_count(count) and isinstance(place, str) for kind, count, place in found):
            raise ValueError("no losses")
    except (TypeError, ValueError, KeyError) as error:
        raise WorkerFailedError("a worker read a file and did not say what it left out") from error
    return tuple(Loss(kind, count, place[:_LONGEST_PLACE]) for kind, count, place in found[:_MOST_LOSSES])


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 1 <= value <= _MOST


_ENTRY = "docmind.reading.process:serve"
_PLAIN_ENTRY = "docmind.reading.process:serve_plain"
_PLAIN_FILES, _PLAIN_CPU_S = 500, 600  # after so many files, or seconds of processor time, the process is replaced
_DRAWING = "docmind.reading.chromium.process:serve"
_OF_OTHERS = "docmind.reading.plugin_process:serve"
_RULES = (
    "max_pages",
    "max_page_megapixels",
    "max_unpacked_mb",
    "max_text_mb",
    "image_side_px",
    "image_quality",
    "thumbnail_side_px",
)
_DEATHS = 3  # pages that may kill their process before reading of the document is abandoned


class Reader:
    """Reader of documents. Thread-safe; each document gets a fresh process, short plain texts share one.

    A spare process is started in advance, so that a small file does not wait for an interpreter. `close` ends it. The
    process of plain texts (`file_type.is_plain`) runs no parser of another format, and is replaced after 500 files and
    whenever a reading did not come to its end.
    """

    def __init__(self, settings: ReadingSettings) -> None:
        self._settings = settings
        self._rules = {name: getattr(settings, name) for name in _RULES}
        self._cpu_s = int(settings.timeout_s) + 2 * settings.max_pages
        self.others = usable_readers(settings)
        self._lock = threading.Lock()
        self._spare: Worker | None = None
        self._plain: tuple[Worker, int] | None = None  # idle, with the number of files it has read
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
                self._spare = Worker(_ENTRY, self._limits())

    def read(
        self, upload: Upload, *, skip: Collection[int] = (), waiting: Callable[[], None] = lambda: None
    ) -> Reading:
        """Open one document; the `Reading` yields its pages, without those in `skip`, which are stored already.

        `waiting` is called periodically while opening takes long, and may end it by raising.

        Raises `EmptyFileError`, `CorruptFileError`, `UnsupportedFileError`, `PasswordNeededError`, `TooLargeError` or
        `ReaderFailedError`; iterating over the Reading may raise them too.
        """
        if not upload.data:
            raise EmptyFileError(_("{name} is empty.").format(name=upload.name))
        limit = self._settings.max_file_mb
        if len(upload.data) > limit * 1024 * 1024:
            size = len(upload.data) / 1024 / 1024
            raise TooLargeError(
                _("{name} has {size} MB; the limit is {limit} MB.").format(
                    name=upload.name, size=number_text(size, 0), limit=number_text(limit)
                ),
                hint=_("Split the file, or raise DOCMIND_READING__MAX_FILE_MB."),
            )
        return Reading(self, upload, skip, waiting)

    def close(self) -> None:
        """End the spare process. An open Reading continues."""
        with self._lock:
            idle = [self._spare, self._plain[0] if self._plain else None]
            self._spare = self._plain = None
            self._closed = True
        for worker in idle:
            if worker is not None:
                worker.kill()

    def start_plain(self, upload: Upload) -> tuple[Worker, int]:
        """Give a plain text to the process of plain texts; return it with the number of files it has read."""
        with self._lock:
            plain, self._plain = self._plain, None
        if plain is None or not plain[0].is_alive:
            limits = replace(self._limits(), cpu_s=min(_PLAIN_CPU_S, self._cpu_s), starts=())
            plain = Worker(_PLAIN_ENTRY, limits), 0
        self._hand(plain[0], upload, {"skip": [], "broken": [], "browser": ""})
        return plain

    def keep_plain(self, worker: Worker, files: int) -> None:
        """Take back the process of plain texts after it has read its `files`th file to the end."""
        with self._lock:
            if self._plain is None and not self._closed and files < _PLAIN_FILES:
                self._plain = worker, files
                return
        worker.kill()

    def start(
        self, upload: Upload, skip: Collection[int], broken: Collection[int], browser: str, *, others: bool = False
    ) -> Worker:
        """Give the document to a fresh process.

        It may reply that it should be drawn with `browser`, and with `others` that it does not know the file.
        """
        limits = self._limits()
        with self._lock:
            worker, self._spare = self._spare, None
        if worker is not None and worker.limits != limits:  # pandoc was installed since, or removed
            worker.kill()
        if worker is None or not worker.is_alive:
            worker = Worker(_ENTRY, limits)
        own = {"browser": browser, "others": others}
        self._hand(worker, upload, {"skip": sorted(skip), "broken": sorted(broken), **own})
        self.warm()
        return worker

    def start_others(
        self, upload: Upload, skip: Collection[int], broken: Collection[int], readers: Sequence[str]
    ) -> Worker:
        """Give the document to a fresh process that asks these readers of other packages in turn."""
        worker = Worker(_OF_OTHERS, limits_for(self._settings.memory_mb, self._cpu_s))
        self._hand(worker, upload, {"skip": sorted(skip), "broken": sorted(broken), "readers": list(readers)})
        return worker

    def start_drawing(self, upload: Upload, skip: Collection[int], broken: Collection[int], header: Header) -> Worker:
        """Give the document to a fresh process that draws it with a browser, and limits itself after starting that."""
        worker = Worker(_DRAWING, chromium.limits_of(header["program"], header["folder"]))
        own = {"memory_mb": self._settings.memory_mb, "cpu_s": self._cpu_s, "timeout_s": self.timeout_s}
        self._hand(worker, upload, {"skip": sorted(skip), "broken": sorted(broken), **own, **header})
        return worker

    def _limits(self) -> Limits:
        """Return the limits of a process that reads a document; the file comes through its pipe."""
        pandoc = find_pandoc(self._settings.pandoc)
        return Limits(
            memory_mb=self._settings.memory_mb,
            cpu_s=self._cpu_s,
            file_mb=0,
            is_confined=True,
            starts=(pandoc,) if pandoc else (),
        )

    def _hand(self, worker: Worker, upload: Upload, header: Header) -> None:
        rules = {**self._rules, "pandoc": find_pandoc(self._settings.pandoc)}  # it may have been installed meanwhile
        own = {"name": upload.name, "password": upload.password, "rules": rules}
        try:
            worker.send(own | header, [upload.data])
        except WorkerFailedError:
            worker.kill()
            raise

    @property
    def browser(self) -> str:
        """Return the program that draws the pages of books, or ""."""
        return chromium.find_browser(self._settings.browser)

    @property
    def pandoc_version(self) -> str:
        return version_of_pandoc(find_pandoc(self._settings.pandoc))

    @property
    def is_drawing_wanted(self) -> bool:
        return self._settings.browser != "off"

    @property
    def timeout_s(self) -> float:
        return self._settings.timeout_s

    @property
    def most_enclosed_bytes(self) -> int:
        """The most bytes of all files inside one, beyond twice its own size."""
        return self._settings.max_unpacked_mb << 20


class Reading:
    """One open document: iterate over it once for its pages, in order.

    Use it from one thread; `close` may be called from any. Pages are made on demand: a slow consumer slows the reading
    process down. A page that kills the process twice becomes an empty sheet, and a fresh process continues after it; a
    single death may be due to a lack of memory.
    """

    kind: str
    facts: Facts
    pages: int
    told: str
    """A sentence about deviations from the normal reading; "" where there were none."""
    engine: str
    """The distribution that reads the file, "chromium" where that draws it, or "pandoc" where that reads it."""
    engine_version: str = ""
    """Of an engine that is no distribution; "" where it is not known."""
    losses: tuple[Loss, ...] = ()
    """What was seen in the file and not read, on the pages so far, and after `enclosed` in all."""
    broke_off: str = ""
    """A sentence, where reading ended behind the last page, among the files inside the document."""

    def __init__(self, reader: Reader, upload: Upload, skip: Collection[int], waiting: Callable[[], None]) -> None:
        self._reader = reader
        self._upload = upload
        self._waiting = waiting
        self._skip = set(skip)
        self._browser = reader.browser
        self._folder: Path | None = None
        self._broken: set[int] = set()
        self._suspect: int | None = None  # the page, 0 for opening, at which a process has died once
        self._asked_at = 0.0
        self._closed = False
        self._others = list(reader.others)  # kinds whose readers, of other packages, were not tried in vain
        self._troubles: list[str] = []
        self._worker: Worker | None = None
        self._shared: int | None = None  # files that the process of plain texts had read before; None: not that process
        self._is_ended = False
        self._figures = 0  # of the pages so far
        self._inside: Frame | None = None  # the first file inside the document, which came after the last page
        self._may_share = not self._skip and is_plain(upload)
        try:
            self._open_twice()
        except WorkerFailedError as error:
            self.close()
            raise self._failed(_("while it was opened"), error) from error
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
                    if "enclosed" in frame[0]:
                        self._inside = frame
                        return
                    self._note_losses(frame[0])
                    if frame[0].get("end"):
                        self._is_ended = True
                        return
                    page = page_of(frame, self.pages, self._skip)
                except WorkerFailedError as error:
                    if len(self._skip) >= self.pages and not self._closed:
                        told = _("Reading {name} broke off after its last page: {error}.")
                        self.broke_off = told.format(name=self._upload.name, error=error)
                        return
                    self._restart(error)
                    continue
                self._skip.add(page.page_no)
                yield self._with_most_figures(page)
        finally:
            if self._inside is None:
                self.close()

    def _with_most_figures(self, page: ParsedPage) -> ParsedPage:
        """Return the page with as many figures as the document may still have; the others are told as lost."""
        kept = page.figures[: MOST_OF_DOCUMENT - self._figures]
        self._figures += len(kept)
        left = len(page.figures) - len(kept)
        if left:
            self._note_losses({"losses": [["picture", left, f"page {page.page_no}"]]})
        return replace(page, figures=kept) if left else page

    def enclosed(self) -> Iterator[Enclosed]:
        """Yield the files inside the document, once and after all pages; one of them is in memory at a time.

        Where the process ends among them, or sends too many, those before stay, and `broke_off` says so.
        """
        frame, self._inside = self._inside, None
        room = self._reader.most_enclosed_bytes + 2 * len(self._upload.data)
        try:
            for _number in range(_MOST_ENCLOSED):
                if frame is None or "enclosed" not in frame[0]:
                    break
                inside = enclosed_of(frame)
                room -= len(inside.data)
                if room < 0:
                    raise WorkerFailedError(_("they unpack to more than can be sound"))
                yield inside
                frame = self._receive()
            if frame is not None and "enclosed" in frame[0]:
                told = _("{name} holds more than {most} files, and only the first ones were added.")
                self.broke_off = told.format(name=self._upload.name, most=number_text(_MOST_ENCLOSED))
            elif frame is not None:
                self._note_losses(frame[0])
        except (WorkerFailedError, ReadingError) as error:
            told = _("Not all files inside {name} could be taken out: {error}.")
            self.broke_off = told.format(name=self._upload.name, error=str(error).rstrip("."))
        finally:
            self.close()

    def _note_losses(self, header: Header) -> None:
        """Add what a frame tells; of two counts of one place the larger one, since a fresh process counts again."""
        found = {(loss.kind, loss.place): loss for loss in self.losses}
        for loss in losses_of(header):
            before = found.get((loss.kind, loss.place))
            if before is not None or len(found) < _MOST_LOSSES:
                found[loss.kind, loss.place] = loss if before is None or loss.count > before.count else before
        self.losses = tuple(found.values())

    def close(self) -> None:
        """End the reading at once. Idempotent."""
        self._closed = True
        self._end()

    def _end(self) -> None:
        folder, self._folder = self._folder, None
        if folder is not None and self._worker is not None and self._worker.is_alive:
            chromium.end_tree(self._worker.pid)  # a process that is still ending would create its folder again
        if self._worker is not None and self._shared is not None and self._is_ended:
            self._reader.keep_plain(self._worker, self._shared + 1)
            self._worker = None
        elif self._worker is not None:
            self._worker.kill()
        if folder is not None:
            chromium.remove_folder(folder)

    def _open_twice(self) -> None:
        self._asked_at = time.monotonic()
        try:
            self._open()
        except WorkerFailedError:
            if not self._may_try_again(0):
                raise
            self._end()
            self._open()

    def _may_try_again(self, at: int) -> bool:
        """Return whether a process died at this page for the first time, and was not stopped for being slow."""
        is_first, self._suspect = self._suspect != at, at
        was_quick = time.monotonic() - self._asked_at < self._reader.timeout_s / 2
        return is_first and was_quick and not self._closed

    def _open(self) -> None:
        if self._may_share:
            self._may_share = False  # after a failure it gets a process of its own
            worker, self._shared = self._reader.start_plain(self._upload)
            self._start(worker)
        else:
            self._start_own(others=bool(self._others))
        header, _ = self._receive()
        if header.get("unknown") is True and self._others:
            header = self._ask_others()
        drawn = header.get("browser") is True and bool(self._browser)
        failed = ""
        if drawn:
            try:
                header = self._draw()
            except WorkerFailedError as error:
                if self._closed:
                    raise
                drawn, failed, self._browser = False, str(error), ""
                self._start_own()
                header, _ = self._receive()
        self.kind, self.facts, self.pages, self.told = opening_of(header)
        self.told = " ".join([*self._troubles, self.told]).strip()[:_LONGEST_SENTENCE]
        self.engine = "chromium" if drawn else engine_of(self.kind) or self._reader.others.get(self.kind, "")
        if self.kind in MARKED_UP and header.get("engine") == PANDOC:
            self.engine, self.engine_version = PANDOC, self._reader.pandoc_version
        if self.kind == DRAWN and not drawn and self._reader.is_drawing_wanted:
            self.told = chromium.plain_since(failed or "no Chromium, Chrome or Edge was found on this computer")

    def _start_own(self, *, others: bool = False) -> None:
        """Give the document to a process of DocMind's own readers."""
        self._end()
        self._shared = None
        self._start(self._reader.start(self._upload, self._skip, self._broken, self._browser, others=others))

    def _ask_others(self) -> Header:
        """Let readers of other packages look at the file, and return the opening header of the one that reads it.

        One that breaks off while it looks at the file is left out, and named; where none knows the file, DocMind's own
        readers read it, or say why not. Raises `ReaderFailedError` where one breaks off that has recognised the file.
        """
        while self._others:
            asked = reads = ""
            self._end()
            self._start(self._reader.start_others(self._upload, self._skip, self._broken, self._others))
            try:
                while "none" not in (header := self._receive()[0]):
                    asked = str(header.get("asks", asked))
                    if "trouble" in header:
                        self._note_trouble(str(header["trouble"]))
                    if "reads" in header:
                        reads = asked
                        header = self._receive()[0]
                        if header.get("kind") != reads or reads not in self._others:
                            raise WorkerFailedError("it said that the file is of another kind")
                        return header
                self._others = []
            except WorkerFailedError as error:
                if self._closed:
                    raise
                told = _("The reader {kind} failed: {error}.").format(kind=one_line(asked)[:20], error=error)
                if reads:
                    raise ReaderFailedError(told, hint=_("Turn it off in Settings, or ask who made it.")) from error
                self._note_trouble(told)
                self._others = self._others[self._others.index(asked) + 1 :] if asked in self._others else []
        self._start_own()
        try:
            return self._receive()[0]
        except ReadingError as error:
            if not self._troubles:
                raise
            raise type(error)(" ".join([str(error), *self._troubles]), hint=error.hint) from error

    def _note_trouble(self, told: str) -> None:
        if len(self._troubles) < len(self._reader.others):
            self._troubles.append(one_line(told)[:_LONGEST_SENTENCE])

    def _start(self, worker: Worker) -> None:
        self._worker = worker
        if self._closed:  # closed from another thread while the process was started
            worker.kill()

    def _draw(self) -> Header:
        """Start a process that draws the document with the browser, and return its opening header."""
        self._end()
        self._folder = chromium.make_folder()
        header = {"program": self._browser, "folder": str(self._folder)}
        self._start(self._reader.start_drawing(self._upload, self._skip, self._broken, header))
        while "wait" in (header := self._receive()[0]):
            self._waiting()
        return header

    def _receive(self) -> Frame:
        assert self._worker is not None
        self._asked_at = time.monotonic()
        frame = self._worker.receive(self._reader.timeout_s)
        if "error" in frame[0]:
            raise error_named(frame[0], ReadingError)
        return frame

    def _restart(self, error: WorkerFailedError) -> None:
        """Continue after the page that killed the process, unless we stopped it or too many pages have.

        A process that dies while it opens the document again counts as one more death at the same page.
        """
        before = self.pages
        while True:
            at = next((number for number in range(1, before + 1) if number not in self._skip | self._broken), None)
            if self._closed or at is None or len(self._broken) >= _DEATHS:
                raise self._failed(
                    _("while it was closed") if self._closed else _("at page {at}").format(at=at), error
                ) from error
            if not self._may_try_again(at):
                self._broken.add(at)
            self._end()
            try:
                self._open()
                break
            except WorkerFailedError as again:
                error = again
        if self.pages != before:  # drawn before and laid out now: earlier pages do not match the new numbering
            raise self._failed(_("at page {at}").format(at=at), error) from error

    def _failed(self, where: str, error: WorkerFailedError) -> ReaderFailedError:
        return ReaderFailedError(
            _("Reading {name} broke off {where}: {error}.").format(name=self._upload.name, where=where, error=error)
        )
