"""One paragraph: the text that it shows, and what hangs on it: notes, comments, text boxes, pictures, page breaks.

Text that was inserted while changes are tracked is text; deleted and moved-away text is not. A field shows its result,
not its instruction.

It is one module of more than 500 lines because whatever stands in a run has its rule here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from docmind.blocks import Block, Losses, Picture, Table
from docmind.reading.formats.characters import subscript, superscript
from docmind.reading.formats.docx.package import (
    DGM,
    MC,
    W14,
    WP,
    A,
    C,
    Element,
    M,
    O,
    Package,
    Part,
    R,
    V,
    W,
    is_on,
    number,
    value,
)  # fmt: skip
from docmind.reading.formats.docx.styles import Styles, is_struck_out, script_of
from docmind.reading.formats.drawings import alternative, chart_of, figures_of, is_decoration, items_of_diagram
from docmind.reading.formats.equations import Said, equation
from docmind.reading.formats.numerals import numeral
from docmind.reading.formats.ooxml import Link
from docmind.reading.formats.ooxml_parts import chosen_of
from docmind.reading.formats.prose import (
    ANCHOR_MAX,
    BREAK,
    PAGE_NUMBER,
    STRUCK,
    is_beside_equation,
    last_sentence,
    struck_out,
)
from docmind.reading.formats.symbols import symbol_text
from docmind.reading.formats.typeset import LINE

GONE = frozenset(f"{W}{name}" for name in ("del", "moveFrom"))
"""Tracked changes whose text is no longer there."""
_THROUGH = frozenset(
    f"{W}{name}"
    for name in ("ins", "moveTo", "hyperlink", "smartTag", "customXml", "fldSimple", "dir", "bdo", "sdtContent", "rt")
)
UNDERSTOOD = re.compile(r"wordprocessing(Shape|Group|Canvas|Drawing|ml)|/word/|drawingml|/drawing/20(07|10|14)/")
_OPEN_MAX = 500  # comments open at one time
_SCRIPTS = {"superscript": superscript, "subscript": subscript}
_SCRIPT_MAX = 100  # characters of raised or lowered text over several runs
_PAGE_FIELD = re.compile(r"\s*(PAGE|NUMPAGES|SECTIONPAGES)\b", re.IGNORECASE)


@dataclass(slots=True)
class Note:
    """A mark of a foot- or endnote: its part's type, its id there, the mark shown, and the sentence it stands in."""

    part: str
    id: str
    mark: str
    anchor: str


@dataclass(slots=True)
class Read:
    """What was read of a paragraph. `parts` are texts, with `BREAK` where a page ends, and equations."""

    parts: list[str | Said] = field(default_factory=list)
    boxes: list[Element] = field(default_factory=list)
    after: list[Block | Table] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)
    has_display: bool = False
    bold: int = 0
    plain: int = 0
    hidden: int = 0

    def text(self) -> str:
        """Return the text with its equations in it, and what is struck out between tildes."""
        return struck_out("".join(part if isinstance(part, str) else part.text for part in self.parts))

    def end(self, most: int) -> str:
        """Return the last characters of the text, without reading all of a long one."""
        parts, length = list[str](), 0
        for part in reversed(self.parts):
            parts.append(part if isinstance(part, str) else part.text)
            length += len(parts[-1])
            if length >= most:
                break
        return "".join(reversed(parts))[-most:]

    def equations(self) -> list[Said]:
        """Return the equations of a paragraph that shows nothing else but a number; none where there is text."""
        found = [part for part in self.parts if isinstance(part, Said)]
        words = "".join(part for part in self.parts if isinstance(part, str)) if found else ""
        return found if is_beside_equation(words) else []

    @property
    def is_bold(self) -> bool:
        """Whether all of the text is bold."""
        return self.bold > 0 and self.plain == 0


@dataclass(slots=True)
class _Field:
    """A complex field that was begun: its instruction so far, and whether its result was reached."""

    instruction: str = ""
    in_result: bool = False
    shown: str = ""  # the value of a form field, which shows where there is no result


@dataclass(frozen=True, slots=True)
class _Script:
    """The raised or lowered text that was read last: where it stands among the parts, and as it was written."""

    kind: str
    start: int
    end: int
    text: str


