"""Export of a conversation to one file: questions, answers, sources, and the cited pages.

Text of people, documents and models is written as plain text; the files contain no links and load nothing but their own
pictures. Everything is made in memory: only the caller writes a file.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from docmind.records.answers import Source
from docmind.records.conversations import Exported, ExportFormat, ThreadView
from docmind.rich_text import one_line

_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_NAME_BYTES = 120
_FILE_SUFFIX = re.compile(r"\.(?:pdf|docx|odt|rtf|xlsx?|xlsb|ods|pptx|epub|html?|md|txt|zip)$", re.IGNORECASE)
"""Ends a title that ends with a document's name; the export has a suffix of its own."""


def export_thread(view: ThreadView, format: ExportFormat, image: Callable[[Source], bytes | None]) -> Exported:  # noqa: A002
    """Export the conversation as a zip of Markdown and page images, or as a PDF.

    `image` returns the page image that a source was cited from, or None where its document was deleted: then the quote
    is kept, with a line that says so. It is called once per page.
    """
    from docmind.conversations.export.content import Pages

    pages = Pages(view.turns, image)
    if format == "markdown":
        from docmind.conversations.export.markdown import bundle

        return Exported(f"{file_stem(view.thread.title)}.zip", "application/zip", bundle(view, pages))
    from docmind.conversations.export.pdf import paper

    return Exported(f"{file_stem(view.thread.title)}.pdf", "application/pdf", paper(view, pages))


def file_stem(title: str) -> str:
    """Return a file name without suffix, valid on every system, from a title; never empty."""
    name = re.sub(r'[<>:"/\\|?*\x00-\x1f\x7f]+', " ", unicodedata.normalize("NFC", one_line(title)))
    name = _FILE_SUFFIX.sub("", " ".join(name.split())).lstrip(".-~ ")
    while len(name.encode()) > _NAME_BYTES:
        name = name[:-1]
    name = name.rstrip(". …")
    return f"{name} (conversation)" if _RESERVED.fullmatch(name) else name or "conversation"
