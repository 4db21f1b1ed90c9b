"""Units that can be quoted: spans of the unchanged page text."""

from __future__ import annotations

from itertools import pairwise

import pytest

from docmind.answers.sentences import LONGEST, units


def cut(text: str) -> list[str]:
    return [text[start:end] for start, end in units(text)]


def test_prose_is_cut_at_sentences_across_lines() -> None:
    text = (
        "The controller shall repair the damage that was caused by\nthe processing."
        " It may be fined up to two percent of sales."
    )
    assert cut(text) == [
        "The controller shall repair the damage that was caused by\nthe processing.",
        "It may be fined up to two percent of sales.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "As Dr. Smith wrote in vol. 3 of the series, nothing changed.",
        "O art. 52 da Lei nº 13.709 trata das sanções administrativas.",
        "Revenue was 3.5 billion dollars in the U.S. market this year.",
    ],
)
def test_abbreviations_and_numbers_do_not_end_a_sentence(text: str) -> None:
    assert cut(text) == [text]


def test_rows_of_a_table_stand_alone() -> None:
    text = "Net sales $ 3,226,773 $ 2,729,419\nCost of sales 2,014,270 1,687,232\nGross profit 1,212,503 1,042,187"
    assert cut(text) == text.split("\n")


def test_spans_are_in_order_and_never_overlap() -> None:
    text = "One thing. " * 30 + "\n\n" + "- an item\n- another item\n" + "word " * 300
    spans = units(text)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert "".join(cut(text)).replace(" ", "").replace("\n", "") == text.replace(" ", "").replace("\n", "")


def test_endless_sentences_are_cut() -> None:
    assert max(len(unit) for unit in cut("word " * 1_000)) <= LONGEST
    assert max(len(unit) for unit in cut("x" * 3_000)) <= LONGEST


@pytest.mark.parametrize("text", ["", "  \n \n\t"])
def test_nothing_gives_nothing(text: str) -> None:
    assert units(text) == []


def test_a_line_that_ends_in_a_function_word_goes_on() -> None:
    text = "This lease is made between Ann and Jonas for the mill house in\nOverton on 5 March 2025.\nRent 2024 900"
    assert cut(text) == [text[: text.index("\nRent")], "Rent 2024 900"]
