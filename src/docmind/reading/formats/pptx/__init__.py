"""PowerPoint presentations, read from their XML: each slide a page, with its notes and comments behind it.

`deck` goes through the slides in the order of the presentation, `slide` through the shapes of one, `order` says which
shape is read first, `text` reads paragraphs, and `styles` knows what they inherit from layouts and masters.
"""

from __future__ import annotations

from docmind.blocks import Losses
from docmind.errors import CorruptFileError
from docmind.reading.formats import Rules, open_archive
from docmind.reading.formats.ooxml_parts import BrokenError, Parts
from docmind.reading.formats.pptx.deck import blocks_of
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Upload
from docmind.wording import _

_TYPES = ("presentation.main+xml", "slideshow.main+xml", "template.main+xml", "presentation.macroEnabled.main+xml")
_TEMPLATE = "2013-01-27T09:14:16"  # what python-pptx's template says, not the presentation


def open_pptx(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a presentation. Raises `TooLargeError`, `CorruptFileError` or `EmptyFileError`."""
    losses = Losses()
    with open_archive(upload, rules) as archive:
        parts = Parts(archive, losses, "ppt/presentation.xml", _TYPES)
        try:
            facts = parts.facts(upload.name, _TEMPLATE)
            return LaidOut(blocks_of(parts, losses), facts, upload.name, rules, losses, is_paged=True)
        except BrokenError as error:
            raise CorruptFileError(
                _("{name} is a PowerPoint presentation that is broken.").format(name=upload.name)
            ) from error
