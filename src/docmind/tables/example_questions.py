"""Questions that a table answers: a total, the row with the most of something, or what a row says under a heading."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docmind.language import fold
from docmind.tables.loading import Table
from docmind.tables.values import Column
from docmind.wording import say

ROWS = 4  # from which a total or an extreme is worth a question
_LABEL = re.compile(r"[^\W\d_][\w’'-]+(?: [\w’'-]+){0,2}")
_HEADER = re.compile(r"[^\W\d_]{3,}(?: [^\W\d_]{2,}){0,2}")


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_TOTALLED = _set(
    """amount cost costs expense expenses sales revenue turnover income paid spent hours consumption quantity montante
    custo custos despesa despesas vendas receita horas consumo quantidade importe monto coste gasto gastos ventas
    ingresos cantidad"""
)  # folded names of columns whose sum is asked for
_COMPARED = _set("price temperature salary score rate speed preco temperatura salario nota taxa precio sueldo tasa")
_LOOKED_UP = {  # the folded name of a column: how its value is called
    "phone": "phone number", "telephone": "phone number", "mobile": "phone number", "phone number": "phone number",
    "email": "email", "e-mail": "e-mail", "address": "address",
    "telefone": "telefone", "endereco": "endereço", "telefono": "teléfono",
}  # fmt: skip
_CURRENCY = re.compile(r"(?<!\s)\s*+[(\[]?(?:EUR|USD|GBP|CHF|BRL|€|\$|£)[)\]]?$")
_VAGUE = _set("name names nome nombre note notes item id no number group kind type key value date")
_ASKED_IN = ("", "en", "es", "pt")


def questions_of(table: Table, title: str, language: str) -> Iterator[str]:
    """Yield questions about a table of a document with this title, those that are asked most first.

    `language` is that of its headers; only English, Portuguese and Spanish make any.
    """
    if language not in _ASKED_IN:
        return
    is_english = language in ("", "en")
    label = _label_of(table)
    named = _written(label) if label is not None and fold(_written(label)) not in _VAGUE else ""
    columns = [one for one in table.columns if one.type == "number" and not one.wrong]
    for column in columns if len(table.rows) >= ROWS else ():
        name = _written(column)
        known = fold(name) if _HEADER.fullmatch(name) else ""
        if known in _TOTALLED and column.filled > 1:
            yield say(language, "What is the total {column} in {title}?").format(column=name, title=title)
        elif is_english and known in _COMPARED:
            yield f"Which {named} has the highest {name}?" if named else f"What is the highest {name} in {title}?"
        elif is_english and known.endswith("s") and known not in _VAGUE and named:
            yield f"Which {named} has the most {name}?"
    yield from _looked_up(table, say(language, "What is the {column} of {label}?"), label)


def _looked_up(table: Table, ask: str, label: Column | None) -> Iterator[str]:
    """Yield a question for what the first row says under a heading that is known."""
    at = table.columns.index(label) if label is not None else -1
    for n, column in enumerate(table.columns):
        known = _LOOKED_UP.get(fold(column.name.lower()))
        if known is None or n == at or at < 0:
            continue
        row = next((row for row in table.rows if row.shown[n] and _LABEL.fullmatch(row.shown[at])), None)
        if row is not None:
            yield ask.format(column=known, label=row.shown[at])


def _label_of(table: Table) -> Column | None:
    """Return the column that names the rows: the first, where no two of its cells are alike."""
    if not table.columns or not table.rows or not _HEADER.fullmatch(table.columns[0].name):
        return None
    shown = [row.shown[0] for row in table.rows]
    return table.columns[0] if len(set(shown)) == len(shown) and all(shown) else None


def _written(column: Column) -> str:
    """Return the name of a column as it stands in a question, without its currency."""
    name = _CURRENCY.sub("", column.name)
    return name if name.isupper() and len(name) <= 4 else name.lower()
