"""What a question may mean for a table: conditions by letters, meaning and numbers, and heads of its columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import pytest

from docmind.blocks import PageTable
from docmind.tables.asking import asked_of
from docmind.tables.candidates import COMPUTED, Head, heads_of, query_under
from docmind.tables.conditions import Condition, ConditionsMeant
from docmind.tables.evidence import Evidence, QuestionMeaning
from docmind.tables.loading import Row, Table
from docmind.tables.naming import names_of
from docmind.tables.query import Filter, TableQuery
from docmind.tables.shapes import Meanings, Shape
from docmind.tables.understanding import read_by_rules
from docmind.tables.values import typed
from meanings import Toy

POWER = """source,year,output_gwh,checked,note
Nuclear Energy,2009,4679,yes,
Nuclear Energy,2010,4451,yes,late
Coal,2009,38621,no,
Coal,2010,0,yes,
"""
DISTRICTS = """District,Spent_2026_EUR,Day
Muenster-West,4000,2024-03-01
Muenster-Nord,700,2024-05-02
Beatriz-Hof,90,2023-05-09
"""


def shape_of(text: str) -> Shape:
    header, *rows = csv.reader(io.StringIO(text))
    columns, values = zip(
        *(typed(name, [row[at] for row in rows], is_english=True) for at, name in enumerate(header)), strict=True
    )
    made = tuple(Row(1, (0, 9), (), tuple(row), "") for row in rows)
    table = Table(
        "d",
        "power.csv",
        "power",
        "power",
        PageTable(tuple(header)),
        (),
        columns,
        made,
        tuple(zip(*values, strict=True)),
    )
    return Shape(names_of([table]), Meanings(Toy()))


def evidence_of(question: str, text: str = POWER) -> Evidence:
    asked, shape = asked_of(question), shape_of(text)
    assert asked is not None
    meaning = QuestionMeaning(asked, Meanings(Toy()))
    return Evidence(meaning, shape, read_by_rules(asked, shape.names)[0])


def meant_by(question: str, text: str = POWER) -> list[tuple[tuple[int, str, tuple[object, ...]], ...]]:
    sets = ConditionsMeant(evidence_of(question, text)).sets
    return [tuple((one.filter.column, one.filter.operator, one.filter.values) for one in held) for held in sets]


@pytest.mark.parametrize(
    ("question", "text", "condition"),
    [
        ("how much came from atoms?", POWER, (0, "in", ("Nuclear Energy",))),
        ("the output of nuklear energy", POWER, (0, "in", ("Nuclear Energy",))),
        ("how much in 2010", POWER, (1, "=", (2010.0,))),
        ("before 2010", POWER, (1, "<", (2010.0,))),
        ("what was not checked", POWER, (3, "=", (0.0,))),
        ("which have no output", POWER, (2, "=", (0.0,))),
        ("which have a note", POWER, (4, "is not null", ())),
        ("What does Münster-West spend?", DISTRICTS, (0, "in", ("Muenster-West",))),
        ("and for Beatris?", DISTRICTS, (0, "in", ("Beatriz-Hof",))),
    ],
)
def test_a_condition_is_found(question: str, text: str, condition: tuple[int, str, tuple[object, ...]]) -> None:
    assert any(condition in held for held in meant_by(question, text))


def test_conditions_hold_alone_together_and_not_at_all() -> None:
    sets = meant_by("how much came from atoms in 2010")
    atoms, year = (0, "in", ("Nuclear Energy",)), (1, "=", (2010.0,))
    assert {(), (year,)} <= set(sets)
    assert any({atoms, year} == set(held) for held in sets)
    assert len(sets) == len({frozenset(held) for held in sets})


def test_two_months_are_compared() -> None:
    meant = ConditionsMeant(evidence_of("how much more in May than in March", DISTRICTS))
    pairs = [(one.filter, other.filter) for _beside, one, other in meant.pairs]
    assert (Filter(2, "month", ("05",)), Filter(2, "month", ("03",))) in pairs


def heads(question: str, likely: Sequence[str], text: str = POWER) -> list[Head]:
    return heads_of(evidence_of(question, text), {one: 0.0 if one in likely else -9.0 for one in COMPUTED})


def test_what_is_computed_is_of_columns_of_its_type() -> None:
    found = heads("the sum of the output", ["sum", "mean", "median", "share", "difference"])
    assert {one.column for one in found if one.computed in ("sum", "mean", "median")} == {2}, "years are no measure"
    assert {one.column for one in found if one.computed == "lookup"} == {0, 1, 2, 3, 4}
    assert not any(one.group is not None for one in found), "groups are not asked for"


def test_extremes_are_of_rows_of_years_and_of_groups() -> None:
    found = heads("which source gave most", ["largest", "smallest", "first", "last", "count"])
    assert Head("largest", 1, label=0) in found
    assert Head("sum", 2, group=0, best="largest") in found
    assert Head("count", group=0, best="smallest") in found
    dated = heads("the first date", ["largest", "smallest", "first", "last", "count"], DISTRICTS)
    assert Head("first", 2, label=0) in dated
    assert Head("sum", 1, group=2, unit="month", best="largest") in dated


def test_each_asks_for_groups() -> None:
    assert Head("sum", 2, group=0) in heads("how much from each source", ["sum"])


COAL = Condition(Filter(0, "in", ("Coal",)), evidence_of("coal").stands, "rule")
SEEN = Condition(Filter(3, "=", (1.0,)), COAL.covers, "flag")


@pytest.mark.parametrize(
    ("head", "conditions", "query"),
    [
        (Head("distinct", 0), (SEEN,), TableQuery("count", (SEEN.filter,), 0, is_distinct=True)),
        (Head("share", 2), (COAL,), TableQuery("share", column=2, part=(COAL.filter,))),
        (Head("share", 2), (), None),
        (Head("lookup", 2, label=0), (), None),
        (Head("lookup", 2, label=0), (COAL,), TableQuery("lookup", (COAL.filter,), 2, label=0)),
        (Head("check", label=0), (COAL, SEEN), TableQuery("check", (COAL.filter,), part=(SEEN.filter,))),
        (Head("check", label=0), (COAL,), None),
        (Head("difference", 1, other=2), (COAL,), TableQuery("difference", (COAL.filter,), 1, minus=2)),
        (Head("sum", 2, group=0, best="largest"), (), TableQuery("sum", column=2, group=0, best="largest")),
    ],
)
def test_a_head_under_conditions_is_a_query(
    head: Head, conditions: tuple[Condition, ...], query: TableQuery | None
) -> None:
    assert query_under(head, conditions) == query
