"""A question over tables as a query, by rules: every word of the question must be accounted for.

A word stands for a value of a cell, a name of a column, a date, a number, a name of the table, or a kind of question,
or it limits nothing. What is left over is told: with such words there is no sure answer.

Above 500 lines: each step of a reading takes the words that the steps before it left over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise

from docmind.embedding import PREFIX, STOP_WORDS, fold
from docmind.tables.loading import Table
from docmind.tables.query import Filter, TableQuery, Unit
from docmind.tables.values import Column, Sql, is_year
from docmind.tables.wordlists import (
    ABOVE,
    AFTER,
    ASKED_COLUMNS,
    BEFORE,
    BELOW,
    BETWEEN,
    COUNTED_ROWS,
    CURRENCIES,
    DIFFERENT,
    EXACT_MEASURES,
    HOW,
    INCLUSIVE,
    KEYS,
    LANGUAGES,
    LIGHT,
    LISTS,
    MEASURES,
    MONEY,
    MONEY_HEADERS,
    MONTH_UNIT,
    MONTHS,
    NEGATIONS,
    PER,
    REASONS,
    RELATIVE,
    SHORT_MONTHS,
    SINCE,
    TABLE_WORDS,
    TASKS,
    THROUGH,
    TIME_BEFORE,
    UNITS,
    WHICH,
    YEAR_UNIT,
    YES_NO,
    Task,
)

LONGEST = 240  # characters of a question
WORDS = 40
_PHRASE = 6  # words of a value in a question
_DISTINCT = 20_000  # different values of a column that a question is compared with
_WORD = re.compile(r"\d{4}-\d{2}(?:-\d{2})?|\d(?:[\d.,'’]*\d)?|[^\W_\d][^\W_]*|[%€$£]")
_HOW_MUCH = re.compile(r"\b(?:how much|quant[oa]|cuant[oa]|wie ?viel|combien)\b")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a question: folded, and as typed."""

    text: str
    raw: str
    root: str


@dataclass(frozen=True, slots=True)
class Understood:
    """A query for some tables of one shape, and how well it covers the question.

    `leftover` are words that nothing accounts for. `is_sure` is False where a reading is one of several.
    """

    tables: tuple[Table, ...]
    query: TableQuery
    score: float
    leftover: tuple[str, ...]
    is_sure: bool = True


def words_of(text: str) -> list[Word]:
    """Return the words of a question or a cell."""
    found = []
    for raw in _WORD.findall(text)[: 4 * WORDS]:
        folded = fold(raw.lower())
        found.append(Word(folded, raw, root(folded)))
    return found


@lru_cache(maxsize=1 << 14)
def root(word: str) -> str:
    """Return a word without the ending of a plural; a number without marks between its digits."""
    if word[:1].isdigit():
        return number_root(word)
    if word in MONTHS and word not in SHORT_MONTHS:
        return f"month {MONTHS[word]}"
    one = _singular(word)
    return UNITS.get(one, one)


def _singular(word: str) -> str:
    if len(word) <= 3:
        return word
    for end, instead in (("ies", "y"), ("oes", "ao"), ("sses", "ss"), ("ches", "ch"), ("shes", "sh"), ("xes", "x")):
        if word.endswith(end) and len(word) > len(end) + 1:
            return word[: -len(end)] + instead
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def number_root(word: str) -> str:
    """Return a number without groups of thousands; its decimals follow a point."""
    match = re.fullmatch(r"(\d{1,3}(?:[.,'’]\d{3})+)(?:[.,](\d{1,2}))?|(\d+)(?:[.,](\d+))?", word)
    if match is None:
        return word
    whole = re.sub(r"\D", "", match[1] or match[3])
    part = (match[2] or match[4] or "").rstrip("0")
    return f"{whole}.{part}" if part else whole


def same(one: str, other: str) -> bool:
    """Return whether two folded words are forms of one: alike without endings, or by their first letters."""
    if root(one) == root(other):
        return True
    if one[:1].isdigit() or other[:1].isdigit():
        return False
    forms, others = _forms(one), _forms(other)
    if forms & others:
        return True
    return (
        len(one) >= PREFIX
        and len(other) >= PREFIX
        and one[:PREFIX] == other[:PREFIX]
        and abs(len(one) - len(other)) < 4
    )


@lru_cache(maxsize=1 << 14)
def _forms(word: str) -> frozenset[str]:
    cut = {word}
    for end in ("s", "es", "n", "en", "e", "ed", "d", "ing", "er", "al", "als"):
        if word.endswith(end) and len(word) - len(end) >= 3:
            cut.add(word[: -len(end)])
    return frozenset(cut)


