"""What Office files draw: charts as tables of their data, SmartArt as its texts, pictures by their alternative text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from docmind.blocks import Block, Cell, Picture, Table
from docmind.reading.formats.number_format import GENERAL, general, parsed, shown
from docmind.reading.formats.ooxml_parts import ANY, DGM, A, C, Element, number

_MOST = 2_000  # points of a series, and series
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".emf", ".wmf", ".svg", ".webp")
_NAME_WORDS = 4  # most words in the name of a file
_MADE_UP = re.compile(
    r"(?:Description automatically generated|Descrição gerada automaticamente|Descripción generada automáticamente|"
    r"AI-generated content may be incorrect).*$",
    re.DOTALL,
)
_DEEPEST = 8  # levels of a diagram


def alternative(texts: Iterable[str | None]) -> str:
    """Return the first text that says what a picture shows; the name of a file or what a program wrote is none."""
    for raw in texts:
        text = _MADE_UP.sub("", " ".join((raw or "").split())).strip()
        if len(text) > 1 and not _is_file_name(text):
            return text
    return ""


def figures_of(said: str, pictures: Iterable[Picture | None]) -> list[Block]:
    """Return the pictures that can be decoded as figures, the first with what is said of them in words.

    Where none can, the words are a figure by themselves.
    """
    found = [Block(kind="figure", picture=picture) for picture in pictures if picture is not None]
    if not said:
        return found
    return [replace(found[0], text=said), *found[1:]] if found else [Block(kind="figure", text=said)]


def is_decoration(element: Element) -> bool:
    """Return whether a drawing is marked as one that says nothing."""
    return any(str(each.tag).endswith("}decorative") and each.get("val") in ("1", "true") for each in element.iter())


def _is_file_name(text: str) -> bool:
    name = text.replace("\\", "/").rpartition("/")[2].lower()
    return name.endswith(_PICTURES) and len(name.split()) <= _NAME_WORDS


# Diagrams


def items_of_diagram(root: Element) -> list[Block]:
    """Return the texts of a diagram (SmartArt) as items, each below the one it belongs to; none where it has none."""
    texts = dict[str, str]()
    for point in root.iter(f"{DGM}pt"):
        lines = ("".join(run.text or "" for run in line.iter(f"{A}t")) for line in point.iterfind(f"{DGM}t/{A}p"))
        text = " ".join(" ".join(lines).split())
        if point.get("type", "node") in ("node", "asst"):
            texts.setdefault(point.get("modelId") or f"without id {len(texts)}", text)
    below = dict[str, list[tuple[int, str]]]()
    for link in root.iter(f"{DGM}cxn"):
        source, target = link.get("srcId") or "", link.get("destId") or ""
        if link.get("type", "parOf") == "parOf" and target in texts:
            below.setdefault(source, []).append((number(link.get("srcOrd")), target))
    targets = {target for those in below.values() for _order, target in those}
    starts = [source for source in below if source not in texts]
    tops = [target for source in starts for _order, target in sorted(below[source])]
    tops += [key for key in texts if key not in targets]
    seen = set[str]()
    waiting = [(key, 0) for key in reversed([*tops, *texts])] if tops else [(key, 0) for key in reversed(texts)]
    found = list[Block]()
    while waiting:
        key, level = waiting.pop()
        if key in seen:
            continue
        seen.add(key)
        if texts[key]:
            found.append(Block(kind="item", text=texts[key], level=level, marker="•"))
        deeper = min(level + 1, _DEEPEST)
        waiting += [(target, deeper) for _order, target in sorted(below.get(key, ()), reverse=True)]
    return found


# Charts


def chart_of(root: Element) -> Table | None:
    """Return the data of a chart: a row for each category, a column for each series; None where it keeps none.

    The values are those that a program keeps beside the drawing, in the format that it keeps with them.
    """
    series = list(root.iter(f"{C}ser"))[:_MOST]
    names = [" ".join(cell.shown for cell in _points(said.find(f"{C}tx")).values()) for said in series]
    labels: dict[int, Cell] = {}
    columns: list[dict[int, Cell]] = []
    for said in series:
        labels = _points(_either(said, "cat", "xVal")) | labels
        columns.append(_points(_either(said, "val", "yVal")))
    places = sorted({place for column in columns for place in column})
    if not places or len(places) * len(columns) > 100_000:
        return None
    rows = [[labels.get(at, ""), *(column.get(at, Cell("", type="empty")) for column in columns)] for at in places]
    along, up = _axis(root, "catAx", "dateAx"), _axis(root, "valAx")
    caption = _title(root)
    if up and up.casefold() not in caption.casefold():
        caption = f"{caption} ({up})" if caption else up
    return Table(rows=[[along, *names], *rows], header_rows=1, header_columns=1, caption=caption)


def extended_chart_of(root: Element) -> Table | None:
    """Return the data of a chart of the newer kinds (waterfall, funnel, treemap); None where it keeps none."""
    data = next(_named(root, "chartData"), None)
    columns, heads = list[dict[int, Cell]](), list[str]()
    names = [" ".join("".join(part.text or "" for part in _named(said, "v")).split()) for said in _named(root, "tx")]
    for dimension in (each for each in data.iter() if _local(each) in ("strDim", "numDim")) if data is not None else ():
        for level in reversed(list(_named(dimension, "lvl"))[:_DEEPEST]):  # the outermost names stand last
            code = level.get("formatCode") or GENERAL
            is_number = _local(dimension) == "numDim"
            points = list(_named(level, "pt"))[:_MOST]
            columns.append({number(point.get("idx")): _value(point.text or "", code, is_number) for point in points})
            heads.append(names.pop(0) if is_number and names else "")
    places = sorted({place for column in columns for place in column})
    if not places:
        return None
    rows = [[column.get(at, Cell("", type="empty")) for column in columns] for at in places]
    return Table(rows=[heads, *rows] if any(heads) else rows, header_rows=int(any(heads)), caption=_title(root))


def _axis(root: Element, *kinds: str) -> str:
    """Return the title of the first axis of these kinds that has one: the unit of the values, or what is along it."""
    axes = (axis for axis in root.iter() if _local(axis) in kinds)
    return next(filter(None, map(_title_in, axes)), "")


def _title(root: Element) -> str:
    chart = next(_named(root, "chart"), None)
    return _title_in(chart) if chart is not None else ""


def _title_in(element: Element) -> str:
    title = next((child for child in element if _local(child) == "title"), None)
    return " ".join("".join(run.text or "" for run in title.iter(f"{A}t")).split()) if title is not None else ""


def _named(element: Element, name: str) -> Iterator[Element]:
    return (each for each in element.iter() if _local(each) == name)


def _local(element: Element) -> str:
    return ANY.sub("", str(element.tag))


def _either(said: Element, *names: str) -> Element | None:
    return next((found for name in names if (found := said.find(f"{C}{name}")) is not None), None)


def _points(element: Element | None) -> dict[int, Cell]:
    """Return the values of a reference or list, by their place."""
    if element is None:
        return {}
    found: dict[int, Cell] = {}
    for cache in _caches(element):
        code = cache.findtext(f"{C}formatCode") or GENERAL
        for point in cache.iterfind(f"{C}pt"):
            text = point.find(f"{C}v")
            if text is not None and len(found) < _MOST:
                is_number = not str(cache.tag).startswith(f"{C}str") and _local(cache) != "lvl"
                cell = _value(text.text or "", point.get("formatCode") or code, is_number)
                found.setdefault(number(point.get("idx")), cell)
    direct = element.find(f"{C}v")
    return found or ({0: Cell((direct.text or "").strip())} if direct is not None else {})


def _caches(element: Element) -> list[Element]:
    """Return what holds the points of a reference, each once: of names of several levels the innermost."""
    parents = list[Element]()
    for point in element.iter(f"{C}pt"):
        parent = point.getparent()
        if not parents or parents[-1] is not parent:
            parents.append(parent)
    return parents


def _value(raw: str, code: str, is_number: bool) -> Cell:
    """Return a value as its format shows it."""
    text = " ".join(raw.split())
    if is_number:
        with suppress(ValueError, OverflowError):
            value = float(text)
            said = shown(value, code)
            plain = general(value)
            return Cell(said or text, raw=plain if plain != said else "", type=parsed(code).type, format=code)
        return Cell(text, type="number" if text else "empty")
    return Cell(text)
