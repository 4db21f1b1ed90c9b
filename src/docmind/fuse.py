"""Ranked lists to one ranking of pages: a weighted sum of standardised scores, or RRF.

The sum keeps how far apart the scores of one list are, which ranks forget; its two weights lie on a wide plateau.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import sqrt

SPARSE_WEIGHT = 0.8  # of the page's BM25, against 1.0 of MiniLM
NOT_ENGLISH = 2.0  # how much more BM25 counts where MiniLM, an English model, reads another language

LATE_WEIGHT = 0.5  # of late interaction, against 1.0 of the whole ranking
LATE_NOT_ENGLISH = 0.25  # of that where MiniLM, whose tokens they are, reads another language: more does harm


def best_per_page(scored: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Page id to the score of its best window."""
    best: dict[str, float] = {}
    for page_id, score in scored:
        if score > best.get(page_id, float("-inf")):
            best[page_id] = score
    return best


def standardise(scores: Mapping[str, float]) -> dict[str, float]:
    """Scores as distances from their mean in standard deviations; all zero where they do not differ."""
    if not scores:
        return {}
    mean = sum(scores.values()) / len(scores)
    spread = sqrt(sum((s - mean) ** 2 for s in scores.values()) / len(scores))
    return {page: (s - mean) / spread if spread > 1e-9 else 0.0 for page, s in scores.items()}


def weighted_sum(lists: Sequence[tuple[Mapping[str, float], float]]) -> list[tuple[str, float]]:
    """Pages of all lists, best first: the sum of weight x standardised score.

    A page that a list does not hold gets the lowest score of that list. Ties go by page id.
    """
    total: dict[str, float] = dict.fromkeys((page for scores, _ in lists for page in scores), 0.0)
    for scores, weight in lists:
        standard = standardise(scores)
        floor = min(standard.values(), default=0.0)
        for page in total:
            total[page] += weight * standard.get(page, floor)
    return sorted(total.items(), key=lambda item: (-item[1], item[0]))


def rank_pages(
    dense: Iterable[tuple[str, float]], sparse: Mapping[str, float], *, english: bool
) -> list[tuple[str, float]]:
    """Pages, best first, from (page id, cosine) of the nearest windows and BM25 scores of pages."""
    weight = SPARSE_WEIGHT * (1.0 if english else NOT_ENGLISH)
    return weighted_sum([(best_per_page(dense), 1.0), (sparse, weight)])


def rrf(lists: Sequence[Sequence[str]], k: int = 60) -> list[tuple[str, float]]:
    """Reciprocal rank fusion: the sum of 1 / (k + rank), rank from 1 (Cormack et al. 2009)."""
    total: dict[str, float] = {}
    for ranked in lists:
        for rank, page in enumerate(ranked, start=1):
            total[page] = total.get(page, 0.0) + 1 / (k + rank)
    return sorted(total.items(), key=lambda item: (-item[1], item[0]))


def lift(ranked: Sequence[tuple[str, float]], late: Mapping[str, float], *, english: bool) -> list[tuple[str, float]]:
    """The ranking with late interaction added, on its own scale; pages that `late` does not hold keep their score.

    Added is weight x standardised MaxSim x the spread of the ranking's scores over the pages that `late` holds.
    """
    weight = LATE_WEIGHT * (1.0 if english else LATE_NOT_ENGLISH)
    first = [score for page, score in ranked if page in late]
    mean = sum(first) / len(first) if first else 0.0
    spread = sqrt(sum((score - mean) ** 2 for score in first) / len(first)) if first else 0.0
    added = standardise(late)
    total = [(page, score + weight * spread * added.get(page, 0.0)) for page, score in ranked]
    return sorted(total, key=lambda item: (-item[1], item[0]))
