"""The body of a mail that is a web page: its blocks, with what it marks as quoted or as a signature."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import lxml.html

from docmind.blocks import Block, Losses, Picture, Table
from docmind.errors import CorruptFileError
from docmind.reading.formats.html import blocks_of, parse
from docmind.reading.formats.mail.quoted import Said
from docmind.reading.formats.markup import Page
from docmind.reading.formats.math_text import local

# Private characters that stand where a part begins and ends while the page is read; a page's own are removed.
_QUOTE, _UNQUOTE, _SIGN, _UNSIGN = "\ue0f0", "\ue0f1", "\ue0f2", "\ue0f3"
_MARKS = re.compile("[\ue0f0-\ue0f3]")
_QUOTES = frozenset(
    ("gmail_quote", "yahoo_quoted", "protonmail_quote", "moz-forward-container", "gmail_quote_container")
)
_SIGNATURES = frozenset(("gmail_signature", "moz-signature", "protonmail_signature_block"))
_SIGNATURE_IDS = frozenset(("signature", "ms-outlook-mobile-signature"))


def said_on(
    text: str, name: str, losses: Losses, pictures: Callable[[str], Picture | None] = lambda _address: None
) -> Iterator[Said]:
    """Yield the blocks of a page, each with the depth to which it is quoted. One without contents has none.

    `pictures` returns those of the page by their addresses.
    """
    try:
        tree = parse(_MARKS.sub("", text), name, losses)
    except CorruptFileError:
        return
    for element in list(tree.iter()):
        _mark(element)
    depth = signed = 0
    for block in blocks_of(tree, Page(losses, pictures=pictures)):
        marks = _MARKS.findall(block.text) if isinstance(block, Block) else []
        if not marks:
            yield Said(_clean(block), depth, signed > 0)
            continue
        assert isinstance(block, Block)
        for piece in re.split("([\ue0f0-\ue0f3])", block.text):
            if _MARKS.fullmatch(piece):
                depth = max(0, depth + (piece == _QUOTE) - (piece == _UNQUOTE))
                signed = max(0, signed + (piece == _SIGN) - (piece == _UNSIGN))
            elif piece.strip():
                yield Said(Block(kind="paragraph", text=piece.strip()), depth, signed > 0)


def _mark(element: lxml.html.HtmlElement) -> None:
    tag = local(element)
    if tag not in ("div", "blockquote", "span", "section", "td"):
        return
    classes = set((element.get("class") or "").split())
    is_cited = tag == "blockquote" and (element.get("type") == "cite" or "cite" in element.attrib)
    if (
        is_cited
        or (classes & _QUOTES and not _holds_quote(element))
        or (tag == "blockquote" and classes & {"gmail_quote"})
    ):
        _enclose(element, _QUOTE, _UNQUOTE)
    elif classes & _SIGNATURES or (element.get("id") or "").lower() in _SIGNATURE_IDS:
        _enclose(element, _SIGN, _UNSIGN)


def _holds_quote(element: lxml.html.HtmlElement) -> bool:
    """Return whether a part holds the quote itself beside the line that says whose it is, as Gmail's does."""
    return any(local(child) == "blockquote" for child in element)


def _enclose(element: lxml.html.HtmlElement, begin: str, end: str) -> None:
    before = element.makeelement("p")
    before.text, before.tail, element.text = begin, element.text, None
    element.insert(0, before)
    after = element.makeelement("p")
    after.text = end
    element.append(after)


def _clean(block: Block | Table) -> Block | Table:
    """Return a block without marks; those within the cells of a table say nothing."""
    if isinstance(block, Block):
        return block
    rows = [[_MARKS.sub("", cell) if isinstance(cell, str) else cell for cell in row] for row in block.rows]
    return Table(
        rows=rows,
        header_rows=block.header_rows,
        header_columns=block.header_columns,
        caption=_MARKS.sub("", block.caption),
        sheet=block.sheet,
        is_hidden=block.is_hidden,
    )
