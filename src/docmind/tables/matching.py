"""Words of a question matched with columns, cells and names of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from docmind.tables.naming import runs
from docmind.tables.query import Filter
from docmind.tables.reading import Reading
from docmind.tables.role_words import ARTICLES, FOR_EACH, HONORIFICS, OPPOSITES, OWNING, RATES_OF
from docmind.tables.wordlists import (
    ASKED_COLUMNS,
    BEFORE_NUMBERS,
    BESIDE_NAMES,
    COUNTED_ROWS,
    CURRENCIES,
    DIRECTIONS,
    HEADS,
    HOW,
    LISTS,
    NEGATIVE,
    NUMBER_WORDS,
    ORDINALS,
    PER,
    POSITIVE,
    WHICH,
)
from docmind.tables.words import PHRASE, Word, akin, is_form, is_function, is_light, is_name, same, words_of


def find_headers(r: Reading, least: int) -> None:
    """Match words with names of columns; a name of several words by all of them at once where `least` is 2."""
    if least == 1:
        _name_by_tasks(r)
    else:
        _find_rates(r)
    free = [not by for by in r.by]
    for column, header in enumerate(r.names.headers):
        content = [word for word in _before_rate(r, column) if not is_light(word.text)] or header
        if not content or (least == 2 and len(content) < 2):
            continue
        other = _other_than_head(header, r.asked.language) if r.columns[column].type == "number" else frozenset()
        if least == 2:
            size = len(header)
            for at in range(len(r.words) - size + 1):
                run = r.words[at : at + size]
                if all(not r.by[at + n] or r.by[at + n] == "task" for n in range(size)) and all(
                    one.root == other.root for one, other in zip(run, header, strict=True)
                ):
                    r.mention(column, range(at, at + size))
            continue
        for at, word in enumerate(r.words):
            if not free[at] or is_function(word.text) or word.root in other:
                continue
            if is_light(word.text):
                is_named = any(word.root == one.root or _is_verb_of(word.text, one.text) for one in header)
            else:
                is_named = any(same(word.text, one.text) for one in content)
            if is_named:
                r.mention(column, [at])
                r.score += 1.5 * ([word.root] == [one.root for one in header] and any(map(str.isdigit, word.root)))
    if least == 1:
        _settle_mentions(r)
        _find_akin(r)


def _is_verb_of(text: str, header: str) -> bool:
    """Return whether a common verb is that of a noun in a header: `hosted` of `Host`, `plays` of `Player`."""
    return min(len(text), len(header)) > 3 and not is_function(text) and is_form(text, header)


def _before_rate(r: Reading, column: int) -> Sequence[Word]:
    """Return the words of a header before `per`: `Price per crate` is no name for crates."""
    header = r.names.headers[column]
    end = next((at for at, word in enumerate(header) if at and word.text in PER), len(header))
    return header[:end] if r.columns[column].type == "number" else header


def _find_akin(r: Reading) -> None:
    """Match words that are left over with names of columns that have another word of that meaning."""
    for at, word in enumerate(r.words):
        columns = [
            column
            for column, header in enumerate(r.names.headers)
            if not r.by[at] and any(akin(word.text, one.text) and not same(word.text, one.text) for one in header)
        ]
        columns = [column for column in columns if not r.is_rate(column)] or columns
        if any(column in r.measures() for column in columns) and any(map(r.is_rate, r.mentioned)):
            columns = []  # `earns per hour` asks for the rate
            r.by[at] = "light"
        if columns:
            r.by[at] = "column"
            r.score += 1
        if len(columns) == 1:
            r.mentioned.setdefault(columns[0], []).append(at)


def _other_than_head(header: Sequence[Word], language: str) -> frozenset[str]:
    """Return the first word of an English name of two words: `Goal difference` is no name for goals."""
    ends = [at for at, word in enumerate(header) if word.text in PER]
    plain = header[: ends[0]] if ends else header
    is_pair = language == "en" and len(plain) == 2 and plain[1].text in HEADS
    return frozenset({plain[0].root}) if is_pair else frozenset()


def _find_rates(r: Reading) -> None:
    """Take `per night` for the column whose name ends so, not for a group."""
    for column, header in enumerate(r.names.headers):
        ends = [at for at, word in enumerate(header[:-1]) if at and word.text in PER]
        for at in range(1, len(r.words) - 1) if ends else ():
            same_end = r.texts[at] in PER and r.words[at + 1].root == header[ends[0] + 1].root
            if same_end and not r.by[at] and not r.by[at + 1]:
                r.mention(column, [at, at + 1])
    _find_hourly(r)


def _find_hourly(r: Reading) -> None:
    """Take `an hour` for the column of what is told for each: `Hourly wage`, `Price per day`."""
    for at in range(1, len(r.words) - 1):
        wanted = RATES_OF.get(r.texts[at + 1], frozenset())
        if r.texts[at] not in FOR_EACH or r.by[at] or r.by[at + 1] or not wanted:
            continue
        fitting = [
            column
            for column in r.measures()
            if r.is_rate(column) and any(word.text in wanted for word in r.names.headers[column])
        ]
        if len(fitting) == 1:
            r.mention(fitting[0], [at, at + 1])


def _name_by_tasks(r: Reading) -> None:
    """Take `total` for the column of that name; a sum is still asked for."""
    named = {"sum", "share", "difference"} | ({"largest", "smallest", "mean"} if r.runs else set())
    for task, start, end in r.asked.tasks:
        for column in r.measures():
            header = [word.root for word in r.names.headers[column]]
            own = [at for at in range(start, end) if r.texts[at] not in BESIDE_NAMES]  # `share of` is named `Share`
            if [r.words[at].root for at in own] == header and len(own) == 1 and task in named:
                r.mentioned.setdefault(column, []).append(own[0])
                for at in range(start, end):
                    r.by[at] = "task" if task == "sum" else "column"
                r.score += 0.5


def find_ranks(r: Reading) -> None:
    """Take `second` and `three` beside a superlative for the place and the number of rows asked for."""
    spans = [(start, end) for task, start, end in r.asked.tasks if task in ("largest", "smallest", "first", "last")]
    for at, text in enumerate(r.texts):
        if r.by[at] and not (r.by[at] == "task" and text in ORDINALS):
            continue
        near = any(start - 2 <= at < start for start, _end in spans)
        if text in ORDINALS and ORDINALS[text] > 1 and near:
            r.rank, r.by[at] = ORDINALS[text], "rank"
        number = NUMBER_WORDS.get(text, int(text) if text.isdigit() and len(text) < 3 else 0)
        is_led = at > 0 and (r.texts[at - 1] in BEFORE_NUMBERS or r.texts[at - 1] in WHICH)
        after = any(end == at for _start, end in spans)
        if 1 < number <= 20 and spans and (is_led or near or after):
            r.top, r.by[at] = number, "rank"
            r.score += 1


def find_adjectives(r: Reading) -> None:
    """Take `how deep` for the column of depths."""
    for at in range(1, len(r.words)):
        if r.texts[at] in HOW and r.texts[at - 1] in ("how", "wie"):
            wanted = HOW[r.texts[at]]
            fitting = [column for column in r.measures() if any(w.text in wanted for w in r.names.headers[column])]
            if len(fitting) > 1:
                end = DIRECTIONS["smallest" if r.texts[at] in ("cold", "low", "kalt") else "largest"]
                fitting = [column for column in fitting if any(w.text in end for w in r.names.headers[column])]
            if len(fitting) == 1:
                r.by[at - 1] = r.by[at - 1] or "light"
                r.mention(fitting[0], [at])


def _find_filled(r: Reading, column: int) -> None:
    """Take `own a boat` and `no boat` for a condition where some cells of a column of texts are empty."""
    if any(one == column for one, _is_negated in r.values) or not r.has_gaps(column):
        return
    asks_who = r.texts[0] in ASKED_COLUMNS and "person" in ASKED_COLUMNS[r.texts[0]]
    asks = (r.has("count") or any(text in LISTS for text in r.texts[:2])) and not asks_who
    for at in r.mentioned.get(column, ()):
        is_denied = r.is_negated(at)
        owned = [n for n in range(max(0, at - 3), at + 1) if r.texts[n] in OWNING]
        if is_denied or (owned and asks and at > 1):
            r.filters.append(Filter(column, "is null" if is_denied else "is not null"))
            for n in owned:
                r.by[n] = r.by[n] or "light"
            r.has_value = True
            r.score += 3
            r.mentioned.pop(column, None)
            break


def _settle_mentions(r: Reading) -> None:
    """Keep for each word the column whose name it fits best: most of its words, then the shortest name."""
    for at in range(len(r.words)):
        rivals = [column for column, places in r.mentioned.items() if at in places]
        if len(rivals) < 2:
            continue

        def fit(column: int) -> tuple[float, ...]:
            header = r.names.headers[column]
            exact = any(word.root == r.words[at].root for word in header)  # noqa: B023 - called at once
            form = any(is_form(word.text, r.words[at].text) for word in header)  # noqa: B023
            content = [word for word in header if not is_function(word.text)]
            found = len(set(r.mentioned[column]))
            counted = _counts(r, column, r.words[at].root) if r.has("count") else False  # noqa: B023
            return (counted, min(found / max(len(content), 1), 1.0), found, exact, form)

        best = max(map(fit, rivals))
        winners = [column for column in rivals if fit(column) == best]
        if len(winners) > 1 and set(winners) <= set(r.series):
            r.is_tied_series = True
        elif len(winners) > 1:
            r.is_sure = False
        for column in rivals:
            if column != winners[0]:
                r.mentioned[column] = [place for place in r.mentioned[column] if place != at]
    r.mentioned = {column: places for column, places in r.mentioned.items() if places}


def _counts(r: Reading, column: int, root: str) -> bool:
    """Return whether a column has the numbers of what a word names: `Lessons taken`, not `Fee per lesson`."""
    header = _before_rate(r, column)
    is_number = column in r.measures() and r.columns[column].unit not in CURRENCIES and not r.is_rate(column)
    return is_number and any(word.root == root for word in header)


def find_values(r: Reading) -> None:
    for is_whole in (True, False):
        for size in range(min(PHRASE, len(r.words)), 0, -1):
            for at in range(len(r.words) - size + 1):
                if not any(r.by[at : at + size]):
                    _find_value(r, at, size, is_whole=is_whole)


def _find_value(r: Reading, at: int, size: int, *, is_whole: bool) -> None:
    run = r.words[at : at + size]
    is_plain = size == 1 and is_light(run[0].text) and not is_name(run[0], at) and not r.is_letter(at)
    if is_plain and not (is_whole and _may_be_cell(r, at)):
        return
    if size > 1 and not is_whole and (is_light(run[0].text) or is_light(run[-1].text)):
        return
    if not is_whole and size == 1 and run[0].text.isdigit():
        return  # a number alone is a cell of its own, or none
    if not is_whole and size == 1 and run[0].text in HONORIFICS and at + 1 < len(r.words):
        r.by[at] = "light"
        return
    roots = tuple(word.root for word in run)
    found: dict[int, set[str]] = {}
    for column in range(len(r.columns)):
        held = r.names.whole[column].get(roots, set()) if is_whole else _holding(r, column, roots)
        if held:
            found[column] = held
    if not found:
        return
    if size == 1 and not is_whole and r.header_of(at) is not None:
        return  # the name of a column, and only a part of some cell
    column = _closest(r, found, at)
    if len(found) > 1 and not r.names_nearby(column, at):
        r.is_sure = False
    is_negated = r.is_negated(at)
    r.values.setdefault((column, is_negated), set()).update(found[column])
    r.runs.append((column, frozenset(found[column]), is_negated))
    for place in range(at, at + size):
        r.by[place] = "value"
    r.has_value = r.has_value or not is_negated
    r.score += (3 if is_whole else 2) * size


def _may_be_cell(r: Reading, at: int) -> bool:
    """Return whether a word that limits nothing is meant as a cell: beside a header, or a noun of this language alone.

    `Van` is a verb of Spanish, and a vehicle where the question is in English.
    """
    if is_function(r.texts[at]):
        return False
    led = at > 0 and r.texts[at - 1] in ARTICLES and (r.words[at].root,) in r.names.whole_words
    return led or _is_beside_header(r, at)


def _is_beside_header(r: Reading, at: int) -> bool:
    """Return whether a word is a cell of a column that the next word or the one before names: `high priority`."""
    near = {*range(max(0, at - 1), min(len(r.words), at + 2))} - {at}
    return any(
        (r.words[at].root,) in r.names.whole[column]
        and any(r.words[n].root == word.root for n in near for word in header)
        for column, header in enumerate(r.names.headers)
    )


def _holding(r: Reading, column: int, roots: tuple[str, ...]) -> set[str]:
    inside = r.names.inside[column]
    sets = [inside.get(one, set()) for one in roots]
    held = set.intersection(*sets) if sets else set()
    if len(roots) == 1:
        return held
    return {value for value in held if runs(roots, tuple(word.root for word in words_of(value)))}


def _closest(r: Reading, found: Mapping[int, set[str]], at: int) -> int:
    for column in found:
        if r.names_nearby(column, at):
            return column
    return min(found, key=lambda column: (len(found[column]), column))


def find_parts(r: Reading) -> None:
    """Match words with names that some of the tables have and others have not, where they name no column exactly."""
    titles = [{word.root for word in title} for title in r.names.titles]
    exact = {word.root for header in r.names.headers for word in header}
    for at, word in enumerate(r.words):
        holding = [n for n, title in enumerate(titles) if word.root in title]
        is_told = 0 < len(holding) < len(titles) and word.root not in exact and not is_light(word.text)
        if is_told and not r.by[at]:
            r.by[at] = "title"
            r.score += 1
            r.tables = tuple(table for table in r.tables if any(table is r.names.tables[n] for n in holding))


def find_titles(r: Reading) -> bool:
    """Match words with the names of the tables, and keep those that a word names; return whether any is left."""
    titles = r.names.titles
    kept = [n for n, table in enumerate(r.names.tables) if any(table is one for one in r.tables)]
    for at, word in enumerate(r.words):
        if r.by[at] and not (r.by[at] == "column" and r.texts[at] in COUNTED_ROWS):
            continue
        if is_light(word.text):
            continue
        holding = [n for n, title in enumerate(titles) if any(akin(word.text, one.text) for one in title)]
        if holding:
            r.by[at] = "title"
            r.score += 1
            r.subject = True
            if len(holding) < len(titles):
                kept = [n for n in kept if n in holding]
    if not kept:
        return False
    r.tables = tuple(r.names.tables[n] for n in kept)
    return True


def find_flags(r: Reading) -> None:
    """Take a named column of yes and no, and a denied column of dates, as a condition."""
    is_asked = r.is_check
    for column, one in enumerate(r.columns):
        if one.type == "bool" and not is_asked:
            for at, word in enumerate(r.words):
                plain = word.text.removeprefix("un").removeprefix("in") if word.text[:2] in ("un", "in") else word.text
                header = [name for name in r.names.headers[column] if not is_light(name.text)]
                is_plain = r.by[at] == "column" and at in r.mentioned.get(column, ())
                plains = OPPOSITES.get(word.text, frozenset({plain} - {word.text}))
                is_denied = not r.by[at] and any(same(one, name.text) for one in plains for name in header)
                if is_plain or is_denied:
                    r.by[at] = "value"
                    is_negated = r.is_negated(at) or is_denied or r.texts[max(0, at - 2) : at] == ["to", "be"]
                    r.filters.append(Filter(column, "=", (0.0 if is_negated else 1.0,)))
                    r.has_value = True
                    r.score += 3
                    r.mentioned.pop(column, None)
                    break
        elif one.type == "date" and not is_asked:
            _find_event(r, column)
        elif one.type == "text" and not is_asked:
            _find_filled(r, column)


def _find_event(r: Reading, column: int) -> None:
    """Take a column of dates that is denied, or of which a count speaks, for a condition."""
    for at in r.mentioned.get(column, ()):
        is_denied = r.is_negated(at)
        is_event = r.has("count") and r.texts[at - 1] not in ("many", "of") and r.has_gaps(column)
        if is_denied or is_event:
            r.filters.append(Filter(column, "is null" if is_denied else "is not null"))
            r.has_value = True
            r.score += 3
            r.mentioned.pop(column, None)
            break


def find_signs(r: Reading) -> None:
    """Take `negative` and `no rain` for a condition on the column of numbers that is named."""
    for column in r.measures():
        places = r.mentioned.get(column, ())
        for at, text in enumerate(r.texts):
            if text in NEGATIVE | POSITIVE and not r.by[at] and places:
                r.filters.append(Filter(column, "<" if text in NEGATIVE else ">", (0.0,)))
                r.by[at], r.has_value = "number", True
                r.score += 3
        if places and _counts_days(r) and 0.0 in r.names.numbers[column]:
            r.filters.append(Filter(column, ">", (0.0,)))
            r.has_value = r.subject = True
            r.mentioned.pop(column, None)
            continue
        owned = any(OWNING & set(r.texts[max(0, at - 3) : at]) for at in places if at > 1)
        if owned and r.texts[0] in LISTS and not r.asked.tasks and not r.negatives and 0.0 in r.names.numbers[column]:
            r.filters.append(Filter(column, ">", (0.0,)))  # `which readers have fines`
            r.has_value = r.subject = True
            r.mentioned.pop(column, None)
            continue
        denied = [at for at in places if at and r.by[at - 1] == "negation?"]
        if denied and 0.0 not in r.names.numbers[column] and r.has_gaps(column):
            r.by[denied[0] - 1] = "negation"
            r.filters.append(Filter(column, "is null"))
            r.has_value = True
            r.score += 3
            r.mentioned.pop(column, None)
        elif denied and 0.0 in r.names.numbers[column]:
            r.by[denied[0] - 1] = "negation"
            r.filters.append(Filter(column, "=", (0.0,)))
            r.has_value = True
            r.score += 3
        if any(one.column == column and one.values == (0.0,) for one in r.filters):
            r.mentioned.pop(column, None)


def _counts_days(r: Reading) -> bool:
    """Return whether days are counted, as in `on how many days did it rain`, and take the word for a row."""
    end = next((end for task, _start, end in r.asked.tasks if task == "count"), len(r.texts))
    is_days = end < len(r.texts) and r.texts[end] in _DAYS and r.date_column() is not None
    if is_days:
        r.by[end] = "rows"
    return is_days


_DAYS = frozenset({"days", "tagen", "tage", "dias", "jours"})
