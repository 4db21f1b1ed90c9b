"""Corrections by hand: what a person types over a line that was read, and which row of a table names its columns.

They are a layer between what was read and the page that is stored, searched and quoted:

    page as it was read ──corrected──> page as it is stored, with what was read packed in `uncorrected`

A correction names its line by its place and by the text that was read there. Where a page is read again, each is laid
on the line that it fits; one that fits none stays in its row, and is told until a person removes it.

    uncorrected = u8 version=1 ‖ zlib of u32 bytes of text, u32 bytes of words, u32 spans, little-endian
                  ‖ text ‖ words ‖ blocks ‖ (u32 start, u32 end) of each corrected line in the corrected text
"""

from __future__ import annotations

import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise
from math import isfinite
from typing import Literal, Protocol

import numpy as np

from docmind.blocks import PageBlock, pack, unpack
from docmind.documents.catalog import PageRecord
from docmind.documents.figures import moved_figures
from docmind.documents.text_lines import TextLine, text_lines
from docmind.documents.words import Words
from docmind.errors import DamagedError
from docmind.records.documents import Box
from docmind.records.values import LONGEST_LINE
from docmind.storage import Database
from docmind.wording import N_, _

CorrectionKind = Literal["line", "header"]
HEADER, NO_HEADER = "header", ""
"""The texts of a correction of the kind `header`: its row names the columns of its table, or no row does."""

_HEAD = struct.Struct("<III")
_VERSION = b"\x01"
_LARGEST = 256 << 20  # unpacked
_SAME_PLACE, _SURELY_SAME = 0.5, 0.8  # share of two boxes that both have in common
_DAMAGED = N_("What was read on a page before it was corrected is damaged.")
_ALIKE = 0.4  # of the text read before and the text read now


class Moved(Protocol):
    """Gives the place in the corrected text of a place in the text that was read."""

    def __call__(self, place: int, *, is_end: bool = False) -> int:
        """Return where something now begins, or with `is_end` ends, that began or ended at `place`."""
        ...


_COLUMNS = "doc_id, page_no, number, kind, x, y, w, h, reading, text, at_ms, fits"


@dataclass(frozen=True, slots=True)
class Correction:
    """One row: `box` is in fractions of the page's width and height, `reading` what was read there, `text` by hand.

    Of the kind `header` the row at its place names the columns of its table where `text` is `HEADER`, and no row does
    where it is `NO_HEADER`. `fits` tells whether the page has the line.
    """

    number: int
    kind: CorrectionKind
    box: Box
    reading: str
    text: str
    at_ms: int
    fits: bool = True


Place = tuple[float, float, float, float]
"""A box as `Words` has it: x, y, width, height in pixels."""

OfPage = tuple[int, tuple[Correction, ...]]
"""The number of a page, and its corrections, the oldest first."""


@dataclass(frozen=True, slots=True)
class AsRead:
    """A page as it was read, before corrections."""

    text: str
    words: Words
    blocks: tuple[PageBlock, ...]
    lines: tuple[TextLine, ...]


def as_read(page: PageRecord) -> AsRead:
    """Return what was read on a page. Raises `DamagedError`."""
    if not page.uncorrected:
        text, words, blocks = page.text, Words.unpack(page.words), page.structure()
    else:
        text, packed, structure, _spans = _unpacked(page.uncorrected, page.text)
        words, blocks = Words.unpack(packed), unpack(structure, len(text))
    return AsRead(text, words, blocks, tuple(text_lines(text, words)))


def corrected_spans(page: PageRecord) -> tuple[tuple[int, int], ...]:
    """Return where the text of a page was corrected by hand. Raises `DamagedError`."""
    return _unpacked(page.uncorrected, page.text)[3] if page.uncorrected else ()


