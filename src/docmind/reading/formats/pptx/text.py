"""The paragraphs of a shape: the text that a slide shows, and the bullet or number before each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from docmind.reading.formats.characters import struck, subscript, superscript, tidy
from docmind.reading.formats.equations import Said, equation
from docmind.reading.formats.numerals import bullet, numeral
from docmind.reading.formats.ooxml_parts import MC, A, Element, M, chosen_of, number
from docmind.reading.formats.pptx.styles import Styles
from docmind.reading.formats.symbols import symbol_text
from docmind.reading.formats.typeset import LINE

_A14 = "{http://schemas.microsoft.com/office/drawing/2010/main}"
UNDERSTOOD = re.compile(r"/drawing/20(?:07|08|10|12|14|15|16)/|/powerpoint/20(?:10|12|13)/|:vml$|/vml$")
_AUTO = re.compile(
    r"(alphaLc|alphaUc|arabicDb|arabic|romanLc|romanUc|circleNum\w*?|ea1\w*?)(Plain|Period|ParenR|ParenBoth)"
)
_KINDS = {
    "alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman",
    "arabicDb": "decimalFullWidth", "circleNum": "decimalEnclosedCircle",
}  # fmt: skip
_AROUND = {"Plain": ("", ""), "Period": ("", "."), "ParenR": ("", ")"), "ParenBoth": ("(", ")")}
_SIZE = 1_800  # of text that has no size of its own, in hundredths of a point
_BULLETS = ("buNone", "buChar", "buAutoNum", "buBlip")
_BESIDE = re.compile(r"[\s.,;:]*+(\([\w.\-]{1,8}\))?[\s.,;:]*")  # what may stand beside an equation of its own line


@dataclass(slots=True)
class Piece:
    """A part of a paragraph: text, or an equation; raised or lowered, or struck out."""

    said: str | Said
    script: str = ""
    is_struck: bool = False


@dataclass(slots=True)
class Paragraph:
    """A paragraph as it is shown. `level` is that of its indent, from 0, `size` its largest type in points."""

    text: str
    level: int = 0
    marker: str = ""
    is_bold: bool = False
    size: float = 0.0
    equations: list[Said] = field(default_factory=list)


def paragraphs_of(body: Element | None, styles: Styles) -> list[Paragraph]:
    """Return the paragraphs of a text body that show something."""
    found = list[Paragraph]()
    numbers = _Numbers()
    for element in body.iterfind(f"{A}p") if body is not None else ():
        properties = element.find(f"{A}pPr")
        level = min(max(number(properties.get("lvl")) if properties is not None else 0, 0), 8)
        above = list(styles.of_level(level))
        read = _Runs(above)
        read.children(element)
        pieces = _merged(read.pieces)
        text = _shown(pieces)
        if not text:
            continue
        paragraph = Paragraph(text, level, numbers.marker(level, [properties, *above]), read.is_bold, read.size)
        equations = [piece.said for piece in pieces if isinstance(piece.said, Said)]
        words = "".join(piece.said for piece in pieces if isinstance(piece.said, str))
        if equations and _BESIDE.fullmatch(words):
            paragraph.equations = equations
        found.append(paragraph)
    return found


def plain_text(elements: Iterable[Element]) -> str:
    """Return the text of paragraphs in one line, without looks."""
    lines = ("".join(part.text or "" for part in each.iter(f"{A}t")) for each in elements)
    return " ".join(tidy(" ".join(lines)).split())


class _Runs:
    """The runs of one paragraph."""

    def __init__(self, levels: Iterable[Element]) -> None:
        self.pieces = list[Piece]()
        self._defaults = [said for each in levels if (said := each.find(f"{A}defRPr")) is not None]
        self._bold = self._plain = 0
        self.size = 0.0

    @property
    def is_bold(self) -> bool:
        """Whether all of the text is bold."""
        return self._bold > 0 and self._plain == 0

    def children(self, element: Element) -> None:
        """Read what stands in a paragraph."""
        for child in element:
            tag = child.tag
            if tag in (f"{A}r", f"{A}fld"):
                self._run(child)
            elif tag == f"{A}br":
                self.pieces.append(Piece(LINE))
            elif tag == f"{_A14}m":
                self.pieces += [Piece(equation(each)) for each in child if str(each.tag).startswith(M)]
            elif tag == f"{MC}AlternateContent" and (chosen := chosen_of(child, UNDERSTOOD)) is not None:
                self.children(chosen)

    def _run(self, run: Element) -> None:
        own = run.find(f"{A}rPr")
        said = [own, *self._defaults] if own is not None else self._defaults
        text = symbol_text("".join(part.text or "" for part in run.iterfind(f"{A}t")), _font(own))
        if _first(said, "cap") == "all":
            text = text.upper()
        raised = number((_first(said, "baseline") or "0").removesuffix("%"))
        script = "superscript" if raised > 0 else "subscript" if raised < 0 else ""
        self.pieces.append(Piece(text, script, _first(said, "strike") in ("sngStrike", "dblStrike")))
        if text.strip():
            self.size = max(self.size, number(_first(said, "sz"), _SIZE) / 100)
            is_bold = _first(said, "b") in ("1", "true")
            self._bold += is_bold
            self._plain += not is_bold


def _first(said: Iterable[Element], name: str) -> str | None:
    return next((value for each in said if (value := each.get(name)) is not None), None)


def _font(properties: Element | None) -> str:
    """Return the font of a run where it is one of symbols, which have their own places for characters."""
    for name in ("sym", "latin"):
        font = properties.find(f"{A}{name}") if properties is not None else None
        if font is not None and (face := font.get("typeface") or "").lower().startswith(("wingdings", "symbol")):
            return face
    return ""


def _merged(pieces: Iterable[Piece]) -> list[Piece]:
    """Join texts side by side of the same looks."""
    found = list[Piece]()
    for piece in pieces:
        last = found[-1] if found else None
        if (
            last is not None
            and isinstance(last.said, str)
            and isinstance(piece.said, str)
            and (last.script, last.is_struck) == (piece.script, piece.is_struck)
        ):
            last.said += piece.said
        else:
            found.append(piece)
    return found


def _shown(pieces: Iterable[Piece]) -> str:
    """Return a paragraph as text: raised and lowered characters as such, what is struck out between tildes."""
    whole, out = "", ""
    for piece in pieces:
        said = piece.said if isinstance(piece.said, str) else piece.said.text
        ahead = (out or whole)[-5:]
        if piece.script == "superscript":
            said = superscript(said, ahead) if said.strip() else said
        elif piece.script == "subscript":
            said = subscript(said, ahead) if said.strip() else said
        if piece.is_struck:
            out += said
        else:
            whole, out = whole + _struck(out) + said, ""
    rows = (" ".join(row.split()) for row in tidy(whole + _struck(out)).split(LINE))
    return LINE.join(filter(None, rows))


def _struck(text: str) -> str:
    inner = text.strip()
    return text.replace(inner, struck(inner), 1) if inner else text


class _Numbers:
    """The counters of the numbered lists of one text."""

    def __init__(self) -> None:
        self._counts: dict[int, tuple[str, int, int]] = {}  # by level: kind, first number and current one

    def marker(self, level: int, inherited: Iterable[Element | None]) -> str:
        """Count a paragraph, and return the bullet or number that it shows; "" for none."""
        said, font = _bullet(inherited)
        kept = level if said is None or said.tag != f"{A}buAutoNum" else level + 1
        last = self._counts.get(level)
        self._counts = {each: count for each, count in self._counts.items() if each < kept}
        if said is None or said.tag == f"{A}buNone":
            return ""
        if said.tag == f"{A}buChar":
            return bullet(said.get("char") or "", font)
        if said.tag == f"{A}buBlip":
            return "•"
        kind, start = said.get("type") or "arabicPeriod", max(number(said.get("startAt"), 1), 1)
        count = last[2] + 1 if last is not None and last[:2] == (kind, start) else start
        self._counts[level] = kind, start, count
        return _number(kind, count)


def _bullet(inherited: Iterable[Element | None]) -> tuple[Element | None, str]:
    """Return the nearest element that says which bullet there is, and the font of bullets."""
    said: Element | None = None
    font = ""
    for each in inherited:
        if each is None:
            continue
        said = _either(each) if said is None else said
        face = each.find(f"{A}buFont")
        font = font or (face.get("typeface") or "" if face is not None else "")
        if said is not None and font:
            break
    return said, font


def _either(properties: Element) -> Element | None:
    return next((said for name in _BULLETS if (said := properties.find(f"{A}{name}")) is not None), None)


def _number(kind: str, count: int) -> str:
    found = _AUTO.match(kind)
    if found is None:
        return f"{count}."
    name = "circleNum" if found[1].startswith("circleNum") else found[1]
    shown = numeral(count, "chineseCounting" if name.startswith("ea1") else _KINDS.get(name, "decimal"))
    before, behind = _AROUND[found[2]]
    return f"{before}{shown}{behind}"


def lines_of(paragraphs: Iterable[Paragraph]) -> Iterator[str]:
    """Yield paragraphs with their markers, one a line."""
    return (f"{each.marker} {each.text}" if each.marker else each.text for each in paragraphs)
