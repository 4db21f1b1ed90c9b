"""One paragraph of an OpenDocument text: what it shows, and what hangs on it: notes, comments, frames and drawings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from docmind.blocks import Block, Losses, Table
from docmind.reading.formats.drawings import alternative, figures_of
from docmind.reading.formats.math_text import latex_of_math, words_of_math
from docmind.reading.formats.odf import (
    CHART,
    DC,
    DRAW,
    FIELD,
    FORM,
    LOEXT,
    MATH,
    OFFICE,
    SVG,
    TABLE,
    TEXT,
    XLINK,
    XML,
    Document,
    Element,
    count_of,
)  # fmt: skip
from docmind.reading.formats.odt.charts import chart_of
from docmind.reading.formats.odt.styles import Look, Styles, TextLook
from docmind.reading.formats.prose import ANCHOR_MAX, PAGE_NUMBER, Run, Runs, last_sentence
from docmind.reading.formats.symbols import symbol_text
from docmind.reading.formats.typeset import LINE
from docmind.records.documents import LossKind

_SPACES = re.compile(r"[ \t\r\n]+")
_MOST_SPACES = 200  # of one `text:s`
_OPEN_MAX = 500  # comments open at one time
_UNSHOWN = frozenset(
    (
        f"{TEXT}script", f"{TEXT}tracked-changes", f"{OFFICE}event-listeners", f"{TEXT}note-body", f"{OFFICE}forms",
        f"{TEXT}soft-page-break",
    )
)  # fmt: skip
_PAGE_FIELDS = frozenset((f"{TEXT}page-number", f"{TEXT}page-count"))
_SHAPES = frozenset(
    f"{DRAW}{name}"
    for name in (
        "custom-shape", "rect", "line", "polyline", "polygon", "path", "ellipse", "circle", "regular-polygon",
        "connector", "caption", "measure",
    )
)  # fmt: skip
DRAWN = _SHAPES | {f"{DRAW}{name}" for name in ("frame", "g", "a", "control")}
"""Frames, shapes, groups of them, and controls of forms."""
_WITH_TEXT = frozenset((f"{TEXT}p", f"{TEXT}h", f"{TEXT}list", f"{TABLE}table"))


@dataclass(frozen=True, slots=True)
class Note:
    """A foot- or endnote: its body, the mark shown, and the sentence it stands in."""

    body: Element
    is_endnote: bool
    mark: str
    anchor: str


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment, and the words it is about."""

    element: Element
    anchor: str


@dataclass(slots=True)
class Paragraph:
    """What was read of a paragraph: its text, and in `after` what follows it: blocks, and containers to be read."""

    runs: Runs = field(default_factory=Runs)
    after: list[Block | Table | Element] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)


