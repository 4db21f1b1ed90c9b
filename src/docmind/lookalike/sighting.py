"""Frozen records of a search by picture."""

from __future__ import annotations

from dataclasses import dataclass

from docmind.schema import Degraded
from docmind.seeing import Quad


@dataclass(frozen=True, slots=True)
class Comparison:
    """A picture laid over a page: how well the ink agrees, 0..1, over how many blocks; the marks that agree; where."""

    likeness: float
    blocks: int
    inliers: int
    quad: Quad


@dataclass(frozen=True, slots=True)
class Sighting:
    """A page that a picture may be of. `score` is the probability that it is; `found` says that it can be relied on.

    `inliers` counts the marks that agree on the place.
    """

    rank: int
    score: float
    found: bool
    document: str
    doc_id: str
    page_no: int
    page_id: str
    page_width: int
    page_height: int
    quad: Quad = ()
    inliers: int = 0


@dataclass(frozen=True, slots=True)
class Sightings:
    """What a picture was found to be of, the likeliest first; `found` where any is.

    `timings_ms` are pairs of stage and duration. Pages that share one image are hits of the same score.
    """

    hits: tuple[Sighting, ...]
    found: bool
    degraded: tuple[Degraded, ...] = ()
    timings_ms: tuple[tuple[str, float], ...] = ()
