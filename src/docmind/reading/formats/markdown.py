"""Markdown as blocks of text, without its marks.

Blocks are parsed first, and then their lines one by one, so that the tokens of a long text are not kept.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from docmind.blocks import Block, BlockKind, Losses, Picture, Table
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.characters import subscript, superscript, tidy
from docmind.reading.formats.math_text import words_of_latex
from docmind.reading.formats.source_code import code_within
from docmind.reading.formats.text import decode, plain
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Upload

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_PIECE = 1_000_000  # characters that are parsed at a time: their tokens take up to 470 MB
_NESTING = 40  # blocks within each other; a deeper text is read as plain lines
_BRACKETS = 1_000  # in one block; the time to look for links grows with the square of their number
_TITLE = 50  # lines in which the heading stands that is the title
_FACTS = 200  # lines that a block of facts at the start may have

_DEFINED = re.compile(
    r"^ {0,3}\[(?!\^)([^\[\]\n]{1,200})\]:[ \t]*<?([^\s<>]{1,2000})>?"
    r"(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'|\([^)\n]*\)))?[ \t]*$",
    re.M,
)
# A picture that is written into the text, as editors do it; its letters are many, and the parser of links sees none.
_DATA = re.compile(r"(data:image/[\w.+-]{1,40});base64,[A-Za-z0-9+/=%]*")
_KEPT = re.compile(r"data:image/[\w.+-]{1,40};kept,(\d{1,9})")
_NOTE = re.compile(r"^ {0,3}\[\^([^\]\s]{1,100})\]:[ \t]*")
_MARK = re.compile(r"\[\^([^\]\s]{1,100})\]")
_TASK = re.compile(r"\[([ xX])\](?:\s+|$)")
# As pandoc: no space inside the signs, and no digit behind them, so that "$5 and $10" are prices.
_FORMULA = re.compile(r"(?<![\\$\w])\$(?![\s$])([^$\n]{0,499}[^$\s\\])\$(?![\d$])")
_TEX = re.compile(r"[\\^_{=]|^[A-Za-z]'?$")
_DISPLAY = re.compile(r"\$\$(.+?)\$\$\s*", re.S)
_ATTRIBUTES = re.compile(r"(?<![ \t])[ \t]++\{[#.][^{}\n]{0,200}\}$")  # of a heading: its anchor
_DEFINITION = re.compile(r"^ {0,3}:[ \t]+(?=\S)", re.M)
# A block of HTML whose text needs its tags: it is read as a page is.
_STRUCTURED = re.compile(
    r"<(?:table|ol|ul|dl|del|s|strike|pre|math|select|input|h[1-6])\b|\bhidden\b|display\s*:", re.I
)
_OPENING = re.compile(r"<(/?)(?:table|ol|ul|dl)\b", re.I)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_UNREAD = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|\Z)", re.S | re.I)
_TAG = re.compile(r"</?([A-Za-z][\w:-]*+)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*+)>|<[!?][^>]{0,1000}>")
_SOURCE = re.compile(r"\bsrc\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+))", re.I)
_ALT = re.compile(r"\balt\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.I)
_BLOCKS = """
p div br hr li ul ol dl dt dd table tr td th h1 h2 h3 h4 h5 h6 details summary section article blockquote pre figure
figcaption center
"""
_BLOCK_TAGS = frozenset(_BLOCKS.split())
_LOST_TAGS = {"iframe": "embedded_object", "object": "embedded_object", "embed": "embedded_object"} | dict.fromkeys(
    ("video", "audio"), "media"
)

_Links = dict[str, Any]
"""What lines refer to, as the parser of lines takes it: `references` are addresses that are defined apart from links.

Beside them `pictures` are a function from addresses to pictures, and `figures` the blocks of those seen in the lines.
"""
Pictures = Callable[[str], Picture | None]


def open_markdown(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a Markdown file. Raises `TooLargeError` or `EmptyFileError`."""
    text = decode(upload, rules)
    said, body = front_matter(text)
    losses = Losses()
    facts = facts_of(upload.name, author=said.get("author") or said.get("authors"), dated=said.get("date"))
    facts = {**facts, "title": said.get("title") or _first_heading(body)}
    return LaidOut(markdown(body, losses), facts, upload.name, rules, losses)


