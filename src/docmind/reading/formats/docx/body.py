"""The walk through a document: its sections with their headers, paragraphs, tables, notes and comments, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from docmind.blocks import Block, Losses, Table
from docmind.reading.formats.captions import with_captions
from docmind.reading.formats.cells import CellRead
from docmind.reading.formats.docx.comments import Comments
from docmind.reading.formats.docx.inline import Note, Read, Reader
from docmind.reading.formats.docx.numbering import Numbering
from docmind.reading.formats.docx.package import BrokenError, Element, Package, Part, R, W, is_on, value
from docmind.reading.formats.docx.styles import Look, Styles, level_of
from docmind.reading.formats.docx.tables import members, read_table
from docmind.reading.formats.prose import cell_read, clean, flat, is_code, running, written
from docmind.reading.formats.typeset import printable

_SAME_PAGE = frozenset(("continuous", "nextColumn"))


def blocks_of(package: Package, losses: Losses) -> Iterator[Block | Table]:
    """Yield the document in reading order. Raises `BrokenError` where its main part holds no document of Word."""
    return with_captions(_Document(package, losses).blocks())


class _Shared:
    """What all parts of a document share."""

    def __init__(self, package: Package, losses: Losses) -> None:
        self.package, self.losses = package, losses
        self.main = package.main()
        if self.main.first("vbaProject") is not None:
            losses.note("macro")
        self.styles = Styles(_root(package.linked(self.main, "styles")))
        self.lists = _root(package.linked(self.main, "numbering"))
        self.comments = Comments(package, self.main)
        self.given_notes: set[tuple[str, str]] = set()
        self.notes: dict[str, tuple[_Story, dict[str, Element]] | None] = {}


def _root(part: Part | None) -> Element | None:
    return part.root if part is not None else None


class _Story:
    """One part with text: the document itself, its notes, its comments, or a header."""

    def __init__(self, shared: _Shared, part: Part, place: str = "") -> None:
        self._shared = shared
        self.part = part
        self._place = place
        self._reader = Reader(part, shared.package, shared.styles, shared.losses, place)
        self._lists = Numbering(shared.lists, shared.styles)
        self.endnotes: list[Block | Table] = []
        self._unsaid = ""  # the number of the last paragraph that has nothing else

    def blocks(self, container: Element) -> Iterator[Block | Table]:
        """Yield all blocks in a container."""
        carried: Read | None = None
        for child in members(container):
            if child.tag == f"{W}p":
                properties = child.find(f"{W}pPr")
                if (_is_joined(properties) or _is_drop_cap(properties)) and self._ends(properties) is None:
                    carried = self._reader.paragraph(child, value(properties, "pStyle"), carried)
                    continue
                yield from self._paragraph(child, properties, carried)
                carried = None
                if (end := self._ends(properties)) is not None:
                    yield from self.section_ends(end)
            elif child.tag == f"{W}tbl":
                yield from self._said(carried, None, Look()) if carried is not None else ()
                carried = None
                yield from read_table(child, self._cell, self._shared.styles)
            elif child.tag == f"{W}altChunk":
                self._shared.losses.note("part", self._place)
            else:
                self._reader.mark(child)
        if carried is not None:
            yield from self._said(carried, None, Look())

    def section_ends(self, end: Element) -> Iterator[Block | Table]:
        """Yield what stands between two sections; only the document itself has sections."""
        yield from ()

    def flat(self, container: Element) -> tuple[str, list[Block | Table]]:
        """Return the text of a container, a line for each block, and what has no place in it."""
        return flat(self.blocks(container))

    def _ends(self, properties: Element | None) -> Element | None:
        return properties.find(f"{W}sectPr") if properties is not None else None

    def _paragraph(self, element: Element, properties: Element | None, carried: Read | None) -> Iterator[Block | Table]:
        style = value(properties, "pStyle") if properties is not None else None
        look = self._shared.styles.look(style)
        read = self._reader.paragraph(element, style, carried)
        starts = is_on(properties, "pageBreakBefore")
        if look.starts_page if starts is None else starts:
            yield Block(kind="page_break")
        yield from self._said(read, properties, look)

    def _said(self, read: Read, properties: Element | None, look: Look) -> Iterator[Block | Table]:
        self._bold = read.bold > 0 and read.plain == 0
        if read.hidden:
            self._shared.losses.note("hidden_text", self._place)
        is_hidden = bool(read.hidden) and not read.parts
        counted = None if is_hidden else self._lists.count(properties, look)
        equations = read.equations()
        if equations:
            words = "".join(part for part in read.parts if isinstance(part, str)).strip(" \t\u2028.,;")
            for at, said in enumerate(equations, 1):
                text = f"{said.text} {words}".strip() if at == len(equations) else said.text
                yield Block(kind="equation", text=clean(text), latex=printable(said.latex))
        else:
            yield from self._written(read.text(), properties, look, counted)
        for note in read.notes:
            yield from self._note(note)
        for key in read.comments:
            yield from self._comment(key, read)
        for box in read.boxes:
            yield from self.blocks(box)
        for block in read.after:
            yield _cleaned(block)

    def _written(
        self, text: str, properties: Element | None, look: Look, counted: tuple[str, int] | None
    ) -> Iterator[Block]:
        outline = value(properties, "outlineLvl") if properties is not None else None
        level = look.level if outline is None else level_of(outline)
        marker, rank = counted if counted is not None else ("", 0)
        self._unsaid = marker if marker != "•" and not text.strip() else ""
        kind = "code" if is_code(look.name) else "caption" if look.is_caption else "paragraph"
        yield from written(text, kind, level=level, marker=marker, rank=rank)

    def _cell(self, element: Element) -> CellRead:
        """Read a cell. Tables in it are part of its text, so that a row that is quoted is complete."""
        blocks, bold = list[Block | Table](), list[bool]()
        self._unsaid = ""
        for block in self.blocks(element):
            blocks.append(block)
            if isinstance(block, Block) and block.kind in ("paragraph", "heading", "item"):
                bold.append(self._bold or block.kind == "heading")
        unsaid, self._unsaid = self._unsaid, ""
        return cell_read(blocks, unsaid, is_bold=bool(bold) and all(bold))

    # Notes and comments

    def _note(self, note: Note) -> Iterator[Block | Table]:
        found = self._notes(note.part)
        element = found[1].get(note.id) if found is not None else None
        if found is None or element is None or (note.part, note.id) in self._shared.given_notes:
            return  # a long note that is called a thousand times is given once
        self._shared.given_notes.add((note.part, note.id))
        text, aside = found[0].flat(element)
        said: list[Block | Table] = []
        if text:
            said.append(Block(kind="footnote", text=text, marker=clean(note.mark), anchor=clean(note.anchor)))
        said += aside
        if note.part == "endnotes":
            self.endnotes += said
        else:
            yield from said

    def _notes(self, kind: str) -> tuple[_Story, dict[str, Element]] | None:
        shared = self._shared
        if kind not in shared.notes:
            part = shared.package.linked(shared.main, kind)
            shared.notes[kind] = None
            if part is not None:
                shared.notes[kind] = (
                    _Story(shared, part, kind),
                    {note.get(f"{W}id") or "": note for note in part.root if note.get(f"{W}type") in (None, "normal")},
                )
        return shared.notes[kind]

    def _comment(self, key: str, read: Read | None = None) -> Iterator[Block | Table]:
        """Yield a comment and the answers to it, each once."""
        shared = self._shared
        anchor = clean(self._reader.anchor(key))
        if not anchor and read is not None:
            anchor = " ".join(clean(read.end(200)).split())
        for said in shared.comments.take(key):
            story = shared.comments.story(lambda part: _Story(shared, part, "comments"))
            text, aside = story.flat(said) if story is not None else ("", [])
            if text:
                author = clean(said.get(f"{W}author") or "")[:100]
                yield Block(kind="comment", text=text, author=author, anchor=anchor)
            yield from aside


class _Document(_Story):
    """The main part: it has sections, each with its headers and footers, and all notes and comments hang on it."""

    def __init__(self, package: Package, losses: Losses) -> None:
        shared = _Shared(package, losses)
        super().__init__(shared, shared.main)
        self._body = shared.main.root.find(f"{W}body")
        if self._body is None:
            raise BrokenError
        self._sections: list[Element] = [
            *self._body.iterfind(f".//{W}p/{W}pPr/{W}sectPr"),
            *self._body.iterfind(f"{W}sectPr"),
        ]
        self._at = 0
        self._given: set[tuple[str, str]] = set()
        self._seen: set[str] = set()
        self._current: dict[tuple[str, str], str] = {}  # by kind and pages: the part of the header that holds
        settings = package.linked(self.part, "settings")
        self._has_even = bool(is_on(settings.root, "evenAndOddHeaders")) if settings is not None else False

    def blocks(self, container: Element | None = None) -> Iterator[Block | Table]:
        """Yield the document, or what stands in a container of it."""
        if container is not None:
            yield from super().blocks(container)
            return
        yield from self._running("header")
        yield from super().blocks(self._body)
        yield from self.endnotes
        for key in self._shared.comments.left():
            yield from self._comment(key)
        yield from self._running("footer")
        self._unshown()

    def section_ends(self, end: Element) -> Iterator[Block | Table]:
        """Yield the footers of a section, and the page break and headers of the next."""
        if self._at >= len(self._sections) or end is not self._sections[self._at]:
            return  # a section inside a text box is none
        yield from self._running("footer")
        self._at += 1
        if self._at < len(self._sections):
            if value(self._sections[self._at], "type") not in _SAME_PAGE:
                yield Block(kind="page_break")
            yield from self._running("header")

    def _running(self, kind: str) -> Iterator[Block | Table]:
        """Yield headers or footers of the section that its pages show: those with other words than any before."""
        section = self._sections[self._at] if self._at < len(self._sections) else None
        for reference in section if section is not None else ():
            link = self.part.links.get(reference.get(f"{R}id") or "")
            if reference.tag == f"{W}{kind}Reference" and link is not None and not link.is_external:
                self._current[kind, reference.get(f"{W}type") or "default"] = link.target
        shown = {"first": is_on(section, "titlePg"), "default": True, "even": self._has_even}
        for pages in (pages for pages, is_shown in shown.items() if is_shown):
            target = self._current.get((kind, pages))
            part = self._shared.package.part(target) if target is not None and target not in self._seen else None
            if target is None or part is None:
                continue
            self._seen.add(target)
            story = _Story(self._shared, part, kind)
            text, aside = story.flat(part.root)
            block = running(text, kind, self._given)
            if block is not None:
                yield block
            yield from aside

    def _unshown(self) -> None:
        """Count the headers and footers that no page shows, such as that of a first page that is like all others."""
        for (kind, _pages), target in self._current.items():
            part = self._shared.package.part(target) if target not in self._seen else None
            if part is not None and any((text.text or "").strip() for text in part.root.iter(f"{W}t")):
                self._seen.add(target)
                self._shared.losses.note("hidden_text", kind)


def _cleaned(block: Block | Table) -> Block | Table:
    if isinstance(block, Block):
        return replace(block, text=clean(block.text))
    rows = [
        [clean(cell) if isinstance(cell, str) else replace(cell, shown=clean(cell.shown)) for cell in row]
        for row in block.rows
    ]
    return replace(block, rows=rows, caption=clean(block.caption))


def _is_drop_cap(properties: Element | None) -> bool:
    """Return whether a paragraph is the large first letter of the next one."""
    return properties is not None and (value(properties, "framePr", "dropCap") or "none") != "none"


def _is_joined(properties: Element | None) -> bool:
    """Return whether the end of a paragraph was deleted: what follows then stands in the same paragraph."""
    mark = properties.find(f"{W}rPr") if properties is not None else None
    return mark is not None and (mark.find(f"{W}del") is not None or mark.find(f"{W}moveFrom") is not None)
