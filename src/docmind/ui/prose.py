"""Answers as Markdown for Streamlit: only shapes of our own making are live, every word is escaped.

Streamlit gives a meaning to more than Markdown: colours, icons and emoji between colons, mathematics between dollar
signs, bare addresses, diagrams in code. What it looks for is taken apart by `escape`, and inside code by a word joiner.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from docmind.escape import escape, visible
from docmind.prose import Block, Break, Code, Inline, Items, Mark, Paragraph, Quote, Run, Table, blocks_of
from docmind.schema import Answer

_JOINER = "\u2060"
_MARKER = re.compile(r"(\[\d+\])")
_UNSUPPORTED, _UNSUPPORTED_AGAIN = "not found in your documents", "not found"
_SIDES = {"left": ":--", "right": "--:", "center": ":-:"}
_FOUND_IN_CODE = re.compile(r":(?=material/)", re.IGNORECASE)

Badge = Callable[[int], str]


def answer_markdown(answer: Answer) -> str:
    """The answer with a badge for each source behind its sentence; what no page supports is marked as such.

    Quotes (an answer that no model wrote) are shown as plain text around their `[n]` markers.
    """
    if not answer.model:
        return _quotes_markdown(answer)
    numbers = {source.n for source in answer.sources}
    told: list[int] = []

    def badge(index: int) -> str:
        sentence = answer.sentences[index]
        cited = [number for number in sentence.sources if number in numbers]
        if sentence.supported and cited:
            return "".join(_number(number) for number in cited)
        if sentence.is_claim:
            told.append(index)
            return f"\u00a0:orange-badge[{_UNSUPPORTED if len(told) == 1 else _UNSUPPORTED_AGAIN}]"
        return ""

    return _markdown(blocks_of(answer.answer, answer.sentences), badge)


def streaming_markdown(text: str) -> str:
    """What a model wrote so far, cut off anywhere: spans that it will still close look as if they were closed."""
    return _markdown(blocks_of(_closed(text)), lambda index: "")


def _quotes_markdown(answer: Answer) -> str:
    numbers = {f"[{source.n}]": source.n for source in answer.sources}
    paragraphs = []
    for paragraph in answer.answer.split("\n\n"):
        out = ""
        for part in _MARKER.split(paragraph):
            out = out.rstrip(" ") + _number(numbers[part]) if part in numbers else out + _text(part)
        paragraphs.append(out.strip(" "))
    return "\n\n".join(paragraphs)


def _number(number: int) -> str:
    return f"\u00a0:green-badge[{number}]"


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


# --- blocks -----------------------------------------------------------------------------------------------------------


def _markdown(blocks: Sequence[Block], badge: Badge) -> str:
    return "\n".join(_lines(blocks, badge))


def _lines(blocks: Sequence[Block], badge: Badge, *, is_tight: bool = False) -> list[str]:
    """Lines of Markdown, with an empty one between blocks; in a tight list only where it is needed."""
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
    """`other` sets a list off from the one right before it."""
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
        elif isinstance(part, Mark):
            out = out.rstrip(" ") + badge(part.index)
        else:
            sign = "*" * (2 * (part.strong or is_strong) + part.em)
            made = _styled(part, sign, in_cell)
            out += made.lstrip(" ") if not out or out.endswith("\n") else _apart(out, made)
    return out.rstrip(" ").removesuffix("\\\n").strip(" ")


def _styled(run: Run, sign: str, in_cell: bool) -> str:
    made = _code(run.text, in_cell) if run.code else _text(run.text)
    words = made.strip(" ")
    if not sign or not words:
        return made
    # A joiner is neither space nor punctuation to Markdown, so that the stars always open and close.
    lead, trail = made[: len(made) - len(made.lstrip(" "))], made[len(made.rstrip(" ")) :]
    return f"{lead}{sign}{_JOINER}{words}{_JOINER}{sign}{trail}"


def _apart(before: str, made: str) -> str:
    return _JOINER + made if before[-1] in "*`" and made[:1] in "*`" else made


def _text(text: str) -> str:
    """Escaped, with a space kept at either end; what a neighbour could complete is taken apart too."""
    made = escape(text)
    if not made:
        return " " if text else ""
    if made[-1] in ":@" or made.lower().endswith("www"):
        made += _JOINER
    return f"{' ' if text[0].isspace() else ''}{made}{' ' if text[-1].isspace() else ''}"


def _code(text: str, in_cell: bool) -> str:
    words = " ".join(visible(text).split("\n"))
    if not words.strip() or "`" in words or (in_cell and ("|" in words or "\\" in words)):
        return _text(text)
    return f"`{_FOUND_IN_CODE.sub(':' + _JOINER, words)}`"
