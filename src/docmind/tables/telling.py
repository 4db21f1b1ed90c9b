"""What a query found, in words: the answer with the cells it rests on as its sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from docmind.answers import Verified, lead_of, page_source
from docmind.documents import Catalog, Version, Words
from docmind.records.answers import Computed, Outcome, RowsOf, Sentence, Source
from docmind.tables.loading import Row, Table
from docmind.tables.query import Filter, Group, Result, best_groups, sql_of
from docmind.tables.understanding import Understood
from docmind.tables.values import Sql
from docmind.tables.wordlists import CURRENCIES
from docmind.wording import A_, say, say_many

CITED = 12  # rows of an answer that are sources
LISTED = 100  # rows of an answer that are listed
_NAMED = 12  # rows or groups that the text names
_CELL = 300  # characters of a listed cell
_MARKS = {
    "pt": str.maketrans(",.", ".,"), "es": str.maketrans(",.", ".,"), "de": str.maketrans(",.", ".,"),
    "fr": str.maketrans(",.", "\u202f,"), "it": str.maketrans(",.", ".,"),
}  # fmt: skip
"""Marks between thousands and before decimals; English has none to change."""
_TASKS: Mapping[str, str] = {
    "sum": A_("the sum of “{column}” over {rows}"),
    "mean": A_("the mean of “{column}” over {rows}"),
    "median": A_("the median of “{column}” over {rows}"),
    "largest": A_("the largest “{column}” of {rows}"),
    "smallest": A_("the smallest “{column}” of {rows}"),
    "first": A_("the first “{column}” of {rows}"),
    "last": A_("the last “{column}” of {rows}"),
}
_TOP = A_("the {n} largest by “{column}” of {rows}")
_BOTTOM = A_("the {n} smallest by “{column}” of {rows}")
_CONDITIONS: Mapping[str, str] = {
    "=": A_("“{column}” is {value}"),
    "in": A_("“{column}” is {value}"),
    "not in": A_("“{column}” is not {value}"),
    ">": A_("“{column}” is over {value}"),
    ">=": A_("“{column}” is {value} or more"),
    "<": A_("“{column}” is under {value}"),
    "<=": A_("“{column}” is {value} or less"),
    "after": A_("“{column}” is after {value}"),
    "since": A_("“{column}” is {value} or later"),
    "before": A_("“{column}” is before {value}"),
    "until": A_("“{column}” is {value} or earlier"),
    "between": A_("“{column}” is from {value} to {other}"),
    "within": A_("“{column}” is in {value}"),
    "month": A_("“{column}” is in month {value}"),
    "months": A_("“{column}” is in months {value} to {other}"),
    "weekday": A_("“{column}” is a {value}"),
    "is null": A_("“{column}” is empty"),
    "is not null": A_("“{column}” is filled in"),
}
"""A condition of the rows by its operator, or by what it says of a date."""


@dataclass(frozen=True, slots=True)
class TableAnswer:
    """An answer by a query: its text with sources, how sure it is, and how it was computed."""

    checked: Verified
    outcome: Outcome
    computed: Computed


@dataclass(frozen=True, slots=True)
class Earlier:
    """An earlier version of the document of a table, and what the same query found in it."""

    version: Version
    understood: Understood
    result: Result


class Telling:
    """The words for one result, and its numbers, in the language of the question."""

    def __init__(self, understood: Understood, result: Result, language: str) -> None:
        self.understood, self.result = understood, result
        self.query, self.tables = understood.query, understood.tables
        self.columns = understood.tables[0].columns
        self.language = language
        self.rows: list[tuple[Table, Row]] = [(table, row) for table in self.tables for row in table.rows]

    def text(self) -> str:
        """Return the answer in one sentence."""
        query, result = self.query, self.result
        if query.group is not None:
            return self._grouped()
        if query.task == "count":
            rows = self._where(self._count(len(result.kept)))
            if not query.is_distinct:
                return f"{rows}{self._place()}."
            names = self._listed(query.column)
            told = say(self.language, "{n} different “{column}” in {rows}").format(
                n=self._number(result.value), column=self._name(query.column), rows=rows
            )
            return f"{told}: {names}{self._place()}."
        if query.task == "lookup":
            return self._looked_up()
        if query.task in ("check", "share", "difference"):
            return self._compared()
        if query.task in ("sum", "mean", "median"):
            told = self._task(query.task, len(result.best))
            if len(result.best) == 1 and query.task == "sum" and not query.plus:
                return self._looked_up()
            return f"{self._value(result.value)}: {told}{self._place()}."
        told = self._task(query.task, len(result.kept))
        if (query.rank, query.top) != (1, 1):
            return self._ranked()
        names = self._listed(query.label, result.best) if query.label != query.column else ""
        shown = self._value(result.value) if query.plus else self._listed(query.column, result.best)
        return f"{names} ({shown}): {told}{self._place()}." if names else f"{shown}: {told}{self._place()}."

    def _ranked(self) -> str:
        """Return the best rows with their values, or the one of a place."""
        query, best = self.query, self.result.best
        listed = []
        for n in best[:_NAMED]:
            shown = self.rows[n][1].shown
            named = f"{shown[query.label]} " if query.label not in (None, query.column) else ""  # type: ignore[index]
            value = shown[query.column] if query.column is not None else ""
            listed.append(f"{named}({value})" if named else value)
        listed += self._more(len(best))
        column, kept = self._name(query.column), len(self.result.kept)
        if query.rank > 1:
            told = say(self.language, "number {rank} by “{column}”").format(rank=query.rank, column=column)
            return f"{'; '.join(listed)}: {told}, {self._task(query.task, kept)}{self._place()}."
        kind = _TOP if query.task in ("largest", "last") else _BOTTOM
        told = say(self.language, kind).format(n=query.top, column=column, rows=self._where(self._count(kept)))
        return f"{'; '.join(listed)}: {told}{self._place()}."

    def _compared(self) -> str:
        """Return whether rows are so, their share of all, or how two differ."""
        query, result, language = self.query, self.result, self.language
        if query.task == "check":
            total = len(result.kept)
            value = int(result.value or 0)
            lead = A_("Yes") if value == total else A_("No") if not value else A_("{n} of {total}")
            what = say(language, " and ").join(self._held(one) for one in query.part)
            told = f"{say(language, lead).format(n=value, total=total)}: {what}"
            return f"{self._where(told)}{self._place()}."
        first, second = result.pair
        if query.task == "share":
            value = self._number(result.value, 0 if result.value == round(result.value or 0) else 1)  # type: ignore[arg-type]
            if query.column is None:
                told = say(language, "{value}%: {part} of {whole} rows").format(
                    value=value, part=self._number(first), whole=self._number(second)
                )
            else:
                told = say(language, "{value}%: {part} of {whole} of “{column}”").format(
                    value=value, part=self._value(first), whole=self._value(second), column=self._name(query.column)
                )
            return f"{self._where(told, (*query.filters, *query.part))}{self._place()}."
        if query.minus is not None:
            part, less = self._value(first), said_of(language, self._value(second), self._name(query.minus))
        else:
            part, less = (
                f"{self._value(value)} ({say(language, ' and ').join(map(self._condition, one))})"
                for value, one in ((first, query.part), (second, query.less))
            )
        told = say(language, "{value}: “{column}” is {part} and {less}").format(
            value=self._value(result.value), column=self._name(query.column), part=part, less=less
        )
        return f"{self._where(told)}{self._place()}."

    def _held(self, one: Filter) -> str:
        """Return what the cells that a condition is about hold."""
        name = self._name(one.column)
        shown = list(dict.fromkeys(self.rows[n][1].shown[one.column] for n in self.result.kept))
        if self.result.value not in (0.0, float(len(self.result.kept))) or len(shown) > 1:
            return self._condition(one)
        return said_of(self.language, shown[0], name)

    def value(self) -> str:
        """Return the answer without the names of its tables."""
        return self.text().replace(self._place(), "")

    def notes(self, others: Sequence[str], older: Sequence[str], *, is_whole: bool) -> list[str]:
        """Return what limits the answer, a sentence each."""
        found: list[str] = []
        query, result, language = self.query, self.result, self.language
        if self.understood.leftover:
            words = ", ".join(f"“{word}”" for word in self.understood.leftover)
            found.append(say(language, "Not accounted for: {words}.").format(words=words))
        if query.column is not None and query.task not in ("count", "lookup", "check"):
            name = self._name(query.column)
            wrong = sum(table.columns[at].wrong for table in self.tables for at in (query.column, *query.plus))
            total = sum(table.columns[query.column].filled for table in self.tables)
            if wrong:
                told = say(language, "{n} of {total} cells of “{column}” are of another kind and are not counted.")
                found.append(told.format(n=wrong, total=total, column=name))
            if result.lacking:
                told = say(language, "{n} of these rows have nothing in “{column}”.")
                found.append(told.format(n=result.lacking, column=name))
        if not is_whole or any(table.is_partial for table in self.tables):
            found.append(say(language, "A part of the table could not be read."))
        found += [say(language, "Another table may answer it too: {name}.").format(name=name) for name in others[:1]]
        left_out = say(language, "An older version of the table was left out: {name}.")
        return [*found, *(left_out.format(name=name) for name in older[:1])]

    def _grouped(self) -> str:
        query, groups = self.query, self.result.groups
        assert query.group is not None
        group = self._name(query.group)
        shown: Sequence[Group] = best_groups(query, groups) if query.best else groups
        each = [f"{self._shown(query.group, one.name)} {self._value(one.value)}" for one in shown[:_NAMED]]
        listed = "; ".join([*each, *self._more(len(shown))])
        name = self._name(query.column)
        if query.best and query.name is not None:
            listed = f"{self._listed_cells(query.name, self.result.best)} ({listed})"
        if query.best:
            what = A_("the largest by “{group}”") if query.best == "largest" else A_("the smallest by “{group}”")
            told = say(self.language, what).format(group=group)
            return f"{listed}: {self._where(f'{told}, “{name}”' if name else told)}{self._place()}."
        what = A_("rows by “{group}”") if query.column is None else A_("“{column}” by “{group}”")
        told = self._where(say(self.language, what).format(column=name, group=group))
        return f"{told[:1].upper()}{told[1:]}: {listed}{self._place()}."

    def _looked_up(self) -> str:
        rows = self.result.best or self.result.kept
        shown = self._listed(self.query.column, rows)
        if len(rows) > 1:
            return f"{self._where(self._count(len(rows)))}: {shown}{self._place()}."
        return f"{self._where(f'{shown}: “{self._name(self.query.column)}”')}{self._place()}."

    def _listed(self, column: int | None, rows: Sequence[int] | None = None) -> str:
        """Return what a column shows in rows, each text once; beside the code of a row, its name."""
        rows = self.result.kept if rows is None else rows
        if column is None:
            return ""
        other = self.query.name if column == self.query.label else None
        texts = list(
            dict.fromkeys(
                ", ".join(filter(None, (shown[column] or "–", shown[other] if other is not None else "")))
                for shown in (self.rows[n][1].shown for n in rows)
            )
        )
        return "; ".join([*texts[:_NAMED], *self._more(len(texts))])

    def _listed_cells(self, column: int, rows: Sequence[int]) -> str:
        return "; ".join(list(dict.fromkeys(self.rows[n][1].shown[column] or "–" for n in rows))[:_NAMED])

    def _more(self, n: int) -> list[str]:
        """Return how many more there are than are named; nothing where all are."""
        return [say(self.language, "and {n} more").format(n=n - _NAMED)] if n > _NAMED else []

    def _count(self, n: int) -> str:
        return say_many(self.language, "{n} row", "{n} rows", n).format(n=self._number(n))

    def _task(self, task: str, n: int) -> str:
        """Return what was asked for of so many rows."""
        rows = self._where(self._count(n))
        return say(self.language, _TASKS[task]).format(column=self._name(self.query.column), rows=rows)

    def _place(self) -> str:
        names = list(dict.fromkeys(_place_of(table, table.title) for table in self.tables))
        return f" ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})"

    def _name(self, column: int | None) -> str:
        columns = (column, *(self.query.plus if column == self.query.column else ()))
        return " + ".join("" if one is None else self.columns[one].name or f"{one + 1}" for one in columns)

    def _value(self, value: float | str | None) -> str:
        query = self.query
        if not isinstance(value, float | int) or query.task == "count" or query.column is None:
            return self._number(value)
        column = self.columns[query.column]
        if column.type == "duration":
            return f"{int(value) // 60}:{round(value) % 60:02}"
        added = (query.column, *query.plus)
        places = max(table.columns[at].places for table in self.tables for at in added)
        places = max(places, 2) if query.task in ("mean", "median") and value != round(value, places) else places
        number = self._number(value, places)
        unit = column.unit
        if not unit:
            return number
        if self.language == "en" and unit in "€$£¥₹":
            return f"{unit}{number}"
        return f"{number}{unit}" if unit == "%" and self.language in ("en", "pt") else f"{number} {unit}"

    def _number(self, value: float | str | None, places: int = 0) -> str:
        if not isinstance(value, float | int):
            return str(value or "")
        text = f"{value:,.{places}f}"
        return text.translate(_MARKS[self.language]) if self.language in _MARKS else text

    def _where(self, told: str, filters: Sequence[Filter] | None = None) -> str:
        """Return a text with the conditions of the query behind it, or with other ones."""
        conditions = [self._condition(one) for one in (self.query.filters if filters is None else filters)]
        joined = say(self.language, " and ").join(conditions)
        return say(self.language, "{told} where {conditions}").format(told=told, conditions=joined) if joined else told

    def _condition(self, one: Filter) -> str:
        column, kind = self._name(one.column), self.columns[one.column].type
        shown = [self._shown(one.column, value) for value in one.values]
        phrase: str = one.operator
        if kind == "date":
            if one.operator == "between":
                start, end = map(str, one.values)
                phrase = "within" if end.startswith(start) and end != start else "between"
                phrase = "in" if end == start else phrase
            phrase = {">": "after", ">=": "since", "<": "before", "<=": "until"}.get(phrase, phrase)
        listed = say(self.language, " or ").join(shown[:6]) + (" …" if len(shown) > 6 else "")
        is_span = one.operator == "months" or one.operator == "between"
        first, last = (shown[0], shown[-1]) if is_span else (listed, "")
        return say(self.language, _CONDITIONS[phrase]).format(column=column, value=first, other=last)

    def _shown(self, column: int, value: Sql) -> str:
        if isinstance(value, float):
            if self.columns[column].type == "bool":
                return say(self.language, A_("yes") if value else A_("no"))
            if self.columns[column].type == "duration":
                return f"{int(value) // 60}:{round(value) % 60:02}"
            return self._number(value, 0 if value == int(value) else self.columns[column].places).replace(",", "") if (
                self._is_plain(value)
            ) else self._number(value, self.columns[column].places)  # fmt: skip
        return str(value if value is not None else "–")

    def _is_plain(self, value: float) -> bool:
        """Return whether a number may be a year or name its row: it is shown without groups of digits."""
        return value == int(value) and abs(value) < 10_000


def said_of(language: str, shown: str, column: str) -> str:
    """Return what a cell holds as a sentence."""
    held = A_("“{column}” is {value}", "sentence") if shown else A_("“{column}” is empty", "sentence")
    return say(language, held, "sentence").format(column=column, value=shown)


def _place_of(table: Table, called: str) -> str:
    part = table.about.caption or table.about.sheet
    return f"{called}, {part}" if part and part.casefold() not in called.casefold() else called


def told(
    understood: Understood,
    result: Result,
    language: str,
    catalog: Catalog,
    *,
    others: Sequence[str] = (),
    older: Sequence[Table] = (),
    earlier: Earlier | None = None,
    is_whole: bool = True,
) -> TableAnswer | None:
    """Return the answer to a query; None where no row holds it, or the pages of its rows are gone.

    `others` are names of tables that may answer too, `older` older versions that were left out, and `earlier` what the
    latest of them says to the same query. Where it `is_whole`, all tables
    that may hold such rows were read.
    """
    telling = Telling(understood, result, language)
    rows = result.best if understood.query.task != "count" or understood.query.best else result.kept
    sources = _sources(telling, rows, catalog)
    if not sources:
        return None
    is_told = telling.query.task == "lookup" or not result.wrong  # a cell of another kind is shown as it is
    is_sure = understood.is_sure and not others and is_told and not result.is_tied and _is_clear(telling)
    is_sure = is_sure and not (understood.is_of_one and len(result.kept) > 1)
    is_sure = is_sure and is_whole and not any(table.is_partial for table in understood.tables)
    text = telling.text()
    lead = "" if is_sure else say(language, "This may answer it:") + " "
    numbers = tuple(source.n for source in sources)
    sentences = [Sentence(text, len(lead), len(lead) + len(text), numbers, supported=True)]
    answer = lead + text + "".join(f" [{n}]" for n in numbers)
    said_before = _said_before(telling, earlier, language, catalog)
    if said_before is not None:
        before, cited = said_before
        cited = tuple(replace(source, n=source.n + len(sources)) for source in cited)
        answer += " "
        own = tuple(source.n for source in cited)
        sentences.append(Sentence(before, len(answer), len(answer) + len(before), own, supported=True))
        answer += before + "".join(f" [{n}]" for n in own)
        sources += cited
    left_out = [table.document for table in older] if said_before is None else []
    for note in telling.notes(others, left_out, is_whole=is_whole):
        answer += " "
        sentences.append(Sentence(note, len(answer), len(answer) + len(note), is_claim=False))
        answer += note
    checked = Verified(answer, tuple(sentences), sources)
    return TableAnswer(checked, "answer" if is_sure else "maybe", _computed(telling, rows))


def _is_clear(telling: Telling) -> bool:
    """Return whether what was found answers the question: not where all cells of it are empty, or rows disagree."""
    query, result = telling.query, telling.result
    if query.task == "lookup" and query.column is not None:
        return any(telling.rows[n][1].shown[query.column] for n in result.kept)
    if query.task == "check":
        return result.value in (0.0, float(len(result.kept)))
    if query.task in ("largest", "smallest") and query.filters and query.group is None and len(result.kept) == 1:
        return False  # nothing is compared: `minimum` may be the name of what is asked for
    if query.column is not None and query.task != "count" and _is_of_several_currencies(telling):
        return False
    return query.task not in ("share", "difference") or (result.value is not None and not result.lacking)


def _is_of_several_currencies(telling: Telling) -> bool:
    """Return whether a column beside the numbers says that they are of several currencies."""
    for at, column in enumerate(telling.columns):
        said = {telling.rows[n][1].shown[at] for n in telling.result.kept} if column.type == "text" else set()
        if len(said - {""}) > 1 and said - {""} <= CURRENCIES:
            return True
    return False


def _said_before(
    telling: Telling, earlier: Earlier | None, language: str, catalog: Catalog
) -> tuple[str, tuple[Source, ...]] | None:
    """Return what an earlier version says in the place of an answer, with its sources; None where it says the same."""
    if earlier is None:
        return None
    before = Telling(earlier.understood, earlier.result, language)
    rows = earlier.result.best if before.query.task != "count" or before.query.best else earlier.result.kept
    if not rows or before.value() == telling.value():
        return None
    sources = _sources(before, rows, catalog)
    return (f"{lead_of(earlier.version)} {before.text()}", sources) if sources else None


def _computed(telling: Telling, rows: Sequence[int]) -> Computed:
    held, first = [telling.rows[n] for n in rows], telling.tables[0]
    names = tuple(column.name or f"{at + 1}" for at, column in enumerate(telling.columns))
    return Computed(
        query=sql_of(telling.query, telling.columns, _place_of(first, first.document), first.join),
        columns=names,
        rows=tuple(tuple(cell[:_CELL] for cell in row.shown) for _table, row in held[:LISTED]),
        rows_total=len(held),
        doc_ids=tuple(
            dict.fromkeys(
                doc_id
                for table, row in telling.rows
                for doc_id in (table.doc_id, *([row.beside.table.doc_id] if row.beside else []))
            )
        )
        or tuple(table.doc_id for table in telling.tables),
        counts=_counts(held),
    )


def _counts(held: Sequence[tuple[Table, Row]]) -> tuple[RowsOf, ...]:
    """Return how many rows of each document these are, with the rows of other tables that they name."""
    found: dict[str, set[tuple[int, tuple[int, int]]]] = {}
    for table, row in held:
        found.setdefault(table.doc_id, set()).add((row.page_no, row.span))
        if row.beside is not None:
            found.setdefault(row.beside.table.doc_id, set()).add((row.beside.row.page_no, row.beside.row.span))
    return tuple(RowsOf(doc_id, len(rows), len({page for page, _span in rows})) for doc_id, rows in found.items())


def _beside(rows: Sequence[Row], columns: Sequence[int]) -> list[tuple[Table, Row, list[int]]]:
    """Return the rows of another table that rows name, each once, with the columns of them that an answer rests on."""
    found: dict[tuple[int, int], tuple[Table, Row, list[int]]] = {}
    for beside in (row.beside for row in rows):
        if beside is not None:
            used = [beside.kept[at - beside.start] for at in columns if at >= beside.start]
            found.setdefault((beside.row.page_no, beside.row.span[0]), (beside.table, beside.row, used))
    return list(found.values())


def _sources(telling: Telling, rows: Sequence[int], catalog: Catalog) -> tuple[Source, ...]:
    """Return the first rows of an answer as sources, with boxes over the cells that it rests on."""
    query = telling.query
    used = [query.column, *query.plus, *(one.column for one in (*query.filters, *query.part, *query.less)), query.group]
    used += [query.minus, query.name if query.best else None]
    if query.task not in ("sum", "mean", "median") or not query.filters:
        used.append(query.label)
    columns = list(dict.fromkeys(column for column in used if column is not None)) or [0]
    cited = [(table, row, columns) for table, row in (telling.rows[n] for n in rows[:CITED])]
    cited += _beside([telling.rows[n][1] for n in rows[:CITED]], columns)
    pages = catalog.pages((table.doc_id, row.page_no) for table, row, _columns in cited)
    placed: dict[tuple[str, int], Words] = {}
    epoch = catalog.epoch()
    sources: list[Source] = []
    for table, row, used in cited:
        page = pages.get((table.doc_id, row.page_no))
        if page is None or page.text[slice(*row.span)] != row.text:  # erased or read again since
            return ()
        key = table.doc_id, row.page_no
        if key not in placed:
            placed[key] = Words.unpack(page.words)
        spans = sorted({place for at in used if (place := row.place(at))[1] > place[0]})
        boxes = [box for span in spans for box in placed[key].boxes_of(*span)]
        n = len(sources) + 1
        sources.append(page_source(n, table.document, page, epoch=epoch, quote=row.text, boxes=boxes))
    return tuple(sources)
