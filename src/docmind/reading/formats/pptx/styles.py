"""What text inherits: the placeholder of a layout and of a master behind a shape, and the styles of its levels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from docmind.reading.formats.ooxml_parts import A, Element, Part

P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"

TITLES = frozenset(("title", "ctrTitle"))
MARGINS = frozenset(("dt", "ftr", "hdr", "sldNum"))
_BOX = f"{P}nvSpPr/{P}nvPr/{P}ph"
_LEVELS = 9

Box = tuple[float, float, float, float]
"""Left, top, width and height of a shape."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """What a shape is a placeholder for ("" for none), and the shapes of the layout and master that it follows."""

    type: str = ""
    models: tuple[Element, ...] = ()


@dataclass(frozen=True, slots=True)
class Styles:
    """The list styles of a text, the nearest first."""

    lists: tuple[Element, ...] = ()

    def of_level(self, level: int) -> Iterator[Element]:
        """Yield the properties of a level (from 0), the nearest first."""
        for said in self.lists:
            found = said.find(f"{A}lvl{min(max(level, 0), _LEVELS - 1) + 1}pPr")
            if found is not None:
                yield found


@dataclass(slots=True)
class Backdrop:
    """The layout and the master behind a slide, and the styles of the presentation."""

    defaults: Element | None = None
    layout: Part | None = None
    master: Part | None = None
    _layout_shapes: list[tuple[str, str, Element]] = field(default_factory=list)
    _master_shapes: list[tuple[str, str, Element]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._layout_shapes = _placeholders(self.layout)
        self._master_shapes = _placeholders(self.master)

    @property
    def compares(self) -> bool:
        """Whether the slide compares two lists, each below a name."""
        return self.layout is not None and self.layout.root.get("type") == "twoTxTwoObj"

    def placeholder(self, shape: Element) -> Placeholder:
        """Return what a shape is a placeholder for: its own type, else that of the layout."""
        said = placeholder_of(shape)
        if said is None:
            return Placeholder()
        index, kind = said.get("idx") or "0", said.get("type") or ""
        by_index = [one for one in self._layout_shapes if one[0] == index and (not kind or _alike(one[1], kind))]
        by_kind = [one for one in self._layout_shapes if kind and _alike(one[1], kind)]
        found = next(iter(by_index or by_kind), None)
        if found is not None and not kind:
            kind = found[1]
        kind = kind or "obj"
        model = next((one for one in self._master_shapes if _family(one[1]) == _family(kind)), None)
        return Placeholder(kind, tuple(one[2] for one in (found, model) if one is not None))

    def styles(self, shape: Element, place: Placeholder) -> Styles:
        """Return the styles of the text of a shape."""
        bodies = [each.find(f"{P}txBody/{A}lstStyle") for each in (shape, *place.models)]
        family = _family(place.type) if place.type else "other"
        name = {"title": "titleStyle", "body": "bodyStyle"}.get(family, "otherStyle")
        of_master = self.master.root.find(f"{P}txStyles/{P}{name}") if self.master is not None else None
        lists = (*bodies, of_master if place.type else None, self.defaults)
        return Styles(tuple(said for said in lists if said is not None and len(said)))

    def plain(self) -> Styles:
        """Return the styles of text that is in no placeholder, as in tables."""
        return Styles((self.defaults,) if self.defaults is not None else ())

    def fixed(self, slide: Element) -> Iterator[Element]:
        """Yield the shapes that layout and master show on a slide beside its own: all but placeholders."""
        parts = [self.layout] if slide.get("showMasterSp", "1") in ("1", "true") else []
        if parts and self.layout is not None and self.layout.root.get("showMasterSp", "1") in ("1", "true"):
            parts.append(self.master)
        for part in parts:
            for shape in part.root.iter(f"{P}sp") if part is not None else ():
                if placeholder_of(shape) is None:
                    yield shape


def placeholder_of(shape: Element) -> Element | None:
    """Return what says that a shape is a placeholder; None where it is none."""
    return next((said for said in shape.iterfind(f"{P}*/{P}nvPr/{P}ph")), None)


def box_of(shape: Element, place: Placeholder) -> Box | None:
    """Return where a shape stands, itself or as the placeholder that it follows; None where nothing says it."""
    for each in (shape, *place.models):
        for path in (f"{P}spPr/{A}xfrm", f"{P}grpSpPr/{A}xfrm", f"{P}xfrm"):
            frame = each.find(path)
            if frame is not None and (found := _box(frame)) is not None:
                return found
    return None


def _box(frame: Element) -> Box | None:
    start, size = frame.find(f"{A}off"), frame.find(f"{A}ext")
    if start is None or size is None:
        return None
    try:
        return float(start.get("x")), float(start.get("y")), float(size.get("cx")), float(size.get("cy"))
    except (TypeError, ValueError):
        return None


def _placeholders(part: Part | None) -> list[tuple[str, str, Element]]:
    """Return index, type and shape of each placeholder of a layout or master."""
    found = list[tuple[str, str, Element]]()
    for shape in part.root.iter(f"{P}sp") if part is not None else ():
        said = shape.find(_BOX)
        if said is not None:
            found.append((said.get("idx") or "0", said.get("type") or "obj", shape))
    return found


def _alike(one: str, other: str) -> bool:
    return one == other or (one in TITLES and other in TITLES)


def _family(kind: str) -> str:
    """Return the kind of placeholder of a master that one of a slide follows."""
    return "title" if kind in TITLES else kind if kind in MARGINS else "body"
