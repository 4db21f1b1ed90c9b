"""The labels of lists and numbered headings of an OpenDocument text, counted as its programs count them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from docmind.reading.formats.numerals import bullet, numeral
from docmind.reading.formats.odf import LOEXT, OFFICE, STYLE, TEXT, XML, Element, count_of
from docmind.reading.formats.odt.styles import Styles

DEEPEST = 10
"""Levels of a list."""
_HIGHEST = 10_000_000
_PLACE = re.compile(r"%(\d{1,2})%")
_KINDS = {
    "1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman", "01": "decimalZero",
    "1st": "ordinal", "One": "cardinalText", "First": "ordinalText",
}  # fmt: skip
_BEGINNINGS = {"①": "decimalEnclosedCircle", "一": "chineseCounting", "１": "decimalFullWidth"}
_CYRILLIC = re.compile(r"[АаБб], [Бб]|^А, |^а, ")
_ALPHABETS = {"lowerLetter": "abcdefghijklmnopqrstuvwxyz", "upperLetter": "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


@dataclass(frozen=True, slots=True)
class _Level:
    """One level: `kind` is that of the numeral, "bullet" or "none"; `levels` is how many numbers are shown."""

    kind: str = "none"
    prefix: str = ""
    suffix: str = ""
    levels: int = 1
    start: int = 1
    shown: str = ""  # the bullet, or the pattern of a label such as "%1%.%2%)"
    is_synced: bool = True  # letters behind z: aa, bb; where not: aa, ab


Counts = list[int | None]
"""The last number of each level of a list; None for a level that has not begun."""


class Lists:
    """The list styles that hold in one part, and the counts of its lists."""

    def __init__(self, styles: Styles, *roots: Element | None) -> None:
        """Take the automatic list styles of the first root, and the common ones of all."""
        self._font_of = styles.font_of
        self._levels: dict[str, dict[int, _Level]] = {}
        self._by_id: dict[str, Counts] = {}
        self._by_style: dict[str, Counts] = {}
        self._headings: Counts = [None] * DEEPEST
        self._outline: dict[int, _Level] = {}
        paths = [(roots[0], "automatic-styles"), *((root, "styles") for root in roots)]
        for root, name in paths:
            for style in root.iterfind(f"{OFFICE}{name}/{TEXT}list-style") if root is not None else ():
                self._levels.setdefault(style.get(f"{STYLE}name") or "", self._levels_of(style))
        for root in roots:
            outline = root.find(f"{OFFICE}styles/{TEXT}outline-style") if root is not None else None
            if outline is not None and not self._outline:
                self._outline = self._levels_of(outline)
                self._levels.setdefault(outline.get(f"{STYLE}name") or "Outline", self._outline)

    def counts(self, element: Element, style: str) -> tuple[Counts, bool]:
        """Return the counts of a list that begins, and whether it goes on from another one."""
        before = self._by_id.get(element.get(f"{TEXT}continue-list") or element.get(f"{TEXT}list-id") or "")
        if before is None and element.get(f"{TEXT}continue-numbering") == "true":
            before = self._by_style.get(style)
        found: Counts = [None] * DEEPEST if before is None else before
        for key in (element.get(f"{XML}id"), element.get(f"{TEXT}list-id"), element.get(f"{TEXT}id")):
            if key:
                self._by_id[key] = found
        self._by_style[style] = found
        return found, before is not None

    def count(self, counts: Counts, style: str, rank: int, start: str | None = None) -> str:
        """Count an item of a list, with the level from 0, and return its label."""
        return _counted(counts, self._levels.get(style, {}), rank, start)

    def count_heading(self, element: Element, level: int, list_style: str | None) -> str:
        """Count a heading, with the level from 1, and return the number it shows; "" where it has none."""
        if element.get(f"{TEXT}is-list-header") == "true" or list_style == "":
            return ""
        levels = self._levels.get(list_style or "", {}) or self._outline
        is_new = element.get(f"{TEXT}restart-numbering") == "true" or element.get(f"{TEXT}start-value")
        start = element.get(f"{TEXT}start-value") or "1" if is_new else None
        return _counted(self._headings, levels, level - 1, start)

    def _levels_of(self, style: Element) -> dict[int, _Level]:
        found: dict[int, _Level] = {}
        for said in style:
            rank = count_of(said.get(f"{TEXT}level"), 99, 0) - 1
            if 0 <= rank < DEEPEST:
                found.setdefault(rank, self._level(said))
        return found

    def _level(self, said: Element) -> _Level:
        prefix, suffix = (said.get(f"{STYLE}num-{name}") or "" for name in ("prefix", "suffix"))
        if said.tag == f"{TEXT}list-level-style-bullet":
            font = self._font_of(said.find(f"{STYLE}text-properties")) or ""
            return _Level("bullet", shown=bullet(said.get(f"{TEXT}bullet-char") or "", font))
        if said.tag == f"{TEXT}list-level-style-image":
            return _Level("bullet", shown="•")
        pattern = said.get(f"{STYLE}num-list-format") or said.get(f"{LOEXT}num-list-format") or ""
        return _Level(
            _kind_of(said.get(f"{STYLE}num-format")),
            prefix[:60],
            suffix[:60],
            max(1, count_of(said.get(f"{TEXT}display-levels"), DEEPEST)),
            count_of(said.get(f"{TEXT}start-value"), _HIGHEST),
            pattern[:60],
            said.get(f"{STYLE}num-letter-sync") == "true",
        )


def _kind_of(said: str | None) -> str:
    said = (said or "").strip()
    if said in _KINDS or not said:
        return _KINDS.get(said, "none")
    if _CYRILLIC.search(said):
        return "russianUpper" if said[0].isupper() else "russianLower"
    return _BEGINNINGS.get(said[0], "decimal")


def _counted(counts: Counts, levels: dict[int, _Level], rank: int, start: str | None) -> str:
    rank = min(max(rank, 0), DEEPEST - 1)
    for above in range(rank):  # a level that was skipped counts as begun
        if counts[above] is None:
            counts[above] = levels.get(above, _Level()).start
    last = counts[rank]
    first = levels.get(rank, _Level()).start
    counts[rank] = count_of(start, _HIGHEST, first) if start or last is None else min(last + 1, _HIGHEST)
    counts[rank + 1 :] = [None] * (DEEPEST - rank - 1)
    return _label(counts, levels, rank)


def _label(counts: Counts, levels: dict[int, _Level], rank: int) -> str:
    level = levels.get(rank)
    if level is None:
        return ""
    if level.kind == "bullet":
        return level.shown

    def number(at: int) -> str:
        of = levels.get(at, _Level())
        count = counts[at] if 0 <= at < DEEPEST else None
        return _numeral(of.start if count is None else count, of)

    if level.shown:
        text = _PLACE.sub(lambda found: number(int(found[1]) - 1), level.shown)
    elif level.kind == "none":
        text = level.prefix + level.suffix
    else:
        numbers = filter(None, map(number, range(max(0, rank + 1 - level.levels), rank + 1)))
        text = level.prefix + ".".join(numbers) + level.suffix
    text = " ".join(text.split())
    return text if any(map(str.isalnum, text)) or level.kind != "none" else ""


def _numeral(count: int, level: _Level) -> str:
    letters = _ALPHABETS.get(level.kind)
    if letters is None or level.is_synced or not 26 < count < 1_000_000:
        return numeral(count, level.kind)
    shown = ""
    while count:
        count, at = divmod(count - 1, 26)
        shown = letters[at] + shown
    return shown
