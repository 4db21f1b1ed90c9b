"""Tables: the cells of each row where they stand, with their spans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from docmind.blocks import Block, Table
from docmind.reading.formats.cells import CellRead, Placed, gridded
from docmind.reading.formats.docx.inline import GONE, UNDERSTOOD
from docmind.reading.formats.docx.package import MC, Element, W, is_on, number, value
from docmind.reading.formats.docx.styles import Styles
from docmind.reading.formats.ooxml_parts import chosen_of

_WRAPPERS = frozenset(f"{W}{name}" for name in ("customXml", "ins", "moveTo", "smartTag"))


def members(container: Element) -> Iterator[Element]:
    """Yield what stands in a container, without what is wrapped around it; tracked deletions are left out."""
    for child in container:
        tag = child.tag
        if tag == f"{W}sdt":
            content = child.find(f"{W}sdtContent")
            if content is not None:
                yield from members(content)
        elif tag in _WRAPPERS:
            yield from members(child)
        elif tag == f"{MC}AlternateContent":
            chosen = chosen_of(child, UNDERSTOOD)
            if chosen is not None:
                yield from members(chosen)
        elif tag not in GONE:
            yield child


def read_table(table: Element, read: Callable[[Element], CellRead], styles: Styles) -> list[Block | Table]:
    """Return a table, followed by what does not belong in a cell. A table that is layout gives its cells as blocks."""
    rows: list[list[Placed]] = []
    named = 0
    for row in (each for each in members(table) if each.tag == f"{W}tr"):
        properties = row.find(f"{W}trPr")
        if properties is not None and properties.find(f"{W}del") is not None:
            continue
        if named == len(rows) and is_on(properties, "tblHeader"):
            named += 1
        rows.append(_row(row, properties, read))
    properties = table.find(f"{W}tblPr")
    style = value(properties, "tblStyle") if properties is not None else None
    is_styled = bool(style) and styles.look(style).has_header_row and _looks_at_first_row(properties)
    return gridded(rows, named, is_styled=is_styled)


def _row(row: Element, properties: Element | None, read: Callable[[Element], CellRead]) -> list[Placed]:
    before = _span(value(properties, "gridBefore")) if properties is not None else 0
    placed = [Placed(0, before, "", CellRead())] if before else []
    column = before
    for cell in (each for each in members(row) if each.tag == f"{W}tc"):
        said = cell.find(f"{W}tcPr")
        span = max(1, _span(value(said, "gridSpan"))) if said is not None else 1
        is_gone = said is not None and said.find(f"{W}cellDel") is not None
        contents = CellRead() if is_gone else read(cell)
        if said is not None and value(said, "hMerge") == "continue" and placed:
            placed[-1].columns += span
            placed[-1].read.add(contents)
        else:
            placed.append(Placed(column, span, _merge_of(said), contents))
        column += span
    after = _span(value(properties, "gridAfter")) if properties is not None else 0
    return [*placed, Placed(column, after, "", CellRead())] if after else placed


def _merge_of(said: Element | None) -> Literal["", "restart", "continue"]:
    merge = said.find(f"{W}vMerge") if said is not None else None
    if merge is None:
        return ""
    return "restart" if merge.get(f"{W}val") == "restart" else "continue"


def _span(text: str | None) -> int:
    return max(number(text), 0)


def _looks_at_first_row(properties: Element) -> bool:
    look = properties.find(f"{W}tblLook")
    if look is None:
        return False
    said = look.get(f"{W}firstRow")
    if said is not None:
        return said.lower() in ("1", "true", "on")
    try:
        return bool(int(look.get(f"{W}val") or "0", 16) & 0x20)
    except ValueError:
        return False
