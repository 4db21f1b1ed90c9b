"""The order of items for a question: by what they mean, or by its words where no text model can be used."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

Order = list[tuple[int, float | None]]
"""Positions in what was given, the best first, each with its score."""

_WORD = re.compile(r"\w+")


def by_meaning(stored: Sequence[bytes | None], vector: np.ndarray) -> Order:
    """By cosine with a unit vector `(dim,)`, of the nearest where an item has several; what has none comes last.

    `stored` are unit vectors, float32, one after another.
    """
    scored = [(at, data) for at, data in enumerate(stored) if data]
    order: Order = []
    if scored:
        lengths = [len(data) // vector.nbytes for _, data in scored]
        cosines = np.frombuffer(b"".join(data for _, data in scored), "<f4").reshape(-1, vector.size) @ vector
        best = np.maximum.reduceat(cosines, np.cumsum([0, *lengths[:-1]]))
        order += [(scored[at][0], float(best[at])) for at in np.argsort(-best, kind="stable")]
    return order + [(at, None) for at, data in enumerate(stored) if not data]


def by_words(texts: Sequence[str], question: str) -> Order:
    """By the share of the question's words that a text holds; what holds none is left out."""
    asked = set(_WORD.findall(question.casefold()))
    shares = [len(asked.intersection(_WORD.findall(text.casefold()))) / max(1, len(asked)) for text in texts]
    return [(at, shares[at]) for at in sorted(range(len(texts)), key=lambda at: -shares[at]) if shares[at]]
