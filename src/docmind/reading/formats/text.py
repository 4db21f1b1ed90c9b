"""Plain text, Markdown and source code.

A file is decoded by its byte order mark, then as UTF-8, then by a guess.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from docmind.blocks import Block, BlockKind, Table
from docmind.errors import TooLargeError
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.typeset import LaidOut, printable
from docmind.records.documents import Upload
from docmind.wording import _, number_text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 256 * 1024
_SHORT = 1_000  # bytes; a guess on less is worse than the most common encoding of western Europe
_WESTERN = "cp1252"


def decode(upload: Upload, rules: Rules) -> str:
    """Return the text of a plain text file. Raises `TooLargeError` above `max_text_mb`."""
    if len(upload.data) > rules.max_text_mb * 1024 * 1024:
        size = len(upload.data) / 1024 / 1024
        raise TooLargeError(
            _("{name} holds {size} MB of text; the limit is {max_text_mb} MB.").format(
                name=upload.name, size=number_text(size, 0), max_text_mb=rules.max_text_mb
            ),
            hint=_("Split the file, or raise DOCMIND_READING__MAX_TEXT_MB."),
        )
    return printable(upload.data.decode(encoding_of(upload.data), "replace"))


def encoding_of(data: bytes) -> str:
    """Return the name of the encoding of a text."""
    for mark, name in _BOMS:
        if data.startswith(mark):
            return name
    sample = data[:_SAMPLE]
    if sample.count(0) > 0.2 * len(sample):
        return "utf-16-le" if sample[1::2].count(0) > sample[::2].count(0) else "utf-16-be"
    try:
        data.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError as error:
        # One torn character at the very end of a file that is UTF-8 otherwise was cut off, not encoded differently.
        if error.start >= len(data) - 3 and error.start > 0:
            return "utf-8"
    high = sum(byte > 0x7F for byte in sample) / len(sample)
    if len(data) < _SHORT and high < 0.2:
        return _WESTERN
    return _guess(sample)


def _guess(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(sample).best()
    return best.encoding if best is not None else _WESTERN


_ALIGNED = re.compile(r"\S(?: {3,}|\t+)\S")
_PIECE = 1_000_000  # characters of Markdown that are parsed at a time: their tokens take up to 470 MB
_NESTING = 40  # blocks within each other; a deeper text is read as plain lines
_BRACKETS = 1_000  # in one block; the time to look for links grows with the square of their number
_TITLE = 50  # lines in which the heading stands that is the title


def open_text(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a text file of one of the three kinds. Raises `TooLargeError` or `EmptyFileError`."""
    text = decode(upload, rules)
    blocks = {"txt": plain, "markdown": markdown, "code": code}[kind](text)
    said, body = _front_matter(text) if kind == "markdown" else ({}, "")
    facts = facts_of(upload.name, author=said.get("author"), dated=said.get("date"))
    facts = {**facts, "title": said.get("title") or _first_heading(body)}
    return LaidOut(blocks, facts, upload.name, rules)


def plain(text: str) -> Iterator[Block | Table]:
    """Yield paragraphs line by line; where spaces align columns, the lines stay as they are."""
    lines = text.splitlines()
    aligned = sum(bool(_ALIGNED.search(line)) for line in lines[:2_000])
    if aligned >= 0.1 * min(len(lines), 2_000):
        yield Block(kind="paragraph", text=text, is_verbatim=True)
        return
    for line in lines:
        yield Block(kind="paragraph", text=line)


def code(text: str) -> Iterator[Block | Table]:
    """Yield lines verbatim, because their spaces have meaning."""
    yield Block(kind="code", text=text)


def markdown(text: str) -> Iterator[Block | Table]:
    """Yield headings, paragraphs, lists, tables and code, without their marks. HTML stays as it is."""
    at = 0
    while len(text) - at > _PIECE:
        ends = (text.rfind(mark, at + 1, at + _PIECE) for mark in ("\n\n", "\n", " "))
        end = next((end for end in ends if end > 0), at + _PIECE)
        yield from _marked_up(text[at:end])
        at = end
    yield from _marked_up(text[at:])


def _marked_up(text: str) -> Iterator[Block | Table]:
    tokens = _parser().parse(text)
    if any(token.nesting > 0 and token.level >= _NESTING - 1 for token in tokens):  # deeper ones were left out
        yield from plain(text)
        return
    bullet, level = "", 0
    rows: list[list[str]] | None = None
    for token in tokens:
        if token.type in ("fence", "code_block"):
            yield Block(kind="code", text=token.content, language=token.info.split(" ")[0])
        elif token.type == "list_item_open":
            bullet = f"{token.info}{token.markup} " if token.info else "• "
        elif token.type in ("paragraph_open", "heading_open"):
            level = 0 if token.tag == "p" else int(token.tag[1:])
        elif token.type == "table_open":
            rows = []
        elif token.type == "table_close" and rows is not None:
            yield Table(rows=rows, header_rows=1)
            rows = None
        elif token.type == "tr_open" and rows is not None:
            rows.append([])
        elif token.type == "inline" and rows is not None:
            rows[-1].append(_inline(token.content))
        elif token.type == "inline":
            kind: BlockKind = "heading" if level else "item" if bullet else "paragraph"
            yield Block(kind=kind, text=_inline(token.content), marker=bullet.strip(), level=level)
        if token.type in ("inline", "fence", "code_block", "list_item_close"):
            bullet = ""


@cache
def _parser() -> MarkdownIt:
    """Return a parser of blocks: lines are parsed one by one, so that their tokens are not kept."""
    from markdown_it import MarkdownIt  # source code and web pages do not wait for it

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING}).enable(["table", "strikethrough"])
    parser.disable(["reference", "autolink", "html_block", "html_inline", "inline", "text_join"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser


def _inline(text: str) -> str:
    """Return the words of a line.

    The address of a link stays, because it may be searched for.
    """
    if text.count("[") > _BRACKETS:
        return text
    words: list[str] = []
    links: list[tuple[int, str]] = []
    tokens: list[Token] = []
    _parser().inline.parse(text, _parser(), {}, tokens)
    for token in tokens:
        if token.type == "link_open":
            links.append((len(words), str(token.attrs["href"])))
        elif token.type == "link_close":
            start, address = links.pop()
            words += [] if "".join(words[start:]) == address else [f" ({address})"]
        elif token.type == "image":
            words.append(
                token.content if token.content == token.attrs["src"] else f"{token.content} ({token.attrs['src']})"
            )
        else:
            words.append(" " if token.type in ("softbreak", "hardbreak") else token.content)
    return "".join(words)


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the plain values of a block of `name: value` between lines `---` at the start, and the text after it."""
    lines = text.split("\n", _TITLE)
    if lines[0].rstrip() != "---":
        return {}, text
    said: dict[str, str] = {}
    for number, line in enumerate(lines[1:_TITLE], 2):
        if line.rstrip() in ("---", "..."):
            return said, "\n".join(lines[number:])
        name, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            said.setdefault(name.strip().lower(), value.strip().strip("\"'[]"))
    return {}, text


def _first_heading(text: str) -> str:
    head = "\n".join(text.splitlines()[:_TITLE])
    return next((block.text for block in markdown(head) if isinstance(block, Block) and block.kind == "heading"), "")
