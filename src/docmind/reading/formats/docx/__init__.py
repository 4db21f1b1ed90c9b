"""Word documents, read from their XML: text, lists, tables, notes, comments, headers, equations, in reading order.

`package` finds parts by their relationships, `styles` and `numbering` say what a paragraph is and which number it
shows, `inline` reads one paragraph, `tables` makes grids, `equations` and `charts` read theirs, and `body` is the walk
through the document.
"""

from __future__ import annotations

from docmind.blocks import Losses
from docmind.errors import CorruptFileError
from docmind.reading.formats import Rules, facts_of, open_archive
from docmind.reading.formats.docx.body import blocks_of
from docmind.reading.formats.docx.package import BrokenError, Package
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Facts, Upload
from docmind.wording import _

_TEMPLATE = "2013-12-23T23:15"  # what python-docx's template says, not the document
_DC, _TERMS = "{http://purl.org/dc/elements/1.1/}", "{http://purl.org/dc/terms/}"


def open_docx(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a Word document. Raises `TooLargeError`, `CorruptFileError` or `EmptyFileError`."""
    losses = Losses()
    with open_archive(upload, rules) as archive:
        package = Package(archive, losses)
        try:
            facts = _facts(package, upload.name)
            return LaidOut(blocks_of(package, losses), facts, upload.name, rules, losses)
        except BrokenError as error:
            raise CorruptFileError(_("{name} is a Word document that is broken.").format(name=upload.name)) from error


def _facts(package: Package, name: str) -> Facts:
    part = package.core()
    said = {} if part is None else {str(child.tag): (child.text or "").strip() for child in part.root}
    created = said.get(f"{_TERMS}created", "")
    return facts_of(
        name,
        title=said.get(f"{_DC}title"),
        author=said.get(f"{_DC}creator"),
        dated="" if created.startswith(_TEMPLATE) else created,
    )
