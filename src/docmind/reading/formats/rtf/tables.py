"""What stands before the text of a rich text file: its styles, its lists, and what is said of the document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from docmind.reading.formats.numerals import bullet, numeral
from docmind.reading.formats.prose import level_of_name
from docmind.reading.formats.rtf.parser import Destination, Fonts, State

_DEEPEST = 9  # levels of a list
_CHAIN = 20  # styles based on each other
_HIGHEST = 10_000_000
_KINDS = {
    0: "decimal", 1: "upperRoman", 2: "lowerRoman", 3: "upperLetter", 4: "lowerLetter", 5: "ordinal",
    6: "cardinalText", 7: "ordinalText", 10: "chineseCounting", 22: "decimalZero", 23: "bullet", 255: "none",
}  # fmt: skip


class Capture(Destination):
    """The text of a group, given to a function at its end."""

    def __init__(self, done: Callable[[str], None], most: int = 1_000) -> None:
        """Keep up to `most` characters."""
        self._done, self._most = done, most
        self.said = ""

    def text(self, text: str, state: State) -> None:
        """Take text."""
        self.said = (self.said + text)[: self._most]

    def close(self) -> None:
        """Hand the text on."""
        self._done(self.said)


@dataclass(slots=True)
class Style:
    """A style of paragraphs."""

    name: str = ""
    outline: int | None = None
    based_on: int | None = None


@dataclass(slots=True)
class Styles(Destination):
    """The styles of a document, by number."""

    found: dict[int, Style] = field(default_factory=dict)
    _here: Style = field(default_factory=Style)
    _number: int | None = 0

    def word(self, name: str, number: int | None, state: State) -> None:
        """Take a word of the style that is being read."""
        if name == "s":
            self._number = number or 0
        elif name in ("cs", "ts", "ds"):
            self._number = None
        elif name == "outlinelevel":
            self._here.outline = number
        elif name == "sbasedon":
            self._here.based_on = number

    def text(self, text: str, state: State) -> None:
        """Take the name of a style, which ends with a semicolon."""
        name, end, _rest = text.partition(";")
        self._here.name = (self._here.name + name)[:200]
        if end:
            self._here.name = self._here.name.strip()
            if self._number is not None:
                self.found.setdefault(self._number, self._here)
            self._here, self._number = Style(), 0

    def level(self, number: int) -> int:
        """Return the level of the headings of a style; 0 where it is none of headings."""
        for style in self.chain(number):
            if style.outline is not None:
                return style.outline + 1 if 0 <= style.outline < 9 else 0
            if level := level_of_name(style.name):
                return level
        return 0

    def chain(self, number: int | None) -> list[Style]:
        """Return a style and those that it is based on."""
        chain: list[Style] = []
        while number is not None and number in self.found and len(chain) < _CHAIN:
            chain.append(self.found[number])
            number = chain[-1].based_on if chain[-1].based_on != number else None
        return chain


@dataclass(slots=True)
class _Level:
    kind: str = "decimal"
    start: int = 1
    text: str = ""
    font: int | None = None


@dataclass(slots=True)
class Lists(Destination):
    """The lists of a document, with the counts of each."""

    fonts: Fonts
    _levels: dict[int, list[_Level]] = field(default_factory=dict)
    _here: list[_Level] = field(default_factory=list)
    _uses: dict[int, tuple[int, dict[int, int]]] = field(default_factory=dict)
    _used: tuple[int, dict[int, int]] = (0, {})
    _counts: dict[int, list[int | None]] = field(default_factory=dict)
    _begun: set[tuple[int, int]] = field(default_factory=set)
    _is_use: bool = False  # whether numbers of lists are read, and not lists

    def word(self, name: str, number: int | None, state: State) -> None:
        """Take a word of the lists or of the table that gives them their numbers."""
        value = number or 0
        if name == "list":
            self._here, self._is_use = [], False
        elif name == "listoverride":
            self._used, self._is_use = (0, {}), True
        elif self._is_use:
            self._of_use(name, value)
        elif name == "listlevel" and len(self._here) < _DEEPEST:
            self._here.append(_Level())
        elif name == "listid":
            self._levels.setdefault(value, self._here)
        elif self._here:
            self._of_level(name, value, self._here[-1])

    def leveltext(self, text: str) -> None:
        """Take the pattern of the labels of a level: its length, then text with the numbers of levels as characters."""
        if self._here and text:
            self._here[-1].text = text[1 : 1 + min(ord(text[0]), 60)]

    def label(self, use: int, rank: int) -> str | None:
        """Count a paragraph and return its label; None where there is no such list."""
        list_id, starts = self._uses.get(use, (0, {}))
        levels = self._levels.get(list_id, [])
        if not 0 <= rank < len(levels):
            return None
        counts = self._counts.setdefault(list_id, [None] * _DEEPEST)
        for above in range(rank):
            if counts[above] is None:
                counts[above] = levels[above].start
        begins = rank in starts and (use, rank) not in self._begun
        self._begun.add((use, rank))
        last = counts[rank]
        first = starts.get(rank, levels[rank].start)
        counts[rank] = first if last is None or begins else min(last + 1, _HIGHEST)
        counts[rank + 1 :] = [None] * (_DEEPEST - rank - 1)
        return self._shown(counts, levels, rank)

    def _of_use(self, name: str, value: int) -> None:
        starts = self._used[1]
        if name == "listid":
            self._used = value, starts
        elif name == "lfolevel" and len(starts) < _DEEPEST:
            starts[len(starts)] = -1
        elif name == "levelstartat" and starts:
            starts[len(starts) - 1] = min(max(value, 0), _HIGHEST)
        elif name == "ls":
            self._uses[value] = self._used[0], {rank: start for rank, start in starts.items() if start >= 0}

    @staticmethod
    def _of_level(name: str, value: int, level: _Level) -> None:
        if name in ("levelnfc", "levelnfcn"):
            level.kind = _KINDS.get(value, "decimal")
        elif name == "levelstartat":
            level.start = min(max(value, 0), _HIGHEST)
        elif name == "f":
            level.font = value

    def _shown(self, counts: list[int | None], levels: list[_Level], rank: int) -> str:
        level = levels[rank]
        if level.kind == "bullet":
            font = self.fonts.names.get(level.font, "") if level.font is not None else ""
            return bullet(level.text, font) if level.text.strip() else ""
        shown = ""
        for char in level.text:
            at = ord(char)
            if at < _DEEPEST:
                of = levels[at] if at < len(levels) else _Level()
                count = counts[at]
                shown += numeral(of.start if count is None else count, of.kind)
            else:
                shown += char
        return " ".join(shown.split())


@dataclass(slots=True)
class Day(Destination):
    """A day: year, month and day of the month."""

    _parts: dict[str, int] = field(default_factory=dict)

    def word(self, name: str, number: int | None, state: State) -> None:
        """Take a part of the day."""
        self._parts.setdefault(name, number or 0)

    def __str__(self) -> str:
        """Return the day as year, month and day; "" where none is said."""
        year, month, day = (self._parts.get(name, 0) for name in ("yr", "mo", "dy"))
        return f"{year:04}-{month:02}-{day:02}" if 1900 < year < 10_000 and 0 < month < 13 and 0 < day < 32 else ""


@dataclass(slots=True)
class Info(Destination):
    """Title, author and day of a document."""

    title: str = ""
    author: str = ""
    created: Day = field(default_factory=Day)
