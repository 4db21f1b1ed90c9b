"""Weights of BM25 and of late interaction, chosen with one document left out at a time.

    .venv/bin/python scripts/eval FOLDER fit-ranking [--vault DIR]

Every question is searched once; each hit says its score in every list, so any weights can be tried without another
search. For each document the weights with the best mean nDCG@5 over the questions of all others are taken, and its own
questions are ranked with them. The table has these, and what the weights of DocMind give. The pages that late
interaction scores are the first ones of DocMind's own ranking. What is added for the best passage of a page is left out
of all but the rows of DocMind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from harness import add_missing, opened
from retrieval import print_table

from docmind.evaluation import Judged, Question, judge, rows_of
from docmind.records.query import Query
from docmind.records.search import Hit, Ranking
from docmind.search.fusion import lift, rank_pages

SPARSE = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.6)
LATE = (0.0, 0.125, 0.25, 0.375, 0.5, 0.75)
_ALL = 1_000  # hits: every page that is in a list


@dataclass(frozen=True, slots=True)
class _Lists:
    """The lists of one question: scores by page id. `places` has document and page number of each."""

    question: Question
    dense: Mapping[str, float]
    sparse: Mapping[str, float]
    late: Mapping[str, float]
    places: Mapping[str, tuple[str, int]]
    chosen: Judged

    def judged(self, sparse: float, late: float) -> Judged:
        """Judge the ranking by these weights."""
        ranked = lift(rank_pages(self.dense.items(), self.sparse, weight=sparse), [(self.late, late)])
        return judge(self.question, [self.places[page] for page, _ in ranked])


def fit(folder: Path, place: Path, questions: Sequence[Question]) -> None:
    """Print the weights that are chosen without each document, and the quality on the documents left out."""
    with opened(place) as docmind:
        add_missing(docmind, folder / "docs")
        asked = [_lists(question, docmind.search(Query(question.text, k=_ALL)).hits) for question in questions]
    grid = list(product(SPARSE, LATE))
    judged = [[lists.judged(*weights) for weights in grid] for lists in asked]
    gains = np.array([[one.ndcg_5 for one in row] for row in judged])  # (questions, weights)
    documents = np.array([question.document for question in questions])
    held_out: dict[str, Judged] = {}
    chosen: Counter[tuple[float, float]] = Counter()
    spread: list[float] = []
    for document in np.unique(documents):
        inside = documents == document
        best = int(gains[~inside].mean(axis=0).argmax())
        chosen[grid[best]] += 1
        spread.append(float(gains[inside, best].mean()))
        held_out |= {questions[at].id: judged[at][best] for at in np.flatnonzero(inside).tolist()}
    print("weights of BM25 and of late interaction, and for how many documents they are the best of the others:")
    print("  " + ", ".join(f"{sparse:g} and {late:g}: {count}" for (sparse, late), count in chosen.most_common()))
    print(
        f"nDCG@5 of the {len(spread)} documents left out: mean {np.mean(spread):.3f}, deviation {np.std(spread):.3f},"
        f" lowest {min(spread):.3f}"
    )
    best = gains.mean(axis=0)
    print(f"over all weights: nDCG@5 from {best.min():.3f} to {best.max():.3f}")
    rows = rows_of(questions, frozenset())
    print_table("left out", rows, held_out)
    print_table("DocMind", rows, {lists.question.id: lists.chosen for lists in asked})


def _lists(question: Question, hits: Sequence[Hit]) -> _Lists:
    scores: dict[Ranking, dict[str, float]] = {}
    for hit in hits:
        for rank in hit.ranks:
            scores.setdefault(rank.ranking, {})[hit.page_id] = rank.score
    dense, sparse, late = (scores.get(name, {}) for name in ("dense", "sparse", "rerank"))
    places = {hit.page_id: (hit.document, hit.page_no) for hit in hits}
    return _Lists(question, dense, sparse, late, places, judge(question, [places[hit.page_id] for hit in hits]))
