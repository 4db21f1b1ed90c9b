"""What stands beside the cells of a sheet: comments, text in shapes, and what is only counted."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any

from docmind.blocks import Block
from docmind.reading.formats.drawings import figures_of
from docmind.reading.formats.ooxml import Link
from docmind.reading.formats.sheet_cells import Note
from docmind.reading.formats.typeset import printable
from docmind.reading.formats.xlsx_parts import PART_MAX, Book, SheetEntry, local, named, text_of
from docmind.reading.main_part import UNREADABLE

_MADE_UP = re.compile(r"(picture|image|grafik|imagem|imagen|bild|chart|shape|diagram)\s*\d*", re.IGNORECASE)
_FILE = re.compile(r"\S+\.(png|jpe?g|gif|emf|wmf|bmp|tiff?|svg)", re.IGNORECASE)


def notes_of(book: Book, entry: SheetEntry) -> Iterator[Note]:
    """Yield the comments of a sheet. A thread takes the place of the note that repeats it."""
    threads = list(threads_of(book, entry))
    yield from threads
    cells = {ref for ref, _author, _text in threads}
    for one in _related(book, entry.part):
        if one.type == "comments":
            yield from (note for note in _notes(book, one.target) if note[0] not in cells)


def threads_of(book: Book, entry: SheetEntry) -> Iterator[Note]:
    """Yield the comments of the threads of a sheet."""
    related = _related(book, entry.part)
    people = _people(book) if any(one.type == "threadedComment" for one in related) else {}
    for one in related:
        if one.type == "threadedComment":
            for comment in _elements(book, one.target, "threadedComment"):
                text = " ".join(part.text or "" for part in named(comment, "text"))
                if text.strip():
                    author = people.get(comment.get("personId") or "", "")
                    yield comment.get("ref") or "", author, printable(text)


def _notes(book: Book, part: str) -> Iterator[Note]:
    authors = list[str]()
    for element in _elements(book, part, "author", "comment"):
        if local(element) == "author":
            authors.append(printable(element.text or "").strip())
            continue
        number = element.get("authorId") or ""
        author = authors[int(number)] if number.isdecimal() and int(number) < len(authors) else ""
        text = "".join(text_of(body) for body in element if local(body) == "text").strip()
        if author and text.startswith(f"{author}:"):
            text = text[len(author) + 1 :].strip()
        if text:
            yield element.get("ref") or "", author, text


def _people(book: Book) -> dict[str, str]:
    parts = [one.target for one in _related(book, book.part) if one.type == "person"]
    people = (person for part in parts for person in _elements(book, part, "person"))
    return {person.get("id") or "": printable(person.get("displayName") or "") for person in people}


def shapes_of(book: Book, entry: SheetEntry) -> Iterator[Block]:
    """Yield the text of shapes, and the titles of charts and pictures; charts and pictures are counted."""
    for one in _related(book, entry.part):
        if one.type == "drawing":
            try:
                tree = book.package.xml(one.target, PART_MAX)
                links = {key: to for key, to in book.package.links(one.target).items() if not to.is_external}
            except UNREADABLE:
                book.losses.note("part", one.target)
                continue
            yield from _shapes(book, entry, tree, links)


def _shapes(book: Book, entry: SheetEntry, tree: Any, links: dict[str, Link]) -> Iterator[Block]:
    for shape in named(tree, "sp"):
        for paragraph in named(shape, "p"):
            text = printable("".join(run.text or "" for run in named(paragraph, "t")))
            if text.strip():
                yield Block(kind="paragraph", text=text)
    for shown in named(tree, "pic"):
        said = next((printable(about.get("descr") or "") for about in named(shown, "cNvPr")), "").strip()
        is_said = said and not _MADE_UP.fullmatch(said) and not _FILE.fullmatch(said)
        keys = (key for blip in named(shown, "blip") for name, key in blip.attrib.items() if name.endswith("}embed"))
        picture = next((book.package.picture(links[key].target) for key in keys if key in links), None)
        if picture is None:
            book.losses.note("picture", entry.name)
        yield from figures_of(said if is_said else "", [picture])
    for frame in named(tree, "graphicData"):
        for child in frame:
            if local(child) != "chart":
                book.losses.note("embedded_object", entry.name)
                continue
            book.losses.note("chart", entry.name)
            key = next((value for name, value in child.attrib.items() if name.endswith("}id")), "")
            title = _chart_title(book, links[key].target) if key in links else ""
            if title:
                yield Block(kind="figure", text=title)


def _chart_title(book: Book, part: str) -> str:
    try:
        tree = book.package.xml(part, PART_MAX)
    except UNREADABLE:
        book.losses.note("part", part)
        return ""
    for chart in named(tree, "chart"):
        for child in chart:
            if local(child) == "title":
                return printable(" ".join((run.text or "").strip() for run in named(child, "t"))).strip()
    return ""


def _related(book: Book, part: str) -> list[Link]:
    try:
        return list(book.package.links(part).values())
    except UNREADABLE:
        book.losses.note("part", posixpath.basename(part))
        return []


def _elements(book: Book, part: str, *names: str) -> Iterator[Any]:
    try:
        yield from book.package.stream(part, *names)
    except UNREADABLE:
        book.losses.note("comment", part)
