"""`scripts/eval kinds`: what counts as a right answer, and the form of an answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from conftest import ROOT
from docmind.records.answers import Answer, Computed, Outcome, Source
from docmind.records.listings import Listing
from eval.expected import Expected, form, has, is_right, is_sure

SETS = sorted(place for place in (ROOT / "scripts" / "eval" / "kinds").iterdir() if place.is_dir())
BOATS = ("Kestrel", "Heron")


def quoting(*quotes: str, outcome: Outcome = "answer", text: str = "", **more: Any) -> Answer:
    sources = tuple(Source(n, "boats.txt", "d", 1, "p", quote, (), 900, 600) for n, quote in enumerate(quotes, 1))
    return Answer("?", text, bool(sources), sources, outcome=outcome, **more)


def listing(*quotes: str) -> Answer:
    return quoting(*quotes, outcome="list", listing=Listing("items", "boats", len(quotes), (), 1, True))


def table(text: str, *quotes: str, outcome: Outcome = "answer") -> Answer:
    how = Computed("SELECT", ("Boat",), (("Kestrel",),), 1, ("d",))
    return quoting(*(quotes or ("Kestrel",)), text=text, outcome=outcome, computed=how)


@pytest.mark.parametrize(
    "written", ["1,234.50", "1.234,50", "1 234,50", "1\u202f234,5", "1’234.50", "1234.5", "-1,234.50"]
)
def test_a_number_is_found_in_every_notation(written: str) -> None:
    assert has("1234.5", f"The sum is {written} euros.")
    assert has("-1234.5", f"The sum is {written} euros.")


@pytest.mark.parametrize("written", ["1,234.60", "12,345.00", "234.5", "none"])
def test_another_number_is_not_taken_for_it(written: str) -> None:
    assert not has("1234.5", f"The sum is {written} euros.")


def test_a_mark_may_be_of_thousands_or_of_decimals() -> None:
    assert has("1234", "1.234 kg")
    assert has("1.23", "1,234 kg")
    assert has("1234567", "1.234.567 kg")
    assert not has("123", "1.234 kg")


def test_numbers_beside_each_other_are_found_as_words() -> None:
    assert has("13", "13 20")
    assert not has("3", "13 20")


@pytest.mark.parametrize("text", ["The Old Boat House", "the old\nboat  house.", "OLD – BOAT,\r\nHOUSE"])
def test_words_are_found_over_line_breaks(text: str) -> None:
    assert has("old boat house", text)


@pytest.mark.parametrize("hyphen", ["-", "\u00ad", "\u2010"])
def test_a_word_is_found_whose_parts_stand_on_two_lines(hyphen: str) -> None:
    assert has("old boathouse", f"The old boat{hyphen}\n  house")


def test_words_are_whole_words_in_their_order() -> None:
    assert not has("boat house", "boat houses")
    assert not has("boat house", "house boat")


def test_a_list_is_wrong_where_it_shows_what_it_must_not() -> None:
    expected = Expected("list", "list", BOATS, never=("Osprey",))
    assert is_right(listing("Kestrel", "Heron", "Teal"), expected)
    assert not is_right(listing("Kestrel", "Heron", "Osprey"), expected)
    assert not is_right(listing("Kestrel", "Teal"), expected)
    assert is_right(quoting("Kestrel, Heron, Osprey"), expected), "a quote may have words beside it"


def test_only_the_first_quote_counts() -> None:
    assert is_right(quoting("The Kestrel leaks.", "The Heron floats."), Expected("plain", "quote", ["Kestrel"]))
    assert not is_right(quoting("The Kestrel leaks.", "The Heron floats."), Expected("plain", "quote", ["Heron"]))


def test_a_comparison_needs_both_sides_anywhere() -> None:
    expected = Expected("comparison", "quote", BOATS, never=("Osprey",))
    assert is_right(quoting("The Kestrel leaks.", "The Heron floats."), expected)
    assert is_right(listing("Kestrel", "Heron", "Osprey"), expected)
    assert not is_right(quoting("The Kestrel leaks."), expected)


def test_a_table_says_itself_what_a_table_should() -> None:
    answer = table("The boats have 40 seats.", "Kestrel")
    assert is_right(answer, Expected("table", "table", ["40"]))
    assert not is_right(answer, Expected("table", "table", ["Kestrel"]))
    assert is_right(answer, Expected("plain", "quote", ["Kestrel"])), "its rows show what a quote would"


@pytest.mark.parametrize(
    ("answer", "shown", "sure"),
    [
        (table("40"), "table", True),
        (table("40", outcome="maybe"), "table", False),
        (listing("Kestrel"), "list", True),
        (listing(), "list", True),
        (quoting("Kestrel"), "quote", True),
        (quoting("Kestrel", outcome="maybe"), "quote", False),
        (quoting(outcome="not found"), "not found", False),
        (quoting("Kestrel", outcome="documents"), "documents", False),
    ],
)
def test_each_answer_has_a_form(answer: Answer, shown: str, sure: bool) -> None:
    assert (form(answer), is_sure(answer)) == (shown, sure)


@pytest.mark.parametrize("folder", SETS, ids=lambda place: place.name)
def test_the_questions_are_of_this_form(folder: Any) -> None:
    rows: Sequence[dict[str, Any]] = [
        json.loads(line) for line in (folder / "questions.jsonl").read_text("utf-8").splitlines()
    ]
    assert len(rows) == 75
    for row in rows:
        assert row["given"] in ("table", "list", "quote"), row["id"]
        assert len(row["turns"]) == (2 if row["kind"] == "follow-up" else 1), row["id"]
        assert row["expect"], row["id"]
        assert all((folder / document).is_file() for document in row["docs"]), row["id"]