class Reader:
    """The paragraphs of one part, read in their order: fields and comments may run over several paragraphs."""

    def __init__(self, part: Part, package: Package, styles: Styles, losses: Losses, place: str = "") -> None:
        self.part = part
        self._package = package
        self._styles = styles
        self._losses = losses
        self._place = place
        self._fields: list[_Field] = []
        self._open: dict[str, str] = {}
        self._drawn_parts: set[str] = set()
        self.anchors: dict[str, str] = {}
        self._marks = {"footnotes": ("decimal", 1), "endnotes": ("lowerRoman", 1)}
        if not place:
            settings = package.linked(part, "settings")
            for root in (part.root, settings.root if settings is not None else None):
                self._set_marks(root)
        self._counts: dict[str, int] = {}
        self._para = Read()
        self._script: _Script | None = None
        kinds = [each.get(f"{W}fldCharType") for each in part.root.iter(f"{W}fldChar")]
        # An instruction that no end follows would hide the rest of the document.
        self._hides = kinds.count("begin") == kinds.count("end")
        self._own = {
            f"{W}r": self._run, f"{W}sdt": self._control, f"{MC}AlternateContent": self._alternate,
            f"{M}oMath": self._math, f"{M}oMathPara": self._math, f"{W}fldSimple": self._simple_field,
            f"{W}commentRangeStart": self._comment_start, f"{W}commentRangeEnd": self._comment_end,
            f"{W}ruby": self._ruby, f"{W}p": self._inner_paragraph,
        }  # fmt: skip
        self._in_run = {
            f"{W}noBreakHyphen": "-", f"{W}tab": "\t", f"{W}ptab": "\t", f"{W}cr": LINE,
        }  # fmt: skip

    def paragraph(self, element: Element, style: str | None, carried: Read | None = None) -> Read:
        """Read a paragraph, after what was carried over from one whose end was deleted."""
        self._para = carried or Read()
        self._script = None
        if carried is None:
            self._hear(" ")
        look = self._styles.look(style)
        self._bold, self._hidden = look.is_bold, look.is_hidden
        self._children(element, is_hidden=False)
        return self._para

    def _children(self, element: Element, *, is_hidden: bool) -> None:
        for child in element:
            tag = child.tag
            if tag in self._own:
                self._own[tag](child, is_hidden=is_hidden)
            elif tag in _THROUGH:
                self._children(child, is_hidden=is_hidden)

    def _inner_paragraph(self, element: Element, *, is_hidden: bool) -> None:
        """Read a paragraph inside one, which only a damaged document has."""
        self._say(" ", is_hidden=is_hidden)
        self._children(element, is_hidden=is_hidden)

    # Text

    def _run(self, run: Element, *, is_hidden: bool) -> None:
        properties = run.find(f"{W}rPr")
        bold, font = self._bold, ""
        hidden = is_hidden or self._hidden
        script, is_struck = "", False
        if properties is not None:
            style = value(properties, "rStyle")
            look = self._styles.look(style) if style else None
            bold = self._bold or (look is not None and look.is_bold)
            own_bold, own_hidden = is_on(properties, "b"), is_on(properties, "vanish")
            bold = bold if own_bold is None else own_bold
            hidden = is_hidden or (
                (self._hidden or (look is not None and look.is_hidden)) if own_hidden is None else own_hidden
            )
            script, is_struck = script_of(properties), is_struck_out(properties)
            if look is not None:
                script = look.script if script is None else script
                is_struck = look.is_struck if is_struck is None else is_struck
            fonts = properties.find(f"{W}rFonts")
            font = (fonts.get(f"{W}ascii") or fonts.get(f"{W}hAnsi") or "") if fonts is not None else ""
        before = len(self._para.parts)
        for child in run:
            self._in(child, font, is_hidden=hidden)
        letters = sum(len(part.strip()) for part in self._para.parts[before:] if isinstance(part, str))
        if bold:
            self._para.bold += letters
        else:
            self._para.plain += letters
        if script in _SCRIPTS:
            self._raise_or_lower(script, before)
        if is_struck and letters:
            self._para.parts.insert(before, STRUCK)
            self._para.parts.append(STRUCK)

    def _raise_or_lower(self, kind: str, start: int) -> None:
        """Put raised or lowered characters in place of a run, and of one of its kind right before it."""
        parts, last, text = self._para.parts, self._script, ""
        if last is not None and last.kind == kind and last.end == start and len(last.text) <= _SCRIPT_MAX:
            start, text = last.start, last.text
            said = parts[last.end :]
        else:
            said = parts[start:]
        if not said or not all(isinstance(part, str) for part in said):
            return
        text += "".join(map(str, said))
        ahead = next((part for part in reversed(parts[max(0, start - 5) : start]) if part), "")
        parts[start:] = [_SCRIPTS[kind](text, ahead if isinstance(ahead, str) else ahead.text)]
        self._script = _Script(kind, start, len(parts), text)

    def _in(self, child: Element, font: str, *, is_hidden: bool) -> None:
        tag = child.tag
        if tag == f"{W}t":
            self._say(symbol_text(child.text or "", font), is_hidden=is_hidden)
        elif tag in self._in_run:
            self._say(self._in_run[tag], is_hidden=is_hidden)
        elif tag == f"{W}br":
            is_page = child.get(f"{W}type") == "page"
            self._say(BREAK if is_page else LINE, is_hidden=is_hidden)
        elif tag == f"{W}instrText":
            if self._fields:
                self._fields[-1].instruction = (self._fields[-1].instruction + (child.text or ""))[:1_000]
        elif tag == f"{W}fldChar":
            self._field_mark(child, is_hidden=is_hidden)
        elif tag == f"{W}sym":
            self._say(_symbol(child), is_hidden=is_hidden)
        elif tag in (f"{W}footnoteReference", f"{W}endnoteReference"):
            self._note_mark(child, is_hidden=is_hidden)
        elif tag == f"{W}commentReference":
            self._para.comments.append(child.get(f"{W}id") or "")
        elif tag == f"{W}pgNum":
            self._say(PAGE_NUMBER, is_hidden=is_hidden)
        elif tag in (f"{W}drawing", f"{W}pict", f"{W}object"):
            self._drawn(child, is_hidden=is_hidden)
        elif tag in (f"{W}contentPart", f"{W}subDoc"):
            self._lost("part")
        elif tag in self._own:
            self._own[tag](child, is_hidden=is_hidden)

    def _say(self, text: str, *, is_hidden: bool = False) -> None:
        if not text or (self._hides and any(not each.in_result for each in self._fields)):
            return
        if is_hidden:
            self._para.hidden += bool(text.strip())
            return
        self._para.parts.append(text)
        self._hear(text)

    def _hear(self, text: str) -> None:
        """Add a text to the comments that are open."""
        for key in list(self._open):
            self._open[key] += text[:ANCHOR_MAX]
            if len(self._open[key]) > ANCHOR_MAX:
                self._close(key)

    def _ruby(self, element: Element, *, is_hidden: bool) -> None:
        """Read a word with how it is spoken above it: the word, then that in brackets."""
        for part, before, after in (("rubyBase", "", ""), ("rt", "(", ")")):
            said = element.find(f"{W}{part}")
            if said is not None and any(text.text for text in said.iter(f"{W}t")):
                self._say(before, is_hidden=is_hidden)
                self._children(said, is_hidden=is_hidden)
                self._say(after, is_hidden=is_hidden)

    def _math(self, element: Element, *, is_hidden: bool) -> None:
        said = equation(element)
        if not said.text:
            return
        if is_hidden:
            self._para.hidden += 1
            return
        self._para.parts.append(said)
        self._para.has_display |= element.tag == f"{M}oMathPara"
        self._hear(said.text)

    def _alternate(self, element: Element, *, is_hidden: bool) -> None:
        chosen = chosen_of(element, UNDERSTOOD)
        if chosen is not None:
            for child in chosen:
                self._in(child, "", is_hidden=is_hidden)

    # Fields and forms

    def _simple_field(self, element: Element, *, is_hidden: bool) -> None:
        if self._place and _PAGE_FIELD.match(element.get(f"{W}instr") or ""):
            self._say(PAGE_NUMBER, is_hidden=is_hidden)
        else:
            self._children(element, is_hidden=is_hidden)

    def _field_mark(self, element: Element, *, is_hidden: bool) -> None:
        kind = element.get(f"{W}fldCharType")
        if kind == "begin":
            shown = _form_value(element)
            if shown in ("☒", "☐"):
                self._say(shown, is_hidden=is_hidden)
                shown = ""
            if len(self._fields) < 100:
                self._fields.append(_Field(shown=shown))
        elif kind == "separate" and self._fields:
            here = self._fields[-1]
            if self._place and _PAGE_FIELD.match(here.instruction):
                here.shown = PAGE_NUMBER  # its digits stay hidden as an instruction does
            else:
                here.in_result = True
                here.shown = ""
        elif kind == "end" and self._fields:
            here = self._fields.pop()
            button = re.match(r"\s*(?:MACROBUTTON|GOTOBUTTON)\s+\S+\s+(.+)", here.instruction, re.IGNORECASE)
            if not here.in_result and here.instruction.split()[:1] == ["EQ"]:
                self._lost("equation")
            is_page = self._place and not here.in_result and _PAGE_FIELD.match(here.instruction)
            self._say(
                PAGE_NUMBER if is_page else here.shown or (button.group(1).strip() if button else ""),
                is_hidden=is_hidden,
            )

    def _control(self, element: Element, *, is_hidden: bool) -> None:
        """Read a content control: a check box as such, of all others what is filled in."""
        box = element.find(f"{W}sdtPr/{W14}checkbox")
        content = element.find(f"{W}sdtContent")
        if box is not None:
            checked = box.find(f"{W14}checked")
            is_checked = checked is not None and (checked.get(f"{W14}val") or "1") in ("1", "true", "on")
            self._say("☒" if is_checked else "☐", is_hidden=is_hidden)
        elif content is not None:
            before = len(self._para.parts)
            self._children(content, is_hidden=is_hidden)
            if len(self._para.parts) == before:
                self._say(_chosen_value(element), is_hidden=is_hidden)

    # Notes and comments

    def _note_mark(self, element: Element, *, is_hidden: bool) -> None:
        if is_hidden:
            return
        part = "footnotes" if element.tag == f"{W}footnoteReference" else "endnotes"
        if element.get(f"{W}customMarkFollows", "0").lower() in ("0", "false", "off"):
            kind, start = self._marks[part]
            self._counts[part] = self._counts.get(part, start - 1) + 1
            mark = f"[{numeral(self._counts[part], kind)}]"
        else:
            mark = "".join(text.text or "" for text in element.getparent().iterfind(f"{W}t")).strip()
        anchor = last_sentence(self._para.end(2 * ANCHOR_MAX))
        self._para.notes.append(Note(part, element.get(f"{W}id") or "", mark, anchor))
        if mark.startswith("["):
            self._say(mark)

    def _set_marks(self, root: Element | None) -> None:
        """Take the format and first number of notes from where a document says them."""
        for part, name in (("footnotes", "footnotePr"), ("endnotes", "endnotePr")):
            said = next(root.iter(f"{W}{name}"), None) if root is not None else None
            if said is not None:
                kind, start = self._marks[part]
                self._marks[part] = value(said, "numFmt") or kind, number(value(said, "numStart"), start)

    def _comment_start(self, element: Element, *, is_hidden: bool) -> None:
        if len(self._open) < _OPEN_MAX:
            self._open.setdefault(element.get(f"{W}id") or "", "")

    def _comment_end(self, element: Element, *, is_hidden: bool) -> None:
        self._close(element.get(f"{W}id") or "")

    def _close(self, key: str) -> None:
        words = self._open.pop(key, None)
        if words is not None:
            self.anchors.setdefault(key, " ".join(words.split())[:ANCHOR_MAX])

    def anchor(self, key: str) -> str:
        """Return the words that a comment is about; "" where it names none."""
        return self.anchors.get(key) or " ".join(self._open.get(key, "").split())

    def mark(self, element: Element) -> None:
        """Note where a comment begins or ends between paragraphs."""
        if element.tag in (f"{W}commentRangeStart", f"{W}commentRangeEnd"):
            self._own[element.tag](element, is_hidden=False)

    # Pictures, shapes and diagrams

    def _drawn(self, element: Element, *, is_hidden: bool) -> None:
        if is_hidden:
            self._para.hidden += 1
            return
        boxes = list(_text_boxes(element))
        self._para.boxes += boxes
        written = [shape.get("string") or "" for shape in _shown_of(element, f"{V}textpath")]
        self._para.after += [Block(kind="paragraph", text=text) for text in written if text.strip()]
        if (inserted := next(_shown_of(element, f"{O}OLEObject"), None)) is not None:
            is_equation = (inserted.get("ProgID") or "").startswith("Equation")
            self._lost("equation" if is_equation else "embedded_object")
            return
        if next(_shown_of(element, f"{W}control"), None) is not None:
            self._lost("form_field")
            return
        if self._diagram(element) or self._chart(element):
            return
        pictures = list(_shown_of(element, f"{A}blip")) + list(_shown_of(element, f"{V}imagedata"))
        words = " ".join(filter(None, (text.text for text in _shown_of(element, f"{A}t"))))
        if words.strip():
            self._para.after.append(Block(kind="paragraph", text=words))
        alt = _alt_of(element)
        if is_decoration(element) and not alt:
            return
        shown = [(each, self._picture(each)) for each in pictures]
        self._para.after += figures_of(alt if pictures or not boxes else "", [picture for _each, picture in shown])
        for each, picture in shown:
            if picture is None and not alt:
                self._lost("linked_picture" if self._is_linked(each) else "picture")

    def _picture(self, element: Element) -> Picture | None:
        """Return the picture that an element shows; None for what stands in a header, such as a logo."""
        key = element.get(f"{R}embed") if element.tag == f"{A}blip" else element.get(f"{R}id")
        link = self.part.links.get(key or "")
        if link is None or link.is_external or self._place in ("header", "footer"):
            return None
        return self._package.picture(link.target)

    def _is_linked(self, picture: Element) -> bool:
        if picture.tag == f"{A}blip" and picture.get(f"{R}embed"):
            return False
        link = self.part.links.get(picture.get(f"{R}link") or picture.get(f"{R}id") or picture.get(f"{R}href") or "")
        return link is not None and link.is_external

    def _diagram(self, element: Element) -> bool:
        """Read the text of a diagram, if this is one."""
        said = next(_shown_of(element, f"{DGM}relIds"), None)
        if said is None:
            return False
        part = self._once(self.part.links.get(said.get(f"{R}dm") or ""))
        items = items_of_diagram(part.root) if part is not None else []
        self._para.after += items
        if not items:
            self._lost("picture")
        return True

    def _chart(self, element: Element) -> bool:
        """Read the data of a chart as a table, if this is one."""
        said = next(_shown_of(element, f"{C}chart"), None)
        if said is None:
            return False
        link = self.part.links.get(said.get(f"{R}id") or "")
        part = self._once(link)
        table = chart_of(part.root) if part is not None else None
        if table is None:
            self._lost("chart")
        else:
            self._para.after.append(table)
        return True

    def _once(self, link: Link | None) -> Part | None:
        """Return a part of the file that is read where it is first shown, and not again."""
        if link is None or link.is_external or link.target in self._drawn_parts:
            return None
        self._drawn_parts.add(link.target)
        return self._package.part(link.target)

    def _lost(self, kind: str) -> None:
        self._losses.note(kind, self._place)  # pyright: ignore[reportArgumentType]


