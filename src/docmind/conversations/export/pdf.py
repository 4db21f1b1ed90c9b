"""Export to a PDF: the answers with crops of the quoted places, then the cited pages.

No links, no forms, no metadata but the title. The fonts are those that DocMind ships; a character that they lack is
printed as a box.

ReportLab interprets small tags in the text of a paragraph. Foreign text is inserted only through `printed`, which
removes all tags.
"""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape as without_tags

from PIL import Image as Picture
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.pdfdoc import PDFDictionary, PDFInfo, PDFString
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    CondPageBreak,
    Flowable,
    Frame,
    HRFlowable,
    Image,
    KeepTogether,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
    XPreformatted,
)

import docmind
from docmind.conversations.export import content
from docmind.conversations.export.content import (
    NAMELESS,
    CitedPage,
    Pages,
    body,
    byline,
    groups_of,
    lost,
    opening,
    remarks,
)
from docmind.records.answers import BY_HAND, Answer, Source
from docmind.records.conversations import ThreadView, Turn
from docmind.records.rich_text import Block, Break, Code, Inline, Items, Quote, Rule, Run, SentenceEnd
from docmind.records.rich_text import Paragraph as Words
from docmind.records.rich_text import Table as Cells
from docmind.rich_text import one_line, quote_lines, shorten, visible
from docmind.wording import _

BODY, BOLD, MONO = "DocMindSans", "DocMindSansBold", "DocMindMono"
MARGIN = 56.0
WIDTH = A4[0] - 2 * MARGIN
INK, FAINT, GREEN, ORANGE, LINE = "#23272b", "#6b7075", "#0c5a44", "#9b4519", "#cdc9c0"
SIZE, SMALL, MONO_SIZE = 9.5, 8.0, 8.0
_INDENT, _DEEPEST = 14.0, 160.0
_COLUMNS, _CELL = 8, 400  # a table with more columns, or longer cells, is printed row by row
_MONO_WIDTH = 0.602  # of the font size, per letter
_BOX = "\u25a1"
_BEYOND = re.compile(r"[^\u0000-\uffff]")  # ReportLab maps these characters wrongly for copied text
_ADDRESS = re.compile(r"(?<=:)(?=/)|^(?=//)|(?<=www)(?=\.|$)|(?<=@)", re.IGNORECASE)
_GAP = "\u200a"  # a hair space; PDF readers that look for addresses skip zero-width characters
_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u200c\u200d\u2060\ufe0e\ufe0f"))

Badge = Callable[[int], str]
"""Tags to put after the sentence of this index; may be empty."""


@cache
def load_fonts() -> None:
    """Register the fonts that DocMind ships with ReportLab."""
    folder = Path(docmind.__file__).parent / "fonts"
    for name, file in ((BODY, "DejaVuSans.ttf"), (BOLD, "DejaVuSans-Bold.ttf"), (MONO, "DejaVuSansMono.ttf")):
        pdfmetrics.registerFont(TTFont(name, str(folder / file)))
    pdfmetrics.registerFontFamily(BODY, normal=BODY, bold=BOLD, italic=BODY, boldItalic=BOLD)


def _style(name: str, parent: ParagraphStyle | None = None, **options: Any) -> ParagraphStyle:
    return ParagraphStyle(name, parent, **options)


_BODY = _style(
    "body", fontName=BODY, fontSize=SIZE, leading=14.5, textColor=INK, spaceAfter=5, bulletFontName=BODY,
    bulletFontSize=SIZE, splitLongWords=1, allowWidows=0, allowOrphans=0,
)  # fmt: skip
STYLES = {
    "body": _BODY,
    "title": _style("title", _BODY, fontName=BOLD, fontSize=18, leading=24, spaceAfter=6),
    "heading": _style("heading", _BODY, fontName=BOLD, fontSize=13, leading=18, spaceAfter=8),
    "question": _style("question", _BODY, fontName=BOLD, fontSize=11, leading=16, spaceAfter=2, keepWithNext=1),
    "label": _style("label", _BODY, fontName=BOLD, fontSize=SMALL, textColor=FAINT, spaceBefore=6, keepWithNext=1),
    "small": _style("small", _BODY, fontSize=SMALL, leading=12, textColor=FAINT, spaceAfter=2),
    "source": _style("source", _BODY, spaceBefore=4, spaceAfter=4, leading=13.5),
    "quote": _style("quote", _BODY, textColor=FAINT, leftIndent=_INDENT),
    "note": _style("note", _BODY, fontSize=SMALL, leading=12, textColor=FAINT, leftIndent=_INDENT),
    "item": _style("item", _BODY, spaceAfter=2),
    "cell": _style("cell", _BODY, fontSize=8.5, leading=12, spaceAfter=0),
    "code": _style("code", fontName=MONO, fontSize=MONO_SIZE, leading=11, textColor=INK, spaceAfter=11,
                   backColor="#f3f1ec", borderPadding=(4, 4, 4, 4), spaceBefore=8),
}  # fmt: skip


