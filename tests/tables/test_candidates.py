"""What a question may mean for a table: conditions by letters, meaning and numbers, and heads of its columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

import pytest

from docmind.blocks import PageTable
from docmind.embedding import Meanings
from docmind.tables.asking import asked_of
from docmind.tables.candidates import COMPUTED, Head, heads_of, query_under
from docmind.tables.conditions import Condition, ConditionsMeant, Sign, Signs
from docmind.tables.evidence import Evidence, QuestionMeaning, limits_in
from docmind.tables.loading import Row, Table
from docmind.tables.naming import names_of
from docmind.tables.query import Filter, TableQuery
from docmind.tables.shapes import Shape
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


SURE: dict[Sign, float] = {"=": 1.0}


def signs_of(evidence: Evidence) -> Signs:
    return [SURE] * len(evidence.question.limits)


def meant_by(question: str, text: str = POWER) -> list[tuple[tuple[int, str, tuple[object, ...]], ...]]:
    evidence = evidence_of(question, text)
    sets = ConditionsMeant(evidence, signs_of(evidence)).sets
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


@pytest.mark.parametrize(
    ("question", "limits"),
    [
        ("more than 1.1 million visitors", [(1_100_000.0, "")]),
        ("moins de 2 200 MWh", [(2_200.0, "")]),
        ("fifty years or older", [(50.0, "")]),
        ("mais de cinco mil pontos", [(5_000.0, "")]),
        ("von 2010 bis 2012", [(2010.0, "2010"), (2012.0, "2012")]),
        ("since 12 March 2024, over 6.000", [(None, "2024-03-12"), (6_000.0, "")]),
        ("before the 3rd of May", [(None, "05-03")]),
        ("is there one of them?", []),
        ("rooms 101 102", [(101.0, ""), (102.0, "")]),
        ("mehr als 120 000", [(120_000.0, "")]),
    ],
)
def test_numbers_and_dates_are_read_however_they_are_written(
    question: str, limits: list[tuple[float | None, str]]
) -> None:
    asked = asked_of(question)
    assert asked is not None
    assert [(one.number, one.day) for one in limits_in(asked.words, asked.language)] == limits


@pytest.mark.parametrize(
    ("question", "text", "told", "condition"),
    [
        ("which give 5000 or so", POWER, ">", (2, ">", (5000.0,))),
        ("which give 5000 or so", POWER, ">=", (2, ">", (5000.0,))),
        ("which give 4451 or so", POWER, ">=", (2, ">=", (4451.0,))),
        ("what 2009 to 2010", POWER, "between", (1, "between", (2009.0, 2010.0))),
        ("which output is 1,900 or so", POWER, ">=", (2, ">", (1_900.0,))),
        ("what of 4 April 2024", DISTRICTS, ">=", (2, ">=", ("2024-04-04",))),
        ("what of 4 April", DISTRICTS, "<=", (2, "<=", ("2024-04-04",))),
        ("what 2 March 2024 to 3 May 2024", DISTRICTS, "between", (2, "between", ("2024-03-02", "2024-05-03"))),
    ],
)
def test_a_number_or_a_date_compares_as_it_is_told(
    question: str, text: str, told: Sign, condition: tuple[int, str, tuple[object, ...]]
) -> None:
    evidence = evidence_of(question, text)
    chance: dict[Sign, float] = {told: 0.9}
    meant = ConditionsMeant(evidence, [chance] * len(evidence.question.limits))
    likeliest = max((one for held in meant.sets for one in held if one.kind == "number"), key=lambda one: one.likely)
    assert (likeliest.filter.column, likeliest.filter.operator, likeliest.filter.values) == condition


def test_what_nearly_all_cells_have_limits_nothing() -> None:
    rows = "\n".join(f"Ladies {place},{at}" for at, place in enumerate(["Rabat", "Lima", "Quito", "Lyon", "Porto"]))
    evidence = evidence_of("how many are in Ladies Lima", f"Chapter,Members\n{rows}\n")
    assert evidence.shape.common == {"ladies"}
    assert evidence.stands[-2] == 1.0
    sets = ConditionsMeant(evidence, signs_of(evidence)).sets
    assert all(evidence.shape.kept([one.filter]).mean() < 1 for one in sets[1])


def test_two_months_are_compared() -> None:
    evidence = evidence_of("how much more in May than in March", DISTRICTS)
    meant = ConditionsMeant(evidence, signs_of(evidence))
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
