"""One reading of a question over tables of one shape: what each word stands for, so far."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from docmind.language import MONTHS
from docmind.tables.asking import (
    Asked,
)
from docmind.tables.naming import (
    Names,
)
from docmind.tables.query import (
    Filter,
)
from docmind.tables.role_words import (
    GRADES,
    HOURLY,
    SETTLED,
    UNITARY,
)
from docmind.tables.values import (
    Sql,
    is_year,
)
from docmind.tables.wordlists import (
    ASKED_COLUMNS,
    COUNT_HEADERS,
    CURRENCIES,
    ENDINGS,
    KEYS,
    MONEY,
    MONEY_HEADERS,
    NEGATIONS,
    PER,
    TEAMS,
    TOTALS,
    WHICH,
    YES_NO,
    Task,
)
from docmind.tables.words import (
    akin,
    is_light,
    same,
)

_CURRENCY = re.compile(
    "|".join(rf"(?<![^\W\d_]){re.escape(one)}(?![^\W\d_])" for one in sorted(CURRENCIES, key=len, reverse=True))
)


_TOLD = GRADES | COUNT_HEADERS | MONEY_HEADERS - {"value", "total"}
"""Words in headers of numbers that are no years, whatever their size."""


def month_of(roots: tuple[str, ...]) -> int:
    """Return the month that a cell is, from 1; 0 where it is none."""
    match = re.fullmatch(r"month (\d+)", roots[0]) if len(roots) == 1 else None
    if match:
        return int(match[1])
    return MONTHS.get(roots[0], 0) if len(roots) == 1 else 0


class Reading:
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
        self.runs: list[tuple[int, frozenset[str], bool]] = []  # values by the words that name them, in their order
        self.times: list[Filter] = []  # months and years that are named one by one
        self.rank = self.top = 1
        self.negations = NEGATIONS.get(asked.language, frozenset()) | NEGATIONS["en"]
        if asked.language == "en":
            self.negations |= {"no"}
        self.series: tuple[int, ...] = ()  # columns of one measure, each for a time
        self.is_tied_series = False  # whether a word names several of them
        self.agent: int | None = None  # the only column of texts of which a verb tells
        self.role: int | None = None  # the column of numbers of which a verb tells

    @property
    def is_check(self) -> bool:
        """Whether a question is for yes or no."""
        is_what = self.asked.language == "de" and self.texts[0] == "was"
        return self.texts[0] in YES_NO and not is_what and not self.asked.tasks

    def has(self, task: Task) -> bool:
        """Return whether a phrase stands for a kind of question, and not for a column."""
        return any(one == task and all(by == "task" for by in self.by[at:end]) for one, at, end in self.asked.tasks)

    def month_column(self) -> int | None:
        """Return the column of texts whose cells are months."""
        for at, column in enumerate(self.columns):
            roots = self.names.whole[at]
            if column.type == "text" and sum(month_of(one) > 0 for one in roots) > 0.6 * len(roots) and len(roots) > 1:
                return at
        return None

    def tells_time(self, column: int) -> bool:
        """Return whether a column has dates or years."""
        values = [row[column] for table in self.tables for row in table.values if row[column] is not None]
        is_years = bool(values) and all(isinstance(value, float) and is_year(value) for value in values)
        return self.columns[column].type == "date" or is_years

    def clocks(self) -> list[int]:
        """Return the columns of times of the day or of durations."""
        return [at for at, one in enumerate(self.columns) if one.type == "duration"]

    def is_negated(self, at: int) -> bool:
        """Return whether a negation stands at most three words before a word, and use it up."""
        for before in range(at - 1, max(-1, at - 4), -1):
            if self.by[before] in ("negation?", "negation"):
                self.by[before] = "negation"
                return True
            if self.by[before] in ("value", "column", "date"):
                return False
        return False

    def mention(self, column: int, places: Iterable[int]) -> None:
        for at in places:
            self.mentioned.setdefault(column, []).append(at)
            if not self.by[at] or self.by[at] == "task":
                self.by[at] = "column"
                self.score += 2

    @property
    def is_money(self) -> bool:
        """Whether a word asks for money."""
        is_counted = self.has("share") or self.has("count")
        return any(
            by == "money"
            or (text in MONEY and by == "title")
            or (text in SETTLED and by == "value" and self.asked.is_how_much and not is_counted)
            for text, by in zip(self.texts, self.by, strict=True)
        )

    def is_code(self, column: int) -> bool:
        """Return whether the texts of a column are codes that name rows: most have a digit."""
        values = [row[column] for table in self.tables for row in table.values if row[column] is not None]
        return sum(any(map(str.isdigit, str(value))) for value in values) >= 0.8 * len(values) > 0

    def header_of(self, at: int) -> int | None:
        for column, header in enumerate(self.names.headers):
            if any(same(self.words[at].text, word.text) for word in header):
                return column
        return None

    def names_nearby(self, column: int, at: int) -> bool:
        header = self.names.headers[column]
        near = self.words[max(0, at - 2) : at]
        if at and [word.text for word in header] == [self.texts[at - 1]]:
            return True  # `to Rome` where a column has the name `To`
        return any(same(word.text, one.text) for word in near for one in header if not is_light(one.text))

    def is_letter(self, at: int) -> bool:
        """Return whether a word is a capital letter within the question, such as the name of a part."""
        return at > 0 and len(self.words[at].raw) == 1 and self.words[at].raw.isupper() and self.words[at].raw != "I"

    def date_column(self) -> int | None:
        dates = [at for at, column in enumerate(self.columns) if column.type == "date"]
        if len(dates) < 2:
            return dates[0] if dates else None
        named = [at for at in dates if at in self.mentioned] or [at for at in dates if self.is_named(at)]
        return named[0] if len(named) == 1 else None

    def is_named(self, column: int) -> bool:
        """Return whether a word of the question is one of a header, or has its meaning where no header has the word."""
        header = [word.text for word in self.names.headers[column] if not is_light(word.text)]
        for word in self.words:
            if is_light(word.text):
                continue
            if any(same(word.text, one) for one in header):
                return True
            if any(akin(word.text, one) for one in header) and self.header_of(self.words.index(word)) is None:
                return True
        return False

    def is_key(self, column: int) -> bool:
        """Return whether the numbers of a column name their rows, or are years: nothing to add up."""
        if self.columns[column].type != "number":
            return False
        if any(word.text in KEYS for word in self.names.headers[column]) or not self.names.headers[column]:
            return True
        numbers = self.names.numbers[column]
        if all(map(is_year, numbers)) and not (_TOLD & {word.text for word in self.names.headers[column]}):
            return True
        rows = sum(len(table.rows) for table in self.tables)
        is_first = column == min((at for at, one in enumerate(self.columns) if one.type != "empty"), default=0)
        whole = all(value == int(value) for value in numbers)
        return is_first and whole and len(numbers) == rows and len(self.columns) > 1

    def measures(self) -> list[int]:
        kinds = ("number", "duration")
        return [at for at, one in enumerate(self.columns) if one.type in kinds and not self.is_key(at)]

    def money(self) -> int | None:
        measures = self.measures()
        by_unit = [at for at in measures if self.columns[at].unit in CURRENCIES]
        by_name = [at for at in measures if any(word.text in MONEY_HEADERS for word in self.names.headers[at])]
        by_name = [at for at in by_name if not self.is_rate(at)] or by_name
        for found in (by_unit, by_name):
            if len(found) == 1:
                return found[0]
        both = [at for at in by_unit if at in by_name]
        whole = [at for at in both or by_name if any(word.text in TOTALS for word in self.names.headers[at])]
        return both[0] if len(both) == 1 else whole[0] if len(whole) == 1 else None

    def is_rate(self, column: int) -> bool:
        """Return whether a column of numbers tells what one hour or piece costs."""
        header = {word.text for word in self.names.headers[column]}
        return bool(header & HOURLY or header & UNITARY or (header & PER and header & MONEY_HEADERS))

    def measured(self, numeric: Sequence[int]) -> int | None:
        """Return the column of numbers that is meant: the named one, that of money, or the only one."""
        if len(numeric) == 1:
            return numeric[0]
        if numeric:
            return None
        if self.is_money:
            return self.money()
        measures = self.measures()
        if (len(measures) == 1 and self.columns[measures[0]].unit == "%") or self._is_percent(measures):
            return None  # shares are neither added up nor the size of what they are of
        if self.role is not None:
            return self.role
        if len(measures) > 1:
            is_about_rows = any(self.is_unique(one) for one in self.mentioned if self.columns[one].type == "text")
            is_total = self.has("sum") and self.has_value
            column = self.money() if is_about_rows or self.subject or is_total else None
            if column is not None and not any(word.text in TOTALS for word in self.names.headers[column]):
                self.is_sure = False  # one of several columns, by default
            return column
        return measures[0] if measures else None

    def _is_percent(self, measures: Sequence[int]) -> bool:
        return len(measures) == 1 and any(word.text == "%" for word in self.names.headers[measures[0]])

    def is_priced(self, column: int) -> bool:
        """Return whether a column of texts has amounts of several currencies: nothing to add up or compare."""
        values = [row[column] for table in self.tables for row in table.values if row[column] is not None]
        priced = sum(any(map(str.isdigit, str(one))) and _CURRENCY.search(str(one)) is not None for one in values)
        return self.columns[column].type == "text" and priced >= 0.8 * len(values) > 0

    def asked_column(self, text: str) -> int | None:
        """Return the column that `who`, `when` or `where` asks for: the one that is named, else by its name."""
        wanted = ASKED_COLUMNS[text]
        kind = "date" if "date" in wanted else "text"
        kinds = ("date", "duration") if kind == "date" else (kind,)
        fitting = [at for at, one in enumerate(self.columns) if one.type in kinds]
        filtered = {one.column for one in self.filters} | {column for column, _is_negated in self.values}
        named = [at for at in fitting if at in self.mentioned and at not in filtered]
        is_other = "person" in wanted and any(self._tells_who(at, wanted) for at in fitting if at not in filtered)
        if "person" in wanted and self.agent is not None and self.agent not in filtered:
            return self.agent  # whose part the verb names: `who handled it`
        is_verb = len(named) == 1 and self.mentioned[named[0]] == [1] and not self.is_code(named[0])
        if len(named) == 1 and (is_verb or not is_other or self._tells_who(named[0], wanted)):
            return named[0]  # `who has had a tool` asks for its borrower
        if kind == "date" and len(fitting) == 1:
            return fitting[0]
        by_name = [
            at for at in range(len(self.columns))
            if at not in filtered
            and any(
                w.text in wanted or w.root in wanted or any(w.text.endswith(end) for end in ENDINGS if end in wanted)
                for w in self.names.headers[at]
            )
        ]  # fmt: skip
        if kind == "text" and "person" in wanted and not by_name:
            by_name = [at for at in fitting if at not in filtered and self.has_people(at)][:1]
        if kind == "text" and "person" in wanted and not by_name:
            by_name = [at for at in fitting if at not in filtered and self._names_team(at)][:1]
        texts = [at for at, one in enumerate(self.columns) if one.type == "text"]
        if len(by_name) > 1 and not (kind == "text" and by_name[0] == texts[0]):
            self.is_sure = False  # else the first column of texts is what the rows are of
        return by_name[0] if by_name else None

    def _tells_who(self, column: int, wanted: frozenset[str]) -> bool:
        header = self.names.headers[column]
        return any(word.text in wanted or word.root in wanted for word in header) or self._names_team(column)

    def _names_team(self, column: int) -> bool:
        return any(word.text in TEAMS or word.root in TEAMS for word in self.names.headers[column])

    def has_people(self, column: int) -> bool:
        """Return whether the cells of a column look like names of people: two or three words with capitals."""
        values = [value for found in self.names.whole[column].values() for value in found][:50]
        named = [
            value for value in values if re.fullmatch(r"[^\W\d_a-z][\w'’.-]*(?: [^\W\d_a-z][\w'’.-]*){1,2}", value)
        ]
        return bool(values) and len(named) >= 0.8 * len(values)

    def which(self) -> int | None:
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
                return self.asked_column(text)
        return None

    def has_gaps(self, column: int) -> bool:
        """Return whether some cells of a column are empty."""
        return any(row[column] is None for table in self.tables for row in table.values)

    def is_unique(self, column: int) -> bool:
        values = [row[column] for table in self.tables for row in table.values if row[column] is not None]
        return len(set(values)) >= 0.95 * len(values)
