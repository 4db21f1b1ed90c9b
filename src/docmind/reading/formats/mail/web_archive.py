"""Web pages that a browser saved with their pictures in one file (MHTML, RFC 2557)."""

from __future__ import annotations

from email.message import Message
from functools import partial

from docmind.errors import CorruptFileError
from docmind.reading.formats.html import text_of
from docmind.reading.formats.mail.headers import raw_header
from docmind.reading.formats.mail.letter import Pictures
from docmind.reading.formats.mail.mime import addresses_of, charset_of, payload, root_of, type_of, walk
from docmind.wording import _

_PAGES = ("text/html", "application/xhtml+xml")


def page_of(message: Message, name: str) -> tuple[bytes, str]:
    """Return the page itself, in UTF-8, and its address or "". Raises `CorruptFileError` where the file has none."""
    pages = [part for part in walk(message) if type_of(part) in _PAGES]
    if not pages:
        raise CorruptFileError(_("{name} holds a web page without content.").format(name=name))
    address = raw_header(message, "Snapshot-Content-Location")
    root = root_of(message)
    main = [one for one in pages if address and raw_header(one, "Content-Location") == address]
    page = next(iter(main), root if root in pages else pages[0])
    text = text_of(payload(page), charset_of(page)).encode("utf-8", "replace")
    return text, raw_header(page, "Content-Location").strip()


def pictures_of(message: Message) -> Pictures:
    """Return the pictures of the page."""
    found = Pictures()
    for part in walk(message):
        if type_of(part).startswith("image/"):
            found.add(partial(payload, part), *addresses_of(part))
    return found