def _shown_of(element: Element, tag: str) -> Iterator[Element]:
    """Yield elements that are shown here: not those of text boxes, nor of the branch for older programs."""
    for child in element:
        if child.tag == f"{MC}AlternateContent":
            chosen = chosen_of(child, UNDERSTOOD)
            if chosen is not None:
                yield from _shown_of(chosen, tag)
        elif child.tag == tag:
            yield child
        elif child.tag != f"{W}txbxContent":
            yield from _shown_of(child, tag)


def _text_boxes(element: Element) -> Iterator[Element]:
    """Yield the outermost text boxes, each once."""
    for child in element:
        if child.tag == f"{MC}AlternateContent":
            chosen = chosen_of(child, UNDERSTOOD)
            if chosen is not None:
                yield from _text_boxes(chosen)
        elif child.tag == f"{W}txbxContent":
            yield child
        else:
            yield from _text_boxes(child)


def _alt_of(element: Element) -> str:
    """Return what a picture shows in words, where somebody wrote it; a name that a program made is none."""
    said = element.find(f".//{WP}docPr")
    words = [said.get("descr"), said.get("title")] if said is not None else []
    words += [shape.get("alt") for shape in _shown_of(element, f"{V}shape")]
    return alternative(words)


def _symbol(element: Element) -> str:
    try:
        code = int(element.get(f"{W}char") or "", 16)
    except ValueError:
        return ""
    if not 0x20 <= code < 0x11_0000 or 0xD800 <= code < 0xE000:
        return ""
    return symbol_text(chr(code), element.get(f"{W}font") or "")


def _form_value(element: Element) -> str:
    """Return what a form field of the older kind shows: a box, its text, or the entry chosen from its list."""
    data = element.find(f"{W}ffData")
    box = data.find(f"{W}checkBox") if data is not None else None
    if box is not None:
        checked = is_on(box, "checked")
        return "☒" if (is_on(box, "default") if checked is None else checked) else "☐"
    if data is not None and (text := value(data, "textInput/default")):
        return text
    choice = data.find(f"{W}ddList") if data is not None else None
    if choice is not None:
        entries = [entry.get(f"{W}val") or "" for entry in choice.iterfind(f"{W}listEntry")]
        at = number(value(choice, "result") or value(choice, "default"))
        return entries[at] if 0 <= at < len(entries) else ""
    return ""


def _chosen_value(element: Element) -> str:
    """Return the entry that a list control keeps as its value, where it shows none."""
    for name in ("dropDownList", "comboBox"):
        choice = element.find(f"{W}sdtPr/{W}{name}")
        last = choice.get(f"{W}lastValue") if choice is not None else None
        if choice is not None and last:
            items = choice.iterfind(f"{W}listItem")
            return next((item.get(f"{W}displayText") or last for item in items if item.get(f"{W}value") == last), last)
    return ""
