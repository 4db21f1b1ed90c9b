"""Segmentation of a page's text to units that can be quoted: sentences, table rows, list items, lines of OCR.

Units are spans of the unchanged page text, so a quote is always verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from docmind.documents import language_of
from docmind.embedding import sentence_ends
from docmind.language import MONTHS_IN_PROSE, STOP_WORDS, fold

LONGEST = 420  # characters; longer sentences are cut at a semicolon, a comma or a space
SHORTEST = 16  # `Art. 52.`, `ITEM 2.` belong to the next sentence
_LABEL = 4  # words
SHORT_LINE = 36  # fragments of table cells up to this long are joined, to BLOCK characters
BLOCK = 160

_NUMBER = re.compile(r"\d")
_DAY, _WORD = re.compile(r"(?<!\d)\d{1,2}\.$"), re.compile(r"(?<!\s)\s*([^\W\d_]+)")
_SENTENCE_ENDS = (".", "!", "?")
BULLET = re.compile(  # `(FDA) rules` and `U. S. courts` go on a sentence
    r"^\s*(?:[•·▪●‣☐☑☒*–—-]\s|\(?(?:\d{1,3}[a-zA-Z]?|[a-zA-Z]\d?|[ivxlc]{2,5}|[IVXLC]{2,5})[.)]\s(?![A-Z]\.)|§|[IVXLC]+\s[-–—]\s|"
    r"Art\.\s)"
)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_LEANS = _set(  # words that point to the sentence before
    """it this that these those he she they such but however also therefore thus and or ele ela eles elas este esta
    estes estas esse essa esses essas isto isso aquilo mas porém também portanto assim e esto estos ese esa esos esas
    eso ella ellos ellas él ello pero además también asimismo por y"""
)
_LEANS_IN = {  # pronouns, demonstratives and connectives that are other words in other languages
    "de": _set(
        """er sie es dies diese dieser dieses diesem diesen jene jener jenes damit dazu dabei davon dafür dagegen daran
        darauf darin darüber daher darum deshalb deswegen dadurch danach aber jedoch auch außerdem zudem ebenso so und
        oder"""
    ),
    "fr": _set(
        """il elle ils elles ce cela ceci cet cette ces celui celle ceux celles mais cependant toutefois aussi donc
        ainsi et ou"""
    ),
    "it": _set(
        """egli lui lei loro essa essi esso ella ciò questo questa questi queste quello quella quelli quelle ma però
        anche inoltre quindi perciò così o"""
    ),
}


def units(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of every unit, in reading order, without outer white space."""
    found: list[tuple[int, int]] = []
    for start, end in _blocks(text):
        found += sentences(text, start, end, LONGEST)
    return [(a, b) for a, b in found if b > a]


def sentences(text: str, start: int, end: int, longest: int) -> list[tuple[int, int]]:
    """Return the sentences of a paragraph without outer white space; those above `longest` characters are cut."""
    return [_strip(text, a, b) for a, b in _sentences(text, start, end, longest)]


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Join lines to paragraphs where they continue, and cell fragments to short blocks."""
    lines = [m.span() for m in re.finditer(r"[^\n]+", text) if not m.group().isspace()]
    if not lines:
        return
    lengths = sorted(b - a for a, b in lines)
    full = max(45, int(0.7 * lengths[int(0.8 * (len(lengths) - 1))]))  # from this length on a line counts as full
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
    if dangles(first) and not is_row(first) and not BULLET.match(second):
        return True  # also where the next line has a date and looks like a row
    if is_row(first) or is_row(second) or BULLET.match(second) or first.endswith((":", ";")):
        return False
    if second[:1].islower():
        return True
    return len(first) >= full and (not first.endswith(_SENTENCE_ENDS) or len(second) >= full)


def _fragments(text: str, block: tuple[int, int], line: tuple[int, int], following: tuple[int, int]) -> bool:
    first, second = text[slice(*line)], text[slice(*following)]
    if max(len(first), len(second)) > SHORT_LINE or following[1] - block[0] > BLOCK:
        return False
    return not (is_row(first) or is_row(second))


def dangles(line: str) -> bool:
    """Return whether a line ends in a word that needs another one, such as "in" or "the"."""
    return line.rpartition(" ")[2].lower() in STOP_WORDS


def leans(text: str, page: str = "") -> bool:
    """Return whether a sentence begins with a word that points to the one before it.

    `page` is the text around it, by which its language is known.
    """
    first, *_others = text.lstrip("“\"'(—–- ").split(None, 1) or ("",)
    word = first.strip(",;:.").casefold()
    if word in _LEANS or not any(word in others for others in _LEANS_IN.values()):
        return word in _LEANS
    return word in _LEANS_IN.get(language_of(page or text), ())


def is_row(line: str) -> bool:
    """Return whether a line is a table row with its own statement: words, two or more numbers, enough digits."""
    numbers = sum(bool(_NUMBER.search(word)) for word in line.split())
    letters = sum(c.isalpha() for c in line)
    return numbers >= 2 and letters >= 3 and numbers >= 0.3 * len(line.split())


def ends(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the ends of the sentences of a paragraph; the stop of a German day, as in `1. Februar`, is none."""
    for cut in sentence_ends(text, start, end):
        day = _DAY.search(text, max(start, cut - 4), cut)
        behind = _WORD.match(text, cut, end) if day is not None else None
        if behind is None or fold(behind[1].lower()) not in MONTHS_IN_PROSE:
            yield cut


def _sentences(text: str, start: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    for cut in ends(text, start, end):
        if cut - start < SHORTEST or _is_label(text[start:cut]):
            continue
        yield from shorten(text, start, cut, longest)
        start = cut
    yield from shorten(text, start, end, longest)


def _is_label(said: str) -> bool:
    """Return whether a few words in capitals, such as `THIRTY-SECOND.`, number or name what follows."""
    return said.isupper() and len(said.split()) <= _LABEL


def shorten(text: str, start: int, end: int, longest: int = LONGEST) -> Iterator[tuple[int, int]]:
    """Split the span into pieces of at most `longest` characters."""
    while end - start > longest:
        piece = text[start : start + longest]
        cut = next((at for mark in (";", ",", " ", "\n") if (at := piece.rfind(mark)) > longest // 2), longest - 1) + 1
        yield start, start + cut
        start += cut
    yield start, end


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
