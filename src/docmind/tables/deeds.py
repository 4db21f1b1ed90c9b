"""What a question says of deeds and events, matched with columns: who sold it, when it expires, who came third."""

from __future__ import annotations

from docmind.tables.query import Filter
from docmind.tables.reading import Reading
from docmind.tables.role_words import (
    CLOCK_WORDS,
    COMING,
    DATED,
    INWARD,
    LEAVING,
    OPPOSITES,
    OUTWARD,
    PARTICLES,
    PLACES,
    REACHING,
    ROLES,
    WON,
)
from docmind.tables.word_forms import stem
from docmind.tables.wordlists import ORDINALS
from docmind.tables.words import is_light, is_made_of, is_name, same, words_of


def find_roles(r: Reading) -> None:
    """Take a verb for what a column has: `sold` for copies, `bought` for customers; not where a cell has the word."""
    for at, word in enumerate(r.words):
        headers = frozenset().union(*(headers for verbs, headers in ROLES if word.text in verbs))
        if r.by[at] or not headers or any(_has_word(r, word.text, column) for column in range(len(r.columns))):
            continue
        fitting = [
            column for column, header in enumerate(r.names.headers) if any(one.text in headers for one in header)
        ]
        if not fitting:
            continue
        r.by[at] = "role"
        r.score += 1
        measures = [column for column in fitting if column in r.measures()]
        agents = [column for column in fitting if r.columns[column].type == "text"]
        if len(agents) == 1:
            r.agent = agents[0]
        if len(measures) == 1:
            r.role = measures[0]
            if r.asked.is_how_much and not r.has("count") and r.money() not in (None, r.role):
                r.is_sure = False  # `how much did he sell` may be pieces or money


def find_times(r: Reading) -> None:
    """Take `time` for the only column of times of the day or of durations."""
    clocks = r.clocks()
    for at, text in enumerate(r.texts):
        if len(clocks) == 1 and text in CLOCK_WORDS and not r.by[at]:
            r.mention(clocks[0], [at])


def find_phrasal(r: Reading) -> None:
    """Take `backed up` for the column `Backup`: a verb with its particle is one word of a header."""
    for at in range(len(r.words) - 1):
        if r.texts[at + 1] not in PARTICLES | {"in"} or r.by[at]:
            continue
        joined = {stem(r.texts[at]) + r.texts[at + 1], r.texts[at] + r.texts[at + 1]}
        for column, header in enumerate(r.names.headers):
            if any(word.text in joined for word in header):
                r.mention(column, [at, at + 1])
                break


def find_events(r: Reading) -> None:
    """Take `expires` for the column of dates that tells when: `Use by`."""
    for at, word in enumerate(r.words):
        if r.by[at]:
            continue
        wanted = frozenset[str]().union(*(headers for verbs, headers in DATED if word.text in verbs))
        fitting = [
            column
            for column, one in enumerate(r.columns)
            if one.type == "date" and " ".join(word.text for word in r.names.headers[column]) in wanted
        ]
        if len(fitting) == 1:
            r.mention(fitting[0], [at])


def find_places(r: Reading) -> None:
    """Take `won` and `came third` for a condition on the column of places."""
    columns = [at for at in r.measures() if any(word.text in PLACES for word in r.names.headers[at])]
    if len(columns) != 1:
        return
    for at, text in enumerate(r.texts):
        place = 1 if text in WON else ORDINALS.get(text, 0) if at and r.texts[at - 1] in REACHING else 0
        if place and not r.by[at]:
            r.filters.append(Filter(columns[0], "=", (float(place),)))
            r.by[at], r.has_value = "number", True
            r.score += 3


def find_directions(r: Reading) -> None:
    """Take `spent` and `received` for the columns of a statement that have what leaves and what comes in."""
    sides = [
        [at for at in r.measures() if any(word.text in side for word in r.names.headers[at])]
        for side in (OUTWARD, INWARD)
    ]
    if [len(columns) for columns in sides] != [1, 1] or sides[0] == sides[1]:
        return
    for at, text in enumerate(r.texts):
        for (column,), words in zip(sides, (LEAVING, COMING), strict=True):
            if text in words and not r.by[at]:
                r.mention(column, [at])


def _has_word(r: Reading, text: str, column: int) -> bool:
    return any(same(text, one) for one in r.names.inside[column]) if r.columns[column].type == "text" else False


def find_opposites(r: Reading) -> None:
    """Take `still open` for rows without a date of being closed."""
    for at, word in enumerate(r.words):
        wanted = OPPOSITES.get(word.text, frozenset())
        fitting = [
            column
            for column, header in enumerate(r.names.headers)
            if r.columns[column].type == "date" and any(same(one, name.text) for one in wanted for name in header)
        ]
        if r.by[at] or r.is_check or len(fitting) != 1 or not r.has_gaps(fitting[0]):
            continue
        r.filters.append(Filter(fitting[0], "is null"))
        r.by[at], r.has_value = "value", True
        r.score += 3


def find_forms(r: Reading) -> None:
    """Match words that are left over with cells that have another word made of the same: `inspected`, `Inspection`."""
    for at, word in enumerate(r.words):
        is_noun = is_name(word, at) and r.asked.language != "de"
        if r.by[at] or is_noun or is_light(word.text) or len(word.text) < 4:
            continue
        found: dict[int, set[str]] = {}
        for column in range(len(r.columns)):
            alike = [held for one, held in r.names.inside[column].items() if is_made_of(word.text, one)]
            if alike:
                found[column] = set().union(*alike)
        if len(found) != 1:
            continue
        ((column, values),) = found.items()
        r.is_sure = r.is_sure and all(len(words_of(value)) < 3 for value in values)
        is_negated = r.is_negated(at)
        r.values.setdefault((column, is_negated), set()).update(values)
        r.runs.append((column, frozenset(values), is_negated))
        r.by[at] = "value"
        r.has_value = r.has_value or not is_negated
        r.score += 1.5
