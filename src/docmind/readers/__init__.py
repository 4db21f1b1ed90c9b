"""The readers: one per kind of file, all of one shape. They run only inside a reading process, never in the owner.

A reader opens an upload and hands out its pages by number, so that pages that are stored already cost nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from docmind.errors import ReadingError, UnsupportedFileError
from docmind.schema import ParsedPage, Upload


@dataclass(frozen=True, slots=True)
class Rules:
    """The reading settings a reader needs, as plain values: a reading process does not load pydantic."""

    max_pages: int = 5_000
    max_page_megapixels: float = 100.0
    max_unpacked_mb: int = 200
    max_text_mb: int = 50
    image_side_px: int = 1_600
    image_quality: int = 80
    thumbnail_side_px: int = 320


class Opened(Protocol):
    """An open document: its title (may be empty), its number of pages, and each page by number from 1.

    `if_blank` is what a document of nothing but blank pages is refused with; None where it is not.
    """

    @property
    def title(self) -> str: ...

    @property
    def pages(self) -> int: ...

    @property
    def if_blank(self) -> type[ReadingError] | None: ...

    def page(self, page_no: int) -> ParsedPage: ...


Open = Callable[[Upload, str, Rules], Opened]

# Named, not imported: a PDF must not wait for the office libraries.
_READERS = {
    "pdf": "docmind.readers.pdf:open_pdf",
    **dict.fromkeys(("png", "jpeg", "webp", "gif", "bmp", "tiff"), "docmind.readers.image:open_image"),
    **dict.fromkeys(("txt", "markdown", "csv", "code"), "docmind.readers.text:open_text"),
    "html": "docmind.readers.html:open_html",
    "docx": "docmind.readers.docx:open_docx",
    "xlsx": "docmind.readers.xlsx:open_xlsx",
    "epub": "docmind.readers.epub:open_epub",
}


def reader(kind: str) -> Open:
    """The opening function for one kind of file."""
    try:
        module, function = _READERS[kind].split(":")
    except KeyError:
        raise UnsupportedFileError(f"There is no reader for {kind}; there are {', '.join(sorted(_READERS))}.") from None
    return getattr(importlib.import_module(module), function)
