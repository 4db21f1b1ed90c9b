"""Typed cells: numbers in five notations, dates, durations, yes and no; what is of another type is counted."""

from __future__ import annotations

import pytest

from docmind.tables.values import typed


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1,234.56", "7.5"], "number", [1234.56, 7.5]),
        (["1.234,56 €", "99,90 €"], "number", [1234.56, 99.9]),
        (["1 234,5", "12"], "number", [1234.5, 12]),
        (["1'234.50", "3"], "number", [1234.5, 3]),
        (["$1,250", "($80)"], "number", [1250, -80]),
        (["12.5%", "3%"], "number", [12.5, 3]),
        (["45,000[2]", "1,200[3] EUR", "12"], "number", [45_000, 1_200, 12]),  # marks of notes
        (["18.50 EUR", "−4.00 EUR"], "number", [18.5, -4]),
        (["2025-03-18", "2024-01-02 10:30"], "date", ["2025-03-18", "2024-01-02"]),
        (["03.02.2024", "17.11.2023"], "date", ["2024-02-03", "2023-11-17"]),
        (["04/13/2024", "01/02/2024"], "date", ["2024-04-13", "2024-01-02"]),
        (["12 May 2025", "3 de junio de 2024"], "date", ["2025-05-12", "2024-06-03"]),
        (["15-Jan-2024", "1er mars 2024"], "date", ["2024-01-15", "2024-03-01"]),
        (["May 2025", "March 2024"], "date", ["2025-05", "2024-03"]),
        (["Aprıl 2025", "JUNI 2024"], "date", ["2025-04", "2024-06"]),
        (["+21", "-7"], "number", [21, -7]),
        (["1:30", "0:45"], "duration", [90, 45]),
        (["yes", "no", "sim"], "bool", [1, 0, 1]),
        (["+351 912 555 010", "+351 912 555 011"], "text", ["+351 912 555 010", "+351 912 555 011"]),
        (["000042", "000043"], "text", ["000042", "000043"]),
        (["red", "blue"], "text", ["red", "blue"]),
        (["", "-"], "empty", [None, None]),
    ],
)
def test_cells_are_read_as_what_most_of_them_are(cells: list[str], kind: str, values: list[object]) -> None:
    column, found = typed("c", cells, is_english=True)
    assert column.type == kind
    assert found == values


def test_cells_of_another_type_are_counted_and_have_no_value() -> None:
    column, found = typed("Price", ["12.50", "ask", "", "7.30", "9"], is_english=True)
    assert found == [12.5, None, None, 7.3, 9]
    assert (column.wrong, column.filled, column.places) == (1, 4, 2)


@pytest.mark.parametrize(("is_english", "value"), [(True, 1234.0), (False, 1.234)])
def test_the_language_reads_a_comma_that_nothing_tells(value: float, *, is_english: bool) -> None:
    assert typed("c", ["1,234"], is_english=is_english)[1] == [value]


def test_dates_that_nothing_orders_are_unsure() -> None:
    assert typed("Day", ["03/04/2025", "01/02/2025"], is_english=True)[0].is_unsure
    assert not typed("Day", ["03/04/2025", "21/02/2025"], is_english=True)[0].is_unsure
