"""The reading process of a book that Chromium draws.

Each chapter is printed to PDF in memory, and read like any PDF.

It starts Chromium before it applies all limits to itself, because Chromium cannot run under those of a reading process:
it changes files in its folder, and its memory and time are watched instead. Where Chromium fails, the book is laid out
as plain text.

in   as for `reading.process`, and {program, folder, memory_mb, cpu_s, timeout_s}
out  {wait: sheets} while chapters are printed, then as for `reading.process`
"""

from __future__ import annotations

import bisect
import re
import time
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from docmind.blocks import Losses, pack, unpack
from docmind.errors import CorruptFileError, EmptyFileError, TooLargeError, WorkerFailedError
from docmind.reading.chromium.browser import Chromium, plain_since
from docmind.reading.chromium.chapter import drawable, letters, letters_of
from docmind.reading.chromium.paragraphs import Part, beside, parts_of, placed
from docmind.reading.chromium.print import Paper, Press, Resource
from docmind.reading.formats import Opened, Rules
from docmind.reading.formats.epub import Book, Chapters, open_epub
from docmind.reading.formats.html import text_of
from docmind.reading.formats.pdf import PdfFile, open_pdf
from docmind.reading.process import answer
from docmind.records.documents import Facts, Loss, ParsedPage, Upload
from docmind.runtime import Limits, apply, change_nothing_more, read_request, write_frame
from docmind.wording import _, number_text

_LEAST = 0.97  # of a chapter's letters that must stand on its sheets
_FEW = 20  # letters
_SHEETS, _LETTERS_A_SHEET = 20, 100  # a chapter may have so many sheets, and one more for each so many letters
_DRAWN = ("image/", "font/", "text/css", "application/font", "application/x-font", "application/vnd.ms-opentype")
_FONT_NAMES = (".ttf", ".otf", ".woff", ".woff2")
_STREAM = re.compile(rb"(stream\n)(.*?)(\nendstream|\Z)", re.S)
_SPELLED = re.compile(rb"/Span<</ActualText <[0-9A-Fa-f]*> >> BDC\n(.*?)(?:EMC\n|\Z)", re.S)
_VIEWPORT = re.compile(r"<meta\b(?=[^<>]*\bname\s*=\s*[\"']viewport[\"'])[^<>]*>", re.I)
_VIEWBOX = re.compile(r"<svg\b[^<>]*\bviewBox\s*=\s*[\"']\s*[\d.]+[\s,]+[\d.]+[\s,]+([\d.]+)[\s,]+([\d.]+)", re.I)
_PIXELS_AN_INCH, _SMALLEST, _LARGEST = 96, 100, 6_000


class Printed:
    """A book on printed sheets.

    `told` describes deviations from the normal drawing, "" where there are none.
    """

    if_blank = EmptyFileError

    def __init__(
        self,
        facts: Facts,
        chapters: list[bytes],
        counts: list[int],
        name: str,
        rules: Rules,
        losses: tuple[Loss, ...] = (),
        parts: Sequence[Sequence[Sequence[Part]]] = (),
    ) -> None:
        self.losses = losses
        self._parts = parts  # of each sheet of each chapter
        self.facts = facts
        self.pages = sum(counts)
        self._chapters, self._name, self._rules = chapters, name, rules
        self._firsts = [sum(counts[:number]) for number in range(len(counts))]
        self._open: tuple[int, PdfFile] | None = None

    def page(self, page_no: int) -> ParsedPage:
        number = bisect.bisect_right(self._firsts, page_no - 1) - 1
        if self._open is None or self._open[0] != number:
            self._open = number, _read(self._chapters[number], self._name, self._rules)
        page = self._open[1].page(page_no - self._firsts[number])
        parts = self._parts[number][page_no - self._firsts[number] - 1] if self._parts else ()
        own = placed(parts, page.text)
        blocks = pack(beside(own, unpack(page.blocks, len(page.text)))) if own else page.blocks
        return replace(page, page_no=page_no, blocks=blocks)


