"""The walk through a rich text file: which groups are read, and what becomes of each."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator
from contextlib import suppress

from docmind.blocks import Block, Losses, Picture, Table
from docmind.errors import TooLargeError
from docmind.reading.formats import facts_of
from docmind.reading.formats.captions import with_captions
from docmind.reading.formats.drawings import alternative, figures_of
from docmind.reading.formats.figures import picture_in
from docmind.reading.formats.numerals import numeral
from docmind.reading.formats.prose import Run, clean, flat, running
from docmind.reading.formats.rtf.fields import Field, Form, Instruction
from docmind.reading.formats.rtf.flow import Flow, Inside, Shared, Through
from docmind.reading.formats.rtf.math import ELEMENTS, Math
from docmind.reading.formats.rtf.parser import NOTHING, Destination, Fonts, Open, Parser, State
from docmind.reading.formats.rtf.tables import Capture, Info, Lists, Styles
from docmind.records.documents import Facts
from docmind.wording import _

_LEFT_OUT = """
colortbl filetbl revtbl rsidtbl generator themedata colorschememapping latentstyles datastore xmlnstbl pgptbl
listpicture listname levelnumbers nonshppict shprslt objdata fontemb fontfile falt panose keycode background
ftnsep ftnsepc ftncn aftnsep aftnsepc aftncn bkmkstart bkmkend xe tc tcn rxe nonesttables pntxta pntxtb private
userprops docvar passwordhash datafield fldtype atntime atndate atnicn template comment doccomm operator manager
atnid ffname ffhelptext ffstattext ffformat ffentrymcr ffexitmcr
company category keywords subject hlinkbase nextfile revtim printim buptim blipuid
"""
_HEADERS = ("headerf", "header", "headerl", "headerr")
_FOOTERS = ("footerf", "footer", "footerl", "footerr")
_OF_NOTES = re.compile(r"(a)?ftn(start|n[a-z]+)")
_MARK_MAX = 5  # characters of the mark of a note
_DESCRIBED = frozenset(("wzDescription", "gtextUNICODE"))  # the properties of a shape that are read
_THROUGH = "shpinst shppict ud sp picprop"
_FORMATS = {"ar": "decimal", "alc": "lowerLetter", "auc": "upperLetter", "rlc": "lowerRoman", "ruc": "upperRoman",
            "chi": "chicago"}  # fmt: skip


def blocks_of(data: bytes, name: str, losses: Losses, most: int) -> tuple[Iterator[Block | Table], Facts]:
    """Return the document in reading order, and its facts; `most` is the most characters of text.

    Raises `TooLargeError`.
    """
    document = _Document(data, losses, most)
    blocks = document.read(name)
    info = document.info
    return with_captions(blocks), facts_of(name, title=info.title, author=info.author, stamped=str(info.created))


class _Main(Flow):
    """The text of the document itself: it has sections, with headers and footers."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.headers: dict[str, Flow] = {}
        self._begins = 0  # the block at which the section begins
        self._has_first = self._has_sides = False
        self._breaks = True
        self._given: set[tuple[str, str]] = set()
        self.formats = {"footnote": "decimal", "endnote": "lowerRoman"}
        self.first = {"footnote": 1, "endnote": 1}

    def word(self, name: str, number: int | None, state: State) -> None:
        """Take a control word."""
        if name == "sect":
            self.end_section(state)
            self._end()
            self._begins = len(self.blocks)
        elif name == "sectd":
            self._has_first, self._breaks = False, True
            super().word(name, number, state)
        elif name == "titlepg":
            self._has_first = True
        elif name == "facingp":
            self._has_sides = True
        elif name in ("sbknone", "sbkcol"):
            self._breaks = False
        elif (note := _OF_NOTES.fullmatch(name)) is not None:
            kind = "endnote" if note[1] else "footnote"
            if note[2] == "start":
                self.first[kind] = min(max(number or 1, 0), 10_000_000)
            else:
                self.formats[kind] = _FORMATS.get(note[2][1:], self.formats[kind])
        else:
            super().word(name, number, state)

    def finish(self) -> list[Block | Table]:
        """End the last section."""
        super().finish()
        self._end()
        return self.blocks

    def _end(self) -> None:
        """Put the headers of a section before its text, and the footers behind it: each that has other words."""
        before: list[Block | Table] = []
        if self._begins and self._breaks:
            before.append(Block(kind="page_break"))
        for names, to in ((_HEADERS, before), (_FOOTERS, self.blocks)):
            for name in names:
                flow = self.headers.get(name)
                if flow is None:
                    continue
                if {"f": self._has_first, "l": self._has_sides, "r": self._has_sides}.get(name[6:], True):
                    to += self._running(flow, "header" if names is _HEADERS else "footer")
                elif flow.blocks:
                    self.shared.losses.note("hidden_text", name[:6])
        self.blocks[self._begins : self._begins] = before
        self.headers = {}

    def _running(self, flow: Flow, kind: str) -> Iterator[Block | Table]:
        text, aside = flat(flow.blocks)
        block = running(text, kind, self._given)
        if block is not None:
            yield block
            yield from aside


