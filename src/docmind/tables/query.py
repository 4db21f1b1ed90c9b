"""Queries over the rows of tables: a record, its SQL, and its run in a database in memory.

The rows are copied into a table of their own, of which nothing is written to the disk. A query only reads, its values
are parameters, and it ends after `SECONDS`.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from statistics import median
from typing import Literal

from docmind.errors import DocMindError
from docmind.tables.loading import ROWS, Row, Table
from docmind.tables.values import Column, Sql
from docmind.tables.wordlists import Task
from docmind.wording import _

SECONDS = 2.0
GROUPS = 50  # groups of a result
_STEPS = 10_000  # instructions of the database between two looks at the clock

Operator = Literal[
    "in", "not in", "=", ">", ">=", "<", "<=", "between", "month", "months", "weekday", "is null", "is not null"
]  # fmt: skip
Unit = Literal["", "month", "year"]


class SlowQueryError(DocMindError):
    """A query over a table took longer than its limit."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on a column, by its number.

    `month` is one of some months of a date, as two digits, whatever the year; `months` from one to another; `weekday`
    the day of the week from Sunday, 0.
    """

    column: int
    operator: Operator
    values: tuple[Sql, ...] = ()


@dataclass(frozen=True, slots=True)
class TableQuery:
    """What is asked of rows of one shape.

    `column` has the numbers or dates that are added up or compared, or what is looked up. `label` is the column that
    names a row in the answer, `name` another that tells more where that is a code. With `group` there is a result for
    each of its values, by month or year with `unit`; with `best`, the one with the largest or smallest result.
    `is_distinct` counts different values of `column`.

    `part` are further conditions: on the rows of which a `share` is asked, on those that a `check` asks about. For a
    `difference` the rows of `filters` and `part` are compared with those of `filters` and `less`. `top` rows or groups
    are asked for, from the one with the place `rank`. The numbers of the columns `plus` are added to those of `column`
    in each row. For a `difference` within rows, that of `minus` is compared with that of `column`.
    """

    task: Task
    filters: tuple[Filter, ...] = ()
    column: int | None = None
    label: int | None = None
    name: int | None = None
    group: int | None = None
    unit: Unit = ""
    best: Literal["", "largest", "smallest"] = ""
    is_distinct: bool = False
    part: tuple[Filter, ...] = ()
    less: tuple[Filter, ...] = ()
    rank: int = 1
    top: int = 1
    plus: tuple[int, ...] = ()
    minus: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """One group of a result: its value, its result, and its rows."""

    name: Sql
    value: float
    rows: int


@dataclass(frozen=True, slots=True)
class Result:
    """What a query found: the rows that the conditions keep, by number, and of them those that hold the result.

    `value` is what was computed, None where no row has a value. `lacking` counts rows that the conditions keep and that
    have nothing in the column, `wrong` those whose cell there is of another type than the column. `pair` are the two
    values of a share or a difference. `is_tied` tells that rows beside the best have the same value.
    """

    kept: tuple[int, ...]
    best: tuple[int, ...]
    value: float | str | None
    groups: tuple[Group, ...] = ()
    lacking: int = 0
    wrong: int = 0
    pair: tuple[float, float] = (0.0, 0.0)
    is_tied: bool = False


class _Median:
    """The middle of numbers, an aggregate of the database."""

    def __init__(self) -> None:
        self._values: list[float] = []

    def step(self, value: float | None) -> None:
        if value is not None:
            self._values.append(value)

    def finalize(self) -> float | None:
        return median(self._values) if self._values else None


_FUNCTIONS = {
    "sum": "sum",
    "mean": "avg",
    "median": "median",
    "largest": "max",
    "smallest": "min",
    "first": "min",
    "last": "max",
}


def run(query: TableQuery, tables: Sequence[Table]) -> Result:
    """Run a query over the rows of all tables, in their order. Raises `SlowQueryError`."""
    rows = [row for table in tables for row in table.rows][:ROWS]
    values = [row for table in tables for row in table.values][:ROWS]
    used = _used(query)
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("PRAGMA temp_store = MEMORY")
        names = "".join(f", c{at}" for at in used)
        db.execute(f"CREATE TABLE t (n INTEGER PRIMARY KEY{names})")
        marks = ", ".join("?" * (1 + len(used)))
        db.executemany(
            f"INSERT INTO t VALUES ({marks})",
            ((n, *(_value(query, row, at) for at in used)) for n, row in enumerate(values)),
        )
        db.create_aggregate("median", 1, _Median)  # type: ignore[arg-type]
        db.execute("PRAGMA query_only = ON")
        until = time.monotonic() + SECONDS
        db.set_progress_handler(lambda: int(time.monotonic() > until), _STEPS)
        try:
            return _found(db, query, rows)
        except sqlite3.OperationalError as error:
            if time.monotonic() > until:
                raise SlowQueryError(_("The query over the table took too long.")) from error
            raise


def _value(query: TableQuery, row: Sequence[Sql], at: int) -> Sql:
    """Return the value of a row in a column, with those of the columns that are added to it."""
    if at != query.column or not query.plus:
        return row[at]
    held = [value for one in (at, *query.plus) if isinstance(value := row[one], float)]
    return sum(held) if held else None


def _used(query: TableQuery) -> list[int]:
    columns = [
        query.column,
        query.minus,
        query.group,
        query.label,
        *(one.column for one in (*query.filters, *query.part, *query.less)),
    ]
    return sorted({column for column in columns if column is not None})


def _found(db: sqlite3.Connection, query: TableQuery, rows: Sequence[Row]) -> Result:
    where, parameters = _where(query.filters)
    kept = tuple(n for (n,) in db.execute(f"SELECT n FROM t{where} ORDER BY n", parameters))
    lacking = wrong = 0
    column = query.column
    if column is not None:
        void = [n for (n,) in db.execute(f"SELECT n FROM t{_and(where)} c{column} IS NULL", parameters)]
        wrong = sum(bool(rows[n].shown[column]) for n in void)
        lacking = len(void) - wrong
    if query.group is not None:
        groups = _groups(db, query, where, parameters)
        if not query.best:
            return Result(kept, kept, None, groups, lacking, wrong)
        chosen = best_groups(query, groups)
        is_tied = query.rank > 1 and len({one.value for one in groups[: query.rank]}) < query.rank
        named = _group_key(query.unit, f"c{query.group}")
        best = tuple(
            n
            for one in chosen
            for (n,) in db.execute(f"SELECT n FROM t{_and(where)} {named} = ? ORDER BY n", (*parameters, one.name))
        )
        return Result(kept, best, chosen[0].value if chosen else None, groups, lacking, wrong, is_tied=is_tied)
    if query.task in ("check", "share", "difference"):
        return _compared(db, query, kept, lacking, wrong)
    if query.task == "count":
        what = f"count(DISTINCT c{column})" if query.is_distinct else "count(*)"
        (number,) = db.execute(f"SELECT {what} FROM t{where}", parameters).fetchone()
        return Result(kept, kept, float(number), (), lacking, wrong)
    if query.task == "lookup" or column is None:
        return Result(kept, kept, None, (), lacking, wrong)
    function = _FUNCTIONS[query.task]
    (value,) = db.execute(f"SELECT {function}(c{column}) FROM t{where}", parameters).fetchone()
    if query.task in ("sum", "mean", "median"):
        held = db.execute(f"SELECT n FROM t{_and(where)} c{column} IS NOT NULL ORDER BY n", parameters)
        return Result(kept, tuple(n for (n,) in held), value, (), lacking, wrong)
    order = "DESC" if function == "max" else "ASC"
    ranked = db.execute(
        f"SELECT n, c{column} FROM t{_and(where)} c{column} IS NOT NULL ORDER BY 2 {order}, 1", parameters
    ).fetchall()
    chosen = ranked[query.rank - 1 : query.rank - 1 + query.top]
    if not chosen:
        return Result(kept, (), None, (), lacking, wrong)
    first, values = chosen[0][1], {value for _n, value in chosen}
    is_tied = query.rank > 1 and ranked[query.rank - 2][1] == first
    same = tuple(n for n, one in ranked if one in values)
    return Result(kept, same, first, (), lacking, wrong, is_tied=is_tied)


def _compared(db: sqlite3.Connection, query: TableQuery, kept: tuple[int, ...], lacking: int, wrong: int) -> Result:
    """Return a check, a share or a difference: rows of two kinds, and what is computed of each."""
    if query.minus is not None:
        return _difference_within(db, query, kept, wrong)

    def of(filters: Sequence[Filter]) -> tuple[tuple[int, ...], float]:
        where, parameters = _where(filters)
        rows = tuple(n for (n,) in db.execute(f"SELECT n FROM t{where} ORDER BY n", parameters))
        if query.column is None:
            return rows, float(len(rows))
        (value,) = db.execute(f"SELECT sum(c{query.column}) FROM t{where}", parameters).fetchone()
        return rows, float(value or 0)

    rows, value = of((*query.filters, *query.part))
    if query.task == "check":
        return Result(kept, kept, float(len(rows)))
    if query.task == "share":
        whole = of(query.filters)[1]
        found = 100 * value / whole if whole else None
        return Result(kept, rows, found, (), lacking, wrong, (value, whole))
    others, less = of((*query.filters, *query.less))
    if not rows or not others:
        return Result(kept, (), None)
    return Result(kept, (*rows, *others), abs(value - less), (), lacking, wrong, (value, less))


def _difference_within(db: sqlite3.Connection, query: TableQuery, kept: tuple[int, ...], wrong: int) -> Result:
    """Return the difference of two columns of the same rows, of which none lacks a number in one of them."""
    where, parameters = _where(query.filters)
    names = f"c{query.column}", f"c{query.minus}"
    void = f"({names[0]} IS NULL OR {names[1]} IS NULL)"
    (lacking,) = db.execute(f"SELECT count(*) FROM t{_and(where)} {void}", parameters).fetchone()
    first, less = db.execute(f"SELECT sum({names[0]}), sum({names[1]}) FROM t{where}", parameters).fetchone()
    if not kept or lacking:
        return Result(kept, (), None, (), lacking, wrong)
    return Result(kept, kept, abs(first - less), (), 0, wrong, (first, less))


def best_groups(query: TableQuery, groups: Sequence[Group]) -> tuple[Group, ...]:
    """Return the groups that a query with `best` asks for, with those as good as the last of them."""
    start, end = query.rank - 1, query.rank - 1 + query.top
    chosen = tuple(groups[start:end])
    return chosen + tuple(one for one in groups[end:] if chosen and one.value == chosen[-1].value)


def _groups(db: sqlite3.Connection, query: TableQuery, where: str, parameters: list[Sql]) -> tuple[Group, ...]:
    key = _group_key(query.unit, f"c{query.group}")
    what = "count(*)" if query.task == "count" or query.column is None else f"{_FUNCTIONS[query.task]}(c{query.column})"
    order = {"": "1", "largest": "2 DESC, 1", "smallest": "2, 1"}[query.best]
    found = db.execute(
        f"SELECT {key}, {what}, count(*) FROM t{_and(where)} {key} IS NOT NULL GROUP BY 1 ORDER BY {order} LIMIT ?",
        (*parameters, GROUPS + 1),
    )
    return tuple(Group(name, value, count) for name, value, count in found if value is not None)


def _and(where: str) -> str:
    return f"{where} AND" if where else " WHERE"


def _where(filters: Sequence[Filter]) -> tuple[str, list[Sql]]:
    """Return the conditions with a mark for each value, and the values."""
    parts = [_condition(one, f"c{one.column}", ["?"] * len(one.values)) for one in filters]
    return _all_of(parts), [value for one in filters for value in one.values]


def _all_of(parts: Sequence[str]) -> str:
    return " WHERE " + " AND ".join(parts) if parts else ""


def _condition(one: Filter, name: str, marks: Sequence[str]) -> str:
    if one.operator == "in":
        return f"{name} IN ({', '.join(marks)})"
    if one.operator == "not in":
        return f"({name} NOT IN ({', '.join(marks)}) OR {name} IS NULL)"
    if one.operator == "between":
        return f"{name} BETWEEN {marks[0]} AND {marks[1]}"
    if one.operator == "month":
        return f"substr({name}, 6, 2) IN ({', '.join(marks)})"
    if one.operator == "months":
        return f"substr({name}, 6, 2) BETWEEN {marks[0]} AND {marks[1]}"
    if one.operator == "weekday":
        return f"strftime('%w', {name}) = {marks[0]}"
    if one.operator in ("is null", "is not null"):
        return f"{name} {one.operator.upper()}"
    return f"{name} {one.operator} {marks[0]}"


def sql_of(query: TableQuery, columns: Sequence[Column], source: str, join: tuple[str, str] = ("", "")) -> str:
    """Return the query as SQL for people to read, with the names of columns and the values in it.

    `join` has the name of another table and of the column that both have; empty where there is none.
    """

    def named(at: int | None) -> str:
        assert at is not None
        return _name(columns[at].name or f"column {at + 1}")

    def said(filters: Sequence[Filter]) -> list[str]:
        return [_condition(one, named(one.column), [*map(_literal, one.values)]) for one in filters]

    column = " + ".join(map(named, (query.column, *query.plus))) if query.column is not None else "*"
    if query.task == "count":
        what = f"count(DISTINCT {column})" if query.is_distinct else "count(*)"
    elif query.minus is not None:
        what = f"abs(sum({column}) - sum({named(query.minus)}))"
    elif query.task in ("share", "difference"):
        value = "count(*)" if query.column is None else f"sum({column})"
        part, less = (f"{value} FILTER ({_all_of(said(one)).strip()})" for one in (query.part, query.less))
        what = f"100.0 * {part} / {value}" if query.task == "share" else f"abs({part} - {less})"
    elif query.task == "check":
        what = " AND ".join(said(query.part))
    else:
        what = column if query.task == "lookup" else f"{_FUNCTIONS[query.task]}({column})"
    tail = ""
    limit = f" LIMIT {query.top}" + (f" OFFSET {query.rank - 1}" if query.rank > 1 else "")
    if query.group is not None:
        key = _group_key(query.unit, named(query.group))
        order = f" ORDER BY 2{' DESC' if query.best == 'largest' else ''}{limit}" if query.best else ""
        what, tail = f"{key}, {what}", f" GROUP BY {key}{order}"
    elif query.task in ("largest", "smallest", "first", "last") and (query.rank, query.top) != (1, 1):
        what = column if query.label in (None, query.column) else f"{named(query.label)}, {column}"
        tail = f" ORDER BY {column}{' DESC' if query.task in ('largest', 'last') else ''}{limit}"
    elif query.task not in ("count", "sum", "mean", "median", "share", "difference") and query.label not in (
        None,
        query.column,
    ):
        what = f"{named(query.label)}, {what}"
    other = f" JOIN {_name(join[0])} USING ({_name(join[1])})" if join[0] else ""
    return f"SELECT {what} FROM {_name(source)}{other}{_all_of(said(query.filters))}{tail}"


def _group_key(unit: Unit, name: str) -> str:
    return f"substr({name}, 1, {7 if unit == 'month' else 4})" if unit else name


def _name(text: str) -> str:
    return '"' + " ".join(text.split()).replace('"', '""') + '"'


def _literal(value: Sql) -> str:
    if isinstance(value, float):
        return f"{value:.12g}"
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"
