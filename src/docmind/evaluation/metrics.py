"""Metrics of rankings, and the intervals of their means.

Grades are whole numbers, 0 for what is not relevant. nDCG has the grade as its gain and the discount 1/log2(rank + 1),
as `trec_eval` computes it (Järvelin & Kekäläinen 2002); its ideal ranking has all graded pages, the best first. The
others ask whether the grade is above 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from docmind.records.evaluation import Figure

RESAMPLES, SEED = 1_000, 20_261_127
_TAILS = (0.025, 0.975)
_NORMAL = NormalDist()
_STUDENT = (math.inf, 12.706, 4.303, 3.182, 2.776, 2.571)  # the 97.5 % quantile of Student's t, by degrees of freedom


@dataclass(frozen=True, slots=True)
class Scored:
    """The metrics of one ranking at a depth k; each lies in 0..1."""

    ndcg: float
    recall: float
    precision: float
    f1: float
    mrr: float


def scored(grades: Sequence[int], ideal: Sequence[int], k: int) -> Scored:
    """Score a ranking: `grades` of what was found, best first, against the grades of all that is labelled.

    All are 0 where nothing is relevant. Precision is of k, also where fewer were found.
    """
    first, relevant = grades[:k], sum(grade > 0 for grade in ideal)
    if not relevant:
        return Scored(0.0, 0.0, 0.0, 0.0, 0.0)
    hits = [rank for rank, grade in enumerate(first, 1) if grade > 0]
    recall, precision = len(hits) / relevant, len(hits) / k
    f1 = 2 * recall * precision / (recall + precision) if hits else 0.0
    best = _gained(sorted(ideal, reverse=True)[:k])
    return Scored(_gained(first) / best, recall, precision, f1, 1 / hits[0] if hits else 0.0)


def _gained(grades: Sequence[int]) -> float:
    return float(sum(max(grade, 0) / np.log2(rank + 1) for rank, grade in enumerate(grades, 1)))


def figure_of(values: Sequence[float]) -> Figure:
    """Return the mean of values, and the interval that holds the true mean in 95 of 100 samples.

    The interval holds two: that of the bias-corrected and accelerated bootstrap (Efron 1987) of 1,000 resamples with a
    fixed seed, which is right for skewed values, and Student's, which is right for differences of which most are 0. It
    ends at the least and the largest value. ADR 0126 has how often it holds the true mean. One value, or equal ones,
    have no spread.
    """
    sample = np.asarray(values, np.float64)
    if not len(sample):
        return Figure(0.0, 0.0, 0.0)
    mean = float(sample.mean())
    if np.ptp(sample) == 0:
        return Figure(mean, mean, mean)
    drawn = sample[np.random.default_rng(SEED).integers(0, len(sample), (RESAMPLES, len(sample)))].mean(axis=1)
    share = float((drawn < mean).mean() + (drawn == mean).mean() / 2)
    bias = _NORMAL.inv_cdf(min(max(share, 1 / RESAMPLES), 1 - 1 / RESAMPLES))
    off = (sample - mean) / (len(sample) - 1)  # of the jackknife's means, with the sign that Efron gives them
    acceleration = float((off**3).sum() / (6 * (off**2).sum() ** 1.5))
    tails = [bias + _NORMAL.inv_cdf(share) for share in _TAILS]
    low, high = np.quantile(drawn, [_NORMAL.cdf(bias + tail / (1 - acceleration * tail)) for tail in tails])
    reach = _student(len(sample) - 1) * float(sample.std(ddof=1)) / math.sqrt(len(sample))
    low, high = max(min(low, mean - reach), sample.min()), min(max(high, mean + reach), sample.max())
    return Figure(mean, float(low), float(high))


def _student(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t, to .002 (the expansion of Fisher and Cornish, 1960)."""
    if freedom < len(_STUDENT):
        return _STUDENT[freedom]
    z = _NORMAL.inv_cdf(_TAILS[1])
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / freedom + second / freedom**2 + third / freedom**3


def difference_of(before: Mapping[str, float], after: Mapping[str, float]) -> Figure:
    """Return the mean difference of the queries that both have, with the interval of the paired differences."""
    return figure_of([after[name] - value for name, value in before.items() if name in after])
