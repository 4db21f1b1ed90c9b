"""A page's text to units that can be quoted: sentences of prose, rows of tables, items of lists, lines of OCR.

Units are spans of the page's text as it stands, so a quote is verbatim by construction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 420  # characters; longer sentences are cut at a semicolon, a comma or a space
SHORTEST = 16  # `Art. 52.`, `ITEM 2.` belong to what follows
SHORT_LINE = 36  # fragments of table cells up to this long are joined, to BLOCK characters
BLOCK = 160

_SHORT_FORMS = """al approx art arts av cap cf co corp dec dep dept dr dra ed eds eg etc exc exma exmo fig figs gov
hon ie inc inciso jr lei ltd ltda mr mrs ms n no nos núm nº op p pag par pe pg pp pág prof profa reg rep res sec sen sr
sra st tel us v vol vs"""
_ABBREVIATIONS = frozenset(_SHORT_FORMS.split())
_END = re.compile(r"[.!?…](?:[\"”’»)\]]*)(?=\s+[\"“«(\[]*[A-ZÀ-Þ0-9¿¡§•–—-])")
_LAST_TOKEN = re.compile(r"([^\s.(]+)\.$")
_NUMBER = re.compile(r"\d")
_SENTENCE_ENDS = (".", "!", "?")
_BULLET = re.compile(r"^\s*(?:[•·▪●‣*–—-]\s|\(?[a-zA-Z0-9]{1,3}[.)]\s|§|[IVXLC]+\s[-–—]\s|Art\.\s)")


def units(text: str) -> list[tuple[int, int]]:
    """(start, end) of every unit, in reading order, outer white space left out."""
    found: list[tuple[int, int]] = []
    for start, end in _blocks(text):
        found += [_strip(text, a, b) for a, b in _sentences(text, start, end)]
    return [(a, b) for a, b in found if b > a]


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Lines joined to paragraphs where they run on, and cell fragments to short blocks."""
    lines = [m.span() for m in re.finditer(r"[^\n]*\S[^\n]*", text)]
    if not lines:
        return
    lengths = sorted(b - a for a, b in lines)
    full = max(45, int(0.7 * lengths[int(0.8 * (len(lengths) - 1))]))  # from here on a line looks filled
    start, end = lines[0]
    last = lines[0]
    for line in lines[1:]:
        if _runs_on(text, last, line, full) or _fragments(text, (start, end), last, line):
            end = line[1]
        else:
            yield start, end
            start, end = line
        last = line
    yield start, end


def _runs_on(text: str, line: tuple[int, int], following: tuple[int, int], full: int) -> bool:
    first, second = text[slice(*line)].rstrip(), text[slice(*following)].lstrip()
    if is_row(first) or is_row(second) or _BULLET.match(second) or first.endswith((":", ";")):
        return False
    if second[:1].islower():
        return True
    return len(first) >= full and (not first.endswith(_SENTENCE_ENDS) or len(second) >= full)


def _fragments(text: str, block: tuple[int, int], line: tuple[int, int], following: tuple[int, int]) -> bool:
    first, second = text[slice(*line)], text[slice(*following)]
    if max(len(first), len(second)) > SHORT_LINE or following[1] - block[0] > BLOCK:
        return False
    return not (is_row(first) or is_row(second))


def is_row(line: str) -> bool:
    """A table row that says something by itself: words and at least two numbers, digits no rare thing."""
    numbers = sum(bool(_NUMBER.search(word)) for word in line.split())
    letters = sum(c.isalpha() for c in line)
    return numbers >= 2 and letters >= 3 and numbers >= 0.3 * len(line.split())


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in _END.finditer(text, start, end):
        cut = match.end()
        if cut - start < SHORTEST or (text[match.start()] == "." and is_abbreviation(text[start : match.start() + 1])):
            continue
        yield from shorten(text, start, cut)
        start = cut
    yield from shorten(text, start, end)


def is_abbreviation(before: str) -> bool:
    """Whether the full stop that ends `before` belongs to its last word."""
    token = _LAST_TOKEN.search(before)
    if not token:
        return False
    word = token[1].lower()
    return (
        word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha()) or (word.isdigit() and len(before.strip()) <= 4)
    )


def shorten(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The span in pieces of at most LONGEST characters."""
    while end - start > LONGEST:
        piece = text[start : start + LONGEST]
        cut = next((at for mark in (";", ",", " ", "\n") if (at := piece.rfind(mark)) > LONGEST // 2), LONGEST - 1) + 1
        yield start, start + cut
        start += cut
    yield start, end


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
