"""The title of a document, found on its first page: what is printed largest."""

from __future__ import annotations

from itertools import takewhile

import numpy as np

from docmind.documents.words import Words
from docmind.rich_text import one_line

_LINES, _LETTERS = 3, 160  # the most that a title has
_LARGER = 1.25  # times the print of most words
_EQUAL = 0.85  # of the largest print: the other lines of the same title


def printed_title(text: str, words: Words) -> str:
    """Return the largest print of a page as one line, "" where nothing stands out or reads as a title.

    `words` are those of `text`, as stored with the page.
    """
    lines = _lines(text, words)
    if not lines:
        return ""
    sizes = np.array([size for _, size, _ in lines])
    usual = np.median(np.repeat(sizes, [count for _, _, count in lines]))
    first = int(sizes.argmax())
    if sizes[first] < _LARGER * usual:
        return ""
    wanted = takewhile(lambda line: line[1] >= _EQUAL * sizes[first], lines[first : first + _LINES])
    title = one_line(" ".join(line for line, _, _ in wanted))
    letters = sum(char.isalpha() for char in title)
    is_title = letters >= 4 and letters >= 0.5 * len(title) and len(title) <= _LETTERS
    return title if is_title else ""


def _lines(text: str, words: Words) -> list[tuple[str, float, int]]:
    """Return each line with words: its text, the median height of its words in pixels, and their number."""
    found, start = [], 0
    for line in text.split("\n"):
        inside = (words.starts >= start) & (words.starts < start + len(line))
        start += len(line) + 1
        if inside.any():
            found.append((line, float(np.median(words.boxes[inside, 3])), int(inside.sum())))
    return found
