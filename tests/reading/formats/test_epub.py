"""Books: their notes wherever they lie, titles from the table of contents, and parts that are broken."""

from __future__ import annotations

import io
import zipfile

import pytest

import papers
from docmind.blocks import Block, Losses
from docmind.errors import CorruptFileError
from docmind.reading.formats import Rules, reader
from docmind.reading.formats.epub import Book, Chapters
from docmind.reading.formats.html import text_of
from docmind.records.documents import Loss, Upload

KIND = "application/xhtml+xml"


def page(body: str) -> tuple[str, bytes]:
    return KIND, f"<?xml version='1.0'?><html><head><title/></head><body>{body}</body></html>".encode()


def found(chapters: dict[str, str], parts: dict[str, str] | None = None) -> list[tuple[str, str, str, str]]:
    """Return kind, marker, text and anchor of each block of a book of these pages."""
    named = {name: page(body) for name, body in chapters.items()}
    others = {name: page(body) for name, body in (parts or {}).items()}
    book = Book(Upload("a.epub", papers.packed_book(named, others)), Rules())
    reads = Chapters(book, Losses())
    blocks = [block for path in book.chapters for block in reads.blocks(path, text_of(book.read(path)))]
    return [(block.kind, block.marker, block.text, block.anchor) for block in blocks if isinstance(block, Block)]


def test_a_note_in_a_later_chapter_is_a_note() -> None:
    chapters = {
        "a.xhtml": "<p>The lamp was lit<a href='n.xhtml#n1' epub:type='noteref'>1</a>.</p>",
        "n.xhtml": "<h1>Notes</h1><p id='n1'><a href='a.xhtml#r'>1</a> By Ada.</p><p>Other.</p>",
    }
    assert found(chapters) == [
        ("paragraph", "", "The lamp was lit[1].", ""),
        ("heading", "", "Notes", ""),
        ("footnote", "[1]", "By Ada.", "The lamp was lit"),
        ("paragraph", "", "Other.", ""),
    ]


def test_a_note_outside_the_spine_is_read_at_the_end_of_its_chapter() -> None:
    chapters = {
        "a.xhtml": "<p>The lamp<sup><a href='n/notes.xhtml#n1'>*</a></sup> burnt.</p>",
        "b.xhtml": "<p>Again<sup><a href='n/notes.xhtml#n1'>1</a></sup>.</p>",
    }
    parts = {"n/notes.xhtml": "<aside epub:type='footnote' id='n1'><p>* Of brass.</p></aside><p>Not asked for.</p>"}
    assert found(chapters, parts) == [
        ("paragraph", "", "The lamp[*] burnt.", ""),
        ("footnote", "[*]", "Of brass.", "The lamp"),
        ("paragraph", "", "Again[1].", ""),
    ]


def test_a_chapter_without_a_heading_has_its_title_from_the_contents() -> None:
    data = papers.packed_book(
        {"a.xhtml": page("<p>Words.</p>"), "b.xhtml": page("<h2>Own</h2><p>More.</p>")},
        {
            "toc.ncx": (
                "application/x-dtbncx+xml",
                b"<ncx><navMap>"
                b"<navPoint><navLabel><text>The harbour</text></navLabel><content src='a.xhtml'/></navPoint>"
                b"<navPoint><navLabel><text>Other</text></navLabel><content src='b.xhtml'/></navPoint></navMap></ncx>",
            )
        },
    )
    opened = reader("epub")(Upload("a.epub", data), "epub", Rules())
    assert opened.page(1).text == "The harbour\n\nWords.\n\nOwn\n\nMore."


def with_broken(name: str, data: bytes) -> bytes:
    """Return a book in which one part fails its checksum."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        body = archive.read(name)
    assert data.count(body) == 1
    return data.replace(body, bytes(len(body)))


def test_a_broken_chapter_costs_itself_alone() -> None:
    data = papers.packed_book({"a.xhtml": page("<p>First words.</p>"), "b.xhtml": page("<p>Other words.</p>")}, {})
    opened = reader("epub")(Upload("a.epub", with_broken("O/a.xhtml", data)), "epub", Rules())
    assert opened.page(1).text == "Other words."
    assert list(opened.losses) == [Loss("part", 1, "O/a.xhtml")]
    with pytest.raises(CorruptFileError, match="cannot be read"):
        reader("epub")(Upload("a.epub", with_broken("O/b.xhtml", with_broken("O/a.xhtml", data))), "epub", Rules())


def test_what_a_chapter_loses_is_told_with_its_place() -> None:
    chapters = {"a.xhtml": page("<p>Words<img src='x.png'/></p>"), "b.xhtml": page("<p>a</p><video src='v'/>")}
    opened = reader("epub")(Upload("a.epub", papers.packed_book(chapters, {})), "epub", Rules())
    assert list(opened.losses) == [Loss("picture", 1, "O/a.xhtml"), Loss("media", 1, "O/b.xhtml")]


def test_numbers_of_printed_pages_are_no_text() -> None:
    marks = "<span epub:type='pagebreak' id='p7'>7</span>two<span role='doc-pagebreak'>8</span>."
    assert [text for _kind, _marker, text, _anchor in found({"a.xhtml": f"<p>One {marks}</p>"})] == ["One two."]
