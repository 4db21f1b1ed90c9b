"""Formulas as words on one line, as a reader would type them: from MathML, and from LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import lxml.html

from docmind.reading.formats.characters import grouped, lowered, raised
from docmind.reading.formats.latex_signs import SIGNS

_DEEPEST = 60
_LONGEST = 20_000  # characters of a formula in LaTeX; a longer one stays as it is
_SIGNS = "=≠<>≤≥≈≡→←⇒⇔∈∉⊂⊆"


def local(element: lxml.html.HtmlElement) -> str:
    """Return the name of an element without its prefix; "" for a comment or instruction."""
    tag = element.tag
    return _local(tag) if isinstance(tag, str) else ""


@lru_cache(4_096)
def _local(tag: str) -> str:
    return tag.rpartition(":")[2].rpartition("}")[2].lower()


def words_of_math(math: lxml.html.HtmlElement) -> str:
    """Return a formula in MathML on one line."""
    said = " ".join(_say(math, 0).split())
    return said or words_of_latex(math.get("alttext") or latex_of_math(math))


def latex_of_math(math: lxml.html.HtmlElement) -> str:
    """Return the LaTeX that a formula in MathML was made of; "" where the page does not keep it."""
    for note in math.iter():
        if local(note) == "annotation" and "tex" in (note.get("encoding") or "").lower():
            return _bare("".join(note.itertext()))
    alternative = math.get("alttext") or ""
    return _bare(alternative) if re.search(r"[\\^_{]", alternative) else ""


def _bare(latex: str) -> str:
    """Return LaTeX without the style around all of it, as encyclopaedias write it."""
    found = re.fullmatch(r"\{\\(?:display|text|script)style\s(.*)\}", latex.strip(), re.S)
    return " ".join((found[1] if found else latex).split())


def _say(element: lxml.html.HtmlElement, depth: int) -> str:
    name = local(element)
    if name in ("annotation", "annotation-xml", "mphantom", "none", "mprescripts", ""):
        return ""
    if depth > _DEEPEST:
        return " ".join("".join(element.itertext()).split())
    if name in ("mi", "mn", "mo", "mtext", "ms"):
        return _token(name, " ".join("".join(element.itertext()).split()))
    if name == "mspace":
        return " "
    kids = [child for child in element if local(child)]
    if name == "semantics":
        return _say(kids[0], depth + 1) if kids else ""
    parts = [_say(kid, depth + 1) for kid in kids]
    if name in _WAYS and len(parts) == _WAYS[name][0]:
        return _WAYS[name][1](*(" ".join(part.split()) for part in parts))
    if name == "msqrt":
        return "√" + grouped("".join(parts).strip())
    if name == "mfenced":
        comma = (element.get("separators") or ",").strip()[:1]
        return (element.get("open") or "(") + comma.join(parts) + (element.get("close") or ")")
    if name == "mtable":
        return "; ".join(part.strip() for part in parts)
    if name == "mtr":
        return ", ".join(part.strip() for part in parts)
    return (element.text or "").strip() + "".join(parts)


def _token(name: str, text: str) -> str:
    text = re.sub("[\u2061-\u2064]", "", text)
    if name == "mtext" or (name == "mi" and len(text) > 1) or (name == "mo" and text.isalpha()):
        return f" {text} "
    return text


_WAYS: dict[str, tuple[int, Callable[..., str]]] = {
    "mfrac": (2, lambda over, under: f"{grouped(over)}/{grouped(under)}"),
    "msup": (2, lambda base, up: _base(base) + raised(up)),
    "msub": (2, lambda base, down: _base(base) + lowered(down)),
    "msubsup": (3, lambda base, down, up: _base(base) + lowered(down) + raised(up)),
    "munderover": (3, lambda base, down, up: _base(base) + lowered(down) + raised(up)),
    "munder": (2, lambda base, down: _base(base) + lowered(down)),
    "mover": (2, lambda base, over: base + over),
    "mroot": (2, lambda base, degree: (raised(degree) if degree.isdecimal() else degree) + "√" + grouped(base)),
}


def _base(base: str) -> str:
    return base if base in "()[]|" or base.endswith(")") else grouped(base)


# --- LaTeX ------------------------------------------------------------------------------------------------------------

_STYLES = """
left right big Big bigg Bigg bigl bigr Bigl Bigr displaystyle textstyle scriptstyle limits nolimits mathstrut middle
nonumber notag boldsymbol
"""
_IGNORED = frozenset(_STYLES.split())
_SPACES = frozenset(("\\,", "\\;", "\\:", "\\ ", "\\!", "\\quad", "\\qquad", "~"))
_TOKENS = re.compile(r"\\[A-Za-z]+\*?|\\.|\s+|.", re.S)


def words_of_latex(latex: str) -> str:
    """Return a formula in LaTeX on one line. One that is very long or deep stays as it is."""
    if len(latex) > _LONGEST:
        return latex
    try:
        return " ".join(_Latex(latex).group("").split())
    except _TooDeepError:
        return latex


class _TooDeepError(Exception):
    """A formula in LaTeX whose groups lie within each other more often than any that is written."""


class _Latex:
    """A formula in LaTeX, read from its first sign to its last."""

    def __init__(self, latex: str) -> None:
        self._signs = _TOKENS.findall(latex)
        self._at = 0
        self._depth = 0

    def group(self, end: str) -> str:
        """Return everything up to the sign `end`, which is taken too."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _TooDeepError
        said: list[str] = []
        while self._at < len(self._signs):
            sign = self._next()
            if sign == end:
                break
            if sign in ("^", "_"):
                said.append((raised if sign == "^" else lowered)(self._atom().strip()))
            else:
                said.append(self._one(sign))
        self._depth -= 1
        return "".join(said)

    def _next(self) -> str:
        sign = self._signs[self._at]
        self._at += 1
        return sign

    def _atom(self) -> str:
        """Return the next group or single sign."""
        while self._at < len(self._signs) and self._signs[self._at].isspace():
            self._at += 1
        if self._at >= len(self._signs):
            return ""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _TooDeepError
        found = self._one(self._next())
        self._depth -= 1
        return found

    def _one(self, sign: str) -> str:
        if sign == "{":
            return self.group("}")
        if sign in _SPACES or sign.isspace() or sign == "&":
            return " "
        if sign in ("\\\\", "\\newline"):
            return "; "
        if not sign.startswith("\\"):
            return "" if sign == "}" else sign
        name = sign[1:].rstrip("*")
        if not name.isalpha():
            return name
        return self._named(name)

    def _named(self, name: str) -> str:
        if name in ("frac", "dfrac", "tfrac", "cfrac"):
            over, under = self._atom().strip(), self._atom().strip()
            return f"{grouped(over)}/{grouped(under)}"
        if name == "sqrt":
            degree = ""
            if self._at < len(self._signs) and self._signs[self._at] == "[":
                self._at += 1
                degree = self.group("]").strip()
            return (raised(degree) if degree.isdecimal() else degree) + "√" + grouped(self._atom().strip())
        if name in ("begin", "end"):
            self._atom()
            return " "
        if name.startswith(("text", "math", "operatorname", "mbox", "hbox", "bm")) and name not in _IGNORED:
            return self._atom()
        if name in ("bar", "hat", "vec", "tilde", "dot", "overline", "underline", "widehat", "boxed"):
            return self._atom()
        if name in _IGNORED:
            return ""
        return SIGNS.get(name, f" {name} ")
