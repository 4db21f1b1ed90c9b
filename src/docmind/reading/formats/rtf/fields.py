"""Fields of rich text: their result is read, not their instruction; fields of forms show what is chosen."""

from __future__ import annotations

import re

from docmind.reading.formats.prose import PAGE_NUMBER
from docmind.reading.formats.rtf.flow import Flow, Inside, Through
from docmind.reading.formats.rtf.parser import NOTHING, Destination, State
from docmind.reading.formats.symbols import symbol_text

_PAGE = re.compile(r"\s*(PAGE|NUMPAGES|SECTIONPAGES)\b", re.IGNORECASE)
_SYMBOL = re.compile(r"\s*SYMBOL\s+(\d{1,5})(?:.*?\\f\s+\"?([^\"\\]+)\"?)?", re.IGNORECASE)
_RUBY = re.compile(
    r"\\o\s*\\a[a-z]\s*\(\s*\\s\s*\\up\s*\d*\s*\(([^()]*)\)\s*[,;]([^()]*)\)"
)  # a word, its reading above it
_LONGEST = 1_000  # characters of an instruction
_BOX, _LIST = 1, 2  # the types of fields of forms beside texts


class Field(Inside):
    """A field. Its own text is none of the document."""

    def __init__(self, flow: Flow, state: State) -> None:
        """Begin a field in a text."""
        super().__init__(flow)
        self.instruction = ""
        self.form: Form | None = None
        self._state = state.copied()
        self._before = len(flow.para.runs.runs)

    def result(self) -> Destination:
        """Return what the result goes to."""
        kind = self.form.kind if self.form is not None else 0
        is_page = self.flow.is_running and _PAGE.match(self.instruction)
        return NOTHING if kind == _BOX or is_page else Through(self.flow)

    def close(self) -> None:
        """Show what has no result of its own."""
        has_result = len(self.flow.para.runs.runs) > self._before
        if self.form is not None and (self.form.kind == _BOX or not has_result):
            self.flow.text(self.form.shown(), self._state)
        elif self.flow.is_running and _PAGE.match(self.instruction):
            self.flow.say(PAGE_NUMBER, self._state)
        elif not has_result and (found := _SYMBOL.match(self.instruction)):
            code = int(found[1])
            char = chr(0xF000 + code) if code < 0x100 else chr(code) if not 0xD800 <= code < 0xE000 else ""
            self.flow.text(symbol_text(char, found[2] or ""), self._state)
        elif not has_result and (found := _RUBY.search(self.instruction)):
            self.flow.text(f"{found[2]}({found[1]})", self._state)
        elif not has_result and self.instruction.split()[:1] == ["EQ"]:
            self.flow.lose("equation")


class Instruction(Inside):
    """The instruction of a field."""

    def __init__(self, field: Field) -> None:
        """Begin with no text."""
        super().__init__(field.flow)
        self.field = field

    def text(self, text: str, state: State) -> None:
        """Take text."""
        self.field.instruction = (self.field.instruction + text)[:_LONGEST]


class Form(Inside):
    """What a field of a form holds."""

    def __init__(self, field: Field) -> None:
        """Begin the form of a field."""
        super().__init__(field.flow)
        field.form = self
        self.kind = 0
        self.default_text = ""
        self.entries: list[str] = []
        self._said: dict[str, int] = {}

    def word(self, name: str, number: int | None, state: State) -> None:
        """Take a control word."""
        if name == "fftype":
            self.kind = number or 0
        elif name in ("ffres", "ffdefres"):
            self._said[name] = number or 0

    def shown(self) -> str:
        """Return a box as ☒ or ☐, the entry that is chosen, or the text that stands there by default."""
        chosen = self._said.get("ffres", 25)  # 25 stands for the default
        chosen = self._said.get("ffdefres", 0) if chosen == 25 else chosen
        if self.kind == _BOX:
            return "☒" if chosen else "☐"
        if self.kind == _LIST:
            return self.entries[chosen] if 0 <= chosen < len(self.entries) else ""
        return self.default_text
