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
from typing import Literal

from docmind.errors import DocMindError
from docmind.tables.loading import ROWS, Row, Table
from docmind.tables.values import Column, Sql
from docmind.tables.wordlists import Task
from docmind.wording import _

SECONDS = 2.0
GROUPS = 50  # groups of a result
_STEPS = 10_000  # instructions of the database between two looks at the clock

Operator = Literal["in", "not in", "=", ">", ">=", "<", "<=", "between", "month", "is null", "is not null"]
Unit = Literal["", "month", "year"]


class SlowQueryError(DocMindError):
    """A query over a table took longer than its limit."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on a column, by its number; `month` is that of a date, from 1, whatever the year."""

    column: int
    operator: Operator
    values: tuple[Sql, ...] = ()


@dataclass(frozen=True, slots=True)
class TableQuery:
    """What is asked of rows of one shape.

    `column` has the numbers or dates that are added up or compared, or what is looked up. `label` is the column that
    names a row in the answer. With `group` there is a result for each of its values, by month or year with `unit`; with
    `best`, the one with the largest or smallest result. `is_distinct` counts different values of `column`.
    """

    task: Task
    filters: tuple[Filter, ...] = ()
    column: int | None = None
    label: int | None = None
    group: int | None = None
    unit: Unit = ""
    best: Literal["", "largest", "smallest"] = ""
    is_distinct: bool = False


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
    have nothing in the column, `wrong` those whose cell there is of another type than the column.
    """

    kept: tuple[int, ...]
    best: tuple[int, ...]
    value: float | str | None
    groups: tuple[Group, ...] = ()
    lacking: int = 0
    wrong: int = 0


_FUNCTIONS = {"sum": "sum", "mean": "avg", "largest": "max", "smallest": "min", "first": "min", "last": "max"}


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
            f"INSERT INTO t VALUES ({marks})", ((n, *(row[at] for at in used)) for n, row in enumerate(values))
        )
        db.execute("PRAGMA query_only = ON")
        until = time.monotonic() + SECONDS
        db.set_progress_handler(lambda: int(time.monotonic() > until), _STEPS)
        try:
            return _found(db, query, rows)
        except sqlite3.OperationalError as error:
            if time.monotonic() > until:
                raise SlowQueryError(_("The query over the table took too long.")) from error
            raise


def _used(query: TableQuery) -> list[int]:
    columns = [query.column, query.group, query.label, *(one.column for one in query.filters)]
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
        if query.best:
            named = _group_key(query.unit, f"c{query.group}")
            best = tuple(
                n
                for (n,) in db.execute(
                    f"SELECT n FROM t{_and(where)} {named} = ? ORDER BY n", (*parameters, groups[0].name)
                )
            ) if groups else ()  # fmt: skip
            return Result(kept, best, groups[0].value if groups else None, groups, lacking, wrong)
        return Result(kept, kept, None, groups, lacking, wrong)
    if query.task == "count":
        what = f"count(DISTINCT c{column})" if query.is_distinct else "count(*)"
        (number,) = db.execute(f"SELECT {what} FROM t{where}", parameters).fetchone()
        return Result(kept, kept, float(number), (), lacking, wrong)
    if query.task == "lookup" or column is None:
        return Result(kept, kept, None, (), lacking, wrong)
    function = _FUNCTIONS[query.task]
    (value,) = db.execute(f"SELECT {function}(c{column}) FROM t{where}", parameters).fetchone()
    if query.task in ("sum", "mean"):
        held = db.execute(f"SELECT n FROM t{_and(where)} c{column} IS NOT NULL ORDER BY n", parameters)
        return Result(kept, tuple(n for (n,) in held), value, (), lacking, wrong)
    at = db.execute(f"SELECT n FROM t{_and(where)} c{column} = ? ORDER BY n", (*parameters, value))
    return Result(kept, tuple(n for (n,) in at), value, (), lacking, wrong)


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
        return f"substr({name}, 6, 2) = {marks[0]}"
    if one.operator in ("is null", "is not null"):
        return f"{name} {one.operator.upper()}"
    return f"{name} {one.operator} {marks[0]}"


def sql_of(query: TableQuery, columns: Sequence[Column], source: str) -> str:
    """Return the query as SQL for people to read, with the names of columns and the values in it."""

    def named(at: int) -> str:
        return _name(columns[at].name or f"column {at + 1}")

    conditions = [_condition(one, named(one.column), [*map(_literal, one.values)]) for one in query.filters]
    column = named(query.column) if query.column is not None else "*"
    if query.task == "count":
        what = f"count(DISTINCT {column})" if query.is_distinct else "count(*)"
    else:
        what = column if query.task == "lookup" else f"{_FUNCTIONS[query.task]}({column})"
    tail = ""
    if query.group is not None:
        key = _group_key(query.unit, named(query.group))
        order = f" ORDER BY 2{' DESC' if query.best == 'largest' else ''} LIMIT 1" if query.best else ""
        what, tail = f"{key}, {what}", f" GROUP BY {key}{order}"
    elif query.task not in ("count", "sum", "mean") and query.label not in (None, query.column):
        assert query.label is not None
        what = f"{named(query.label)}, {what}"
    return f"SELECT {what} FROM {_name(source)}{_all_of(conditions)}{tail}"


def _group_key(unit: Unit, name: str) -> str:
    return f"substr({name}, 1, {7 if unit == 'month' else 4})" if unit else name


def _name(text: str) -> str:
    return '"' + " ".join(text.split()).replace('"', '""') + '"'


def _literal(value: Sql) -> str:
    if isinstance(value, float):
        return f"{value:.12g}"
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"
