"""A conversation as a PDF: the answers with the quoted places under them, then every cited page in full.

No links, no forms, no metadata but the title. Letters come from the fonts that DocMind carries; what these lack is
shown as a box.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from typing import Any

from PIL import Image as Picture
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase.pdfdoc import PDFDictionary, PDFInfo, PDFString
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
)

from docmind.conversation import ThreadView, Turn
from docmind.escape import one_line, shorten, visible
from docmind.export import told
from docmind.export.pages import CitedPage, Pages
from docmind.export.print import (
    BODY,
    FAINT,
    LINE,
    MARGIN,
    SMALL,
    STYLES,
    WIDTH,
    badges,
    drawn,
    flowables,
    load_fonts,
    number,
    printed,
)
from docmind.schema import Source

_TALLEST = A4[1] - 2 * MARGIN - 60  # room for a picture under its caption
_DPI = 130  # at which strips are shown: print of 10 points on the page has the size of the answer's
_ONE_AT_A_TIME = threading.Lock()  # fonts and their subsets are shared by all documents of a process


def paper(view: ThreadView, pages: Pages) -> bytes:
    """The bytes of the PDF."""
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
    for line in told.opening(view):
        yield Paragraph(printed(line), STYLES["small"])
    for place, turn in enumerate(view.turns, start=view.earlier + 1):
        yield from _turn(turn, place, pages)
    whole = [page for page in pages if page.image is not None]
    if whole:
        yield PageBreak()
        yield Paragraph("Cited pages", STYLES["heading"])
    for page in whole:
        yield from _page(page, view.earlier)


def _turn(turn: Turn, place: int, pages: Pages) -> Iterator[Flowable]:
    yield Spacer(0, 12)
    yield CondPageBreak(90)
    yield HRFlowable(width="100%", thickness=0.5, color=LINE, spaceAfter=8)
    question = [printed(line) for line in visible(turn.question).strip().split("\n")]
    yield Paragraph(f"{place}. {'<br/>'.join(question)}", STYLES["question"])
    yield Paragraph(printed(told.byline(turn)), STYLES["small"])
    yield Spacer(0, 4)
    if turn.answer is not None:
        yield from flowables(told.body(turn.answer), badges(turn.answer))
    for remark in told.remarks(turn):
        yield Paragraph(printed(remark), STYLES["small"])
    if turn.answer is not None and turn.answer.sources:
        yield Paragraph("Sources", STYLES["label"])
        for source in turn.answer.sources:
            yield from _source(source, pages[source])
    elif turn.nearest:
        nearest = ", ".join(f"{hit.document} page {hit.page_no}" for hit in turn.nearest)
        yield Paragraph(printed(f"Nearest pages: {nearest}"), STYLES["small"])
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
        f"{number(source.n)} <b>Page {source.page_no}</b> · {printed(shorten(source.document, 90))}",
        STYLES["source"],
    )
    parts: list[Flowable] = [head, Paragraph(printed(source.quote), STYLES["quote"])]
    strip = page.strip(source)
    if strip is not None:
        parts += [_image(strip, 72 / _DPI), Spacer(0, 6)]
    elif page.image is None:
        parts.append(Paragraph(told.DELETED, STYLES["note"]))
    yield KeepTogether(parts)


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
    """A picture at `scale` points per pixel, or smaller where the page has less room."""
    width, height = Picture.open(io.BytesIO(data)).size
    scale = min(scale, WIDTH / width, _TALLEST / height)
    return Image(io.BytesIO(data), width * scale, height * scale, hAlign="LEFT")


class _Info(PDFInfo):
    """What the file says about itself: its title and what made it; no times, no names."""

    def format(self, document: Any) -> Any:
        told = {"Title": PDFString(self.title), "Creator": PDFString("DocMind"), "Producer": PDFString("DocMind")}
        return PDFDictionary(told).format(document)


class _Canvas(Canvas):
    """Pages that know how many they are: kept back until the last one is there."""

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