@dataclass(slots=True)
class Names:
    """What the words of a question may stand for in tables of one shape; made once for each."""

    tables: tuple[Table, ...]
    columns: tuple[Column, ...]
    headers: list[list[Word]]
    whole: list[dict[tuple[str, ...], set[str]]] = field(default_factory=list)
    inside: list[dict[str, set[str]]] = field(default_factory=list)
    numbers: list[set[float]] = field(default_factory=list)
    titles: list[list[Word]] = field(default_factory=list)


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


def language_of_question(words: Sequence[Word]) -> str:
    """Return the language whose function words a question has most of; English where none has more."""
    counts = {name: sum(word.text in held for word in words) for name, held in LANGUAGES.items()}
    return max(counts, key=lambda name: (counts[name], name == "en"))


@dataclass(frozen=True)
class Asked:
    """A question: its words, language, and the kinds of questions that its phrases stand for, with their words."""

    words: tuple[Word, ...]
    language: str
    tasks: tuple[tuple[Task, int, int], ...]
    is_how_much: bool

    @cached_property
    def starts(self) -> tuple[frozenset[str], ...]:
        """For each word that a table must hold, beginnings of which it has one; most questions are about few tables.

        Words that limit nothing, that ask, and that may be a date or a number, are left out.
        """
        return tuple(
            frozenset({word.text[: 3 if word.text.endswith("es") else 4], word.root})
            for at, word in enumerate(self.words)
            if at not in self.task_words
            and not _is_light(word.text)
            and word.text not in _ELSEWHERE
            and not word.text[0].isdigit()
            and word.text not in MONTHS
            and len(word.text) > 1
        )

    @property
    def task_words(self) -> frozenset[int]:
        """The numbers of the words of these phrases."""
        return frozenset(at for _task, start, end in self.tasks for at in range(start, end))

    def has(self, task: Task) -> bool:
        """Return whether a phrase stands for a kind of question."""
        return any(one == task for one, _start, _end in self.tasks)


_ELSEWHERE = (
    MONEY | COUNTED_ROWS | PER | DIFFERENT | TABLE_WORDS | MONTH_UNIT | YEAR_UNIT | frozenset(ASKED_COLUMNS)
    | {word for phrases in (ABOVE, BELOW, BEFORE, AFTER, BETWEEN) for one in phrases for word in one.split("_")}
    | frozenset(HOW) | frozenset().union(*NEGATIONS.values()) | CURRENCIES
    | {"%", "euros", "euro", "eur", "usd", "dollars"}
)  # fmt: skip
"""Words that stand for something else than a word of the table."""
_PHRASES: Mapping[tuple[str, ...], Task] = {
    tuple(phrase.split("_")): task for task, phrases in TASKS.items() for phrase in phrases
}
_COMPARED: Mapping[tuple[str, ...], str] = {
    tuple(phrase.split("_")): sign + ("=" if phrase in INCLUSIVE else "")
    for sign, phrases in ((">", ABOVE), ("<", BELOW))
    for phrase in phrases
}
_TIMED: Mapping[tuple[str, ...], str] = {
    tuple(phrase.split("_")): kind for kind, phrases in (("after", AFTER), ("before", BEFORE)) for phrase in phrases
}


def asked_of(question: str) -> Asked | None:
    """Return a question as words; None where it is too long or asks about a time that only the clock tells."""
    if len(question) > LONGEST:
        return None
    words = words_of(question)
    if not words or len(words) > WORDS or any(word.text in REASONS for word in words):
        return None
    texts = [word.text for word in words]
    tasks: list[tuple[Task, int, int]] = []
    at = 0
    while at < len(texts):
        compared, timed = longest(_COMPARED, texts, at), longest(_TIMED, texts, at)
        found = longest(_PHRASES, texts, at)
        size = max((len(key) for key in (compared, timed) if key), default=0)
        if found and len(found) >= size:
            tasks.append((_PHRASES[found], at, at + len(found)))
            at += len(found)
        else:
            at += max(size, 1)
    for task, _start, end in tasks:
        if task in ("last", "first") and end < len(texts) and (texts[end] in RELATIVE or texts[end].isdigit()):
            return None
    is_how_much = _HOW_MUCH.search(" ".join(texts)) is not None
    return Asked(tuple(words), language_of_question(words), tuple(tasks), is_how_much)


def longest(phrases: Mapping[tuple[str, ...], object], texts: Sequence[str], at: int) -> tuple[str, ...]:
    """Return the longest phrase that begins at a word; empty where none does."""
    for size in range(4, 0, -1):
        key = tuple(texts[at : at + size])
        if len(key) == size and key in phrases:
            return key
    return ()


def understand(asked: Asked, names: Names) -> Understood | None:
    """Return the query that a question means for tables of one shape; None where it means none."""
    return _Reading(asked, names).result()


