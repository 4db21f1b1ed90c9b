"""The query that the words of a question make, once each has its meaning."""

from __future__ import annotations

from collections.abc import Sequence

from docmind.tables.query import (
    Filter,
    TableQuery,
    Unit,
)
from docmind.tables.reading import (
    Reading,
)
from docmind.tables.wordlists import (
    DIFFERENT,
    EXACT_MEASURES,
    LISTS,
    MEASURES,
    MONTH_UNIT,
    PER,
    Task,
)


def query_of(r: Reading) -> TableQuery | None:
    filtered = {one.column for one in r.filters}
    targets = [column for column in r.mentioned if column not in filtered]
    label = _label(r, targets)
    group, unit = _group(r, targets)
    numeric = [column for column in targets if column in r.measures()]
    filters = tuple(r.filters)
    tasks = r.asked
    if tasks.has("mean"):
        column = _measured(r, numeric)
        return None if column is None else TableQuery("mean", filters, column, group=group, unit=unit)
    if tasks.has("largest") or tasks.has("smallest"):
        return _superlative(r, "largest" if tasks.has("largest") else "smallest", numeric, label, filters)
    if tasks.has("first") or tasks.has("last"):
        column = r.date_column()
        if column is None:
            return None
        r.is_sure = r.is_sure and not r.columns[column].is_unsure
        return TableQuery("first" if tasks.has("first") else "last", filters, column, label=label)
    if tasks.has("count"):
        return _count(r, numeric, targets, filters, group, unit)
    is_money = any(by == "money" for by in r.by)
    if tasks.has("sum") or (group is not None and (is_money or numeric or r.asked.is_how_much)):
        column = _measured(r, numeric)
        return None if column is None else TableQuery("sum", filters, column, group=group, unit=unit)
    if r.asked.is_how_much:
        column = numeric[0] if len(numeric) == 1 else None if numeric else _measured(r, numeric)
        if column is None or not (filters or numeric or r.subject):
            return None
        if not (is_money or r.has_value or numeric or (r.subject and filters)):
            return None
        return TableQuery("sum", filters, column, label=label)
    return _lookup(r, targets, label, filters)


def _measured(r: Reading, numeric: Sequence[int]) -> int | None:
    """Return the column of numbers that is meant: the named one, that of money, or the only one."""
    if len(numeric) == 1:
        return numeric[0]
    if numeric:
        return None
    if any(by == "money" for by in r.by):
        return r.money()
    measures = r.measures()
    return measures[0] if len(measures) == 1 else r.money() if r.subject else None


def _superlative(
    r: Reading, task: Task, numeric: Sequence[int], label: int | None, filters: tuple[Filter, ...]
) -> TableQuery | None:
    assert task in ("largest", "smallest")
    phrase = next("_".join(r.texts[a:b]) for one, a, b in r.asked.tasks if one == task)
    column: int | None = None
    if len(numeric) == 1:
        column = numeric[0]
    elif not numeric and phrase in MEASURES:
        fitting = [at for at in r.measures() if any(w.text in MEASURES[phrase] for w in r.names.headers[at])]
        column = fitting[0] if len(fitting) == 1 else None
        if column is None and phrase in EXACT_MEASURES:
            return None
    is_most = phrase in (
        "most",
        "least",
        "fewest",
        "mas",
        "mais",
        "menos",
        "meisten",
        "wenigsten",
    ) or r.asked.has("sum")
    is_money = any(by == "money" for by in r.by)
    named = r.which()
    repeats = named is not None and r.columns[named].type == "text" and not r.is_unique(named)
    if repeats and is_most and named is not None:
        if column is None and is_money:
            column = r.money()
        counted = any(one != named and r.is_unique(one) for one in r.mentioned)
        if column is None and (r.subject or counted or r.asked.has("count")):
            return TableQuery("count", filters, None, group=named, best=task)
        column = column if column is not None else _measured(r, numeric)
        return None if column is None else TableQuery("sum", filters, column, group=named, best=task)
    if column is None:
        column = _measured(r, numeric)
    return None if column is None else TableQuery(task, filters, column, label=label)


def _count(
    r: Reading,
    numeric: Sequence[int],
    targets: Sequence[int],
    filters: tuple[Filter, ...],
    group: int | None,
    unit: Unit,
) -> TableQuery | None:
    end = next(end for task, _start, end in r.asked.tasks if task == "count")
    phrase = " ".join(r.texts[max(0, end - 2) : end])
    if phrase.endswith(("often", "times", "vezes", "veces", "oft")):
        return TableQuery("count", filters, None, group=group, unit=unit) if filters else None
    noun = next((n for n in range(end, len(r.words)) if r.by[n] not in ("light", "kind", "task")), None)
    if noun is not None and r.by[noun] == "value" and any(noun + 1 in r.mentioned[one] for one in numeric):
        noun += 1  # "vegetarian portions"
    column = next((one for one in targets if noun is not None and noun in r.mentioned.get(one, ())), None)
    if column is not None and column in numeric:
        return TableQuery("sum", filters, column, group=group, unit=unit)
    if column is not None and column != group:
        is_different = any(text in DIFFERENT for text in r.texts)
        if is_different or (not r.is_unique(column) and not r.subject):
            return TableQuery("count", filters, column, is_distinct=True)
        return TableQuery("count", filters, None, group=group, unit=unit)
    if len(numeric) == 1 and noun is not None and not r.subject and not r.has_value:
        return None
    if not (r.subject or filters) or (noun is None and not filters):
        return None
    return TableQuery("count", filters, None, group=group, unit=unit)


def _lookup(r: Reading, targets: Sequence[int], label: int | None, filters: tuple[Filter, ...]) -> TableQuery | None:
    if not filters:
        return None
    which = r.which()
    asked = [r.asked_column(text) for text, by in zip(r.texts, r.by, strict=True) if by == "asked"]
    wanted = list(dict.fromkeys(column for column in (*targets, *asked) if column is not None))
    filtered = {one.column for one in filters}
    wanted = [column for column in wanted if column not in filtered] or wanted
    if len(wanted) > 1 and which is not None and which in wanted:
        wanted = [which]
    if len(wanted) > 1:
        named = [column for column in wanted if column in targets]
        wanted = named if len(named) == 1 else wanted
    if len(wanted) == 1:
        return TableQuery("lookup", filters, wanted[0], label=label)
    if wanted:
        return None
    if r.subject and r.texts and any(text in LISTS for text in r.texts[:3]):
        return TableQuery("lookup", filters, label, label=label) if label is not None else None
    return None


def _label(r: Reading, targets: Sequence[int]) -> int | None:
    """Return the column that names a row: the one asked for, else the first of texts, else the first."""
    which = r.which()
    if which is not None and which not in r.measures():
        return which
    texts = [at for at, one in enumerate(r.columns) if one.type == "text"]
    unique = [at for at in texts if r.is_unique(at)]
    return (unique or texts or [0])[0]


def _group(r: Reading, targets: Sequence[int]) -> tuple[int | None, Unit]:
    for at, text in enumerate(r.texts[:-1]):
        if text not in PER:
            continue
        for place in range(at + 1, min(at + 3, len(r.texts))):
            for column, places in r.mentioned.items():
                if place in places and r.columns[column].type in ("text", "bool", "date", "number"):
                    return column, ""
            if r.by[place] == "unit":
                return r.date_column(), "month" if r.texts[place] in MONTH_UNIT else "year"
    return None, ""
