"""Where a reading of a question rests on a guess: a word that selects is ignored, or a column is taken by default.

Every word of a question is accounted for before a doubt is asked. A doubt is about how: such an answer may be right and
is not told as sure.

Above 500 lines: a doubt is a function of some lines, and all of them are asked of each reading.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from docmind.language import MONTHS, is_form
from docmind.tables.query import (
    Filter,
    TableQuery,
)
from docmind.tables.reading import (
    Reading,
)
from docmind.tables.role_words import (
    ATTRIBUTES,
    AUTHORING,
    AUTHORS,
    COLLECTIONS,
    COMING,
    COMPARATIVES,
    COST_HEADERS,
    COST_WORDS,
    DEEDS,
    EACH,
    EARNING,
    EITHER,
    EXISTING,
    FEES,
    INCOME_HEADERS,
    LASTING,
    LEAVING,
    LENGTHS,
    OFTEN,
    ONCE,
    PARTICLES,
    RATES,
    SAME_CURRENCY,
    TIMED_FIRMLY,
    UNITARY,
)
from docmind.tables.word_forms import is_derived
from docmind.tables.wordlists import (
    ASKED_COLUMNS,
    COUNT_HEADERS,
    COUNTED_ROWS,
    CURRENCIES,
    EXACT_MEASURES,
    HOW,
    MEASURES,
    MONEY,
    MONEY_HEADERS,
    MONTH_UNIT,
    PER,
    SPENDING,
    TABLE_WORDS,
    WHICH,
    Task,
)
from docmind.tables.words import akin, is_function, is_light, root, same, words_of

_COMPUTED: Collection[Task] = ("count", "sum", "mean", "median", "share", "difference")
_BEST: Collection[Task] = ("largest", "smallest", "first", "last")


_COSTING = frozenset({"costs", "kostet", "cuesta", "custa", "coute"})


def is_guess(r: Reading, query: TableQuery) -> bool:
    """Return whether a reading rests on a guess."""
    return any(doubt(r, query) for doubt in DOUBTS)


def is_of_one(r: Reading, query: TableQuery) -> bool:
    """Return whether a sum is sure of one row only: prices of a piece, and what is told for each, do not add up."""
    if query.minus is not None:
        return True
    if query.task != "sum" or query.column is None or query.group is not None:
        return False
    header = [word.text for word in r.names.headers[query.column]]
    if any(word in PER and word not in ("by", "por", "par", "a") for word in header):
        return True
    if not r.has("sum") and (_COSTING & set(r.texts) or {"does", "cost"} <= set(r.texts)):
        return True  # what something costs is asked of one
    counts = [
        at
        for at in r.measures()
        if at != query.column and any(word.text in COUNT_HEADERS for word in r.names.headers[at])
    ]
    return bool(counts) and any(word in RATES for word in header)


def _ignores_deed(r: Reading, query: TableQuery) -> bool:
    """Doubt a count of rows that have been `booked`, have `passed` or `given up`, of which no column tells."""
    if query.task == "count" and query.is_distinct and not query.filters and "role" in r.by:
        return True
    if query.task not in ("count", "share") or query.is_distinct or query.column is not None:
        return False
    ignored = [at for at, by in enumerate(r.by) if by == "light"]
    if any(r.texts[at] in DEEDS or _is_particle(r, at) for at in ignored):
        return True
    if any(by == "role" for by in r.by) and not query.filters and not query.part:
        return True
    is_whole = not query.filters and not query.part
    return is_whole and any(not is_function(r.texts[at]) and r.texts[at] not in EXISTING for at in ignored)


def _is_particle(r: Reading, at: int) -> bool:
    """Return whether a word ends a verb such as `gave up`: nothing that limits rows follows it."""
    following = r.by[at + 1] if at + 1 < len(r.by) else ""
    return r.texts[at] in PARTICLES and (following in ("", "light"))


def _ignores_attribute(r: Reading, query: TableQuery) -> bool:
    """Doubt `large rooms` and `single rooms`: an adjective that no cell has."""
    is_of_rows = query.task in ("largest", "smallest") and query.group is None
    return query.task != "check" and any(
        text in ATTRIBUTES
        and by == "light"
        and not (is_of_rows and text == "single")
        and r.texts[at - 1] not in ("how", "wie", "too", "so")
        for at, (text, by) in enumerate(zip(r.texts, r.by, strict=True))
    )


def _counts_part_of_title(r: Reading, query: TableQuery) -> bool:
    """Doubt a count of hours as rows of `Training hours`: only what a title is about is counted."""
    if query.task not in ("count", "share") or query.is_distinct or query.column is not None:
        return False
    end = next((end for task, _start, end in r.asked.tasks if task == query.task), 0)
    noun = next((n for n in range(end, len(r.words)) if r.by[n] not in ("light", "kind", "task")), None)
    if noun is None or r.by[noun] != "title" or r.texts[noun] in COUNTED_ROWS:
        return False
    word = r.texts[noun]
    heads = {head for table in r.tables for title in table.titles for head in _heads(title, r.asked.language)}
    is_measure = any(same(word, one) for one in EACH)
    is_limited = any(r.columns[one.column].type == "bool" for one in query.filters)
    return is_measure or (not is_limited and not any(akin(word, head) for head in heads))


def _heads(title: str, language: str) -> set[str]:
    """Return the words that say what the rows of a title are."""
    words: list[str] = []
    for word in words_of(title):
        if is_light(word.text) and words:
            break
        if not is_light(word.text) and word.text not in TABLE_WORDS | COLLECTIONS and not word.text[0].isdigit():
            words.append(word.text)
    return {words[-1 if language in ("en", "de") else 0]} if words else set()


def _is_of_one_only(r: Reading, query: TableQuery) -> bool:
    """Doubt groups of rows where one row is asked for: `the most in one screening`."""
    return query.best != "" and any(text in ONCE and by == "light" for text, by in zip(r.texts, r.by, strict=True))


def _ignores_each(r: Reading, query: TableQuery) -> bool:
    """Doubt `per city` where nothing is told for each city."""
    if query.group is not None or query.task not in (*_COMPUTED, "lookup"):
        return False
    for at, text in enumerate(r.texts[:-1]):
        is_own = query.column is not None and at + 1 in r.mentioned.get(query.column, ())
        if (
            not is_own
            and r.by[at] == "kind"
            and text in PER
            and text not in ("by", "por", "par", "nach", "segun", "selon")
        ):
            has_row = _has_row_for_each(r, r.texts[at + 1]) or any(
                akin(r.texts[at + 1], one) for one in _title_words(r)
            )
            return query.task not in ("mean", "median") or not has_row
    return False


def _title_words(r: Reading) -> set[str]:
    """Return the words of the first column that names the rows as the title does."""
    titles = {word.text for title in r.names.titles for word in title}
    return {word.text for word in r.names.headers[0] if any(akin(word.text, one) for one in titles)}


def _has_row_for_each(r: Reading, text: str) -> bool:
    """Return whether a table has one row for each of what a word names."""
    if text in MONTH_UNIT and (r.month_column() is not None or any(column.type == "date" for column in r.columns)):
        return True
    return any(
        r.is_unique(at) and any(akin(text, word.text) for word in header) for at, header in enumerate(r.names.headers)
    )


def _mixes_conditions(r: Reading, query: TableQuery) -> bool:
    """Doubt a negation before several values, or `or` between conditions on two columns."""
    conditions = [one for one in (*query.filters, *query.part) if one.operator not in ("between", "month", "months")]
    columns = {one.column for one in conditions}
    if any(one.operator == "not in" for one in conditions):
        denied = {one.column for one in conditions if one.operator == "not in"}
        if any(one.operator == "in" and one.column in denied for one in conditions):
            return True
        if len(columns) > 1 and len(r.negatives) == 1 and EITHER & set(r.texts):
            return True
    return len(columns) > 1 and bool(EITHER & set(r.texts))


def _compares_currencies(r: Reading, query: TableQuery) -> bool:
    """Doubt dollars that are asked of a column of euros."""
    used = [query.column, *(one.column for one in (*query.filters, *query.part))]
    units = {root(r.columns[at].unit.lower()) for at in used if at is not None and r.columns[at].unit}
    units |= {word.root for at in used if at is not None for word in r.names.headers[at] if word.root in SAME_CURRENCY}
    money = {SAME_CURRENCY[unit] for unit in units if unit in SAME_CURRENCY}
    asked = {SAME_CURRENCY[word.root] for word in r.words if word.root in SAME_CURRENCY}
    return bool(asked) and bool(money) and not asked <= money


def _compares_by_default(r: Reading, query: TableQuery) -> bool:
    """Doubt `older than 30` of a column that is no age, `over 18` of a column that nothing names."""
    for one in (*query.filters, *query.part):
        is_compared = one.operator in (">", ">=", "<", "<=") and r.columns[one.column].type == "number"
        if is_compared and 0.0 not in one.values and not _is_meant(r, one):
            return True
    return False


def _is_meant(r: Reading, one: Filter) -> bool:
    header = r.names.headers[one.column]
    for text in r.texts:
        if text in COMPARATIVES:
            return any(word.text in MEASURES[COMPARATIVES[text]] for word in header)
    if any(word.text in MEASURES["oldest"] for word in header):
        return True
    if r.is_named(one.column) or one.column == query_money(r):
        return True
    unit = root(r.columns[one.column].unit.lower())
    units = {unit, *(word.root for word in header)} - {""}
    if any(word.root in units for word in r.words):
        return True
    return len(r.measures()) == 1 and r.columns[one.column].unit == "" and any(by == "title" for by in r.by) is False


def query_money(r: Reading) -> int | None:
    return r.money() if r.is_money else None


def _asks_another_money(r: Reading, query: TableQuery) -> bool:
    """Doubt that what was earned was spent, and that a deposit is a price."""
    column = query.column
    if column is None or not r.is_money or r.is_named(column):
        return False
    header = {word.text for word in r.names.headers[column]}
    if any(text in EARNING for text in r.texts):
        titles = {word.text for title in r.names.titles for word in title}
        return not header & INCOME_HEADERS and not titles & INCOME_HEADERS
    titles = {word.text for title in r.names.titles for word in title}
    if any(text in SPENDING for text in r.texts) and titles & INCOME_HEADERS and not header & COST_HEADERS - {"amount"}:
        return True
    is_cost = any(text in COST_WORDS for text in r.texts)
    return is_cost and bool(header & INCOME_HEADERS) and not header & COST_HEADERS


def _tells_another_kind(r: Reading, query: TableQuery) -> bool:
    """Doubt `where was she born` of a column of dates."""
    if query.task != "lookup" or query.column is None:
        return False
    kind = r.columns[query.column].type
    for text, by in zip(r.texts, r.by, strict=True):
        if by == "asked":
            at = r.asked_column(text)
            if at is not None and at != query.column and r.columns[at].type != kind:
                return True
    return False


def _matches_by_beginning(r: Reading, query: TableQuery) -> bool:
    """Doubt a word that is taken for the name of a column because both begin alike."""
    for column, places in r.mentioned.items():
        if column != query.column and column != query.group:
            continue
        header = [word.text for word in r.names.headers[column]]
        words = [r.words[at] for at in places if r.by[at] == "column"]
        if words and all(_only_begins(word.text, header) for word in words):
            return True
    return False


def _only_begins(text: str, header: Collection[str]) -> bool:
    alike = [one for one in header if same(text, one)]
    if any(is_derived(text, one) for one in alike):
        return False
    return bool(alike) and not any(text.startswith(one[:-2]) or one.startswith(text[:-2]) for one in alike)


def _adds_empty_cells(r: Reading, query: TableQuery) -> bool:
    """Doubt a sum over columns of which one has cells without a number."""
    columns = (query.column, *query.plus) if query.plus else ()
    return any(row[at] is None for table in r.tables for row in table.values for at in columns if at is not None)


def _ignores_time(r: Reading, query: TableQuery) -> bool:
    """Doubt a date that is not limited by the `after` of the question."""
    limits = [one for one in query.filters if r.columns[one.column].type == "date" and one.operator == "between"]
    return bool(limits) and any(
        text in TIMED_FIRMLY and by in ("light", "kind", "unit") for text, by in zip(r.texts, r.by, strict=True)
    )


def _leaves_column(r: Reading, query: TableQuery) -> bool:
    """Doubt a reading that names a column of numbers and does not use it."""
    if query.task == "check" or any(r.columns[one.column].type == "bool" for one in query.filters):
        return False
    used = {query.column, query.minus, query.group, query.label, query.name, *query.plus}
    used |= {one.column for one in (*query.filters, *query.part, *query.less)}
    return any(
        at not in used
        and at in r.measures()
        and not r.tells_time(at)
        and any(r.by[place] == "column" and not _is_verb_of(r, query, place) for place in places)
        for at, places in r.mentioned.items()
    )


def _is_verb_of(r: Reading, query: TableQuery, at: int) -> bool:
    """Return whether a word is the verb of `who rents plot 3`, where who that is is told."""
    return query.task == "lookup" and at == 1 and r.by[0] == "asked"


def _is_other_measure(r: Reading, query: TableQuery) -> bool:
    """Doubt `how old is the fastest` as the largest age: the superlative is of another column."""
    if query.column is None or query.task not in ("largest", "smallest") or query.group is not None:
        return False
    phrases = ("_".join(r.texts[a:b]) for task, a, b in r.asked.tasks if task in ("largest", "smallest"))
    wanted = frozenset[str]().union(
        *(_measured_by(phrase) for phrase in phrases if phrase in EXACT_MEASURES or phrase in LASTING | LENGTHS)
    )
    header = r.names.headers[query.column]
    is_money = r.columns[query.column].unit in CURRENCIES
    is_fitting = (
        (is_money and not set(r.texts) & (LASTING | LENGTHS))
        or r.columns[query.column].type == "duration"
        or r.tells_time(query.column)
    )
    return bool(wanted) and not is_fitting and not any(word.text in wanted for word in header)


def _measured_by(phrase: str) -> frozenset[str]:
    """Return the headers of what a superlative is of, in whatever form it stands: `längsten` as `längste`."""
    named = [word for word in MEASURES if word == phrase or is_form(word, phrase)]
    return frozenset[str]().union(*(MEASURES[word] for word in named))


def _is_no_money(r: Reading, query: TableQuery) -> bool:
    """Doubt that what is earned or what it costs is a number of hours or crates."""
    column = query.column
    words = EARNING | COST_WORDS - SPENDING
    if column is None or query.task not in ("sum", "mean", "lookup") or not words & set(r.texts):
        return False
    is_priced = r.columns[column].unit in CURRENCIES or any(
        word.text in MONEY_HEADERS | COST_HEADERS | INCOME_HEADERS for word in r.names.headers[column]
    )
    if is_priced or r.columns[column].type not in ("number", "duration"):
        return False
    if r.columns[column].places == 2 and r.is_named(column):
        return False  # `pay for utilities` of amounts with cents
    places = r.mentioned.get(column, ())
    is_by_time = all(r.texts[at][0].isdigit() or r.texts[at] in MONTHS for at in places)
    return is_by_time or r.money() not in (None, column)


def _ends_verb(r: Reading, query: TableQuery) -> bool:
    """Doubt `sold out` as sold."""
    return query.task in ("sum", "count") and any(
        text in ("out", "off", "away", "up") and by == "light" and _is_particle(r, at)
        for at, (text, by) in enumerate(zip(r.texts, r.by, strict=True))
    )


def _counts_or_adds(r: Reading, query: TableQuery) -> bool:
    """Doubt that who gave most gave most often, where amounts are told."""
    is_counted = query.task == "count" and query.best != "" and r.money() is not None
    return is_counted and not r.has("count") and not OFTEN & set(r.texts) and "rows" not in r.by and _verb_asked(r)


def _verb_asked(r: Reading) -> bool:
    """Return whether `who` is followed by a verb that is a name of the table: `who donated most`."""
    return "asked" in r.by[:1] and len(r.by) > 1 and r.by[1] in ("title", "column")


def _adds_rates(r: Reading, query: TableQuery) -> bool:
    """Doubt a sum of prices `per pupil`, and one for each of something else."""
    if query.column is None or query.task != "sum" or (query.group is None and not r.has("sum")):
        return False
    header = {word.text for word in r.names.headers[query.column]}
    counts = [at for at in r.measures() if any(word.text in COUNT_HEADERS for word in r.names.headers[at])]
    is_of_piece = bool(header & (RATES | UNITARY)) and bool([at for at in counts if at != query.column])
    return bool(header & PER) or (is_of_piece and query.group is None)


def _spends_fees(r: Reading, query: TableQuery) -> bool:
    """Doubt that the fees of members are what was spent."""
    if query.column is None or r.is_named(query.column) or not SPENDING & set(r.texts):
        return False
    return bool({word.text for word in r.names.headers[query.column]} & FEES)


def _is_most_of_text(r: Reading, query: TableQuery) -> bool:
    """Doubt `uses the most fuel` where fuel is no number and another column is."""
    if query.task not in ("largest", "smallest") or query.column is None or query.column in r.mentioned:
        return False
    ends = {end for task, at, end in r.asked.tasks if task == query.task and "_".join(r.texts[at:end]) not in MEASURES}
    return any(
        r.columns[at].type == "text" and at != query.label and ends & set(places) for at, places in r.mentioned.items()
    )


def _ignores_how(r: Reading, query: TableQuery) -> bool:
    """Doubt `how long is` that is told no number, and `how often` of a row that stands once."""
    how = [at for at, text in enumerate(r.texts) if at and r.texts[at - 1] in ("how", "wie") and text in HOW]
    if query.task == "lookup" and query.column is not None and any(r.by[at] == "light" for at in how):
        return query.column not in r.measures()
    is_often = query.task == "count" and bool(OFTEN & set(r.texts[:3]))
    return is_often and any(one.operator == "in" and r.is_unique(one.column) for one in query.filters)


def _leaves_prices(r: Reading, query: TableQuery) -> bool:
    """Doubt what is computed of another column where a column of several currencies is asked of."""
    used = {query.column, *(one.column for one in (*query.filters, *query.part))}
    priced = [at for at in range(len(r.columns)) if at not in used and r.is_priced(at)]
    return query.task not in ("lookup", "check") and any(at in r.mentioned or r.is_money for at in priced)


def _adds_both_ways(r: Reading, query: TableQuery) -> bool:
    """Doubt that amounts with two signs are what was spent or received: only a part of them is."""
    words = LEAVING | COMING | EARNING | COST_WORDS | SPENDING
    if query.task not in ("sum", "mean", "median") or query.column is None or not words & set(r.texts):
        return False
    held = [row[query.column] for table in r.tables for row in table.values]
    signs = {value > 0 for value in held if isinstance(value, float) and value}
    is_limited = any(one.column == query.column for one in query.filters)
    return len(signs) > 1 and not is_limited and not r.is_named(query.column)


def _counts_gaps(r: Reading, query: TableQuery) -> bool:
    """Doubt a count of rows as tickets where some rows have no ticket."""
    if query.task != "count" or query.is_distinct or query.column is not None or query.group is not None:
        return False
    end = next((end for task, _start, end in r.asked.tasks if task == "count"), 0)
    counted = [at for at, places in r.mentioned.items() if any(end <= place < end + 2 for place in places)]
    return any(row[at] is None for table in r.tables for row in table.values for at in counted)


def _labels_by_time(r: Reading, query: TableQuery) -> bool:
    """Doubt that a date tells which repair was the cheapest."""
    if query.task not in _BEST or query.label is None or query.label == query.column:
        return False
    places = r.mentioned.get(query.label, ())
    is_named = any(r.texts[at] in ASKED_COLUMNS["when"] or r.texts[at] in MONTH_UNIT for at in places)
    return r.columns[query.label].type == "date" and bool(places) and not is_named and r.texts[0] in WHICH


def _takes_money_for_thing(r: Reading, query: TableQuery) -> bool:
    """Doubt that `how much oil` was delivered is an amount of money."""
    column, how = query.column, next((at for at, text in enumerate(r.texts) if text in _MUCH and at < 3), None)
    if column is None or how is None or how + 1 >= len(r.by) or column in r.mentioned or r.is_money:
        return False
    is_thing = r.by[how + 1] in ("title", "value", "role") and r.texts[how + 1] not in MONEY
    return query.task in ("sum", "lookup", "mean") and is_thing and column == r.money()


def _is_no_author(r: Reading, query: TableQuery) -> bool:
    """Doubt that who is named beside a book, its reader, has written it."""
    if query.task not in ("lookup", "check") or query.column is None or "asked" not in r.by:
        return False
    deeds = any(text in AUTHORING and by == "light" for text, by in zip(r.texts, r.by, strict=True))
    return deeds and not any(word.text in AUTHORS for word in r.names.headers[query.column])


_MUCH = frozenset({"much", "viel", "cuanto", "cuanta", "quanto", "quanta", "wieviel"})


DOUBTS: tuple[Callable[[Reading, TableQuery], bool], ...] = (
    _ignores_deed,
    _ignores_attribute,
    _counts_part_of_title,
    _is_of_one_only,
    _ignores_each,
    _mixes_conditions,
    _compares_currencies,
    _compares_by_default,
    _asks_another_money,
    _tells_another_kind,
    _matches_by_beginning,
    _adds_empty_cells,
    _ignores_time,
    _leaves_column,
    _adds_rates,
    _spends_fees,
    _is_most_of_text,
    _ignores_how,
    _is_other_measure,
    _is_no_money,
    _ends_verb,
    _counts_or_adds,
    _leaves_prices,
    _adds_both_ways,
    _counts_gaps,
    _labels_by_time,
    _takes_money_for_thing,
    _is_no_author,
)
