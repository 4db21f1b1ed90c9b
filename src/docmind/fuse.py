"""Fusing ranked lists into one.

Two ways: reciprocal rank fusion (Cormack et al. 2009: sum of 1 / (k + rank), rank from 1), which needs no scores, and a
weighted sum of standardised scores, which keeps how far apart they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

Ranked = Sequence[tuple[str, float]]
"""One list, best first: (key, score), each key once."""


def rrf(lists: Mapping[str, Ranked], weights: Mapping[str, float], k: int = 60) -> dict[str, float]:
    """Weighted RRF: key to fused score."""
    fused: dict[str, float] = {}
    for name, ranked in lists.items():
        for rank, (key, _) in enumerate(ranked, 1):
            fused[key] = fused.get(key, 0.0) + weights.get(name, 1.0) / (k + rank)
    return fused


def standardised_sum(lists: Mapping[str, Ranked], weights: Mapping[str, float]) -> dict[str, float]:
    """Sum of z-scores; a key that a list does not hold takes that list's lowest."""
    fused: dict[str, float] = {}
    keys = {key for ranked in lists.values() for key, _ in ranked}
    for name, ranked in lists.items():
        if not ranked:
            continue
        scores = np.array([score for _, score in ranked])
        spread = scores.std() or 1.0
        standard = {key: (score - scores.mean()) / spread for key, score in ranked}
        lowest = min(standard.values())
        for key in keys:
            fused[key] = fused.get(key, 0.0) + weights.get(name, 1.0) * standard.get(key, lowest)
    return fused
