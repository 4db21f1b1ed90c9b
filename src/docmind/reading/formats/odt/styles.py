"""Styles of an OpenDocument text: what a style, with those it is based on, says of a paragraph or run."""

from __future__ import annotations

import re
from dataclasses import dataclass

from docmind.reading.formats.odf import FO, OFFICE, STYLE, SVG, TEXT, Element, count_of
from docmind.reading.formats.prose import level_of_name

_DEEPEST = 50  # styles based on each other
_ENCODED = re.compile(r"_([0-9a-f]{2,4})_")
_CAPTIONS = frozenset(("caption", "illustration", "figure", "drawing"))
_LIFT = re.compile(r"(super|sub|[-+]?\d+(?:\.\d+)?%)")


@dataclass(frozen=True, slots=True)
class TextLook:
    """How text looks. What a style does not say is None."""

    is_bold: bool | None = None
    is_hidden: bool | None = None
    script: str | None = None
    is_struck: bool | None = None
    font: str | None = None

    def within(self, outer: TextLook) -> TextLook:
        """Return the look of text of this style inside text of another."""
        return TextLook(
            outer.is_bold if self.is_bold is None else self.is_bold,
            outer.is_hidden if self.is_hidden is None else self.is_hidden,
            outer.script if self.script is None else self.script,
            outer.is_struck if self.is_struck is None else self.is_struck,
            outer.font if self.font is None else self.font,
        )


@dataclass(frozen=True, slots=True)
class Look:
    """What a style says of a paragraph or table.

    `names` are its own name and those of the styles that it is based on, in small letters. `master` is the page style
    that begins with it; "" for none.
    """

    names: tuple[str, ...] = ()
    level: int = 0
    list_style: str | None = None
    master: str = ""
    breaks_before: bool = False
    breaks_after: bool = False
    is_caption: bool = False
    text: TextLook = TextLook()


class Styles:
    """The styles that hold in one part: its automatic ones, then the common ones."""

    def __init__(self, *roots: Element | None) -> None:
        """Take the automatic styles of the first root, and the common ones of all."""
        self._styles: dict[tuple[str, str], Element] = {}
        self._looks: dict[tuple[str, str], Look] = {}
        self._fonts: dict[str, str] = {}
        paths = [(roots[0], "automatic-styles"), *((root, "styles") for root in roots)]
        for root, name in paths:
            for style in root.iterfind(f"{OFFICE}{name}/{STYLE}style") if root is not None else ():
                key = style.get(f"{STYLE}family") or "", style.get(f"{STYLE}name") or ""
                self._styles.setdefault(key, style)
        for root in roots:
            for face in root.iterfind(f"{OFFICE}font-face-decls/{STYLE}font-face") if root is not None else ():
                family = face.get(f"{SVG}font-family") or ""
                self._fonts.setdefault(face.get(f"{STYLE}name") or "", family.strip("'\" "))

    def look(self, family: str, name: str | None) -> Look:
        """Return what a style of a family ("paragraph", "text", "table", "section") says."""
        key = family, name or ""
        if key not in self._looks:
            self._looks[key] = self._resolved(*key)
        return self._looks[key]

    def font_of(self, properties: Element | None) -> str | None:
        """Return the name of the font that properties of text name; None where they name none."""
        if properties is None:
            return None
        named = properties.get(f"{STYLE}font-name")
        family = (properties.get(f"{FO}font-family") or "").strip("'\" ")
        return family or (self._fonts.get(named) or named if named else None)

    def _chain(self, family: str, name: str) -> list[Element]:
        chain: list[Element] = []
        while (family, name) in self._styles and len(chain) < _DEEPEST:  # styles may be based on each other in a circle
            chain.append(self._styles[family, name])
            name = chain[-1].get(f"{STYLE}parent-style-name") or ""
        return chain

    def _resolved(self, family: str, name: str) -> Look:
        chain = self._chain(family, name)
        names = [_shown_name(style) for style in chain] or [_decoded(name).lower()]
        text = TextLook()
        for style in reversed(chain):
            text = self._text(style.find(f"{STYLE}text-properties")).within(text)
        lists = (style.get(f"{STYLE}list-style-name") for style in chain)
        # A page style counts where it is said by the style itself, or by one that it is based on.
        masters = (style.get(f"{STYLE}master-page-name") for style in chain)
        properties = f"{STYLE}{'table' if family == 'table' else 'paragraph'}-properties"
        breaks = [_breaks(style.find(properties)) for style in chain]
        outlines = (count_of(style.get(f"{STYLE}default-outline-level"), 10, 0) for style in chain)
        named = (level_of_name(each) for each in names)
        return Look(
            names=tuple(names),
            level=next((level for level in outlines if level), 0) or next(filter(None, named), 0),
            list_style=next((each for each in lists if each is not None), None),
            master=next((each for each in masters if each is not None), ""),
            breaks_before=next((before for before, _after in breaks if before is not None), False),
            breaks_after=next((after for _before, after in breaks if after is not None), False),
            is_caption=not _CAPTIONS.isdisjoint(names),
            text=text,
        )

    def _text(self, said: Element | None) -> TextLook:
        if said is None:
            return TextLook()
        weight, display = said.get(f"{FO}font-weight"), said.get(f"{TEXT}display")
        lines = [said.get(f"{STYLE}text-line-through-{name}") for name in ("style", "type")]
        return TextLook(
            None if weight is None else weight == "bold" or (weight.isdecimal() and int(weight[:4]) >= 600),
            None if display is None else display == "none",
            _script(said.get(f"{STYLE}text-position")),
            None if lines == [None, None] else lines[0] != "none" and lines[1] != "none",
            self.font_of(said),
        )


def _breaks(said: Element | None) -> tuple[bool | None, bool | None]:
    """Return whether a page begins before and behind; None where it is not said."""
    before, after = (said.get(f"{FO}break-{name}") if said is not None else None for name in ("before", "after"))
    return None if before is None else before == "page", None if after is None else after == "page"


def _script(position: str | None) -> str | None:
    """Return "superscript", "subscript" or "" for a place such as "super 58%" or "-33% 80%"."""
    if position is None:
        return None
    found = _LIFT.match(position.strip())
    if found is None or found[1] in ("super", "sub"):
        return {"super": "superscript", "sub": "subscript"}.get(found[1] if found else "", "")
    height = float(found[1].rstrip("%"))
    return "superscript" if height > 0 else "subscript" if height < 0 else ""


def _shown_name(style: Element) -> str:
    return (style.get(f"{STYLE}display-name") or _decoded(style.get(f"{STYLE}name") or "")).lower()


def _decoded(name: str) -> str:
    """Return the name of a style as it is shown: "Heading_20_1" is "Heading 1"."""
    return _ENCODED.sub(lambda found: chr(int(found[1], 16)), name)
