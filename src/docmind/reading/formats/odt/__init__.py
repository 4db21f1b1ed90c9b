"""OpenDocument texts, read from their XML: headings, lists, tables, notes, comments, headers, in reading order.

`styles` says what a paragraph or run is, `lists` which label it shows, `inline` reads one paragraph, `tables` makes
grids, `charts` reads the values of charts, and `body` is the walk through the document.
"""

from __future__ import annotations

from docmind.blocks import Losses
from docmind.reading.formats import Rules
from docmind.reading.formats.odf import Document
from docmind.reading.formats.odt.body import blocks_of
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Upload


def open_odt(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open an OpenDocument text, packed or flat.

    Raises `TooLargeError`, `UnsupportedFileError` for one that is locked, `CorruptFileError` or `EmptyFileError`.
    """
    losses = Losses()
    document = Document(upload, rules)
    try:
        return LaidOut(blocks_of(document, losses), document.facts(), upload.name, rules, losses)
    finally:
        document.close()
