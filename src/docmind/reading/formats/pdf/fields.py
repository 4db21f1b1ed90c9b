"""Form fields of a page: what is filled in is read behind its label, and boxes say whether they are ticked.

PDFium merges filled-in values into the page behind all other text, and a tick is only drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from docmind.documents import Words
from docmind.reading.formats.pdf.layer import Layer

_TICKED, _EMPTY = "☒", "☐"
_FAR = 0.4  # of the page's width, between a field and the label at its left
_NEAR = 2.5  # heights of a box, between it and the label at its right
_ABOVE = 2.5  # heights of a word, between a field and the label above it


@dataclass(frozen=True, slots=True)
class Field:
    """A field: left, bottom, right, top in points, and the state of a box to tick, "" for other fields."""

    rect: tuple[float, float, float, float]
    state: str


@dataclass(slots=True)
class _Word:
    text: str
    before: str  # what stands between it and the word before
    box: tuple[float, float, float, float]  # x, y, w, h
    size: float


def with_fields(layer: Layer, fields: Sequence[Field], areas: np.ndarray, width: int) -> Layer:
    """Return a page's text with the value of each field behind its label.

    `areas` (n, 4) has x, y, w, h of the fields in pixels of the page's image, which is `width` wide.
    """
    words = _words(layer)
    middles = layer.words.boxes[:, :2] + layer.words.boxes[:, 2:] / 2
    owners = np.full(len(words), -1)
    for number, (x, y, w, h) in enumerate(areas.tolist()):
        inside = (middles[:, 0] >= x) & (middles[:, 0] <= x + w) & (middles[:, 1] >= y) & (middles[:, 1] <= y + h)
        owners[inside & (owners < 0)] = number
    labels = [at for at in np.flatnonzero(owners < 0).tolist() if words[at].box[2] > 0]
    behind: dict[int, list[int]] = {}
    ahead: dict[int, list[int]] = {}
    left_over: list[int] = []
    for number, area in sorted(enumerate(areas.tolist()), key=lambda one: one[1][0]):
        is_box = bool(fields[number].state)
        if not is_box and not (owners == number).any():
            continue
        right = _label_at_right(words, labels, area) if is_box else None
        at = right if right is not None else _label(words, labels, area, width)
        (left_over if at is None else (ahead if right is not None else behind).setdefault(at, [])).append(number)
    values = {
        number: _value(words, owners, number, fields[number], areas[number].tolist()) for number in range(len(fields))
    }
    out: list[_Word] = []
    for at in (at for at in range(len(words)) if owners[at] < 0):
        word = words[at]
        for number in ahead.get(at, ()):
            out += _set(values[number], word.before)
            word.before = " "
        out.append(word)
        for number in behind.get(at, ()):
            out += _set(values[number], " ")
    for number in left_over:
        out += _set(values[number], "\n")
    return _layer(out)


def _words(layer: Layer) -> list[_Word]:
    out: list[_Word] = []
    end = 0
    spans = zip(layer.words.starts.tolist(), layer.words.ends.tolist(), layer.words.boxes.tolist(), strict=True)
    for (start, stop, box), size in zip(spans, layer.sizes.tolist(), strict=True):
        out.append(_Word(layer.text[start:stop], layer.text[end:start], tuple(box), size))
        end = stop
    return out


def _value(words: Sequence[_Word], owners: np.ndarray, number: int, field: Field, area: list[float]) -> list[_Word]:
    if field.state:  # the sign that draws a tick is a letter of a font of signs
        x, y, w, h = area
        return [_Word(_EMPTY if field.state == "Off" else _TICKED, " ", (x, y, w, h), 0.0)]
    return [words[at] for at in np.flatnonzero(owners == number).tolist()]


def _set(value: list[_Word], before: str) -> list[_Word]:
    if value:
        value[0].before = before
    return value


def _label(words: Sequence[_Word], labels: Sequence[int], area: list[float], width: int) -> int | None:
    """Return the last word at the left of a field, else that of the line right above it."""
    x, y, w, h = area
    row = [at for at in labels if _is_beside(words[at], y, h) and words[at].box[0] + words[at].box[2] / 2 < x + w / 2]
    if row:
        nearest = max(row, key=lambda at: words[at].box[0] + words[at].box[2])
        if x - words[nearest].box[0] - words[nearest].box[2] < _FAR * width:
            return nearest
    above = [
        at
        for at in labels
        if words[at].box[0] < x + w
        and words[at].box[0] + words[at].box[2] > x
        and 0 <= y + h / 2 - words[at].box[1] - words[at].box[3] <= h / 2 + _ABOVE * words[at].box[3]
    ]
    return max(above, key=lambda at: (round(words[at].box[1] / max(1.0, h)), words[at].box[0]), default=None)


def _label_at_right(words: Sequence[_Word], labels: Sequence[int], area: list[float]) -> int | None:
    x, y, w, h = area
    row = [at for at in labels if _is_beside(words[at], y, h) and words[at].box[0] >= x + w / 2]
    nearest = min(row, key=lambda at: words[at].box[0], default=None)
    return nearest if nearest is not None and words[nearest].box[0] - x - w <= _NEAR * h else None


def _is_beside(word: _Word, y: float, h: float) -> bool:
    _x, top, _w, high = word.box
    return min(top + high, y + h) - max(top, y) > 0.4 * min(high, h)


def _layer(words: Sequence[_Word]) -> Layer:
    parts: list[str] = []
    spans: list[tuple[int, int]] = []
    place = 0
    for word in words:
        before = word.before if parts else ""
        parts += [before, word.text]
        place += len(before)
        spans.append((place, place + len(word.text)))
        place += len(word.text)
    sizes = np.asarray([word.size for word in words])
    return Layer("".join(parts), Words.of(spans, [word.box for word in words]), sizes)
