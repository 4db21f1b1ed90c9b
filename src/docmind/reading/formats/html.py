"""Web pages as blocks of text. Scripts, styles and hidden parts are neither run nor read."""

from __future__ import annotations

import re
from collections.abc import Iterator

import lxml.html
from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from docmind.blocks import Block, BlockKind, Table
from docmind.errors import CorruptFileError
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.text import decode, encoding_of
from docmind.reading.formats.typeset import LaidOut, printable
from docmind.records.documents import Upload
from docmind.wording import _

# fmt: off
_UNREAD = frozenset((
    "script", "style", "noscript", "template", "head", "svg", "math", "iframe", "object", "embed", "canvas", "audio",
    "video", "select", "button", "input", "textarea", "dialog", "meta", "link", "title",
))
_INLINE = frozenset((
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img",
    "ins", "kbd", "label", "mark", "nobr", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong",
    "sub", "sup", "time", "tt", "u", "var", "wbr",
))
# fmt: on
_LEVELS = {"h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6, "dt": 6}
_HIDDEN = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.I)
_DECLARED = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w-]+)", re.I)
_DEEPEST = 200
_AUTHORS = ("author", "article:author", "dc.creator", "dcterms.creator")
_DATES = ("article:published_time", "datepublished", "dc.date", "dcterms.date", "dcterms.created", "date")


def open_html(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a web page. Raises `TooLargeError`, `CorruptFileError` or `EmptyFileError`."""
    tree = parse(_text(upload, rules), upload.name)
    said = _said_of(tree)
    author = next((said[name] for name in _AUTHORS if said.get(name)), "")
    dated = next((said[name] for name in _DATES if said.get(name)), "")
    facts = facts_of(upload.name, title=tree.findtext(".//title"), author=author, dated=dated)
    return LaidOut(blocks_of(tree), facts, upload.name, rules)


def _said_of(tree: lxml.html.HtmlElement) -> dict[str, str]:
    """Return the first content of each `meta` element, by its name in small letters."""
    said: dict[str, str] = {}
    for meta in tree.iter("meta"):
        name = meta.get("name") or meta.get("property") or meta.get("itemprop") or ""
        said.setdefault(name.strip().lower(), meta.get("content") or "")
    return said


def parse(text: str, name: str) -> lxml.html.HtmlElement:
    """Parse a page, repaired where needed; nothing is ever fetched. Raises `CorruptFileError`."""
    # A declaration of an encoding contradicts text that is decoded already.
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", text, count=1)
    try:
        return lxml.html.document_fromstring(text, parser=lxml.html.HTMLParser(no_network=True, huge_tree=True))
    except (etree.ParserError, ValueError) as error:
        raise CorruptFileError(_("{name} holds a web page without content.").format(name=name)) from error


def blocks_of(tree: lxml.html.HtmlElement) -> Iterator[Block | Table]:
    """Yield headings, paragraphs, tables and code of a tree, in order."""
    body = tree.find("body")
    yield from _Walk().blocks(tree if body is None else body)


class _Walk:
    def __init__(self) -> None:
        self._parts: list[str] = []

    def blocks(self, root: lxml.html.HtmlElement) -> Iterator[Block | Table]:
        yield from self._into(root, 0, 0)
        yield from self._flush(0)

    def _into(self, element: lxml.html.HtmlElement, level: int, depth: int) -> Iterator[Block | Table]:
        self._parts.append(element.text or "")
        for child in element:
            if isinstance(child.tag, str) and child.tag not in _UNREAD and not _is_hidden(child):
                yield from self._child(child, level, depth + 1)
            self._parts.append(child.tail or "")

    def _child(self, child: lxml.html.HtmlElement, level: int, depth: int) -> Iterator[Block | Table]:
        tag = child.tag
        if depth > _DEEPEST:
            self._parts.append(" ".join(child.itertext()))
        elif tag == "br":
            yield from self._flush(level)
        elif tag in _INLINE:
            yield from self._into(child, level, depth)
        else:
            yield from self._flush(level)
            if tag == "pre":
                yield Block(kind="code", text=printable(child.text_content()))
            elif tag == "table" and _is_data(child):
                rows = [row for row in map(_row, child.iter("tr")) if any(row)]
                yield Table(rows=rows, header_rows=1 if child.findall(".//th") else 0)
            else:
                if tag == "li":
                    self._parts.append("• ")
                inner = _LEVELS.get(str(tag), level)
                yield from self._into(child, inner, depth)
                yield from self._flush(inner)

    def _flush(self, level: int) -> Iterator[Block | Table]:
        text = printable("".join(self._parts))
        self._parts.clear()
        if text.strip(" \t\r\n•"):
            kind: BlockKind = "heading" if level else "paragraph"
            yield Block(kind=kind, text=text, level=level)


def _is_hidden(element: lxml.html.HtmlElement) -> bool:
    return "hidden" in element.attrib or bool(_HIDDEN.search(element.get("style", "")))


def _is_data(table: lxml.html.HtmlElement) -> bool:
    """Return whether a table holds data.

    One with inner tables or whole paragraphs is a layout table.
    """
    if table.find(".//table") is not None or len(table.findall(".//tr")) < 2:
        return False
    cells = [len(cell.text_content()) for row in table.iter("tr") for cell in row]
    return bool(cells) and max(cells) < 1_000


def _row(row: lxml.html.HtmlElement) -> list[str]:
    return [_cell(cell) for cell in row if cell.tag in ("td", "th")]


def _cell(cell: lxml.html.HtmlElement) -> str:
    return " ".join(printable("".join(_said(cell, 0))).split())


def _said(element: lxml.html.HtmlElement, depth: int) -> Iterator[str]:
    """Return all visible text in a cell, in order."""
    if depth > _DEEPEST:
        yield " ".join(element.itertext())
        return
    yield element.text or ""
    for child in element:
        apart = "" if child.tag in _INLINE else " "
        yield apart
        if isinstance(child.tag, str) and child.tag not in _UNREAD and not _is_hidden(child):
            yield from _said(child, depth + 1)
        yield apart + (child.tail or "")


def _text(upload: Upload, rules: Rules) -> str:
    """Decode as the page declares its encoding, if that works; else as any text."""
    declared = _DECLARED.search(upload.data[:4096])
    if declared and len(upload.data) <= rules.max_text_mb * 1024 * 1024:
        try:
            return printable(upload.data.decode(declared.group(1).decode()))
        except (LookupError, UnicodeDecodeError):
            return decode(upload, rules)  # pages often declare one encoding and use another
    return decode(upload, rules)


def text_of(data: bytes) -> str:
    """Decode a chapter."""
    return data.decode(encoding_of(data), "replace")
