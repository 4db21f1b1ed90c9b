"""Web pages as blocks of text. Scripts, styles and hidden parts are neither run nor read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import lxml.html
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from docmind.blocks import Block, Losses, Picture, Table
from docmind.errors import CorruptFileError
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.characters import mended
from docmind.reading.formats.figures import picture_at
from docmind.reading.formats.markup import Page, Walk
from docmind.reading.formats.notes import Notes
from docmind.reading.formats.text import check_size, declared_text
from docmind.reading.formats.typeset import LaidOut, printable
from docmind.records.documents import Upload
from docmind.wording import _

_DECLARED = re.compile(rb"<(?:meta\b[^<>]+charset|\?xml\b[^<>]*\bencoding)\s*=\s*[\"']?\s*([\w:.-]+)", re.I)
_AUTHORS = ("author", "article:author", "dc.creator", "dcterms.creator")
_DATES = ("article:published_time", "datepublished", "dc.date", "dcterms.date", "dcterms.created", "date")


def open_html(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a web page. Raises `TooLargeError`, `CorruptFileError` or `EmptyFileError`."""
    return open_page(upload, rules, picture_at)


def open_page(upload: Upload, rules: Rules, pictures: Callable[[str], Picture | None]) -> LaidOut:
    """Open a web page whose pictures lie at the addresses that `pictures` knows. Raises the same errors."""
    check_size(upload, rules)
    losses = Losses()
    tree = parse(mended(text_of(upload.data)), upload.name, losses)
    said = _said_of(tree)
    author = next((said[name] for name in _AUTHORS if said.get(name)), "")
    dated = next((said[name] for name in _DATES if said.get(name)), "")
    facts = facts_of(upload.name, title=tree.findtext(".//title"), author=author, dated=dated)
    return LaidOut(blocks_of(tree, Page(losses, pictures=pictures)), facts, upload.name, rules, losses)


def _said_of(tree: lxml.html.HtmlElement) -> dict[str, str]:
    """Return the first content of each `meta` element, by its name in small letters."""
    said: dict[str, str] = {}
    for meta in tree.iter("meta"):
        name = meta.get("name") or meta.get("property") or meta.get("itemprop") or ""
        said.setdefault(name.strip().lower(), meta.get("content") or "")
    return said


def parse(text: str, name: str, losses: Losses | None = None) -> lxml.html.HtmlElement:
    """Parse a page, repaired where needed; nothing is ever fetched. Raises `CorruptFileError`.

    What lies deeper than the parser goes, 2,048 elements, is counted in `losses`.
    """
    # A declaration of an encoding contradicts text that is decoded already.
    text = printable(re.sub(r"^\s*<\?xml[^>]*\?>", "", text, count=1))
    parser = lxml.html.HTMLParser(no_network=True, huge_tree=True)
    try:
        tree = lxml.html.document_fromstring(text, parser=parser)
    except (etree.ParserError, ValueError) as error:
        raise CorruptFileError(_("{name} holds a web page without content.").format(name=name)) from error
    if losses is not None and any("depth" in entry.message.lower() for entry in parser.error_log):
        losses.note("part")
    return tree


def blocks_of(tree: lxml.html.HtmlElement, page: Page | None = None) -> Iterator[Block | Table]:
    """Yield the blocks of a tree, in order. `page` counts what is not read, and knows the notes of a book."""
    page = Page(notes=Notes()) if page is None else page
    page.notes.find(tree)
    yield from Walk(tree, page).blocks()


def text_of(data: bytes, charset: str = "") -> str:
    """Decode a page or chapter.

    UTF-8 is recognised whatever is declared; else it is decoded as it declares its encoding, if that works; else as any
    text. `charset` is what came with the page says, which counts before what stands in it.
    """
    declared = _DECLARED.search(data[:4096]) if not charset else None
    return declared_text(data, declared[1].decode() if declared else charset)
