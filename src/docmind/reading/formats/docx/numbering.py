"""The numbers of lists and headings, counted as Word counts them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from docmind.reading.formats.docx.package import MC, Element, W, is_on, number, value
from docmind.reading.formats.docx.styles import Look, Styles
from docmind.reading.formats.numerals import bullet, numeral

_DEEPEST = 9  # levels of a list
_PLACE = re.compile(r"%([1-9])")


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
