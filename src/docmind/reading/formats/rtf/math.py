"""Equations of rich text: their groups have the names of Word's elements, from which they are built and read."""

from __future__ import annotations

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from docmind.reading.formats.docx.package import Element, M
from docmind.reading.formats.equations import equation
from docmind.reading.formats.prose import Run
from docmind.reading.formats.rtf.flow import Flow, Inside
from docmind.reading.formats.rtf.parser import State
from docmind.reading.formats.typeset import printable

_DEEPEST = 60
_MOST = 10_000  # elements of an equation

ELEMENTS = (
    "oMathPara", "oMath", "r", "f", "fPr", "num", "den", "e", "sup", "sub", "deg", "sSup", "sSub", "sSubSup",
    "sPre", "rad", "radPr", "nary", "naryPr", "d", "dPr", "func", "fName", "limLow", "limUpp", "lim", "acc",
    "accPr", "bar", "barPr", "m", "mr", "eqArr", "box", "borderBox", "groupChr", "groupChrPr", "phant", "chr",
    "begChr", "endChr", "sepChr", "pos", "type", "degHide", "subHide", "supHide", "limLoc",
)  # fmt: skip
"""The elements of an equation; the words of their groups have an "m" before them."""
_VALUES = frozenset(("chr", "begChr", "endChr", "sepChr", "pos", "type", "degHide", "subHide", "supHide", "limLoc"))


class Math(Inside):
    """One element of an equation; the outermost is the equation itself."""

    def __init__(self, flow: Flow, name: str, above: Math | None) -> None:
        """Begin an element inside another one; None for an equation in the text."""
        super().__init__(flow)
        self.depth: int = 0 if above is None else above.depth + 1
        self._count: list[int] = [0] if above is None else above._count
        self._count[0] += 1
        self._name = name
        self._above = above
        self._text = ""
        self._element: Element = etree.Element(f"{M}{name}")

    def inner(self, name: str) -> Math:
        """Return an element inside this one; this one itself where they are too deep or too many."""
        is_room = self.depth < _DEEPEST and self._count[0] < _MOST
        return Math(self.flow, name, self) if is_room else self

    def text(self, text: str, state: State) -> None:
        """Take text."""
        if not state.is_hidden and not state.is_deleted:
            self._text += printable(text)

    def word(self, name: str, number: int | None, state: State) -> None:
        """Take a control word: that of plain words in an equation."""
        if name == "mnor" and self._element.find(f"{M}rPr") is None:
            etree.SubElement(etree.SubElement(self._element, f"{M}rPr"), f"{M}nor")

    def close(self) -> None:
        """Add this element to the one around it, or the equation to the text."""
        if self._name in _VALUES:
            self._element.set(f"{M}val", self._text.strip())
        elif self._text.strip():
            run = self._element if self._name == "r" else etree.SubElement(self._element, f"{M}r")
            etree.SubElement(run, f"{M}t").text = self._text
        if self._above is not None:
            self._above._element.append(self._element)
            return
        said = equation(self._element)
        if said.text:
            self.flow.para.runs.runs.append(Run(said.text, is_equation=True, latex=said.latex))
            self.flow.hear(said.text)