class Reader:
    """The paragraphs of one part, read in their order: comments may run over several paragraphs."""

    def __init__(self, document: Document, root: Element, styles: Styles, losses: Losses, place: str = "") -> None:
        self._document = document
        self._styles = styles
        self._losses = losses
        self._place = place
        self._para = Paragraph()
        self._controls = {
            control.get(name): control
            for form in root.iter(f"{FORM}form")
            for control in form.iter()
            for name in (f"{XML}id", f"{FORM}id")
            if control.get(name)
        }
        self._ends = {end.get(f"{OFFICE}name") for end in root.iter(f"{OFFICE}annotation-end")}
        self._open: dict[str, tuple[Element, str]] = {}
        self._in_fieldmark: list[str] = []
        self._own = {
            f"{TEXT}s": self._space, f"{TEXT}tab": self._tab, f"{TEXT}line-break": self._line,
            f"{TEXT}span": self._span, f"{TEXT}note": self._note, f"{TEXT}ruby": self._ruby,
            f"{OFFICE}annotation": self._comment, f"{OFFICE}annotation-end": self._comment_end,
            f"{TEXT}hidden-text": self._hidden_text, f"{TEXT}hidden-paragraph": self._hidden_paragraph,
            f"{FIELD}fieldmark": self._fieldmark, f"{MATH}math": self._math,
            **dict.fromkeys(DRAWN, self._drawn),
        }  # fmt: skip

    def paragraph(self, element: Element, look: Look) -> Paragraph:
        """Read a paragraph or heading."""
        self._para = Paragraph()
        self._hear(" ")
        self._children(element, look.text)
        return self._para

    def drawing(self, element: Element) -> Paragraph:
        """Read a frame or shape that stands between paragraphs."""
        self._para = Paragraph()
        self._drawn(element, TextLook())
        return self._para

    def left(self) -> list[Comment]:
        """Return the comments that are still open at the end of the part."""
        left, self._open = list(self._open.values()), {}
        return [Comment(element, " ".join(words.split())) for element, words in left]

    # Text

    def _children(self, element: Element, look: TextLook) -> None:
        self._say(element.text, look)
        for child in element:
            tag = child.tag
            if tag in self._own:
                self._own[tag](child, look)
            elif tag in _PAGE_FIELDS and self._place:
                self._say(PAGE_NUMBER, look)
            elif tag not in _UNSHOWN and child.get(f"{TEXT}display") != "none":
                self._children(child, look)
            self._say(child.tail, look)

    def _say(self, text: str | None, look: TextLook) -> None:
        if not text:
            return
        if look.is_hidden:
            self._para.runs.hidden += bool(text.strip())
            return
        text = _SPACES.sub(" ", symbol_text(text, look.font or ""))
        self._put(text, look)

    def _put(self, text: str, look: TextLook) -> None:
        """Add a text as it stands, with its white space."""
        if look.is_hidden:
            return
        self._para.runs.say(
            text, script=look.script or "", is_struck=bool(look.is_struck), is_bold=bool(look.is_bold)
        )  # fmt: skip
        self._hear(text)

    def _hear(self, text: str) -> None:
        """Add a text to the comments that are open."""
        for key, (element, words) in self._open.items():
            if len(words) < ANCHOR_MAX:
                self._open[key] = element, (words + text)[:ANCHOR_MAX]

    def _space(self, element: Element, look: TextLook) -> None:
        self._put(" " * count_of(element.get(f"{TEXT}c"), _MOST_SPACES), look)

    def _tab(self, element: Element, look: TextLook) -> None:
        self._put("\t", look)

    def _line(self, element: Element, look: TextLook) -> None:
        self._put(LINE, look)

    def _span(self, element: Element, look: TextLook) -> None:
        own = self._styles.look("text", element.get(f"{TEXT}style-name"))
        self._children(element, own.text.within(look))

    def _ruby(self, element: Element, look: TextLook) -> None:
        """Read a word with how it is spoken above it: the word, then that in brackets."""
        for name, before, after in (("ruby-base", "", ""), ("ruby-text", "(", ")")):
            said = element.find(f"{TEXT}{name}")
            if said is not None and any(text.strip() for text in said.itertext()):
                self._say(before, look)
                self._children(said, look)
                self._say(after, look)

    def _hidden_text(self, element: Element, look: TextLook) -> None:
        if element.get(f"{TEXT}is-hidden") == "true":
            self._para.runs.hidden += 1
        else:
            self._say("".join(element.itertext()) or element.get(f"{TEXT}string-value"), look)

    def _hidden_paragraph(self, element: Element, look: TextLook) -> None:
        if element.get(f"{TEXT}is-hidden") == "true":
            self._para.runs.hidden += 1
            self._para.runs.runs.clear()

    def _fieldmark(self, element: Element, look: TextLook) -> None:
        """Read a field as Word has them: a check box as such."""
        kind = element.get(f"{FIELD}type") or ""
        said = {each.get(f"{FIELD}name"): each.get(f"{FIELD}value") or "" for each in element.iter(f"{FIELD}param")}
        if kind.endswith("FORMCHECKBOX"):
            self._say("☒" if said.get("Checkbox_Checked") in ("true", "1") else "☐", look)
        elif kind.endswith("FORMDROPDOWN") and said:
            entries = [
                each.get(f"{FIELD}value") or ""
                for each in element.iter(f"{FIELD}param")
                if each.get(f"{FIELD}name") == "Dropdown_ListEntry"
            ]
            at = count_of(said.get("Dropdown_Selected"), 10_000, 0)
            self._say(entries[at] if at < len(entries) else "", look)
        else:
            self._children(element, look)

    def _math(self, element: Element, look: TextLook) -> None:
        words = words_of_math(element)
        if look.is_hidden or not words:
            self._para.runs.hidden += bool(words)
            return
        self._para.runs.runs.append(Run(words, is_equation=True, latex=latex_of_math(element)))
        self._hear(words)

    # Notes and comments

    def _note(self, element: Element, look: TextLook) -> None:
        body, citation = element.find(f"{TEXT}note-body"), element.find(f"{TEXT}note-citation")
        if look.is_hidden or body is None:
            return
        said = " ".join("".join(citation.itertext()).split()) if citation is not None else ""
        is_own = citation is not None and citation.get(f"{TEXT}label") is not None
        mark = said if is_own or not said else f"[{said[:20]}]"
        is_endnote = element.get(f"{TEXT}note-class") == "endnote"
        anchor = last_sentence(self._para.runs.end(2 * ANCHOR_MAX))
        self._para.notes.append(Note(body, is_endnote, mark, anchor))
        self._put(mark, TextLook())

    def _comment(self, element: Element, look: TextLook) -> None:
        name = element.get(f"{OFFICE}name")
        if name and name in self._ends and name not in self._open and len(self._open) < _OPEN_MAX:
            self._open[name] = element, ""
        else:
            anchor = last_sentence(self._para.runs.end(2 * ANCHOR_MAX))
            self._para.comments.append(Comment(element, anchor))

    def _comment_end(self, element: Element, look: TextLook) -> None:
        said = self._open.pop(element.get(f"{OFFICE}name") or "", None)
        if said is not None:
            self._para.comments.append(Comment(said[0], " ".join(said[1].split())))

    # Frames, shapes and controls

    def _drawn(self, element: Element, look: TextLook) -> None:
        if look.is_hidden:
            self._para.runs.hidden += 1
        elif element.tag == f"{DRAW}frame":
            self._frame(element, look)
        elif element.tag == f"{DRAW}control":
            self._control(element, look)
        else:
            if any(child.tag in _WITH_TEXT for child in element):
                self._para.after.append(element)
            elif alt := _alt_of(element):
                self._para.after.append(Block(kind="figure", text=alt))
            for child in element if element.tag not in _SHAPES else ():
                if child.tag in DRAWN:
                    self._drawn(child, look)

    def _frame(self, frame: Element, look: TextLook) -> None:
        """Read the first of the ways in which a frame says the same: the others are for programs that know less."""
        alt = _alt_of(frame)
        for child in frame:
            name = child.tag
            if name in (f"{DRAW}text-box", f"{TABLE}table"):
                self._para.after.append(frame if name == f"{TABLE}table" else child)
                return
            if name == f"{DRAW}object":
                if not self._object(child, look):
                    self._lost_or_told("embedded_object", alt)
                return
            if name in (f"{DRAW}object-ole", f"{DRAW}applet", f"{DRAW}floating-frame"):
                self._lost_or_told("embedded_object", alt)
                return
            if name == f"{DRAW}plugin":
                self._lost_or_told("media", alt)
                return
            if name == f"{DRAW}image":
                if not alt and "true" in (frame.get(f"{DRAW}decorative"), frame.get(f"{LOEXT}decorative")):
                    return
                picture = None if self._place in ("header", "footer") else self._document.picture_of(child)
                if picture is not None:
                    self._para.after += figures_of(alt, [picture])
                    return
                href = child.get(f"{XLINK}href") or ""
                self._lost_or_told("linked_picture" if "://" in href or href.startswith("../") else "picture", alt)
                return

    def _object(self, element: Element, look: TextLook) -> bool:
        root = self._document.object_of(element)
        if root is None:
            return False
        math = root if root.tag == f"{MATH}math" else root.find(f"{OFFICE}body//{MATH}math")
        if math is not None:
            self._math(math, look)
            return True
        chart = root.find(f"{OFFICE}body/{OFFICE}chart/{CHART}chart")
        if chart is None:
            return False
        table = chart_of(chart)
        if table is None:
            self._losses.note("chart", self._place)
        else:
            self._para.after.append(table)
        return True

    def _lost_or_told(self, kind: LossKind, alt: str) -> None:
        if alt:
            self._para.after.append(Block(kind="figure", text=alt))
        if not alt or kind in ("embedded_object", "media"):
            self._losses.note(kind, self._place)

    def _control(self, element: Element, look: TextLook) -> None:
        control = self._controls.get(element.get(f"{DRAW}control"))
        said = None if control is None else _value_of(control)
        if said is None:
            self._losses.note("form_field", self._place)
        else:
            self._say(said, look)


