"""The shapes of one slide, or of its page of notes: texts, tables, charts, diagrams and pictures, in reading order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from docmind.blocks import Block, Losses, Table
from docmind.reading.formats.cells import CellRead, Placed, gridded
from docmind.reading.formats.drawings import (
    alternative,
    chart_of,
    extended_chart_of,
    figures_of,
    is_decoration,
    items_of_diagram,
)
from docmind.reading.formats.ooxml_parts import ANY, DGM, MC, A, C, Element, Part, Parts, R, chosen_of, number
from docmind.reading.formats.pptx.order import reading_order
from docmind.reading.formats.pptx.styles import TITLES, Backdrop, P, Placeholder, box_of
from docmind.reading.formats.pptx.text import UNDERSTOOD, Paragraph, lines_of, paragraphs_of, plain_text
from docmind.reading.formats.sheet_tables import typed
from docmind.reading.formats.typeset import LINE
from docmind.records.documents import LossKind

_TITLE_MAX = 250  # characters: a longer title is a text
_GUESSED_MAX = 100  # characters of a text that is taken for a title by its place and size
_LARGER = 1.15  # times the size of all other text, for such a title
_MEDIA = frozenset(("videoFile", "audioFile", "quickTimeFile", "wavAudioFile", "audioCd"))
_SHAPES = frozenset(f"{P}{name}" for name in ("sp", "pic", "graphicFrame", "grpSp", "cxnSp", "contentPart"))
_DEEPEST_GROUP = 60


class Slide:
    """The shapes of a slide, read once: `title`, `body` in reading order, and the `footers`."""

    def __init__(
        self, part: Part, backdrop: Backdrop, parts: Parts, losses: Losses, place: str, drawn: set[str]
    ) -> None:
        """Read the slide; `place` names it in losses, and `drawn` has the charts that were read so far."""
        self._part = part
        self._backdrop = backdrop
        self._parts = parts
        self._losses = losses
        self._place = place
        self._drawn = drawn
        self.title = ""
        self.footers: list[Block] = []
        tree = part.root.find(f"{P}cSld/{P}spTree")
        top = list(_members(tree)) if tree is not None else []
        titles = [shape for shape in top if backdrop.placeholder(shape).type in TITLES]
        for shape in titles:
            if not self.title:
                self.title = " ".join(" ".join(each.text for each in self._paragraphs(shape)).split())
        self._begun: Element | None = None  # the shape whose first paragraph was taken for the title
        if not self.title:
            self._guess(top)
        rest = [shape for shape in top if shape not in titles]
        self.body = list(self._group(rest, 0))
        if len(self.title) > _TITLE_MAX:
            self.body.insert(0, Block(kind="paragraph", text=self.title))
            self.title = ""

    def _guess(self, shapes: Sequence[Element]) -> None:
        """Take the first paragraph of the highest text for the title where it is short and larger than all others."""
        read = [(shape, self._paragraphs(shape)) for shape in shapes if shape.tag == f"{P}sp"]
        texts = [(shape, said, box_of(shape, self._backdrop.placeholder(shape))) for shape, said in read if said]
        placed = [(box[1], shape, said) for shape, said, box in texts if box is not None]
        if not placed:
            return
        _top, highest, said = min(placed, key=lambda one: one[0])
        others = [each.size for _shape, lines, _box in texts for each in lines if each is not said[0]]
        text = " ".join(said[0].text.split())
        is_short = len(text) <= _GUESSED_MAX and not said[0].marker and any(map(str.isalpha, text))
        if is_short and others and said[0].size >= _LARGER * max(others):
            self.title, self._begun = text, highest

    def _paragraphs(self, shape: Element) -> list[Paragraph]:
        place = self._backdrop.placeholder(shape)
        return paragraphs_of(shape.find(f"{P}txBody"), self._backdrop.styles(shape, place))

    def _group(self, shapes: Sequence[Element], depth: int) -> Iterator[Block | Table]:
        if depth > _DEEPEST_GROUP:
            self._lost("part")
            return
        places = [self._backdrop.placeholder(shape) for shape in shapes]
        for at in reading_order([box_of(shape, place) for shape, place in zip(shapes, places, strict=True)]):
            yield from self._shape(shapes[at], places[at], depth)

    def _shape(self, shape: Element, place: Placeholder, depth: int) -> Iterator[Block | Table]:
        said = _said(shape)
        if said is not None and said.get("hidden", "0").lower() in ("1", "true"):
            if any((text.text or "").strip() for text in shape.iter(f"{A}t")):
                self._lost("hidden_text")
            return
        if shape.tag == f"{P}grpSp":
            yield from self._described(shape)
            yield from self._group(list(_members(shape)), depth + 1)
        elif shape.tag == f"{P}graphicFrame":
            yield from self._frame(shape)
        elif shape.tag == f"{P}pic":
            yield from self._picture(shape)
        elif shape.tag == f"{P}contentPart":
            self._lost("picture")
        else:
            yield from self._text(shape, place)

    # Texts

    def _text(self, shape: Element, place: Placeholder) -> Iterator[Block]:
        if place.type == "sldNum":
            return
        paragraphs = self._paragraphs(shape)
        if shape is self._begun and len(paragraphs) == 1:
            return
        paragraphs = paragraphs[shape is self._begun :]
        if place.type in ("dt", "ftr", "hdr"):
            text = LINE.join(each.text for each in paragraphs)
            self.footers += [Block(kind="footer", text=text)] if text else []
            return
        if place.type == "body" and self._backdrop.compares and len(paragraphs) == 1 and not paragraphs[0].marker:
            text = " ".join(paragraphs[0].text.split())
            is_name = len(text) <= _GUESSED_MAX
            yield Block(kind="heading" if is_name else "paragraph", text=text, level=2 if is_name else 0)
            return
        yield from blocks_of_text(paragraphs)
        if paragraphs:
            return
        yield from self._shown(shape, shape.find(f"{P}spPr/{A}blipFill/{A}blip"))

    def _described(self, shape: Element) -> Iterator[Block]:
        text = self._alternative(shape)
        if text:
            yield Block(kind="figure", text=text)

    def _alternative(self, shape: Element) -> str:
        said = _said(shape)
        return alternative((said.get("descr"), said.get("title"))) if said is not None else ""

    # Pictures

    def _picture(self, shape: Element) -> Iterator[Block]:
        if any(ANY.sub("", str(each.tag)) in _MEDIA for each in shape.iterfind(f"{P}nvPicPr/{P}nvPr/*")):
            yield from self._described(shape)
            self._lost("media")
            return
        picture = shape.find(f"{P}blipFill/{A}blip")
        yield from self._shown(shape, picture)
        if picture is None and not self._alternative(shape) and not is_decoration(shape):
            self._lost("picture")

    def _shown(self, shape: Element, blip: Element | None) -> Iterator[Block]:
        """Yield the picture in a shape with what is said of it in words; count one that is not decoded."""
        said = self._alternative(shape)
        if blip is None or (not said and is_decoration(shape)):
            yield from self._described(shape)
            return
        link = self._part.links.get(blip.get(f"{R}embed") or "")
        picture = self._parts.picture(link.target) if link is not None and not link.is_external else None
        yield from figures_of(said, [picture])
        if picture is None and not said:
            self._lost(self._kind_of_picture(blip))

    def _kind_of_picture(self, picture: Element) -> LossKind:
        link = self._part.links.get(picture.get(f"{R}link") or "")
        is_linked = not picture.get(f"{R}embed") and link is not None and link.is_external
        return "linked_picture" if is_linked else "picture"

    # Tables, charts, diagrams, objects

    def _frame(self, frame: Element) -> Iterator[Block | Table]:
        data = frame.find(f"{A}graphic/{A}graphicData")
        content = _first_shown(data) if data is not None else None
        if content is None:
            return
        name = ANY.sub("", str(content.tag))
        if name == "tbl":
            yield from self._table(content)
            return
        found: list[Block | Table] = []
        lost: LossKind = "part"
        if name == "chart":
            part, lost = self._once(content.get(f"{R}id")), "chart"
            read = chart_of if str(content.tag).startswith(C) else extended_chart_of
            table = read(part.root) if part is not None else None
            found = [table] if table is not None else []
        elif name == "relIds" and str(content.tag).startswith(DGM):
            part, lost = self._once(content.get(f"{R}dm")), "picture"
            found = [*items_of_diagram(part.root)] if part is not None else []
        elif name == "oleObj":
            lost = "equation" if (content.get("progId") or "").startswith("Equation") else "embedded_object"
            self._lost(lost)
            yield from self._described(frame)
            return
        if not found:
            found = [*self._described(frame)]
            if not found:
                self._lost(lost)
        yield from found

    def _once(self, link_id: str | None) -> Part | None:
        """Return a part of the file that is read where it is first shown, and not again."""
        link = self._part.links.get(link_id or "")
        if link is None or link.is_external or link.target in self._drawn:
            return None
        self._drawn.add(link.target)
        return self._parts.part(link.target)

    def _table(self, table: Element) -> list[Block | Table]:
        properties = table.find(f"{A}tblPr")
        rows = [self._row(row) for row in table.iterfind(f"{A}tr")]
        rows = [row for row in rows if row]
        has_names = _is_on(properties, "firstRow") and len(rows) > 1
        first = rows[0] if rows else []
        are_names = has_names and all(_may_name(cell.read.text) for cell in first)
        is_plain = all(cell.columns == 1 and cell.rows == 1 for cell in first)
        if not any(cell.read.text for row in rows for cell in row):
            return []
        return gridded(
            rows,
            1 if are_names and is_plain else 0,
            named_columns=int(_is_on(properties, "firstCol")),
            is_styled=are_names,
        )

    def _row(self, row: Element) -> list[Placed]:
        placed = list[Placed]()
        column = 0
        for cell in row.iterfind(f"{A}tc"):
            span = min(max(number(cell.get("gridSpan"), 1), 1), 1_000)
            if cell.get("hMerge") in ("1", "true") and placed and placed[-1].first + placed[-1].columns > column:
                column += 1
                continue
            if cell.get("vMerge") in ("1", "true"):
                placed.append(Placed(column, span, "continue", CellRead()))
            else:
                starts = number(cell.get("rowSpan"), 1) > 1
                placed.append(Placed(column, span, "restart" if starts else "", self._cell(cell)))
            column += 1
        return placed

    def _cell(self, cell: Element) -> CellRead:
        paragraphs = paragraphs_of(cell.find(f"{A}txBody"), self._backdrop.plain())
        text = " ".join(" ".join(lines_of(paragraphs)).split())
        is_bold = bool(paragraphs) and all(each.is_bold for each in paragraphs)
        return CellRead(text, list(blocks_of_text(paragraphs)), [], is_bold)

    def _lost(self, kind: LossKind) -> None:
        self._losses.note(kind, self._place)


def blocks_of_text(paragraphs: Sequence[Paragraph]) -> Iterator[Block]:
    """Yield paragraphs as blocks: those with a bullet or number as items."""
    for each in paragraphs:
        if each.equations:
            for said in each.equations:
                yield Block(kind="equation", text=said.text, latex=said.latex)
        elif each.marker:
            yield Block(kind="item", text=each.text, level=each.level, marker=each.marker)
        else:
            yield Block(kind="paragraph", text=each.text)


def fixed_texts(slide: Element, backdrop: Backdrop) -> Iterator[str]:
    """Yield the texts that layout and master add to a slide, such as the name of a company."""
    for shape in backdrop.fixed(slide):
        body = shape.find(f"{P}txBody")
        text = plain_text(body.iterfind(f"{A}p")) if body is not None else ""
        has_number = body is not None and any(each.get("type") == "slidenum" for each in body.iter(f"{A}fld"))
        if text and not has_number:
            yield text


def _members(tree: Element) -> Iterator[Element]:
    """Yield the shapes of a slide or group; of alternatives the one that is shown."""
    for child in tree:
        if child.tag == f"{MC}AlternateContent":
            chosen = chosen_of(child, UNDERSTOOD)
            if chosen is not None:
                yield from (each for each in chosen if each.tag in _SHAPES)
        elif child.tag in _SHAPES:
            yield child


def _first_shown(data: Element) -> Element | None:
    """Return what a frame shows."""
    for child in data:
        if child.tag == f"{MC}AlternateContent":
            chosen = chosen_of(child, UNDERSTOOD)
            return next(iter(chosen), None) if chosen is not None else None
        return child
    return None


def _said(shape: Element) -> Element | None:
    """Return the element with the name and the alternative text of a shape."""
    return next(shape.iterfind(f"{P}*/{P}cNvPr"), None)


def _is_on(properties: Element | None, name: str) -> bool:
    return properties is not None and properties.get(name, "0").lower() in ("1", "true", "on")


def _may_name(text: str) -> bool:
    """Return whether a cell of a first row may name its column: a text or a year, and no value."""
    kind = typed(text).type
    is_year = kind == "number" and text.isdecimal() and len(text) == 4
    return (kind in ("text", "empty", "date") or is_year) and not text.endswith(":")
