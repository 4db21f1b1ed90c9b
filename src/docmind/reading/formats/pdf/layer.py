"""The text layer of a page: its text, and its words with their boxes.

Single character boxes cost 6 ms a page in ctypes; PDFium joins the boxes of a whole word by itself, at 1.2 ms.
"""

from __future__ import annotations

import ctypes
import re
import unicodedata
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

import numpy as np
import pypdfium2.raw as pdfium

from docmind.blocks import MOST_CHARACTERS
from docmind.documents import Words
from docmind.reading.formats.pdf.accents import composed
from docmind.reading.formats.pdf.columns import column_order
from docmind.reading.formats.pdf.hyphens import HYPHEN, is_kept, learn
from docmind.reading.formats.pdf.lines import first_words
from docmind.reading.formats.pdf.native import get_matrix, get_size, native
from docmind.reading.formats.pdf.superscripts import Cut, rewritten

_WORD = re.compile(r"\S+(?:(?<=\d-)\r?\n(?=\d)\S+)*")  # a range of numbers goes on over the end of a line: 2019-2021
_PIECE = re.compile(rf"[^{HYPHEN}\r\n]*(?P<end>{HYPHEN}|\r?\n|$)")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u200b\u200c\u200d\u2060\ufeff\ud800-\udfff\uffff]")
# Only ligatures and Arabic presentation forms are replaced by letters: full NFKC would turn m² into m2.
_LOOKS = re.compile("[\ufb00-\ufdff\ufe70-\ufefc]+")
_VISIBLE = 0.5  # of a word's area: on the page
_FINE = 64  # device units a pixel, since PDFium converts to whole device units


_count_rects = native("FPDFText_CountRects", ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
_get_rect = native("FPDFText_GetRect", ctypes.c_int, ctypes.c_void_p, ctypes.c_int, *[ctypes.c_void_p] * 4)


_Piece = tuple[int, int, int, int]
"""A word or a part of one: start and end in the clean text, start and end in the raw one."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Text and words of a page; boxes in pixels of a page image of the requested size.

    `sizes` (n) has the size of the letters of each word in points: its own for the first word of a line as it was
    drawn, that of the word in the middle of the line for the others. `left_out` counts characters that are too many.
    """

    text: str
    words: Words
    sizes: np.ndarray = field(default_factory=lambda: np.zeros(0))
    left_out: int = 0


def read_layer(page: object, width: int, height: int, known: set[str]) -> Layer:
    """Return the text layer of a loaded page.

    `known` holds the words of this document so far and grows: it decides whether a hyphen at a line's end stays.
    """
    text_page = pdfium.FPDFText_LoadPage(page)
    if not text_page:
        return Layer("", Words.of([], []))
    try:
        there = pdfium.FPDFText_CountChars(text_page)
        count = min(there, MOST_CHARACTERS)
        raw = _raw_text(text_page, count)
        index = _char_index(text_page, raw, count)
        raw = composed(raw, lambda place: _char_box(text_page, index(place)))
        raw, cuts = rewritten(raw, text_page, index)
        pieces, text = _clean(raw, known, cuts)
        rects, owners = _rects(text_page, [(index(start), index(end)) for _, _, start, end in pieces])
        boxes = _boxes(rects @ matrix_of(page, width, height), owners, len(pieces))
        boxes, is_shown = _clip(boxes, width, height)
        if not is_shown.all():
            pieces, text = _without(raw, text, pieces, is_shown)
            boxes = boxes[is_shown]
        sizes = _sizes(text_page, boxes, [index(start) for start in _places_of_sizes(text, pieces)])
    finally:
        pdfium.FPDFText_ClosePage(text_page)
    order = _order(text, pieces, boxes)
    if order is not None:
        return replace(_reordered(raw, text, pieces, boxes, sizes, order, known), left_out=there - count)
    words = Words.of([(start, end) for start, end, _, _ in pieces], boxes)  # pyright: ignore[reportArgumentType]
    return Layer(text, words, sizes, there - count)


_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff]")


def _order(text: str, pieces: list[_Piece], boxes: np.ndarray) -> np.ndarray | None:
    """Return the order of words in which columns are read one after the other; None where they have it."""
    if not len(pieces) or _RIGHT_TO_LEFT.search(text):
        return None
    return column_order(boxes, lambda number: text[slice(*pieces[number][:2])])


