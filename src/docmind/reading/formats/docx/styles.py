"""Styles: what a style, with those it is based on, says of a paragraph or run."""

from __future__ import annotations

from dataclasses import dataclass

from docmind.reading.formats.docx.package import Element, W, is_on, number, value
from docmind.reading.formats.prose import level_of_name

_DEEPEST = 50  # styles based on each other


@dataclass(frozen=True, slots=True)
class Look:
    """What a style says. `level` is that of a heading, 0 for none. `number` is its list's id, `rank` its level there.

    `linked` is the id of the style which says that there is a number.
    """

    name: str = ""
    level: int = 0
    number: str | None = None
    rank: int | None = None
    linked: str = ""
    is_bold: bool = False
    is_hidden: bool = False
    starts_page: bool = False
    is_caption: bool = False
    has_header_row: bool = False
    script: str = ""
    is_struck: bool = False


class Styles:
    """The styles of a document."""

    def __init__(self, root: Element | None) -> None:
        self._styles: dict[str, Element] = {}
        self._looks: dict[str, Look] = {}
        self._default: str = ""
        for style in root.iterfind(f"{W}style") if root is not None else ():
            name: str = style.get(f"{W}styleId") or ""
            self._styles.setdefault(name, style)
            is_default = (style.get(f"{W}default") or "0").lower() in ("1", "true", "on")
            if is_default and style.get(f"{W}type", "paragraph") == "paragraph" and not self._default:
                self._default = name
        defaults = root.find(f"{W}docDefaults/{W}rPrDefault/{W}rPr/{W}lang") if root is not None else None
        self.language = (defaults.get(f"{W}val") or "" if defaults is not None else "").partition("-")[0].lower()

    def look(self, name: str | None) -> Look:
        """Return what a style says; that of paragraphs without one for None."""
        key = self._default if name is None else name
        if key not in self._looks:
            self._looks[key] = self._resolved(key)
        return self._looks[key]

    def number_of(self, name: str) -> str | None:
        """Return the id of the list that a list style has."""
        style = self._styles.get(name)
        return value(style, "pPr/numPr/numId") if style is not None else None

    def _chain(self, name: str) -> list[tuple[str, Element]]:
        chain: list[tuple[str, Element]] = []
        while name in self._styles and len(chain) < _DEEPEST:  # styles may be based on each other in a circle
            chain.append((name, self._styles[name]))
            name = value(self._styles[name], "basedOn") or ""
        return chain

    def _resolved(self, name: str) -> Look:
        chain = self._chain(name)
        if not chain:  # a style that is not there may still be a built-in one
            return Look(name=name, level=level_of_name(name), is_caption=name.lower() == "caption")
        names = [(value(style, "name") or key).lower() for key, style in chain]
        bold = [is_on(style.find(f"{W}rPr"), "b") for _key, style in chain]
        hidden = [is_on(style.find(f"{W}rPr"), "vanish") for _key, style in chain]
        starts = [is_on(style.find(f"{W}pPr"), "pageBreakBefore") for _key, style in chain]
        scripts = (script_of(style.find(f"{W}rPr")) for _key, style in chain)
        struck = [is_struck_out(style.find(f"{W}rPr")) for _key, style in chain]
        list_id = rank = None
        linked = ""
        for key, style in chain:
            rank = value(style, "pPr/numPr/ilvl") if rank is None else rank
            said = value(style, "pPr/numPr/numId")
            if said is not None:
                list_id, linked = said, key
                break
        return Look(
            name=names[0],
            level=self._level(chain, names),
            number=list_id,
            rank=number(rank) if rank is not None else None,
            linked=linked,
            is_bold=_first(bold),
            is_hidden=_first(hidden),
            starts_page=_first(starts),
            is_caption="caption" in names,
            script=next(filter(None, scripts), ""),
            is_struck=_first(struck),
            has_header_row=any(
                said.get(f"{W}type") == "firstRow" for _key, style in chain for said in style.iterfind(f"{W}tblStylePr")
            ),
        )

    @staticmethod
    def _level(chain: list[tuple[str, Element]], names: list[str]) -> int:
        for (_key, style), name in zip(chain, names, strict=True):
            outline = value(style, "pPr/outlineLvl")
            if outline is not None:
                return level_of(outline)
            if level := level_of_name(name):
                return level
        return 0


def script_of(properties: Element | None) -> str | None:
    """Return "superscript", "subscript" or "baseline"; None where it is not said."""
    return value(properties, "vertAlign") if properties is not None else None


def is_struck_out(properties: Element | None) -> bool | None:
    """Return whether text is struck out by one or two lines; None where it is not said."""
    said = [is_on(properties, name) for name in ("strike", "dstrike")]
    return None if said == [None, None] else any(said)


def level_of(outline: str) -> int:
    """Return the level of a heading from an outline level, which counts from 0; 9 is that of plain text."""
    level = number(outline, 9) + 1
    return level if 1 <= level <= 9 else 0


def _first(said: list[bool | None]) -> bool:
    """Return what the nearest style says that says anything."""
    return next((each for each in said if each is not None), False)
