"""Viewing, continuing, branching and comparing over a real vault, without a browser.

The tree of a conversation as lines: complete, parents before children, branches to the side.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from desks import settings_in, text_pdf
from docmind.application import DocMind
from docmind.config import ReadingSettings, Settings, StorageSettings
from docmind.records.conversations import Run
from docmind.records.documents import Upload
from docmind.ui.app import state
from docmind.ui.app.app_state import app_state
from docmind.ui.app.page_view import drop_images
from docmind.ui.chat.history import Lanes, _icon
from each import each_of
from libraries import Library
from llm_server import Behaviour, serving


def tree(*links: str, current: str = "") -> list[Run]:
    """Return runs from `parent>child`, or `child` for a root, in the order they were asked."""
    runs = []
    for at, link in enumerate(links):
        parent, _, child = link.rpartition(">")
        runs.append(Run(child, parent or None, f"question {child}", at, "answered", child in current))
    return runs


def test_what_only_may_answer_has_a_mark_of_its_own() -> None:
    ways = ((True, True), (True, False), (False, True))
    marks = [_icon(Run("a", None, "?", 0, "answered", True, is_found=found, is_sure=sure)) for found, sure in ways]
    assert len(set(marks)) == 3
    assert _icon(Run("a", None, "?", 0, "stopped", True, is_sure=False)) not in marks


def drawn(lanes: Lanes, *unfolded: str) -> list[str]:
    return [
        "  " * line.lane + line.run.checkpoint_id + (f"+{line.folded}" if line.folded else "")
        for line in lanes.lines(unfolded)
    ]


def test_a_straight_conversation_is_one_lane() -> None:
    lanes = Lanes(tree("a", "a>b", "b>c", current="abc"))
    assert drawn(lanes) == ["a", "b", "c"]
    assert lanes.standing == "c"
    assert lanes.branches == 1
    assert lanes.siblings("b") == [lanes.by_id["b"]]


def test_a_branch_is_one_line_until_it_is_unfolded() -> None:
    lanes = Lanes(tree("a", "a>b", "b>c", "a>x", "x>y", "y>z", "x>w", current="abc"))
    assert drawn(lanes) == ["a", "  x+3", "b", "c"]
    assert drawn(lanes, "x") == ["a", "  x", "    y+1", "  w", "b", "c"]
    assert drawn(lanes, "x", "y") == ["a", "  x", "    y", "    z", "  w", "b", "c"]
    folded = next(line for line in lanes.lines() if line.folded)
    assert folded.is_branch
    assert folded.tip == "w", "the end that was reached last"
    assert lanes.branches == 3


def test_the_way_to_where_it_stands_goes_straight_down() -> None:
    runs = ("a", "a>b", "b>c", "a>x", "x>y")
    assert drawn(Lanes(tree(*runs, current="axy"))) == ["a", "  b+1", "x", "y"]
    behind = Lanes(tree(*runs, current="a"))
    assert behind.standing == "a"
    assert drawn(behind) == ["a", "  b+1", "x", "y"], "from there on the newest way does"


def test_the_first_question_may_have_been_asked_anew() -> None:
    lanes = Lanes(tree("a", "a>b", "c", "d", current="c"))
    assert drawn(lanes) == ["  a+1", "  d", "c"]
    assert [run.checkpoint_id for run in lanes.siblings("c")] == ["a", "c", "d"]


def test_a_conversation_that_stands_at_its_beginning() -> None:
    lanes = Lanes(tree("a", "a>b"))
    assert lanes.standing is None
    assert drawn(lanes) == ["a", "b"]
    assert drawn(Lanes([])) == []
    assert Lanes([]).siblings("a") == []


def test_a_run_whose_parent_is_not_known_is_a_beginning() -> None:
    assert drawn(Lanes(tree("gone>a", "a>b", current="ab"))) == ["a", "b"]


@each_of("seed", range(20))
def test_no_run_is_lost_or_told_twice(seed: int) -> None:
    chance = random.Random(seed)
    links = ["0"] + [f"{chance.randrange(max(1, at - 6), at + 1) - 1}>{at}" for at in range(1, 200)]
    runs = tree(*links)
    lanes = Lanes(chance.sample(runs, len(runs)))
    everywhere = lanes.lines({run.checkpoint_id for run in runs})
    told = [line.run.checkpoint_id for line in everywhere]
    assert sorted(told) == sorted(run.checkpoint_id for run in runs)
    place = {checkpoint_id: at for at, checkpoint_id in enumerate(told)}
    assert all(place[run.parent_id] < place[run.checkpoint_id] for run in runs if run.parent_id)
    folded = lanes.lines()
    assert len(folded) + sum(line.folded for line in folded) == len(runs)


@pytest.mark.slow
def test_a_long_conversation_does_not_exhaust_the_stack() -> None:
    runs = tree("0", *(f"{at - 1}>{at}" for at in range(1, 5_000)))
    assert len(Lanes(runs).lines()) == 5_000


FIRST, SECOND, THIRD = (
    "How many herons are there?",
    "And how many storks, ![x](http://127.0.0.1:9/c.png) :red[r] $x$ <img src=x>?",
    "And owls?",
)


BIRDS = text_pdf(["There are 37 herons.", "There are 74 storks.", "There are two owls."])


def settings_of(folder: Path) -> Settings:
    """Return the settings of the vault: page images in their usual size."""
    return settings_in(folder, reading=ReadingSettings(ocr="off", workers=1), storage=StorageSettings())


@pytest.fixture
def docmind(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DocMind]:
    for name, value in {
        "EMBEDDING__MODEL": "fake", "READING__OCR": "off", "READING__WORKERS": "1", "LLM__PROVIDER": "off",
        "ANSWER__THRESHOLD": "0",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"DOCMIND_{name}", value)
    app_state.clear()
    drop_images()
    Library("birds", [Upload("birds.pdf", BIRDS)], settings=settings_of).copy_to(data_dir.parent)
    yield app_state().open()
    app_state.clear()


def page() -> None:
    import streamlit as st

    from docmind.ui.app.app_state import app_state
    from docmind.ui.chat import compare, history, threads

    docmind = app_state().open()
    thread_id = threads.sidebar(docmind)
    if compare.draw(docmind):
        return
    assert thread_id is not None
    view = docmind.conversations.view(thread_id, history.looking_at())
    st.title("past" if history.banner(docmind, view) else "now")
    for turn in view.turns:
        history.switcher(docmind, view, turn)
    history.panel(docmind, view)


def asked(docmind: DocMind, *questions: str) -> tuple[str, list[str]]:
    """Create a conversation with these questions; return its id, and the points after each."""
    thread_id = docmind.conversations.create("Birds").thread_id
    return thread_id, [docmind.conversations.ask(text, thread_id=thread_id).checkpoint_id for text in questions]


def opened(thread_id: str) -> AppTest:
    test = AppTest.from_function(page, default_timeout=60)
    test.query_params["thread"] = thread_id
    return run(test)


def run(test: AppTest) -> AppTest:
    test.run()
    assert not test.exception
    return test


def click(test: AppTest, key: str) -> AppTest:
    test.button(key=key).click()
    return run(test)


def said(test: AppTest) -> str:
    parts = [*test.title, *test.markdown, *test.caption, *test.text, *test.error]
    return re.sub(r"\\(.)", r"\1", "\n".join(str(part.value) for part in parts)).replace("\u2060", "")


def lines(test: AppTest) -> list[str]:
    """Return the points in the history, from the top; those on the current branch with a star."""
    found = []
    for button in test.button:
        if (button.key or "").startswith("look-"):
            star = "*" if button.label.startswith("**") else ""
            found.append(star + (button.key or "").removeprefix("look-"))
    return found


def standing(docmind: DocMind, thread_id: str) -> list[str]:
    return [turn.question for turn in docmind.conversations.view(thread_id).turns]


@pytest.mark.slow
def test_a_conversation_without_questions_says_what_will_be_here(docmind: DocMind) -> None:
    thread_id, _ = asked(docmind)
    assert "Questions are listed here" in said(opened(thread_id))


@pytest.mark.slow
def test_looking_back_changes_nothing_and_leads_back(docmind: DocMind) -> None:
    thread_id, (first, second, third) = asked(docmind, FIRST, SECOND, THIRD)
    test = opened(thread_id)
    assert lines(test) == [f"*{first}", f"*{second}", f"*{third}"]
    click(test, f"look-{first}")
    assert test.title[0].value == "past"
    assert test.query_params["at"] == first
    assert FIRST in said(test)
    assert standing(docmind, thread_id) == [FIRST, SECOND, THIRD]
    click(test, f"look-{third}")
    assert test.title[0].value == "now", "that is where it stands"
    click(test, f"look-{second}")
    click(test, "past-back")
    assert test.title[0].value == "now"
    assert "at" not in test.query_params


@pytest.mark.slow
def test_going_on_from_an_earlier_point_and_switching_back(docmind: DocMind) -> None:
    thread_id, (first, second, third) = asked(docmind, FIRST, SECOND, THIRD)
    test = click(click(opened(thread_id), f"look-{first}"), "past-continue")
    assert test.title[0].value == "now"
    assert standing(docmind, thread_id) == [FIRST]
    other = docmind.conversations.ask(THIRD, thread_id=thread_id).checkpoint_id
    run(test)
    assert "4 questions on 2 branches" in said(test)
    assert lines(test) == [f"*{first}", second, f"*{other}"], "the other branch is one line"
    click(test, f"fold-{second}")
    assert lines(test) == [f"*{first}", second, third, f"*{other}"]
    assert "2 of 2" in said(test)
    click(test, f"versions-{other}-1")
    assert standing(docmind, thread_id) == [FIRST, SECOND, THIRD], "to the end of that branch"


@pytest.mark.slow
def test_branching_puts_what_follows_beside_what_is_there(docmind: DocMind) -> None:
    thread_id, (first, second) = asked(docmind, FIRST, SECOND)
    test = click(click(opened(thread_id), f"look-{first}"), "past-continue")
    assert standing(docmind, thread_id) == [FIRST]
    third = docmind.conversations.ask(THIRD, thread_id=thread_id).checkpoint_id
    assert lines(run(test)) == [f"*{first}", second, f"*{third}"]


@pytest.mark.slow
def test_nothing_moves_while_a_question_is_being_answered(docmind: DocMind, monkeypatch: pytest.MonkeyPatch) -> None:
    thread_id, (first, _) = asked(docmind, FIRST, SECOND)
    with serving(protocols=("ollama",)) as server:
        server.default = Behaviour("silent")
        monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "ollama")
        monkeypatch.setenv("DOCMIND_LLM__URL", server.url)
        app_state.clear()
        docmind = app_state().open()
        docmind.models.list()
        run_id = docmind.conversations.start(THIRD, thread_id=thread_id)
        until = time.monotonic() + 30
        while not server.asked():
            assert time.monotonic() < until
            time.sleep(0.01)
        test = opened(thread_id)
        assert [button.icon for button in test.button if (button.key or "").startswith("look-")][-1].endswith(
            "hourglass_top:"
        )
        click(click(test, f"look-{first}"), "past-continue")
        assert "being answered" in test.toast[0].value
        assert standing(docmind, thread_id) == [FIRST, SECOND, THIRD]
        docmind.conversations.stop(run_id)
        assert docmind.conversations.wait(run_id, 30).is_over
        click(test, "past-continue")
        assert standing(docmind, thread_id) == [FIRST]


@pytest.mark.slow
def test_two_answers_are_chosen_and_compared(docmind: DocMind) -> None:
    thread_id, (first, second) = asked(docmind, FIRST, SECOND)
    test = opened(thread_id)
    test.session_state[state.COMPARING] = (thread_id, first, "")
    run(test)
    assert "Click it." in said(test)
    assert test.button(key=f"look-{first}").disabled
    click(test, f"look-{second}")
    words = said(test)
    assert "Two answers side by side" in words
    assert FIRST in words
    assert "made of quotes" in words
    assert "37 herons" in words
    assert "birds" in words
    for part in [*test.markdown, *test.caption]:
        left = re.sub(r"\\.|\]\(#read=[\w.&=-]+\)", "", str(part.value).replace("yellow-background[", ""))
        for bad in ("![", "](", "red[", "<", "$", "://"):
            assert bad not in left, (bad, part.value)
    next(button for button in test.button if button.label == "Back to the conversation").click()
    assert run(test).title[0].value == "now"


@pytest.mark.slow
def test_an_answer_compared_with_its_like_says_so(docmind: DocMind) -> None:
    thread_id, (first,) = asked(docmind, FIRST)
    again = docmind.conversations.wait(docmind.conversations.retry(thread_id, first), 60).turn
    assert again is not None
    test = opened(thread_id)
    click(test, f"versions-{again.checkpoint_id}-compare")
    assert "Both say the same" in said(test)
    assert said(test).count(FIRST) == 1, "one question for both"


@pytest.mark.slow
def test_pages_of_a_document_deleted_since_are_told_as_gone(docmind: DocMind) -> None:
    thread_id, (first, second) = asked(docmind, FIRST, SECOND)
    docmind.erasures.erase([docmind.documents.all()[0].doc_id], conversations=False)
    test = opened(thread_id)
    test.session_state[state.COMPARING] = (thread_id, first, second)
    assert "This document has been deleted." in said(run(test))


@pytest.mark.slow
def test_a_comparison_does_not_follow_into_another_conversation(docmind: DocMind) -> None:
    thread_id, (first, second) = asked(docmind, FIRST, SECOND)
    other, _ = asked(docmind, THIRD)
    test = opened(thread_id)
    test.session_state[state.COMPARING] = (thread_id, first, second)
    assert "side by side" in said(run(test))
    click(test, f"show-{other}")
    assert test.title[0].value == "now"


@pytest.mark.slow
def test_a_point_that_is_not_of_this_conversation_is_the_present(docmind: DocMind) -> None:
    thread_id, _ = asked(docmind, FIRST)
    _, (elsewhere,) = asked(docmind, THIRD)
    test = AppTest.from_function(page, default_timeout=60)
    test.query_params["thread"] = thread_id
    test.run()
    assert not test.exception
    test.session_state[state.COMPARING] = (thread_id, elsewhere, elsewhere)
    run(test)
    assert test.error, "there is no such point to compare"


@pytest.mark.slow
def test_a_long_history_comes_in_parts_with_the_present_on_show(docmind: DocMind) -> None:
    thread_id, points = asked(docmind, *(f"Question {number}: how many herons?" for number in range(35)))
    test = opened(thread_id)
    assert lines(test) == [f"*{point}" for point in points[-30:]]
    test.query_params["at"] = points[0]
    assert lines(run(test)) == [f"*{point}" for point in points[:5]]
