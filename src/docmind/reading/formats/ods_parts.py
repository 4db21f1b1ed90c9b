"""The texts of an OpenDocument spreadsheet: paragraphs of cells, notes, drawings, headers and footers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from docmind.blocks import Block, Losses
from docmind.reading.formats.characters import struck, subscript, superscript
from docmind.reading.formats.drawings import figures_of
from docmind.reading.formats.odf import (
    CHART,
    DC,
    DRAW,
    FO,
    MATH,
    STYLE,
    SVG,
    TABLE,
    TEXT,
    XLINK,
    Document,
    Element,
    count_of,
)
from docmind.reading.formats.sheet_cells import Style
from docmind.reading.formats.typeset import printable

_SPACES_MAX = 1_000
_DEEPEST = 40  # styles that are based on each other
_FIELDS = {"page-number": "&P", "page-count": "&N", "date": "&D", "time": "&T", "sheet-name": "&A", "title": "&F"}
_REGIONS = {"region-left": "&L", "region-center": "&C", "region-right": "&R"}
_UNSEEN = frozenset(f"{TEXT}{name}" for name in ("ruby-text", "note", "bookmark", "tracked-changes"))
_NAMES = "custom-shape rect ellipse circle line polyline polygon path connector caption"
_SHAPES = frozenset(f"{DRAW}{name}" for name in _NAMES.split())


@dataclass(slots=True)
class Look:
    """What a style says, with what it is based on."""

    is_bold: bool = False
    is_hidden: bool = False
    is_struck: bool = False
    script: str = ""
    master: str = ""


@dataclass(slots=True)
class Styles:
    """The styles of a document by family and name, and its master pages by name."""

    elements: dict[tuple[str, str], Element] = field(default_factory=dict)
    masters: dict[str, Element] = field(default_factory=dict)
    numbers: list[Style] = field(default_factory=lambda: [Style(), Style(is_bold=True)])
    """The styles of cells: a plain one and a bold one. A cell has its text as it is shown."""
    _looks: dict[tuple[str, str], Look] = field(default_factory=dict)

    @classmethod
    def of(cls, document: Document) -> Styles:
        """Return the styles of a document."""
        found = cls()
        for root in (document.styles, document.content):
            for element in () if root is None else root.iter(f"{STYLE}style", f"{STYLE}master-page"):
                name = element.get(f"{STYLE}name") or ""
                if element.tag == f"{STYLE}style":
                    found.elements[element.get(f"{STYLE}family") or "", name] = element
                else:
                    found.masters[name] = element
        return found

    def look(self, family: str, name: str, deep: int = 0) -> Look:
        """Return the look of a style."""
        key = family, name
        if key not in self._looks:
            self._looks[key] = self._look(key, deep)
        return self._looks[key]

    def _look(self, key: tuple[str, str], deep: int) -> Look:
        element = self.elements.get(key)
        if element is None or deep > _DEEPEST:
            return Look()
        parent = element.get(f"{STYLE}parent-style-name")
        base = self.look(key[0], parent, deep + 1) if parent else Look()
        found = Look(base.is_bold, base.is_hidden, base.is_struck, base.script, base.master)
        found.master = element.get(f"{STYLE}master-page-name") or found.master
        for part in element:
            weight = part.get(f"{FO}font-weight")
            if weight is not None:
                found.is_bold = weight == "bold" or (weight.isdecimal() and int(weight[:4]) >= 600)
            line = part.get(f"{STYLE}text-line-through-style") or part.get(f"{STYLE}text-line-through-type")
            if line is not None:
                found.is_struck = line != "none"
            if part.get(f"{TABLE}display") is not None:
                found.is_hidden = part.get(f"{TABLE}display") == "false"
            place = (part.get(f"{STYLE}text-position") or "").split()
            if place:
                is_raised = place[0] == "super" or (place[0].rstrip("%").isdecimal() and place[0] != "0%")
                is_lowered = place[0] == "sub" or place[0].startswith("-")
                found.script = "super" if is_raised else "sub" if is_lowered else ""
        return found


def text_of(paragraph: Element, styles: Styles) -> str:
    """Return the text of a paragraph as it is shown."""
    parts = list[str]()
    _gather(paragraph, styles, parts)
    return printable("".join(parts))


def _gather(element: Element, styles: Styles, parts: list[str]) -> None:
    parts.append(element.text or "")
    for child in element:
        if child.tag == f"{TEXT}s":
            parts.append(" " * count_of(child.get(f"{TEXT}c"), _SPACES_MAX))
        elif child.tag == f"{TEXT}tab":
            parts.append("\t")
        elif child.tag == f"{TEXT}line-break":
            parts.append("\n")
        elif child.tag == f"{TEXT}span":
            inner = list[str]()
            _gather(child, styles, inner)
            look = styles.look("text", child.get(f"{TEXT}style-name") or "")
            said, before = "".join(inner), "".join(parts[-2:])
            if look.script and said.strip():
                said = (superscript if look.script == "super" else subscript)(said, before)
            parts.append(struck(said) if look.is_struck else said)
        elif child.tag.startswith(TEXT) and child.tag not in _UNSEEN:
            _gather(child, styles, parts)
        parts.append(child.tail or "")


def paragraphs_of(element: Element, styles: Styles) -> Iterator[str]:
    """Yield the texts of the paragraphs right within an element, those of its lists too."""
    for child in element:
        if child.tag in (f"{TEXT}p", f"{TEXT}h"):
            yield text_of(child, styles)
        elif child.tag in (f"{TEXT}list", f"{TEXT}list-item"):
            yield from paragraphs_of(child, styles)


def note_of(annotation: Element, styles: Styles) -> tuple[str, str]:
    """Return author and text of a comment."""
    author = printable(annotation.findtext(f"{DC}creator") or "").strip()
    text = "\n".join(paragraphs_of(annotation, styles)).strip()
    if author and text.startswith(f"{author}:"):
        text = text[len(author) + 1 :].strip()
    return author, text


def shapes_in(element: Element, document: Document, styles: Styles, losses: Losses, place: str) -> Iterator[Block]:
    """Yield the texts of the drawings right within an element; pictures, charts and such are counted."""
    for shape in element:
        if shape.tag in (f"{DRAW}g", f"{DRAW}a"):
            yield from shapes_in(shape, document, styles, losses, place)
        elif shape.tag == f"{DRAW}frame":
            yield from _frame(shape, document, styles, losses, place)
        elif shape.tag == f"{DRAW}control":
            losses.note("form_field", place)
        elif shape.tag in _SHAPES:
            yield from _texts(shape, styles)


def _frame(frame: Element, document: Document, styles: Styles, losses: Losses, place: str) -> Iterator[Block]:
    tags = {child.tag: child for child in reversed(frame)}  # the first of each
    if f"{DRAW}text-box" in tags:
        yield from _texts(tags[f"{DRAW}text-box"], styles)
        return
    said = next((frame.findtext(f"{SVG}{name}") for name in ("desc", "title") if frame.findtext(f"{SVG}{name}")), "")
    if f"{DRAW}object" in tags:
        root = document.object_of(tags[f"{DRAW}object"])
        chart = next(root.iter(f"{CHART}chart"), None) if root is not None else None
        if chart is not None:
            losses.note("chart", place)
            title = chart.find(f"{CHART}title")
            said = " ".join(paragraphs_of(title, styles)) if title is not None else said
        else:
            losses.note("equation" if root is not None and root.tag == f"{MATH}math" else "embedded_object", place)
    elif f"{DRAW}object-ole" in tags:
        losses.note("embedded_object", place)
    elif f"{DRAW}plugin" in tags:
        losses.note("media", place)
    elif f"{DRAW}image" in tags:
        picture = document.picture_of(tags[f"{DRAW}image"])
        if picture is not None:
            yield from figures_of(printable(said or "").strip(), [picture])
            return
        is_linked = "://" in (tags[f"{DRAW}image"].get(f"{XLINK}href") or "")
        losses.note("linked_picture" if is_linked else "picture", place)
    said = printable(said or "").strip()
    if said:
        yield Block(kind="figure", text=said)


def _texts(shape: Element, styles: Styles) -> Iterator[Block]:
    for text in paragraphs_of(shape, styles):
        if text.strip():
            yield Block(kind="paragraph", text=text)


def margins_of(master: Element) -> Iterator[tuple[str, str]]:
    """Yield the header and footer of a page as the codes that an Excel workbook has for them."""
    for name in ("header", "footer"):
        part = master.find(f"{STYLE}{name}")
        if part is not None and part.get(f"{STYLE}display") != "false":
            code = "".join(_codes(part))
            if code:
                yield name, code


def _codes(element: Element) -> Iterator[str]:
    for child in element:
        name = child.tag.rpartition("}")[2]
        yield _REGIONS.get(name, "")
        if name in _FIELDS:
            yield _FIELDS[name]
        else:
            yield (child.text or "").replace("&", "&&")
            yield from _codes(child)
        yield (child.tail or "").replace("&", "&&")
        if name in ("p", "h"):
            yield " "


def frozen_of(document: Document) -> dict[str, tuple[int, int]]:
    """Return the rows and columns that stay in view, by the name of the sheet."""
    root = document.part("settings.xml")
    root = document.content if root is None else root
    found = dict[str, tuple[int, int]]()
    config = "{urn:oasis:names:tc:opendocument:xmlns:config:1.0}"
    for entry in root.iter(f"{config}config-item-map-entry"):
        items = {item.get(f"{config}name"): item.text for item in entry.iterchildren(f"{config}config-item")}
        frozen = [
            count_of(items.get(f"{way}SplitPosition"), 10_000, 0) if items.get(f"{way}SplitMode") == "2" else 0
            for way in ("Vertical", "Horizontal")
        ]
        if any(frozen):
            found[entry.get(f"{config}name") or ""] = frozen[0], frozen[1]
    return found
