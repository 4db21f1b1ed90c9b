"""Segmentation of text into the pieces of a SentencePiece unigram vocabulary, as XLM-RoBERTa uses it.

The model `Unigram` of the package `tokenizers` takes 265 MB and most of a second for 250,000 pieces; the dict here
takes 50 MB and a fifth of the time. Normalisation, words and offsets are those of `tokenizers`.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Sequence
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tokenizers import Token

META = "▁"
"""Stands for the blank before a word."""
_TILDE, _KEPT = "\uff5e", "\ufdd0"  # the wide tilde is kept, though NFKC replaces it: a noncharacter holds its place
_UNKNOWN = 10.0  # an unknown character scores so much less than the rarest piece (SentencePiece)
_CACHED, _LONGEST = 1 << 15, 32  # words whose pieces are remembered; characters of such a word


class Unigram:
    """A vocabulary and its segmentation. Thread-safe."""

    def __init__(
        self, pieces: Sequence[str], scores: Sequence[float], *, unknown: int, special: Collection[int] = ()
    ) -> None:
        """Set up; `special` pieces are never found in a text, nor is `unknown`."""
        self._scores = array("d", scores)
        self._unknown = unknown
        outside = {unknown, *special}
        self._ids = {piece: number for number, piece in enumerate(pieces) if piece and number not in outside}
        self._longest = max(map(len, self._ids), default=1)
        self._unknown_score = min(self._scores, default=0.0) - _UNKNOWN
        self._remembered = lru_cache(_CACHED)(self._segmented)
        self._normaliser, self._words = _rules()

    def ids(self, text: str) -> list[int]:
        """Return the pieces of `text`, without special ones."""
        return self._encoded(text).ids

    def spans(self, text: str) -> np.ndarray:
        """Return the character offsets `(n, 2)` int64 in `text` of its pieces, in order."""
        return np.array(self._encoded(text).offsets, np.int64).reshape(-1, 2)

    def _encoded(self, text: str) -> Any:
        from tokenizers import PreTokenizedString

        parts = PreTokenizedString(text)
        parts.normalize(self._normaliser.normalize)
        self._words.pre_tokenize(parts)
        parts.tokenize(lambda word: (self._remembered if len(word) <= _LONGEST else self._segmented)(word))
        return parts.to_encoding()

    def _segmented(self, word: str) -> list[Token]:
        """Return the most probable pieces of a word (Viterbi); neighbouring unknown characters become one piece."""
        from tokenizers import Token

        length, known, scores = len(word), self._ids.get, self._scores
        best = [0.0] + [-inf] * length
        begin, number = [0] * (length + 1), [self._unknown] * (length + 1)
        for start in range(length):
            here = best[start]
            for end in range(start + 1, min(start + self._longest, length) + 1):
                found = known(word[start:end])
                if found is not None and here + scores[found] > best[end]:
                    best[end], begin[end], number[end] = here + scores[found], start, found
            if here + self._unknown_score > best[start + 1]:
                best[start + 1], begin[start + 1] = here + self._unknown_score, start
                number[start + 1] = self._unknown
        spans: list[tuple[int, int, int]] = []
        end = length
        while end > 0:
            piece = number[end]
            if spans and piece == self._unknown == spans[-1][0]:
                spans[-1] = piece, begin[end], spans[-1][2]
            else:
                spans.append((piece, begin[end], end))
            end = begin[end]
        at = [0]  # `tokenizers` counts in bytes of UTF-8
        for char in word:
            at.append(at[-1] + len(char.encode("utf-8", "surrogatepass")))
        return [Token(piece, word[start:end], (at[start], at[end])) for piece, start, end in reversed(spans)]


def _rules() -> tuple[Any, Any]:
    """Return the normaliser `nmt_nfkc` of SentencePiece, and the cut into words that begin with `META`."""
    from tokenizers import normalizers, pre_tokenizers

    normaliser = normalizers.Sequence(
        [
            normalizers.Replace(_TILDE, _KEPT),
            normalizers.Nmt(),
            normalizers.NFKC(),
            normalizers.Replace(_KEPT, _TILDE),
        ]
    )
    words = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement=META, prepend_scheme="always")]
    return normaliser, pre_tokenizers.Sequence(words)
