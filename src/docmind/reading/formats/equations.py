"""Equations of Office files, as a line of plain text and as LaTeX."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

from docmind.reading.formats.latex_signs import COMMANDS
from docmind.reading.formats.ooxml_parts import ANY, Element, M


def _words(text: str) -> list[str]:
    return text.split()


_ESCAPED = {char: f"\\{char}" for char in "%&#$_{}"} | {"\\": r"\backslash ", "~": r"\sim ", "^": r"\hat{}"}
_ACCENTS = {
    "\u0302": "hat", "\u0303": "tilde", "\u0304": "bar", "\u0305": "overline", "\u0307": "dot", "\u0308": "ddot",
    "\u20d7": "vec", "\u20d6": "overleftarrow", "\u030c": "check", "\u0301": "acute", "\u0300": "grave",
    "\u0306": "breve", "\u033f": "overline",
}  # fmt: skip
_FUNCTIONS = frozenset(
    _words(
        "sin cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan log ln lg exp lim max min sup inf "
        "det dim gcd arg deg hom ker Pr"
    )
)
_ROOTS = {"3": "∛", "4": "∜"}


class Said(NamedTuple):
    """Part of an equation: as plain text, and as LaTeX."""

    text: str = ""
    latex: str = ""


def equation(element: Element) -> Said:
    """Return an equation, `m:oMath` or `m:oMathPara`."""
    said = _inside(element)
    return Said(" ".join(said.text.split()), " ".join(said.latex.split()))


def _inside(element: Element | None) -> Said:
    if element is None:
        return Said()
    parts = [_one(child) for child in element if isinstance(child.tag, str)]
    return Said("".join(part.text for part in parts), _joined([part.latex for part in parts]))


def _joined(parts: list[str]) -> str:
    """Join parts of LaTeX, with a space where a command would run into a letter."""
    whole = ""
    for part in filter(None, parts):
        is_command = whole.rpartition("\\")[2].isalpha() and "\\" in whole
        whole += f" {part}" if is_command and part[0].isalpha() else part
    return whole


def _one(element: Element) -> Said:
    name = ANY.sub("", element.tag)
    if name in _READ:
        return _READ[name](element)
    if name.endswith("Pr") or name in ("del", "moveFrom", "instrText", "delText"):
        return Said()
    return _inside(element)


def _part(element: Element, name: str) -> Said:
    return _inside(element.find(f"{M}{name}"))


def _said_of(element: Element, path: str, default: str) -> str:
    """Return what a property says: its value, "" where it is there and empty."""
    found = element.find("/".join(f"{M}{name}" for name in path.split("/")))
    return default if found is None else found.get(f"{M}val", "")


def _run(element: Element) -> Said:
    text = "".join(child.text or "" for child in element if ANY.sub("", str(child.tag)) == "t")
    if element.find(f"{M}rPr/{M}nor") is not None and text.strip():
        return Said(text, f"\\text{{{''.join(_ESCAPED.get(char, char) for char in text)}}}")
    return Said(text, _latex(text))


def _latex(text: str) -> str:
    if text.strip() in _FUNCTIONS:
        return f"\\{text.strip()}"
    parts = [f"\\{COMMANDS[char]}" if char in COMMANDS else _ESCAPED.get(char, char) for char in text]
    return _joined(parts)


def _is_simple(text: str) -> bool:
    inner = text.strip()
    return inner.replace(".", "").replace(",", "").isalnum() or len(inner) <= 1 or _is_bracketed(inner)


def _is_bracketed(text: str) -> bool:
    """Return whether one pair of brackets is around all of a text."""
    if not (text.startswith("(") and text.endswith(")")):
        return False
    deep = 0
    for at, char in enumerate(text):
        deep += (char == "(") - (char == ")")
        if deep == 0:
            return at == len(text) - 1
    return False


def _group(text: str) -> str:
    """Return a text that keeps together in a line."""
    return text if _is_simple(text) else f"({text.strip()})"


def _fraction(element: Element) -> Said:
    above, below = _part(element, "num"), _part(element, "den")
    kind = _said_of(element, "fPr/type", "bar")
    if kind == "noBar":
        return Said(f"{above.text} over {below.text}", f"{{{above.latex} \\atop {below.latex}}}")
    text = f"{_group(above.text)}/{_group(below.text)}"
    if kind in ("lin", "skw"):
        return Said(text, f"{above.latex}/{below.latex}")
    return Said(text, f"\\frac{{{above.latex}}}{{{below.latex}}}")


def _script(element: Element) -> Said:
    base, low, high = _part(element, "e"), _part(element, "sub"), _part(element, "sup")
    text = _group(base.text) if len(base.text.strip()) > 1 and not base.text.strip().isalnum() else base.text
    latex = base.latex if len(base.latex) == 1 or not base.latex else f"{{{base.latex}}}"
    return Said(text, latex) if not (low.text or high.text) else _with_scripts(text, latex, low, high)


def _with_scripts(text: str, latex: str, low: Said, high: Said) -> Said:
    if low.text:
        text, latex = f"{text}_{_group(low.text)}", f"{latex}_{{{low.latex}}}"
    if high.text:
        text, latex = f"{text}^{_group(high.text)}", f"{latex}^{{{high.latex}}}"
    return Said(text, latex)


def _before(element: Element) -> Said:
    base, scripts = _part(element, "e"), _with_scripts("", "{}", _part(element, "sub"), _part(element, "sup"))
    return Said(f"{scripts.text}{base.text}", f"{scripts.latex}{base.latex}")


def _root(element: Element) -> Said:
    inner, degree = _part(element, "e"), _part(element, "deg")
    if not degree.text.strip():
        return Said(f"√{_group(inner.text)}", f"\\sqrt{{{inner.latex}}}")
    sign = _ROOTS.get(degree.text.strip(), f"{_group(degree.text)}√")
    return Said(f"{sign}{_group(inner.text)}", f"\\sqrt[{degree.latex}]{{{inner.latex}}}")


def _nary(element: Element) -> Said:
    sign = _said_of(element, "naryPr/chr", "∫") or "∫"
    head = _with_scripts(sign, _latex(sign), _part(element, "sub"), _part(element, "sup"))
    inner = _part(element, "e")
    return Said(f"{head.text} {inner.text}", f"{head.latex} {inner.latex}")


def _delimited(element: Element) -> Said:
    begin, end = _said_of(element, "dPr/begChr", "("), _said_of(element, "dPr/endChr", ")")
    between = _said_of(element, "dPr/sepChr", "|")
    parts = [_inside(part) for part in element.iterfind(f"{M}e")]
    latex = _latex(between).join(part.latex for part in parts)
    left, right = _latex(begin) or ".", _latex(end) or "."
    text = between.join(part.text for part in parts)
    return Said(f"{begin}{text}{end}", f"\\left{left} {latex} \\right{right}")


def _matrix(element: Element) -> Said:
    rows = [[_inside(cell) for cell in row.iterfind(f"{M}e")] for row in element.iterfind(f"{M}mr")]
    text = "; ".join(", ".join(cell.text for cell in row) for row in rows)
    latex = r" \\ ".join(" & ".join(cell.latex for cell in row) for row in rows)
    return Said(f"[{text}]", f"\\begin{{matrix}} {latex} \\end{{matrix}}")


def _lines(element: Element) -> Said:
    parts = [_inside(line) for line in element.iterfind(f"{M}e")]
    latex = r" \\ ".join(part.latex for part in parts)
    return Said("; ".join(part.text.replace("&", "") for part in parts), f"\\begin{{aligned}} {latex} \\end{{aligned}}")


def _accent(element: Element) -> Said:
    inner = _part(element, "e")
    sign = _said_of(element, "accPr/chr", "\u0302") or "\u0302"
    marked = f"{inner.text}{sign}" if unicodedata.combining(sign[0]) else f"{sign}{inner.text}"
    return Said(unicodedata.normalize("NFC", marked), f"\\{_ACCENTS.get(sign, 'hat')}{{{inner.latex}}}")


def _bar(element: Element) -> Said:
    inner = _part(element, "e")
    is_above = _said_of(element, "barPr/pos", "bot") == "top"
    return Said(inner.text, f"\\{'overline' if is_above else 'underline'}{{{inner.latex}}}")


def _function(element: Element) -> Said:
    name, inner = _part(element, "fName"), _part(element, "e")
    return Said(f"{name.text.strip()} {inner.text.strip()}", f"{name.latex} {inner.latex}")


def _limit(element: Element) -> Said:
    base, limit = _part(element, "e"), _part(element, "lim")
    if element.tag.endswith("limUpp"):
        return Said(f"{base.text}^{_group(limit.text)}", f"\\overset{{{limit.latex}}}{{{base.latex}}}")
    if base.latex.lstrip("\\") in _FUNCTIONS:
        return Said(f"{base.text}_{_group(limit.text)}", f"{base.latex}_{{{limit.latex}}}")
    return Said(f"{base.text}_{_group(limit.text)}", f"\\underset{{{limit.latex}}}{{{base.latex}}}")


def _box(element: Element) -> Said:
    inner = _part(element, "e")
    return Said(inner.text, f"\\boxed{{{inner.latex}}}")


def _paragraph(element: Element) -> Said:
    parts = [equation(each) for each in element.iterfind(f".//{M}oMath")]
    return Said("; ".join(part.text for part in parts), r" \\ ".join(part.latex for part in parts))


_READ = {
    "r": _run, "f": _fraction, "sSup": _script, "sSub": _script, "sSubSup": _script, "sPre": _before, "rad": _root,
    "nary": _nary, "d": _delimited, "m": _matrix, "eqArr": _lines, "acc": _accent, "bar": _bar, "func": _function,
    "limLow": _limit, "limUpp": _limit, "borderBox": _box, "oMathPara": _paragraph,
}  # fmt: skip
