"""Word documents, read from their XML: text, lists, tables, notes, comments, headers, equations, in reading order.

`package` finds parts by their relationships, `styles` and `numbering` say what a paragraph is and which number it
shows, `inline` reads one paragraph, `tables` makes grids, and `body` is the walk
through the document.
"""

from __future__ import annotations

from docmind.blocks import Losses
from docmind.errors import CorruptFileError
from docmind.reading.formats import Rules, open_archive
from docmind.reading.formats.docx.body import blocks_of
from docmind.reading.formats.docx.package import BrokenError, Package
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Upload
from docmind.wording import _

_TEMPLATE = "2013-12-23T23:15"  # what python-docx's template says, not the document


def open_docx(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a Word document. Raises `TooLargeError`, `CorruptFileError` or `EmptyFileError`."""
    losses = Losses()
    with open_archive(upload, rules) as archive:
        package = Package(archive, losses)
        try:
            facts = package.facts(upload.name, _TEMPLATE)
            return LaidOut(blocks_of(package, losses), facts, upload.name, rules, losses)
        except BrokenError as error:
            raise CorruptFileError(_("{name} is a Word document that is broken.").format(name=upload.name)) from error