def is_corrected(page: PageRecord, boxes: Sequence[Box]) -> bool:
    """Return whether a line in any of these boxes was corrected by hand. Raises `DamagedError`."""
    if not page.uncorrected or not boxes:
        return False
    words = Words.unpack(page.words)
    by_hand = [box for span in corrected_spans(page) for box in words.boxes_of(*span)]
    return any(_common(one, other) > 0 and _is_level(one, other) for one in by_hand for other in boxes)


def _is_level(one: Box, other: Box) -> bool:
    """Return whether two boxes have most of the height of the lower one in common: neighbouring lines may touch."""
    return min(one.y + one.h, other.y + other.h) - max(one.y, other.y) > _SAME_PLACE * min(one.h, other.h)


def place_of(line: TextLine, page: PageRecord) -> Box:
    """Return the box of a line in fractions of its page; empty where its place is not known."""
    if line.box is None:
        return Box(0.0, 0.0, 0.0, 0.0)
    x, y, w, h = line.box
    return Box(x / page.width, y / page.height, w / page.width, h / page.height)


def fitting(read: AsRead, page: PageRecord, corrections: Iterable[Correction]) -> dict[int, int]:
    """Return the line, by its place in `read.lines`, that each correction fits, by the number of the correction.

    It fits a line in its place whose text is like the one that was read or the one typed by hand; else the only line
    with exactly the text that was read; else a line in exactly its place. No two of one kind fit the same.
    """
    taken: set[tuple[str, int]] = set()
    found: dict[int, int] = {}
    places = [place_of(line, page) for line in read.lines]
    texts = [read.text[line.start : line.end] for line in read.lines]
    for one in corrections:
        free = [at for at in range(len(places)) if (one.kind, at) not in taken]
        shares = {at: share for at in free if (share := _common(one.box, places[at])) > _SAME_PLACE}
        alike = [
            at for at in shares if max(_likeness(texts[at], one.reading), _likeness(texts[at], one.text)) >= _ALIKE
        ]
        same = [at for at in free if texts[at] == one.reading]
        surely = [at for at, share in shares.items() if share >= _SURELY_SAME]
        best = max(alike, key=lambda at: shares[at], default=-1)
        if best < 0:
            best = same[0] if len(same) == 1 else max(surely, key=lambda at: shares[at], default=-1)
        if best >= 0:
            taken.add((one.kind, best))
            found[one.number] = best
    return found


def corrected(page: PageRecord, corrections: Sequence[Correction]) -> tuple[PageRecord, tuple[Correction, ...]]:
    """Return a page with corrections laid on what was read, and the corrections, each with whether it fits now.

    Without any that fits it is the page as it was read. Raises `DamagedError`.
    """
    read = as_read(page)
    fits = fitting(read, page, corrections)
    told = tuple(replace(one, fits=one.number in fits) for one in corrections)
    bare = replace(
        page,
        text=read.text,
        words=read.words.pack(),
        blocks=pack(read.blocks),
        uncorrected=b"",
        figures=moved_figures(page.figures, page.text, read.text),
    )
    lines = {fits[one.number]: one.text for one in told if one.fits and one.kind == "line"}
    headers = {fits[one.number]: one.text == HEADER for one in told if one.fits and one.kind == "header"}
    if not lines and not headers:
        return bare, told
    text, words, blocks, spans = _with_texts(read, lines)
    for at, is_header in headers.items():
        if at in spans:
            blocks = _with_header(text, blocks, spans[at][0], is_header=is_header)
    where = [spans[at] for at in sorted(lines) if at in spans]
    uncorrected = _packed(bare, where)
    laid = replace(bare, text=text, words=words.pack(), blocks=pack(blocks), uncorrected=uncorrected)
    return replace(laid, figures=moved_figures(bare.figures, bare.text, text)), told


def row_at(blocks: Sequence[PageBlock], start: int, end: int) -> PageBlock | None:
    """Return the row of a table that `text[start:end]` stands in."""
    return next((one for one in blocks if one.table is not None and one.start < end and one.end > start), None)