def markdown(text: str, losses: Losses | None = None, pictures: Pictures | None = None) -> Iterator[Block | Table]:
    """Yield headings, paragraphs, lists, tables, code, formulas, notes and figures, without their marks.

    Figures are the pictures that are written into the text, and those that `pictures` knows by their addresses.
    """
    losses = Losses() if losses is None else losses
    kept: list[str] = []

    def noted(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"{found[1]};kept,{len(kept) - 1}"

    def picture(address: str) -> Picture | None:
        found = _KEPT.fullmatch(address)
        if found is None:
            return pictures(address) if pictures is not None else None
        from docmind.reading.formats.figures import picture_at  # most texts do not wait for Pillow

        return picture_at(kept[int(found[1])]) if int(found[1]) < len(kept) else None

    text = _DATA.sub(noted, text) if ";base64," in text else text
    defined = {_key(found[1]): {"title": "", "href": found[2]} for found in _DEFINED.finditer(text)}
    links: _Links = {"pictures": picture, "figures": []} | ({"references": defined} if defined else {})
    at = 0
    while at < len(text):
        end = len(text)
        if end - at > _PIECE:
            ends = (text.rfind(mark, at + 1, at + _PIECE) for mark in ("\n\n", "\n", " "))
            end = next((end for end in ends if end > 0), at + _PIECE)
        yield from _marked_up(text[at:end], links, losses)
        at = end


@dataclass(slots=True)
class _Place:
    """Where the walk over the tokens of a text is."""

    level: int = 0  # of the heading
    marker: str | None = None  # of the item that begins
    numbers: list[int | None] = field(default_factory=list)  # of the next item of each list that is open
    rows: list[list[str]] | None = None
    heads: int = 0
    is_comment: bool = False  # whether a comment goes on behind an empty line
    note: str = ""  # the mark of the note that goes on in indented paragraphs


def _marked_up(text: str, links: _Links, losses: Losses) -> Iterator[Block | Table]:
    tokens = _parser().parse(text)
    if any(token.nesting > 0 and token.level >= _NESTING - 1 for token in tokens):  # deeper ones were left out
        yield from plain(text)
        return
    place = _Place()
    for token in _whole_blocks(tokens):
        if token.type in ("bullet_list_open", "ordered_list_open"):
            start = token.attrs.get("start", 1) if token.type == "ordered_list_open" else None
            place.numbers.append(int(start) if start is not None else None)
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            place.numbers.pop()
        elif token.type == "list_item_open":
            place.marker = _marker(token, place)
        elif token.type == "list_item_close":
            place.marker = None
        elif token.type in ("paragraph_open", "heading_open"):
            place.level = 0 if token.tag == "p" else int(token.tag[1:])
        elif place.rows is not None or token.type == "table_open":
            yield from _in_table(token, place, links, losses)
        else:
            yield from _content(token, place, links, losses)
            yield from _figures(links)


def _whole_blocks(tokens: list[Token]) -> Iterator[Token]:
    """Yield tokens; blocks of HTML that an empty line within a table or list parted are one."""
    held: Token | None = None
    is_open = 0
    for token in tokens:
        if held is not None and is_open > 0 and token.type == "html_block":
            held.meta["more"].append(token.content)
        else:
            if held is not None:
                yield _whole(held)
            held = None
            if token.type != "html_block":
                yield token
                continue
            held, is_open = token, 0
            held.meta["more"] = [token.content]
        is_open += sum(-1 if found[1] else 1 for found in _OPENING.finditer(token.content))
    if held is not None:
        yield _whole(held)


def _whole(token: Token) -> Token:
    token.content = "\n\n".join(token.meta["more"])
    return token


def _marker(token: Token, place: _Place) -> str:
    """Return what stands before an item: its number counted from that of the first one, or a bullet."""
    outer = place.marker + " " if place.marker and place.marker != "•" else ""
    number = place.numbers[-1]
    if number is None:
        return f"{outer}•"
    place.numbers[-1] = number + 1
    return f"{outer}{number}{token.markup}"


def _in_table(token: Token, place: _Place, links: _Links, losses: Losses) -> Iterator[Block | Table]:
    if token.type == "table_open":
        place.rows = []
    elif token.type == "table_close" and place.rows is not None:
        yield Table(rows=place.rows, header_rows=1)
        yield from _figures(links)
        place.rows = None
    elif token.type == "tr_open" and place.rows is not None:
        place.rows.append([])
    elif token.type == "inline" and place.rows is not None:
        place.rows[-1].append(" ".join(_inline(token.content, links, losses).split()))


def _content(token: Token, place: _Place, links: _Links, losses: Losses) -> Iterator[Block | Table]:
    if place.is_comment and token.type in ("inline", "html_block"):
        _comment, end, token.content = token.content.partition("-->")
        if not end:
            return
        place.is_comment = False
    if token.type in ("fence", "code_block"):
        note_goes_on = token.type == "code_block" and place.note
        if note_goes_on:
            yield Block(kind="footnote", text=_inline(token.content, links, losses))
        else:
            language = token.info.strip().split(" ")[0].strip("{}.").lower()
            is_formula = language in ("math", "latex-math")
            yield _equation(token.content) if is_formula else code_within(token.content, language)
        place.marker = None
    elif token.type == "html_block":
        place.is_comment = token.content.rfind("<!--") > token.content.rfind("-->")
        if _STRUCTURED.search(token.content):
            yield from _page(token.content, losses, links["pictures"])
            return
        for piece in re.split(r"\n\s*\n", _without_tags(token.content, losses, links, is_block=True)):
            if not piece.strip():
                continue
            if not _is_said_by(links["figures"], piece):
                yield Block(kind="paragraph", text=piece)
            yield from _figures(links, piece)
    elif token.type == "inline":
        yield from _lines(token.content, place, links, losses)
        place.marker = None
    if token.type in ("fence", "inline", "heading_open", "html_block"):
        place.note = "" if token.type != "inline" else place.note


def _figures(links: _Links, said: str = "") -> Iterator[Block]:
    """Yield the pictures seen in the lines since; what they say stays with them where the lines say nothing else."""
    figures: list[Block] = links["figures"]
    found, figures[:] = list(figures), []
    yield from found if _is_said_by(found, said) else (replace(one, text="") for one in found)


def _is_said_by(figures: Sequence[Block], said: str) -> bool:
    return bool(figures) and " ".join(one.text for one in figures).split() == said.split()


def _page(text: str, losses: Losses, pictures: Pictures = lambda _address: None) -> Iterator[Block | Table]:
    """Yield a block of HTML as a page has it: its table, its list with the numbers, without what is hidden."""
    from docmind.reading.formats.html import blocks_of, parse  # most texts do not wait for lxml
    from docmind.reading.formats.markup import Page

    if "<img" in text.lower() or _TAG.sub("", _UNREAD.sub("", _COMMENT.sub("", text))).strip():
        yield from blocks_of(parse(text, ""), Page(losses, pictures=pictures))


def _lines(content: str, place: _Place, links: _Links, losses: Losses) -> Iterator[Block]:
    """Yield one block of a paragraph, heading or item; formulas that stand by themselves and notes are blocks apart."""
    if not place.level:
        content = _DEFINED.sub("", content)
        if not content.strip():
            return
        if "[^" in content and _NOTE.match(content):
            yield from _notes(content, place, links, losses)
            return
        if "\n" in content and not content.startswith(":") and _DEFINITION.search(content):
            terms, *said = _DEFINITION.split(content)
            name = ", ".join(filter(None, (_inline(term, links, losses) for term in terms.split("\n"))))
            for text in said:
                yield Block(kind="item", text=f"{name}: {_inline(text, links, losses)}")
            return
    else:
        content = _ATTRIBUTES.sub("", content)
    at = 0
    for found in _DISPLAY.finditer(content) if "$$" in content else ():
        yield from _text(content[at : found.start()], place, links, losses)
        yield _equation(found[1])
        at = found.end()
    yield from _text(content[at:], place, links, losses)


def _text(content: str, place: _Place, links: _Links, losses: Losses) -> Iterator[Block]:
    marker, place.marker = place.marker, None
    if marker is not None and (task := _TASK.match(content)):
        content = content[task.end() :]
        box = "☐" if task[1] == " " else "☒"
        marker = box if marker == "•" else f"{marker} {box}"
    text = _inline(content, links, losses)
    if not place.level and _is_said_by(links["figures"], text):
        yield from _figures(links, text)
        return
    if not text.strip():
        place.marker = marker if not content.strip() else None
        return
    kind: BlockKind = "heading" if place.level else "item" if marker is not None else "paragraph"
    level = place.level or (max(len(place.numbers) - 1, 0) if kind == "item" else 0)
    marker = "" if kind == "heading" and marker == "•" else marker
    yield Block(kind=kind, text=text, marker=marker or "", level=level)


def _notes(content: str, place: _Place, links: _Links, losses: Losses) -> Iterator[Block]:
    """Yield the notes that are defined line by line."""
    block: Block | None = None
    for line in content.split("\n"):
        found = _NOTE.match(line)
        if found:
            if block is not None:
                yield replace(block, text=_inline(block.text, links, losses))
            block = Block(kind="footnote", text=line[found.end() :], marker=f"[{found[1]}]")
        elif block is not None:
            block = replace(block, text=f"{block.text}\n{line}")
    if block is not None:
        place.note = block.marker
        yield replace(block, text=_inline(block.text, links, losses))


def _equation(latex: str) -> Block:
    latex = " ".join(latex.split())
    return Block(kind="equation", text=tidy(words_of_latex(latex)), latex=latex)


@cache
def _parser() -> MarkdownIt:
    """Return a parser of blocks: lines are parsed one by one, so that their tokens are not kept."""
    from markdown_it import MarkdownIt  # source code and web pages do not wait for it

    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": _NESTING}).enable(["table", "strikethrough"])
    parser.disable(["reference", "inline", "text_join"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser


def _key(label: str) -> str:
    return " ".join(label.split()).lower().upper()  # as the parser writes it


def _inline(text: str, links: _Links, losses: Losses) -> str:
    """Return the words of a line.

    The address of a link stays, because it may be searched for.
    """
    if "$" in text:
        text = _FORMULA.sub(_formula, text)
    if text.count("[") > _BRACKETS:
        return text
    words: list[str] = []
    tokens: list[Token] = []
    _parser().inline.parse(_MARK.sub(r"\[\1\]", text) if "[^" in text else text, _parser(), links, tokens)
    starts: list[tuple[int, str]] = []
    raised: list[tuple[str, int]] = []
    for token in tokens:
        if token.type == "link_open":
            starts.append((len(words), str(token.attrs["href"])))
        elif token.type == "link_close":
            start, address = starts.pop()
            said = "".join(words[start:])
            words += [] if said in (address, address.removeprefix("mailto:")) else [f" ({address})"]
        elif token.type == "image":
            words.append(_pictured(token.content, str(token.attrs["src"]), links, losses))
        elif token.type in ("s_open", "s_close"):
            words.append("~~")  # what is struck out is not taken for what holds
        elif token.type == "html_inline":
            _tag(token.content, words, raised, links, losses)
        else:
            words.append(" " if token.type in ("softbreak", "hardbreak") else token.content)
    return " ".join(tidy("".join(words)).split())


def _pictured(alternative: str, address: str, links: _Links, losses: Losses) -> str:
    """Return what a picture says: its alternative text, and its address unless the picture itself is at hand."""
    picture: Picture | None = links["pictures"](address)
    if picture is not None:
        links["figures"].append(Block(kind="figure", text=" ".join(alternative.split()), picture=picture))
        return alternative
    if address.startswith(("data:", "attachment:")):
        if not alternative.strip():
            losses.note("picture")
        return alternative
    return alternative if alternative == address else f"{alternative} ({address})"


def _formula(found: re.Match[str]) -> str:
    """Return a formula in the line as words that have no marks of Markdown in them."""
    if not _TEX.search(found[1]):
        return found[0]
    return re.sub(r"([\\`*_{}\[\]<>&])", r"\\\1", words_of_latex(found[1]))


def _tag(tag: str, words: list[str], raised: list[tuple[str, int]], links: _Links, losses: Losses) -> None:
    """Take an inline tag: only its text is shown, and that of `sub` and `sup` as on a page."""
    found = _TAG.fullmatch(tag)
    name = (found[1] or "").lower() if found else ""
    if name in ("sub", "sup") and not tag.startswith("</"):
        raised.append((name, len(words)))
    elif name in ("sub", "sup") and raised and raised[-1][0] == name:
        _name, start = raised.pop()
        said = "".join(words[start:])
        before = next((word for word in reversed(words[:start]) if word), "")
        words[start:] = [(superscript if name == "sup" else subscript)(said, before)]
    else:
        words.append(_shown_of(tag, links, losses))


def _shown_of(tag: str, links: _Links, losses: Losses) -> str:
    """Return what a tag itself shows: a line break, or the alternative text of a picture."""
    found = _TAG.fullmatch(tag)
    name = (found[1] or "").lower() if found else ""
    if name == "img" and found is not None:
        alternative = _ALT.search(found[2])
        said = html.unescape((alternative[1] or alternative[2] or "") if alternative else "")
        source = _SOURCE.search(found[2])
        picture: Picture | None = links["pictures"](source[1] or source[2] or source[3] or "") if source else None
        if picture is not None:
            links["figures"].append(Block(kind="figure", text=" ".join(said.split()), picture=picture))
        elif not said:
            losses.note("picture")
        return said
    if name in _LOST_TAGS and not tag.startswith("</"):
        losses.note(_LOST_TAGS[name])  # pyright: ignore[reportArgumentType]
    return " " if name in _BLOCK_TAGS else ""


def _without_tags(text: str, losses: Losses, links: _Links, *, is_block: bool) -> str:
    """Return the text of a block of HTML: its comments, scripts and tags are left out."""
    text = _UNREAD.sub("", _COMMENT.sub("", text))

    def shown(found: re.Match[str]) -> str:
        said = _shown_of(found[0], links, losses)
        return "\n\n" if said == " " and is_block and (found[1] or "").lower() != "td" else said

    return tidy(html.unescape(_TAG.sub(shown, text)))


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the plain values of a block at the start, and the text after it.

    The block has `name: value` between lines `---`, or `name = value` between lines `+++`.
    """
    lines = text.split("\n", _FACTS)
    fence = lines[0].strip("\ufeff \t\r")
    if fence not in ("---", "+++"):
        return {}, text
    sign = ":" if fence == "---" else "="
    said: dict[str, str] = {}
    name = ""
    for number, line in enumerate(lines[1:_FACTS], 2):
        if line.rstrip() in (fence, "..."):
            return (said, "\n".join(lines[number:])) if said or number == 2 else ({}, text)
        if line[:1].isspace() or line.startswith("-"):  # a value that goes on, or one of several
            value = line.strip().lstrip("- ").strip().strip("\"'[]")
            if name and value:
                said[name] = f"{said[name]}, {value}" if said[name] else value
            continue
        name, colon, value = (part.strip() for part in line.partition(sign))
        if not colon and name and not name.startswith(("#", "[")):
            return {}, text  # a rule above text, and no facts
        name = name.lower()
        said.setdefault(name, value.strip("\"'[]|>"))
    return {}, text


def _first_heading(text: str) -> str:
    head = "\n".join(text.splitlines()[:_TITLE])
    return next((block.text for block in markdown(head) if isinstance(block, Block) and block.kind == "heading"), "")
