"""Reranking of the first pages of the merged list by a visual model. Off unless requested.

Where it fails, times out or has no result, the list stays as it is, and the reason is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby, takewhile
from math import isfinite

from docmind.config import Settings
from docmind.records.models import ModelKind
from docmind.records.search import STARTING, Degraded, MultimodalHit, PageScores, Rerank
from docmind.runtime import TimedCall, TimedCalls
from docmind.search.fusion import mean_and_spread, standardise
from docmind.search.lists import FAILURES, NO_MODEL, CollectedLists, VisualSearch, sentence_of
from docmind.wording import _

PAGES = 20
"""Pages of the merged list that are reranked: as many as each list names."""

WEIGHTS: Mapping[ModelKind, float] = {"late": 0.5, "image": 0.25}
"""The weight of the model, against 1.0 of the merged list: as measured for late interaction on text, and half of it for
one vector per page, which reads no small print. It was not measured with real weights of page models."""

_NAME = "rerank"
_KINDS: Mapping[Rerank, ModelKind | None] = {"off": None, "image": "image", "late": "late"}


class VisualReranker:
    """The reranking of merged hits. Thread-safe."""

    def __init__(self, settings: Settings, eyes: VisualSearch | None) -> None:
        self._by_default: Rerank = settings.visual.rerank
        self._limit_s, self._start_s = settings.visual.list_timeout_s, settings.retrieve.start_timeout_s
        self._eyes = eyes
        self._timed_calls = TimedCalls()

    def kind(self, rerank: Rerank | None, collected: CollectedLists) -> ModelKind | None:
        """Return the kind of model that reranks: the requested or the configured one; None where none does."""
        kind = _KINDS[self._by_default if rerank is None else rerank]
        if kind is not None and (self._eyes is None or not self._eyes.is_on(kind)):
            collected.lacks([Degraded(_NAME, _(NO_MODEL))])
            return None
        return kind

    def over(
        self,
        hits: Sequence[MultimodalHit],
        kind: ModelKind,
        collected: CollectedLists,
        *,
        question: str = "",
        picture: bytes | None = None,
    ) -> Sequence[MultimodalHit]:
        """Return all of `hits`, the first pages reordered by their images; scores stay those of the merge.

        One vector per page is compared with `picture` where there is one, late interaction always with `question`.
        Pages that the picture was found to show, and those without vectors, keep their places.
        """
        assert self._eyes is not None
        eyes = self._eyes
        blocks = _blocks(hits)
        found = {block[0].page_id for block in blocks if any(hit.found for hit in block)}
        pages = [hit for hit in _first_pages(blocks) if hit.page_id not in found]
        if len(pages) < 2:
            return hits
        if kind == "late":
            picture = None
            if not question:
                collected.lacks([Degraded(_NAME, _("There are no words to compare pages with."))])
                return hits
        words = None if picture is not None else question
        places = [(hit.doc_id, hit.page_no) for hit in pages]

        def score() -> PageScores | None:
            is_ready = eyes.start(kind, self._start_s)
            return eyes.score_pages(kind, places, words, picture) if is_ready else None

        timed_call = TimedCall(score, self._limit_s + (0.0 if eyes.is_ready(kind) else self._start_s))
        outcome = self._timed_calls.run({_NAME: timed_call})[_NAME]
        collected.stages[_NAME] = outcome.duration_ms
        if outcome.late:
            collected.lacks([Degraded(_NAME, outcome.late)])
            return hits
        try:
            scored = outcome.result()
        except FAILURES as error:
            collected.lacks([Degraded(_NAME, sentence_of(error))])
            return hits
        if scored is None:
            collected.lacks([Degraded(_NAME, _(STARTING), is_starting=True)])
            return hits
        collected.lacks(scored.degraded)
        scores = {
            hit.page_id: score
            for hit, score in zip(pages, scored.scores, strict=True)
            if score is not None and isfinite(score)
        }
        return _moved(blocks, scores, WEIGHTS[kind])


def _blocks(hits: Sequence[MultimodalHit]) -> list[list[MultimodalHit]]:
    """Group adjacent hits of one page, which move together."""
    return [list(block) for _unused, block in groupby(hits, key=lambda hit: hit.page_id)]


def _first_pages(blocks: Sequence[Sequence[MultimodalHit]]) -> list[MultimodalHit]:
    """Return the first hit of each of the first pages."""
    pages: dict[str, MultimodalHit] = {}
    for block in blocks:
        pages.setdefault(block[0].page_id, block[0])
    return list(pages.values())[:PAGES]


def _moved(
    blocks: Sequence[Sequence[MultimodalHit]], scores: Mapping[str, float], weight: float
) -> list[MultimodalHit]:
    """Reorder pages that have a score among themselves; others, and pages behind the first ones, stay.

    The addition to the score of the merge is weight x standardised score x the spread of the merge's scores, as in
    `fusion.lift`. Equal scores keep their order.
    """
    first = {hit.page_id for hit in _first_pages(blocks)}
    head = list(takewhile(lambda number: blocks[number][0].page_id in first, range(len(blocks))))
    slots = [number for number in head if blocks[number][0].page_id in scores]
    _unused, spread = mean_and_spread([blocks[number][0].score for number in slots])
    added = standardise(scores)

    def total(number: int) -> float:
        return blocks[number][0].score + weight * spread * added[blocks[number][0].page_id]

    ordered = dict(zip(slots, sorted(slots, key=total, reverse=True), strict=True))
    return [hit for number in range(len(blocks)) for hit in blocks[ordered.get(number, number)]]
