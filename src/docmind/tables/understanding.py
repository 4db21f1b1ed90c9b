"""A question over tables as a query, by rules: every word of the question must be accounted for.

A word stands for a value of a cell, a name of a column, a date, a number, a name of the table, or a kind of question,
or it limits nothing. What is left over is told: with such words there is no sure answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from docmind.tables.asking import (
    Asked,
)
from docmind.tables.composing import (
    name_beside,
    query_of,
)
from docmind.tables.deeds import (
    find_directions,
    find_events,
    find_forms,
    find_opposites,
    find_phrasal,
    find_places,
    find_roles,
    find_times,
)
from docmind.tables.doubts import (
    is_guess,
    is_of_one,
)
from docmind.tables.kind_words import (
    find_kind_words,
    mark_negations,
)
from docmind.tables.limits import (
    find_clocks,
    find_dates,
    find_numbers,
    find_spans,
    find_weekdays,
)
from docmind.tables.loading import (
    Table,
)
from docmind.tables.matching import (
    find_adjectives,
    find_flags,
    find_headers,
    find_parts,
    find_ranks,
    find_signs,
    find_titles,
    find_values,
)
from docmind.tables.naming import (
    Names,
)
from docmind.tables.query import (
    Filter,
    TableQuery,
)
from docmind.tables.reading import (
    Reading,
)
from docmind.tables.series import (
    series_of,
)
from docmind.tables.wordlists import (
    ASKED_COLUMNS,
)
from docmind.tables.words import (
    is_hard,
)


@dataclass(frozen=True, slots=True)
class Understood:
    """A query for some tables of one shape, and how well it covers the question.

    `leftover` are words that nothing accounts for. `is_sure` is False where a reading is one of several or rests on a
    guess. `is_of_one` tells that it is sure of one row only, `is_named` that the question names what is computed.
    """

    tables: tuple[Table, ...]
    query: TableQuery
    score: float
    leftover: tuple[str, ...]
    is_sure: bool = True
    is_of_one: bool = False
    is_named: bool = False


def read_by_rules(asked: Asked, names: Names) -> tuple[Reading, bool]:
    """Return what the words of a question stand for in tables of one shape, and whether their names are those meant."""
    r = Reading(asked, names)
    for at in asked.task_words:
        r.by[at] = "task"
    r.series = series_of(r)
    mark_negations(r)
    find_headers(r, least=2)
    find_ranks(r)
    find_spans(r)
    find_values(r)
    find_opposites(r)
    find_events(r)
    find_dates(r)
    find_clocks(r)
    find_numbers(r)
    find_parts(r)
    find_headers(r, least=1)
    find_adjectives(r)
    find_forms(r)
    find_places(r)
    find_phrasal(r)
    find_times(r)
    find_roles(r)
    find_directions(r)
    is_titled = find_titles(r)
    find_weekdays(r)
    find_flags(r)
    find_signs(r)
    find_kind_words(r)
    return r, is_titled


def understand(asked: Asked, names: Names) -> Understood | None:
    """Return the query that a question means for tables of one shape; None where it means none."""
    r, is_titled = read_by_rules(asked, names)
    if not is_titled:
        return None
    if any(text in ASKED_COLUMNS and by == "light" for text, by in zip(r.texts[:2], r.by, strict=False)):
        return None  # `when` asks for what no column tells
    leftover = tuple(word.raw for word, by in zip(r.words, r.by, strict=True) if not by)
    if any(is_hard(r.words, at) for at, by in enumerate(r.by) if not by):
        return None
    for (column, is_negated), values in r.values.items():
        r.filters.append(Filter(column, "not in" if is_negated else "in", tuple(sorted(values, key=str))))
    if "negation?" in r.by:
        return None  # a negation that denies nothing that is known
    query = query_of(r)
    if query is None:
        return None
    if "quantity" in r.by and query.column is not None and query.column == r.money():
        return None  # the consumption is not what it costs
    query = replace(query, name=name_beside(r, query) if query.name is None else query.name)
    is_sure = r.is_sure and not leftover and not is_guess(r, query)
    is_named = query.column is not None and any(r.by[at] == "column" for at in r.mentioned.get(query.column, ()))
    return Understood(r.tables, query, r.score, leftover, is_sure, is_of_one(r, query), is_named)