class _Reading:
    """One reading of a question: which word stands for what."""

    def __init__(self, asked: Asked, names: Names) -> None:
        self.asked, self.names = asked, names
        self.words, self.columns = asked.words, names.columns
        self.texts = [word.text for word in asked.words]
        self.by: list[str] = [""] * len(asked.words)  # what accounts for each word
        self.tables = names.tables
        self.values: dict[tuple[int, bool], set[Sql]] = {}  # (column, is negated) -> values
        self.filters: list[Filter] = []
        self.mentioned: dict[int, list[int]] = {}  # column -> words
        self.score = 0.0
        self.is_sure = True
        self.negatives: list[int] = []
        self.subject = False  # whether the table's own name, or rows, are counted
        self.has_value = False
        self.negations = NEGATIONS.get(asked.language, frozenset()) | NEGATIONS["en"]

    def result(self) -> Understood | None:
        for at in self.asked.task_words:
            self.by[at] = "task"
        self._mark_negations()
        self._find_headers(least=2)
        self._find_values()
        self._find_dates()
        self._find_numbers()
        self._find_headers(least=1)
        self._find_adjectives()
        if not self._find_titles():
            return None
        self._find_flags()
        self._find_kind_words()
        if any(text in ASKED_COLUMNS and by == "light" for text, by in zip(self.texts[:2], self.by, strict=False)):
            return None  # `when` asks for what no column tells
        leftover = tuple(word.raw for word, by in zip(self.words, self.by, strict=True) if not by)
        if any(_is_hard(self.words, at) for at, by in enumerate(self.by) if not by):
            return None
        for (column, is_negated), values in self.values.items():
            self.filters.append(Filter(column, "not in" if is_negated else "in", tuple(sorted(values, key=str))))
        if any(self.by[at] == "negation?" for at in range(len(self.by))):
            return None  # a negation that denies nothing that is known
        query = self._query()
        if query is None:
            return None
        return Understood(self.tables, query, self.score, leftover, self.is_sure and not leftover)

    # what words stand for

    def _mark_negations(self) -> None:
        for at, text in enumerate(self.texts):
            if text in self.negations and not self.by[at]:
                self.by[at] = "negation?"
                self.negatives.append(at)

    def _is_negated(self, at: int) -> bool:
        """Return whether a negation stands at most three words before a word, and use it up."""
        for before in range(at - 1, max(-1, at - 4), -1):
            if self.by[before] in ("negation?", "negation"):
                self.by[before] = "negation"
                return True
            if self.by[before] in ("value", "column", "date"):
                return False
        return False

    def _find_headers(self, least: int) -> None:
        """Match words with names of columns; a name of several words by all of them at once where `least` is 2."""
        for column, header in enumerate(self.names.headers):
            content = [word for word in header if not _is_light(word.text)] or header
            if not content or (least == 2 and len(content) < 2):
                continue
            if least == 2:
                size = len(header)
                for at in range(len(self.words) - size + 1):
                    run = self.words[at : at + size]
                    if all(not self.by[at + n] or self.by[at + n] == "task" for n in range(size)) and all(
                        one.root == other.root for one, other in zip(run, header, strict=True)
                    ):
                        self._mention(column, range(at, at + size))
                continue
            for at, word in enumerate(self.words):
                if self.by[at] or _is_function(word.text):
                    continue
                if _is_light(word.text):
                    is_named = any(word.root == one.root for one in header)
                else:
                    is_named = any(same(word.text, one.text) for one in content)
                if is_named:
                    self._mention(column, [at])
        if least == 1:
            self._settle_mentions()

    def _find_adjectives(self) -> None:
        """Take `how deep` for the column of depths."""
        for at in range(1, len(self.words)):
            if self.texts[at] in HOW and self.texts[at - 1] in ("how", "wie"):
                wanted = HOW[self.texts[at]]
                fitting = [
                    column for column in self._measures() if any(w.text in wanted for w in self.names.headers[column])
                ]
                if len(fitting) == 1:
                    self.by[at - 1] = "task"
                    self._mention(fitting[0], [at])

    def _mention(self, column: int, places: Iterable[int]) -> None:
        for at in places:
            self.mentioned.setdefault(column, []).append(at)
            if not self.by[at] or self.by[at] == "task":
                self.by[at] = "column"
                self.score += 2

    def _settle_mentions(self) -> None:
        """Keep for each word the column whose name it fits best: most of its words, then the shortest name."""
        for at in range(len(self.words)):
            rivals = [column for column, places in self.mentioned.items() if at in places]
            if len(rivals) < 2:
                continue

            def fit(column: int) -> tuple[float, ...]:
                header = self.names.headers[column]
                exact = any(word.root == self.words[at].root for word in header)  # noqa: B023 - called at once
                return (len(set(self.mentioned[column])) / max(len(header), 1), exact)

            best = max(map(fit, rivals))
            winners = [column for column in rivals if fit(column) == best]
            if len(winners) > 1:
                self.is_sure = False
            for column in rivals:
                if column != winners[0]:
                    self.mentioned[column] = [place for place in self.mentioned[column] if place != at]
        self.mentioned = {column: places for column, places in self.mentioned.items() if places}

    def _find_values(self) -> None:
        for is_whole in (True, False):
            for size in range(min(_PHRASE, len(self.words)), 0, -1):
                for at in range(len(self.words) - size + 1):
                    if not any(self.by[at : at + size]):
                        self._find_value(at, size, is_whole=is_whole)

    def _find_value(self, at: int, size: int, *, is_whole: bool) -> None:
        run = self.words[at : at + size]
        if size == 1 and _is_light(run[0].text) and not _is_name(run[0], at) and not self._is_letter(at):
            return
        if size > 1 and not is_whole and (_is_light(run[0].text) or _is_light(run[-1].text)):
            return
        if not is_whole and size == 1 and run[0].text.isdigit():
            return  # a number alone is a cell of its own, or none
        roots = tuple(word.root for word in run)
        found: dict[int, set[str]] = {}
        for column in range(len(self.columns)):
            held = self.names.whole[column].get(roots, set()) if is_whole else self._holding(column, roots)
            if held:
                found[column] = held
        if not found:
            return
        if size == 1 and (header := self._header_of(at)) is not None and header not in found and not is_whole:
            return  # the name of a column, and only a part of some cell
        column = self._closest(found, at)
        if (
            len(found) > 1
            and len({frozenset(values) for values in found.values()}) > 1
            and not self._names_nearby(column, at)
        ):
            first = next(iter(found))
            self.is_sure = self.is_sure and (is_whole and column == first and len(found) == 1)
        is_negated = self._is_negated(at)
        self.values.setdefault((column, is_negated), set()).update(found[column])
        for place in range(at, at + size):
            self.by[place] = "value"
        self.has_value = self.has_value or not is_negated
        self.score += (3 if is_whole else 2) * size

    def _is_letter(self, at: int) -> bool:
        """Return whether a word is a capital letter within the question, such as the name of a part."""
        return at > 0 and len(self.words[at].raw) == 1 and self.words[at].raw.isupper() and self.words[at].raw != "I"

    def _holding(self, column: int, roots: tuple[str, ...]) -> set[str]:
        inside = self.names.inside[column]
        sets = [inside.get(one, set()) for one in roots]
        held = set.intersection(*sets) if sets else set()
        if len(roots) == 1:
            return held
        return {value for value in held if _runs(roots, tuple(word.root for word in words_of(value)))}

    def _header_of(self, at: int) -> int | None:
        for column, header in enumerate(self.names.headers):
            if any(same(self.words[at].text, word.text) for word in header):
                return column
        return None

    def _closest(self, found: Mapping[int, set[str]], at: int) -> int:
        for column in found:
            if self._names_nearby(column, at):
                return column
        return min(found, key=lambda column: (len(found[column]), column))

    def _names_nearby(self, column: int, at: int) -> bool:
        header = self.names.headers[column]
        near = self.words[max(0, at - 2) : at]
        return any(same(word.text, one.text) for word in near for one in header if not _is_light(one.text))

    # dates and numbers

    def _find_dates(self) -> None:
        spans = list(_date_spans(self.words, self.by))
        if not spans:
            return
        column = self._date_column()
        if column is None:
            return
        for first, second in pairwise(spans):
            joined = self.texts[first[1] : second[0]]
            opens = first[0] > 0 and self.texts[first[0] - 1] in BETWEEN
            if opens and len(joined) == 1 and "month" not in (first[2], second[2]):
                self._date_filter(
                    column, Filter(column, "between", (first[3], _end_of(second[3]))), first[0] - 1, second[1]
                )
                spans = [span for span in spans if span not in (first, second)]
                break
        for start, end, kind, value in spans:
            how, begin = self._how_timed(start)
            if kind == "month":
                if how != "in":
                    return
                self._date_filter(column, Filter(column, "month", (value,)), begin, end)
            elif how == "in":
                self._date_filter(column, Filter(column, "between", (value, _end_of(value))), begin, end)
            else:
                word = self.texts[begin]
                is_inclusive = word in {one.split("_")[0] for one in (SINCE if how == "after" else THROUGH)}
                if how == "after":
                    one = Filter(column, ">=", (value,)) if is_inclusive else Filter(column, ">", (_end_of(value),))
                else:
                    one = Filter(column, "<=", (_end_of(value),)) if is_inclusive else Filter(column, "<", (value,))
                self._date_filter(column, one, begin, end)

    def _date_filter(self, column: int, one: Filter, start: int, end: int) -> None:
        self.filters.append(one)
        if self.columns[column].is_unsure:
            self.is_sure = False
        for at in range(start, end):
            self.by[at] = self.by[at] or "date"
        self.score += 3

    def _how_timed(self, start: int) -> tuple[str, int]:
        """Return how a date limits, and the first word that says so."""
        for size in (3, 2, 1):
            key = tuple(self.texts[max(0, start - size) : start])
            if len(key) == size and key in _TIMED:
                return _TIMED[key], start - size
        return "in", start

    def _date_column(self) -> int | None:
        dates = [at for at, column in enumerate(self.columns) if column.type == "date"]
        if len(dates) < 2:
            return dates[0] if dates else None
        named = [at for at in dates if self._is_named(at)]
        return named[0] if len(named) == 1 else None

    def _find_numbers(self) -> None:
        for at, word in enumerate(self.words):
            if self.by[at] or not word.text[0].isdigit():
                continue
            try:
                value = float(word.root)
            except ValueError:
                continue
            sign, start = self._sign_before(at)
            if sign:
                column = self._number_column(at)
                if column is not None:
                    self.filters.append(Filter(column, sign, (value,)))  # type: ignore[arg-type]
                    self._claim_number(start, at)
                continue
            column = self._column_with(value, at)
            if column is not None:
                self.filters.append(Filter(column, "=", (value,)))
                self._claim_number(at, at)
                self.has_value = True

    def _claim_number(self, start: int, at: int) -> None:
        for place in range(start, at + 1):
            self.by[place] = "number"
        if (
            at + 1 < len(self.words)
            and (self.texts[at + 1] in ("%", "€", "$", "£", "euros", "euro", "dollars", "eur", "usd"))
        ) or (
            at + 1 < len(self.words) and any(self.texts[at + 1] == fold(column.unit.lower()) for column in self.columns)
        ):
            self.by[at + 1] = "number"
        self.score += 3

    def _sign_before(self, at: int) -> tuple[str, int]:
        end = at - 1 if at and self.texts[at - 1] in ("€", "$", "£") else at
        for size in (2, 1):
            key = tuple(self.texts[max(0, end - size) : end])
            if len(key) == size and key in _COMPARED:
                return _COMPARED[key], end - size
        return "", at

    def _number_column(self, at: int) -> int | None:
        numeric = self._measures()
        named = [column for column in numeric if self._is_named(column)]
        if len(named) == 1 or len(numeric) == 1:
            return (named or numeric)[0]
        money = self._money()
        after = self.texts[at + 1] if at + 1 < len(self.words) else ""
        united = [column for column in numeric if after and after == fold(self.columns[column].unit.lower())]
        if len(united) == 1:
            return united[0]
        return money if any(text in MONEY for text in self.texts) or after in ("euros", "eur", "€", "dollars") else None

    def _is_named(self, column: int) -> bool:
        header = [word for word in self.names.headers[column] if not _is_light(word.text)]
        return any(same(word.text, one.text) for word in self.words for one in header if not _is_light(word.text))

    def _column_with(self, value: float, at: int) -> int | None:
        """Return the column of numbers in which a number of the question is a cell."""
        held = [column for column in range(len(self.columns)) if value in self.names.numbers[column]]
        near = [column for column in held if self._names_nearby(column, at)]
        if near:
            return near[0]
        keys = [column for column in held if self._is_key(column)]
        return keys[0] if len(keys) == 1 else None

    def _is_key(self, column: int) -> bool:
        """Return whether the numbers of a column name their rows, or are years: nothing to add up."""
        if self.columns[column].type != "number":
            return False
        if any(word.text in KEYS for word in self.names.headers[column]) or not self.names.headers[column]:
            return True
        numbers = self.names.numbers[column]
        if all(map(is_year, numbers)):
            return True
        rows = sum(len(table.rows) for table in self.tables)
        is_first = column == min((at for at, one in enumerate(self.columns) if one.type != "empty"), default=0)
        whole = all(value == int(value) for value in numbers)
        return is_first and whole and len(numbers) == rows and len(self.columns) > 1

    def _measures(self) -> list[int]:
        kinds = ("number", "duration")
        return [at for at, one in enumerate(self.columns) if one.type in kinds and not self._is_key(at)]

    def _money(self) -> int | None:
        measures = self._measures()
        by_unit = [at for at in measures if self.columns[at].unit in CURRENCIES]
        by_name = [at for at in measures if any(word.text in MONEY_HEADERS for word in self.names.headers[at])]
        for found in (by_unit, by_name):
            if len(found) == 1:
                return found[0]
        both = [at for at in by_unit if at in by_name]
        return both[0] if len(both) == 1 else None

    # titles, flags and kinds

    def _find_titles(self) -> bool:
        """Match words with the names of the tables, and keep those that a word names; return whether any is left."""
        titles = self.names.titles
        kept = list(range(len(self.tables)))
        for at, word in enumerate(self.words):
            if self.by[at] and not (self.by[at] == "column" and self.texts[at] in COUNTED_ROWS):
                continue
            if _is_light(word.text):
                continue
            holding = [n for n, title in enumerate(titles) if any(same(word.text, one.text) for one in title)]
            if holding:
                self.by[at] = "title"
                self.score += 1
                self.subject = True
                if len(holding) < len(titles):
                    kept = [n for n in kept if n in holding]
        if not kept:
            return False
        self.tables = tuple(self.tables[n] for n in kept)
        return True

    def _find_flags(self) -> None:
        """Take a named column of yes and no, and a denied column of dates, as a condition."""
        is_asked = bool(self.texts) and self.texts[0] in YES_NO and not self.asked.tasks
        for column, one in enumerate(self.columns):
            if one.type == "bool" and not is_asked:
                for at, word in enumerate(self.words):
                    plain = (
                        word.text.removeprefix("un").removeprefix("in") if word.text[:2] in ("un", "in") else word.text
                    )
                    header = [name for name in self.names.headers[column] if not _is_light(name.text)]
                    is_plain = self.by[at] == "column" and at in self.mentioned.get(column, ())
                    is_denied = (
                        not self.by[at] and plain != word.text and any(same(plain, name.text) for name in header)
                    )
                    if is_plain or is_denied:
                        self.by[at] = "value"
                        is_negated = self._is_negated(at) or is_denied
                        self.filters.append(Filter(column, "=", (0.0 if is_negated else 1.0,)))
                        self.has_value = True
                        self.score += 3
                        self.mentioned.pop(column, None)
                        break
            elif one.type == "date" and not is_asked:
                for at in self.mentioned.get(column, ()):
                    if self._is_negated(at):
                        self.filters.append(Filter(column, "is null"))
                        self.has_value = True
                        self.score += 3
                        self.mentioned.pop(column, None)
                        break

    def _find_kind_words(self) -> None:
        has_money = self._money() is not None
        for at, word in enumerate(self.words):
            if self.by[at]:
                continue
            text = word.text
            if text in MONEY and has_money:
                self.by[at] = "money"
                self.score += 0.5
            elif text in ASKED_COLUMNS and self._asked_column(text) is not None:
                self.by[at] = "asked"
                self.score += 0.5
            elif text in COUNTED_ROWS:
                self.by[at] = "rows"
                self.subject = True
            elif text in PER or text in DIFFERENT or text in TABLE_WORDS:
                self.by[at] = "kind"
            elif self._is_time_unit(at):
                self.by[at] = "unit"
            elif (_is_light(text) or (len(text) == 1 and not text.isdigit())) and not self._is_letter(at):
                self.by[at] = "light"

    def _is_time_unit(self, at: int) -> bool:
        """Return whether results are asked for each month or year of a column of dates."""
        is_unit = self.texts[at] in MONTH_UNIT | YEAR_UNIT and at > 0 and self.texts[at - 1] in PER
        return is_unit and self._date_column() is not None

    def _asked_column(self, text: str) -> int | None:
        """Return the column that `who`, `when` or `where` asks for: the one that is named, else by its name."""
        wanted = ASKED_COLUMNS[text]
        kind = "date" if "date" in wanted else "text"
        fitting = [at for at, one in enumerate(self.columns) if one.type == kind]
        filtered = {one.column for one in self.filters} | {column for column, _is_negated in self.values}
        named = [at for at in fitting if at in self.mentioned and at not in filtered]
        if len(named) == 1:
            return named[0]
        if kind == "date" and len(fitting) == 1:
            return fitting[0]
        by_name = [
            at for at in range(len(self.columns))
            if at not in filtered and any(w.text in wanted or w.root in wanted for w in self.names.headers[at])
        ]  # fmt: skip
        if kind == "text" and "person" in wanted and not by_name:
            by_name = [at for at in fitting if at not in filtered and self._has_people(at)][:1]
        if len(by_name) > 1:
            self.is_sure = False
        return by_name[0] if by_name else None

    def _has_people(self, column: int) -> bool:
        """Return whether the cells of a column look like names of people: two or three words with capitals."""
        values = [value for found in self.names.whole[column].values() for value in found][:50]
        named = [
            value for value in values if re.fullmatch(r"[^\W\d_a-z][\w'’.-]*(?: [^\W\d_a-z][\w'’.-]*){1,2}", value)
        ]
        return bool(values) and len(named) >= 0.8 * len(values)

    # the query

    def _query(self) -> TableQuery | None:
        filtered = {one.column for one in self.filters}
        targets = [column for column in self.mentioned if column not in filtered]
        label = self._label(targets)
        group, unit = self._group(targets)
        numeric = [column for column in targets if column in self._measures()]
        filters = tuple(self.filters)
        tasks = self.asked
        if tasks.has("mean"):
            column = self._measured(numeric)
            return None if column is None else TableQuery("mean", filters, column, group=group, unit=unit)
        if tasks.has("largest") or tasks.has("smallest"):
            return self._superlative("largest" if tasks.has("largest") else "smallest", numeric, label, filters)
        if tasks.has("first") or tasks.has("last"):
            column = self._date_column()
            if column is None:
                return None
            self.is_sure = self.is_sure and not self.columns[column].is_unsure
            return TableQuery("first" if tasks.has("first") else "last", filters, column, label=label)
        if tasks.has("count"):
            return self._count(numeric, targets, filters, group, unit)
        is_money = any(by == "money" for by in self.by)
        if tasks.has("sum") or (group is not None and (is_money or numeric or self.asked.is_how_much)):
            column = self._measured(numeric)
            return None if column is None else TableQuery("sum", filters, column, group=group, unit=unit)
        if self.asked.is_how_much:
            column = numeric[0] if len(numeric) == 1 else None if numeric else self._measured(numeric)
            if column is None or not (filters or numeric or self.subject):
                return None
            if not (is_money or self.has_value or numeric or (self.subject and filters)):
                return None
            return TableQuery("sum", filters, column, label=label)
        return self._lookup(targets, label, filters)

    def _measured(self, numeric: Sequence[int]) -> int | None:
        """Return the column of numbers that is meant: the named one, that of money, or the only one."""
        if len(numeric) == 1:
            return numeric[0]
        if numeric:
            return None
        if any(by == "money" for by in self.by):
            return self._money()
        measures = self._measures()
        return measures[0] if len(measures) == 1 else self._money() if self.subject else None

    def _superlative(
        self, task: Task, numeric: Sequence[int], label: int | None, filters: tuple[Filter, ...]
    ) -> TableQuery | None:
        assert task in ("largest", "smallest")
        phrase = next("_".join(self.texts[a:b]) for one, a, b in self.asked.tasks if one == task)
        column: int | None = None
        if len(numeric) == 1:
            column = numeric[0]
        elif not numeric and phrase in MEASURES:
            fitting = [at for at in self._measures() if any(w.text in MEASURES[phrase] for w in self.names.headers[at])]
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
        ) or self.asked.has("sum")
        is_money = any(by == "money" for by in self.by)
        named = self._which()
        repeats = named is not None and self.columns[named].type == "text" and not self._is_unique(named)
        if repeats and is_most and named is not None:
            if column is None and is_money:
                column = self._money()
            counted = any(one != named and self._is_unique(one) for one in self.mentioned)
            if column is None and (self.subject or counted or self.asked.has("count")):
                return TableQuery("count", filters, None, group=named, best=task)
            column = column if column is not None else self._measured(numeric)
            return None if column is None else TableQuery("sum", filters, column, group=named, best=task)
        if column is None:
            column = self._measured(numeric)
        return None if column is None else TableQuery(task, filters, column, label=label)

    def _count(
        self, numeric: Sequence[int], targets: Sequence[int], filters: tuple[Filter, ...], group: int | None, unit: Unit
    ) -> TableQuery | None:
        end = next(end for task, _start, end in self.asked.tasks if task == "count")
        phrase = " ".join(self.texts[max(0, end - 2) : end])
        if phrase.endswith(("often", "times", "vezes", "veces", "oft")):
            return TableQuery("count", filters, None, group=group, unit=unit) if filters else None
        noun = next((n for n in range(end, len(self.words)) if self.by[n] not in ("light", "kind", "task")), None)
        if noun is not None and self.by[noun] == "value" and any(noun + 1 in self.mentioned[one] for one in numeric):
            noun += 1  # "vegetarian portions"
        column = next((one for one in targets if noun is not None and noun in self.mentioned.get(one, ())), None)
        if column is not None and column in numeric:
            return TableQuery("sum", filters, column, group=group, unit=unit)
        if column is not None and column != group:
            is_different = any(text in DIFFERENT for text in self.texts)
            if is_different or (not self._is_unique(column) and not self.subject):
                return TableQuery("count", filters, column, is_distinct=True)
            return TableQuery("count", filters, None, group=group, unit=unit)
        if len(numeric) == 1 and noun is not None and not self.subject and not self.has_value:
            return None
        if not (self.subject or filters) or (noun is None and not filters):
            return None
        return TableQuery("count", filters, None, group=group, unit=unit)

    def _lookup(self, targets: Sequence[int], label: int | None, filters: tuple[Filter, ...]) -> TableQuery | None:
        if not filters:
            return None
        which = self._which()
        asked = [self._asked_column(text) for text, by in zip(self.texts, self.by, strict=True) if by == "asked"]
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
        if self.subject and self.texts and any(text in LISTS for text in self.texts[:3]):
            return TableQuery("lookup", filters, label, label=label) if label is not None else None
        return None

    def _which(self) -> int | None:
        """Return the column that a question asks for with `which` or `who`."""
        for at, text in enumerate(self.texts[:-1]):
            if text in WHICH:
                for place in range(at + 1, min(at + 4, len(self.texts))):
                    for column, places in self.mentioned.items():
                        if place in places:
                            return column
                    if self.by[place] not in ("light", "kind", "task"):
                        break
        for text, by in zip(self.texts, self.by, strict=True):
            if by == "asked":
                return self._asked_column(text)
        return None

    def _label(self, targets: Sequence[int]) -> int | None:
        """Return the column that names a row: the one asked for, else the first of texts, else the first."""
        which = self._which()
        if which is not None and which not in self._measures():
            return which
        texts = [at for at, one in enumerate(self.columns) if one.type == "text"]
        unique = [at for at in texts if self._is_unique(at)]
        return (unique or texts or [0])[0]

    def _group(self, targets: Sequence[int]) -> tuple[int | None, Unit]:
        for at, text in enumerate(self.texts[:-1]):
            if text not in PER:
                continue
            for place in range(at + 1, min(at + 3, len(self.texts))):
                for column, places in self.mentioned.items():
                    if place in places and self.columns[column].type in ("text", "bool", "date", "number"):
                        return column, ""
                if self.by[place] == "unit":
                    return self._date_column(), "month" if self.texts[place] in MONTH_UNIT else "year"
        return None, ""

    def _is_unique(self, column: int) -> bool:
        values = [row[column] for table in self.tables for row in table.values if row[column] is not None]
        return len(set(values)) >= 0.95 * len(values)