def printed(text: str) -> str:
    """Return one line of foreign text without tags; characters that the fonts lack become boxes."""
    return without_tags(drawn(text))


def drawn(text: str) -> str:
    """Return one line of text for places that do not interpret tags."""
    return _letters(one_line(text))


def _letters(text: str) -> str:
    """Replace what the fonts lack, and break addresses so that PDF readers do not link them."""
    return _ADDRESS.sub(_GAP, _BEYOND.sub(_BOX, text.translate(_UNSEEN)))


def number(n: int) -> str:
    """Format a source's number as it appears in the text."""
    return f"<font color='{GREEN}'>[{n}]</font>"


def badges(answer: Answer) -> Badge:
    """Return the function that formats the marks after an answer's sentences."""

    def missing(words: str) -> str:
        return f" <font color='{ORANGE}' size='{SMALL}'>({words})</font>"

    return content.badge_of(answer, lambda n: f" {number(n)}", missing)


def flowables(
    blocks: Sequence[Block], badge: Badge, indent: float = 0.0, bullet: str = "", look: str = "body"
) -> Iterator[Flowable]:
    """Yield flowables, `indent` points from the left; the first paragraph carries the `bullet`."""
    indent = min(indent, _DEEPEST)
    for block in blocks:
        if bullet and not isinstance(block, Words):
            yield Paragraph("", _indented(look, indent), bulletText=bullet)
            bullet = ""
        if isinstance(block, Words):
            tags = _tags(block.inline, badge)
            style = _indented(look, indent)
            yield Paragraph(f"<b>{tags}</b>" if block.heading else tags, style, bulletText=bullet or None)
            bullet = ""
        elif isinstance(block, Code):
            yield from _code(block, indent)
        elif isinstance(block, Quote):
            yield from flowables(block.blocks, badge, indent + _INDENT, look="quote")
        elif isinstance(block, Items):
            for place, item in enumerate(block.items):
                sign = "•" if block.start is None else f"{block.start + place}."
                yield from flowables(item or (Words(()),), badge, indent + _INDENT + 6 * (len(sign) > 2), sign, "item")
            yield Spacer(0, 0 if indent else 3)
        elif isinstance(block, Cells):
            yield from _table(block, badge, indent)
        elif isinstance(block, Rule):
            yield HRFlowable(width="100%", thickness=0.5, color=LINE, spaceBefore=4, spaceAfter=6)


def _indented(name: str, indent: float) -> ParagraphStyle:
    style = STYLES[name]
    if not indent:
        return style
    return ParagraphStyle(f"{name}-{indent}", style, leftIndent=indent, bulletIndent=max(0.0, indent - 12))


def _code(code: Code, indent: float) -> Iterator[Flowable]:
    room = max(20, int((WIDTH - indent - 8) / (_MONO_WIDTH * MONO_SIZE)))
    lines = []
    for line in visible(code.text).translate(_UNSEEN).expandtabs(4).split("\n"):
        lines += [without_tags(_letters(line[at : at + room])) for at in range(0, max(1, len(line)), room)]
    yield XPreformatted("\n".join(lines), _style("code-here", STYLES["code"], leftIndent=indent + 5, rightIndent=5))


