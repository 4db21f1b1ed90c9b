"""Results from the web are shown apart from the documents, and nothing in them is active."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from docmind.records.answers import NOTED


def remembered() -> None:
    from typing import Any

    from docmind.records.answers import NOTED, Answer
    from docmind.records.conversations import Turn
    from docmind.ui.chat.turn import TurnPlace, _draw_answer

    hostile = "My rent is ![x](http://127.0.0.1:9/c.png) :red[r] $x$ <img src=x>"
    place, mind = TurnPlace(0, is_last=True, is_open=True, is_free=True), Any
    noted = Answer("Remember …", NOTED, found=False, outcome="noted", told=(hostile,))
    told = Answer("Rent?", "Nothing.", found=False, told=(hostile,))
    for answer in (noted, told):
        _draw_answer(mind, Turn("c", "b", answer.question, 0, "answered", answer), answer, place)  # type: ignore[arg-type]


def test_what_was_noted_and_told_is_shown_as_words() -> None:
    test = AppTest.from_function(remembered).run()
    assert not test.exception
    shown = [part.value for part in test.markdown]
    assert shown[0] == f"**{NOTED}**"
    assert "You told me" in shown[2]
    assert len(shown) == 3, "what the user told ends it: no sentence that nothing was found"
    for part in (shown[1], shown[2]):
        left = re.sub(r"\\.", "", part.removeprefix(":material/bookmark:"))
        for bad in ("![", "](", "red[", "<", "$", "://"):
            assert bad not in left, part


def listed() -> None:
    from typing import Any

    from docmind.records.answers import Answer, Sentence, Source
    from docmind.records.conversations import Turn
    from docmind.ui.chat.turn import TurnPlace, _draw_answer

    name, quote = "![x](http://127.0.0.1:9/c.png) [1] :red[r].txt", "“It lasts <img src=x> $x$ years.”"
    text = f"One document:\n\n{name}: {quote} [1]"
    start = text.index(quote)
    lead = Sentence("One document:", 0, 13, is_claim=False)
    answer = Answer(
        "Which?", text, True, (Source(1, name, "d", 3, "d::page::3", quote[1:-1], (), 100, 200),),
        sentences=(lead, Sentence(quote, start, start + len(quote), (1,), True),), outcome="documents",
    )  # fmt: skip
    greeting = Answer("Hi", "Hello <b>!", found=False, outcome="greeting")
    place, mind = TurnPlace(0, is_last=True, is_open=True, is_free=True), Any
    for one in (answer, greeting):
        _draw_answer(mind, Turn("c", "b", one.question, 0, "answered", one), one, place)  # type: ignore[arg-type]


def test_a_list_of_documents_is_shown_as_words() -> None:
    test = AppTest.from_function(listed).run()
    assert not test.exception
    first, greeting = (part.value for part in test.markdown)
    assert first.count(":green-badge[1]") == 1, "not for the [1] of the name"
    assert first.count("**") == 2
    assert "\n\n**" in first, "the name is bold, the lead is not"
    assert first.count("\n\n") == 1
    assert "Hello" in greeting
    for part in (first.replace(":green-badge[1]", ""), greeting):
        left = re.sub(r"\\.", "", part)
        for bad in ("![", "](", "red[", "<", "$", "://"):
            assert bad not in left, part


def computed() -> None:
    from typing import Any

    from docmind.records.answers import Answer, Computed, Sentence, Source
    from docmind.records.conversations import Turn
    from docmind.ui.chat.turn import TurnPlace, _draw_answer

    rows = (("<img src=x>", "3"), ("Crow", "9"))
    how = Computed('SELECT sum("Seen") FROM "birds.csv"', ("Seen", "Seen"), rows, 40, ("d",))
    said = "This may answer it: 12: the sum of “Seen” over 2 rows."
    source = Source(1, "birds.csv", "d", 1, "d::page::1", "Crow | 9", (), 100, 200)
    sentence = Sentence(said, 0, len(said), (1,), True)
    answer = Answer("?", said + " [1]", True, (source,), sentences=(sentence,), outcome="maybe", computed=how)
    place, mind = TurnPlace(0, is_last=True, is_open=True, is_free=True), Any
    _draw_answer(mind, Turn("c", "b", "?", 0, "answered", answer), answer, place)  # type: ignore[arg-type]


@pytest.mark.slow
def test_how_an_answer_was_computed_is_shown_with_its_rows() -> None:
    test = AppTest.from_function(computed).run()
    assert not test.exception
    assert "the sum of “Seen” over 2 rows" in test.markdown[0].value
    assert test.expander[0].label == "How this was computed"
    assert test.code[0].value == 'SELECT sum("Seen") FROM "birds.csv"'
    shown = test.dataframe[0].value
    assert list(shown.columns) == ["Seen", "Seen (1)"]
    assert shown.to_numpy().tolist() == [["<img src=x>", "3"], ["Crow", "9"]]
    assert [part.value for part in test.caption] == ["The first 2 of 40 rows."]


def of_many_rows() -> None:
    from typing import Any

    import streamlit as st

    from docmind.records.answers import Answer, Computed, RowsOf, Sentence, Source
    from docmind.records.conversations import Turn
    from docmind.ui.chat.sources import _pages_of, draw_places
    from docmind.ui.chat.turn import TurnPlace, _draw_answer

    name, hostile = "![x](http://127.0.0.1:9/c.png)_of_2025.csv", "$x$ <img src=x> | 4"
    sources = tuple(
        Source(n, name, "d", 1 + n % 2, f"d::page::{1 + n % 2}", hostile, (), 100, 200) for n in range(1, 13)
    )
    said = "12: the sum of “Seen” over 41 rows."
    how = Computed("SELECT", ("Seen",), (("4",),), 41, ("d",), (RowsOf("d", 41, 7),))
    sentence = Sentence(said, 0, len(said), tuple(range(1, 13)), True)
    text = said + "".join(f" [{n}]" for n in range(1, 13))
    answer = Answer("?", text, True, sources, sentences=(sentence,), computed=how)
    place, mind = TurnPlace(0, is_last=True, is_open=True, is_free=True), Any
    _draw_answer(mind, Turn("c", "b", "?", 0, "answered", answer), answer, place)  # type: ignore[arg-type]
    draw_places(sources, "of-passages", None, None)
    st.markdown(_pages_of(sources[1:], how))
    st.markdown(_pages_of(sources[:2], how))


@pytest.mark.slow
def test_many_sources_of_one_document_are_one_that_opens_to_them() -> None:
    """Rows are counted where the answer rests on rows, and passages otherwise; each is as many as there are."""
    test = AppTest.from_function(of_many_rows).run()
    assert not test.exception
    said, listed, again, more, two = (part.value for part in test.markdown)
    assert "over 41 rows" in said
    assert "badge" not in said
    labels = [part.proto.popover.label for part in test.get("popover")]
    assert [label.rpartition(", ")[2] for label in labels] == ["41 rows on 7 pages", "12 passages on 2 pages"]
    assert all("](" not in re.sub(r"\\.", "", label) for label in labels)
    assert listed == again
    assert [f":green-badge[{n}]" in listed for n in range(1, 13)] == [True] * 12
    assert "<img" not in re.sub(r"\\.", "", listed)
    assert [part.value for part in test.caption][:1] == ["The first 12 of 41 rows."]
    assert more.endswith(", 11 rows on 2 pages")
    assert two.startswith("\\[1\\]")
    assert two.endswith("page 1")


def starting() -> None:
    from docmind.records.answers import Answer
    from docmind.records.conversations import Turn
    from docmind.records.search import Degraded
    from docmind.ui.chat.turn import _draw_notes

    missing = (Degraded("image", "Ask again in a moment.", is_starting=True), Degraded("code", "It failed."))
    answer = Answer("Boat?", "Nothing.", found=False, degraded=missing)
    for is_going_on in (True, False):
        _draw_notes(Turn("c", "b", "Boat?", 0, "answered", answer), {}, is_going_on=is_going_on)


def test_an_answer_that_is_being_completed_says_so() -> None:
    test = AppTest.from_function(starting).run()
    assert not test.exception
    image, code, left, _ = [part.value for part in test.caption]
    assert "is completed as soon as it is there" in image
    assert code.endswith("It failed\\.")
    assert left.endswith("Ask again in a moment\\.")


def page() -> None:
    from docmind.records.conversations import WebResult
    from docmind.ui.chat.turn import draw_web

    hostile = "![x](http://127.0.0.1:9/c.png) :red[r] $x$ <img src=x>"
    results = (
        WebResult(hostile, "https://example.com/a?b=c", f"It says {hostile}"),
        WebResult("No host", "http://[broken", "Nothing."),
    )
    draw_web(results, "turn-0")


def test_web_results_are_quoted_and_addresses_are_words() -> None:
    test = AppTest.from_function(page).run()
    assert not test.exception
    assert test.expander[0].label == "2 results from the web, not from your documents"
    assert "It says ![x](http://127.0.0.1:9/c.png)" in test.text[0].value, "st.text shows what it is given as it is"
    for part in [*test.markdown, *test.caption]:
        left = re.sub(r"\\.", "", part.value)
        for bad in ("![", "](", "red[", "<", "$", "://"):
            assert bad not in left, part.value
    assert "example" in test.markdown[0].value
