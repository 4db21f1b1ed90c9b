"""Late interaction on text: MaxSim between the tokens of a question and of windows.

A window's score is the weighted mean, over the question's tokens, of the best cosine that any of its tokens reaches
(Khattab & Zaharia 2020, with idf weights). Token vectors are int8, unit length times 127: products of two of them are
whole numbers below 2^24, which float32 holds exactly, so scores do not depend on the batch or on the BLAS.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from docmind.embedding import QueryTokens

_ONE = 127 * 127  # the product of two equal vectors


def scores(query: QueryTokens, windows: Sequence[np.ndarray]) -> np.ndarray:
    """Return MaxSim of each window `(tokens, dim)` int8: `(len(windows),)` float64, about -1 to 1.

    A window without tokens scores -1. A question without tokens scores every window 0.
    """
    weight = float(query.weights.sum(dtype=np.float64))
    if not weight:
        return np.zeros(len(windows))
    best = np.full((len(query.weights), len(windows)), -_ONE, np.float64)
    for at, tokens in enumerate(windows):  # one product over all of them starts BLAS threads, and takes twice as long
        if len(tokens):
            best[:, at] = _products(query, tokens).max(axis=1)
    return query.weights.astype(np.float64) @ best / (weight * _ONE)


def matches(query: QueryTokens, tokens: np.ndarray, spans: np.ndarray, least: float = 0.6) -> list[tuple[int, int]]:
    """Return where a window matches the question: spans of its tokens, in order, adjacent ones joined.

    Of each question token the tokens at its best cosine count, where that is at least `least`; question tokens with
    less than the mean weight are skipped, because function words match everywhere. `spans` is `(tokens, 2)`.
    """
    if not len(tokens) or not len(query.weights):
        return []
    telling = query.weights >= query.weights.mean()
    products = _products(query, tokens)[telling]
    best = products.max(axis=1, keepdims=True)
    hit = ((products == best) & (best >= least * _ONE)).any(axis=0)
    found: list[tuple[int, int]] = []
    before = -2
    for at in np.flatnonzero(hit):
        start, end = int(spans[at, 0]), int(spans[at, 1])
        if at == before + 1 and found:
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
        before = int(at)
    return found


def _products(query: QueryTokens, tokens: np.ndarray) -> np.ndarray:
    """Return `(question tokens, tokens)` float32, whole numbers."""
    return query.vectors.astype(np.float32) @ tokens.astype(np.float32).T
