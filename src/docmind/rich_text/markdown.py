"""Blocks of words as Markdown: only our own formatting is active, and every word is escaped.

Made for renderers that interpret more than Markdown: bare addresses, colours, icons and emoji between colons,
mathematics between dollar signs, diagrams in code. `escape` breaks such syntax; inside code, a word joiner does.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cache

from docmind.records.rich_text import Block, Break, Code, Inline, Items, Paragraph, Quote, Run, SentenceEnd, Table
from docmind.rich_text.parse import blocks_of
from docmind.rich_text.sanitize import escape, visible

_JOINER = "\u2060"
_SIDES = {"left": ":--", "right": "--:", "center": ":-:"}
_FOUND_IN_CODE = re.compile(r":(?=material/)", re.IGNORECASE)

# Every backtick that is not escaped is DocMind's own.
_SLASHES = re.compile(r"(?:(?<!`)|(?<=\\`))(`++).*?\1|\\(.)", re.DOTALL)
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_MEANT = "\n\\`*_[]<>~|$"
_AT_START = "#+-="  # headings, list items, underlines
_LINE_START = re.compile(r"(?P<marks>[\s>*+\\-]*+)(?:(?P<number>\d++)(?:[.)](?P<blanks>\s++))?)?")
_ENTITY = re.compile(r"(?:\\?#)?\w+\\?;")

Badge = Callable[[int], str]
"""Returns the Markdown to put behind the sentence of this index; may be empty."""


def markdown_of(blocks: Sequence[Block], badge: Badge) -> str:
    """Return the blocks as Markdown, with the result of `badge` at the end of each sentence."""
    return "\n".join(_lines(blocks, badge))


def draft_markdown(text: str) -> str:
    """Return what a model has written so far as Markdown; spans that are still open are closed."""
    return markdown_of(blocks_of(_closed(text)), lambda index: "")


def lean(markdown: str) -> str:
    """Return Markdown with a backslash only before a character that Markdown could interpret there.

    For files that people also read as plain text; not for Streamlit, which interprets more. Code stays as it is.
    """

    starts = [0, *(found.end() for found in re.finditer("\n", markdown))]

    @cache
    def begun(line: int) -> re.Match[str]:
        found = _LINE_START.match(markdown, starts[line])
        assert found is not None, "it may be empty"
        return found

    def slash(match: re.Match[str]) -> str:
        char = match[2]
        if not char or char in _MEANT:
            return match[0]
        at, line = match.start(), begun(bisect_right(starts, match.start()) - 1)
        is_meant = (
            (char in _AT_START and (at <= line.end("marks") or line.start("blanks") < at <= line.end("blanks")))
            or (char in ".)" and line.start("number") < at <= line.end("number"))
            or (char == "&" and _ENTITY.match(markdown, match.end()))
        )
        return match[0] if is_meant else char

    return _SLASHES.sub(slash, markdown)


def readable(markdown: str) -> str:
    """Return Markdown for people who read it as plain text: no backslash before punctuation, except in code."""
    return _SLASHES.sub(lambda slash: slash[2] if slash[2] and _PUNCTUATION.fullmatch(slash[2]) else slash[0], markdown)


def _closed(text: str) -> str:
    last = text[text.rfind("\n\n") + 1 :].replace("\\*", "").replace("\\`", "")
    if "```" in last or "~~~" in last:
        return text
    if last.count("`") % 2:
        return text + "`"
    if last.count("**") % 2:
        stem, last = text.rstrip("*"), last.rstrip("*")  # stars at the very end open nothing yet, or begin to close
        return stem + "**" if last.count("**") % 2 else stem
    return text


def _lines(blocks: Sequence[Block], badge: Badge, *, is_tight: bool = False) -> list[str]:
    """Return lines of Markdown with an empty line between blocks.

    A tight list has one only where it is needed.
    """
    lines: list[str] = []
    before: Block | None = None
    lists = 0
    for block in blocks:
        lists = lists + 1 if isinstance(before, Items) and isinstance(block, Items) else 0
        made = _block(block, badge, lists % 2)
        follows = isinstance(before, Paragraph) and isinstance(block, Items) and block.start in (None, 1)
        if before is not None and not (is_tight and follows):
            lines.append("")
        lines += made
        before = block
    return lines


def _block(block: Block, badge: Badge, other: int) -> list[str]:
    if isinstance(block, Paragraph):
        return (_line(block.inline, badge, is_strong=block.heading > 0) or _JOINER).split("\n")
    if isinstance(block, Code):
        return _code_lines(block)
    if isinstance(block, Quote):
        return [f"> {line}".rstrip(" ") for line in _lines(block.blocks, badge) or [_JOINER]]
    if isinstance(block, Items):
        return _item_lines(block, badge, other)
    if isinstance(block, Table):
        return _table_lines(block, badge)
    return ["___"]


def _code_lines(code: Code) -> list[str]:
    text = _FOUND_IN_CODE.sub(":" + _JOINER, visible(code.text))
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{code.language}", *text.split("\n"), fence]


def _item_lines(items: Items, badge: Badge, other: int) -> list[str]:
    """Return the lines of list items; `other` separates a list from the one directly before it."""
    lines: list[str] = []
    for number, item in enumerate(items.items):
        sign = "-*"[other] if items.start is None else f"{(items.start + number) % 1_000_000_000}{'.)'[other]}"
        inner = _lines(item, badge, is_tight=items.is_tight) or [_JOINER]
        if lines and not items.is_tight:
            lines.append("")
        lines.append(f"{sign} {inner[0]}")
        lines += [f"{' ' * (len(sign) + 1)}{line}".rstrip(" ") for line in inner[1:]]
    return lines


def _table_lines(table: Table, badge: Badge) -> list[str]:
    def row(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |"

    rows = [row([_line(cell, badge, in_cell=True) or _JOINER for cell in cells]) for cells in table.rows]
    return [rows[0], row([_SIDES.get(side, "---") for side in table.sides]), *rows[1:]]


# --- lines ------------------------------------------------------------------------------------------------------------


def _line(inline: Inline, badge: Badge, *, is_strong: bool = False, in_cell: bool = False) -> str:
    out = ""
    for part in inline:
        if isinstance(part, Break):
            out = out.rstrip(" ") + (" " if in_cell else "\\\n")
        elif isinstance(part, SentenceEnd):
            out = out.rstrip(" ") + badge(part.index)
        else:
            sign = "*" * (2 * (part.strong or is_strong) + part.em)
            made = _styled(part, sign, in_cell)
            out += made.lstrip(" ") if not out or out.endswith("\n") else _apart(out, made)
    return out.rstrip(" ").removesuffix("\\\n").strip(" ")


def _styled(run: Run, sign: str, in_cell: bool) -> str:
    made = _code(run.text, in_cell) if run.code else words(run.text)
    core = made.strip(" ")
    if not sign or not core:
        return made
    # To Markdown a joiner is neither space nor punctuation, so the asterisks always open and close.
    lead, trail = made[: len(made) - len(made.lstrip(" "))], made[len(made.rstrip(" ")) :]
    return f"{lead}{sign}{_JOINER}{core}{_JOINER}{sign}{trail}"


def _apart(before: str, made: str) -> str:
    return _JOINER + made if before[-1] in "*`" and made[:1] in "*`" else made


def words(text: str) -> str:
    """Return one escaped line, keeping a space at either end.

    Syntax that a neighbour could complete is broken too.
    """
    made = escape(text)
    if not made:
        return " " if text else ""
    if made[-1] in ":@" or made.lower().endswith("www"):
        made += _JOINER
    return f"{' ' if text[0].isspace() else ''}{made}{' ' if text[-1].isspace() else ''}"


def _code(text: str, in_cell: bool) -> str:
    line = " ".join(visible(text).split("\n"))
    if not line.strip() or "`" in line or (in_cell and ("|" in line or "\\" in line)):
        return words(text)
    return f"`{_FOUND_IN_CODE.sub(':' + _JOINER, line)}`"
