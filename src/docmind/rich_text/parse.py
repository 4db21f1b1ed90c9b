"""Text of a language model parsed into inert blocks: its formatting without its links, images and HTML.

A model can be made to repeat text of hostile documents. So a strict parser reads its Markdown and only harmless
formatting is kept: paragraphs, headings, lists, quotes, code, tables, rules, strong and emphasised words. A link
becomes its words and its host, a picture its description; HTML, references and everything else stay visible as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from docmind.records.answers import Sentence
from docmind.records.rich_text import Block, Break, Code, Inline, Items, Paragraph, Quote, Rule, Run, SentenceEnd, Table

LONGEST = 100_000
"""Number of characters that are read as Markdown; the rest is shown as plain text."""

_NESTING = 40  # containers and spans within each other, to the parser
_LISTS = 4  # lists within lists that are shown as such
_COSTLY = (("[", 1_000), ("|", 5_000), ("*", 10_000), ("_", 10_000))  # above these counts the text is shown plain
_FIRST_MARK, _LAST_MARK = 0xF0000, 0xFFFFD  # private use: one character per sentence, from here on
_MARK = re.compile(f"([{chr(_FIRST_MARK)}-{chr(_LAST_MARK)}])")
_NUMBERS = re.compile(r"(?:[ \u00a0]?\[\d{1,4}\])+")
_BREAK = re.compile(r"<br[ ]*/?>", re.IGNORECASE)
_FENCE_OR_RULE = re.compile(r"[\s>]*+(?:(?:`{3,}|~{3,})[^`]*|[\s|:=*_+-]*)")
_LANGUAGE = re.compile(
    r"(?:bash|c|cpp|css|csv|go|html|ini|java|javascript|js|json|kotlin|lua|php|python|py|r|ruby|rust|sh|sql|swift|toml|"
    r"typescript|ts|xml|yaml|yml)",
    re.IGNORECASE,
)


def blocks_of(text: str, sentences: Sequence[Sentence] = ()) -> tuple[Block, ...]:
    """Parse a model's text into blocks.

    A `SentenceEnd` replaces the `[n]` markers at the end of each sentence.

    Work and depth are bounded for any text. Nothing is left out except addresses of links, and cells beyond a table's
    head.
    """
    text = _MARK.sub("\ufffd", text)  # as long as it was: sentences are places in it
    text = _marked(text, sentences)
    if any(text.count(costly, 0, LONGEST) > limit for costly, limit in _COSTLY):
        return tuple(_plain(text))
    cut = len(text) if len(text) <= LONGEST else max(text.rfind(" ", 0, LONGEST), text.rfind("\n", 0, LONGEST), 0)
    head, rest = text[:cut], text[cut:]
    tokens = _parser().parse(head)
    if any(
        token.nesting > 0 and token.level >= _NESTING - 1 for token in tokens
    ):  # deeper ones were left out by the parser
        return tuple(_plain(text))
    return (*_blocks(SyntaxTreeNode(tokens).children, 0), *_plain(rest))


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _NESTING}).enable("table")
    # What a reference hides elsewhere in the text stays in sight, and so does an address that stands in the open.
    parser.disable(["reference", "autolink", "html_block", "html_inline"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser


# --- where sentences end ----------------------------------------------------------------------------------------------


def _marked(text: str, sentences: Sequence[Sentence]) -> str:
    """Return the text with a private-use character at the end of each sentence instead of its `[n]` markers."""
    parts: list[str] = []
    at = 0
    for index, sentence in sorted(enumerate(sentences), key=lambda each: each[1].end):
        if not 0 <= sentence.end <= len(text) or index > _LAST_MARK - _FIRST_MARK:
            continue
        numbers = _NUMBERS.match(text, sentence.end)
        place = max(at, _place(text, sentence.end))
        parts += [text[at:place], chr(_FIRST_MARK + index)]
        end = max(place, sentence.end)
        parts.append(text[place:end])
        at = max(end, numbers.end() if numbers else 0)
    return "".join((*parts, text[at:]))


def _place(text: str, end: int) -> int:
    """Return the place of a mark where it does not change the meaning of the Markdown around it."""
    while end:
        line = text.rfind("\n", 0, end) + 1
        if end - line > 200 or not _FENCE_OR_RULE.fullmatch(text, line, end):
            break
        end = max(line - 1, 0)  # a fence, a rule or a table's line of dashes: the sentence ended above it
    while end and text[end - 1] in " \t\r\n|*_":
        end -= 1
    return end


# --- blocks -----------------------------------------------------------------------------------------------------------


def _blocks(nodes: Sequence[SyntaxTreeNode], lists: int) -> Iterator[Block]:
    for node in nodes:
        if node.type in ("paragraph", "heading"):
            inline = _inline(node.children)
            yield Paragraph(inline, int(node.tag[1]) if node.type == "heading" else 0)
        elif node.type in ("fence", "code_block"):
            yield from _code(node)
        elif node.type == "blockquote":
            inner = tuple(_blocks(node.children, lists))
            yield from (Quote(inner),) if lists < _LISTS else inner
        elif node.type in ("bullet_list", "ordered_list"):
            if lists >= _LISTS:
                for item in node.children:
                    yield from _blocks(item.children, lists)
            else:
                yield _items(node, lists)
        elif node.type == "table":
            yield _table(node)
        elif node.type == "hr":
            yield Rule()


def _code(node: SyntaxTreeNode) -> Iterator[Block]:
    language = node.info.strip().split(" ")[0].lower()
    yield Code(_MARK.sub("", node.content).rstrip("\n"), language if _LANGUAGE.fullmatch(language) else "")
    if marks := _marks(node.info + node.content):
        yield Paragraph(marks)


def _items(node: SyntaxTreeNode, lists: int) -> Items:
    start = node.attrs.get("start", 1) if node.type == "ordered_list" else None
    inner = tuple(tuple(_blocks(item.children, lists + 1)) for item in node.children)
    is_tight = all(child.hidden for item in node.children for child in item.children if child.type == "paragraph")
    return Items(inner, None if start is None else int(start), is_tight)


def _table(node: SyntaxTreeNode) -> Table:
    rows = [row for part in node.children for row in part.children]
    sides = tuple(str(cell.attrs.get("style", "")).removeprefix("text-align:") for cell in rows[0].children)
    return Table(tuple(tuple(_inline(cell.children) for cell in row.children) for row in rows), sides)


def _plain(text: str) -> Iterator[Block]:
    """Return the text as paragraphs of plain characters."""
    for paragraph in re.split(r"\n[ \t]*\n", text):
        if paragraph.strip():
            lines = [tuple(_words(line, Run(""))) for line in paragraph.strip("\n").split("\n")]
            yield Paragraph(tuple(part for line in lines for part in (*line, Break()))[:-1])


# --- lines ------------------------------------------------------------------------------------------------------------


def _inline(nodes: Sequence[SyntaxTreeNode]) -> Inline:
    tokens = [token for node in nodes for token in (node.token.children or () if node.token else ())]
    return tuple(_merged(_parts(tokens)))


def _parts(tokens: Sequence[Token]) -> Iterator[Run | Break | SentenceEnd]:
    look = Run("")
    strong = em = 0
    addresses: list[tuple[str, list[str]]] = []
    for token in tokens:
        if addresses:
            addresses[-1][1].append(token.content)
        if token.type in ("strong_open", "strong_close"):
            strong += token.nesting
        elif token.type in ("em_open", "em_close"):
            em += token.nesting
        elif token.type == "link_open":
            addresses.append((str(token.attrs.get("href", "")), []))
        elif token.type == "link_close":
            address, words = addresses.pop()
            yield from _words(_whither(address, "".join(words)), look)
            yield from _marks(address + str(token.attrs.get("title", "")))
        elif token.type == "image":
            address = str(token.attrs.get("src", ""))
            told = ", ".join(part for part in (token.content, host(_MARK.sub("", address))) if part)
            yield from _words(f"(image: {told})" if told else "(image)", look)
            yield from _marks(address + str(token.attrs.get("title", "")))
        elif token.type == "code_inline":
            yield replace(look, text=_MARK.sub("", token.content), code=True)
            yield from _marks(token.content)
        elif token.type == "hardbreak":
            yield Break()
        elif token.type == "softbreak":
            yield replace(look, text=" ")
        else:
            yield from _words(token.content, look)
        look = Run("", strong > 0, em > 0)


def _words(text: str, look: Run) -> Iterator[Run | Break | SentenceEnd]:
    for part in _MARK.split(text):
        if _MARK.fullmatch(part):
            yield SentenceEnd(ord(part) - _FIRST_MARK)
        else:
            for number, piece in enumerate(_BREAK.split(part)):
                if number:
                    yield Break()
                if piece:
                    yield replace(look, text=piece)


def _marks(text: str) -> tuple[SentenceEnd, ...]:
    return tuple(SentenceEnd(ord(mark) - _FIRST_MARK) for mark in _MARK.findall(text))


def _merged(parts: Iterator[Run | Break | SentenceEnd]) -> Iterator[Run | Break | SentenceEnd]:
    """Join neighbouring runs of the same formatting."""

    def look(part: Run | Break | SentenceEnd) -> object:
        return replace(part, text="") if isinstance(part, Run) and not part.code else id(part)

    for _, group in groupby(list(parts), key=look):
        same = list(group)
        first = same[0]
        yield replace(first, text="".join(run.text for run in same)) if isinstance(first, Run) else first  # type: ignore[union-attr]


def _whither(address: str, words: str) -> str:
    """Return ` (host)` for a link, or an empty string where its words are the host already."""
    to = host(_MARK.sub("", address))
    return "" if not to or _MARK.sub("", words).strip() in (to, _MARK.sub("", address)) else f" ({to})"


def host(address: str) -> str:
    """Return the host of an address in ASCII letters, or the kind of address.

    Returns an empty string for a place in the same text.
    """
    try:
        parts = urlsplit(address.strip())
        name = parts.hostname or ""
    except ValueError:
        return "address"
    if not name:
        return f"{parts.scheme} address" if parts.scheme else ""
    if not name.isascii():
        try:
            name = name.encode("idna").decode("ascii")
        except UnicodeError:
            return "address"
    return name
