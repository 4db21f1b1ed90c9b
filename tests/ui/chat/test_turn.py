"""Results from the web are shown apart from the documents, and nothing in them is active.

An answer as plain text, to be pasted elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import replace

from streamlit.testing.v1 import AppTest

from docmind.answers import quoted
from docmind.records.answers import NOTED, Answer, Source
from docmind.records.conversations import Turn
from docmind.records.documents import Box, page_id_of
from docmind.ui.chat.turn import plain_text

SOURCE = Source(1, "a\u202eb.pdf", "d", 3, page_id_of("d", 3), "The  warranty\nlasts.", (Box(1, 2, 3, 4),), 100, 200)


def test_an_answer_is_copied_with_where_it_stands() -> None:
    answer = Answer("How long?", "Two years [1].", True, (SOURCE,))
    turn = Turn("c", "b", "How long?", 0, "answered", answer)
    assert plain_text(turn) == "Two years [1].\n\n[1] ab.pdf, page 3: “The warranty lasts.”"


def test_further_quotes_are_copied_after_a_line() -> None:
    told = quoted([replace(SOURCE, document="a.pdf"), replace(SOURCE, n=2, page_no=4, quote="It costs 5 euros.")])
    answer = Answer("How long?", told.answer, True, told.sources, sentences=told.sentences)
    assert plain_text(Turn("c", "b", "How long?", 0, "answered", answer)) == (
        "“The  warranty\nlasts.” [1]\n\n[1] a.pdf, page 3\n\n"
        "Also relevant:\n[2] a\u202eb.pdf, page 4: “It costs 5 euros.”"
    ).replace("\u202e", "")


def test_what_was_not_answered_gives_no_text() -> None:
    assert plain_text(Turn("c", "b", "How long?", 0, "unanswered")) == ""
    assert plain_text(Turn("c", "b", "How long?", 0, "answered", Answer("How long?", "Nothing.", False))) == "Nothing."


def test_what_was_noted_and_told_is_copied_on_lines_of_its_own() -> None:
    noted = Answer("Remember …", NOTED, found=False, outcome="noted", told=("My rent\u202e is 900", "B is so"))
    assert plain_text(Turn("c", "b", "Remember …", 0, "answered", noted)) == f"{NOTED}\n“My rent is 900”\n“B is so”"
    told = Answer("Rent?", "Nothing.", found=False, told=("My rent is 900",))
    assert plain_text(Turn("c", "b", "Rent?", 0, "answered", told)) == "You told me: “My rent is 900”\n\nNothing."


def remembered() -> None:
    from typing import Any

    from docmind.records.answers import NOTED, Answer
    from docmind.records.conversations import Turn
    from docmind.ui.chat.turn import Place, _draw_answer

    hostile = "My rent is ![x](http://127.0.0.1:9/c.png) :red[r] $x$ <img src=x>"
    place, mind = Place(0, is_last=True, is_open=True, is_free=True), Any
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
    assert "couldn't find" in shown[3]
    for part in (shown[1], shown[2]):
        left = re.sub(r"\\.", "", part.removeprefix(":material/bookmark:"))
        for bad in ("![", "](", "red[", "<", "$", "://"):
            assert bad not in left, part


def listed() -> None:
    from typing import Any

    from docmind.records.answers import Answer, Sentence, Source
    from docmind.records.conversations import Turn
    from docmind.ui.chat.turn import Place, _draw_answer

    name, quote = "![x](http://127.0.0.1:9/c.png) [1] :red[r].txt", "“It lasts <img src=x> $x$ years.”"
    text = f"One document:\n\n{name}: {quote} [1]"
    start = text.index(quote)
    lead = Sentence("One document:", 0, 13, is_claim=False)
    answer = Answer(
        "Which?", text, True, (Source(1, name, "d", 3, "d::page::3", quote[1:-1], (), 100, 200),),
        sentences=(lead, Sentence(quote, start, start + len(quote), (1,), True),), outcome="documents",
    )  # fmt: skip
    greeting = Answer("Hi", "Hello <b>!", found=False, outcome="greeting")
    place, mind = Place(0, is_last=True, is_open=True, is_free=True), Any
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
