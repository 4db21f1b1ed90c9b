"""The query that the words of a question make, once each has its meaning."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from docmind.tables.query import (
    Filter,
    TableQuery,
    Unit,
)
from docmind.tables.reading import (
    Reading,
)
from docmind.tables.role_words import (
    COMPARATIVES,
    HOLDERS,
    MANNERS,
    OWNING,
    ROLES,
    TELEPHONES,
    THINGS,
)
from docmind.tables.series import (
    added,
    counts_measure,
)
from docmind.tables.superlatives import (
    superlative,
)
from docmind.tables.wordlists import (
    AMOUNT_HEADERS,
    AMOUNTS,
    ASKED_COLUMNS,
    COUNT_HEADERS,
    DEADLINES,
    DIFFERENT,
    FLOWS,
    HOW,
    LISTS,
    MEASURES,
    MONTH_UNIT,
    PER,
    WHICH,
    YES_NO,
)
from docmind.tables.words import akin


def query_of(r: Reading) -> TableQuery | None:
    filtered = {one.column for one in r.filters}
    targets = [column for column in r.mentioned if column not in filtered]
    is_named = any(r.by[at] != "task" for places in r.mentioned.values() for at in places)
    if not is_named and not r.runs and not r.subject and not r.is_money and "asked" not in r.by:
        return None  # nothing but a time is named
    label = label_of(r, targets)
    group, unit = _group(r, targets)
    numeric = [column for column in targets if column in r.measures()]
    own = [one for one in numeric if any(r.by[at] != "task" for at in r.mentioned[one])]
    numeric = own or numeric  # `total` names a column of that name where nothing else does
    filters = tuple(r.filters)
    if (of_series := added(r, label, filters)) is not None:
        return of_series
    r.is_sure = r.is_sure and not r.is_tied_series
    if r.has("difference"):
        return _difference(r, numeric, filters)
    if r.has("share"):
        return _share(r, numeric, filters)
    if r.is_check:
        return _check(r, filters)
    if r.has("mean") or r.has("median"):
        column = r.measured(numeric)
        if group is not None and (unit or (r.columns[group].type == "date" and not r.is_unique(group))):
            r.is_sure = False  # the mean of each month, or of the sums of the months
        elif group is not None and (r.is_unique(group) or _is_head(r, group)):
            group = None  # each row is a group
        task = "mean" if r.has("mean") else "median"
        return None if column is None else TableQuery(task, filters, column, group=group, unit=unit)
    if r.has("largest") or r.has("smallest"):
        return superlative(r, "largest" if r.has("largest") else "smallest", numeric, label, filters)
    if r.has("first") or r.has("last"):
        column = r.date_column()
        column = _clock(r) if column is None else column
        if column is None:
            return None
        r.is_sure = r.is_sure and not r.columns[column].is_unsure
        task = "first" if r.has("first") else "last"
        return TableQuery(task, filters, column, label=label, rank=r.rank, top=r.top)
    if r.has("count"):
        return _count(r, numeric, targets, filters, group, unit)
    is_money = r.is_money
    if r.has("sum") or (group is not None and (is_money or numeric or r.asked.is_how_much)):
        column = r.measured(numeric)
        return None if column is None else TableQuery("sum", filters, column, group=group, unit=unit)
    if r.asked.is_how_much:
        column = numeric[0] if len(numeric) == 1 else None if numeric else r.measured(numeric)
        if column is None and not is_money and not numeric:
            return _amount(r, filters, label)
        if column is None or not (filters or numeric or r.subject):
            return None
        if not filters and len(r.tables) == len(r.names.tables) and r.texts[2:3] in (["is"], ["are"]):
            r.is_sure = False  # `how much is the fee` asks for one of them, not for their sum
        if not (is_money or r.has_value or numeric or r.role is not None or (r.subject and filters)):
            return None
        if filters and _is_rate(r, column):
            return TableQuery("lookup", filters, column, label=label)
        return TableQuery("sum", filters, column, label=label)
    return _lookup(r, targets, label, filters)


def _is_head(r: Reading, column: int) -> bool:
    """Return whether a column has the name that the title gives to rows: `Concert` of a list of concerts."""
    header = [word.text for word in r.names.headers[column]]
    return column == 0 and any(akin(one, word.text) for one in header for title in r.names.titles for word in title)


def _difference(r: Reading, numeric: Sequence[int], filters: tuple[Filter, ...]) -> TableQuery | None:
    """Return the difference of two groups of rows: of two values of a column, or of two times; or of two columns."""
    if len(numeric) == 2 and filters and not r.negatives:
        one, other = numeric
        is_alike = (r.columns[one].type, r.columns[one].unit) == (r.columns[other].type, r.columns[other].unit)
        return TableQuery("difference", filters, one, minus=other) if is_alike else None
    column = r.measured(numeric)
    if not numeric and (fitting := _compared(r)):
        column = fitting[0] if len(fitting) == 1 else None
    if column is None or r.negatives:
        return None
    runs = list(dict.fromkeys((one, values) for one, values, _is_negated in r.runs))
    pairs = [
        [Filter(at, "in", tuple(sorted(values))) for one, values in runs if one == at]
        for at in {one for one, _ in runs}
    ]
    pairs.append(list(r.times))
    pairs = [pair for pair in pairs if len(pair) > 1]
    if len(pairs) != 1 or len(pairs[0]) != 2:
        return None
    first, second = pairs[0]
    common = tuple(one for one in filters if one.column != first.column)
    if first.operator == "in" and set(first.values) & set(second.values):
        return None
    return TableQuery("difference", common, column, part=(first,), less=(second,))


def _compared(r: Reading) -> list[int]:
    """Return the columns that a comparative means: the heights of `how much higher`."""
    words = {r.texts[at] for task, start, end in r.asked.tasks if task == "difference" for at in range(start, end)}
    means = {**COMPARATIVES, "higher": "tallest", "lower": "tallest"}
    wanted = frozenset[str]().union(*(MEASURES[means[word]] for word in words if word in means))
    return [at for at in r.measures() if any(word.text in wanted for word in r.names.headers[at])]


def _share(r: Reading, numeric: Sequence[int], filters: tuple[Filter, ...]) -> TableQuery | None:
    """Return the share of the rows, or of the sum of a column, that a condition holds; times limit the whole."""
    times = tuple(one for one in filters if r.columns[one.column].type == "date")
    part = tuple(one for one in filters if one not in times) or times
    whole = times if part != times else ()
    if not part:
        return None
    if len(part) > 1:
        r.is_sure = False
    if len(numeric) > 1:
        return None
    is_money = r.is_money
    column = numeric[0] if numeric else r.money() if is_money else None
    if column is None and not (r.subject or any(r.is_unique(one) for one in r.mentioned)):
        return None
    return TableQuery("share", whole, column, part=part)


def _check(r: Reading, filters: tuple[Filter, ...]) -> TableQuery | None:
    """Return whether the rows that are named hold what is asked: another cell, a yes, a date, or a number."""
    if r.negatives:
        return None
    named = [one for one in filters if one.operator == "in"]
    rows = [one for one in named if r.is_unique(one.column)]
    flags = [at for at in r.mentioned if r.columns[at].type == "bool"]
    events = [
        at
        for at in r.mentioned
        if r.columns[at].type == "date" and not any(word.text in DEADLINES for word in r.names.headers[at])
    ]
    others = tuple(one for one in filters if one not in rows)
    if len(flags) == 1 and named:
        rows, others = [one for one in filters if one.column != flags[0]], (Filter(flags[0], "=", (1.0,)),)
    if not others and not events:
        held = (at for at in r.mentioned if at in r.measures() or r.columns[at].type == "text")
        events = [at for at in held if r.has_gaps(at) and OWNING & set(r.texts)]
    if len(flags) != 1 and not others and len(events) == 1 and named and not flags:
        others = (Filter(events[0], "is not null"),)
    if not rows or not others:
        return None
    return TableQuery("check", tuple(rows), part=others)


def noun_value(r: Reading, end: int, label: int | None) -> int | None:
    """Return the word after `how many` that is a cell of the column that names the rows; None where it is none."""
    noun = next((n for n in range(end, len(r.words)) if r.by[n] not in ("light", "kind", "task")), None)
    if noun is None or r.by[noun] != "value" or label is None or not r.is_unique(label):
        return None
    return noun if any(column == label for column, _values, _is_negated in r.runs) and len(r.runs) == 1 else None


def _amount(
    r: Reading, filters: tuple[Filter, ...], label: int | None, wanted: Collection[str] = AMOUNT_HEADERS
) -> TableQuery | None:
    """Return the amount of the rows that are named: the column of that name, else the only other one."""
    others = [at for at, one in enumerate(r.columns) if at != label and one.type != "empty"]
    named = [at for at in others if any(word.text in wanted for word in r.names.headers[at])]
    column = named[0] if len(named) == 1 else others[0] if len(others) == 1 else None
    if column is None or {one.column for one in filters} != {label}:
        return None
    return TableQuery("lookup", filters, column, label=label)


def _clock(r: Reading) -> int | None:
    """Return the column of times that orders the rows: the named one, or the first where all order them alike."""
    clocks = r.clocks()
    named = [column for column in clocks if r.is_named(column)]
    if len(named) == 1:
        return named[0]
    values = [row for table in r.tables for row in table.values]
    if any(row[column] is None for row in values for column in clocks):
        return None
    orders = {tuple(sorted(range(len(values)), key=lambda n: float(values[n][at] or 0))) for at in clocks}
    return clocks[0] if len(orders) == 1 else None


def _count(
    r: Reading,
    numeric: Sequence[int],
    targets: Sequence[int],
    filters: tuple[Filter, ...],
    group: int | None,
    unit: Unit,
) -> TableQuery | None:
    end = next(end for task, _start, end in r.asked.tasks if task == "count")
    done: list[int] = []
    phrase = " ".join(r.texts[max(0, end - 2) : end])
    if phrase.endswith(("often", "times", "vezes", "veces", "oft")):
        return TableQuery("count", filters, None, group=group, unit=unit) if filters else None
    label = label_of(r, targets)
    if phrase.endswith(("number of", "numero de")) and r.texts[0] in _NUMBER_ASKED and filters:
        phones = [at for at in range(len(r.columns)) if any(word.text in TELEPHONES for word in r.names.headers[at])]
        if len(phones) == 1:
            return TableQuery("lookup", filters, phones[0], label=label)
        r.is_sure = r.is_sure and not any(r.is_unique(one.column) for one in filters)
    if len(numeric) == 1 and numeric[0] in r.series and (filters or counts_measure(r)):
        return TableQuery("sum", filters, numeric[0], group=group, unit=unit)
    if len(numeric) == 1 and filters and all(one.column == label for one in filters):
        return TableQuery("sum", filters, numeric[0], group=group, unit=unit)
    if len(numeric) == 2 and len(done := [one for one in numeric if _is_done(r, end, one)]) == 1:
        r.mentioned.pop(next(one for one in numeric if one not in done))
        numeric = done  # `how many places are booked` of columns for both
    if len(numeric) == 1 and (r.has("sum") or numeric[0] in done):
        return TableQuery("sum", filters, numeric[0], group=group, unit=unit)
    if noun_value(r, end, label) is not None:
        return _amount(r, filters, label, COUNT_HEADERS)
    counted = [at for at in r.measures() if any(word.text in COUNT_HEADERS for word in r.names.headers[at])]
    noun = next((n for n in range(end, len(r.words)) if r.by[n] not in ("light", "kind", "task")), None)
    if r.role is not None and not numeric:
        return TableQuery("sum", filters, r.role, group=group, unit=unit)
    if len(counted) == 1 and r.has("sum") and not numeric:
        return TableQuery("sum", filters, counted[0], group=group, unit=unit)
    is_piece = noun is not None and r.by[noun] == "value" and (not numeric or numeric == counted)
    if len(counted) == 1 and is_piece:
        return TableQuery("sum", filters, counted[0], group=group, unit=unit)
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


_NUMBER_ASKED = frozenset({"what", "whats", "wie", "was", "qual", "cual", "quel"})


def _is_done(r: Reading, end: int, column: int) -> bool:
    """Return whether a column of numbers is named by what was done with what is counted: `are booked`."""
    return any(at > end + 1 and r.texts[at - 1] in YES_NO | {"been"} for at in r.mentioned.get(column, ()))


def _is_verb(r: Reading, column: int) -> bool:
    """Return whether a column of codes is named by a verb: another form of its name, or the last word after `did`."""
    if not r.is_code(column):
        return False
    roots = [word.root for word in r.names.headers[column]]
    places = r.mentioned.get(column, ())
    is_last = len(r.texts) > 1 and r.texts[1] in YES_NO and places == [len(r.texts) - 1]
    return bool(places) and (
        is_last
        or any(r.words[at].text.removesuffix("en") not in roots and r.words[at].root not in roots for at in places)
    )


def _is_over_time(r: Reading, column: int, filters: tuple[Filter, ...]) -> bool:
    """Return whether a column of what is added up is asked for a time, and for nothing else."""
    is_flow = any(word.text in FLOWS or word.root in FLOWS for word in r.names.headers[column])
    times = [r.columns[one.column].type == "date" or one.column == r.month_column() for one in filters]
    return is_flow and bool(times) and all(times)


def _is_of_label(r: Reading, filters: tuple[Filter, ...]) -> bool:
    """Return whether a condition names rows by what they are, or by a column that the question names."""
    label = label_of(r, ())
    return any(
        one.column == label
        or any(word.text in HOLDERS for word in r.names.headers[one.column])
        or (label is not None and r.is_code(label) and r.is_unique(one.column))
        or r.columns[one.column].type != "text"
        or one.column in r.mentioned
        or r.is_named(one.column)
        or not r.is_unique(one.column)
        for one in filters
    )


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
    is_list = r.subject and any(text in LISTS for text in r.texts[:3])
    if r.texts[0] == "how" and r.texts[1:2] and r.texts[1] in YES_NO:  # `how did she pay` asks for no amount
        wanted = [at for at in range(len(r.columns)) if any(word.text in MANNERS for word in r.names.headers[at])]
    elif r.is_money and not is_list and not any(one in r.measures() for one in wanted):
        priced = [at for at in range(len(r.columns)) if r.is_priced(at)]
        money = r.money() if r.money() is not None else priced[0] if len(priced) == 1 else None
        wanted = [money] if money is not None and (not wanted or money in priced) else wanted
    if not wanted and label is not None and r.texts[0] in WHICH and len(r.texts) > 2:
        is_place = r.texts[1] in YES_NO and r.texts[2] in ("in", "on", "at", "im", "auf", "en", "em")
        wanted = [label] if is_place or r.by[1] == "value" else wanted
    if not wanted and not is_list and r.texts[0] in ("what", "was", "que") and "role" in r.by:
        things = [at for at in range(len(r.columns)) if any(word.text in THINGS for word in r.names.headers[at])]
        wanted = things if len(things) == 1 and things[0] not in filtered else wanted
    if not wanted and not is_list and r.texts[0] in WHICH and _is_of_role(r, filters):
        filtered = {one.column for one in filters}
        texts = [at for at, one in enumerate(r.columns) if one.type == "text" and at not in filtered]
        wanted = [at for at in texts if not r.is_code(at)][:1]
    if len(wanted) == 1 and r.texts[0] in WHICH and _is_verb(r, wanted[0]):
        things = [at for at in range(len(r.columns)) if any(word.text in THINGS for word in r.names.headers[at])]
        if len(things) == 1 and things[0] not in filtered:
            wanted = things  # `what did they order` asks for more than the code of the order
        elif wanted == [label]:
            r.is_sure = False
    is_of_flags = any(text in AMOUNTS for text in r.texts) and all(
        r.columns[one.column].type == "bool" for one in filters
    )
    if len(wanted) == 1 and wanted[0] in r.measures() and (is_of_flags or _is_over_time(r, wanted[0], filters)):
        return TableQuery("sum", filters, wanted[0], label=label)
    is_limited = any(one.operator != "in" and one.column in wanted for one in filters)
    if (
        wanted
        and set(wanted) <= filtered
        and is_limited
        and label is not None
        and any(one in LISTS for one in r.texts[:2])
    ):
        wanted = [label]  # `what has to be eaten by April` asks for the food
    if len(wanted) == 1 and not is_list and {one.column for one in filters} == set(wanted) and _is_one_cell(filters):
        return None  # a cell is no answer to itself
    if len(wanted) == 1:
        is_how = any(one in ("how", "wie") and two in HOW for one, two in pairwise(r.texts))
        is_other = is_how and all(
            one.column != label and r.columns[one.column].type == "text" and not _is_of_person(r, one.column)
            for one in filters
        )
        if wanted[0] in r.measures() and (is_other or not _is_of_label(r, filters)):
            r.is_sure = False  # the population of a capital is not that of the country in its row
        return TableQuery("lookup", filters, wanted[0], label=label)
    if wanted:
        return None
    if is_list:
        return TableQuery("lookup", filters, label, label=label) if label is not None else None
    return None


def _is_of_person(r: Reading, column: int) -> bool:
    """Return whether `how high` is asked of what a person has to pay, whom a row is about."""
    is_height = any(text in ("hoch", "high") for text in r.texts)
    return (
        is_height and r.is_unique(column) and any(word.text in ASKED_COLUMNS["who"] for word in r.names.headers[column])
    )


def _is_one_cell(filters: tuple[Filter, ...]) -> bool:
    return all(one.operator == "in" and len(one.values) == 1 for one in filters)


def _is_of_role(r: Reading, filters: tuple[Filter, ...]) -> bool:
    """Return whether the verb tells of the only condition: `what did Rosa win` where a column has the winners."""
    verbs = [r.texts[at] for at, by in enumerate(r.by) if by == "role"]
    headers = frozenset[str]().union(*(headers for words, headers in ROLES if any(one in words for one in verbs)))
    return len(filters) == 1 and any(word.text in headers for word in r.names.headers[filters[0].column])


def label_of(r: Reading, targets: Sequence[int]) -> int | None:
    """Return the column that names a row: the one asked for, else the first of texts, else the first."""
    which = r.which()
    if which is not None and which not in r.measures():
        return which
    texts = [at for at, one in enumerate(r.columns) if one.type == "text"]
    unique = [at for at in texts if r.is_unique(at)]
    return (unique or texts or [0])[0]


def name_beside(r: Reading, query: TableQuery) -> int | None:
    """Return the next column of texts where the one that names the rows has codes or repeats; None where it has not."""
    label = query.label
    if label is None or query.group is not None or r.columns[label].type != "text":
        return None
    is_best = query.task in ("largest", "smallest", "first", "last")
    is_told = is_best or query.task in ("lookup", "check")
    if not r.is_code(label) and (r.is_unique(label) or label == r.which() or not is_told):
        return None
    used = {query.column, *(one.column for one in query.filters)}
    texts = [at for at, one in enumerate(r.columns) if one.type == "text" and at > label and at not in used]
    if not r.is_code(label):
        return texts[0] if texts and (query.column == label or is_best) else None
    return texts[0] if texts and not r.is_code(texts[0]) and (r.is_unique(texts[0]) or _is_half(r, texts[0])) else None


def _is_half(r: Reading, column: int) -> bool:
    """Return whether more than half of the cells of a column differ: surnames."""
    values = [row[column] for table in r.tables for row in table.values if row[column] is not None]
    return len(set(values)) > 0.5 * len(values)


def _is_rate(r: Reading, column: int) -> bool:
    """Return whether a column of numbers tells something for each of a kind: `Price per night` makes no groups."""
    is_told = column in r.measures() or r.is_priced(column)
    return is_told and any(word.text in PER for word in r.names.headers[column])


def _is_only_measure(r: Reading, column: int) -> bool:
    """Return whether a column of numbers is what is asked of each: no group, but where other numbers are named too."""
    others = [at for at in r.mentioned if at != column and at in r.measures()]
    return _is_rate(r, column) or (column in r.measures() and not others)


def _group(r: Reading, targets: Sequence[int]) -> tuple[int | None, Unit]:
    for at, text in enumerate(r.texts[:-1]):
        if text not in PER:
            continue
        for place in range(at + 1, min(at + 3, len(r.texts))):
            for column, places in r.mentioned.items():
                if place in places and r.columns[column].type != "duration" and not _is_only_measure(r, column):
                    return column, ""
            if r.by[place] == "unit":
                return r.date_column(), "month" if r.texts[place] in MONTH_UNIT else "year"
    return None, ""