class _Part(Flow):
    """A part with a text of its own, given to a function at its end."""

    def __init__(self, shared: Shared, place: str, done: Callable[[_Part], None]) -> None:
        super().__init__(shared, place)
        self._done = done
        self.is_endnote = False
        self.about = ""  # the number of the words that a comment is about

    def word(self, name: str, number: int | None, state: State) -> None:
        """Take a control word."""
        if name == "ftnalt":
            self.is_endnote = True
        super().word(name, number, state)

    def close(self) -> None:
        """Hand the text on."""
        self.finish()
        self._done(self)


class _Shown(Through):
    """What an embedded object shows."""


class _Bits(Destination):
    """The bytes of a picture, as they are or as hexadecimal digits."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def text(self, text: str, state: State) -> None:
        """Take digits; a character that is none ends with them what can be read."""
        digits = "".join(text.split())
        with suppress(ValueError):
            self._parts.append(digits.encode("ascii"))

    def data(self, data: bytes) -> None:
        """Take bytes as they are."""
        self._parts.append(data.hex().encode("ascii"))

    def picture(self) -> Picture | None:
        """Return the picture; None for one that is not decoded."""
        digits = b"".join(self._parts)
        try:
            return picture_in(binascii.unhexlify(digits[: len(digits) // 2 * 2]))
        except binascii.Error:
            return None


class _Drawing(Inside):
    """A picture or shape, and what is said of it in words. Text boxes in it are parts of their own."""

    def __init__(self, flow: Flow, *, is_picture: bool) -> None:
        super().__init__(flow)
        self.is_picture = is_picture
        self.bits = _Bits()
        self.said: dict[str, str] = {}
        self.name = ""

    def value(self, text: str) -> None:
        """Take the value of the property that was named last."""
        if self.name in _DESCRIBED:
            self.said[self.name] = text

    def text(self, text: str, state: State) -> None:
        """Take the digits of a picture."""
        if self.is_picture:
            self.bits.text(text, state)

    def data(self, data: bytes) -> None:
        """Take the bytes of a picture."""
        self.bits.data(data)

    def close(self) -> None:
        """Add what the picture shows in words, or count it."""
        if drawn := self.said.get("gtextUNICODE", "").strip():
            self.flow.para.after.append(Block(kind="paragraph", text=clean(drawn)))
            return
        alt = clean(alternative([self.said.get("wzDescription")]))
        picture = self.bits.picture() if self.is_picture and not self.flow.is_running else None
        self.flow.para.after += figures_of(alt, [picture])
        if self.is_picture and picture is None and not alt:
            self.flow.lose("picture")


class _Value(Capture):
    """The value of a property of a shape, in which the picture of the shape may stand."""

    def __init__(self, drawing: _Drawing) -> None:
        super().__init__(drawing.value, 4_000)
        self.drawing = drawing


class _Object(Inside):
    """An embedded object."""

    kind = ""

    def close(self) -> None:
        """Count the object: what it shows is read, and not what it holds."""
        self.flow.lose("equation" if self.kind.strip().startswith("Equation") else "embedded_object")

    def named(self, kind: str) -> None:
        """Take the class of the object."""
        self.kind = kind


class _Document:
    """One file, and which of its groups go where."""

    def __init__(self, data: bytes, losses: Losses, most: int) -> None:
        self._fonts = Fonts()
        self._lists = Lists(self._fonts)
        self._styles = Styles()
        self._shared = Shared(self._styles, self._lists, losses, most)
        self.info = Info()
        self._losses = losses
        self._main = _Main(self._shared)
        self._endnotes: list[Block | Table] = []
        self._counts = {"footnote": 0, "endnote": 0}
        self._author = ""  # of the next comment
        self._parser = Parser(data, self._main, self._openers(), self._fonts)

    def read(self, name: str) -> list[Block | Table]:
        """Return all blocks."""
        self._parser.run()
        self._main.finish()
        if self._shared.left < 0:
            raise TooLargeError(
                _("{name} holds more text than can be read at once.").format(name=name),
                hint=_("Split the file, or raise DOCMIND_READING__MAX_TEXT_MB."),
            )
        if not self._parser.is_whole:
            self._losses.note("part")
        return [*self._main.blocks, *self._endnotes]

    def _openers(self) -> dict[str, Open]:
        """Return what each word makes of its group. A marked word that is not here begins a group that is left out."""
        to: dict[str, Open] = dict.fromkeys(_LEFT_OUT.split(), lambda _state, _number: NOTHING)
        to |= dict.fromkeys(_THROUGH.split(), lambda _state, _number: None)
        tables = {"fonttbl": self._fonts, "stylesheet": self._styles, "info": self.info}
        tables |= dict.fromkeys(("listtable", "listoverridetable"), self._lists)
        to |= {name: (lambda _state, _number, table=table: table) for name, table in tables.items()}
        to |= {name: (lambda state, _number, name=name: self._running(name, state)) for name in (*_HEADERS, *_FOOTERS)}
        to |= {f"m{name}": (lambda state, _number, name=name: _math(name, state)) for name in ELEMENTS}
        to |= dict.fromkeys(("listtext", "pntext"), self._label) | dict.fromkeys(("shptxt", "dptxbxtext"), self._box)
        return to | {
            "leveltext": lambda _state, _number: Capture(self._lists.leveltext),
            "title": self._title, "author": self._by, "creatim": self._created,
            "nesttableprops": self._nested, "footnote": self._note, "field": _field,
            "fldinst": _instruction, "fldrslt": _result, "formfield": _form, "ffl": _entry, "ffdeftext": _form_text,
            "pict": _picture, "NeXTGraphic": _attached, "shp": _shape, "do": _shape, "sn": _name, "sv": _property,
            "object": _object, "objclass": _object_class, "result": _object_result,
            "atrfstart": _comment_begins, "atrfend": _comment_ends, "atnref": _comment_about,
            "atnauthor": self._comment_by, "annotation": self._comment,
        }  # fmt: skip

    # Properties and headers

    def _title(self, state: State, _number: int | None) -> Destination | None:
        return Capture(lambda text: setattr(self.info, "title", text)) if state.to is self.info else None

    def _by(self, state: State, _number: int | None) -> Destination | None:
        return Capture(lambda text: setattr(self.info, "author", text)) if state.to is self.info else None

    def _created(self, state: State, _number: int | None) -> Destination | None:
        return self.info.created if state.to is self.info else None

    def _running(self, name: str, state: State) -> Destination:
        if flow_of(state) is not self._main:
            return NOTHING

        def done(part: _Part) -> None:
            self._main.headers[name] = part

        return _Part(self._shared, name[:6], done)

    # Paragraphs

    def _label(self, state: State, _number: int | None) -> Destination:
        flow = flow_of(state)
        if flow is None or state.is_deleted:
            return NOTHING
        return Capture(lambda text: setattr(flow.para, "label", text), 60)

    def _nested(self, state: State, _number: int | None) -> None:
        state.in_nested_row = True

    def _box(self, state: State, _number: int | None) -> Destination:
        flow = flow_of(state)

        def done(part: _Part) -> None:
            if flow is not None:
                flow.para.after += part.blocks

        return NOTHING if flow is None or state.is_hidden else _Part(self._shared, flow.place, done)

    # Notes and comments

    def _note(self, state: State, _number: int | None) -> Destination:
        flow = flow_of(state)
        if flow is None or state.is_deleted or state.is_hidden:
            return NOTHING
        has_mark, flow.has_mark = flow.has_mark, False
        anchor, at = clean(flow.sentence()), len(flow.para.runs.runs)

        def done(part: _Part) -> None:
            text, aside = flat(part.blocks)
            kind = "endnote" if part.is_endnote else "footnote"
            if has_mark:
                self._counts[kind] += 1
                number = self._counts[kind] + self._main.first[kind] - 1
                mark = f"[{numeral(number, self._main.formats[kind])}]"
                flow.para.runs.runs.insert(at, Run(mark))
            else:
                mark = (text.split() or [""])[0]  # a mark of one's own, which stands before the note too
                mark = mark if len(mark) <= _MARK_MAX and flow.para.runs.end(_MARK_MAX).endswith(mark) else ""
                text = text.removeprefix(mark).lstrip()
            said = [Block(kind="footnote", text=text, marker=clean(mark), anchor=anchor)] if text else []
            to = self._endnotes if part.is_endnote else flow.para.after
            to += [*said, *aside]

        return _Part(self._shared, "footnotes", done)

    def _comment_by(self, _state: State, _number: int | None) -> Destination:
        return Capture(lambda text: setattr(self, "_author", text.strip()), 100)

    def _comment(self, state: State, _number: int | None) -> Destination:
        flow = flow_of(state)
        author, self._author = self._author, ""

        def done(part: _Part) -> None:
            text, aside = flat(part.blocks)
            if text and flow is not None:
                anchor = clean(flow.anchor(part.about))
                flow.para.after += [Block(kind="comment", text=text, author=clean(author), anchor=anchor), *aside]

        return NOTHING if flow is None else _Part(self._shared, "comments", done)


def flow_of(state: State) -> Flow | None:
    """Return the text that a group stands in; None where it is in none."""
    return state.to if isinstance(state.to, Flow) else state.to.flow if isinstance(state.to, Inside) else None


def _math(name: str, state: State) -> Destination | None:
    if isinstance(state.to, Math):
        return state.to.inner(name)
    flow = flow_of(state)
    return Math(flow, name, None) if flow is not None and name in ("oMath", "oMathPara") else None


def _field(state: State, _number: int | None) -> Destination | None:
    flow = flow_of(state)
    return Field(flow, state) if flow is not None else None


def _instruction(state: State, _number: int | None) -> Destination:
    return Instruction(state.to) if isinstance(state.to, Field) else NOTHING


def _result(state: State, _number: int | None) -> Destination | None:
    return state.to.result() if isinstance(state.to, Field) else None


def _form(state: State, _number: int | None) -> Destination:
    field = state.to.field if isinstance(state.to, Instruction) else state.to
    return Form(field) if isinstance(field, Field) else NOTHING


def _entry(state: State, _number: int | None) -> Destination:
    return Capture(state.to.entries.append) if isinstance(state.to, Form) else NOTHING


def _form_text(state: State, _number: int | None) -> Destination:
    form = state.to
    return Capture(lambda text: setattr(form, "default_text", text)) if isinstance(form, Form) else NOTHING


def _picture(state: State, _number: int | None) -> Destination:
    if isinstance(state.to, _Value):
        state.to.drawing.is_picture = True
        return state.to.drawing.bits
    flow = flow_of(state)
    if flow is None or state.is_hidden or state.is_deleted or isinstance(state.to, _Shown):
        return NOTHING
    return _Drawing(flow, is_picture=True)


def _attached(state: State, _number: int | None) -> Destination:
    """Count a picture of TextEdit, which lies beside the file, and note that the next character is its placeholder."""
    if (flow := flow_of(state)) is not None:
        flow.lose("linked_picture")
        flow.has_attached = True
    return NOTHING


def _shape(state: State, _number: int | None) -> Destination:
    flow = flow_of(state)
    return NOTHING if flow is None or state.is_hidden or state.is_deleted else _Drawing(flow, is_picture=False)


def _name(state: State, _number: int | None) -> Destination:
    drawing = state.to
    return Capture(lambda text: setattr(drawing, "name", text.strip())) if isinstance(drawing, _Drawing) else NOTHING


def _property(state: State, _number: int | None) -> Destination:
    return _Value(state.to) if isinstance(state.to, _Drawing) else NOTHING


def _object(state: State, _number: int | None) -> Destination:
    flow = flow_of(state)
    return NOTHING if flow is None or state.is_hidden or state.is_deleted else _Object(flow)


def _object_class(state: State, _number: int | None) -> Destination:
    return Capture(state.to.named) if isinstance(state.to, _Object) else NOTHING


def _object_result(state: State, _number: int | None) -> Destination | None:
    return _Shown(state.to.flow) if isinstance(state.to, _Object) else None


def _comment_begins(state: State, _number: int | None) -> Destination:
    flow = flow_of(state)
    return NOTHING if flow is None else Capture(flow.open_comment)


def _comment_ends(state: State, _number: int | None) -> Destination:
    flow = flow_of(state)
    return NOTHING if flow is None else Capture(flow.close_comment)


def _comment_about(state: State, _number: int | None) -> Destination:
    part = state.to
    return Capture(lambda text: setattr(part, "about", text)) if isinstance(part, _Part) else NOTHING
