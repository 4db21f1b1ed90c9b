"""The lines of a page: runs of its text that stand beside each other on its image."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from docmind.documents.words import Words
from docmind.records.documents import Box

_LINE = re.compile(r"^[^\S\n]*+\S[^\n]*", re.MULTILINE)
_SAME_HEIGHT = 0.4  # of the lower of two words, that both must have in common to stand on one line


@dataclass(frozen=True, slots=True)
class TextLine:
    """`text[start:end]` of a page, the box around it, None where its place is not known, and OCR's certainty, 0..1."""

    start: int
    end: int
    box: Box | None
    certainty: float = 1.0


class _Word(NamedTuple):
    start: int
    end: int
    box: Box
    certainty: float


def text_lines(text: str, words: Words) -> list[TextLine]:
    """Return the lines of a page in the order of its text.

    A line ends where the text has a new line, and where the next word stands higher, lower or further left: text that
    is laid out in a paragraph has no new lines. Text without words is cut at its new lines.
    """
    found = list(_placed_lines(text, words))
    starts = [line.start for line in found]
    for match in _LINE.finditer(text):
        before = bisect_left(starts, match.end()) - 1  # the last line that begins before the end of this text
        if before < 0 or found[before].end <= match.start():
            begin = match.start() + len(match[0]) - len(match[0].lstrip())
            found.append(TextLine(begin, begin + len(match[0].strip()), None))
    return sorted(found, key=lambda line: line.start)


def _placed_lines(text: str, words: Words) -> Iterator[TextLine]:
    sure = words.certainties.tolist() if words.certainties is not None else [1.0] * len(words)
    rows = zip(words.starts.tolist(), words.ends.tolist(), words.boxes.tolist(), sure, strict=True)
    run: list[_Word] = []
    for start, end, (x, y, w, h), certain in sorted(rows, key=lambda row: row[0]):
        if end <= start or (run and start < run[-1].end):
            continue  # empty, or within the word before it
        word = _Word(start, end, Box(x, y, w, h), certain)
        if run and not _continues(text, run[-1], word):
            yield _line(run)
            run = []
        run.append(word)
    if run:
        yield _line(run)


def _continues(text: str, left: _Word, right: _Word) -> bool:
    if "\n" in text[left.end : right.start]:
        return False
    if not min(left.box.w, left.box.h, right.box.h) > 0:
        return True
    common = min(left.box.y + left.box.h, right.box.y + right.box.h) - max(left.box.y, right.box.y)
    return common > _SAME_HEIGHT * min(left.box.h, right.box.h) and right.box.x > left.box.x


def _line(run: list[_Word]) -> TextLine:
    boxes = [word.box for word in run if word.box.w > 0 and word.box.h > 0]
    return TextLine(run[0].start, run[-1].end, Box.around(boxes), min(word.certainty for word in run))
