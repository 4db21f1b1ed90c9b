"""Answers to questions over tables: which tables a question may mean, which query, and what it found."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

from docmind.documents import Catalog
from docmind.embedding import Meanings
from docmind.errors import DamagedError, DocMindError
from docmind.language import fold
from docmind.records.documents import DocumentInfo
from docmind.records.search import Filters
from docmind.tables.asking import Asked, asked_of
from docmind.tables.evidence import QuestionMeaning
from docmind.tables.example_questions import questions_of
from docmind.tables.groups import Group, meant
from docmind.tables.joining import joined, needs_both
from docmind.tables.loading import Table, Tables, Unread
from docmind.tables.naming import Names, names_of
from docmind.tables.query import Result, SlowQueryError, run
from docmind.tables.ranking import Ranked, rank, weights
from docmind.tables.telling import Earlier, TableAnswer, told
from docmind.tables.understanding import Understood, understand
from docmind.tables.wordlists import Task
from docmind.tables.words import drop_words

DOCUMENTS = 400  # whose tables one question is compared with
PAGES = 6_000  # of documents whose tables one question reads for the first time
SECONDS = 3.0  # after which no further document is read for a question
PAIRS = 200  # of tables that are read as one
_ALIKE = 10  # tables with a column of one name; a name that more have names no rows
_COMPUTED: tuple[Task, ...] = (
    "count",
    "sum",
    "mean",
    "median",
    "share",
    "difference",
    "largest",
    "smallest",
    "first",
    "last",
)
"""Kinds of questions of which quotes tell less than a query that leaves one word out."""
_SUMS: tuple[Task, ...] = ("count", "sum", "mean", "median")
LIKELY, SURE = 0.35, 0.95  # probabilities of a query from which its answer is shown, and is told as sure
DOUBTED = 0.4  # that of a query of which the rules are sure, below which it is not told as sure
INSTEAD, VERY_LIKELY = 0.5, 0.75  # that of another, from which it is shown instead, and of one that no rule thought of
LIKELIER = 0.25  # that of one that is shown in place of one that the rules are not sure of
_LATEST = 4  # answers that are kept: a follow-up is asked in several ways
NO_TABLE = math.log(0.9)  # of that no table is meant: then none is read
Found = Callable[[], Mapping[str, float]]


def _nothing() -> Mapping[str, float]:
    return {}


class _Ruled(NamedTuple):
    """The answer of a query by rules, and the older versions of its tables; `is_joined` of two that are read as one."""

    answer: TableAnswer
    understood: Understood
    older: Sequence[Table]
    is_joined: bool


class _Pair:
    """Tables of two headers that have a name of a column in common, which may be read as one."""

    def __init__(self, first: Group, other: Group) -> None:
        self.groups = (first, other)

    def may_hold(self, asked: Asked) -> bool:
        """Return whether all words that the question is about may stand in one of these tables."""
        first, other = self.groups
        return all(first.has(starts) or other.has(starts) for starts in asked.starts)

    @cached_property
    def names(self) -> list[Names]:
        """What words may stand for in the joined tables; the second has one table."""
        found: list[Names] = []
        for one, other in (self.groups, self.groups[::-1]):
            seconds = [names.tables[0] for names, _older in other.names if len(names.tables) == 1]
            if len(seconds) != 1:
                continue
            for names, _older in one.names:
                tables = [joined(table, seconds[0]) for table in names.tables]
                if all(tables):
                    found.append(names_of([table for table in tables if table is not None]))
        return found


class TableAnswers:
    """The answers that a query over tables gives. Thread-safe."""

    def __init__(self, catalog: Catalog, meanings: Meanings) -> None:
        self._catalog = catalog
        self._tables = Tables(catalog)
        self._meanings = meanings
        self._lock = threading.Lock()
        self._groups: tuple[object, list[Group]] | None = None
        self._latest: dict[object, TableAnswer | None] = {}
        self._pairs: tuple[Sequence[Group], list[_Pair]] | None = None

    def drop(self) -> None:
        """Drop what is kept in memory of tables, because a document is erased."""
        self._tables.drop()
        self._meanings.drop()
        drop_words()
        with self._lock:
            self._groups = self._pairs = None
            self._latest = {}

    def answer(self, question: str, filters: Filters, found: Found = _nothing, about: str = "") -> TableAnswer | None:
        """Return the answer that a query over tables gives; None where it needs no table, or none is surely meant.

        `found` gives the scores of the documents that the search found for the question (`scores_of`); it is not asked
        where the vector of the question tells that it means no table. `about` are the words that were searched for,
        where they are others than the question.
        """
        asked = asked_of(question)
        if asked is None or filters.languages:
            return None
        key = question, filters, about, self._catalog.epoch()
        with self._lock:
            if key in self._latest:
                return self._latest[key]
        groups, is_whole = self._groups_of(filters)
        ruled = self._by_rules(asked, groups, is_whole=is_whole)
        is_joined = ruled is not None and ruled.is_joined  # such a query is not weighed
        may_weigh = bool(groups) and self._meanings.are_there and not is_joined
        ranked = self._ranked(asked, groups, found) if may_weigh else None
        answer = ruled.answer if ruled is not None else None
        if ruled is not None and ruled.answer.outcome == "answer" and ranked is not None:
            answer = self._weighed(ruled, ranked, asked, is_whole=is_whole)
        elif ranked and (answer is None or answer.outcome != "answer"):
            least = LIKELY if answer is None else LIKELIER
            answer = self._by_meaning(ranked, asked, least, is_whole=is_whole) or answer
        if may_weigh and ranked is None:
            return answer  # the model failed: the next time it may not
        with self._lock:
            while len(self._latest) >= _LATEST:
                del self._latest[next(iter(self._latest))]
            self._latest[key] = answer
        return answer

    def groups(self, filters: Filters) -> list[Group]:
        """Return the tables that may be asked, those of one header together."""
        return self._groups_of(filters)[0]

    def questions_of(self, info: DocumentInfo) -> Iterator[str]:
        """Yield questions that the tables of a document are likely to answer, in its language."""
        for one in self._tables.of(info):
            if one.read is not None:
                yield from questions_of(one.read, info.label, info.language)

    def _by_rules(self, asked: Asked, groups: Sequence[Group], *, is_whole: bool) -> _Ruled | None:
        """Return the answer of a query by rules, which account for every word, or for all but one."""
        found: list[tuple[Understood, list[Table]]] = []
        may_lack = 1 if any(asked.has(task) for task in _COMPUTED) else 0
        for group in groups:
            if not group.may_hold(asked, may_lack):
                continue
            for names, older in group.names:
                if (understood := understand(asked, names)) is not None:
                    found.append((understood, older))
        complete = [one for one in found if not one[0].leftover]
        if complete:
            return self._best(asked, complete, is_whole=is_whole)
        if pairs := self._joined(asked, groups):
            best = self._best(asked, pairs, is_whole=is_whole)
            return best._replace(is_joined=True) if best is not None else None
        if may_lack:
            near = [one for one in found if len(one[0].leftover) == 1 and _is_about(one[0])]
            return self._best(asked, near, is_whole=is_whole) if near else None
        return None

    def _ranked(self, asked: Asked, groups: Sequence[Group], found: Found) -> list[Ranked] | None:
        """Return the queries that may be meant, the likeliest first, which are none where no table is meant.

        None where the text model fails, as the search then says.
        """
        try:
            question = QuestionMeaning(asked, self._meanings)
            hints = weights().hints(question)
            if hints.none > NO_TABLE and not asked.tasks:
                return []
            about = meant(question, groups, found(), self._meanings)
            return rank(question, about, weights(), hints)
        except (DocMindError, OSError, RuntimeError):
            return None

    def _weighed(self, ruled: _Ruled, ranked: Sequence[Ranked], asked: Asked, *, is_whole: bool) -> TableAnswer | None:
        """Return the answer of a query that the rules are sure of, which is not sure where it is unlikely to be meant.

        Then one that is likelier than not answers, if there is one. A query that is no candidate, as of the second
        largest, is not weighed, unless no table is meant or another query is very likely.
        """
        understood = ruled.understood
        same = [one for one in ranked if one.is_of(understood.query, understood.tables)]
        likely, best = sum(one.probability for one in same), max((one.probability for one in ranked), default=1.0)
        if likely >= DOUBTED or (not same and best < VERY_LIKELY):
            return ruled.answer
        others = [one for one in ranked if one not in same and one.probability > likely]
        if (likelier := self._by_meaning(others, asked, INSTEAD, is_whole=is_whole)) is not None:
            return likelier
        unsure = replace(understood, is_sure=False)
        try:
            return self._told(unsure, ruled.older, asked.language, is_whole=is_whole)[1]
        except (SlowQueryError, DamagedError):
            return None

    def _by_meaning(
        self, ranked: Sequence[Ranked], asked: Asked, least: float, *, is_whole: bool
    ) -> TableAnswer | None:
        """Return the answer of the query that is meant most likely; None where none has the `least` probability."""
        for one in ranked:
            is_sure = one.probability >= SURE
            is_whole_sum = one.query.task in _SUMS and not one.query.filters and one.query.group is None
            if one.probability < least or (is_whole_sum and one.leftover and not is_sure):
                return None  # of sums over all rows, with a word left over, every third is right
            leftover = () if is_sure else one.leftover
            understood = Understood(one.shape.names.tables, one.query, one.probability, leftover, is_sure=is_sure)
            try:
                _result, answer = self._told(understood, one.shape.older, asked.language, is_whole=is_whole)
            except (SlowQueryError, DamagedError):
                return None
            if answer is not None:
                return answer
        return None

    def _joined(self, asked: Asked, groups: Sequence[Group]) -> list[tuple[Understood, list[Table]]]:
        """Return the readings of a question over two tables that are read as one."""
        found: list[tuple[Understood, list[Table]]] = []
        for pair in self._pairs_of(groups):
            for names in pair.names if pair.may_hold(asked) else ():
                understood = understand(asked, names)
                if understood is None or understood.leftover:
                    continue
                if needs_both(understood.query, understood.tables[0]):
                    found.append((understood, []))
        return found

    def _pairs_of(self, groups: Sequence[Group]) -> list[_Pair]:
        """Return the tables that may be read as one; kept for one state."""
        with self._lock:
            kept = self._pairs
        if kept is not None and kept[0] is groups:
            return kept[1]
        by_name: dict[str, list[int]] = {}
        for n, group in enumerate(groups):
            for name in group.header:
                by_name.setdefault(name, []).append(n)
        numbers = {
            pair for name, held in by_name.items() if name and len(held) <= _ALIKE for pair in combinations(held, 2)
        }
        pairs = [_Pair(groups[one], groups[other]) for one, other in sorted(numbers)[:PAIRS]]
        with self._lock:
            self._pairs = groups, pairs
        return pairs

    def _best(self, asked: Asked, found: Sequence[tuple[Understood, list[Table]]], *, is_whole: bool) -> _Ruled | None:
        """Return the answer of the reading that accounts for the question best; a rival as good makes it unsure."""
        ranked = sorted(found, key=lambda one: (-one[0].score, not one[0].is_sure))
        answers: list[tuple[Understood, list[Table], Result, TableAnswer]] = []
        for understood, older in ranked:
            if answers and understood.score < answers[0][0].score:
                break
            try:
                result, one = self._told(understood, older, asked.language)
            except (SlowQueryError, DamagedError):
                return None
            if one is not None:
                answers.append((understood, older, result, one))
        if not answers:
            return None
        understood, older, result, best = answers[0]
        is_lookup = understood.query.task == "lookup"
        rivals = [other.tables[0].document for other, *_rest in answers[1:]] if best.outcome == "answer" else []
        if (rivals or best.outcome == "maybe") and (is_lookup or not is_whole):
            return None  # the quotes are as good
        if not rivals and (is_whole or is_lookup):
            return _Ruled(best, understood, older, is_joined=False)
        # Tables of documents that were not read yet may have more of these rows.
        retold = told(
            understood, result, asked.language, self._catalog, others=rivals[:1], older=older, is_whole=is_whole
        )
        return _Ruled(retold, understood, older, is_joined=False) if retold is not None else None

    def _told(
        self, understood: Understood, older: Sequence[Table], language: str, *, is_whole: bool = True
    ) -> tuple[Result, TableAnswer | None]:
        """Run a query, and return what it found and the answer. Raises `SlowQueryError` and `DamagedError`."""
        result = run(understood.query, understood.tables)
        earlier = self._earlier(understood, older)
        answer = told(understood, result, language, self._catalog, older=older, earlier=earlier, is_whole=is_whole)
        return result, answer

    def _earlier(self, understood: Understood, older: Sequence[Table]) -> Earlier | None:
        """Return what the latest of the older versions says to the same query; None without a version that is known."""
        versions = self._catalog.versions({table.doc_id for table in (*older, *understood.tables)}) if older else {}
        series = {versions[one.doc_id].series for one in understood.tables if one.doc_id in versions}
        known = [table for table in older if table.doc_id in versions and versions[table.doc_id].series in series]
        if not known:
            return None
        latest = known[0]
        for table in known[1:]:
            if versions[table.doc_id].is_after(versions[latest.doc_id]):
                latest = table
        same = replace(understood, tables=tuple(table for table in known if table.doc_id == latest.doc_id))
        return Earlier(versions[latest.doc_id], same, run(same.query, same.tables))

    def _groups_of(self, filters: Filters) -> tuple[list[Group], bool]:
        """Return the tables that are asked by their headers, and whether none was left out; kept for one state."""
        key = filters, self._catalog.epoch()
        with self._lock:
            kept = self._groups
        if kept is not None and kept[0] == key:
            return kept[1], True
        tables, is_whole = self._tables_of(filters)
        by_header: dict[tuple[str, ...], list[Unread]] = {}
        for table in tables:
            by_header.setdefault(tuple(fold(name.lower()) for name in table.header), []).append(table)
        versions = self._catalog.versions({table.doc_id for table in tables}) if tables else {}
        groups = [Group(one, versions) for one in by_header.values()]
        with self._lock:
            if is_whole:  # else the next question reads further documents
                self._groups = key, groups
        return groups, is_whole

    def _tables_of(self, filters: Filters) -> tuple[list[Unread], bool]:
        """Return the tables of the documents asked, the newest first, and whether none was left out."""
        allowed = set(self._catalog.allowed(filters))
        asked = [info for info in self._catalog.asked(filters.snapshots) if info.doc_id in allowed]
        found: list[Unread] = []
        room, until, is_whole = PAGES, time.monotonic() + SECONDS, len(asked) <= DOCUMENTS
        for info in asked[:DOCUMENTS]:
            if not self._tables.is_kept(info.doc_id):
                room -= info.pages
                if room < 0 or time.monotonic() > until:
                    is_whole = False
                    continue
            found += self._tables.of(info)
        return found, is_whole


def _is_about(understood: Understood) -> bool:
    """Return whether a reading that leaves a word out limits its rows, or is of a column that the question names."""
    return bool(understood.query.filters) or understood.is_named
