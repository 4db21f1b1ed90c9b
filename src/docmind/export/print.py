"""Type for the PDF: fonts, styles, and a model's blocks as things that flow down its pages.

ReportLab reads small tags in the text of a paragraph. Other people's words go in through `printed` alone, which leaves
no tag in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape as without_tags

from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import Flowable, HRFlowable, Paragraph, Spacer, Table, TableStyle, XPreformatted

import docmind
from docmind.blocks import Block, Break, Code, Inline, Items, Mark, Quote, Rule, Run
from docmind.blocks import Paragraph as Words
from docmind.blocks import Table as Cells
from docmind.escape import one_line, visible
from docmind.export import told
from docmind.schema import Answer

BODY, BOLD, MONO = "DocMindSans", "DocMindSansBold", "DocMindMono"
MARGIN = 56.0
WIDTH = A4[0] - 2 * MARGIN
INK, FAINT, GREEN, ORANGE, LINE = "#23272b", "#6b7075", "#0c5a44", "#9b4519", "#cdc9c0"
SIZE, SMALL, MONO_SIZE = 9.5, 8.0, 8.0
_INDENT, _DEEPEST = 14.0, 160.0
_COLUMNS, _CELL = 8, 400  # a table with more columns, or longer cells, is printed row by row
_MONO_WIDTH = 0.602  # of the font's size, each letter
_BOX = "\u25a1"
_BEYOND = re.compile(r"[^\u0000-\uffff]")  # ReportLab names these letters wrongly to whoever copies the text
_ADDRESS = re.compile(r"(?<=:)(?=/)|^(?=//)|(?<=www)(?=\.|$)|(?<=@)", re.IGNORECASE)
_GAP = "\u200a"  # a hair space; what takes no room at all is passed over by readers of PDFs that look for addresses
_UNSEEN = dict.fromkeys(map(ord, "\u00ad\u200c\u200d\u2060\ufe0e\ufe0f"))

Badge = Callable[[int], str]
"""Tags to stand behind the sentence of this index; may be empty."""


@cache
def load_fonts() -> None:
    """Make the fonts that DocMind carries known to ReportLab."""
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
    """One line of anybody's text, without tags; letters that the font has not are boxes."""
    return without_tags(drawn(text))


def drawn(text: str) -> str:
    """The same for where there are no tags."""
    return _letters(one_line(text))


def _letters(text: str) -> str:
    """What the fonts can show, with addresses that no reader of PDFs makes a link of."""
    return _ADDRESS.sub(_GAP, _BEYOND.sub(_BOX, text.translate(_UNSEEN)))


def number(n: int) -> str:
    """A source's number as it stands in the text."""
    return f"<font color='{GREEN}'>[{n}]</font>"


def badges(answer: Answer) -> Badge:
    """The marks behind an answer's sentences."""

    def missing(words: str) -> str:
        return f" <font color='{ORANGE}' size='{SMALL}'>({words})</font>"

    return told.badge_of(answer, lambda n: f" {number(n)}", missing)


def flowables(
    blocks: Sequence[Block], badge: Badge, indent: float = 0.0, bullet: str = "", look: str = "body"
) -> Iterator[Flowable]:
    """Things to print, `indent` points from the left; the first paragraph carries the `bullet`."""
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
    """Columns as wide as their longest cells ask for, narrowed together where they do not fit."""
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
        elif isinstance(part, Mark):
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