def _runs(roots: tuple[str, ...], value: tuple[str, ...]) -> bool:
    return any(value[at : at + len(roots)] == roots for at in range(len(value) - len(roots) + 1))


def _is_function(text: str) -> bool:
    return text in STOP_WORDS or any(text in held for held in LANGUAGES.values())


def _is_light(text: str) -> bool:
    return text in LIGHT or _is_function(text)


def _is_name(word: Word, at: int) -> bool:
    return len(word.raw) > 1 and (word.raw.isupper() or (at > 0 and word.raw[0].isupper()))


def _is_hard(words: Sequence[Word], at: int) -> bool:
    """Return whether a word that nothing accounts for is a number or a name: there is no answer without it."""
    is_letter = len(words[at].text) == 1
    return is_letter or words[at].text[0].isdigit() or _is_name(words[at], at) or words[at].text in RELATIVE


def _end_of(value: Sql) -> str:
    """Return the last day of a year or month as a text that no date of it exceeds."""
    text = str(value)
    return {4: f"{text}-12-31", 7: f"{text}-31"}.get(len(text), text)


def _date_spans(words: Sequence[Word], by: Sequence[str]) -> Iterable[tuple[int, int, str, str]]:
    """Yield the dates of a question: first word, end, kind (day, month of a year, year, or month), value."""
    at = 0
    while at < len(words):
        if by[at] and by[at] != "value":
            at += 1
            continue
        span = _date_at(words, at)
        if span is not None and not any(one == "value" for one in by[at : span[1]]):
            yield span
            at = span[1]
        else:
            at += 1


