"""Word documents: headings, paragraphs, lists and tables in their order, then foot- and endnotes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator

import docx
import docx.document
from docx.opc.exceptions import PackageNotFoundError
from docx.table import Table as DocxTable
from docx.table import _Cell
from docx.text.paragraph import Paragraph
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from docmind.blocks import Block, Table
from docmind.errors import CorruptFileError
from docmind.reading.formats import Rules, facts_of, open_archive
from docmind.reading.formats.typeset import LaidOut, printable
from docmind.records.documents import Upload
from docmind.wording import _

_LEVELS = {"Title": 1, "Heading 1": 1, "Heading 2": 2, "Heading 3": 3, "Subtitle": 3}
_NOTES = ("word/footnotes.xml", "word/endnotes.xml")
_TEMPLATE = "2013-12-23 23:15"  # what python-docx's template says, not the document
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def open_docx(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a Word document. Raises `TooLargeError`, `CorruptFileError` or `EmptyFileError`."""
    with open_archive(upload, rules) as archive:
        notes = [archive.read(name) for name in _NOTES if name in archive.namelist()]
    try:
        document = docx.Document(io.BytesIO(upload.data))
        said = document.core_properties
        created = str(said.created or "")
        dated = "" if created.startswith(_TEMPLATE) else created
        facts = facts_of(upload.name, title=said.title, author=said.author, dated=dated)
    except (PackageNotFoundError, KeyError, ValueError, zipfile.BadZipFile, etree.XMLSyntaxError) as error:
        raise CorruptFileError(_("{name} is a Word document that is broken.").format(name=upload.name)) from error
    return LaidOut(_blocks(document, notes), facts, upload.name, rules)


def _blocks(document: docx.document.Document, notes: list[bytes]) -> Iterator[Block | Table]:
    for item in document.iter_inner_content():
        if isinstance(item, Paragraph):
            yield from _paragraph(item)
        else:
            yield Table(rows=_rows(item))
    for part in notes:
        root = etree.fromstring(part, etree.XMLParser(resolve_entities=False, no_network=True))
        for note in root:
            yield Block(kind="footnote", text=printable(" ".join(text.text or "" for text in note.iter(f"{_W}t"))))


def _paragraph(paragraph: Paragraph) -> Iterator[Block]:
    style = paragraph.style.name if paragraph.style is not None and paragraph.style.name else ""
    text = paragraph.text
    if style.startswith("List") and text.strip():
        text = f"• {text}"
    level = _LEVELS.get(style, 3 if style.startswith("Heading") else 0)
    for line in printable(text).split("\n"):
        yield Block(kind="heading" if level else "paragraph", text=line, level=level)
    # Text boxes are no part of a paragraph's own text.
    for box in paragraph._p.iter(f"{_W}txbxContent"):
        if not any(parent.tag.endswith("}Fallback") for parent in box.iterancestors()):
            yield Block(kind="paragraph", text=printable(" ".join(text.text or "" for text in box.iter(f"{_W}t"))))


def _rows(table: DocxTable) -> Iterator[list[str]]:
    """Yield rows of cells; a cell merged over several columns is given once."""
    for row in table.rows:
        cells: list[str] = []
        last = None
        for cell in row.cells:
            if cell._tc is last:
                continue
            last = cell._tc
            cells.append(printable(_cell(cell)))
        yield cells


def _cell(cell: _Cell) -> str:
    """Return the text of a cell, followed by that of tables inside it."""
    inner = (_cell(deep) for table in cell.tables for row in table.rows for deep in row.cells)
    return " ".join([cell.text, *inner])