class Corrections:
    """The table `corrections`. Thread-safe as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def of_page(self, doc_id: str, page_no: int) -> tuple[Correction, ...]:
        """Return the corrections of a page, the oldest first."""
        return self.of(doc_id).get(page_no, ())

    def of(self, doc_id: str) -> dict[int, tuple[Correction, ...]]:
        """Return the corrections of a document by the number of their page, the oldest first."""
        rows = self._db.all(f"SELECT {_COLUMNS} FROM corrections WHERE doc_id = ? ORDER BY page_no, number", (doc_id,))
        found: dict[int, tuple[Correction, ...]] = {}
        for _doc_id, page_no, number, kind, x, y, w, h, reading, text, at_ms, fits in rows:
            one = Correction(number, kind, Box(x, y, w, h), reading, text, at_ms, bool(fits))
            found[page_no] = (*found.get(page_no, ()), one)
        return found

    def replace(self, doc_id: str, pages: Iterable[OfPage]) -> None:
        """Store the corrections of pages of a document instead of those that are there."""
        with self._db.transaction() as db:
            for page_no, corrections in pages:
                db.execute("DELETE FROM corrections WHERE doc_id = ? AND page_no = ?", (doc_id, page_no))
                db.executemany(
                    f"INSERT INTO corrections ({_COLUMNS}) VALUES ({', '.join('?' * 12)})",
                    [(doc_id, page_no, *_row(one)) for one in corrections],
                )

    def laid_on(self, pages: Sequence[PageRecord]) -> tuple[list[PageRecord], list[OfPage]]:
        """Return pages of a document that were just read, with their corrections, and these by number of the page."""
        known = self.of(pages[0].doc_id) if pages else {}
        records, changed = list[PageRecord](), list[OfPage]()
        for page in pages:
            if (corrections := known.get(page.page_no)) is not None:
                laid, corrections = corrected(page, corrections)
                changed.append((page.page_no, corrections))
                records.append(laid)
            else:
                records.append(page)
        return records, changed


def _row(one: Correction) -> tuple[object, ...]:
    return (one.number, one.kind, *one.box, one.reading, one.text, one.at_ms, int(one.fits))


def check_uncorrected(packed: bytes, text: str) -> None:
    """Check what was read on a page with this corrected text, from another vault. Raises `DamagedError`."""
    if packed:
        read, words, blocks, _spans = _unpacked(packed, text)
        found = Words.unpack(words)
        if len(found) and (int(found.ends.max()) > len(read) or int(found.starts.min()) < 0):
            raise DamagedError(_(_DAMAGED))
        unpack(blocks, len(read))


def check_corrections(rows: Iterable[dict[str, object]]) -> None:
    """Check rows that come from another vault. Raises `ValueError`, `TypeError`, `KeyError`."""
    for row in rows:
        if row["kind"] not in ("line", "header") or not all(isfinite(float(str(row[side]))) for side in "xywh"):
            raise ValueError("not a place of a correction")
        if not all(type(row[name]) is int for name in ("page_no", "number", "at_ms", "fits")):
            raise ValueError("not the numbers of a correction")
        if not all(isinstance(row[name], str) for name in ("reading", "text")) or len(str(row["text"])) > LONGEST_LINE:
            raise ValueError("not the texts of a correction")


def _common(one: Box, other: Box) -> float:
    """Return the share of the area of two boxes together that both have in common, 0..1."""
    across = min(one.x + one.w, other.x + other.w) - max(one.x, other.x)
    down = min(one.y + one.h, other.y + other.h) - max(one.y, other.y)
    if across <= 0 or down <= 0:
        return 0.0
    both = across * down
    return both / (one.w * one.h + other.w * other.h - both)


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.casefold(), other.casefold(), autojunk=False).ratio()


def _with_texts(
    read: AsRead, texts: dict[int, str]
) -> tuple[str, Words, tuple[PageBlock, ...], dict[int, tuple[int, int]]]:
    """Return text, words and blocks with other texts in lines, by place, and where each line stands now."""
    parts: list[str] = []
    knots: list[tuple[int, int]] = [(0, 0)]  # places in the text that was read, and where they are now
    spans: dict[int, tuple[int, int]] = {}
    at = length = 0
    for place, line in enumerate(read.lines):
        if line.start < at:
            continue  # lines of damaged rows may overlap
        length += line.start - at
        parts.append(read.text[at : line.start])
        begin, text = length, texts.get(place, read.text[line.start : line.end])
        knots.append((line.start, begin))
        if place in texts:
            knots += [(line.start + old, begin + new) for old, new in _knots(read.text[line.start : line.end], text)]
        parts.append(text)
        length += len(text)
        at = line.end
        knots.append((at, length))
        spans[place] = (begin, length)
    parts.append(read.text[at:])
    knots.append((len(read.text), length + len(read.text) - at))
    moved = _mover(knots)
    corrected_lines = [
        (read.lines[place], spans[place], text) for place, text in sorted(texts.items()) if place in spans
    ]
    words = _moved_words(read.words, moved, corrected_lines)
    now = "".join(parts)
    blocks = _moved_blocks(now, read.blocks, moved, [line for line, _span, _text in corrected_lines])
    return now, words, blocks, spans


def _knots(old: str, new: str) -> list[tuple[int, int]]:
    """Return places of two texts that belong together, in order, by what both have in common."""
    found: list[tuple[int, int]] = []
    for _tag, old_start, old_end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        found += [(old_start, new_start), (old_end, new_end)]
    return found


def _mover(knots: Sequence[tuple[int, int]]) -> Moved:
    """Return what gives the place now where something begins, or ends, at a place in the text that was read."""
    olds = [old for old, _new in knots]

    def moved(place: int, *, is_end: bool = False) -> int:
        at = bisect_right(olds, place) - 1
        while not is_end and at and olds[at - 1] == place:
            at -= 1  # what a person put in at this place belongs to what begins here
        old, new = knots[at]
        return min(new + place - old, knots[at + 1][1]) if place > old and at + 1 < len(knots) else new

    return moved


def _moved_words(words: Words, moved: Moved, lines: Sequence[tuple[TextLine, tuple[int, int], str]]) -> Words:
    """Return words in their places now; those of corrected lines are made of their new texts."""
    is_kept = np.ones(len(words), bool)
    for line, _span, _text in lines:
        is_kept &= ~((words.starts < line.end) & (words.ends > line.start))
    sure = words.certainties
    rows: list[tuple[int, int, Place, float]] = []
    for at in map(int, np.flatnonzero(is_kept)):
        x, y, w, h = words.boxes[at].tolist()
        begin, end = moved(int(words.starts[at])), moved(int(words.ends[at]), is_end=True)
        rows.append((begin, end, (x, y, w, h), 1.0 if sure is None else float(sure[at])))
    for line, (begin, _end), text in lines:
        inside = words.boxes[(words.starts < line.end) & (words.ends > line.start)]
        for start, end, box in _placed(text, inside, line.box):
            rows.append((begin + start, begin + end, box, 1.0))
    rows.sort(key=lambda row: row[0])
    spans, boxes = [(row[0], row[1]) for row in rows], [row[2] for row in rows]
    return Words.of(spans, boxes, None if sure is None else [row[3] for row in rows])


def _placed(text: str, boxes: np.ndarray, around: Box | None) -> list[tuple[int, int, Place]]:
    """Return the words of a corrected line with their boxes: those that were read, or shares of the line's width."""
    if around is None:
        return []
    words: list[tuple[int, int]] = []
    start = 0
    for word in text.split():
        start = text.index(word, start)
        words.append((start, start + len(word)))
        start += len(word)
    if len(words) == len(boxes):
        return [(*word, tuple(map(float, box))) for word, box in zip(words, boxes, strict=True)]  # type: ignore[misc]
    x, y, w, h = around
    step = w / max(1, len(text))
    return [(begin, end, (x + begin * step, y, (end - begin) * step, h)) for begin, end in words]