def print_book(book: Book, press: Press, rules: Rules, chapter_s: float, done: Callable[[int], None]) -> Printed:
    """Print all chapters; `done` is called after each with the number of sheets so far.

    Raises `WorkerFailedError` where Chromium fails or leaves text out, so that the book is better read as text, and
    `TooLargeError` or `CorruptFileError` where the book itself is at fault.
    """
    files: list[bytes] = []
    counts: list[int] = []
    parts: list[list[list[Part]]] = []
    chapters = Chapters(book, Losses())
    for chapter in book.chapters:
        text = text_of(book.read(chapter))
        if not text.strip():
            continue
        printed = _Chapter(book, press, rules, chapter, text, chapters)
        data, sheets = printed.printed(chapter_s)
        files.append(data)
        counts.append(sheets)
        parts.append(printed.parts(data))
        if sum(counts) > rules.max_pages:
            raise TooLargeError(
                _("{name} fills more than {max_pages} pages.").format(
                    name=book.name, max_pages=number_text(rules.max_pages)
                ),
                hint=_("Split the file, or raise DOCMIND_READING__MAX_PAGES."),
            )
        done(sum(counts))
    if not files:
        raise EmptyFileError(_("{name} holds no chapter.").format(name=book.name))
    return Printed(book.facts, files, counts, book.name, rules, chapters.losses.found(), parts)


class _Chapter:
    def __init__(self, book: Book, press: Press, rules: Rules, path: str, text: str, chapters: Chapters) -> None:
        self._book, self._press, self._rules, self._path, self._text = book, press, rules, path, text
        self._given = list(chapters.blocks(path, text, is_drawn=True))
        self._letters = letters_of(self._given)
        self._hidden, self._appended = frozenset(chapters.hidden), tuple(chapters.appended)

    def printed(self, seconds: float) -> tuple[bytes, int]:
        """Print with the book's styles.

        The styles are dropped where they hide, cut off or spread out its text.
        """
        sheet = _sheet(self._text) if self._book.is_exact else None
        attempts = [(True, sheet), (False, None)]
        reason = ""
        for is_styled, exact in attempts:
            try:
                data = self._print(is_styled, exact, time.monotonic() + seconds)
                data, sheets, share = self._weighed(data)
            except WorkerFailedError as error:
                self._press.renew()
                reason = str(error)
                continue
            if sheets > _SHEETS + self._letters.total() // _LETTERS_A_SHEET:
                reason = "a chapter is spread over far too many pages"
            elif share < _LEAST:
                reason = f"{1 - share:.0%} of the letters of a chapter were missing, for want of a font perhaps"
            else:
                return data, sheets
        raise WorkerFailedError(reason)

    def parts(self, data: bytes) -> list[list[Part]]:
        """Return what each sheet of the printed chapter has of its headings, paragraphs and items."""
        opened = _read(data, self._book.name, Rules(max_pages=1 << 30))
        return parts_of(self._given, [opened.text(page_no) for page_no in range(1, opened.pages + 1)])

    def _print(self, is_styled: bool, sheet: Paper | None, until: float) -> bytes:
        page = drawable(
            self._text,
            self._book.name,
            is_styled=is_styled,
            is_exact=sheet is not None,
            hidden=self._hidden,
            appended=self._appended,
        )

        def serve(path: str) -> Resource | None:
            if path == self._path:
                return page
            return self._resource(path) if is_styled else self._picture(path)

        return self._press.print(self._path, serve, sheet or Paper(), until)

    def _resource(self, path: str) -> Resource | None:
        """Return a picture, style or font of the book; other chapters are not given."""
        if not self._book.has(path):
            return None
        kind = self._book.media_type(path).lower()
        if not kind.startswith(_DRAWN) and not path.lower().endswith(_FONT_NAMES):
            return None
        try:
            return Resource(kind, self._book.read(path))
        except CorruptFileError:
            return None  # the page is drawn without it

    def _picture(self, path: str) -> Resource | None:
        found = self._resource(path)
        return found if found is not None and found.media_type.startswith("image/") else None

    def _weighed(self, data: bytes) -> tuple[bytes, int, float]:
        """Return the printed PDF, its number of sheets, and the share of the chapter's letters on them."""
        sheets, share = self._counted(data)
        if not any(map(_is_right_to_left, self._letters)):
            return data, sheets, share
        bare = without_spelling(data)
        same, bare_share = self._counted(bare)
        return (
            (bare, same, bare_share) if same == sheets and bare_share >= min(share, _LEAST) else (data, sheets, share)
        )

    def _counted(self, data: bytes) -> tuple[int, float]:
        try:
            opened = _read(data, self._book.name, Rules(max_pages=1 << 30))
        except CorruptFileError as error:
            raise WorkerFailedError("Chromium printed a chapter that cannot be read") from error
        wanted = self._letters.total()
        if wanted < _FEW or opened.pages > self._rules.max_pages:
            return opened.pages, 1.0
        found: Counter[str] = Counter()
        for page_no in range(1, opened.pages + 1):
            found.update(letters(opened.text(page_no)))
        return opened.pages, (self._letters & found).total() / wanted


