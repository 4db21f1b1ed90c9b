"""What the metadata of small real files says of them."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable

import docx
import openpyxl
import pytest

import papers
from docmind.reading.formats import Rules, reader
from docmind.records.documents import Upload

WANTED = {"title": "On herons", "author": "Ada Heron", "day": "2024-03-31"}
STAMPED = ("pdf", "docx")  # of which a program writes the day


def pdf() -> bytes:
    return papers.pdf(
        [papers.line("Herons wait.")], title="On herons) /Author (Ada Heron) /CreationDate (D:20240331120000Z"
    )


def word(*, is_template: bool = False) -> bytes:
    document = docx.Document()
    document.add_paragraph("Herons wait.")
    if not is_template:
        said = document.core_properties
        said.title, said.author, said.created = "On herons", "Ada Heron", dt.datetime(2024, 3, 31, 12, tzinfo=dt.UTC)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def html() -> bytes:
    return (
        b"<html><head><title>On herons</title><meta name='Author' content='Ada Heron'>"
        b"<meta property='article:published_time' content='2024-03-31T10:00:00Z'></head><p>Herons wait.</p></html>"
    )


def epub() -> bytes:
    meta = "<dc:creator>Ada Heron</dc:creator><dc:date>2024-03-31</dc:date>"
    return papers.packed_book({"a.xhtml": ("", b"<html><body>Herons wait.</body></html>")}, {}, meta=meta)


def markdown() -> bytes:
    return b'---\nauthor: "Ada Heron"\ndate: 2024-03-31\ntags: [x]\n---\n\n# On herons\n\nHerons wait.\n'


def facts(kind: str, data: bytes, name: str = "a.bin") -> dict[str, str]:
    found = reader(kind)(Upload(name, data), kind, Rules()).facts
    assert not found["dated"] or kind not in STAMPED
    return {"title": found["title"], "author": found["author"], "day": found["dated"] or found.get("stamped", "")}


@pytest.mark.parametrize(
    ("kind", "made"), [("pdf", pdf), ("docx", word), ("html", html), ("epub", epub), ("markdown", markdown)]
)
def test_author_day_and_title_are_found(kind: str, made: Callable[[], bytes]) -> None:
    wanted = WANTED | ({"title": "The Book of Trees"} if kind == "epub" else {})
    assert facts(kind, made()) == wanted


def test_what_a_tool_wrote_is_no_fact() -> None:
    book = openpyxl.Workbook()
    book.active.append(["Herons"])  # pyright: ignore[reportOptionalMemberAccess]
    out = io.BytesIO()
    book.save(out)
    empty = dict.fromkeys(WANTED, "")
    assert facts("xlsx", out.getvalue()) == empty
    assert facts("docx", word(is_template=True)) == empty
    assert facts("txt", b"---\nauthor: Ada Heron\n---\n") == empty, "the control: no front matter of plain text"


def test_hostile_metadata_is_made_harmless() -> None:
    said = (
        b"<meta name=author content='\xe2\x80\xaeadA &lt;b&gt;"
        + b"x" * 9_000
        + b"'><meta name=date content='2024-99-99'>"
    )
    found = facts("html", b"<html><head>" + said + b"</head><p>Herons.</p></html>")
    assert found["author"].startswith("adA <b>xx")
    assert len(found["author"]) == 300
    assert found["day"] == ""
