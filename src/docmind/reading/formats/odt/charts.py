"""Charts of OpenDocument files: their values as a table, from the table that is kept beside the drawing."""

from __future__ import annotations

from docmind.blocks import Cell, Table
from docmind.reading.formats.odf import CHART, OFFICE, TABLE, TEXT, Element

_MOST = 100_000  # cells of a chart


def chart_of(chart: Element) -> Table | None:
    """Return the values of a chart, with its title as the caption; None where it keeps none."""
    table = chart.find(f"{TABLE}table")
    rows: list[list[Cell | str]] = []
    count = 0
    for row in table.iter(f"{TABLE}table-row") if table is not None else ():
        cells = list(row.iterfind(f"{TABLE}table-cell"))
        count += len(cells)
        if count > _MOST:
            return None
        rows.append([_cell(cell) for cell in cells])
    wide = max(map(len, rows), default=0)
    if len(rows) < 2 or wide < 2:
        return None
    for row in rows:
        row += [""] * (wide - len(row))
    title = chart.find(f"{CHART}title")
    caption = " ".join("".join(title.itertext()).split()) if title is not None else ""
    return Table(rows=rows, header_rows=1, header_columns=1, caption=caption)


def _cell(cell: Element) -> Cell | str:
    text = " ".join(" ".join("".join(line.itertext()) for line in cell.iterfind(f"{TEXT}p")).split())
    value = cell.get(f"{OFFICE}value")
    if text.lower() in ("nan", "1.#nan"):
        return ""
    if value is None:
        return text
    return Cell(text or value, type="number")
