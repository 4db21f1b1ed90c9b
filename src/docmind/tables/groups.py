"""Tables of one header, which may be read as one: a question is compared with them before their rows are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

import numpy as np

from docmind.documents import Version
from docmind.embedding import Meanings
from docmind.language import fold
from docmind.records.search import PageHit
from docmind.tables.asking import Asked
from docmind.tables.evidence import QuestionMeaning
from docmind.tables.loading import Table, Unread
from docmind.tables.naming import Names, names_of
from docmind.tables.ranking import Prior
from docmind.tables.shapes import Shape, parted

MOST = 5  # shapes whose queries are weighed for one question
COMPARED = 100  # groups whose titles and headers are compared by their meaning, those with most words first
ROWS, COLUMNS = 20_000, 60  # of tables of one shape; queries over larger ones are made by rules alone
_SAME = 0.5  # of the rows of a table that an older version of it has
_TITLE, _HEADERS = 200, 300  # characters of the titles and of the headers by which a table is compared
_BEGINNING = 4  # letters of a word by which it is looked for in a table
_RANKS = 5  # that make 1.0
_LIKE, _WORDS, _FOUND = 3.0, 1.0, 1.5  # what the parts of a prior weigh where shapes are chosen


class Group:
    """Tables of one header, which may be read as one."""

    def __init__(self, tables: Sequence[Unread], versions: Mapping[str, Version]) -> None:
        self._tables, self._versions = tables, versions
        self._shapes: list[Shape] | None = None
        self.header = frozenset(fold(name.lower()) for name in tables[0].header)
        self.doc_ids = {table.doc_id for table in tables}

    def has(self, starts: frozenset[str]) -> bool:
        """Return whether one of the beginnings of a word stands in these tables."""
        return any(start in table.folded for start in starts for table in self._tables)

    def may_hold(self, asked: Asked, missing: int) -> bool:
        """Return whether all words that the question is about, but so many, may stand in these tables."""
        for starts in asked.starts:
            if not self.has(starts):
                missing -= 1
                if missing < 0:
                    return False
        return True

    @cached_property
    def names(self) -> list[tuple[Names, list[Table]]]:
        """What words may stand for in tables of one shape, and the older versions of them that were left out."""
        by_type: dict[tuple[str, ...], list[Table]] = {}
        for one in self._tables:
            if (table := one.read) is not None:
                by_type.setdefault(tuple(column.type for column in table.columns), []).append(table)
        shapes = (without_older(tables, self._versions) for tables in by_type.values())
        return [(names_of(newest), older) for newest, older in shapes]

    @cached_property
    def card(self) -> str:
        """The titles of the first of them, and the headers, as they are compared with a question."""
        first = self._tables[0]
        return f"{parted(' '.join(first.titles))[:_TITLE]}: {', '.join(map(parted, first.header))[:_HEADERS]}"

    def shapes(self, meanings: Meanings) -> list[Shape]:
        """Return them by their shapes; none of those that are too large.

        Raises what the model raises.
        """
        if self._shapes is None:
            self._shapes = [
                Shape(names, meanings, older)
                for names, older in self.names
                if len(names.columns) <= COLUMNS and sum(len(table.rows) for table in names.tables) <= ROWS
            ]
        return self._shapes


def meant(
    question: QuestionMeaning, groups: Sequence[Group], found: Mapping[str, float], meanings: Meanings
) -> list[tuple[Shape, Prior]]:
    """Return the shapes that a question may be about, each with what speaks for it.

    `found` are scores as of `scores_of`. Raises what the model raises.
    """
    if not groups:
        return []
    words = [word.text for word, is_content in zip(question.asked.words, question.content, strict=True) if is_content]
    shared = np.array(
        [sum(group.has(frozenset({word[:_BEGINNING]})) for word in words) / max(1, len(words)) for group in groups]
    )
    score = np.array([max((found.get(doc_id, 0.0) for doc_id in group.doc_ids), default=0.0) for group in groups])
    near = np.argsort(-(_WORDS * shared + _FOUND * score))[:COMPARED]
    groups, shared, score = [groups[at] for at in near], shared[near], score[near]
    like = meanings.of([group.card for group in groups]) @ question.vector
    order = np.argsort(-(_LIKE * like + _WORDS * shared + _FOUND * score))[:MOST]
    chosen: list[tuple[Shape, Prior]] = []
    for at in order:
        prior = Prior(
            float(like[at]), _rank(like, at), _margin(like, at), float(shared[at]), _rank(shared, at),
            float(score[at]), _rank(score, at), _margin(score, at),
        )  # fmt: skip
        chosen += [(shape, prior) for shape in groups[at].shapes(meanings)]
    return chosen[:MOST]


def scores_of(hits: Sequence[PageHit]) -> dict[str, float]:
    """Return the score of each document that a search found, as a part of the best one's; none where that is 0."""
    best = max((hit.score for hit in hits), default=0.0)
    return {hit.doc_id: hit.score / best for hit in reversed(hits)} if best > 0 else {}


def _rank(values: np.ndarray, at: int) -> float:
    return float((values > values[at]).sum()) / _RANKS


def _margin(values: np.ndarray, at: int) -> float:
    """Return how far a value is from the best other one."""
    others = np.delete(values, at)
    return float(values[at] - (others.max() if len(others) else 0.0))


def without_older(
    group: Sequence[Table], versions: Mapping[str, Version] = MappingProxyType({})
) -> tuple[list[Table], list[Table]]:
    """Return tables of one shape without those that are older versions of others, and what was left out.

    The newest come first. A table is an older version of one in a newer version of its document, or of one in another
    document that has most of its rows.
    """
    kept: list[Table] = []
    older: list[Table] = []
    held: list[set[tuple[str, ...]]] = []
    there = [versions[doc_id] for doc_id in {table.doc_id for table in group} if doc_id in versions]
    for table in group:
        own = versions.get(table.doc_id)
        if own is not None and any(one.series == own.series and one.is_after(own) for one in there):
            older.append(table)
            continue
        rows = {row.shown for row in table.rows}
        same = [
            n for n, other in enumerate(held)
            if kept[n].doc_id != table.doc_id and len(rows & other) > _SAME * min(len(rows), len(other))
        ]  # fmt: skip
        if same and rows:
            older.append(table)
            continue
        kept.append(table)
        held.append(rows)
    return kept, older
