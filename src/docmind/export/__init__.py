"""A conversation as a file to keep or hand on: questions, answers, sources, and the pages they stand on.

What people, documents and models wrote is shown as words; the files link to nothing and load nothing but their own
pictures. Everything is made in memory: a file appears only where whoever asked for it puts it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from docmind.conversation import Exported, ExportFormat, ThreadView
from docmind.escape import one_line
from docmind.schema import Source

_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_NAME_BYTES = 120


def export_thread(view: ThreadView, format: ExportFormat, image: Callable[[Source], bytes | None]) -> Exported:  # noqa: A002
    """The conversation as a zip of Markdown and page images, or as a PDF.

    `image` gives the page image that a source was cited from, or None where its document was deleted: then the quote
    stays and a line says so. It is asked once for each page.
    """
    from docmind.export.pages import Pages

    pages = Pages(view.turns, image)
    if format == "markdown":
        from docmind.export.bundle import bundle

        return Exported(f"{file_stem(view.thread.title)}.zip", "application/zip", bundle(view, pages))
    from docmind.export.paper import paper

    return Exported(f"{file_stem(view.thread.title)}.pdf", "application/pdf", paper(view, pages))


def file_stem(title: str) -> str:
    """A file name, without its ending, that every system takes: made of a title, never empty."""
    name = re.sub(r'[<>:"/\\|?*\x00-\x1f\x7f]+', " ", unicodedata.normalize("NFC", one_line(title)))
    name = " ".join(name.split()).lstrip(".-~ ")
    while len(name.encode()) > _NAME_BYTES:
        name = name[:-1]
    name = name.rstrip(". ")
    return f"{name} (conversation)" if _RESERVED.fullmatch(name) else name or "conversation"