def _moved_blocks(
    text: str, blocks: Sequence[PageBlock], moved: Moved, lines: Sequence[TextLine]
) -> tuple[PageBlock, ...]:
    """Return blocks in their places now; a row that was corrected has no stored numbers, and may name its columns."""
    found: list[PageBlock] = []
    for one in blocks:
        is_touched = any(line.start < one.end and line.end > one.start for line in lines)
        begin = max(moved(one.start), found[-1].end if found else 0)
        end = max(begin, moved(one.end, is_end=True))
        cells = tuple(_within(moved(first), moved(last, is_end=True), begin, end) for first, last in one.cells)
        raws = () if is_touched else one.raws
        found.append(replace(one, start=begin, end=end, cells=cells, raws=raws))
    for before, after in zip(blocks, list(found), strict=True):
        is_touched = any(line.start < before.end and line.end > before.start for line in lines)
        if is_touched and after.kind == "header_row":
            found = _named_by(text, found, after)
    return tuple(found)


def _within(start: int, end: int, first: int, last: int) -> tuple[int, int]:
    start = min(max(start, first), last)
    return start, min(max(end, start), last)


def _with_header(text: str, blocks: Sequence[PageBlock], start: int, *, is_header: bool) -> tuple[PageBlock, ...]:
    """Return blocks where the row at a place names the columns of its table, or no row does."""
    row = row_at(blocks, start, start + 1)
    if row is None or row.table is None:
        return tuple(blocks)
    number = row.table.number
    found = [
        replace(one, kind="header_row" if is_header and one is row else "row")
        if one.table is not None and one.table.number == number
        else one
        for one in blocks
    ]
    return tuple(_named_by(text, found, row if is_header else replace(row, cells=())))


