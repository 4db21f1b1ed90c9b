"""What a query found, in words: the answer with the cells it rests on as its sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from docmind.answers import Verified, lead_of, page_source
from docmind.documents import Catalog, Version, Words
from docmind.records.answers import Computed, Outcome, Sentence, Source
from docmind.tables.loading import Row, Table
from docmind.tables.query import Filter, Result, sql_of
from docmind.tables.understanding import Understood
from docmind.tables.values import Sql

CITED = 12  # rows of an answer that are sources
LISTED = 100  # rows of an answer that are listed
_NAMED = 12  # rows or groups that the text names
_CELL = 300  # characters of a listed cell

_SAID: dict[str, dict[str, str]] = {
    "en": {
        "sum": "the sum of “{column}” over {rows}", "mean": "the mean of “{column}” over {rows}",
        "largest": "the largest “{column}” of {rows}", "smallest": "the smallest “{column}” of {rows}",
        "first": "the first “{column}” of {rows}", "last": "the last “{column}” of {rows}",
        "one row": "1 row", "rows": "{n} rows", "where": " where {conditions}", "and": " and ", "or": " or ",
        "in": "“{column}” is {value}", "not in": "“{column}” is not {value}", "=": "“{column}” is {value}",
        ">": "“{column}” is over {value}", ">=": "“{column}” is {value} or more",
        "<": "“{column}” is under {value}", "<=": "“{column}” is {value} or less",
        "after": "“{column}” is after {value}", "since": "“{column}” is {value} or later",
        "before": "“{column}” is before {value}", "until": "“{column}” is {value} or earlier",
        "between": "“{column}” is from {value} to {other}", "within": "“{column}” is in {value}",
        "month": "“{column}” is in month {value}", "is null": "“{column}” is empty",
        "is not null": "“{column}” is filled in",
        "yes": "yes", "no": "no", "distinct": "{n} different “{column}” in {rows}", "by": "“{column}” by “{group}”",
        "count by": "rows by “{group}”", "more": "and {n} more", "maybe": "This may answer it:",
        "leftover": "Not accounted for: {words}.",
        "wrong": "{n} of {total} cells of “{column}” are of another kind and are not counted.",
        "lacking": "{n} of these rows have nothing in “{column}”.",
        "partial": "A part of the table could not be read.", "other": "Another table may answer it too: {name}.",
        "older": "An older version of the table was left out: {name}.", "most by": "the largest by “{group}”",
        "least by": "the smallest by “{group}”",
    },
    "pt": {
        "sum": "a soma de “{column}” em {rows}", "mean": "a média de “{column}” em {rows}",
        "largest": "o maior valor de “{column}” em {rows}", "smallest": "o menor valor de “{column}” em {rows}",
        "first": "o primeiro valor de “{column}” em {rows}", "last": "o último valor de “{column}” em {rows}",
        "one row": "1 linha", "rows": "{n} linhas", "where": " em que {conditions}", "and": " e ", "or": " ou ",
        "in": "“{column}” é {value}", "not in": "“{column}” não é {value}", "=": "“{column}” é {value}",
        ">": "“{column}” é superior a {value}", ">=": "“{column}” é {value} ou mais",
        "<": "“{column}” é inferior a {value}", "<=": "“{column}” é {value} ou menos",
        "after": "“{column}” é depois de {value}", "since": "“{column}” é {value} ou depois",
        "before": "“{column}” é antes de {value}", "until": "“{column}” é {value} ou antes",
        "between": "“{column}” é de {value} a {other}", "within": "“{column}” é em {value}",
        "month": "“{column}” é no mês {value}", "is null": "“{column}” está vazio",
        "is not null": "“{column}” está preenchido",
        "yes": "sim", "no": "não", "distinct": "{n} valores diferentes de “{column}” em {rows}",
        "by": "“{column}” por “{group}”", "count by": "linhas por “{group}”", "more": "e mais {n}",
        "maybe": "Isto pode responder:", "leftover": "Não foi considerado: {words}.",
        "wrong": "{n} de {total} células de “{column}” são de outro tipo e não contam.",
        "lacking": "{n} destas linhas não têm nada em “{column}”.",
        "partial": "Uma parte da tabela não pôde ser lida.", "other": "Outra tabela também pode responder: {name}.",
        "older": "Uma versão anterior da tabela não foi usada: {name}.", "most by": "o maior por “{group}”",
        "least by": "o menor por “{group}”",
    },
    "es": {
        "sum": "la suma de “{column}” en {rows}", "mean": "la media de “{column}” en {rows}",
        "largest": "el mayor valor de “{column}” en {rows}", "smallest": "el menor valor de “{column}” en {rows}",
        "first": "el primer valor de “{column}” en {rows}", "last": "el último valor de “{column}” en {rows}",
        "one row": "1 fila", "rows": "{n} filas", "where": " donde {conditions}", "and": " y ", "or": " o ",
        "in": "“{column}” es {value}", "not in": "“{column}” no es {value}", "=": "“{column}” es {value}",
        ">": "“{column}” es mayor que {value}", ">=": "“{column}” es {value} o más",
        "<": "“{column}” es menor que {value}", "<=": "“{column}” es {value} o menos",
        "after": "“{column}” es después de {value}", "since": "“{column}” es {value} o después",
        "before": "“{column}” es antes de {value}", "until": "“{column}” es {value} o antes",
        "between": "“{column}” es de {value} a {other}", "within": "“{column}” es en {value}",
        "month": "“{column}” es en el mes {value}", "is null": "“{column}” está vacío",
        "is not null": "“{column}” está relleno",
        "yes": "sí", "no": "no", "distinct": "{n} valores distintos de “{column}” en {rows}",
        "by": "“{column}” por “{group}”", "count by": "filas por “{group}”", "more": "y {n} más",
        "maybe": "Esto puede responder:", "leftover": "No se ha tenido en cuenta: {words}.",
        "wrong": "{n} de {total} celdas de “{column}” son de otro tipo y no cuentan.",
        "lacking": "{n} de estas filas no tienen nada en “{column}”.",
        "partial": "Una parte de la tabla no se pudo leer.", "other": "Otra tabla también puede responder: {name}.",
        "older": "No se usó una versión anterior de la tabla: {name}.", "most by": "el mayor por “{group}”",
        "least by": "el menor por “{group}”",
    },
}  # fmt: skip


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
    """The words for one result, in the language of the question; those of other languages are English."""

    def __init__(self, understood: Understood, result: Result, language: str) -> None:
        self.understood, self.result = understood, result
        self.query, self.tables = understood.query, understood.tables
        self.columns = understood.tables[0].columns
        self.is_comma = language in ("pt", "es")
        self.said = _SAID.get(language, _SAID["en"])
        self.rows: list[tuple[Table, Row]] = [(table, row) for table in self.tables for row in table.rows]

    def text(self) -> str:
        """Return the answer in one sentence."""
        query, result = self.query, self.result
        if query.group is not None:
            return self._grouped()
        if query.task == "count":
            rows = self._count(len(result.kept)) + self._where()
            if not query.is_distinct:
                return f"{rows}{self._place()}."
            names = self._listed(query.column)
            told = self.said["distinct"].format(
                n=self._number(result.value), column=self._name(query.column), rows=rows
            )
            return f"{told}: {names}{self._place()}."
        if query.task == "lookup":
            return self._looked_up()
        column = self._name(query.column)
        if query.task in ("sum", "mean"):
            told = self.said[query.task].format(column=column, rows=self._count(len(result.best)) + self._where())
            if len(result.best) == 1 and query.task == "sum":
                return self._looked_up()
            return f"{self._value(result.value)}: {told}{self._place()}."
        told = self.said[query.task].format(column=column, rows=self._count(len(result.kept)) + self._where())
        names = self._listed(query.label, result.best) if query.label != query.column else ""
        shown = self._listed(query.column, result.best)
        return f"{names} ({shown}): {told}{self._place()}." if names else f"{shown}: {told}{self._place()}."

    def value(self) -> str:
        """Return the answer without the names of its tables."""
        return self.text().replace(self._place(), "")

    def notes(self, others: Sequence[str], older: Sequence[str], *, is_whole: bool) -> list[str]:
        """Return what limits the answer, a sentence each."""
        said, found = self.said, []
        query, result = self.query, self.result
        if self.understood.leftover:
            found.append(said["leftover"].format(words=", ".join(f"“{word}”" for word in self.understood.leftover)))
        if query.column is not None and query.task not in ("count", "lookup"):
            name = self._name(query.column)
            wrong = sum(table.columns[query.column].wrong for table in self.tables)
            total = sum(table.columns[query.column].filled for table in self.tables)
            found += [said["wrong"].format(n=wrong, total=total, column=name)] if wrong else []
            found += [said["lacking"].format(n=result.lacking, column=name)] if result.lacking else []
        found += [said["partial"]] if not is_whole or any(table.is_partial for table in self.tables) else []
        found += [said["other"].format(name=name) for name in others[:1]]
        found += [said["older"].format(name=name) for name in older[:1]]
        return found

    def _grouped(self) -> str:
        query, groups = self.query, self.result.groups
        assert query.group is not None
        group = self._name(query.group)
        shown = [one for one in groups if not query.best or one.value == groups[0].value]
        listed = "; ".join(f"{self._shown(query.group, one.name)} {self._value(one.value)}" for one in shown[:_NAMED])
        more = f"; {self.said['more'].format(n=len(shown) - _NAMED)}" if len(shown) > _NAMED else ""
        what = self.said["count by"] if query.column is None else self.said["by"]
        told = what.format(column=self._name(query.column), group=group) + self._where()
        if query.best:
            told = self.said["most by" if query.best == "largest" else "least by"].format(group=group)
            named = self._name(query.column)
            told += f", “{named}”{self._where()}" if named else self._where()
            return f"{listed}{more}: {told}{self._place()}."
        return f"{told[:1].upper()}{told[1:]}: {listed}{more}{self._place()}."

    def _looked_up(self) -> str:
        rows = self.result.best or self.result.kept
        shown = self._listed(self.query.column, rows)
        if len(rows) > 1:
            return f"{self._count(len(rows))}{self._where()}: {shown}{self._place()}."
        return f"{shown}: “{self._name(self.query.column)}”{self._where()}{self._place()}."

    def _listed(self, column: int | None, rows: Sequence[int] | None = None) -> str:
        """Return what a column shows in rows, each text once."""
        rows = self.result.kept if rows is None else rows
        if column is None:
            return ""
        texts = list(dict.fromkeys(self.rows[n][1].shown[column] or "–" for n in rows))
        more = [self.said["more"].format(n=len(texts) - _NAMED)] if len(texts) > _NAMED else []
        return "; ".join([*texts[:_NAMED], *more])

    def _count(self, n: int) -> str:
        return self.said["one row"] if n == 1 else self.said["rows"].format(n=self._number(n))

    def _place(self) -> str:
        names = list(dict.fromkeys(_place_of(table) for table in self.tables))
        return f" ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})"

    def _name(self, column: int | None) -> str:
        return "" if column is None else self.columns[column].name or f"{column + 1}"

    def _value(self, value: float | str | None) -> str:
        query = self.query
        if not isinstance(value, float | int) or query.task == "count" or query.column is None:
            return self._number(value)
        column = self.columns[query.column]
        if column.type == "duration":
            return f"{int(value) // 60}:{round(value) % 60:02}"
        places = max(table.columns[query.column].places for table in self.tables)
        places = max(places, 2) if query.task == "mean" and value != round(value, places) else places
        number = self._number(value, places)
        unit = column.unit
        if not unit:
            return number
        if unit in "€$£¥₹":
            return f"{unit}{number}"
        return f"{number}{unit}" if unit == "%" else f"{number} {unit}"

    def _number(self, value: float | str | None, places: int = 0) -> str:
        if not isinstance(value, float | int):
            return str(value or "")
        text = f"{value:,.{places}f}"
        return text.translate(str.maketrans(",.", ".,")) if self.is_comma else text

    def _where(self) -> str:
        conditions = [self._condition(one) for one in self.query.filters]
        return self.said["where"].format(conditions=self.said["and"].join(conditions)) if conditions else ""

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
        listed = self.said["or"].join(shown[:6]) + (" …" if len(shown) > 6 else "")
        is_span = kind == "date" and one.operator == "between"
        first, last = (shown[0], shown[-1]) if is_span else (listed, "")
        return self.said[phrase].format(column=column, value=first, other=last)

    def _shown(self, column: int, value: Sql) -> str:
        if isinstance(value, float):
            if self.columns[column].type == "bool":
                return self.said["yes" if value else "no"]
            return self._number(value, 0 if value == int(value) else self.columns[column].places).replace(",", "") if (
                self._is_plain(value)
            ) else self._number(value, self.columns[column].places)  # fmt: skip
        return str(value if value is not None else "–")

    def _is_plain(self, value: float) -> bool:
        """Return whether a number may be a year or name its row: it is shown without groups of digits."""
        return value == int(value) and abs(value) < 10_000


def _place_of(table: Table) -> str:
    part = table.about.caption or table.about.sheet
    return f"{table.document}, {part}" if part and part.casefold() not in table.document.casefold() else table.document


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
    is_sure = understood.is_sure and not others and not result.wrong
    is_sure = is_sure and is_whole and not any(table.is_partial for table in understood.tables)
    text = telling.text()
    lead = "" if is_sure else telling.said["maybe"] + " "
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
    held = [telling.rows[n] for n in rows]
    names = tuple(column.name or f"{at + 1}" for at, column in enumerate(telling.columns))
    return Computed(
        query=sql_of(telling.query, telling.columns, _place_of(telling.tables[0])),
        columns=names,
        rows=tuple(tuple(cell[:_CELL] for cell in row.shown) for _table, row in held[:LISTED]),
        rows_total=len(held),
        doc_ids=tuple(dict.fromkeys(table.doc_id for table in telling.tables)),
    )


def _sources(telling: Telling, rows: Sequence[int], catalog: Catalog) -> tuple[Source, ...]:
    """Return the first rows of an answer as sources, with boxes over the cells that it rests on."""
    query = telling.query
    used = [query.column, *(one.column for one in query.filters), query.group]
    if query.task not in ("sum", "mean") or not query.filters:
        used.append(query.label)
    columns = list(dict.fromkeys(column for column in used if column is not None)) or [0]
    cited = [telling.rows[n] for n in rows[:CITED]]
    pages = catalog.pages((table.doc_id, row.page_no) for table, row in cited)
    placed: dict[tuple[str, int], Words] = {}
    epoch = catalog.epoch()
    sources: list[Source] = []
    for table, row in cited:
        page = pages.get((table.doc_id, row.page_no))
        if page is None or page.text[slice(*row.span)] != row.text:  # erased or read again since
            return ()
        key = table.doc_id, row.page_no
        if key not in placed:
            placed[key] = Words.unpack(page.words)
        spans = sorted({row.cells[at] for at in columns if row.cells[at][1] > row.cells[at][0]})
        boxes = [box for span in spans for box in placed[key].boxes_of(*span)]
        n = len(sources) + 1
        sources.append(page_source(n, table.document, page, epoch=epoch, quote=row.text, boxes=boxes))
    return tuple(sources)
