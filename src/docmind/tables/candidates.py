"""The queries that a question may mean for tables of one shape: what is computed, of which column, of which rows.

A query is a head, such as the sum of a column, with a set of conditions. Both are made from the types of the columns
and from what the question speaks of, wide enough that the right one is among them; `ranking` weighs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Literal, NamedTuple, get_args

from docmind.tables.conditions import Conditions, ConditionsMeant, filters_of
from docmind.tables.evidence import Evidence
from docmind.tables.query import TableQuery, Unit
from docmind.tables.wordlists import PER, Task

Computed = Literal[
    "lookup", "count", "distinct", "sum", "mean", "median", "largest", "smallest", "first", "last", "share",
    "difference", "check",
]  # fmt: skip
COMPUTED: tuple[Computed, ...] = get_args(Computed)
"""What may be computed: the tasks of a query, and the number of different values apart from that of rows."""
Best = Literal["", "largest", "smallest"]
EXTREMES: frozenset[Computed] = frozenset({"largest", "smallest", "first", "last"})
_LIKELY = 5  # of what may be computed
EACH = PER | {"jedes", "jeder", "jede", "jedem", "jeweils", "chacun", "cada", "each", "every"}


class Head(NamedTuple):
    """What is computed of which column; `other` is the column of a difference within rows."""

    computed: Computed
    column: int | None = None
    group: int | None = None
    unit: Unit = ""
    best: Best = ""
    label: int | None = None
    other: int | None = None

    @property
    def task(self) -> Task:
        return "count" if self.computed == "distinct" else self.computed

    @property
    def asked(self) -> Computed:
        """What a question asks for with it: of groups the best, else what is computed."""
        return self.best or self.computed


class Candidate(NamedTuple):
    """A query with its head, by number, and its conditions."""

    head: int
    conditions: Conditions
    query: TableQuery


def heads_of(e: Evidence, chances: dict[Computed, float]) -> list[Head]:
    """Return what a question may ask to be computed; `chances` are the logarithms of how likely each is."""
    phrased = {task for task, _start, _end in e.question.asked.tasks}
    likely = {*sorted(COMPUTED, key=lambda one: -chances[one])[:_LIKELY], "lookup", *phrased}
    if likely & EXTREMES:
        likely |= EXTREMES
    if e.reading.is_check:
        likely.add("check")
    return list(dict.fromkeys(_heads(e, likely)))


def _heads(e: Evidence, likely: set[str]) -> Iterator[Head]:
    texts = [at for at, one in enumerate(e.columns) if one.type == "text"]
    dates = e.ranked([at for at, one in enumerate(e.columns) if one.type == "date"], 3)
    measures = e.ranked([at for at in e.numbers if at not in e.keys], 5)
    groups = e.ranked([at for at in texts if not e.shape.is_unique[at]], 3)
    shown = e.ranked([at for at, one in enumerate(e.columns) if one.type != "empty"], 8)
    for column in [*shown, *([e.label] if e.label not in (None, *shown) else [])]:
        yield Head("lookup", column, label=e.label)
    if "count" in likely or "distinct" in likely:
        yield Head("count")
        for column in e.ranked([*texts, *(at for at in e.numbers if at in e.keys)], 3):
            yield Head("distinct", column)
    for computed in ("sum", "mean", "median"):
        for column in measures if computed in likely else ():
            yield Head(computed, column, label=e.label)
    if likely & EXTREMES:
        yield from _extremes(e, texts, dates, measures, groups)
    if "share" in likely:
        yield Head("share")
        yield from (Head("share", column) for column in measures[:3])
    if "difference" in likely:
        yield from (Head("difference", column, label=e.label) for column in measures[:4])
        yield from (Head("difference", one, label=e.label, other=two) for one, two in combinations(measures[:3], 2))
    if "check" in likely:
        yield Head("check", label=e.label)
    for group in groups if EACH & set(e.reading.texts) else ():
        yield Head("count", group=group)
        for column in measures[:3]:
            yield Head("sum", column, group=group)
            yield Head("mean", column, group=group)


def _extremes(
    e: Evidence, texts: list[int], dates: list[int], measures: list[int], groups: list[int]
) -> Iterator[Head]:
    """Yield the rows with the largest or smallest number or date, and the best groups."""
    unique = [at for at in texts if e.shape.is_unique[at]]
    labels = list(dict.fromkeys([e.label, *e.ranked(texts, 2), *unique[:1], *sorted(e.asked), e.which]))
    labels = [label for label in labels if label is not None and e.columns[label].type != "empty"][:4]
    for computed in ("first", "last"):
        for column in dates:
            yield from (Head(computed, column, label=label) for label in labels)
    for best in ("largest", "smallest"):
        for column in e.ranked(e.numbers, 5):
            yield from (Head(best, column, label=label) for label in labels)
        for group in groups:
            yield Head("count", group=group, best=best)
            yield from (Head("sum", column, group=group, best=best) for column in measures[:3])
            yield from (Head("mean", column, group=group, best=best) for column in measures[:2])
        for date in dates[:1]:
            yield Head("count", group=date, unit="month", best=best)
            yield from (Head("sum", column, group=date, unit="month", best=best) for column in measures[:2])


def candidates_of(heads: list[Head], meant: ConditionsMeant, sets: list[Conditions]) -> Iterator[Candidate]:
    """Yield the queries of heads under sets of conditions, and the differences of what may be compared."""
    for at, head in enumerate(heads):
        if head.computed == "difference" and head.other is None:
            for beside, one, other in meant.pairs:
                query = TableQuery(
                    "difference", filters_of(beside), head.column, label=head.label,
                    part=(one.filter,), less=(other.filter,),
                )  # fmt: skip
                yield Candidate(at, (*beside, one, other), query)
            continue
        for conditions in sets:
            query = query_under(head, conditions)
            if query is not None:
                yield Candidate(at, conditions, query)


def query_under(head: Head, conditions: Conditions) -> TableQuery | None:
    """Return the query of a head under conditions; None where it is none without further ones."""
    filters = filters_of(conditions)
    if head.computed == "distinct":
        return TableQuery("count", filters, head.column, is_distinct=True)
    if head.computed == "share":
        return TableQuery("share", (), head.column, part=filters) if filters else None
    if head.computed == "difference":
        return TableQuery("difference", filters, head.column, minus=head.other) if filters else None
    if head.computed == "check":
        rows = [one for one in filters if one.operator == "in"]
        part = [one for one in filters if one.operator != "in"] or rows[1:][-1:]
        rows = [one for one in rows if one not in part]
        return TableQuery("check", tuple(rows), part=tuple(part)) if rows and part else None
    if head.computed == "lookup" and not filters:
        return None
    return TableQuery(
        head.task, filters, head.column, label=head.label, group=head.group, unit=head.unit, best=head.best
    )
