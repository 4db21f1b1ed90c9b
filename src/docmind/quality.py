"""Is the text layer of a page to be trusted, or must the page be read from its picture?

The thresholds were set on 1,181 pages of filings, laws, gazettes, papers and scans; reading one page from its picture
costs seconds, so a page is sent there only on clear signs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

_ODD = re.compile("[\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_VOWEL = re.compile(r"[aeiouyAEIOUYàáâãäåæèéêëìíîïòóôõöøùúûüýÿÀÁÂÃÄÅÆÈÉÊËÌÍÎÏÒÓÔÕÖØÙÚÛÜÝ]")

FEW_WORDS = 100  # a page with more has a layer of its own, whatever pictures it shows
_BAND = 0.12  # share of the page's height that a header and a footer line cover together


def plausibility(text: str) -> float:
    """How much of the text looks like language or figures, 0 to 1; 0 for no text."""
    tokens = text.split()
    if not tokens:
        return 0.0
    sound = sum(_is_sound(token) for token in tokens) / len(tokens)
    odd = len(_ODD.findall(text)) / sum(map(len, tokens))
    return max(0.0, sound - 2.0 * odd) * _vowel_score(text)


def needs_ocr(text: str, boxes: np.ndarray, height: int, *, image_share: float, is_blank: bool) -> bool:
    """Whether the page is to be read from its picture.

    `boxes` are the words' boxes (n, 4) on an image `height` pixels high, `image_share` is the share of the page that
    pictures cover. A blank page has nothing to read.
    """
    if is_blank:
        return False
    words = len(text.split())
    if words < 3 and len(text) < 20:
        return True
    if plausibility(text) < 0.5:
        return True
    return words < FEW_WORDS and image_share > 0.5 and lines_share(boxes, height) < _BAND


def lines_share(boxes: Sequence[Sequence[float]] | np.ndarray, height: int) -> float:
    """Share of the page's height on which a word stands."""
    rows = np.zeros(max(1, height), dtype=bool)
    for _, top, _, tall in np.asarray(boxes).reshape(-1, 4):
        rows[int(top) : int(top + tall) + 1] = True
    return float(rows.mean())


def _is_sound(token: str) -> bool:
    """A token is sound if it is made of letters, of digits, or is a lone mark such as a dash or bullet."""
    letters = sum(char.isalpha() for char in token)
    digits = sum(char.isdigit() for char in token)
    if letters + digits == 0:
        return len(token) <= 2 or len(set(token)) == 1
    return letters + digits >= 0.5 * len(token)


def _vowel_score(text: str) -> float:
    """1 where Latin letters hold a usual share of vowels; shifted alphabets do not. Short texts prove nothing."""
    latin = len(_LATIN.findall(text))
    if latin < 200:
        return 1.0
    share = len(_VOWEL.findall(text)) / latin
    return 1.0 if 0.22 <= share <= 0.62 else 0.3
