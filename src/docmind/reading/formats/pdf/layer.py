"""The text layer of a page: its text, and its words with their boxes.

Single character boxes cost 6 ms a page in ctypes; PDFium joins the boxes of a whole word by itself, at 1.2 ms.
"""

from __future__ import annotations

import ctypes
import re
import unicodedata
from dataclasses import dataclass

import numpy as np
import pypdfium2.raw as pdfium

from docmind.documents import Words
from docmind.reading.formats.pdf.hyphens import HYPHEN, is_kept, learn

_WORD = re.compile(r"\S+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u200b\u200c\u200d\u2060\ufeff\ud800-\udfff\uffff]")
# Only ligatures and Arabic presentation forms are replaced by letters: full NFKC would turn m² into m2.
_LOOKS = re.compile("[\ufb00-\ufdff\ufe70-\ufefc]+")
_FINE = 64  # device units a pixel, since PDFium converts to whole device units


def _native(name: str, result: type, *arguments: type):
    """Return a PDFium function that takes addresses as numbers: making pointer objects costs more than the call."""
    address = ctypes.cast(getattr(pdfium, name), ctypes.c_void_p).value
    assert address is not None
    return ctypes.CFUNCTYPE(result, *arguments)(address)


_count_rects = _native("FPDFText_CountRects", ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
_get_rect = _native("FPDFText_GetRect", ctypes.c_int, ctypes.c_void_p, ctypes.c_int, *[ctypes.c_void_p] * 4)


@dataclass(frozen=True, slots=True)
class Layer:
    """Text and words of a page; boxes in pixels of a page image of the requested size."""

    text: str
    words: Words


def read_layer(page: object, width: int, height: int, known: set[str]) -> Layer:
    """Return the text layer of a loaded page.

    `known` holds the words of this document so far and grows: it decides whether a hyphen at a line's end stays.
    """
    text_page = pdfium.FPDFText_LoadPage(page)
    if not text_page:
        return Layer("", Words.of([], []))
    try:
        raw = _raw_text(text_page)
        pieces, text = _clean(raw, known)
        index = _char_index(text_page, raw)
        rects, owners = _rects(text_page, [(index(start), index(end)) for _, _, start, end in pieces])
    finally:
        pdfium.FPDFText_ClosePage(text_page)
    boxes = _boxes(rects @ matrix_of(page, width, height), owners, len(pieces))
    boxes = _clip(boxes, width, height)
    return Layer(text, Words.of([(start, end) for start, end, _, _ in pieces], boxes))  # pyright: ignore[reportArgumentType]


def _raw_text(text_page: object) -> str:
    count = pdfium.FPDFText_CountChars(text_page)
    if count <= 0:
        return ""
    buffer = (ctypes.c_ushort * (2 * count + 2))()
    written = pdfium.FPDFText_GetText(text_page, 0, count, buffer)
    return _unswap(bytes(buffer)[: 2 * max(0, written - 1)].decode("utf-16-le", "replace"))


def _unswap(text: str) -> str:
    """Undo swapped bytes of characters, which some producers write into their character map."""
    # Ordinary text is recognized at its first letter; one or two characters are not enough to decide.
    if len(text) < 4 or any(
        ord(char) & 0xFF or not 0x20 <= ord(char) >> 8 < 0x7F for char in text if not char.isspace()
    ):
        return text
    return "".join(char if char.isspace() else chr(ord(char) >> 8) for char in text)


def _char_index(text_page: object, raw: str):
    """Return a map from places in the text to PDFium's character numbers, which differ where characters are missing."""
    if len(raw) == pdfium.FPDFText_CountChars(text_page):
        return lambda place: place
    return lambda place: (
        pdfium.FPDFText_GetCharIndexFromTextIndex(text_page, place)
        if place < len(raw)
        else pdfium.FPDFText_CountChars(text_page)
    )


def _clean(raw: str, known: set[str]) -> tuple[list[tuple[int, int, int, int]], str]:
    """Return words as (start, end) in the clean text and (start, end) in the raw one, and the clean text.

    A word broken over two lines becomes one word of the text in two pieces, each with its own box.
    """
    learn(raw, known)
    pieces: list[tuple[int, int, int, int]] = []
    parts: list[str] = []
    place = last = 0
    for match in _WORD.finditer(raw):
        start, end = match.span()
        word = match.group()
        if word.isascii() and word.isprintable():  # nearly all of them
            fresh = ((word, start),)
        else:
            fresh = [(shown, at) for piece, at in _unbreak(word, start, known) if (shown := letters(piece))]
            if not fresh:
                continue
        if parts:
            parts.append("\n" if raw.find("\n", last, start) >= 0 else " ")
            place += 1
        last = end
        for shown, at in fresh:
            parts.append(shown)
            pieces.append((place, place + len(shown), at, min(end, at + len(shown)) if len(fresh) > 1 else end))
            place += len(shown)
    return pieces, "".join(parts)


def letters(piece: str) -> str:
    """Return a word without invisible characters, its accents composed and its ligatures as letters."""
    piece = _LOOKS.sub(lambda look: unicodedata.normalize("NFKC", look.group()), _CONTROL.sub("", piece))
    # A spacing form may bring its own space along; within a word there is none.
    return "".join(unicodedata.normalize("NFC", piece).split())


def _unbreak(word: str, start: int, known: set[str]) -> list[tuple[str, int]]:
    """Split a word at line ends.

    Returns each piece with its place in the raw text, keeping hyphens that belong.
    """
    pieces = word.split(HYPHEN)
    out: list[tuple[str, int]] = []
    for number, piece in enumerate(pieces):
        follows = pieces[number + 1] if number + 1 < len(pieces) else ""
        out.append((piece + "-" if follows and is_kept(piece, follows, known) else piece, start))
        start += len(piece) + 1
    return out


def _rects(text_page: object, spans: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return corners of all rectangles of words as (2n, 3) with a 1 for the matrix, and each rectangle's word."""
    handle = ctypes.cast(text_page, ctypes.c_void_p).value  # pyright: ignore[reportArgumentType]
    size = 4 * sum(max(1, end - start) for start, end in spans) + 4
    table = np.zeros(size, dtype=np.float64)
    place, bytes_each = table.ctypes.data, 32
    counts = np.zeros(len(spans), dtype=np.int64)
    room = size // 4
    for number, (start, end) in enumerate(spans):
        found = _count_rects(handle, start, end - start) if end > start else 0
        if found > room:
            found = room
        for each in range(found):
            # PDFium's order is left, top, right, bottom.
            _get_rect(handle, each, place, place + 8, place + 16, place + 24)
            place += bytes_each
        room -= found
        counts[number] = found
    rects = table[: 4 * int(counts.sum())].reshape(-1, 2)
    return np.column_stack([rects, np.ones(len(rects))]), np.repeat(np.arange(len(spans)), counts)


def matrix_of(page: object, width: int, height: int) -> np.ndarray:
    """Return the matrix (3, 2) from page space to pixels, from PDFium: it knows rotation, crop box and user unit."""
    x, y = ctypes.c_int(), ctypes.c_int()
    points = []
    for at in ((0.0, 0.0), (1000.0, 0.0), (0.0, 1000.0)):
        pdfium.FPDF_PageToDevice(page, 0, 0, width * _FINE, height * _FINE, 0, *at, x, y)
        points.append((x.value / _FINE, y.value / _FINE))
    origin, right, up = np.asarray(points)
    return np.stack([(right - origin) / 1000.0, (up - origin) / 1000.0, origin])


def _boxes(corners: np.ndarray, owners: np.ndarray, count: int) -> np.ndarray:
    """Return one x, y, w, h per word around all its rectangles.

    A word without any has an empty box.
    """
    boxes = np.zeros((count, 4))
    if not len(owners):
        return boxes
    pairs = corners.reshape(-1, 2, 2)
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    low = np.minimum.reduceat(pairs.min(axis=1), first)
    high = np.maximum.reduceat(pairs.max(axis=1), first)
    boxes[owners[first]] = np.hstack([low, high - low])
    return boxes


def _clip(boxes: np.ndarray, width: int, height: int) -> np.ndarray:
    """Clip boxes to the image: text outside the crop box has no place on it."""
    edge = np.array([width, height], dtype=np.float64)
    low = np.clip(boxes[:, :2], 0, edge)
    high = np.clip(boxes[:, :2] + boxes[:, 2:], 0, edge)
    return np.hstack([low, high - low])
