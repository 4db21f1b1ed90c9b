"""Characters as a reader of a document sees them: invisible ones removed, garbled ones mended, raised ones kept."""

from __future__ import annotations

import re
import unicodedata

from docmind.reading.formats.typeset import printable

_RAISED = dict(zip("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ", strict=True))
_LOWERED = dict(zip("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎", strict=True))
_SIMPLE = re.compile(r"\d+(?:[.,]\d+)?|[^\W\d_][⁰¹²³⁴-⁹₀-₉]*|[^\W\d_]{3,}|[^\w\s]|\([^()]*\)")
_LONGEST = 12  # characters of an exponent or index; a longer one is text that is set small

# Marks of direction and joiners that are not seen; joiners that change the letters beside them stay.
_UNSEEN = dict.fromkeys(map(ord, "\u2060\u2061\u2062\u2063\u2064\u200e\u200f\u202a\u202b\u202c\u202d\u202e"))
_UNSEEN |= dict.fromkeys(range(0x2066, 0x206A))


def tidy(text: str) -> str:
    """Return the text without invisible characters, and with its accents composed."""
    return unicodedata.normalize("NFC", printable(text.translate(_UNSEEN)))


def grouped(text: str) -> str:
    """Return a part of a formula in brackets, unless it is one number, name or sign."""
    return text if not text or _SIMPLE.fullmatch(text) else f"({text})"


def raised(text: str) -> str:
    """Return an exponent: in raised characters where Unicode has all of them, else behind "^"."""
    if text and all(char in _RAISED for char in text):
        return "".join(_RAISED[char] for char in text)
    return f"^{grouped(text)}" if text else ""


def lowered(text: str) -> str:
    """Return an index: in lowered characters where Unicode has all of them, else behind "_"."""
    if text and all(char in _LOWERED for char in text):
        return "".join(_LOWERED[char] for char in text)
    return f"_{grouped(text)}" if text else ""


def superscript(text: str, before: str) -> str:
    """Return text that a page shows raised behind `before`.

    Ordinals ("2nd"), abbreviations ("Mme") and marks of notes ("[1]") stay as they are.
    """
    text = text.strip()
    digits = text.lstrip("+-−")
    if digits.isdecimal() and len(text) <= _LONGEST and before[-1:].strip():
        return raised(text)
    is_word = len(text) > 1 and text.isalpha()
    is_exponent = (
        text
        and not is_word
        and len(text) <= _LONGEST
        and "[" not in text
        and re.search(r"(?:^|[^\w])[^\W\d_]$", before)
    )
    return raised(text) if is_exponent else text


def subscript(text: str, before: str) -> str:
    """Return text that a page shows lowered behind `before`."""
    text = text.strip()
    return lowered(text) if text and len(text) <= _LONGEST and before[-1:].strip() else text


def struck(text: str) -> str:
    """Return text that a page shows struck out: between tildes, so that it is not taken for what holds."""
    return f"~~{text}~~" if text.strip() else text


# --- UTF-8 that was read as a western encoding and saved again --------------------------------------------------------

_FOREIGN = re.compile("[\x80-\U0010ffff]+")
_TIMES = 3  # how often a text may have been saved wrongly
_FEW = 0.1  # share of other characters beside garbled ones, where a program dropped a byte that it did not know


def _bytes_of() -> dict[str, int]:
    """Return the byte of each character of cp1252; bytes that it does not use stand for themselves."""
    known = {bytes([byte]).decode("cp1252", "ignore") or chr(byte): byte for byte in range(0x80, 0x100)}
    return known | {chr(byte): byte for byte in range(0x80, 0xA0)}


_BYTES = _bytes_of()


def mended(text: str) -> str:
    """Return the text with UTF-8 decoded that was taken for cp1252 or Latin-1: "Ã¼" becomes "ü".

    It is mended where that is certain: nearly all characters of the text, or of a line with several of them, that are
    not ASCII are such. A text that was written rightly has others too, and stays.
    """
    for _time in range(_TIMES):
        if text.isascii():
            break
        once = _mended_once(text)
        if once == text:
            break
        text = once
    return text


def _mended_once(text: str) -> str:
    garbled, others = _counts(text)
    if not garbled:
        return text
    if others <= _FEW * garbled:
        return _FOREIGN.sub(_right, text)
    lines = text.split("\n")
    return "\n".join(_FOREIGN.sub(_right, line) if _is_garbled(line) else line for line in lines)


def _is_garbled(line: str) -> bool:
    garbled, others = _counts(line)
    return garbled >= 2 and not others


def _counts(text: str) -> tuple[int, int]:
    """Return how many runs of characters beyond ASCII are UTF-8 in disguise, and how many are not."""
    garbled = others = 0
    for run in _FOREIGN.finditer(text):
        if _decoded(run[0]) is None:
            others += 1
        else:
            garbled += 1
    return garbled, others


def _right(run: re.Match[str]) -> str:
    return _decoded(run[0]) or run[0]


def _decoded(run: str) -> str | None:
    """Return what a run of characters was before it was garbled; None where it was not."""
    for core in (run, run.strip("\xa0")):  # a no-break space may stand beside a garbled letter
        try:
            found = bytes(_BYTES[char] for char in core).decode("utf-8")
        except (KeyError, UnicodeDecodeError):
            continue
        if found and all(char.isprintable() or ord(char) < 0xB0 or char in "\u200b\ufeff" for char in found):
            return run.replace(core, found, 1)
    return None