def _read(data: bytes, name: str, rules: Rules) -> PdfFile:
    return open_pdf(Upload(name, data), "pdf", rules)


def _is_right_to_left(letter: str) -> bool:
    return unicodedata.bidirectional(letter) in ("R", "AL")


def without_spelling(data: bytes) -> bytes:
    """Remove the spelling (`ActualText`) that Chromium gives to single glyphs from a PDF.

    PDFium assumes that such letters are in logical order already and reverses the others: Arabic words come out
    backwards. Its own map of glyphs to letters gives better results.
    """

    def bare(match: re.Match[bytes]) -> bytes:
        if not match[3]:  # a stream without an end
            return match[0]
        try:
            content = zlib.decompress(match[2])
        except zlib.error:
            return match[0]
        packed = zlib.compress(_SPELLED.sub(rb"\1", content), 9)
        if b"/ActualText" not in content or len(packed) > len(match[2]):
            return match[0]
        return match[1] + packed.ljust(len(match[2]), b"\0") + match[3]  # the same length: no offset changes

    return _STREAM.sub(bare, data)


def _sheet(text: str) -> Paper | None:
    """Return the size of a fixed-layout page, from its head or its only picture.

    Returns None where it has none.
    """
    named = _VIEWPORT.search(text)
    sides = [re.search(rf"\b{side}\s*=\s*([\d.]+)", named[0], re.I) for side in ("width", "height")] if named else []
    drawn = None if all(sides) and sides else _VIEWBOX.search(text)
    texts = [side[1] for side in sides if side] if sides and all(sides) else list(drawn.groups()) if drawn else []
    try:
        width, height = (float(one) for one in texts)
    except ValueError:
        return None
    if not (_SMALLEST <= width <= _LARGEST and _SMALLEST <= height <= _LARGEST):
        return None
    # Slightly larger than the page, so that rounding makes no second sheet.
    return Paper(width / _PIXELS_AN_INCH, (height + 1) / _PIXELS_AN_INCH, 0.0)


_BOOKS, _CHAPTERS = 5.0, 0.2  # times the longest silence: for a whole book, and for one chapter


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Read one book and end."""
    frame = read_request(incoming)
    if frame is None:
        return
    header, blobs = frame
    drawing = start(header, outgoing)
    try:
        answer(header | {"browser": ""}, blobs, outgoing, drawing.open)
    finally:
        drawing.close()


def start(header: dict[str, Any], outgoing: BinaryIO) -> Drawing:
    """Start Chromium, then limit this process as a reading process is."""
    drawing = Drawing(header, outgoing)
    change_nothing_more()
    apply(Limits(memory_mb=header["memory_mb"], cpu_s=header["cpu_s"], file_mb=0))
    return drawing


class Drawing:
    """A Chromium that is started already, and the pages that it draws."""

    def __init__(self, header: dict[str, Any], outgoing: BinaryIO) -> None:
        self._memory_mb, self._timeout_s = header["memory_mb"], header["timeout_s"]
        self._outgoing = outgoing
        self._sheets = 0
        self._until = time.monotonic() + _BOOKS * self._timeout_s
        self._failed: WorkerFailedError | None = None
        self._chromium: Chromium | None = None
        try:
            self._chromium = Chromium(header["program"], Path(header["folder"]))
        except WorkerFailedError as error:
            self._failed = error

    def open(self, kind: str, upload: Upload, rules: Rules) -> tuple[Opened, str]:
        """Open the book as Chromium draws it, or as plain text with the sentence that says why."""
        try:
            return self._print(upload, rules), ""
        except WorkerFailedError as error:
            self.close()
            return open_epub(upload, kind, rules), plain_since(str(error))

    def close(self) -> None:
        """End Chromium. Idempotent."""
        chromium, self._chromium = self._chromium, None
        if chromium is not None:
            chromium.kill()

    def _print(self, upload: Upload, rules: Rules) -> Printed:
        if self._chromium is None:
            raise self._failed or WorkerFailedError("Chromium has ended")
        book = Book(upload, rules)
        try:
            press = Press(self._chromium, self._memory_mb, self._tick)
            try:
                return print_book(book, press, rules, _CHAPTERS * self._timeout_s, self._done)
            finally:
                press.close()
        finally:
            book.close()

    def _done(self, sheets: int) -> None:
        self._sheets = sheets
        self._tick()

    def _tick(self) -> None:
        """Report progress to the owner, and stop where the time for the book is over."""
        if time.monotonic() > self._until:
            raise WorkerFailedError("Chromium took too long over the whole book")
        write_frame(self._outgoing, {"wait": self._sheets})
