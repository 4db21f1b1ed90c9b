"""The rich text of a mail that Outlook saves: unpacked, and the page or text in it found again.

Outlook packs rich text as LZFu (MS-OXRTFCP) and hides the page that a mail was in it (MS-OXRTFEX).
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, replace
from typing import Literal

_PACKED, _STORED = b"LZFu", b"MELA"
_BEGINNING = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor "
    b"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)
_WINDOW = 4_096
_TOKEN = re.compile(
    rb"\\'([0-9a-fA-F]{2})|\\([a-zA-Z]{1,32})(-?\d{1,10})?[ ]?|\\([^a-zA-Z])|([{}])|[\r\n]+|([^\\{}\r\n]+)", re.S
)
_SKIPPED = frozenset((
    "fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "header", "footer", "headerl", "headerr", "footerl",
    "footerr", "listtable", "listoverridetable", "rsidtbl", "generator", "themedata", "colorschememapping", "datastore",
    "latentstyles", "xmlnstbl", "mhtmltag",
))  # fmt: skip
_SIGNS = {
    "par": "\n", "line": "\n", "tab": "\t", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
    "bullet": "•", "endash": "–", "emdash": "—", "cell": "\t", "row": "\n", "emspace": " ", "enspace": " ",
}  # fmt: skip
_CHARSETS = {
    128: "cp932", 129: "cp949", 134: "gb18030", 136: "cp950", 161: "cp1253", 162: "cp1254", 163: "cp1258",
    177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250",
}  # fmt: skip


def unpacked(data: bytes, largest: int) -> bytes:
    """Return the rich text itself, at most `largest` bytes. Raises `ValueError` for data that is broken."""
    if len(data) < 16:
        raise ValueError("rich text that was cut off")
    size, raw_size = struct.unpack_from("<II", data)
    body = data[16 : 4 + size] if size >= 12 else data[16:]
    if data[8:12] == _STORED:
        return body[: min(raw_size, largest)]
    if data[8:12] != _PACKED:
        raise ValueError("rich text that is packed in an unknown way")
    window = bytearray(_BEGINNING.ljust(_WINDOW, b"\0"))
    write, at = len(_BEGINNING), 0
    found = bytearray()
    most = min(raw_size, largest)
    while at < len(body) and len(found) < most:
        flags = body[at]
        at += 1
        for bit in range(8):
            if not flags >> bit & 1:
                piece = body[at : at + 1]
                at += 1
            else:
                if at + 2 > len(body):
                    return bytes(found)
                word = body[at] << 8 | body[at + 1]
                at += 2
                place, length = word >> 4, (word & 0xF) + 2
                if place == write:
                    return bytes(found)
                piece = b""
                for _step in range(length):
                    window[write] = window[place]
                    piece += window[place : place + 1]
                    write, place = (write + 1) % _WINDOW, (place + 1) % _WINDOW
                found += piece
                continue
            if not piece:
                return bytes(found)
            window[write] = piece[0]
            write = (write + 1) % _WINDOW
            found += piece
    return bytes(found[:most])


@dataclass(frozen=True, slots=True)
class _State:
    """What holds within a group: whether it is skipped, is HTML, or is rich text beside the HTML."""

    is_skipped: bool = False
    is_beside: bool = False
    is_tag: bool = False
    after_unicode: int = 1
    encoding: str = "cp1252"


def text_of_rtf(data: bytes) -> tuple[Literal["html", "text"], str]:
    """Return the page that rich text hides, or its text, and which of the two it is."""
    is_html = b"\\fromhtml" in data[:1_000]
    reader = _Reader(is_html=is_html)
    for token in _TOKEN.finditer(data):
        reader.take(token)
    reader.flush()
    return ("html" if is_html else "text"), "".join(reader.said)


class _Reader:
    """The walk over the words of rich text."""

    def __init__(self, *, is_html: bool) -> None:
        self.said: list[str] = []
        self._is_html = is_html
        self._state = _State()
        self._stack: list[_State] = []
        self._bytes = bytearray()
        self._page = "cp1252"
        self._fonts: dict[int, str] = {}
        self._font = 0
        self._is_first = False  # of its group, behind the sign that other programs may skip it
        self._in_fonts = 0
        self._unseen = 0  # characters that stand for one of Unicode

    def take(self, token: re.Match[bytes]) -> None:
        if token[1] is not None:
            self._byte(int(token[1], 16))
        elif token[2] is not None:
            self._word(token[2].decode(), int(token[3]) if token[3] is not None else None)
        elif token[4] is not None:
            self._sign(token[4])
        elif token[5] == b"{":
            self.flush()
            self._stack.append(self._state)
            if len(self._stack) > 10_000:
                raise ValueError("groups deeper than in rich text")
            self._state = replace(self._state, is_tag=False)
            self._unseen = 0
        elif token[5] == b"}":
            self.flush()
            self._state = self._stack.pop() if self._stack else self._state
            self._in_fonts = min(self._in_fonts, len(self._stack) + 1) if self._in_fonts else 0
            if self._in_fonts > len(self._stack):
                self._in_fonts = 0
            self._unseen = 0
        elif token[6] is not None:
            text = token[6]
            cut = min(self._unseen, len(text))
            self._unseen -= cut
            if self._is_shown:
                self._bytes += text[cut:]

    @property
    def _is_shown(self) -> bool:
        state = self._state
        return not state.is_skipped and not state.is_beside

    def flush(self) -> None:
        """Decode the bytes gathered so far."""
        if self._bytes:
            self.said.append(self._bytes.decode(self._state.encoding, "replace"))
            self._bytes.clear()

    def _put(self, text: str) -> None:
        if self._is_shown:
            self.flush()
            self.said.append(text)

    def _byte(self, value: int) -> None:
        if self._unseen:
            self._unseen -= 1
        elif self._is_shown:
            self._bytes.append(value)

    def _sign(self, sign: bytes) -> None:
        if self._unseen:
            self._unseen -= 1
        elif sign in b"{}\\":
            if self._is_shown:
                self._bytes += sign
        elif sign == b"~":
            self._put("\xa0")
        elif sign == b"_":
            self._put("‑")
        elif sign == b"*":
            self._is_first = True
            return
        elif sign in b"\r\n" and not self._is_html:
            self._put("\n")
        self._is_first = False

    def _word(self, word: str, number: int | None) -> None:
        is_first, self._is_first = self._is_first, False
        if word == "htmltag":
            self._state = replace(self._state, is_tag=True, is_skipped=False)
        elif word == "htmlrtf":
            self.flush()
            self._state = replace(self._state, is_beside=number != 0)
        elif word == "fonttbl":
            self._in_fonts = len(self._stack)
            self._state = replace(self._state, is_skipped=True)
        elif word in _SKIPPED or (is_first and not self._state.is_tag):
            self._state = replace(self._state, is_skipped=True)
        elif word == "u" and number is not None:
            self._put(chr(number % 65_536))
            self._unseen = self._state.after_unicode
        elif word == "uc":
            self._state = replace(self._state, after_unicode=min(max(number or 0, 0), 10))
        elif word in ("ansicpg", "f", "fcharset", "plain"):
            self._encode(word, number)
        elif word in _SIGNS and not (self._is_html and self._state.is_tag and word == "row"):
            self._put(_SIGNS[word])
        if word in _SIGNS and self._unseen:
            self._unseen = 0

    def _encode(self, word: str, number: int | None) -> None:
        """Note the code page of the text, or of a font."""
        self.flush()
        if word == "ansicpg" and number:
            self._page = encoding_of_page(number)
            self._state = replace(self._state, encoding=self._page)
        elif word == "fcharset" and self._in_fonts and number is not None:
            self._fonts[self._font] = _CHARSETS.get(number, "")
        elif word == "f" and number is not None:
            self._font = number
            if not self._in_fonts:
                self._state = replace(self._state, encoding=self._fonts.get(number) or self._page)
        elif word == "plain":
            self._state = replace(self._state, encoding=self._page)


def encoding_of_page(number: int) -> str:
    """Return the name of a code page of Windows; that of western Europe for one that is not known."""
    known = {65_001: "utf-8", 20_127: "cp1252", 28_591: "cp1252", 936: "gb18030", 10_000: "mac_roman", 20_866: "koi8_r"}
    name = known.get(number, f"iso8859_{number - 28_590}" if 28_592 <= number <= 28_606 else f"cp{number}")
    try:
        "".encode(name)
    except LookupError:
        return "cp1252"
    return name
