"""The parts of an Excel workbook, read from their XML.

A workbook is read without openpyxl, because openpyxl needs both of its loads for values and formulas, keeps every cell
of every sheet, gives no merged cells while it streams, and refuses a workbook for one bad part. Elements are known by
their local names, and parts by their relations, so Strict workbooks and renamed parts are read alike.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from string import digits
from typing import Any

from docmind.blocks import Losses
from docmind.reading.formats.characters import struck, subscript, superscript
from docmind.reading.formats.number_format import BUILT_IN, GENERAL
from docmind.reading.formats.ooxml import Link, Package
from docmind.reading.formats.sheet_cells import (
    LAST_COLUMN,
    LAST_ROW,
    MOST_MERGES,
    Entry,
    ErrorValue,
    IsoMoment,
    RawCell,
    Sheet,
    Style,
    Value,
    cell_at,
    range_at,
)
from docmind.reading.formats.typeset import printable
from docmind.reading.main_part import UNREADABLE
from docmind.records.documents import LossKind

PART_MAX = 64 << 20  # bytes of a part that is parsed at once
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")

_SCRIPTS = {"superscript": superscript, "subscript": subscript}


@dataclass(frozen=True, slots=True)
class SheetEntry(Entry):
    """A sheet as the workbook lists it, with its part."""

    part: str = ""


@lru_cache(maxsize=LAST_COLUMN)
def _column_of(letters: str) -> int:
    place = cell_at(f"{letters}1")
    return place[1] if place else 0


def local(element: Any) -> str:
    """Return the name of an element without its namespace; "" for a comment or an instruction."""
    tag = element.tag
    return _without_namespace(tag) if isinstance(tag, str) else ""


@lru_cache(maxsize=10_000)
def _without_namespace(tag: str) -> str:
    return tag.rpartition("}")[2]


def named(element: Any, name: str) -> Iterator[Any]:
    """Yield the elements of this local name within an element, in their order."""
    return element.iter(f"{{*}}{name}")


def is_on(raw: str | None) -> bool:
    """Return whether a boolean attribute is true."""
    return raw is not None and raw.strip().lower() in ("1", "true", "on")


def text_of(item: Any) -> str:
    """Return the text of a string item: its runs, raised, lowered and struck out as shown, without phonetic ones."""
    if len(item) == 1 and local(item[0]) == "t":
        return unescaped(item[0].text or "")
    parts = list[str]()
    for child in item:
        name = local(child)
        if name == "t":
            parts.append(child.text or "")
        elif name == "r":
            said = "".join(part.text or "" for part in child if local(part) == "t")
            looks = {local(look): look.get("val") for part in child if local(part) == "rPr" for look in part}
            change = _SCRIPTS.get(looks.get("vertAlign") or "")
            before = parts[-1] if parts else ""
            parts.append(change(said, before) if change else said)
            if "strike" in looks and looks["strike"] not in ("0", "false"):
                parts[-1] = struck(parts[-1])
    return unescaped("".join(parts))


def unescaped(text: str) -> str:
    """Return a text with the characters that XML cannot hold, written as _x000D_."""
    return printable(_ESCAPED.sub(lambda found: chr(int(found.group(1), 16)), text) if "_x" in text else text)


@dataclass(slots=True)
class Book:
    """A workbook: its sheets in their order, and what all of them share."""

    package: Package
    part: str
    losses: Losses
    entries: list[SheetEntry] = field(default_factory=list)
    strings: list[str] = field(default_factory=list)
    styles: list[Style] = field(default_factory=list)
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    """The formulas of defined names, by sheet ("" for all) and name, both in small letters."""
    is_1904: bool = False
    is_uncalculated: bool = False
    """A program wrote it that computes nothing: results of 0 are none."""
    title: str = ""
    author: str = ""

    def style(self, number: int) -> Style:
        return self.styles[number] if 0 <= number < len(self.styles) else Style()


def open_book(archive: zipfile.ZipFile, losses: Losses) -> Book:
    """Return a workbook without its sheets. Raises one of `UNREADABLE` where there is no list of sheets."""
    package = Package(archive)
    root = package.links("")
    part = next((one.target for one in root.values() if one.type == "officeDocument"), "xl/workbook.xml")
    book = Book(package, part, losses)
    related = package.links(part)
    tree = package.xml(part, PART_MAX)
    for one in named(tree, "workbookPr"):
        book.is_1904 = is_on(one.get("date1904"))
    for one in named(tree, "calcPr"):
        book.is_uncalculated = is_on(one.get("fullCalcOnLoad"))
    for one in named(tree, "sheet"):
        key = next((value for name, value in one.attrib.items() if name.endswith("}id")), "")
        target = related.get(key, Link("", "", is_external=False))
        name = printable(one.get("name") or "")
        is_hidden = (one.get("state") or "visible") != "visible"
        book.entries.append(SheetEntry(name, is_hidden, left_as(package, target), target.target))
    if not book.entries:
        raise ValueError("a workbook without sheets")
    for one in named(tree, "definedName"):
        at = one.get("localSheetId") or ""
        own = book.entries[_whole(at)].name if at and _whole(at) < len(book.entries) else ""
        book.names[own.casefold(), (one.get("name") or "").casefold()] = (one.text or "").strip()
    for one in related.values():
        if one.type == "vbaProject":
            losses.note("macro")
        elif one.type == "sharedStrings":
            _strings(book, one.target)
        elif one.type == "styles":
            _styles(book, one.target)
    read_facts(book, root)
    return book


def left_as(package: Package, sheet: Link) -> LossKind | None:
    """Return as what a sheet without cells is counted; None for one that is read."""
    if sheet.type == "chartsheet":
        return "chart"
    if sheet.type == "worksheet" and package.has(sheet.target):
        return None
    return "macro" if "acro" in sheet.type else "part"


def read_facts(book: Book, root: dict[str, Link]) -> None:
    """Read title and author from the part of the properties that the relations of the file name."""
    part = next((one.target for one in root.values() if one.type == "core-properties"), "docProps/core.xml")
    try:
        for one in book.package.xml(part, PART_MAX) if book.package.has(part) else ():
            if local(one) == "title":
                book.title = one.text or ""
            elif local(one) == "creator":
                book.author = one.text or ""
    except UNREADABLE:
        book.losses.note("part", part)


def _strings(book: Book, part: str) -> None:
    try:
        book.strings.extend(text_of(item) for item in book.package.stream(part, "si"))
    except UNREADABLE:
        book.losses.note("part", part)


def _styles(book: Book, part: str) -> None:
    try:
        tree = book.package.xml(part, PART_MAX)
        codes = dict(BUILT_IN)
        for one in named(tree, "numFmt"):
            if one.get("numFmtId", "").isdigit():
                codes[int(one.get("numFmtId"))] = one.get("formatCode") or GENERAL
        bold = list[bool]()
        for fonts in named(tree, "fonts"):
            bold = [
                any(local(mark) == "b" and mark.get("val") not in ("0", "false") for mark in font) for font in fonts
            ]
            break
        for formats in named(tree, "cellXfs"):
            for one in formats:
                code, font = (_whole(one.get(name)) for name in ("numFmtId", "fontId"))
                book.styles.append(Style(codes.get(code, GENERAL), bold[font] if 0 <= font < len(bold) else False))
            break
    except UNREADABLE:
        book.losses.note("part", part)


def _whole(raw: str | None) -> int:
    return int(raw) if raw and raw.isascii() and raw.isdigit() and len(raw) < 10 else 0


_PARTS_OF_SHEET = (
    "c", "row", "mergeCell", "pane", "autoFilter", "hyperlink", "oddHeader", "oddFooter", "oleObject", "control",
    "picture",
)  # fmt: skip


def read_sheet(book: Book, entry: SheetEntry) -> Sheet:
    """Return a sheet; one that breaks off is kept as far as it goes, and counted."""
    sheet = Sheet()
    try:
        related = book.package.links(entry.part)
        reader = _SheetReader(book, entry, sheet, related)
        for element in book.package.stream(entry.part, *_PARTS_OF_SHEET):
            reader.take(element)
    except UNREADABLE:
        book.losses.note("part", entry.name)
    return sheet


class _SheetReader:
    def __init__(self, book: Book, entry: SheetEntry, sheet: Sheet, related: dict[str, Link]) -> None:
        self._book, self._entry, self._sheet, self._related = book, entry, sheet, related
        self._row_number = 0
        self._row: Any = None
        self._cells: dict[int, RawCell] = {}
        self._column = 0
        self._shared: dict[str, tuple[str, str]] = {}

    def take(self, element: Any) -> None:
        name = local(element)
        if name == "c":
            self._cell(element)
        elif name == "mergeCell":
            merged = range_at(element.get("ref") or "")
            if merged and merged[:2] != merged[2:] and len(self._sheet.merges) < MOST_MERGES:
                self._sheet.merges.append(merged)
        elif name == "pane" and (element.get("state") or "").startswith("frozen"):
            self._sheet.frozen_rows = _whole((element.get("ySplit") or "").partition(".")[0])
            self._sheet.frozen_columns = _whole((element.get("xSplit") or "").partition(".")[0])
        elif name == "autoFilter":
            filtered = range_at(element.get("ref") or "")
            self._sheet.filters += [filtered] if filtered else []
        elif name == "hyperlink":
            self._link(element)
        elif name in ("oddHeader", "oddFooter"):
            self._sheet.margins.append((name[3:].lower(), unescaped(element.text or "")))
        elif name == "oleObject":
            self._book.losses.note("embedded_object", self._entry.name)
        elif name == "control":
            self._book.losses.note("form_field", self._entry.name)
        elif name == "picture":
            self._book.losses.note("picture", self._entry.name)

    def _link(self, element: Any) -> None:
        key = next((value for name, value in element.attrib.items() if name.endswith("}id")), "")
        target = self._related.get(key)
        place = range_at(element.get("ref") or "")
        if place and target and target.is_external:
            self._sheet.links.append((place, printable(target.target)))

    def _cell(self, element: Any) -> None:
        row = element.getparent()
        if row is not self._row:
            self._row = row
            number = _whole(row.get("r")) if row is not None else 0
            self._row_number = number if 1 <= number <= LAST_ROW else self._row_number + 1
            self._cells = self._sheet.rows.get(self._row_number, {})
            self._column = 0
        # The row says its number; the letters of the columns are the same in each.
        self._column = _column_of((element.get("r") or "").rstrip(digits)) or self._column + 1
        value, formula, is_open = self._content(element)
        if value is None and not is_open:
            return
        if self._column > LAST_COLUMN or self._row_number > LAST_ROW:
            return
        if not self._sheet.has_room():
            return
        if not self._cells:
            self._sheet.rows[self._row_number] = self._cells
        self._cells[self._column] = value, _whole(element.get("s")), formula
        if is_open:
            self._sheet.needs_result.append((self._row_number, self._column))

    def _content(self, element: Any) -> tuple[Value, str, bool]:
        """Return value and formula of a cell, and whether its formula has no result."""
        raw: str | None = None
        formula, has_formula, inline = "", False, ""
        for child in element:
            name = local(child)
            if name == "v":
                raw = child.text
            elif name == "f":
                has_formula = child.get("t") != "dataTable"
                formula = self._formula(child, element.get("r") or "")
            elif name == "is":
                inline = text_of(child)
        kind = element.get("t") or "n"
        if kind == "inlineStr":
            return inline or None, formula, False
        if raw is None:
            return ("", formula, False) if kind == "str" and has_formula else (None, formula, has_formula)
        value = self._value(raw, kind)
        if kind == "e" and element.get("vm") and raw == "#VALUE!" and not has_formula:
            self._book.losses.note("picture", self._entry.name)  # a picture within the cell has this value beside it
            return None, "", False
        if has_formula and self._book.is_uncalculated and value == 0 and not isinstance(value, bool):
            return None, formula, True
        return value, formula, False

    def _formula(self, element: Any, ref: str) -> str:
        text = printable(element.text or "")
        key = element.get("si")
        if element.get("t") != "shared" or key is None:
            return text
        if text:
            self._shared[key] = text, ref
            return text
        first, at = self._shared.get(key, ("", ""))
        # Moved only once it is needed: thousands of cells share a formula and have results.
        return f"\0{at}\0{first}" if first else ""

    def _value(self, raw: str, kind: str) -> Value:
        if kind == "s":
            number = _whole(raw.strip())
            if number < len(self._book.strings):
                return self._book.strings[number] or None
            self._book.losses.note("part", self._entry.name)
            return None
        if kind == "b":
            return is_on(raw)
        if kind == "e":
            return ErrorValue(printable(raw))
        if kind == "n":
            try:
                number = float(raw)
            except ValueError:
                return printable(raw) or None
            return number if math.isfinite(number) else printable(raw)
        if kind == "d":
            return IsoMoment(printable(raw).strip())
        return unescaped(raw) or ("" if kind == "str" else None)
