"""Tables compared with a question: conditions keep the rows that the query keeps, and names of columns have words."""

from __future__ import annotations

import numpy as np
import pytest

from docmind.blocks import PageTable
from docmind.embedding import Meanings
from docmind.tables.loading import Row, Table
from docmind.tables.naming import names_of
from docmind.tables.query import Filter, TableQuery, run
from docmind.tables.shapes import Shape, letters_shared, parted, plain
from docmind.tables.values import Column
from meanings import Toy

COLUMNS = (Column("Name"), Column("Size", "number"), Column("Born", "date"), Column("Sold", "bool"))
ROWS = (
    ("elm", 4.0, "2024-03-02", 1.0),
    ("oak", 6.5, "2024-11", 0.0),
    ("ash", None, None, None),
    ("elm", 1.0, "2023", 1.0),
)


@pytest.fixture
def shape() -> Shape:
    made = tuple(Row(1, (0, 9), (), tuple(str(cell or "") for cell in row), "") for row in ROWS)
    table = Table("d", "d.csv", "d", "d", PageTable(tuple(one.name for one in COLUMNS)), (), COLUMNS, made, ROWS)
    return Shape(names_of([table]), Meanings(Toy()))


@pytest.mark.parametrize(
    "condition",
    [
        Filter(0, "in", ("elm", "ash")), Filter(0, "not in", ("elm",)), Filter(1, "=", (4.0,)), Filter(1, ">", (4.0,)),
        Filter(1, ">=", (4.0,)), Filter(1, "<", (4.0,)), Filter(1, "<=", (4.0,)), Filter(1, "between", (1.0, 5.0)),
        Filter(1, "is null"), Filter(1, "is not null"), Filter(2, "between", ("2024", "2024-12-31")),
        Filter(2, "month", ("03", "11")), Filter(2, "months", ("01", "06")), Filter(2, ">", ("2024-01-01",)),
        Filter(2, "weekday", ("6",)), Filter(3, "=", (1.0,)), Filter(3, "=", (0.0,)),
    ],
)  # fmt: skip
def test_a_condition_keeps_the_rows_that_the_query_keeps(shape: Shape, condition: Filter) -> None:
    kept = run(TableQuery("lookup", (condition,), 0), shape.names.tables).kept
    assert tuple(np.flatnonzero(shape.kept([condition]))) == kept


def test_conditions_are_all_to_hold(shape: Shape) -> None:
    assert list(np.flatnonzero(shape.kept([Filter(0, "in", ("elm",)), Filter(1, ">", (2.0,))]))) == [0]
    assert shape.kept([]).all()


def test_it_tells_which_columns_have_gaps_and_name_their_rows(shape: Shape) -> None:
    assert shape.has_gaps == [False, True, True, True]
    assert shape.is_unique == [False, True, True, False]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Auszahlungen_2026_EUR", "Auszahlungen 2026 EUR"), ("schuelerMaennlich", "schueler Maennlich"),
        ("Net (GBP)", "Net (GBP)"), ("PRCP", "PRCP"), ("", ""),
    ],
)  # fmt: skip
def test_a_name_is_parted_into_words(name: str, words: str) -> None:
    assert parted(name) == words


def test_umlauts_and_letters_tell_how_alike_words_are() -> None:
    assert plain("muenster") == plain("munster")
    assert letters_shared("nuclear", "nuclear") == 1
    assert letters_shared("beatriz", "beatris") > 0.6 > letters_shared("horse", "house")
