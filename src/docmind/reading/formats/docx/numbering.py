"""The numbers of lists and headings, counted as Word counts them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from docmind.reading.formats.docx.package import MC, Element, W, is_on, number, value
from docmind.reading.formats.docx.styles import Look, Styles
from docmind.reading.formats.docx.symbols import symbol_text

_DEEPEST = 9  # levels of a list
_PLACE = re.compile(r"%([1-9])")
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
    (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_ALPHABETS = {
    "lowerLetter": "abcdefghijklmnopqrstuvwxyz",
    "upperLetter": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "russianLower": "абвгдежзиклмнопрстуфхцчшщыэюя",
    "russianUpper": "АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЫЭЮЯ",
    "chicago": "*†‡§",
}
_REPEATS = 30  # most letters in one number


def _words(text: str) -> list[str]:
    return text.split()


_ONES = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = _words("_ _ twenty thirty forty fifty sixty seventy eighty ninety")
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
_ORDINAL_MARK = {"pt": "º", "es": "º", "it": "º", "de": ".", "fr": "e", "nl": "e"}
_FULL_WIDTH = str.maketrans("0123456789", "０１２３４５６７８９")
_CHINESE = "〇一二三四五六七八九"


@dataclass(frozen=True, slots=True)
class Level:
    """One level of a list: how its number is counted and shown."""

    start: int = 1
    format: str = "decimal"
    text: str = ""
    restart: int | None = None
    is_legal: bool = False
    style: str = ""
    pattern: str = ""
    font: str = ""


@dataclass(slots=True)
class _List:
    """A list of its own counters; `levels` may come from a list style."""

    levels: dict[int, Level]
    style_link: str = ""
    number_link: str = ""
    counts: list[int | None] = field(default_factory=lambda: [None] * _DEEPEST)


@dataclass(frozen=True, slots=True)
class _Use:
    """What a paragraph names: a list, the levels it has of its own, and those that start again."""

    list_id: str
    levels: dict[int, Level]
    starts: dict[int, int]


class Numbering:
    """The lists of a document, with their counters."""

    def __init__(self, root: Element | None, styles: Styles) -> None:
        self._styles = styles
        self._lists: dict[str, _List] = {}
        self._uses: dict[str, _Use] = {}
        self._begun: set[tuple[str, int]] = set()
        for said in root.iterfind(f"{W}abstractNum") if root is not None else ():
            levels = dict(_level(each) for each in said.iterfind(f"{W}lvl"))
            levels = {rank: level for rank, level in levels.items() if 0 <= rank < _DEEPEST}
            links = value(said, "styleLink") or "", value(said, "numStyleLink") or ""
            self._lists[said.get(f"{W}abstractNumId") or ""] = _List(levels, *links)
        for said in root.iterfind(f"{W}num") if root is not None else ():
            levels, starts = dict[int, Level](), dict[int, int]()
            for over in said.iterfind(f"{W}lvlOverride"):
                rank = number(over.get(f"{W}ilvl"))
                if not 0 <= rank < _DEEPEST:
                    continue
                own, start = over.find(f"{W}lvl"), value(over, "startOverride")
                if own is not None:
                    levels[rank] = _level(own)[1]
                if start is not None:
                    starts[rank] = number(start, 1)
            self._uses[said.get(f"{W}numId") or ""] = _Use(value(said, "abstractNumId") or "", levels, starts)

    def count(self, properties: Element | None, look: Look) -> tuple[str, int] | None:
        """Count a paragraph, and return the marker that it shows and its level from 0; None where it is in no list."""
        own = properties.find(f"{W}numPr") if properties is not None else None
        said, rank_said = (value(own, "numId"), value(own, "ilvl")) if own is not None else (None, None)
        use = self._uses.get(look.number or "" if said is None else said)
        here = self._lists.get(use.list_id) if use is not None else None
        if use is None or here is None:
            return None
        levels = self._levels(here) | use.levels
        if rank_said is not None:
            rank = number(rank_said)
        else:
            linked = (rank for rank, level in levels.items() if look.linked and level.style == look.linked)
            rank = next(linked, look.rank if said is None and look.rank is not None else 0)
        rank = min(max(rank, 0), _DEEPEST - 1)
        level = levels.get(rank)
        if level is None:
            return None
        key = look.number or "" if said is None else said
        self._step(key, use, here, levels, rank)
        return self._shown(here.counts, levels, rank), rank

    def _levels(self, here: _List) -> dict[int, Level]:
        """Return the levels of a list, or of the list style that it names."""
        if here.levels or not here.number_link:
            return here.levels
        use = self._uses.get(self._styles.number_of(here.number_link) or "")
        found = self._lists.get(use.list_id) if use is not None else None
        if found is None or not found.levels:
            found = next((each for each in self._lists.values() if each.style_link == here.number_link), None)
        here.levels, here.number_link = (found.levels if found is not None else {}), ""
        return here.levels

    def _step(self, key: str, use: _Use, here: _List, levels: dict[int, Level], rank: int) -> None:
        counts = here.counts
        for above in range(rank):  # a level that was skipped counts as begun
            if counts[above] is None:
                counts[above] = self._start(key, use, levels, above)
        begins = rank in use.starts and (key, rank) not in self._begun
        last = counts[rank]
        counts[rank] = self._start(key, use, levels, rank) if last is None or begins else min(last + 1, 10_000_000)
        for deeper in range(rank + 1, _DEEPEST):
            restart = levels.get(deeper, Level()).restart
            # By default each level above makes a level begin again; `restart` names the lowest that does, from 1.
            if restart is None or (restart > 0 and rank < restart):
                counts[deeper] = None

    def _start(self, key: str, use: _Use, levels: dict[int, Level], rank: int) -> int:
        self._begun.add((key, rank))
        return use.starts.get(rank, levels.get(rank, Level()).start)

    def _shown(self, counts: list[int | None], levels: dict[int, Level], rank: int) -> str:
        level = levels[rank]
        if level.format == "bullet":
            return bullet(level.text, level.font)

        def place(found: re.Match[str]) -> str:
            at = int(found.group(1)) - 1
            of = levels.get(at, Level())
            count = counts[at]
            kind = "decimal" if level.is_legal and of.format != "none" else of.format
            return numeral(of.start if count is None else count, kind, of.pattern, self._styles.language)

        return " ".join(_PLACE.sub(place, level.text).split())


def _level(said: Element) -> tuple[int, Level]:
    rank = number(said.get(f"{W}ilvl"))
    shown = said.find(f"{W}numFmt")
    for choice in said.iterfind(f"{MC}AlternateContent/{MC}Choice/{W}numFmt"):
        shown = choice if shown is None else shown
    restart, start = value(said, "lvlRestart"), value(said, "start")
    fonts = said.find(f"{W}rPr/{W}rFonts")
    kind = shown.get(f"{W}val") or "decimal" if shown is not None else "decimal"
    return rank, Level(
        start=number(start, 1),
        format=kind,
        text=(value(said, "lvlText") or "")[:60],
        restart=None if restart is None else number(restart),
        is_legal=bool(is_on(said, "isLgl")),
        style=value(said, "pStyle") or "",
        pattern=(shown.get(f"{W}format") or "")[:60] if shown is not None else "",
        font=fonts.get(f"{W}ascii") or "" if fonts is not None else "",
    )


def bullet(text: str, font: str) -> str:
    """Return a bullet as text: a box or a dash as such, all other ones as "•"."""
    shown = symbol_text(text.strip(), font)
    return shown if shown and shown in "☐☑☒✓✗–—-→➢*" else "•" if text.strip() else ""


def numeral(count: int, kind: str, pattern: str = "", language: str = "en") -> str:
    """Return a number as Word shows it in a format, in decimal digits where the format cannot show it."""
    if kind in ("none", "bullet"):
        return ""
    if kind == "custom" and pattern:
        return str(count).zfill(len(pattern.partition(",")[0].strip()))
    if kind == "decimalZero":
        return f"{count:02d}"
    if kind == "decimalFullWidth":
        return str(count).translate(_FULL_WIDTH)
    if count < 1:
        return str(count)
    if kind in _ALPHABETS:
        letters = _ALPHABETS[kind]
        times, at = divmod(count - 1, len(letters))
        return letters[at] * (times + 1) if times < _REPEATS else str(count)
    if kind in ("lowerRoman", "upperRoman"):
        roman = _roman(count)
        return roman.upper() if kind == "upperRoman" else roman
    if kind == "ordinal":
        return f"{count}{_ordinal_mark(count, language)}"
    if kind in ("cardinalText", "ordinalText") and count < 100 and language in ("", "en"):
        return _in_words(count, is_ordinal=kind == "ordinalText")
    if kind in ("decimalEnclosedCircle", "decimalEnclosedCircleChinese") and count <= 20:
        return chr(0x2460 + count - 1)
    if kind == "numberInDash":
        return f"- {count} -"
    if kind == "hex":
        return f"{count:X}"
    if kind in (
        "chineseCounting",
        "chineseCountingThousand",
        "ideographDigital",
        "japaneseCounting",
        "taiwaneseCounting",
    ):
        return _chinese(count)
    return str(count)


def _roman(count: int) -> str:
    if count > 9_999:
        return str(count)
    letters = ""
    for worth, letter in _ROMAN:
        letters += letter * (count // worth)
        count %= worth
    return letters


def _ordinal_mark(count: int, language: str) -> str:
    if language == "fr" and count == 1:
        return "er"
    if language in _ORDINAL_MARK:
        return _ORDINAL_MARK[language]
    return "th" if count % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")


def _in_words(count: int, *, is_ordinal: bool) -> str:
    tens, ones = divmod(count, 10)
    words = [_ONES[count]] if count < 20 else [_TENS[tens], *([_ONES[ones]] if ones else [])]
    if is_ordinal:
        last = words[-1]
        words[-1] = _ORDINALS.get(last) or (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")
    return "-".join(words).capitalize()


def _chinese(count: int) -> str:
    if count > 99:
        return "".join(_CHINESE[int(digit)] for digit in str(count))
    tens, ones = divmod(count, 10)
    before = "" if tens == 0 else "十" if tens == 1 else f"{_CHINESE[tens]}十"
    return before + (_CHINESE[ones] if ones else "")
