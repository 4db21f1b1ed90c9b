"""Whether a text layer agrees with the picture of its page: two of its lines are read and compared.

Scans come with layers of another document, of another alphabet, or of an OCR that read marks. The share of the layer's
sequences of three letters that OCR finds too is above 0.8 for true layers, and below 0.3 for others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from docmind.blocks import unpack
from docmind.documents import Words
from docmind.records.documents import ParsedPage

AGREEING = 0.6
_SURELY_AGREEING = 0.8
_UNSURE = 0.6  # certainty of what was read instead
_SURE, _FEWEST_SURE = 0.9, 30  # certainty and letters with which a page is shorter than its layer says
_READABLE = re.compile(r"[0-9A-Za-z\u00c0-\u024f\u3040-\u30ff\u4e00-\u9fff]")
_FEWEST = 6  # letters of a line that tell something
_EDGE = 0.35  # of a line's height: layers are a little beside their print

Strip = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Probe:
    """Lines of a layer: their text, and where the picture should show them, as x, y, w, h in pixels."""

    text: str
    strips: tuple[Strip, ...]


def probe_of(page: ParsedPage) -> Probe | None:
    """Return the two fullest lines of a page's layer, of its upper and its lower half.

    None where most of its letters are of a script that is not read from pictures.
    """
    said = [block for block in unpack(page.blocks, len(page.text)) if block.kind == "comment"]
    end = min((block.start for block in said), default=len(page.text))
    letters = sum(map(str.isalnum, page.text[:end]))
    if not letters or len(_READABLE.findall(page.text[:end])) < 0.5 * letters:
        return None
    lines = _lines(Words.unpack(page.words), end)
    shown = [(len(_READABLE.findall(page.text[start:stop])), start, stop, box) for start, stop, box in lines]
    middle = float(np.median([box[1] for *_, box in shown])) if shown else 0.0
    halves = [[one for one in shown if one[3][1] <= middle], [one for one in shown if one[3][1] > middle]]
    best = [max(half, key=lambda one: one[0]) for half in halves if half]
    best = [one for one in best if one[0] >= _FEWEST]
    if not best:
        return None
    return Probe("\n".join(page.text[start:stop] for _, start, stop, _ in best), tuple(one[3] for one in best))


def agreement(layer: str, seen: str) -> float:
    """Return the share of the layer's sequences of three letters or digits that `seen` has too, 0 to 1."""
    own, other = _threes(layer), _threes(seen)
    return len(own & other) / len(own) if own else 1.0


def is_better(layer: str, seen: str, certainty: float) -> bool:
    """Return whether what was read from the whole page replaces its layer, of which two lines did not agree."""
    letters, own = len(_READABLE.findall(seen)), len(_READABLE.findall(layer))
    if certainty < _UNSURE or (3 * letters < own and (certainty < _SURE or letters < _FEWEST_SURE)):
        return False
    return agreement(layer, seen) < _SURELY_AGREEING or letters > 1.3 * own


def _threes(text: str) -> set[str]:
    run = "".join(_READABLE.findall(text)).lower()
    return {run[at : at + 3] for at in range(len(run) - 2)}


def _lines(words: Words, end: int) -> list[tuple[int, int, Strip]]:
    """Return the lines of a layer up to `end`: start, end, and a strip around each."""
    out: list[tuple[int, int, Strip]] = []
    inside = (words.ends <= end) & (words.boxes[:, 2] > 0) & (words.boxes[:, 3] > 0)
    rows = zip(words.starts[inside].tolist(), words.ends[inside].tolist(), words.boxes[inside].tolist(), strict=True)
    for start, stop, (x, y, w, h) in rows:
        if out:
            begun, _, (left, top, wide, tall) = out[-1]
            if top <= y + h / 2 <= top + tall and x >= left + wide - h and x - (left + wide) < 3 * h:
                low, high = min(top, y), max(top + tall, y + h)
                out[-1] = begun, stop, (left, low, x + w - left, high - low)
                continue
        out.append((start, stop, (x, y, w, h)))
    return [(start, stop, _around(box)) for start, stop, box in out]


def _around(box: Strip) -> Strip:
    x, y, w, h = box
    edge = _EDGE * h
    return max(0.0, x - edge), max(0.0, y - edge), w + 2 * edge, h + 2 * edge