def _date_at(words: Sequence[Word], at: int) -> tuple[int, int, str, str] | None:
    texts = [word.text for word in words]
    text = texts[at]
    if re.fullmatch(r"\d{4}-\d\d(?:-\d\d)?", text):
        return at, at + 1, "day" if len(text) == 10 else "month of year", text
    if re.fullmatch(r"(?:19|20)\d\d", text):
        return at, at + 1, "year", text
    skipped = [
        n for n in range(at, min(at + 5, len(texts))) if texts[n] not in ("de", "of", "del", "st", "nd", "rd", "th")
    ]
    heads = [texts[n] for n in skipped]
    day_first = len(heads) > 1 and re.fullmatch(r"[0-3]?\d", heads[0]) and heads[1] in MONTHS
    if day_first and len(heads) > 2 and re.fullmatch(r"(?:19|20)\d\d", heads[2]):
        return at, skipped[2] + 1, "day", f"{heads[2]}-{MONTHS[heads[1]]:02}-{int(heads[0]):02}"
    if text in MONTHS:
        if len(heads) > 2 and re.fullmatch(r"[0-3]?\d", heads[1]) and re.fullmatch(r"(?:19|20)\d\d", heads[2]):
            return at, skipped[2] + 1, "day", f"{heads[2]}-{MONTHS[text]:02}-{int(heads[1]):02}"
        if len(heads) > 1 and re.fullmatch(r"(?:19|20)\d\d", heads[1]):
            return at, skipped[1] + 1, "month of year", f"{heads[1]}-{MONTHS[text]:02}"
        if text not in SHORT_MONTHS or (at and texts[at - 1] in TIME_BEFORE):
            return at, at + 1, "month", f"{MONTHS[text]:02}"
    return None
