"""The walk through an OpenDocument text: page styles with their headers, sections, paragraphs, lists, tables, notes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from docmind.blocks import Block, Losses, Table
from docmind.reading.formats.captions import with_captions
from docmind.reading.formats.cells import CellRead
from docmind.reading.formats.odf import OFFICE, STYLE, TABLE, TEXT, Document, Element, count_of
from docmind.reading.formats.odt.inline import DRAWN, Comment, Note, Paragraph, Reader, author_of
from docmind.reading.formats.odt.lists import DEEPEST, Counts, Lists
from docmind.reading.formats.odt.styles import Look, Styles
from docmind.reading.formats.odt.tables import read_table
from docmind.reading.formats.prose import cell_read, clean, flat, is_code, running, written

_DEEPEST = 40  # containers within each other
_INDEXES = frozenset(
    f"{TEXT}{name}"
    for name in (
        "table-of-content", "illustration-index", "table-index", "object-index", "user-index", "alphabetical-index",
        "bibliography",
    )
)  # fmt: skip
_THROUGH = frozenset((f"{TEXT}index-body", f"{TEXT}index-title", f"{TEXT}page-sequence", f"{TEXT}meta"))
_RUNNING = {
    "header": ("header-first", "header", "header-left"),
    "footer": ("footer-first", "footer", "footer-left"),
}
_MASTERS = 20  # page styles that follow each other


def blocks_of(document: Document, losses: Losses) -> Iterator[Block | Table]:
    """Yield the document in reading order. Raises `CorruptFileError` where it is no text."""
    return with_captions(_Text(document, losses).blocks(document.body("text")))


class _Story:
    """One part with text: the document itself, or a header."""

    def __init__(self, document: Document, root: Element, losses: Losses, place: str = "") -> None:
        """Read what lies in `root`, whose automatic styles hold there."""
        self._document = document
        self._losses = losses
        self._place = place
        self._styles = Styles(root, document.styles)
        self._lists = Lists(self._styles, root, document.styles)
        self._reader = Reader(document, root, self._styles, losses, place)
        self._depth = 0
        self._is_bold = False
        self._unsaid = ""  # the label of the last paragraph that has nothing else
        self._begun = False
        self._beside = 0  # cells, notes and frames around what is read: no page begins in them
        self.endnotes: list[Block | Table] = []

    def blocks(self, container: Element) -> Iterator[Block | Table]:
        """Yield all blocks in a container."""
        if self._depth >= _DEEPEST:
            self._losses.note("part", self._place)
            return
        self._depth += 1
        for child in container:
            yield from self._block(child)
        self._depth -= 1

    def flat(self, container: Element) -> tuple[str, list[Block | Table]]:
        """Return the text of a container, a line for each block, and what has no place in it."""
        self._beside += 1
        said = flat(self.blocks(container))
        self._beside -= 1
        return said

    def begins(self, look: Look) -> Iterator[Block | Table]:
        """Yield the page break that a paragraph or table begins with."""
        if (look.breaks_before or look.master) and self._begun and not self._beside:
            yield Block(kind="page_break")

    def _block(self, element: Element) -> Iterator[Block | Table]:
        tag = element.tag
        if tag in (f"{TEXT}p", f"{TEXT}h"):
            yield from self._paragraph(element)
        elif tag == f"{TEXT}list":
            yield from self._list(element, "", 0, None)
        elif tag == f"{TEXT}numbered-paragraph":
            yield from self._numbered(element)
        elif tag == f"{TABLE}table":
            look = self._styles.look("table", element.get(f"{TABLE}style-name"))
            yield from self.begins(look)
            yield from read_table(element, self._cell, self._losses, self._place)
            self._begun = True
        elif tag == f"{TEXT}section":
            if element.get(f"{TEXT}display") == "none" or element.get(f"{TEXT}is-hidden") == "true":
                self._losses.note("hidden_text", self._place)
            else:
                yield from self.blocks(element)
        elif tag in _INDEXES:
            body = element.find(f"{TEXT}index-body")
            yield from self.blocks(body) if body is not None else ()
        elif tag in _THROUGH:
            yield from self.blocks(element)
        elif tag in DRAWN:
            yield from self._hanging(self._reader.drawing(element))

    # Paragraphs

    def _paragraph(self, element: Element, label: str | None = None, rank: int = 0) -> Iterator[Block | Table]:
        """Yield a paragraph; `label` is what its list shows before it, None where it is in none."""
        look = self._styles.look("paragraph", element.get(f"{TEXT}style-name"))
        level = look.level
        if element.tag == f"{TEXT}h":
            level = max(1, count_of(element.get(f"{TEXT}outline-level"), DEEPEST))
        read = self._reader.paragraph(element, look)
        self._is_bold = read.runs.bold > 0 and read.runs.plain == 0
        if read.runs.hidden:
            self._losses.note("hidden_text", self._place)
        if element.tag == f"{TEXT}h" and label is None and not (read.runs.hidden and not read.runs.runs):
            label = self._lists.count_heading(element, level, look.list_style) if read.runs.text().strip() else ""
        yield from self.begins(look)
        self._begun = True
        yield from self._said(read, look, level, label or "", rank)
        yield from self._hanging(read)
        if look.breaks_after and not self._beside:
            yield Block(kind="page_break")

    def _said(self, read: Paragraph, look: Look, level: int, label: str, rank: int) -> Iterator[Block]:
        text = read.runs.text()
        self._unsaid = label if label != "•" and not text.strip() else ""
        equations = read.runs.equation_blocks()
        if equations:
            yield from equations
            return
        kind = "code" if any(map(is_code, look.names)) else "caption" if look.is_caption else "paragraph"
        yield from written(text, kind, level=level, marker=label, rank=rank)

    def _hanging(self, read: Paragraph) -> Iterator[Block | Table]:
        """Yield the notes and comments of a paragraph, its frames and pictures."""
        for note in read.notes:
            yield from self._note(note)
        for comment in read.comments:
            yield from self.comment(comment)
        for each in read.after:
            if isinstance(each, Block | Table):
                yield self._cleaned(each)
            else:
                self._beside += 1
                yield from self.blocks(each)
                self._beside -= 1

    @staticmethod
    def _cleaned(block: Block | Table) -> Block | Table:
        return replace(block, text=clean(block.text)) if isinstance(block, Block) else block

    def _note(self, note: Note) -> Iterator[Block | Table]:
        text, aside = self.flat(note.body)
        said: list[Block | Table] = []
        if text:
            said.append(Block(kind="footnote", text=text, marker=clean(note.mark), anchor=clean(note.anchor)))
        said += aside
        if note.is_endnote:
            self.endnotes += said
        else:
            yield from said

    def comment(self, comment: Comment) -> Iterator[Block | Table]:
        """Yield a comment."""
        text, aside = self.flat(comment.element)
        if text:
            author = clean(author_of(comment.element))
            yield Block(kind="comment", text=text, author=author, anchor=clean(comment.anchor))
        yield from aside

    # Lists and tables

    def _list(
        self, element: Element, style: str, rank: int, counts: Counts | None, *, goes_on: bool = False
    ) -> Iterator[Block | Table]:
        if self._depth >= _DEEPEST:
            self._losses.note("part", self._place)
            return
        self._depth += 1
        style = element.get(f"{TEXT}style-name") or style or _style_of_first(element, self._styles)
        if counts is None:
            counts, goes_on = self._lists.counts(element, style)
        elif rank < DEEPEST and not goes_on and element.get(f"{TEXT}continue-numbering") != "true":
            counts[rank:] = [None] * (DEEPEST - rank)
        for item in element:
            if item.tag in (f"{TEXT}list-item", f"{TEXT}list-header"):
                own = item.get(f"{TEXT}style-override") or style
                yield from self._item(item, own, rank, counts, goes_on=goes_on)
                goes_on = False
        self._depth -= 1

    def _item(self, item: Element, style: str, rank: int, counts: Counts, *, goes_on: bool) -> Iterator[Block | Table]:
        is_labelled = item.tag == f"{TEXT}list-item"
        for at, child in enumerate(item):
            if child.tag == f"{TEXT}list":
                yield from self._list(child, style, rank + 1, counts, goes_on=goes_on and at == 0)
            elif child.tag in (f"{TEXT}p", f"{TEXT}h"):
                label = None
                if is_labelled and child.get(f"{TEXT}is-list-header") != "true":
                    label = self._lists.count(counts, style, rank, item.get(f"{TEXT}start-value"))
                is_labelled = False
                yield from self._paragraph(child, label or "", rank)
            else:
                yield from self._block(child)

    def _numbered(self, element: Element) -> Iterator[Block | Table]:
        style = element.get(f"{TEXT}style-name") or _style_of_first(element, self._styles)
        counts, _goes_on = self._lists.counts(element, style)
        rank = max(1, count_of(element.get(f"{TEXT}level"), DEEPEST)) - 1
        label = self._lists.count(counts, style, rank, element.get(f"{TEXT}start-value"))
        for child in element:
            if child.tag in (f"{TEXT}p", f"{TEXT}h"):
                yield from self._paragraph(child, label, rank)

    def _cell(self, element: Element) -> CellRead:
        blocks, bold = list[Block | Table](), list[bool]()
        self._unsaid = ""
        self._beside += 1
        for block in self.blocks(element):
            blocks.append(block)
            if isinstance(block, Block) and block.kind in ("paragraph", "heading", "item"):
                bold.append(self._is_bold or block.kind == "heading")
        self._beside -= 1
        unsaid, self._unsaid = self._unsaid, ""
        return cell_read(blocks, unsaid, is_bold=bool(bold) and all(bold))


class _Text(_Story):
    """The document itself: it has pages with headers and footers."""

    def __init__(self, document: Document, losses: Losses) -> None:
        super().__init__(document, document.content, losses)
        self._masters: dict[str, Element] = {}
        found = (
            document.styles.iterfind(f"{OFFICE}master-styles/{STYLE}master-page") if document.styles is not None else ()
        )
        for master in found:
            self._masters.setdefault(master.get(f"{STYLE}name") or "", master)
        self._master: str | None = None
        self._used: set[str] = set()
        self._given: set[tuple[str, str]] = set()
        self._is_whole = False

    def blocks(self, container: Element) -> Iterator[Block | Table]:
        """Yield the document, or what stands in a container of it."""
        if self._is_whole:
            yield from super().blocks(container)
            return
        self._is_whole = True
        yield from super().blocks(container)
        if self._master is None:
            yield from self._starts("")
        yield from self.endnotes
        for comment in self._reader.left():
            yield from self.comment(comment)
        yield from self._running("footer")
        self._unshown()
        for path in self._document.broken:
            self._losses.note("part", path)

    def begins(self, look: Look) -> Iterator[Block | Table]:
        """Yield the page break that a paragraph or table begins with, and the headers of a page style that begins."""
        if not self._beside and (self._master is None or (look.master and look.master != self._master)):
            yield from self._running("footer")
            yield from super().begins(look)
            yield from self._starts(look.master)
        else:
            yield from super().begins(look)

    def _starts(self, master: str) -> Iterator[Block | Table]:
        self._master = master if master in self._masters else next(iter(self._masters), "")
        if "Standard" in self._masters and master not in self._masters:
            self._master = "Standard"
        yield from self._running("header")

    def _running(self, kind: str) -> Iterator[Block | Table]:
        """Yield headers or footers of the page style that holds and of those that follow it, each text once."""
        name = self._master or ""
        seen: set[str] = set()
        while name in self._masters and name not in seen and len(seen) < _MASTERS:
            seen.add(name)
            self._used.add(name)
            for pages in _RUNNING[kind]:
                said = self._masters[name].find(f"{STYLE}{pages}")
                # LibreOffice shows what all pages have, whatever it says of its display.
                if said is not None and (pages == kind or said.get(f"{STYLE}display") != "false"):
                    yield from self._shown(said, "header" if kind == "header" else "footer")
            name = self._masters[name].get(f"{STYLE}next-style-name") or ""

    def _shown(self, said: Element, kind: str) -> Iterator[Block | Table]:
        styles = self._document.styles
        story = _Story(self._document, styles, self._losses, kind)
        text, aside = story.flat(said)
        block = running(text, kind, self._given)
        if block is not None:
            yield block
            yield from aside

    def _unshown(self) -> None:
        """Count the headers and footers of page styles that no page has."""
        for name, master in self._masters.items():
            for kind, pages in _RUNNING.items() if name not in self._used else ():
                for said in (master.find(f"{STYLE}{each}") for each in pages):
                    if said is not None and any(text.strip() for text in said.itertext()):
                        self._losses.note("hidden_text", kind)


def _style_of_first(element: Element, styles: Styles) -> str:
    """Return the list style of the first paragraph in a list that names none itself."""
    first = next(element.iter(f"{TEXT}p", f"{TEXT}h"), None)
    return (styles.look("paragraph", first.get(f"{TEXT}style-name")).list_style if first is not None else None) or ""
