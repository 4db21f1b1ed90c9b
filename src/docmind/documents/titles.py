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
_HEADING, _SECOND, _FIRST = 1.2, 1.35, 1.7  # times the print of most words: headings of levels 3, 2 and 1
_WORDS, _NOT_FIRST = 14, frozenset('$€£(•–-“"☐☒')  # of a heading
_MOST = 200  # headings of an outline
_TALL, _DEEP = frozenset("bdfhklß!?'\"áàâäéèêëíìîïóòôöúùûü"), frozenset("gjpqyçQ,;()[]{}|/")
_SAME = 0.08  # of the height: boxes that differ by less have one height
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
    largest = sizes[first]
    while first and sizes[first - 1] >= _EQUAL * largest:
        first -= 1
    wanted = takewhile(lambda line: line[1] >= _EQUAL * largest, lines[first : first + _LINES])
    title = one_line(" ".join(line for line, _, _ in wanted))
    letters = sum(char.isalpha() for char in title)
    is_title = "://" not in title and letters >= 4 and letters >= 0.5 * len(title) and len(title) <= _LETTERS
    return title if is_title else ""


def _lines(text: str, words: Words) -> list[tuple[str, float, int]]:
    """Return each line with words: its text, the size of its print in pixels, and its number of words.

    Boxes of OCR have the height of their line, those of a text layer the height of the word's ink: "rooms" is then half
    as high as "Jug" in the same print, so the height is divided by the share of the print that the letters fill.
    Words without a height and words on their side are left out.
    """
    found: list[tuple[str, np.ndarray, np.ndarray]] = []
    widths, tall, letters = words.boxes[:, 2], words.boxes[:, 3], words.ends - words.starts
    is_upright = (tall > 0) & ((letters < 3) | (tall < 1.5 * widths))  # print along the margin is on its side
    start = 0
    for line in text.split("\n"):
        inside = (words.starts >= start) & (words.starts < start + len(line)) & is_upright
        start += len(line) + 1
        if inside.any():
            spans = zip(words.starts[inside], words.ends[inside], strict=True)
            shares = np.array([_share(text[begin:end]) for begin, end in spans])
            found.append((line, words.boxes[inside, 3], shares))
    mixed = [heights for _, heights, shares in found if np.ptp(shares) > 0]
    is_ink = sum(np.ptp(heights) > _SAME * heights.max() for heights in mixed) > len(mixed) / 2
    return [
        (line, float(np.median(heights / shares if is_ink else heights)), len(heights))
        for line, heights, shares in found
    ]


def _share(word: str) -> float:
    """Return how much of the height of the print a word's letters fill."""
    above = 0.72 if any(char.isupper() or char.isdigit() or char in _TALL for char in word) else 0.53
    return above + (0.21 if any(char in _DEEP for char in word) else 0.0)


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
        if not _reads_as_heading(line) or repeated[line] > few or numbered[_masked(line)] > half:
            continue
        level = 1 if size >= _FIRST else 2 if size >= _SECOND else 3
        found.append(Heading(level, line, page_no))
    return tuple(found[:_MOST])


def _reads_as_heading(line: str) -> bool:
    """Return whether a line begins as a heading does, and is not the end of a sentence or one of many words."""
    letters = sum(char.isalpha() for char in line)
    is_text = letters >= 3 and letters >= 0.5 * len(line) and len(line.split()) <= _WORDS
    return is_text and not line[0].islower() and line[0] not in _NOT_FIRST and line[-1] not in ".,;-–"


def _masked(line: str) -> str:
    return "".join(char for char in line if not char.isdigit()).strip().casefold()
