"""OpenDocument presentations, read from their XML: each slide a page, with its notes and comments behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from docmind.blocks import Block, Losses, Table
from docmind.reading.formats import Rules
from docmind.reading.formats.captions import with_captions
from docmind.reading.formats.odf import DRAW, OFFICE, PRESENTATION, STYLE, SVG, Document, Element
from docmind.reading.formats.odt.body import Story
from docmind.reading.formats.odt.inline import DRAWN, author_of
from docmind.reading.formats.pptx.order import reading_order
from docmind.reading.formats.prose import PAGE_NUMBER, clean, running
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Upload

_CENTIMETRES = {"cm": 1.0, "mm": 0.1, "in": 2.54, "pt": 2.54 / 72, "pc": 2.54 / 6, "px": 2.54 / 96}
_FIELDS = frozenset(("header", "footer", "date-time", "page-number", "page", "notes", "handout"))
_DECLARED = (("footer", "footer-decl"), ("header", "header-decl"), ("date-time", "date-time-decl"))

Box = tuple[float, float, float, float]


def open_odp(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open an OpenDocument presentation, packed or flat.

    Raises `TooLargeError`, `UnsupportedFileError` for one that is locked, `CorruptFileError` or `EmptyFileError`.
    """
    losses = Losses()
    document = Document(upload, rules)
    try:
        blocks = with_captions(_Deck(document, losses).blocks())
        return LaidOut(blocks, document.facts(), upload.name, rules, losses, is_paged=True)
    finally:
        document.close()


class _Deck:
    def __init__(self, document: Document, losses: Losses) -> None:
        """Take a presentation. Raises `CorruptFileError` where it is none."""
        self._document, self._losses = document, losses
        self._body = document.body("presentation")
        roots = [document.content, *([document.styles] if document.styles is not None else [])]
        self._hidden = {
            style.get(f"{STYLE}name")
            for root in roots
            for style in root.iterfind(f"{OFFICE}automatic-styles/{STYLE}style")
            for said in style.iterfind(f"{STYLE}drawing-page-properties")
            if said.get(f"{PRESENTATION}visibility") == "hidden"
        }
        self._masters = {
            master.get(f"{STYLE}name"): master
            for root in roots
            for master in root.iterfind(f"{OFFICE}master-styles/{STYLE}master-page")
        }
        self._given: set[tuple[str, str]] = set()
        self._seen_masters: set[str | None] = set()

    def blocks(self) -> Iterator[Block | Table]:
        """Yield all slides, with a page break between them."""
        for number, page in enumerate(self._body.iterfind(f"{DRAW}page"), 1):
            if number > 1:
                yield Block(kind="page_break")
            for block in self._slide(page, f"slide {number}"):
                is_numbered = isinstance(block, Block) and PAGE_NUMBER in block.text
                yield replace(block, text=block.text.replace(PAGE_NUMBER, str(number))) if is_numbered else block
        for path in self._document.broken:
            self._losses.note("part", path)

    def _slide(self, page: Element, place: str) -> Iterator[Block | Table]:
        story = Story(self._document, self._document.content, self._losses, place)
        shapes = [shape for shape in page if shape.tag in DRAWN and not _is_unfilled(shape)]
        title = next((shape for shape in shapes if shape.get(f"{PRESENTATION}class") == "title"), None)
        is_hidden = page.get(f"{DRAW}style-name") in self._hidden
        text, aside = story.flat([title]) if title is not None else ("", [])
        text = " ".join(text.split())
        if text:
            yield Block(kind="heading", text=f"{text} (hidden)" if is_hidden else text, level=1)
        elif is_hidden:
            yield Block(kind="caption", text="(hidden)")
        yield from aside
        others = [shape for shape in shapes if shape is not title]
        for at in reading_order([_box(shape) for shape in others]):
            yield from story.blocks([others[at]])
        yield from self._footers(page, place)
        yield from self._notes(page, story)
        for comment in page.iterfind(f"{OFFICE}annotation"):
            said, more = story.flat(comment)
            if said:
                yield Block(kind="comment", text=said, author=clean(author_of(comment)))
            yield from more

    def _notes(self, page: Element, story: Story) -> Iterator[Block]:
        """Yield the speaker notes of a slide; the first line has the word for them before it."""
        marker = "Notes:"
        for notes in page.iterfind(f"{PRESENTATION}notes"):
            shapes = [shape for shape in notes if shape.tag in DRAWN and not _is_unfilled(shape)]
            for shape in shapes:
                if shape.get(f"{PRESENTATION}class") not in _FIELDS - {"notes"}:
                    text, _aside = story.flat([shape])
                    for line in filter(str.strip, text.split("\n")):
                        yield Block(kind="note", text=line, marker=marker)
                        marker = ""

    def _footers(self, page: Element, place: str) -> Iterator[Block | Table]:
        """Yield what the slide's master shows besides placeholders, each text on the first slide that has it."""
        for name, declared in _DECLARED:
            wanted = page.get(f"{PRESENTATION}use-{name}-name")
            for each in self._body.iterfind(f"{PRESENTATION}{declared}") if wanted else ():
                if each.get(f"{PRESENTATION}name") == wanted:
                    yield from self._once("".join(each.itertext()))
        master = page.get(f"{DRAW}master-page-name")
        if master in self._seen_masters or master not in self._masters or self._document.styles is None:
            return
        self._seen_masters.add(master)
        story = Story(self._document, self._document.styles, self._losses, place)
        for shape in self._masters[master]:
            if shape.tag in DRAWN and not shape.get(f"{PRESENTATION}class"):
                text, aside = story.flat([shape])
                yield from self._once(text)
                yield from (block for block in aside if isinstance(block, Table))

    def _once(self, text: str) -> Iterator[Block]:
        block = running(text, "footer", self._given)
        if block is not None:
            yield block


def _is_unfilled(shape: Element) -> bool:
    """Return whether a shape is a place for contents that nobody filled, or a field that shows nothing by itself."""
    is_field = shape.get(f"{PRESENTATION}class") in _FIELDS - {"notes"}
    return shape.get(f"{PRESENTATION}placeholder") == "true" or is_field


def _box(shape: Element) -> Box | None:
    """Return where a shape stands, in centimetres: x, y, width, height; None where that is not said plainly."""
    found = [_length(shape.get(f"{SVG}{name}")) for name in ("x", "y", "width", "height")]
    x, y, wide, tall = found
    return None if x is None or y is None or wide is None or tall is None else (x, y, wide, tall)


def _length(said: str | None) -> float | None:
    said = (said or "").strip()
    try:
        number = float(said[:-2])
    except ValueError:
        return None
    return number * _CENTIMETRES[said[-2:]] if said[-2:] in _CENTIMETRES and abs(number) < 1e6 else None
