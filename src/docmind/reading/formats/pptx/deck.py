"""The slides of a presentation in their order, each followed by its speaker notes and comments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from docmind.blocks import Block, Losses, Table
from docmind.reading.formats.ooxml_parts import ANY, A, BrokenError, Element, Part, Parts, R
from docmind.reading.formats.pptx.slide import Slide, fixed_texts
from docmind.reading.formats.pptx.styles import Backdrop, P, placeholder_of
from docmind.reading.formats.pptx.text import lines_of, paragraphs_of, plain_text

_NOT_NOTES = frozenset(("sldImg", "sldNum", "hdr", "ftr", "dt"))
_NAME_MAX = 100  # characters of an author's name
_MOST_COMMENTS = 10_000  # of a slide


def blocks_of(parts: Parts, losses: Losses) -> Iterator[Block | Table]:
    """Yield a presentation, with a page break between slides. Raises `BrokenError` where no slide can be read."""
    return _Deck(parts, losses).blocks()


@dataclass(frozen=True, slots=True)
class _Comment:
    author: str
    text: str


class _Deck:
    def __init__(self, parts: Parts, losses: Losses) -> None:
        self._parts, self._losses = parts, losses
        self._main = parts.main()
        self._defaults = self._main.root.find(f"{P}defaultTextStyle")
        self._backdrops: dict[str, Backdrop] = {}
        self._masters: dict[str, Part | None] = {}
        self._drawn: set[str] = set()
        self._fixed: set[str] = set()
        self._people = dict(self._authors())
        if self._main.first("vbaProject") is not None:
            losses.note("macro")

    def blocks(self) -> Iterator[Block | Table]:
        """Yield all slides."""
        links = (self._main.links.get(each.get(f"{R}id") or "") for each in self._slide_ids())
        seen = set[str]()
        found = False
        for at, link in enumerate(links, 1):
            if at > 1:
                yield Block(kind="page_break")
            place = f"slide {at}"
            is_new = link is not None and not link.is_external and link.target not in seen
            part = self._parts.part(link.target) if link is not None and is_new else None
            if link is not None:
                seen.add(link.target)
            if part is None or part.root.tag != f"{P}sld":
                self._losses.note("part", place)
                continue
            found = True
            yield from self._slide(part, place)
        if seen and not found:
            raise BrokenError

    def _slide_ids(self) -> Iterator[Element]:
        if self._main.root.tag != f"{P}presentation":
            raise BrokenError
        yield from self._main.root.iterfind(f"{P}sldIdLst/{P}sldId")

    def _slide(self, part: Part, place: str) -> Iterator[Block | Table]:
        backdrop = self._backdrop(part)
        slide = Slide(part, backdrop, self._parts, self._losses, place, self._drawn)
        is_hidden = part.root.get("show", "1").lower() in ("0", "false")
        if slide.title:
            text = f"{slide.title} (hidden)" if is_hidden else slide.title
            yield Block(kind="heading", text=text, level=1)
        elif is_hidden:
            yield Block(kind="caption", text="(hidden)")
        yield from slide.body
        yield from slide.footers
        for text in fixed_texts(part.root, backdrop):
            if text not in self._fixed:
                self._fixed.add(text)
                yield Block(kind="footer", text=text)
        yield from self._notes(part)
        for comment in self._comments(part):
            yield Block(kind="comment", text=comment.text, author=comment.author)

    def _backdrop(self, slide: Part) -> Backdrop:
        link = slide.first("slideLayout")
        key = link.target if link is not None else ""
        if key not in self._backdrops:
            layout = self._parts.part(key) if key else None
            above = layout.first("slideMaster") if layout is not None else None
            if above is not None and above.target not in self._masters:
                self._masters[above.target] = self._parts.part(above.target)
            master = self._masters[above.target] if above is not None else None
            self._backdrops[key] = Backdrop(self._defaults, layout, master)
        return self._backdrops[key]

    # Notes

    def _notes(self, slide: Part) -> Iterator[Block]:
        """Yield the speaker notes of a slide; the first has the word for them before it."""
        link = slide.first("notesSlide")
        if link is None or link.target in self._drawn:
            return
        self._drawn.add(link.target)
        part = self._parts.part(link.target)
        marker = "Notes:"
        for shape in part.root.iter(f"{P}sp") if part is not None else ():
            place = placeholder_of(shape)
            if place is not None and place.get("type") in _NOT_NOTES:
                continue
            styles = Backdrop(self._defaults).styles(shape, Backdrop().placeholder(shape))
            for line in lines_of(paragraphs_of(shape.find(f"{P}txBody"), styles)):
                yield Block(kind="note", text=line, marker=marker)
                marker = ""

    # Comments

    def _authors(self) -> Iterator[tuple[str, str]]:
        """Yield id and name of those who wrote comments, of both kinds."""
        for kind in ("commentAuthors", "authors"):
            part = self._parts.linked(self._main, kind)
            for said in part.root if part is not None else ():
                yield said.get("id") or "", plain_name(said.get("name"))

    def _comments(self, slide: Part) -> Iterator[_Comment]:
        """Yield the comments on a slide, the answers behind what they answer."""
        links = [link for link in slide.links.values() if link.type == "comments" and not link.is_external]
        for link in links:
            part = self._parts.part(link.target) if link.target not in self._drawn else None
            self._drawn.add(link.target)
            count = 0
            for said in part.root.iter() if part is not None else ():
                if _local(said) not in ("cm", "reply"):
                    continue
                text = _text_of(said)
                count += 1
                if text and count <= _MOST_COMMENTS:
                    yield _Comment(self._people.get(said.get("authorId") or "", ""), text)
            self._losses.note("comment", part.path if part is not None else "", max(0, count - _MOST_COMMENTS))


def plain_name(name: str | None) -> str:
    """Return the name of a person in one line."""
    return " ".join((name or "").split())[:_NAME_MAX]


def _text_of(comment: Element) -> str:
    """Return the text of a comment, of the older kind in an element of its own, else in paragraphs."""
    for child in comment:
        if _local(child) == "text":
            return " ".join((child.text or "").split())
        if _local(child) == "txBody":
            return plain_text(child.iterfind(f"{A}p"))
    return ""


def _local(element: Element) -> str:
    return ANY.sub("", str(element.tag))
