"""Tables of one shape as they are compared with a question: their headers, titles and cells as words and as vectors."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np

from docmind.embedding import Meanings
from docmind.tables.loading import Table
from docmind.tables.naming import Names
from docmind.tables.query import Filter
from docmind.tables.values import Sql, is_year
from docmind.tables.words import is_function, words_of

_TOLD_APART = 80  # different cells of a column whose meanings are compared with a question
_LONGEST = 48  # characters of such a cell
_MOST_TEXTS = 400  # such cells of a table, those of the columns with the fewest first
_MASKS = 200  # conditions whose rows are kept
_READ = 400  # different cells of a column whose words are compared by their letters
_LEAST = 4  # letters of such a word
_COMMON, _FEW = 0.95, 5  # of the different cells of a column, and their number, that have a word which tells no row
_SIGNS = {"=": operator.eq, ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
_PARTS = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])|_+|(?<=[^\W\d_])(?=\d)")


def parted(name: str) -> str:
    """Return the name of a column with its words apart: `Auszahlungen_2026_EUR`, `schuelerMaennlich`."""
    return " ".join(_PARTS.sub(" ", name).split())


def plain(word: str) -> str:
    """Return a folded word as it is with and without umlauts: `muenster` and `munster` are one."""
    return word.replace("ae", "a").replace("oe", "o").replace("ue", "u")


class Shape:
    """Tables of one shape. `headers` `(columns, d)` are vectors of the names of their columns.

    `older` are older versions of them that were left out.
    """

    def __init__(self, names: Names, meanings: Meanings, older: Sequence[Table] = ()) -> None:
        self.names, self.columns, self.older, self._meanings = names, names.columns, older, meanings
        self.header_words = [
            [word for word in words_of(parted(column.name)) if not is_function(word.text)] for column in names.columns
        ]
        self.headers = meanings.of([parted(column.name)[: 2 * _LONGEST] or "-" for column in names.columns])
        self.titles = [words_of(parted(" ".join(table.titles))) for table in names.tables]
        self.rows = [row for table in names.tables for row in table.values]
        self.cells = [[row[at] for row in self.rows] for at in range(len(names.columns))]
        self.different = [list(dict.fromkeys(cell for cell in cells if cell is not None)) for cells in self.cells]
        self.has_gaps = [any(cell is None for cell in cells) for cells in self.cells]
        self.is_unique = [
            len(different) >= 0.95 * sum(cell is not None for cell in cells) > 0
            for cells, different in zip(self.cells, self.different, strict=True)
        ]
        self._kept: dict[Filter, np.ndarray] = {}

    @cached_property
    def values(self) -> list[tuple[list[str], np.ndarray]]:
        """For each column the different cells that are short texts, with their vectors; none where they are many."""
        room = _MOST_TEXTS
        texts: list[list[str]] = [[] for _column in self.columns]
        for at in sorted(range(len(self.columns)), key=lambda at: len(self.different[at])):
            is_told = self.columns[at].type == "text" and len(self.different[at]) <= min(_TOLD_APART, room)
            if is_told:
                texts[at] = [one for one in self.different[at] if isinstance(one, str) and len(one) <= _LONGEST]
                room -= len(texts[at])
        return [(held, self._meanings.of(held)) for held in texts]

    @cached_property
    def centres(self) -> np.ndarray:
        """The mean vector of the cells of each column `(columns, d)`; 0 where there are none."""
        made = np.zeros_like(self.headers)
        for at, (texts, vectors) in enumerate(self.values):
            if texts:
                mean = vectors.mean(axis=0)
                made[at] = mean / max(float(np.linalg.norm(mean)), 1e-6)
        return made

    @cached_property
    def words(self) -> list[dict[str, set[str]]]:
        """For each column the cells that have a word, by that word."""
        found: list[dict[str, set[str]]] = []
        for column, different in zip(self.columns, self.different, strict=True):
            held: dict[str, set[str]] = {}
            for cell in different if column.type == "text" and len(different) <= _READ else ():
                for word in words_of(parted(str(cell)[: 2 * _LONGEST])):
                    if len(word.text) >= _LEAST:
                        held.setdefault(word.text, set()).add(str(cell))
            found.append(held)
        return found

    @cached_property
    def common(self) -> frozenset[str]:
        """The words that nearly all cells of a column have: they tell no row from another."""
        found: set[str] = set()
        for different, held in zip(self.different, self.words, strict=True):
            least = max(_FEW, _COMMON * len(different))
            found |= {word for word, cells in held.items() if len(cells) >= least}
        return frozenset(found)

    @cached_property
    def years(self) -> frozenset[int]:
        """The columns of numbers that are all years."""
        numbers = self.names.numbers
        return frozenset(at for at, held in enumerate(numbers) if held and all(map(is_year, held)))

    def kept(self, conditions: Sequence[Filter]) -> np.ndarray:
        """Return which rows conditions keep, `(rows,)` of bool."""
        mask = np.ones(len(self.rows), bool)
        for one in conditions:
            kept = self._kept.get(one)
            if kept is None:
                kept = np.array([_holds(one, cell) for cell in self.cells[one.column]], bool)
                if len(self._kept) >= _MASKS:
                    self._kept.clear()
                self._kept[one] = kept
            mask &= kept
        return mask


def _holds(one: Filter, cell: Sql) -> bool:
    """Return whether a condition keeps a cell, as the query does."""
    if one.operator in ("is null", "not in") and cell is None:
        return True
    if cell is None or one.operator == "is null":
        return False
    if one.operator == "is not null":
        return True
    if one.operator in ("in", "not in"):
        return (cell in one.values) == (one.operator == "in")
    return _is_within(one, cell)


def _is_within(one: Filter, cell: Sql) -> bool:
    """Return whether a cell is within what a condition on dates or numbers says."""
    if isinstance(cell, str):
        month, values = cell[5:7], [str(value) for value in one.values]
        if one.operator == "month":
            return month in values
        if one.operator == "months":
            return values[0] <= month <= values[1]
        if one.operator == "weekday":
            return len(cell) == 10 and date.fromisoformat(cell).isoweekday() % 7 == int(values[0])
        return _compares(one.operator, cell, values)
    numbers = [value for value in one.values if isinstance(value, float)]
    return isinstance(cell, float) and len(numbers) == len(one.values) > 0 and _compares(one.operator, cell, numbers)


def _compares(sign: str, cell: Any, values: Sequence[Any]) -> bool:
    if sign == "between":
        return values[0] <= cell <= values[1]
    return _SIGNS[sign](cell, values[0])


def letters_shared(one: str, other: str) -> float:
    """Return how many groups of three letters two words share, 0..1 (Dice)."""
    first, second = _threes(one), _threes(other)
    return 2 * len(first & second) / (len(first) + len(second))


def _threes(word: str) -> set[str]:
    marked = f"^{word}$"
    return {marked[at : at + 3] for at in range(len(marked) - 2)}
