"""The table of docs/reliability.md: all rows are there, and a suite replaces its own row only."""

from __future__ import annotations

import re

import pytest

from faults import counted, table
from faults.points import Tally

PAGE = table.PAGE.read_text("utf-8")


def test_the_page_has_a_row_for_every_suite() -> None:
    lines = table.lines_of(PAGE)
    assert list(lines) == [row.title for row in table.ROWS]
    for row in table.ROWS:
        cells = [cell.strip() for cell in lines[row.title].split("|")[1:-1]]
        assert cells[1] == f"{row.aim:,}"
        assert cells[2] == "not measured" or re.fullmatch(r"[\d,]+", cells[2])


def test_the_page_explains_every_suite() -> None:
    for row in table.ROWS:
        assert f"`{row.suite}`" in PAGE.partition(table.END)[2], row.suite


@pytest.mark.parametrize("row", table.ROWS, ids=lambda row: row.suite)
def test_a_measured_row_has_nothing_lost(row: table.Row) -> None:
    cells = [cell.strip().replace(",", "") for cell in table.lines_of(PAGE)[row.title].split("|")[1:-1]]
    if cells[2].isdecimal():
        assert cells[2:5] == [cells[2], cells[2], "0"]


def test_a_suite_writes_its_own_row_alone() -> None:
    tally = Tally(tried=3, survived=2, lost=1, findings=["x"])
    tally.counts.update({"killed": 2, "full once": 1})
    text = table.written(PAGE, "kills", tally, 7, "1.2.3")
    before, after = table.lines_of(PAGE), table.lines_of(text)
    assert {title for title in after if after[title] != before[title]} == {"Random kills"}
    assert "| 3 | 2 | 1 | killed 2, full once 1 |" in after["Random kills"]
    assert "1.2.3, seed 7" in after["Random kills"]
    assert text.partition(table.BEGIN)[0] == PAGE.partition(table.BEGIN)[0]
    assert text.partition(table.END)[2] == PAGE.partition(table.END)[2]
    assert table.written(text, "kills", tally, 7, "1.2.3") == text
    assert table.lines_of(table.written(text, "kills", Tally(), 7, "1.2.3"))["Random kills"].count("not measured") == 1


def test_counted_suites_name_tests_that_exist() -> None:
    for suite in ("bundles", "canaries"):
        file, name = counted.SUITES[suite]
        assert f"def {name}(" in (table.ROOT / file).read_text("utf-8")
