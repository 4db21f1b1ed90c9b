"""The largest or smallest row or group that a question asks for, and the first where something lasts the longest."""

from __future__ import annotations

from collections.abc import Sequence

from docmind.tables.query import (
    Filter,
    TableQuery,
)
from docmind.tables.reading import (
    Reading,
)
from docmind.tables.role_words import (
    AGES,
    BEST,
    BIRTHS,
    CLAUSES,
    GRADES,
    LASTING,
    LATER_BIRTHS,
    OFTEN,
    PLACES,
    SINCE_HEADERS,
    WORST,
)
from docmind.tables.wordlists import (
    DIRECTIONS,
    EXACT_MEASURES,
    FAST,
    MEASURES,
    Task,
)


def superlative(
    r: Reading, task: Task, numeric: Sequence[int], label: int | None, filters: tuple[Filter, ...]
) -> TableQuery | None:
    assert task in ("largest", "smallest")
    phrase = next("_".join(r.texts[a:b]) for one, a, b in r.asked.tasks if one == task)
    if phrase in BEST | WORST:
        if not (found := _judged(r, phrase, numeric)):
            return None
        column, task = found
        return TableQuery(task, filters, column, label=label, rank=r.rank, top=r.top)
    phrase = phrase.removeprefix("la_").removeprefix("le_").removeprefix("les_")
    column: int | None = None
    if len(numeric) == 1:
        column = numeric[0]
    elif not numeric and phrase in MEASURES:
        fitting = [at for at in r.measures() if any(w.text in MEASURES[phrase] for w in r.names.headers[at])]
        if len(fitting) > 1:
            fitting = [at for at in fitting if any(w.text in DIRECTIONS[task] for w in r.names.headers[at])]
        column = fitting[0] if len(fitting) == 1 else None
        if column is None and phrase in EXACT_MEASURES and phrase not in AGES:
            return None
    if phrase in FAST and column is not None and (r.columns[column].type == "duration" or _is_time(r, column)):
        task = "smallest" if task == "largest" else "largest"
    if phrase in AGES and (column is None or any(w.text in BIRTHS for w in r.names.headers[column])):
        return _by_age(r, task, filters, label)
    is_most = phrase in (
        "most",
        "least",
        "fewest",
        "mas",
        "mais",
        "menos",
        "meisten",
        "wenigsten",
    ) or r.has("sum")
    if phrase in LASTING and column is None and (found := _by_lasting(r, task, filters, label)) is not None:
        return found
    is_money = r.is_money
    named = r.which()
    who = _who(r, named)
    if who is not None and is_most and named is not None:
        column = column if column is not None else r.money() if is_money else r.measured(numeric)
        if column is None:
            return None
        return TableQuery("sum", filters, column, name=named, group=who, best=task, rank=r.rank, top=r.top)
    repeats = named is not None and r.columns[named].type == "text" and not r.is_unique(named)
    is_of_row = column is not None and any(
        text in ("one", "single") and r.texts[at - 1] in ("in", "on", "at", "a") for at, text in enumerate(r.texts)
    )
    if repeats and is_most and named is not None and not is_of_row:
        if column is None and is_money:
            column = r.money()
        if OFTEN & set(r.texts) and not numeric:
            return TableQuery("count", filters, None, group=named, best=task, rank=r.rank, top=r.top)
        counted = any(one != named and r.is_unique(one) for one in r.mentioned)
        if column is None and (r.subject or counted or r.has("count")):
            return TableQuery("count", filters, None, group=named, best=task, rank=r.rank, top=r.top)
        column = column if column is not None else r.measured(numeric)
        return (
            None
            if column is None
            else TableQuery("sum", filters, column, group=named, best=task, rank=r.rank, top=r.top)
        )
    if column is None:
        column = r.measured(numeric)
    return None if column is None else TableQuery(task, filters, column, label=label, rank=r.rank, top=r.top)


def _judged(r: Reading, phrase: str, numeric: Sequence[int]) -> tuple[int, Task] | None:
    """Return the column of grades, places or times that `best` and `worst` are of, and the end that is meant."""
    columns = list(numeric) or [
        at for at in r.measures() if any(word.text in GRADES | PLACES for word in r.names.headers[at])
    ]
    if len(columns) != 1:
        return None
    header = {word.text for word in r.names.headers[columns[0]]}
    is_place = bool(header & PLACES) or r.columns[columns[0]].type == "duration" or _is_time(r, columns[0])
    if not (header & GRADES or is_place):
        r.is_sure = False
    top = max(r.names.numbers[columns[0]], default=0.0)
    is_place = is_place or (bool(header & {"note", "noten", "grade"}) and r.asked.language == "de" and top <= 6)
    return columns[0], "smallest" if is_place == (phrase in BEST) else "largest"


def _who(r: Reading, named: int | None) -> int | None:
    """Return the column of whom a relative clause tells: `the member who` paid the most, when a town is asked."""
    for column, places in r.mentioned.items():
        is_other = column != named and named is not None and r.columns[column].type == "text"
        if is_other and any(r.texts[at + 1 : at + 2] and r.texts[at + 1] in CLAUSES for at in places):
            return None if r.is_unique(column) else column
    return None


def _by_lasting(r: Reading, task: Task, filters: tuple[Filter, ...], label: int | None) -> TableQuery | None:
    """Return the row with the first date since which something lasts: `who has been a member the longest`."""
    end = next(end for one, _start, end in r.asked.tasks if one == task)
    times = [at for at, one in enumerate(r.columns) if r.tells_time(at) or one.type == "date"]
    times = [at for at in times if any(w.text in SINCE_HEADERS for w in r.names.headers[at])]
    if end < len(r.texts) or len(times) != 1:
        return None
    is_date = r.columns[times[0]].type == "date"
    r.is_sure = r.is_sure and not r.columns[times[0]].is_unsure
    r.score += 1
    earliest, latest = ("first", "last") if is_date else ("smallest", "largest")
    return TableQuery(earliest if task == "largest" else latest, filters, times[0], label=label, rank=r.rank, top=r.top)


def _by_age(r: Reading, task: Task, filters: tuple[Filter, ...], label: int | None) -> TableQuery | None:
    """Return the row with the first or last date or year of birth, or of being built."""
    fitting = [
        at
        for at, one in enumerate(r.columns)
        if one.type in ("date", "number") and any(word.text in BIRTHS for word in r.names.headers[at])
    ]
    births = [at for at in fitting if any(word.text in BIRTHS - LATER_BIRTHS for word in r.names.headers[at])]
    fitting = births or fitting
    if len(fitting) != 1:
        return None
    is_date = r.columns[fitting[0]].type == "date"
    r.is_sure = r.is_sure and not r.columns[fitting[0]].is_unsure and bool(births)
    oldest: Task = "first" if is_date else "smallest"
    youngest: Task = "last" if is_date else "largest"
    return TableQuery(
        oldest if task == "largest" else youngest, filters, fitting[0], label=label, rank=r.rank, top=r.top
    )


def _is_time(r: Reading, column: int) -> bool:
    return any(word.text in ("time", "zeit", "tiempo", "tempo", "temps") for word in r.names.headers[column])