def author_of(comment: Element) -> str:
    """Return who wrote a comment."""
    return (comment.findtext(f"{DC}creator") or "").strip()[:100]


def _alt_of(element: Element) -> str:
    return alternative(element.findtext(f"{SVG}{name}") for name in ("desc", "title"))


def _value_of(control: Element) -> str | None:
    """Return what a control of a form shows; None for one that is not read."""
    kind = control.tag.removeprefix(FORM)
    label = control.get(f"{FORM}label") or ""
    if kind in ("checkbox", "radio"):
        state = control.get(f"{FORM}current-state") or control.get(f"{FORM}state")
        is_on = state == "checked" or control.get(f"{FORM}current-selected", control.get(f"{FORM}selected")) == "true"
        return f"{'☒' if is_on else '☐'} {label}".strip()
    if kind == "listbox":
        return ", ".join(_chosen(control))
    if kind in ("button", "image", "hidden", "password"):
        return ""
    if kind == "fixed-text":
        return label
    if kind in ("text", "textarea", "combobox", "formatted-text", "number", "date", "time", "value-range"):
        lines = [" ".join("".join(line.itertext()).split()) for line in control.iterfind(f"{TEXT}p")]
        said = control.get(f"{FORM}current-value") or control.get(f"{FORM}value") or ""
        return " ".join(filter(None, lines)) or said
    return None


def _chosen(control: Element) -> Iterator[str]:
    for option in control.iterfind(f"{FORM}option"):
        if option.get(f"{FORM}current-selected", option.get(f"{FORM}selected")) == "true":
            yield option.get(f"{FORM}label") or option.get(f"{FORM}value") or ""
