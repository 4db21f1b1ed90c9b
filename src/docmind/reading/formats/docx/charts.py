"""Charts: their data as a table, from the values that Word keeps beside the drawing."""

from __future__ import annotations

from docmind.blocks import Cell, Table
from docmind.reading.formats.docx.package import A, C, Element, number

_MOST = 2_000  # points of a series, and series


def chart_of(root: Element) -> Table | None:
    """Return the data of a chart: a row for each category, a column for each series; None where it keeps none."""
    series = list(root.iter(f"{C}ser"))[:_MOST]
    names = [" ".join(_points(said.find(f"{C}tx")).values()) for said in series]
    labels: dict[int, str] = {}
    columns: list[dict[int, str]] = []
    for said in series:
        labels = _points(_either(said, "cat", "xVal")) | labels
        columns.append(_points(_either(said, "val", "yVal")))
    places = sorted({place for column in columns for place in column})
    if not places or len(places) * len(columns) > 100_000:
        return None
    head = ["", *names]
    rows = [[labels.get(at, ""), *(Cell(column.get(at, ""), type="number") for column in columns)] for at in places]
    title = " ".join("".join(run.text or "" for run in root.iterfind(f"{C}chart/{C}title//{A}t")).split())
    return Table(rows=[head, *rows], header_rows=1, header_columns=1, caption=title)


def _either(said: Element, *names: str) -> Element | None:
    return next((found for name in names if (found := said.find(f"{C}{name}")) is not None), None)


def _points(element: Element | None) -> dict[int, str]:
    """Return the values of a reference or list, by their place."""
    if element is None:
        return {}
    found: dict[int, str] = {}
    for point in element.iter(f"{C}pt"):
        text = point.find(f"{C}v")
        if text is not None and len(found) < _MOST:
            found.setdefault(number(point.get("idx")), (text.text or "").strip())
    direct = element.find(f"{C}v")
    return found or ({0: (direct.text or "").strip()} if direct is not None else {})
