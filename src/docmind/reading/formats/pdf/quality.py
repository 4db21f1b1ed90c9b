"""Whether a text layer is to be trusted.

The thresholds were set on 1,181 pages of filings, laws, gazettes, papers and scans; OCR of one page costs seconds, so a
page is sent there only on clear signs.
"""

from __future__ import annotations

import re

import numpy as np

FEW_WORDS = 100  # a page with more has a usable text layer, whatever pictures it shows

_ODD = re.compile("[\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_VOWEL = re.compile(r"[aeiouyAEIOUYàáâãäåæèéêëìíîïòóôõöøùúûüýÿÀÁÂÃÄÅÆÈÉÊËÌÍÎÏÒÓÔÕÖØÙÚÛÜÝ]")
_BAND = 0.12  # share of the page's height that a header and a footer line cover together
_CELL = 8  # pixels of the reduced picture


def plausibility(text: str) -> float:
    """Return which share of the text looks like language or figures, 0 to 1; 0 for no text."""
    tokens = text.split()
    if not tokens:
        return 0.0
    sound = sum(_is_sound(token) for token in tokens) / len(tokens)
    odd = len(_ODD.findall(text)) / sum(map(len, tokens))
    return max(0.0, sound - 2.0 * odd) * _vowel_score(text)


def needs_ocr(text: str, lines: float, image: float, unread: float, *, is_blank: bool) -> bool:
    """Return whether the page needs OCR.

    Shares of the page, 0 to 1: `lines` of its height with words, `image` of its area under pictures, `unread` of its
    area with marks outside of words. A blank page has nothing to read.
    """
    if is_blank:
        return False
    words = len(text.split())
    if not words:
        return True
    if words < 3 and len(text) < 20 and unread > 0.03:
        return True
    if plausibility(text) < 0.5:
        return True
    # A scan under a stamped header line: few words in a narrow band, and marks elsewhere on the picture.
    # On a page that is one picture two more lines count; specks and a stamp are less.
    return words < FEW_WORDS and image > 0.5 and lines < _BAND and unread > (0.015 if image > 0.9 else 0.2)


def lines_share(boxes: np.ndarray, height: int) -> float:
    """Return the share of the page's height with words.

    `boxes` (n, 4) in pixels of an image `height` high.
    """
    rows = np.zeros(max(1, height), dtype=bool)
    for _left, top, _wide, tall in boxes:
        rows[int(top) : int(top + tall) + 1] = True
    return float(rows.mean())


def unread_share(grey: np.ndarray, boxes: np.ndarray) -> float:
    """Return the share of small cells of a grey picture (h, w) with marks outside all words' `boxes` (n, 4)."""
    marks = np.abs(grey.astype(np.int16) - int(np.median(grey))) > 48
    for left, top, wide, tall in boxes:
        marks[max(0, int(top) - 2) : int(top + tall) + 3, max(0, int(left) - 2) : int(left + wide) + 3] = False
    high, across = (side // _CELL * _CELL for side in marks.shape)
    if not high or not across:
        return float(marks.any())
    cells = marks[:high, :across].reshape(high // _CELL, _CELL, across // _CELL, _CELL)
    return float(cells.any(axis=(1, 3)).mean())


def _is_sound(token: str) -> bool:
    """Return whether a word is at least a third letters and digits, as (33.5)%, or few marks, or one repeated."""
    if token.isalnum() or token[:-1].isalnum():
        return True
    known = sum(map(str.isalnum, token))
    return 3 * known >= len(token) if known else len(token) <= 2 or len(set(token)) == 1


def _vowel_score(text: str) -> float:
    """Return 0.3 where Latin letters have an unusual share of vowels, as shifted alphabets do.

    All other texts score 1, and so do those with fewer than 200 Latin letters.
    """
    latin = len(_LATIN.findall(text))
    if latin < 200:
        return 1.0
    share = len(_VOWEL.findall(text)) / latin
    return 1.0 if 0.22 <= share <= 0.62 else 0.3
