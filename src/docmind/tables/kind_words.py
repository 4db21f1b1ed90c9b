"""Words of a question that stand for no cell and no column: kinds of questions, units, and what limits nothing."""

from __future__ import annotations

from docmind.tables.reading import Reading
from docmind.tables.role_words import BOTH, CONTAINERS, GAMES, MODALS, TIMES
from docmind.tables.word_forms import is_derived
from docmind.tables.wordlists import (
    AMOUNTS,
    ASKED_COLUMNS,
    BETWEEN,
    BILLED,
    CHANGING,
    COUNT_HEADERS,
    COUNTED_ROWS,
    CURRENCIES,
    DIFFERENT,
    HOW,
    MONEY,
    MONTH_UNIT,
    NEUTRAL,
    NUMBER_WORDS,
    PEOPLE,
    PER,
    QUANTITIES,
    SPENDING,
    TABLE_WORDS,
    TIME_BEFORE,
    WHICH,
    YEAR_UNIT,
)
from docmind.tables.words import Word, is_form, is_light


def find_kind_words(r: Reading) -> None:
    has_money = r.money() is not None or any(r.columns[at].unit in CURRENCIES for at in (*r.series, *r.mentioned))
    has_money = has_money or any(map(r.is_priced, range(len(r.columns))))
    for at, word in enumerate(r.words):
        if r.by[at]:
            continue
        text = word.text
        if text in BETWEEN | CHANGING and r.has("difference"):
            r.by[at] = "light"
        elif text in QUANTITIES:
            r.by[at] = "quantity"
        elif text in MONEY and has_money:
            r.by[at] = "money"
            r.score += 0.5
        elif text in ASKED_COLUMNS and r.asked_column(text) is not None:
            r.by[at] = "asked"
            r.score += 0.5
        elif text in SPENDING and any(one in r.mentioned for one in r.measures()):
            r.by[at] = "light"  # hours are spent too
        elif text in BILLED and r.has("count") and any(one in r.mentioned for one in r.measures()):
            r.by[at] = "light"  # so are sessions billed
        elif _is_beside_measure(r, at) or (text in PEOPLE and any(one in r.mentioned for one in r.measures())):
            r.by[at] = "light"
        elif text in COUNTED_ROWS or (text in PEOPLE and r.asked_column("who") is not None):
            r.by[at] = "rows"
            r.subject = True
        elif _is_of_all(r, at) or _is_of_series(r, at):
            r.by[at] = "light"
        elif text in PER or text in DIFFERENT or text in TABLE_WORDS:
            r.by[at] = "kind"
        elif (
            text in HOW
            and r.texts[at - 1] in ("how", "wie")
            and (r.is_money or any(one in r.mentioned for one in r.measures()))
        ):
            r.by[at] = "light"  # `how high was the price`
        elif _is_time_unit(r, at):
            r.by[at] = "unit"
        elif r.has("count") and _is_deed_of_header(r, word):
            r.by[at] = "rows"  # `bookings` of rows that are `Booked by` somebody
            r.subject = True
        elif _limits_nothing(r, at):
            r.by[at] = "light"


def _limits_nothing(r: Reading, at: int) -> bool:
    """Return whether a word tells of no row where it stands."""
    text = r.texts[at]
    return (
        (text in BOTH and len(r.filters) > 1)
        or (text in GAMES and any(one in r.mentioned for one in r.measures()))
        or (r.texts[max(0, at - 2) : at] == ["of", "the"] and _is_of_span(r, text))
        or (text in CONTAINERS and r.has_value and _counts_things(r))
        or (text in MODALS and r.asked.language == "en" and at > 0 and r.texts[at - 1] not in TIME_BEFORE)
        or text in NEUTRAL
        or ((is_light(text) or (len(text) == 1 and not text.isdigit())) and not r.is_letter(at))
    )


def _is_deed_of_header(r: Reading, word: Word) -> bool:
    """Return whether a noun is made of the verb in the name of a column: `bookings` of `Booked by`."""
    names = [name for header in r.names.headers for name in header]
    return any(is_derived(word.text, name.text) and not is_form(word.text, name.text) for name in names)


def _is_of_span(r: Reading, text: str) -> bool:
    """Return whether `of the year` and `of the day` limit nothing: dates are of one year, or times order rows."""
    if text in YEAR_UNIT:
        return _is_within_year(r)
    return text == "day" and bool(r.clocks()) and (r.has("first") or r.has("last"))


def _is_within_year(r: Reading) -> bool:
    """Return whether all dates of the column of dates are of one year."""
    column = r.date_column()
    return (
        column is not None
        and len({str(row[column])[:4] for table in r.tables for row in table.values if row[column] is not None}) == 1
    )


def _counts_things(r: Reading) -> bool:
    return any(word.text in COUNT_HEADERS for at in r.measures() for word in r.names.headers[at])


def _is_beside_measure(r: Reading, at: int) -> bool:
    """Return whether a word such as `amount` stands beside the name of a column of numbers."""
    return r.texts[at] in AMOUNTS and any({at - 1, at + 1} & set(r.mentioned.get(one, ())) for one in r.measures())


_UNITS_ASKED = MONTH_UNIT | YEAR_UNIT | frozenset(["day", "tag", "dia", "jour", "date", "datum", "fecha", "data"])


_OF = frozenset({"the", "das", "im", "o", "os", "los", "el", "les", "all"}) | frozenset(NUMBER_WORDS)


_SPANS = frozenset({"all", "the", "both"}) | frozenset(NUMBER_WORDS)


def _is_of_all(r: Reading, at: int) -> bool:
    """Return whether a word limits nothing where it stands: `so far`, `over all courses`, `which month` of months."""
    text, before, after = r.texts[at], r.texts[at - 1], (*r.texts, "")[at + 1]
    if text in _UNITS_ASKED and before in WHICH:
        return any(r.tells_time(one) or one == r.month_column() for one in r.mentioned)
    return (before, text) == ("so", "far") or (text in ("over", "across") and after in _SPANS - NUMBER_WORDS.keys())


def _is_of_series(r: Reading, at: int) -> bool:
    """Return whether a word tells that columns for several times are added up: `over both years`, `all four months`."""
    if not r.series:
        return False
    text, after = r.texts[at], (*r.texts, "")[at + 1]
    if text == "over":
        named = {r.texts[place] for column in r.series for place in r.mentioned.get(column, ())}
        return after in _SPANS or after in named
    if NUMBER_WORDS.get(text) == len(r.series):
        return after in TIMES
    return text in BOTH or (text in MONTH_UNIT | YEAR_UNIT | TIMES and r.texts[at - 1] in BOTH | _OF)


def _is_measured(r: Reading) -> bool:
    return r.is_money or any(column in r.mentioned for column in r.measures())


def _is_time_unit(r: Reading, at: int) -> bool:
    """Return whether results are asked for each month or year of a column of dates."""
    is_unit = r.texts[at] in MONTH_UNIT | YEAR_UNIT and at > 0 and r.texts[at - 1] in PER
    return is_unit and r.date_column() is not None


def mark_negations(r: Reading) -> None:
    for at, text in enumerate(r.texts):
        if text in r.negations and not r.by[at]:
            r.by[at] = "negation?"
            r.negatives.append(at)
