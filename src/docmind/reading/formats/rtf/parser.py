"""The marks of rich text: groups, control words and characters in the code page of their font, without recursion.

A group opens with the destination and the look of the one around it, and gives both back at its end. What is read goes
to destinations: the document itself, a header, the table of fonts. Unknown destinations are left out.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from docmind.reading.formats.symbols import symbol_text

_TOKEN = re.compile(
    rb"\\([a-zA-Z]+)(-?[0-9]{1,10})? ?"  # 1 and 2: a control word and its number
    rb"|\\'([0-9a-fA-F]{2})"  # 3: a byte
    rb"|\\([^a-zA-Z])"  # 4: a control symbol
    rb"|([{}])"  # 5
    rb"|([^\\{}\r\n]+)"  # 6: text
    rb"|[\r\n]+",
    re.DOTALL,
)
_NESTED = re.compile(rb"\\bin([0-9]{1,10}) ?|\\.|[{}]", re.DOTALL)
_DEEPEST = 10_000  # groups within each other; deeper ones are read as part of that one
_CHARSETS = {
    0: "cp1252", 77: "mac_roman", 78: "cp932", 79: "cp949", 80: "gb18030", 81: "cp950", 83: "cp1255", 85: "mac_greek",
    86: "mac_turkish", 89: "mac_cyrillic", 128: "cp932", 129: "cp949", 130: "johab", 134: "gb18030", 136: "cp950",
    161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251",
    222: "cp874", 238: "cp1250", 255: "cp437",
}  # fmt: skip
_PAGES = {
    708: "cp864", 709: "cp1256", 932: "cp932", 936: "gb18030", 949: "cp949", 950: "cp950", 1361: "johab",
    10000: "mac_roman", 10006: "mac_greek", 10007: "mac_cyrillic", 10029: "mac_latin2", 10081: "mac_turkish",
    65001: "utf-8",
}  # fmt: skip
_SETS = {"ansi": "cp1252", "mac": "mac_roman", "pc": "cp437", "pca": "cp850"}
_SYMBOLS = 2  # the character set of fonts of symbols
_CHARACTERS = {
    "emdash": "—", "endash": "–", "emspace": "\u2003", "enspace": "\u2002", "qmspace": "\u2005", "bullet": "•",
    "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "zwj": "\u200d", "zwnj": "\u200c",
}  # fmt: skip
_SYMBOL_TEXT = {b"~": "\xa0", b"_": "-", b"{": "{", b"}": "}", b"\\": "\\", b"\t": "\t"}


class Destination:
    """What the text and the control words of a group go to. This one ignores them."""

    def text(self, text: str, state: State) -> None:
        """Take text."""

    def word(self, name: str, number: int | None, state: State) -> None:
        """Take a control word, with its number."""

    def data(self, data: bytes) -> None:
        """Take bytes that are no text."""

    def close(self) -> None:
        """Take the end of the group."""


NOTHING = Destination()
"""The destination of what is not read; the parser skips it without looking inside."""


@dataclass(slots=True)
class State:
    """What holds in a group: its destination, the look of its characters, and that of its paragraph."""

    to: Destination
    font: int | None = None
    skipped: int = 1  # characters behind `\\u` for programs that know no Unicode
    is_bold: bool = False
    is_hidden: bool = False
    is_deleted: bool = False
    is_struck: bool = False
    script: str = ""
    style: int = 0
    outline: int | None = None
    in_table: bool = False
    depth: int = 0  # of the table that the paragraph is in, where it is said
    list: int = 0
    rank: int = 0
    starts_page: bool = False
    is_drop_cap: bool = False
    in_nested_row: bool = False

    def copied(self) -> State:
        """Return a state of its own for a group inside; there may be millions of groups."""
        return State(
            self.to, self.font, self.skipped, self.is_bold, self.is_hidden, self.is_deleted, self.is_struck,
            self.script, self.style, self.outline, self.in_table, self.depth, self.list, self.rank, self.starts_page,
            self.is_drop_cap, self.in_nested_row,
        )  # fmt: skip

    @property
    def level(self) -> int:
        """How deep in tables the paragraph is: 0 for one in none."""
        return max(1, self.depth) if self.in_table or self.depth else 0

    def plain(self) -> None:
        """Reset the look of characters."""
        self.is_bold = self.is_hidden = self.is_deleted = self.is_struck = False
        self.script, self.font = "", None

    def pard(self) -> None:
        """Reset the look of paragraphs."""
        self.style = self.depth = self.list = self.rank = 0
        self.outline = None
        self.in_table = self.starts_page = self.is_drop_cap = False


@dataclass(slots=True)
class Fonts(Destination):
    """The table of fonts: for each its name and the code page of its bytes; None for that of the document."""

    names: dict[int, str] = field(default_factory=dict)
    codecs: dict[int, str | None] = field(default_factory=dict)
    symbols: set[int] = field(default_factory=set)
    default: int | None = None
    _at: int = 0

    def word(self, name: str, number: int | None, state: State) -> None:
        """Take the number, character set or code page of a font."""
        if name == "f" and number is not None:
            self._at = number
        elif name == "fcharset" and number == _SYMBOLS:
            self.symbols.add(self._at)
        elif name == "fcharset" and number in _CHARSETS:
            self.codecs[self._at] = _CHARSETS[number]
        elif name == "cpg" and number is not None:
            self.codecs.setdefault(self._at, page_of(number))

    def text(self, text: str, state: State) -> None:
        """Take the name of a font."""
        if len(self.names.get(self._at, "")) < 100:
            self.names[self._at] = self.names.get(self._at, "") + text.rstrip(";").strip()


def page_of(number: int) -> str | None:
    """Return the codec of a code page; None for an unknown one."""
    name = _PAGES.get(number, f"cp{number}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None


Open = Callable[[State, int | None], Destination | None]
"""What returns the destination of a group that begins with its word; None where it is that of the group around it."""


class Parser:
    """One reading of a file. `openers` are the destinations by word, `text` what all other text goes to."""

    def __init__(self, data: bytes, main: Destination, openers: dict[str, Open], fonts: Fonts) -> None:
        """Read `data` with `run`."""
        self._data = data
        self._state = State(main)
        self._stack: list[State] = []
        self._over = 0  # groups deeper than the deepest
        self._openers = openers
        self._fonts = fonts
        self._page = "cp1252"
        self._bytes = bytearray()
        self._high = 0  # the first half of a character of two units
        self._skip = 0
        self._is_optional = False
        self.is_whole = False
        """Whether the file ended where its outermost group did."""

    def run(self) -> None:
        """Read the file to its end."""
        data, at = self._data, 0
        while at < len(data):
            found = _TOKEN.match(data, at)
            if found is None:
                at += 1
                continue
            at = found.end()
            kind = found.lastindex
            if kind == 6:
                text = found[6]
                if self._skip:
                    self._skip, text = max(0, self._skip - len(text)), text[self._skip :]
                self._bytes += text
            elif kind == 3:
                if self._skip:
                    self._skip -= 1
                else:
                    self._bytes.append(int(found[3], 16))
            elif kind in (1, 2):
                at = self._word(found[1].decode("ascii"), int(found[2]) if found[2] else None, at)
            elif kind == 4:
                self._symbol(found[4])
            elif kind == 5 and not self._brace(found[5]):
                self.is_whole = True
                break
        self._flush()
        while self._stack:
            self._close()

    def _brace(self, brace: bytes) -> bool:
        """Open or close a group; return False at the end of the outermost one."""
        self._flush()
        self._skip, self._is_optional = 0, False
        if brace == b"{":
            if len(self._stack) >= _DEEPEST:
                self._over += 1
            else:
                self._stack.append(self._state)
                self._state = self._state.copied()
        elif self._over:
            self._over -= 1
        elif self._stack:
            self._close()
        return bool(self._stack)

    def _close(self) -> None:
        ended = self._state.to
        self._state = self._stack.pop()
        if ended is not self._state.to:
            ended.close()

    def _symbol(self, symbol: bytes) -> None:
        if self._skip:
            self._skip -= 1
            return
        self._flush()
        if symbol == b"*":
            self._is_optional = True
        elif symbol in b"\r\n":
            self._state.to.word("par", None, self._state)
        elif symbol in _SYMBOL_TEXT:
            self._say(_SYMBOL_TEXT[symbol])

    def _word(self, name: str, number: int | None, at: int) -> int:
        """Take a control word; return where to go on."""
        is_optional, self._is_optional = self._is_optional, False
        if name == "bin":
            end = at + max(0, number or 0)
            self._state.to.data(self._data[at:end])
            return end
        if self._skip:
            self._skip -= 1
            return at
        if name == "u":
            self._unicode(number or 0)
            return at
        self._flush()
        state = self._state
        if name == "upr":  # the same text twice: for programs that know no Unicode, and for those that do
            return self._after_group(at)
        opener = self._openers.get(name)
        if opener is not None or is_optional:
            # The same word again, or a second one, is no destination of this group.
            to = NOTHING if opener is None else opener(state, number)
            if to is NOTHING and self._stack:
                return self._end_of_group(at)
            if to is not None:
                state.to = to
        elif name in _CHARACTERS:
            self._say(_CHARACTERS[name])
        elif not self._look(name, number, state):
            state.to.word(name, number, state)
        return at

    def _look(self, name: str, number: int | None, state: State) -> bool:
        """Take a word of the look of characters or paragraphs, or of the code page; return False for another one."""
        is_on = number != 0
        if name == "f" and state.to is not self._fonts:
            state.font = number
            state.to.word(name, number, state)
        elif name == "plain":
            state.plain()
        elif name == "b":
            state.is_bold = is_on
        elif name == "v":
            state.is_hidden = is_on
        elif name == "deleted":
            state.is_deleted = is_on
        elif name in ("strike", "striked"):
            state.is_struck = is_on
        elif name in ("super", "sub"):
            state.script = f"{name}script" if is_on else ""
        elif name in ("up", "dn"):
            height = 6 if number is None else number
            state.script = "" if height == 0 else "superscript" if (name == "up") == (height > 0) else "subscript"
        elif name == "nosupersub":
            state.script = ""
        elif name == "uc":
            state.skipped = min(max(1 if number is None else number, 0), 100)
        elif name == "deff":
            self._fonts.default = number
        elif name in _SETS:
            self._page = _SETS[name]
        elif name == "ansicpg":
            self._page = page_of(number or 1252) or self._page
        else:
            return False
        return True

    # Characters

    def _unicode(self, number: int) -> None:
        self._decode()
        unit = number & 0xFFFF
        self._skip = self._state.skipped
        high, self._high = self._high, 0
        if 0xD800 <= unit < 0xDC00:
            self._high = unit
        elif 0xDC00 <= unit < 0xE000:
            if high:
                self._say(chr(0x10000 + ((high - 0xD800) << 10) + unit - 0xDC00))
        else:
            self._say(chr(unit))

    def _flush(self) -> None:
        """Say the bytes so far. What follows is no character, so that half of one is lost."""
        self._decode()

    def _decode(self) -> None:
        if not self._bytes:
            return
        data, self._bytes = bytes(self._bytes), bytearray()
        self._high = 0
        font = self._fonts.default if self._state.font is None else self._state.font
        if font in self._fonts.symbols:
            self._say("".join(chr(0xF000 + byte) if byte > 0x20 else chr(byte) for byte in data))
            return
        codec = (self._fonts.codecs.get(font) if font is not None else None) or self._page
        self._say(data.decode(codec, "replace"))

    def _say(self, text: str) -> None:
        state = self._state
        font = self._fonts.default if state.font is None else state.font
        if font is not None and state.to is not self._fonts:
            text = symbol_text(text, self._fonts.names.get(font, ""))
        state.to.text(text, state)

    # Groups that are not read

    def _end_of_group(self, at: int) -> int:
        """Return where the group ends that is open at a place: at its last brace."""
        depth = 1
        while (found := _NESTED.search(self._data, at)) is not None:
            at = found.end()
            if found[1]:
                at += int(found[1])
            elif found[0] == b"{":
                depth += 1
            elif found[0] == b"}":
                depth -= 1
                if not depth:
                    return at - 1
        return len(self._data)

    def _after_group(self, at: int) -> int:
        """Return where the next group has ended."""
        start = self._data.find(b"{", at)
        return at if start < 0 else self._end_of_group(start + 1) + 1
