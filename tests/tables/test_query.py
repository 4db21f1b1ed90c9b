"""A query over rows in memory only reads, takes values as parameters, ends in time, and adds no totals again."""

from __future__ import annotations

import sqlite3

import pytest

from docmind.blocks import PageTable
from docmind.tables import query as queries
from docmind.tables.loading import Row, Table, _adds_up
from docmind.tables.query import Filter, SlowQueryError, TableQuery, run, sql_of
from docmind.tables.values import Column

NAMES = Column("Name", filled=3)
SIZE = Column('Si"ze', "number", filled=3)


def table(*rows: tuple[str, float | None]) -> Table:
    made = tuple(Row(1, (0, 9), (0, 4, 5, 9), (name, "" if size is None else str(size)), name) for name, size in rows)
    return Table("d", "d.csv", "d", "d", PageTable(("Name", "Size")), (), (NAMES, SIZE), made, rows)


THREE = table(("elm", 4.0), ("oak", 6.5), ("ash", None))


@pytest.mark.parametrize(
    ("query", "value", "kept", "best"),
    [
        (TableQuery("count"), 3, (0, 1, 2), (0, 1, 2)),
        (TableQuery("count", (Filter(0, "not in", ("elm",)),)), 2, (1, 2), (1, 2)),
        (TableQuery("sum", column=1), 10.5, (0, 1, 2), (0, 1)),
        (TableQuery("mean", column=1), 5.25, (0, 1, 2), (0, 1)),
        (TableQuery("largest", (Filter(1, ">", (4.0,)),), 1), 6.5, (1,), (1,)),
        (TableQuery("smallest", column=1), 4, (0, 1, 2), (0,)),
        (TableQuery("count", (Filter(1, "is null"),)), 1, (2,), (2,)),
        (TableQuery("count", (Filter(0, "in", ("x') OR 1=1 --",)),)), 0, (), ()),
    ],
)
def test_it_computes(query: TableQuery, value: float, kept: tuple[int, ...], best: tuple[int, ...]) -> None:
    found = run(query, [THREE])
    assert (found.value, found.kept, found.best) == (value, kept, best)


def test_tables_of_one_shape_are_one_and_groups_are_told() -> None:
    found = run(TableQuery("sum", column=1, group=0, best="largest"), [THREE, table(("elm", 5.0))])
    assert [(group.name, group.value) for group in found.groups] == [("elm", 9), ("oak", 6.5)]
    assert found.best == (0, 3)


FOUR = table(("elm", 4.0), ("oak", 6.5), ("ash", 6.5), ("yew", 1.0))


@pytest.mark.parametrize(
    ("query", "value", "best", "pair"),
    [
        (TableQuery("median", column=1), 5.25, (0, 1, 2, 3), (0, 0)),
        (TableQuery("share", column=1, part=(Filter(0, "in", ("elm",)),)), 100 * 4 / 18, (0,), (4, 18)),
        (TableQuery("share", part=(Filter(1, ">", (5.0,)),)), 50, (1, 2), (2, 4)),
        (
            TableQuery("difference", column=1, part=(Filter(0, "in", ("yew",)),), less=(Filter(0, "in", ("elm",)),)),
            3,
            (3, 0),
            (1, 4),
        ),
        (TableQuery("check", (Filter(0, "in", ("oak",)),), part=(Filter(1, ">", (9.0,)),)), 0, (1,), (0, 0)),
        (TableQuery("smallest", column=1, top=2), 1, (3, 0), (0, 0)),
        (TableQuery("largest", column=1, top=1), 6.5, (1, 2), (0, 0)),
    ],
)
def test_it_compares(query: TableQuery, value: float, best: tuple[int, ...], pair: tuple[float, float]) -> None:
    found = run(query, [FOUR])
    assert (found.value, found.best, found.pair) == (value, best, pair)


def test_a_place_beside_equals_is_told() -> None:
    assert run(TableQuery("largest", column=1, rank=2), [FOUR]).is_tied
    assert not run(TableQuery("smallest", column=1, rank=2), [FOUR]).is_tied


def test_what_is_compared_is_shown() -> None:
    part = (Filter(0, "in", ("elm",)),)
    said = [sql_of(one, (NAMES, Column("Size", "number")), "d") for one in (
        TableQuery("share", column=1, part=part), TableQuery("largest", column=1, label=0, rank=2, top=3),
    )]  # fmt: skip
    assert said == [
        """SELECT 100.0 * sum("Size") FILTER (WHERE "Name" IN ('elm')) / sum("Size") FROM "d\"""",
        'SELECT "Name", "Size" FROM "d" ORDER BY "Size" DESC LIMIT 3 OFFSET 1',
    ]


def test_empty_cells_are_counted() -> None:
    assert run(TableQuery("sum", column=1), [THREE]).lacking == 1


def test_the_query_is_shown_with_names_and_values_quoted() -> None:
    told = sql_of(TableQuery("sum", (Filter(0, "in", ("o'k",)),), 1), (NAMES, SIZE), "d.csv")
    assert told == """SELECT sum("Si""ze") FROM "d.csv" WHERE "Name" IN ('o''k')"""


def test_it_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "SECONDS", -1.0)
    with pytest.raises(SlowQueryError):
        run(TableQuery("sum", column=1), [table(*((str(n), float(n)) for n in range(5_000)))])


def test_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(db: sqlite3.Connection, *_rest: object) -> None:
        db.execute("DELETE FROM t")

    monkeypatch.setattr(queries, "_found", write)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        run(TableQuery("count"), [THREE])


@pytest.mark.parametrize(
    ("shown", "is_total"),
    [
        (("Total", "", "4,200"), True), (("", "Summe", "12"), True), (("Grand total:", "9"), True),
        (("Total Wine", "Shop", "12"), False), (("Totnes", "3"), False), (("Total",), False),
        (("\u0301", "12"), False),
    ],
)  # fmt: skip
def test_rows_that_add_up_others_are_known(shown: tuple[str, ...], *, is_total: bool) -> None:
    assert _adds_up(shown) == is_total