def _table(table: Cells, badge: Badge, indent: float) -> Iterator[Flowable]:
    columns = len(table.sides)
    longest = max((_length(cell) for row in table.rows for cell in row), default=0)
    if columns > _COLUMNS or longest > _CELL:
        for row in table.rows[1:] or table.rows:
            named = [
                f"<b>{_tags(head, badge)}</b>: {_tags(cell, badge)}"
                for head, cell in zip(table.rows[0], row, strict=True)
            ]
            yield from (Paragraph(tags, _indented("body", indent + _INDENT)) for tags in named)
            yield Spacer(0, 4)
        return
    widths = _widths(table, WIDTH - indent)
    cells = [
        [Paragraph(f"<b>{tags}</b>" if place == 0 else tags, _aligned(side))
         for side, tags in zip(table.sides, (_tags(cell, badge) for cell in row), strict=True)]
        for place, row in enumerate(table.rows)
    ]  # fmt: skip
    look = [
        ("GRID", (0, 0), (-1, -1), 0.5, LINE), ("VALIGN", (0, 0), (-1, -1), "TOP"), ("TOPPADDING", (0, 0), (-1, -1), 3),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 4),
    ]  # fmt: skip
    yield Table(cells, widths, repeatRows=1, style=TableStyle(look), hAlign="LEFT", spaceBefore=4, spaceAfter=8)


def _widths(table: Cells, room: float) -> list[float]:
    """Return column widths in points by their longest cells, narrowed to fit into `room`."""
    wanted = [
        min(260.0, 16 + 5.4 * max(_length(row[column]) for row in table.rows)) for column in range(len(table.sides))
    ]
    least = 40.0
    if sum(wanted) > room:
        spare = room - least * len(wanted)
        over = sum(max(0.0, width - least) for width in wanted)
        wanted = [least + max(0.0, width - least) * spare / over for width in wanted]
    return [max(least, width) for width in wanted]


def _aligned(side: str) -> ParagraphStyle:
    return _style(f"cell-{side}", STYLES["cell"], alignment={"center": 1, "right": 2}.get(side, 0))


def _length(inline: Inline) -> int:
    return sum(len(part.text) if isinstance(part, Run) else 4 for part in inline)


def _tags(inline: Inline, badge: Badge) -> str:
    out = ""
    for part in inline:
        if isinstance(part, Break):
            out += "<br/>"
        elif isinstance(part, SentenceEnd):
            out = out.rstrip(" ") + badge(part.index)
        else:
            words = printed(part.text)
            edges = (" " if part.text[:1].isspace() else "", " " if part.text[-1:].isspace() else "")
            if part.code:
                words = f"<font name='{MONO}' size='{MONO_SIZE}'>{words}</font>"
            elif part.strong:
                words = f"<b>{words}</b>"
            elif part.em and words:
                words = f"<u>{words}</u>"
            out += f"{edges[0]}{words}{edges[1]}"
    return out


_TALLEST = A4[1] - 2 * MARGIN - 60  # room for a picture and its caption
_DPI = 130  # of the printed crops: 10-point text on the page has the size of the answer's text
_ONE_AT_A_TIME = threading.Lock()  # all documents of a process share fonts and their subsets


def paper(view: ThreadView, pages: Pages) -> bytes:
    """Return the bytes of the PDF."""
    title = one_line(view.thread.title) or "Conversation"
    out = io.BytesIO()
    with _ONE_AT_A_TIME:
        load_fonts()
        document = BaseDocTemplate(out, pagesize=A4, title=title)
        frame = Frame(MARGIN, MARGIN, WIDTH, A4[1] - 2 * MARGIN, 0, 0, 0, 0)
        document.addPageTemplates(PageTemplate(frames=[frame]))

        def canvas(*arguments: Any, **options: Any) -> Canvas:
            return _Canvas(title, *arguments, **options)

        document.build([*_story(view, title, pages)], canvasmaker=canvas)
    return out.getvalue()


def _story(view: ThreadView, title: str, pages: Pages) -> Iterator[Flowable]:
    yield Paragraph(printed(title), STYLES["title"])
    for line in opening(view):
        yield Paragraph(printed(line), STYLES["small"])
    for place, turn in enumerate(view.turns, start=view.earlier + 1):
        yield from _turn(turn, place, pages)
    whole = [page for page in pages if page.image is not None]
    if whole:
        yield PageBreak()
        yield Paragraph(_("Cited pages"), STYLES["heading"])
    for page in whole:
        yield from _page(page, view.earlier)


