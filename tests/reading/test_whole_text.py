"""The text of a file that is only checked: what is written, with headings, rows and code as in Markdown."""

from __future__ import annotations

import io

import docx
import pytest

from docmind.config import ReadingSettings
from docmind.errors import UnsupportedFileError
from docmind.reading import text_of_file
from docmind.records.documents import Upload

LONGEST = 10_000


def read(name: str, data: bytes, longest: int = LONGEST) -> str:
    return text_of_file(Upload(name, data), ReadingSettings(), longest=longest)


def word_file() -> bytes:
    document = docx.Document()
    document.add_heading("Herons of the lake", 1)
    document.add_paragraph("Herons nest in tall trees. " * 12)
    document.add_paragraph("They leave in October.", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for row, cells in zip(table.rows, (("Place", "Pairs"), ("North", "12")), strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


@pytest.mark.parametrize("name", ["draft.md", "draft.txt", "draft"])
def test_text_is_returned_as_it_is_written(name: str) -> None:
    written = "# Herons\n\nHerons nest\nin trees – über alles. [1]\n\n- one\n"
    assert read(name, written.encode()) == written
    assert read(name, b"\xef\xbb\xbf" + written.encode()) == written


def test_another_encoding_is_recognised() -> None:
    said = "Garças fazem ninhos em árvores altas, e não saem antes de março."
    assert read("draft.txt", said.encode("cp1252")).strip() == said
    assert read("draft.txt", said.encode("utf-16")).strip() == said


def test_a_word_file_has_its_headings_rows_and_whole_paragraphs() -> None:
    text = read("draft.docx", word_file())
    assert text.startswith("# Herons of the lake\n\n")
    assert "\n\n" + ("Herons nest in tall trees. " * 12).strip() + "\n\n" in text
    assert "They leave in October." in text
    assert "| Place | Pairs |" in text
    assert "| North | 12 |" in text


def test_reading_ends_where_the_text_is_too_long() -> None:
    page = "<p>" + "Herons nest in tall trees. " * 400 + "</p>"
    text = read("long.html", f"<html><body>{page * 40}</body></html>".encode(), longest=2_000)
    assert 2_000 < len(text) < 40_000


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(UnsupportedFileError):
        read("draft.bin", b"\x00\x01\x02\x03" * 50)
