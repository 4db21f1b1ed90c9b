"""Web pages that a browser saved with their pictures in one file (MHTML, RFC 2557)."""

from __future__ import annotations

from email.message import Message

from docmind.errors import CorruptFileError
from docmind.reading.formats.html import text_of
from docmind.reading.formats.mail.headers import raw_header
from docmind.reading.formats.mail.mime import charset_of, payload, root_of, type_of, walk
from docmind.wording import _

_PAGES = ("text/html", "application/xhtml+xml")


def page_of(message: Message, name: str) -> bytes:
    """Return the page itself, in UTF-8. Raises `CorruptFileError` where the file has none."""
    pages = [part for part in walk(message) if type_of(part) in _PAGES]
    if not pages:
        raise CorruptFileError(_("{name} holds a web page without content.").format(name=name))
    address = raw_header(message, "Snapshot-Content-Location")
    root = root_of(message)
    main = [one for one in pages if address and raw_header(one, "Content-Location") == address]
    page = next(iter(main), root if root in pages else pages[0])
    return text_of(payload(page), charset_of(page)).encode("utf-8", "replace")
