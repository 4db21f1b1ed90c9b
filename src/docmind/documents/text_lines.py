"""The lines of a page: runs of its text that stand beside each other on its image."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from docmind.documents.words import Words
from docmind.records.documents import Box

_LINE = re.compile(r"[^\n]*[^\s][^\n]*")
_SAME_HEIGHT = 0.4  # of the lower of two words, that both must have in common to stand on one line


@dataclass(frozen=True, slots=True)
class TextLine:
    """`text[start:end]` of a page, the box around it, None where its place is not known, and OCR's certainty, 0..1."""

    start: int
    end: int
    box: Box | None
    certainty: float = 1.0


def text_lines(text: str, words: Words) -> list[TextLine]:
    """Return the lines of a page in the order of its text.

    A line ends where the text has a new line, and where the next word stands higher, lower or further left: text that
    is laid out in a paragraph has no new lines. Text without words is cut at its new lines.
    """
    found = list(_placed_lines(text, words))
    ends = np.array([line.end for line in found], np.int64)
    starts = np.array([line.start for line in found], np.int64)
    for match in _LINE.finditer(text):
        if not np.any((starts < match.end()) & (ends > match.start())):
            begin = match.start() + len(match[0]) - len(match[0].lstrip())
            found.append(TextLine(begin, begin + len(match[0].strip()), None))
    return sorted(found, key=lambda line: line.start)


def _placed_lines(text: str, words: Words) -> Iterator[TextLine]:
    run: list[int] = []
    for index in map(int, np.argsort(words.starts, kind="stable")):
        if int(words.ends[index]) <= int(words.starts[index]) or (run and words.starts[index] < words.ends[run[-1]]):
            continue  # empty, or within the word before it
        if run and not _continues(text, words, run[-1], index):
            yield _line(words, run)
            run = []
        run.append(index)
    if run:
        yield _line(words, run)


def _continues(text: str, words: Words, left: int, right: int) -> bool:
    if "\n" in text[int(words.ends[left]) : int(words.starts[right])]:
        return False
    x, y, w, h = words.boxes[left]
    next_x, next_y, _, next_h = words.boxes[right]
    if not min(w, h, next_h) > 0:
        return True
    common = min(y + h, next_y + next_h) - max(y, next_y)
    return bool(common > _SAME_HEIGHT * min(h, next_h) and next_x > x)


def _line(words: Words, run: list[int]) -> TextLine:
    boxes = [Box(*map(float, box)) for box in words.boxes[run] if box[2] > 0 and box[3] > 0]
    sure = 1.0 if words.certainties is None else float(words.certainties[run].min(initial=1.0))
    return TextLine(int(words.starts[run[0]]), int(words.ends[run[-1]]), Box.around(boxes), sure)
