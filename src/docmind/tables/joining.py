"""Two tables with a column of one name, read as one: each row of the first with the row that it names in the other."""

from __future__ import annotations

from dataclasses import replace

from docmind.tables.loading import Beside, Table
from docmind.tables.query import TableQuery
from docmind.tables.values import Sql
from docmind.tables.words import words_of


def joined(first: Table, other: Table) -> Table | None:
    """Return the rows of a table, each with the cells of the row that it names in another; None where none is named.

    A column of texts has the same name in both. Its values are all in the other table, where each stands once; a
    row without one has none of its cells.
    """
    for at, column in enumerate(first.columns):
        for key, named in enumerate(other.columns):
            if column.type == named.type == "text" and _is_same(column.name, named.name):
                by_value = {row[key]: n for n, row in enumerate(other.values) if row[key] is not None}
                is_unique = len(by_value) == len(other.values) > 1
                held = [row[at] for row in first.values if row[at] is not None]
                if is_unique and held and all(value in by_value for value in held):
                    return _joined(first, other, at, key, by_value)
    return None


def _is_same(one: str, other: str) -> bool:
    roots = [word.root for word in words_of(one)]
    return bool(roots) and roots == [word.root for word in words_of(other)]


def _joined(first: Table, other: Table, at: int, key: int, by_value: dict[Sql, int]) -> Table:
    kept = [n for n in range(len(other.columns)) if n != key]
    rows, values = [], []
    for row, held in zip(first.rows, first.values, strict=True):
        n = by_value.get(held[at])
        found = other.rows[n] if n is not None else None
        rows.append(
            replace(
                row,
                shown=(*row.shown, *(found.shown[one] if found is not None else "" for one in kept)),
                beside=Beside(other, found, len(first.columns), tuple(kept)) if found is not None else None,
            )
        )
        values.append((*held, *(other.values[n][one] if n is not None else None for one in kept)))
    return replace(
        first,
        title=f"{first.title}, {other.about.sheet or other.title}",
        path=(*first.path[-1:], other.label, *filter(None, (other.about.sheet,))),
        columns=(*first.columns, *(other.columns[one] for one in kept)),
        rows=tuple(rows),
        values=tuple(values),
        is_partial=first.is_partial or other.is_partial,
        join=(other.about.sheet or other.document, first.columns[at].name),
    )


def needs_both(query: TableQuery, table: Table) -> bool:
    """Return whether a query over joined tables uses columns of both, and adds up none of the second's."""
    beside = next((row.beside for row in table.rows if row.beside is not None), None)
    if beside is None:
        return False
    own = beside.start
    used = {query.column, query.group, query.name, *(one.column for one in (*query.filters, *query.part))} - {None}
    is_far = any(at is not None and at >= own for at in used)
    is_near = any(at is not None and at < own and table.columns[at].name != table.join[1] for at in used)
    if query.task == "lookup":
        return is_far and is_near
    if query.task not in ("sum", "mean", "largest", "smallest") or query.column is None or query.column >= own:
        return False
    return is_far and is_near
