"""What words may stand for in tables of one shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from docmind.tables.loading import (
    Table,
)
from docmind.tables.values import (
    Column,
)
from docmind.tables.words import (
    Word,
    words_of,
)

_DISTINCT = 20_000  # different values of a column that a question is compared with


@dataclass
class Names:
    """What the words of a question may stand for in tables of one shape; made once for each."""

    tables: tuple[Table, ...]
    columns: tuple[Column, ...]
    headers: list[list[Word]]
    whole: list[dict[tuple[str, ...], set[str]]] = field(default_factory=list)
    inside: list[dict[str, set[str]]] = field(default_factory=list)
    numbers: list[set[float]] = field(default_factory=list)
    titles: list[list[Word]] = field(default_factory=list)

    @cached_property
    def whole_words(self) -> frozenset[tuple[str, ...]]:
        """The words of all cells that have one word."""
        return frozenset(roots for whole in self.whole for roots in whole if len(roots) == 1)


def names_of(tables: Sequence[Table]) -> Names:
    """Return what words may stand for in these tables, which have one shape."""
    columns = tables[0].columns
    names = Names(tuple(tables), columns, [words_of(column.name) for column in columns])
    names.titles = [[word for title in table.titles for word in words_of(title)] for table in tables]
    for at, column in enumerate(columns):
        whole: dict[tuple[str, ...], set[str]] = {}
        inside: dict[str, set[str]] = {}
        numbers: set[float] = set()
        if column.type == "text":
            distinct = {value for table in tables for row in table.values if isinstance(value := row[at], str)}
            for value in sorted(distinct)[:_DISTINCT]:
                roots = tuple(word.root for word in words_of(value))
                whole.setdefault(roots, set()).add(value)
                for one in roots:
                    inside.setdefault(one, set()).add(value)
        elif column.type == "number":
            numbers = {value for table in tables for row in table.values if isinstance(value := row[at], float)}
        names.whole.append(whole)
        names.inside.append(inside)
        names.numbers.append(numbers)
    return names


def runs(roots: tuple[str, ...], value: tuple[str, ...]) -> bool:
    return any(value[at : at + len(roots)] == roots for at in range(len(value) - len(roots) + 1))
