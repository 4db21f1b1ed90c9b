"""Rich text (RTF), read from its own marks: text in all code pages, lists, tables, notes, comments, in reading order.

`parser` knows groups, control words and characters, `tables` the styles and lists, `flow` makes paragraphs and tables,
`fields` and `math` read theirs, and `body` says which groups are read.
"""

from __future__ import annotations

from docmind.blocks import Losses
from docmind.reading.formats import Rules
from docmind.reading.formats.rtf.body import blocks_of
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Upload


def open_rtf(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a rich text file. Raises `TooLargeError` or `EmptyFileError`."""
    losses = Losses()
    blocks, facts = blocks_of(upload.data, upload.name, losses, rules.max_text_mb * 1024 * 1024)
    return LaidOut(blocks, facts, upload.name, rules, losses)
