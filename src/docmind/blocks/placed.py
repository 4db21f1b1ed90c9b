"""Parts of a page's text that came from blocks, and their packed form.

    packed = u8 version=1 ‖ zlib of the JSON {paths, tables, blocks}

Each list names the ones before it by number, because a path and a header repeat for every block below them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from typing import Any, Literal, get_args

from docmind.blocks.given import MOST_COLUMNS, TextKind
from docmind.errors import DamagedError
from docmind.wording import _

PageKind = Literal[TextKind, "row", "header_row"]
Cells = tuple[tuple[int, int], ...]
"""Spans of the cells of a row in the page's text, in the order of the columns; an empty cell has an empty span.

Empty cells at the end of a row are not there, except in libraries that an earlier version has filled.
"""
Raws = tuple[tuple[int, float], ...]
"""Numbers as they are stored, each with the number of its cell, from 0."""

_KINDS = frozenset(get_args(PageKind))
_VERSION = b"\x01"
_LARGEST = 16 << 20  # bytes, unpacked
_LONGEST = 4_000  # characters of a title or header


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table on a page: the names of its columns, its caption, its sheet, and its number in the document.

    No other table of the document has that number; numbers may leave some out.
    """

    header: tuple[str, ...] = ()
    caption: str = ""
    sheet: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True)
class PageBlock:
    """`text[start:end]` of a page, and what it is.

    `level` and `path`, the headings above it, outermost first, are as of `Block`. A row has its `table` and `cells`,
    and `raws`, the numbers that its cells show in another way.
    """

    kind: PageKind
    start: int
    end: int
    level: int = 0
    path: tuple[str, ...] = ()
    table: PageTable | None = None
    cells: Cells = ()
    language: str = ""
    raws: Raws = ()


def pack(blocks: Iterable[PageBlock]) -> bytes:
    """Return the packed form of the blocks of a page; empty where there is none."""
    paths: dict[tuple[str, ...], int] = {}
    tables: dict[PageTable, int] = {}
    rows: list[list[Any]] = []
    for one in blocks:
        path = paths.setdefault(one.path, len(paths))
        table = -1 if one.table is None else tables.setdefault(one.table, len(tables))
        cells = [place - one.start for span in one.cells for place in span]
        row = [one.kind, one.start, one.end, one.level, path, table, cells, one.language]
        rows.append([*row, [value for raw in one.raws for value in raw]] if one.raws else row)
    if not rows:
        return b""
    named = [[list(each.header), each.caption, each.sheet, each.number] for each in tables]
    plain = {"paths": [list(path) for path in paths], "tables": named, "blocks": rows}
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return _VERSION + zlib.compress(text, 1)


def may_have_tables(data: bytes) -> bool:
    """Return whether the packed blocks of a page may have rows of tables; where not, they need not be unpacked."""
    if not data:
        return False
    try:
        return b'"tables":[]' not in zlib.decompressobj().decompress(data[1:], _LARGEST)
    except zlib.error:
        return True  # `unpack` tells what is damaged


def unpack(data: bytes, length: int) -> tuple[PageBlock, ...]:
    """Return the blocks of a page whose text is `length` characters long, in the order of the text.

    The process that made them may be taken over by a hostile file, so everything is checked. Raises `DamagedError`.
    """
    if not data:
        return ()
    try:
        if data[:1] != _VERSION:
            raise ValueError("not blocks of this version")
        unpacker = zlib.decompressobj()
        plain = json.loads(unpacker.decompress(data[1:], _LARGEST))
        if unpacker.unconsumed_tail:
            raise ValueError("larger than blocks can be")
        paths = [tuple(_title(part) for part in path) for path in plain["paths"]]
        tables = [
            PageTable(tuple(_title(name) for name in header), _title(caption), _title(sheet), _count(number))
            for header, caption, sheet, number in plain["tables"]
        ]
        found: list[PageBlock] = []
        for kind, start, end, level, path, table, cells, language, *raws in plain["blocks"]:
            if kind not in _KINDS or not 0 <= _count(start) <= _count(end) <= length or _count(level) > 100:
                raise ValueError("not a block of this page")
            spans = _spans(cells, start, end)
            named = None if table == -1 else tables[_count(table)]
            stored = _raws(raws, len(spans))
            found.append(
                PageBlock(kind, start, end, level, paths[_count(path)], named, spans, _title(language), stored)
            )
    except (zlib.error, ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        raise DamagedError(_("The structure of a page is damaged.")) from error
    if any(after.start < before.end for before, after in pairwise(found)):
        raise DamagedError(_("The structure of a page is damaged."))
    return tuple(found)


def _spans(cells: Sequence[object], start: int, end: int) -> Cells:
    places = [start + _count(place) for place in cells]
    if len(places) % 2 or len(places) > 2 * MOST_COLUMNS or any(not start <= place <= end for place in places):
        raise ValueError("cells outside of their row")
    return tuple(zip(places[::2], places[1::2], strict=True))


def _raws(packed: Sequence[Any], cells: int) -> Raws:
    if not packed:
        return ()
    ((*flat,),) = packed
    raws = tuple((_count(at), float(value)) for at, value in zip(flat[::2], flat[1::2], strict=True))
    if any(at >= cells or not isfinite(value) for at, value in raws):
        raise ValueError("values of other cells")
    return raws


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("not a count")
    return value


def _title(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value[:_LONGEST]
