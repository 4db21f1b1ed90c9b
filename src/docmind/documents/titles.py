"""Title and outline of a document, found by what is printed larger than the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from docmind.documents.words import Words
from docmind.records.documents import Heading
from docmind.rich_text import one_line

_LINES, _LETTERS = 3, 160  # the most that a title has
_LARGER = 1.25  # times the print of most words
_HEADING, _SECOND, _FIRST = 1.18, 1.35, 1.7  # times the print of most words: headings of levels 3, 2 and 1
_MOST = 200  # headings of an outline
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
    """Return each line with words: its text, the median height of its words in pixels, and their number.

    Words without a height are left out.
    """
    found, start = [], 0
    for line in text.split("\n"):
        inside = (words.starts >= start) & (words.starts < start + len(line)) & (words.boxes[:, 3] > 0)
        start += len(line) + 1
        if inside.any():
            found.append((line, float(np.median(words.boxes[inside, 3])), int(inside.sum())))
    return found


def outline_of(pages: Sequence[tuple[int, str, Words]]) -> tuple[Heading, ...]:
    """Return the headings of a document in order: lines in larger print than most, without those of running heads.

    `pages` are their numbers, texts and words. A heading's level counts from 1, the largest print, to 3. Where no line
    stands out the outline is empty.
    """
    lines = [(page_no, *line) for page_no, text, words in pages for line in _lines(text, words)]
    if not lines:
        return ()
    usual = float(np.median(np.repeat([size for _, _, size, _ in lines], [count for *_, count in lines])))
    large = [(page_no, one_line(line), size / usual) for page_no, line, size, _ in lines if size >= _HEADING * usual]
    lines_of = {(page_no, line) for page_no, line, _ in large}
    repeated = Counter(line for _, line in lines_of)
    numbered = Counter(text for _, text in {(page_no, _masked(line)) for page_no, line in lines_of})
    few, half = max(2, len(pages) // 20), max(2, len(pages) // 2)
    found: list[Heading] = []
    for page_no, line, size in large:
        letters = sum(char.isalpha() for char in line)
        is_text = letters >= 3 and letters >= 0.5 * len(line) and len(line) <= _LETTERS and not line.endswith(",")
        if not is_text or repeated[line] > few or numbered[_masked(line)] > half:
            continue
        level = 1 if size >= _FIRST else 2 if size >= _SECOND else 3
        last = found[-1] if found else None
        if last and last.page_no == page_no and last.level == level and line[:1].islower():  # one heading on two lines
            found[-1] = Heading(level, f"{last.text} {line}"[:_LETTERS], page_no)
        else:
            found.append(Heading(level, line, page_no))
    return tuple(found[:_MOST])


def _masked(line: str) -> str:
    return "".join(char for char in line if not char.isdigit()).strip().casefold()
