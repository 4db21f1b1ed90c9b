"""Raised and lowered characters of a text layer, known by their size and their baseline beside those of their line.

Only words with digits are looked at: a raised or lowered letter changes no number. What a person does not see, such as
the text that a program has recognized on a scan, is left as it is: its sizes and places are guesses.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import zip_longest
from typing import Literal, NamedTuple

import numpy as np
import pypdfium2.raw as pdfium

from docmind.reading.formats.pdf.exponents import index, meaning
from docmind.reading.formats.pdf.native import get_matrix, get_size, native

# Word raises by a third of the size and sets 2/3 of it, LibreOffice 1/3 and 0.58, TeX 0.36 and 0.7, Chromium 1/3 and
# 0.83; all of them lower by 0.08 to 0.2. The bounds leave room for settings of one's own.
_SMALLER = 0.88  # of the size of the base, at most
_SMALLEST = 0.4  # of it: what is smaller stands beside a large initial
_RAISED = (0.15, 0.7)  # of the size of the base, above its baseline
_LOWERED = (0.06, 0.5)  # below it
_CLEARLY = (0.8, 0.25)  # of the size of the base: size and distance of what stands behind a space
_SAME = 0.04  # of the size: characters of one group
_FIGURE = 0.52  # of the size: the height of a figure that is made to be raised; others have 0.6 to 0.75
_FLOATS = 0.2  # of the size: how high such a figure stands over its baseline
_NEAR = (-0.4, 0.5)  # of the size, from the base to what is raised behind it
_SPACE = 0.2  # of the size: the gap between the ink of two words, of which 0.1 is beside letters too
_WIDEST = 1.0  # of the size: a gap between two words of a line
_BELOW = 0.94  # of the size of the base: the letters of a note
_MOST_BETWEEN = 3  # characters without ink between two words
_LONGEST = 80  # characters of a word that is looked at
_LINE = 200  # characters of a line before a raised text

_WORD = re.compile(r"(?<!\S)\S*[\d⁰¹²³⁴-⁹]\S*")
_PLAIN = {ord(char): digit for char, digit in zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True)}
_RISEN = frozenset(map(chr, _PLAIN))
_NOTED = re.compile(r"(?:^|[\r\n]|[.;:)]\s+)\(?(?P<mark>\d{1,3}|[a-z])[.)\]]?\s{0,3}[\"“«‘(¿]?[^\W\d_]")
_FRACTION = re.compile(r"\s{0,2}[/\u2044\u2215](\d)")
_ENDS = "\r\n"
_NOTHING = "\u200b"  # is removed with the other invisible characters
_INVISIBLE = (pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_TEXTRENDERMODE_CLIP)

_get_origin = native("FPDFText_GetCharOrigin", ctypes.c_int, ctypes.c_void_p, ctypes.c_int, *[ctypes.c_void_p] * 2)
_get_box = native("FPDFText_GetCharBox", ctypes.c_int, ctypes.c_void_p, ctypes.c_int, *[ctypes.c_void_p] * 4)


_Place = Literal["", "raised", "lowered"]


class Cut(NamedTuple):
    """A place of the raw text that is written in another way, as a word of its own.

    `shown` stands for `raw[start:end]`; where both are empty, a space comes between what is before and behind it.
    """

    start: int
    end: int
    shown: str


class _Char(NamedTuple):
    """A character as seen with its line upright: size, baseline, left and right edge, bottom and top of its ink."""

    turn: tuple[int, int]
    size: float
    base: float
    left: float
    right: float
    bottom: float
    top: float


class _Group(NamedTuple):
    """Characters of a word that have one size and one baseline."""

    start: int
    end: int
    first: _Char
    last: _Char
    floats: bool


def rewritten(raw: str, text_page: object, at: Callable[[int], int]) -> tuple[str, list[Cut]]:
    """Return the raw text of a page with its powers and indices, as long as before, and its other raised texts as cuts.

    `at` gives PDFium's number of a character by its place in the raw text.
    """
    page = _Page(raw, text_page, at)
    for match in _WORD.finditer(raw):
        if match.end() - match.start() <= _LONGEST:
            page.look_at(match.start(), match.end())
    return "".join(page.out), page.cuts


class _Page:
    def __init__(self, raw: str, text_page: object, at: Callable[[int], int]) -> None:
        self.out = list(raw)
        self.cuts: list[Cut] = []
        self._raw, self._text_page, self._at = raw, text_page, at
        self._handle = ctypes.cast(text_page, ctypes.c_void_p).value  # pyright: ignore[reportArgumentType]
        self._numbers = np.zeros(6, dtype=np.float64)
        self._matrix = np.zeros(6, dtype=np.float32)
        self._places = [self._numbers.ctypes.data + 8 * place for place in range(6)]
        self._last: tuple[_Group, _Group, _Place] | None = None  # of the word before, with its base
        self._known: dict[int, _Char | None] = {}

    def look_at(self, start: int, end: int) -> None:
        """Write the raised and lowered digits of a word in another way."""
        groups = list(self._groups(start, end))
        ahead = self._ahead(start)
        if not groups or (len(groups) == 1 and ahead is None and _RISEN.isdisjoint(self._raw[start:end])):
            return
        base: _Group | None = None
        state: _Place = ""
        if ahead is not None and _is_near(ahead.last, groups[0].first):
            is_going_on = self._last is not None and self._last[0].end == ahead.end
            base, state = self._last[1:] if self._last is not None and is_going_on else (ahead, "")
        for group, follows in zip_longest(groups, groups[1:]):
            place: _Place = self._place(group, base) if base is not None else ""
            if base is not None and place:
                self._write(group, place, state, base)
            elif base is None and follows is not None and self._place(group, follows) == "raised":
                self._set_apart(group, follows)
                continue
            else:
                base = group
                self._plain_risen(group)
            state = place
        if base is not None:
            self._last = groups[-1], base, state
            self._join_line(end, groups[-1].last, base)

    def _join_line(self, end: int, last: _Char, base: _Group) -> None:
        """Take away an end of a line that PDFium sees where the pen goes back from a raised text, or up to one."""
        behind = end
        while behind < len(self._raw) and behind - end <= _MOST_BETWEEN and self._raw[behind].isspace():
            behind += 1
        char = self._char(behind) if "\n" in self._raw[end:behind] and behind < len(self._raw) else None
        if char is None or not _is_near(last, char, _WIDEST):
            return
        follows = _Group(behind, behind + 1, char, char, floats=False)
        is_back = last is not base.last and abs(char.base - base.last.base) <= _SAME * base.last.size
        if is_back or self._place(follows, base):
            is_apart = char.left - last.right > _SPACE * base.last.size
            self.out[end:behind] = (" " if is_apart else _NOTHING) + _NOTHING * (behind - end - 1)

    def _write(self, group: _Group, place: _Place, state: _Place, base: _Group) -> None:
        text, start, end = self._raw[group.start : group.end].translate(_PLAIN), group.start, group.end
        if self._is_hidden(start):
            return
        before = self._line_before(start)
        joined = start  # without what PDFium has set between the base and a text that is not on its line
        while self._raw[joined - 1].isspace():
            joined -= 1
        is_torn = "\n" in self._raw[joined:start]
        if joined < start and not is_torn and not _is_clear(group.first, base.last):
            return
        if place == "lowered":
            shown = index(before, text)
            if shown is not None and (is_torn or joined == start):
                self.out[joined:start] = _NOTHING * (start - joined)
                self._replace(start, end, shown)
            return
        if self._is_fraction(text, end, base) or self._goes_on(group):
            if joined == start and before[-1:].isdigit():
                self._cut(start, start)
            elif is_torn:
                self.out[joined:start] = " " + _NOTHING * (start - joined - 1)
            return
        ahead = self._raw[end : end + _MOST_BETWEEN + 1]
        is_noted = partial(self._is_noted, base.first)
        found = meaning(before, text, ahead, is_noted, is_behind_index=state == "lowered")
        if found is None:
            return
        if found.kind == "power" or is_torn:
            self.out[joined:start] = _NOTHING * (start - joined)
        if found.kind == "power":
            self._replace(start, end, found.shown)
        elif found.kind == "note":
            self._cut(start, end, found.shown)
        else:
            self._cut(start, start)

    def _is_fraction(self, text: str, end: int, base: _Group) -> bool:
        """Return whether a raised number is that above the line of a fraction, as in 5 1/2."""
        found = _FRACTION.match(self._raw, end) if text.isdecimal() else None
        under = self._char(found.start(1)) if found is not None else None
        return under is not None and under.size <= _SMALLER * base.last.size

    def _goes_on(self, group: _Group) -> bool:
        """Return whether words follow in letters of the same size and height: small print beside a large number."""
        behind = group.end
        while behind < len(self._raw) and behind - group.end <= 1 and self._raw[behind].isspace():
            behind += 1
        char = self._char(behind) if behind < len(self._raw) and self._raw[behind].isalpha() else None
        return char is not None and _is_near(group.last, char) and _is_alike(char, group.last)

    def _line_before(self, start: int) -> str:
        """Return the end of the line that a character stands on; PDFium may have set it on a line of its own."""
        end = start
        while end > 0 and self._raw[end - 1].isspace():
            end -= 1
        begun = max(self._raw.rfind(char, max(0, end - _LINE), end) for char in _ENDS) + 1
        return self._raw[max(begun, end - _LINE) : end]

    def _cut(self, start: int, end: int, shown: str = "") -> None:
        self.cuts.append(Cut(start, end, shown))

    def _replace(self, start: int, end: int, shown: str) -> None:
        if len(shown) == end - start:
            self.out[start:end] = shown
        else:
            self._cut(start, end, shown)

    def _set_apart(self, group: _Group, follows: _Group) -> None:
        """Set the number of a note apart from the text that begins behind it, where they stand together."""
        behind = self._raw[follows.start : follows.start + 2]
        is_mark = group.end == follows.start and self._raw[group.end - 1].isdigit()
        if is_mark and (behind[:1].isdigit() or behind.isalpha()):
            self._cut(group.end, group.end)

    def _plain_risen(self, group: _Group) -> None:
        """Take characters that Unicode has raised for the mark of a note, where they are one behind a number."""
        for match in re.finditer(r"(?<=\d)[⁰¹²³⁴-⁹]{1,3}(?!\w)", self._raw[group.start : group.end]):
            start, end = group.start + match.start(), group.start + match.end()
            before = self._line_before(start)
            mark = match.group().translate(_PLAIN)
            found = meaning(before, mark, self._raw[end : end + 3], partial(self._is_noted, group.first))
            if found is not None and found.kind == "note":
                self._cut(start, end, found.shown)

    def _place(self, group: _Group, base: _Group) -> _Place:
        """Return whether a group is "raised" or "lowered" beside its base, or ""."""
        one, other = group.first, base.last if base.end <= group.start else base.first
        if one.turn != other.turn or base.floats:
            return ""
        share, rise = one.size / other.size, (one.base - other.base) / other.size
        if group.floats and abs(rise) < _SAME and abs(share - 1) < 1 - _SMALLER:
            return "raised"
        if not _SMALLEST <= share <= _SMALLER:
            return ""
        if _RAISED[0] <= rise <= _RAISED[1]:
            return "raised"
        return "lowered" if _LOWERED[0] <= -rise <= _LOWERED[1] else ""

    def _ahead(self, start: int) -> _Group | None:
        """Return the character before a word; None where none is close."""
        at = start - 1
        while at >= 0 and start - at <= _MOST_BETWEEN and self._raw[at].isspace():
            at -= 1
        char = self._char(at) if at >= 0 else None
        return _Group(at, at + 1, char, char, floats=False) if char is not None else None

    def _groups(self, start: int, end: int) -> Iterator[_Group]:
        begun: list[tuple[int, _Char]] = []
        floats = False
        for at in range(start, end):
            char = self._char(at)
            if char is None:
                continue
            is_floating = self._raw[at].isdigit() and self._raw[at] not in _RISEN and _is_floating(char)
            if begun:
                last = begun[-1][1]
                if not _is_alike(char, last) or is_floating != floats:
                    yield _Group(begun[0][0], begun[-1][0] + 1, begun[0][1], last, floats)
                    begun = []
            floats = is_floating
            begun.append((at, char))
        if begun:
            yield _Group(begun[0][0], begun[-1][0] + 1, begun[0][1], begun[-1][1], floats)

    def _char(self, at: int) -> _Char | None:
        """Return what is known of a character; None for a space, and for a line that lies askew."""
        if at not in self._known:
            self._known[at] = self._read(at) if not self._raw[at].isspace() else None
        return self._known[at]

    def _read(self, at: int) -> _Char | None:
        number, numbers, matrix = self._at(at), self._numbers, self._matrix
        if number < 0 or not get_matrix(self._handle, number, matrix.ctypes.data):
            return None
        if not _get_origin(self._handle, number, *self._places[:2]):
            return None
        if not _get_box(self._handle, number, *self._places[2:]):
            return None
        a, b, c, d, _e, _f = matrix.tolist()
        along = (a * a + b * b) ** 0.5
        size = get_size(self._handle, number) * (c * c + d * d) ** 0.5
        if not along or size <= 0 or min(abs(a), abs(b)) > 0.02 * along:
            return None
        turn = (round(a / along), round(b / along))
        x, y, left, right, bottom, top = numbers.tolist()
        u, v = turn
        across = sorted((u * left + v * bottom, u * right + v * top))
        up = sorted((u * bottom - v * left, u * top - v * right))
        return _Char(turn, size, u * y - v * x, across[0], across[1], up[0], up[1])

    def _is_hidden(self, at: int) -> bool:
        item = pdfium.FPDFText_GetTextObject(self._text_page, self._at(at))
        return bool(item) and pdfium.FPDFTextObj_GetTextRenderMode(item) in _INVISIBLE

    def _is_noted(self, base: _Char, mark: str) -> bool:
        """Return whether a note with this mark begins below: in smaller letters than the base, or raised itself."""
        return any(
            mark == said
            and char.turn == base.turn
            and char.base < base.base
            and (is_raised or (said.isdigit() and char.size <= _BELOW * base.size))
            for said, char, is_raised in self._notes
        )

    @cached_property
    def _notes(self) -> Sequence[tuple[str, _Char, bool]]:
        """The marks at the start of lines and sentences, each with its character and whether it is raised there."""
        found: list[tuple[str, _Char, bool]] = []
        for match in _NOTED.finditer(self._raw):
            char, letter = self._char(match.start("mark")), self._char(match.end() - 1)
            if char is not None and letter is not None:
                group = _Group(match.start("mark"), match.end("mark"), char, char, _is_floating(char))
                behind = _Group(match.end() - 1, match.end(), letter, letter, floats=False)
                found.append((match["mark"], char, self._place(group, behind) == "raised"))
        return found


def _is_floating(char: _Char) -> bool:
    """Return whether a figure stands above its own baseline, as those of fonts that have raised figures do."""
    return char.bottom - char.base >= _FLOATS * char.size and 0 < char.top - char.bottom <= _FIGURE * char.size


def _is_alike(char: _Char, other: _Char) -> bool:
    """Return whether two characters have one size and one baseline."""
    most = _SAME * other.size
    return char.turn == other.turn and abs(char.size - other.size) <= most and abs(char.base - other.base) <= most


def _is_clear(char: _Char, base: _Char) -> bool:
    """Return whether a raised or lowered character is so beyond what the letters of two words differ by on a scan."""
    return char.size <= _CLEARLY[0] * base.size and abs(char.base - base.base) >= _CLEARLY[1] * base.size


def _is_near(char: _Char, behind: _Char, most: float = _NEAR[1]) -> bool:
    gap = (behind.left - char.right) / max(char.size, behind.size)
    return char.turn == behind.turn and _NEAR[0] <= gap <= most