def _named_by(text: str, blocks: Sequence[PageBlock], row: PageBlock) -> list[PageBlock]:
    """Return blocks whose table has the columns that the cells of a row name."""
    if row.table is None:
        return list(blocks)
    named = replace(row.table, header=tuple(" ".join(text[start:end].split()) for start, end in row.cells))
    return [
        replace(one, table=replace(one.table, header=named.header))
        if one.table is not None and one.table.number == named.number
        else one
        for one in blocks
    ]


def _packed(page: PageRecord, spans: Sequence[tuple[int, int]]) -> bytes:
    text = page.text.encode("utf-8", "surrogatepass")
    head = _HEAD.pack(len(text), len(page.words), len(spans))
    places = struct.pack(f"<{2 * len(spans)}I", *(place for span in spans for place in span))
    return _VERSION + zlib.compress(b"".join((head, text, page.words, page.blocks, places)), 1)


def _unpacked(packed: bytes, corrected_text: str) -> tuple[str, bytes, bytes, tuple[tuple[int, int], ...]]:
    """Return text, words and blocks as they were read, and the spans that were corrected. Raises `DamagedError`."""
    try:
        if packed[:1] != _VERSION:
            raise ValueError("not of this version")
        unpacker = zlib.decompressobj()
        raw = unpacker.decompress(packed[1:], _LARGEST)
        text_size, words_size, count = _HEAD.unpack_from(raw)
        end, words_at = len(raw) - 8 * count, _HEAD.size + text_size
        blocks_at = words_at + words_size
        if unpacker.unconsumed_tail or not unpacker.eof or not blocks_at <= end:
            raise ValueError("parts are missing")
        text = raw[_HEAD.size : words_at].decode("utf-8", "surrogatepass")
        flat = struct.unpack_from(f"<{2 * count}I", raw, end)
        spans = tuple(zip(flat[::2], flat[1::2], strict=True))
        if any(not start <= stop <= len(corrected_text) for start, stop in spans):
            raise ValueError("places outside the text")
        if any(after[0] < before[1] for before, after in pairwise(spans)):
            raise ValueError("places one in the other")
    except (ValueError, struct.error, zlib.error) as error:
        raise DamagedError(_(_DAMAGED)) from error
    return text, raw[words_at:blocks_at], raw[blocks_at:end], spans
