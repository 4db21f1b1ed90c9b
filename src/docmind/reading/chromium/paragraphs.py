"""Headings, paragraphs and items of a chapter, found again on the sheets on which Chromium has printed it.

The words of a block are compared by their letters and digits alone, because lines break differently on a sheet.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from docmind.blocks import Block, PageBlock, PageKind, Table
from docmind.reading.chromium.chapter import letters
from docmind.reading.formats.typeset import LINE

_KINDS: dict[str, PageKind] = {"heading": "heading", "paragraph": "paragraph", "item": "item"}
_FEWEST = 2  # letters of a block that is looked for; fewer stand anywhere
_AHEAD = 4_000  # letters that may stand before the next block: a table, and notes
_MARKER = 12  # characters of the number or bullet that a sheet shows before an item


@dataclass(frozen=True, slots=True)
class Part:
    """What a sheet has of a block: its first letter on the sheet and the one behind its last, counted from 0."""

    kind: PageKind
    level: int
    path: tuple[str, ...]
    first: int
    last: int


def parts_of(blocks: Iterable[Block | Table], sheets: Sequence[str]) -> list[list[Part]]:
    """Return the parts of each sheet that come from blocks of text, in the order of the text.

    A block that goes on over the end of a sheet has a part on each. One whose words a sheet has in another way is left
    out, and so are tables and what stands beside the text.
    """
    found: list[list[Part]] = [[] for _sheet in sheets]
    each = ["".join(letters(text)) for text in sheets]
    begins = [0, *accumulate(map(len, each))]
    said = "".join(each)
    headings: list[tuple[int, str]] = []
    begin = 0
    for block in blocks:
        kind = _KINDS.get(block.kind) if isinstance(block, Block) else None
        if not isinstance(block, Block) or kind is None or block.is_verbatim:
            continue
        if block.kind == "heading":
            headings = [one for one in headings if one[0] < block.level]
        path = tuple(title for _level, title in headings)
        if block.kind == "heading":
            headings.append((block.level, " ".join(block.text.split())))
        for row in block.text.split(LINE):
            wanted = "".join(letters(row))
            start = said.find(wanted, begin, begin + _AHEAD + len(wanted)) if len(wanted) >= _FEWEST else -1
            if start < 0:
                continue
            begin = start + len(wanted)
            for number in range(bisect_right(begins, start) - 1, bisect_left(begins, begin)):
                first, last = max(start, begins[number]), min(begin, begins[number + 1])
                if first < last:
                    part = Part(kind, block.level, path, first - begins[number], last - begins[number])
                    found[number].append(part)
    return found


def placed(parts: Sequence[Part], text: str) -> list[PageBlock]:
    """Return where the parts of a sheet stand in its text."""
    at = [place for place, char in enumerate(text) for _one in letters(char)]
    found: list[PageBlock] = []
    for part in parts:
        if part.last > len(at):
            return []  # the text has fewer letters than it had: no part is where it was
        first, last = _whole(text, at[part.first], at[part.last - 1], found[-1].end if found else 0)
        found.append(PageBlock(part.kind, first, last, part.level, part.path))
    return found


def beside(own: Sequence[PageBlock], others: Sequence[PageBlock]) -> tuple[PageBlock, ...]:
    """Return the blocks of a sheet with those of `others` that overlap none of them, in the order of the text."""
    starts = [block.start for block in own]

    def is_free(block: PageBlock) -> bool:
        at = bisect_left(starts, block.end)
        return not at or own[at - 1].end <= block.start

    return tuple(sorted([*own, *filter(is_free, others)], key=lambda block: block.start))


def _whole(text: str, first: int, last: int, begin: int) -> tuple[int, int]:
    """Return the span of words with the signs around them, and with the number or bullet that begins their line."""
    line = max(text.rfind("\n", 0, first) + 1, begin)
    start = line if first - line <= _MARKER else first
    while start > begin and not text[start - 1].isspace():
        start -= 1
    end = last + 1
    while end < len(text) and text[end] != "\n" and not text[end].isalnum():
        end += 1
    return start + len(text[start:first]) - len(text[start:first].lstrip()), start + len(text[start:end].rstrip())