def _turn(turn: Turn, place: int, pages: Pages) -> Iterator[Flowable]:
    yield Spacer(0, 12)
    yield CondPageBreak(90)
    yield HRFlowable(width="100%", thickness=0.5, color=LINE, spaceAfter=8)
    question = [printed(line) for line in visible(turn.question).strip().split("\n")]
    yield Paragraph(f"{place}. {'<br/>'.join(question)}", STYLES["question"])
    yield Paragraph(printed(byline(turn)), STYLES["small"])
    yield Spacer(0, 4)
    if turn.answer is not None:
        yield from flowables(body(turn.answer), badges(turn.answer))
    for remark in remarks(turn):
        yield Paragraph(printed(remark), STYLES["small"])
    if turn.answer is not None and turn.answer.sources:
        for name, sources in groups_of(turn.answer):
            yield Paragraph(name, STYLES["label"])
            for source in sources:
                yield from _source(source, pages[source])
    elif turn.nearest:
        nearest = ", ".join(f"{hit.placed} page {hit.page_no}" for hit in turn.nearest)
        yield Paragraph(printed(_("Closest pages: {nearest}").format(nearest=nearest)), STYLES["small"])
    if turn.web:
        yield Paragraph("From the web", STYLES["label"])
        for result in turn.web:
            yield Paragraph(f"<b>{printed(result.title)}</b> {printed(result.url)}", STYLES["body"])
            yield Paragraph(printed(result.excerpt), STYLES["quote"])
    if turn.memories:
        yield Paragraph("Remembered", STYLES["label"])
        for memory in turn.memories:
            yield Paragraph(printed(memory), STYLES["body"], bulletText="•")


def _source(source: Source, page: CitedPage) -> Iterator[Flowable]:
    head = Paragraph(
        f"{number(source.n)} <b>Page {source.page_no}</b> · {printed(shorten(source.placed or _(NAMELESS), 90))}",
        STYLES["source"],
    )
    told = (
        Paragraph(printed(_(source.how)), STYLES["note"])
        if source.how
        else Paragraph(_quote(source.quote), STYLES["quote"])
    )
    parts: list[Flowable] = [head, told]
    if source.is_corrected and source.quote:
        parts.append(Paragraph(printed(_(BY_HAND)), STYLES["note"]))
    strip = page.strip(source)
    if strip is not None:
        parts += [_image(strip, 72 / _DPI), Spacer(0, 6)]
    if (page.image is None or source.gone) and (words := lost(source)):
        parts.append(Paragraph(printed(words), STYLES["note"]))
    yield KeepTogether(parts)


def _quote(text: str) -> str:
    return "<br/>".join(printed(line) for line in quote_lines(f"“{text}”"))


def _page(page: CitedPage, earlier: int) -> Iterator[Flowable]:
    jpeg = page.jpeg()
    if jpeg is None:
        return
    cited = ", ".join(f"question {place + earlier} [{n}]" for place, n in page.cited)
    caption = Paragraph(
        f"<b>Page {page.page_no}</b> · {printed(shorten(page.document, 90))}<br/>"
        f"<font size='{SMALL}' color='{FAINT}'>Cited in {cited}</font>",
        STYLES["source"],
    )
    yield KeepTogether([caption, _image(jpeg, 1.0)])


def _image(data: bytes, scale: float) -> Image:
    """Place a picture at `scale` points per pixel, or smaller where the page has less room."""
    width, height = Picture.open(io.BytesIO(data)).size
    scale = min(scale, WIDTH / width, _TALLEST / height)
    return Image(io.BytesIO(data), width * scale, height * scale, hAlign="LEFT")


class _Info(PDFInfo):
    """The metadata of the file: title and creator; no times, no names."""

    def format(self, document: Any) -> Any:
        told = {"Title": PDFString(self.title), "Creator": PDFString("DocMind"), "Producer": PDFString("DocMind")}
        return PDFDictionary(told).format(document)


class _Canvas(Canvas):
    """A canvas that holds pages back until the last one, so that each shows the page count."""

    def __init__(self, title: str, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{**options, "pageCompression": 1})
        self._title = drawn(shorten(title, 80))
        self._doc.info = _Info()  # pyright: ignore[reportAttributeAccessIssue]
        self._doc.info.title = title  # pyright: ignore[reportAttributeAccessIssue]
        self._kept: list[dict[str, Any]] = []

    def showPage(self) -> None:  # noqa: N802 - ReportLab's name
        self._kept.append(dict(self.__dict__))
        self._startPage()  # pyright: ignore[reportAttributeAccessIssue]

    def save(self) -> None:
        for place, page in enumerate(self._kept, start=1):
            self.__dict__.update(page)
            self.setFont(BODY, 7.5)
            self.setFillColor(FAINT)
            self.drawString(MARGIN, MARGIN / 2, self._title)
            self.drawRightString(A4[0] - MARGIN, MARGIN / 2, f"{place} / {len(self._kept)}")
            super().showPage()
        super().save()