def _reordered(
    raw: str,
    text: str,
    pieces: list[_Piece],
    boxes: np.ndarray,
    sizes: np.ndarray,
    order: np.ndarray,
    known: set[str],
) -> Layer:
    """Return the layer with its words in another order; a word that is divided at the end of a line is joined there."""
    parts: list[str] = []
    spans: list[tuple[int, int]] = []
    place, before = 0, -2
    for number in order.tolist():
        start, end, at, _ = pieces[number]
        word = text[start:end]
        if before >= 0:
            between = _between(raw, text, pieces, boxes, before, number)
            if between == "\n" and len(parts[-1]) > 1 and parts[-1][-1] == "-" and parts[-1][-2].isalpha():
                left = parts[-1][:-1]
                if word[0].islower():
                    between = ""
                    if not is_kept(left, word, known):
                        parts[-1], place = left, place - 1
                        spans[-1] = (spans[-1][0], place)
            parts.append(between)
            place += len(between)
        if raw[at + len(word) : at + len(word) + 1] == HYPHEN and not word.endswith("-"):
            word += "-"  # it was taken for the end of a line that goes on in the other column
        spans.append((place, place + len(word)))
        parts.append(word)
        place += len(word)
        before = number
    return Layer("".join(parts), Words.of(spans, boxes[order]), sizes[order])  # pyright: ignore[reportArgumentType]


def _between(raw: str, text: str, pieces: list[_Piece], boxes: np.ndarray, before: int, number: int) -> str:
    """Return what stands between two words: nothing within a word, a space on a line, else the end of a line."""
    start, end = pieces[before][1], pieces[number][0]
    if number == before + 1 and not (start == end and HYPHEN in raw[pieces[before][2] : pieces[number][2]]):
        return text[start:end]
    top, bottom = boxes[number][1], boxes[number][1] + boxes[number][3]
    middle = boxes[before][1] + boxes[before][3] / 2
    return " " if top <= middle <= bottom and boxes[number][0] >= boxes[before][0] else "\n"


def _raw_text(text_page: object, count: int) -> str:
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


def _char_index(text_page: object, raw: str, count: int) -> Callable[[int], int]:
    """Return a map from places in the text to PDFium's character numbers, which differ where characters are missing.

    PDFium counts a character outside of the basic plane, such as a letter of a formula, as two.
    """
    if len(raw) == count:
        return lambda place: place
    units = list(accumulate((1 + (char > "\uffff") for char in raw), initial=0))
    if units[-1] == count:
        return units.__getitem__
    return lambda place: (
        pdfium.FPDFText_GetCharIndexFromTextIndex(text_page, units[place]) if place < len(raw) else count
    )


def _clean(raw: str, known: set[str], cuts: Sequence[Cut] = ()) -> tuple[list[_Piece], str]:
    """Return words as (start, end) in the clean text and (start, end) in the raw one, and the clean text.

    A word broken over two lines becomes one word of the text in two pieces, each with its own box, and so does one with
    a `Cut`. The cuts are in the order of the text.
    """
    learn(raw, known)
    pieces: list[_Piece] = []
    parts: list[str] = []
    place = last = 0
    waiting = deque(cuts)
    for match in _WORD.finditer(raw):
        start, end = match.span()
        word = match.group()
        if waiting and waiting[0].start < end:
            own: list[Cut] = []
            while waiting and waiting[0].start < end:
                own.append(waiting.popleft())
            fresh = list(_cut(word, start, own, known))
        elif word.isascii() and word.isprintable():  # nearly all of them
            fresh = ((word, start, end),)
        else:
            fresh = list(_shown(word, start, known))
        if not any(shown for shown, _, _ in fresh):
            continue
        if parts:
            parts.append("\n" if raw.find("\n", last, start) >= 0 else " ")
            place += 1
        last = end
        for shown, at, behind in fresh:
            if not shown:
                parts.append(" ")
                place += 1
                continue
            parts.append(shown)
            pieces.append((place, place + len(shown), at, behind))
            place += len(shown)
    return pieces, "".join(parts)


def _cut(word: str, start: int, cuts: Sequence[Cut], known: set[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the pieces of a word with cuts, as of `_shown`; an empty text is a space between two of them."""
    done = start
    for cut in cuts:
        yield from _shown(word[done - start : cut.start - start], done, known)
        if cut.shown or cut.start > start:
            yield cut.shown, cut.start, cut.end
        done = cut.end
    yield from _shown(word[done - start :], done, known)


def _shown(word: str, start: int, known: set[str]) -> Iterator[tuple[str, int, int]]:
    """Yield the pieces of a word that are seen, each with its start and end in the raw text."""
    end = start + len(word)
    found = [(shown, at) for piece, at in _unbreak(word, start, known) if (shown := letters(piece))]
    for shown, at in found:
        yield shown, at, min(end, at + len(shown)) if len(found) > 1 else end


def _without(raw: str, text: str, pieces: Sequence[_Piece], is_shown: np.ndarray) -> tuple[list[_Piece], str]:
    """Return the pieces that are on the page and their text, as of `_clean`."""
    out: list[_Piece] = []
    parts: list[str] = []
    place, before = 0, -1
    for number in np.flatnonzero(is_shown).tolist():
        start, end, at, behind = pieces[number]
        if before >= 0:
            between = text[pieces[before][1] : start]
            if number > before + 1:
                between = "\n" if "\n" in between else " "
            parts.append(between)
            place += len(between)
        out.append((place, place + end - start, at, behind))
        parts.append(text[start:end])
        place += end - start
        before = number
    return out, "".join(parts)


def _places_of_sizes(text: str, pieces: Sequence[_Piece]) -> Iterator[int]:
    """Yield the place in the raw text of a character that has the size of each word.

    That of a mark behind a word is the one of the word: lines are told apart by the size of their words.
    """
    reached, place = -1, 0
    for start, end, at, _behind in pieces:
        place = place if start == reached and text[start] in "[^" else at
        yield place
        reached = end


def letters(piece: str) -> str:
    """Return a word without invisible characters, its accents composed and its ligatures as letters."""
    piece = _LOOKS.sub(lambda look: unicodedata.normalize("NFKC", look.group()), _CONTROL.sub("", piece))
    # A spacing form may bring its own space along; within a word there is none.
    return "".join(unicodedata.normalize("NFC", piece).split())


def _unbreak(word: str, start: int, known: set[str]) -> list[tuple[str, int]]:
    """Split a word at line ends.

    Returns each piece with its place in the raw text, keeping hyphens that belong.
    """
    out: list[tuple[str, int]] = []
    for match in _PIECE.finditer(word):
        piece = word[match.start() : match.start("end")]
        follows = word[match.end() :].partition(HYPHEN)[0]
        is_kept_here = match["end"] == HYPHEN and follows and is_kept(piece, follows, known)
        out.append((piece + "-" if is_kept_here else piece, start + match.start()))
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


def _char_box(text_page: object, number: int) -> tuple[float, float]:
    """Return left and right of a character in points, both 0 where it has no place."""
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    if not pdfium.FPDFText_GetCharBox(text_page, number, left, right, bottom, top):
        return 0.0, 0.0
    return left.value, right.value


def _sizes(text_page: object, boxes: np.ndarray, at: list[int]) -> np.ndarray:
    """Return the sizes of words in points (n): of two words of each line, as of the `Layer`.

    The font says its size before the page scales its text, so the matrix of the text counts too.
    """
    out = np.zeros(len(boxes))
    shown = np.flatnonzero((boxes[:, 2] > 0) & (boxes[:, 3] > 0))
    if not len(shown):
        return out
    handle = ctypes.cast(text_page, ctypes.c_void_p).value  # pyright: ignore[reportArgumentType]
    matrix = np.zeros(6, dtype=np.float32)
    place = matrix.ctypes.data

    def size(number: int) -> float:
        scale = float(np.hypot(matrix[2], matrix[3])) if get_matrix(handle, at[number], place) else 1.0
        return get_size(handle, at[number]) * scale

    first = first_words(boxes[shown])
    ends = np.append(first[1:], len(shown))
    middle = [size(number) for number in shown[(first + ends) // 2].tolist()]
    out[shown] = np.repeat(middle, ends - first)
    several = ends - first > 1
    out[shown[first[several]]] = [size(number) for number in shown[first[several]].tolist()]
    return out


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


def _clip(boxes: np.ndarray, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """Return boxes clipped to the image (n, 4), and which words are on it (n).

    A word outside the crop box is on no sheet that a person sees, and so is one of which less than half lies inside.
    One without a box may be anywhere, so it stays.
    """
    edge = np.array([width, height], dtype=np.float64)
    low = np.clip(boxes[:, :2], 0, edge)
    high = np.clip(boxes[:, :2] + boxes[:, 2:], 0, edge)
    clipped = np.hstack([low, high - low])
    whole = boxes[:, 2] * boxes[:, 3]
    return clipped, clipped[:, 2] * clipped[:, 3] >= _VISIBLE * whole
