"""The panel of memories over a real vault, without a browser: what a user sees after each action."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from docmind.application import DocMind
from docmind.ui.app.app_state import app_state

HOSTILE = "![x](http:⁄⁄127.0.0.1:9⁄c.png) :red[r] $x$ <img src=x> [l](javascript:1)"


@pytest.fixture
def mind(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DocMind]:
    monkeypatch.setenv("DOCMIND_EMBEDDING__MODEL", "fake")
    monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "off")
    app_state.clear()
    yield app_state().open()
    app_state.clear()


def panel(thread_id: str | None = None, proposed: tuple[str, ...] | None = ()) -> AppTest:
    def draw(thread_id: str | None, proposed: tuple[str, ...] | None) -> None:
        from docmind.ui.app.app_state import app_state
        from docmind.ui.chat.memories import memories_panel

        memories_panel(app_state().open(), thread_id, proposed)

    return AppTest.from_function(draw, kwargs={"thread_id": thread_id, "proposed": proposed}, default_timeout=30).run()


def said(test: AppTest) -> str:
    assert not test.exception
    parts = [*test.markdown, *test.caption, *test.error]
    shown = [str(part.value) for part in parts] + [button.label for button in test.button]
    return "\n".join(shown).replace("\\", "").replace("\u2060", "")


def kept(mind: DocMind) -> list[tuple[str, str | None]]:
    return sorted((memory.text, memory.thread_id) for memory in mind.memories.list().memories)


def test_an_empty_panel_teaches_and_the_first_fact_is_added(mind: DocMind) -> None:
    test = panel()
    assert "Nothing is remembered yet" in said(test)
    assert "Erase" not in said(test)
    test.text_input(key="memory-new").set_value("The lease ends in June")
    test.button(key="memory-add").click().run()
    assert kept(mind) == [("The lease ends in June", None)]
    assert "The lease ends in June" in said(test)
    assert "Nothing is remembered yet" not in said(test)
    assert test.text_input(key="memory-new").value == ""


@pytest.mark.slow
def test_a_fact_for_this_conversation_alone(mind: DocMind) -> None:
    test = panel("t1")
    test.selectbox(key="memory-for").set_value("This conversation")
    test.text_input(key="memory-new").set_value("Here the tenant is Marta")
    test.button(key="memory-add").click().run()
    assert kept(mind) == [("Here the tenant is Marta", "t1")]
    assert "This conversation ·" in said(test)
    other = panel("t2")
    assert "Marta" not in said(other)
    assert "other conversations have some" in said(other)
    other.selectbox(key="memory-of").set_value("All conversations").run()
    assert "Marta" in said(other)
    assert "Another conversation ·" in said(other)


def test_what_cannot_be_added_is_one_sentence_and_stays_typed(mind: DocMind) -> None:
    test = panel()
    test.text_input(key="memory-new").set_value("   ")
    test.button(key="memory-add").click().run()
    assert "The memory is empty." in said(test)
    assert kept(mind) == []
    test.run()
    assert "The memory is empty." not in said(test)


def test_proposals_are_accepted_corrected_or_dismissed(mind: DocMind) -> None:
    test = panel("t1", ("My accountant is João", "The lease ends in June", "I like tea"))
    assert "Save this to memory?" in said(test)
    assert kept(mind) == []
    here, everywhere, dismiss = (
        [button for button in test.button if button.label == label]
        for label in ("This conversation only", "All conversations", "Dismiss")
    )
    test.text_input[0].set_value("My accountant is João Prata")
    here[0].click().run()
    assert kept(mind) == [("My accountant is João Prata", "t1")]
    assert len([button for button in test.button if button.label == "Dismiss"]) == 2
    next(button for button in test.button if button.label == "All conversations").click().run()
    assert kept(mind) == [("My accountant is João Prata", "t1"), ("The lease ends in June", None)]
    assert "Save this to memory?" in said(test)
    next(button for button in test.button if button.label == "Dismiss").click().run()
    assert "Save this to memory?" not in said(test)
    assert len(kept(mind)) == 2
    assert len(everywhere) == len(dismiss) == 3


def test_what_is_kept_already_is_not_proposed(mind: DocMind) -> None:
    mind.memories.add("the lease ends in june")
    assert "Save this to memory?" not in said(panel("t1", ("The lease ends in June",)))


def test_proposals_of_a_conversation_are_looked_up(mind: DocMind) -> None:
    thread = mind.conversations.create("about the lease").thread_id
    turn = mind.conversations.ask("My accountant is João Prata. What is the fee?", thread_id=thread)
    assert turn.memories == ("My accountant is João Prata",)
    test = panel(thread, None)
    assert "Save this to memory?" in said(test)
    assert test.text_input[0].value == "My accountant is João Prata"


@pytest.mark.slow
def test_correcting_in_place(mind: DocMind) -> None:
    one = mind.memories.add("The lease ends in June")
    test = panel()
    test.button(key=f"edit-memory-{one.memory_id}").click().run()
    assert test.text_area[0].value == "The lease ends in June"
    test.button(key="memory-cancel").click().run()
    assert not test.text_area
    test.button(key=f"edit-memory-{one.memory_id}").click().run()
    test.text_area[0].set_value(" ")
    test.button(key="memory-save").click().run()
    assert "The memory is empty." in said(test)
    test.text_area[0].set_value("The lease ends in July")
    test.button(key="memory-save").click().run()
    assert kept(mind) == [("The lease ends in July", None)]
    assert not test.text_area


def test_forgetting_and_undoing_it(mind: DocMind) -> None:
    one = mind.memories.add("The lease ends in June", thread_id="t1")
    test = panel("t1")
    test.button(key=f"forget-memory-{one.memory_id}").click().run()
    assert kept(mind) == []
    assert "Forgotten: The lease ends in June" in said(test)
    test.button(key="memory-undo-button").click().run()
    assert kept(mind) == [("The lease ends in June", "t1")]
    assert "Forgotten" not in said(test)


def test_a_memory_that_another_tab_forgot_is_one_sentence(mind: DocMind) -> None:
    one = mind.memories.add("The lease ends in June")
    test = panel()
    mind.memories.remove(one.memory_id)
    test.button(key=f"forget-memory-{one.memory_id}").click().run()
    assert "There is no memory" in said(test)
    assert "Undo" not in said(test)


@pytest.mark.slow
def test_merging_two(mind: DocMind) -> None:
    for text in ("Ana is the tenant", "Ana lives in Porto", "Herons wait"):
        mind.memories.add(text)
    test = panel()
    ids = {memory.text: memory.memory_id for memory in mind.memories.list().memories}
    test.checkbox(key=f"pick-memory-{ids['Ana is the tenant']}").check().run()
    assert "Merge" not in said(test)
    test.checkbox(key=f"pick-memory-{ids['Ana lives in Porto']}").check().run()
    assert test.text_area[0].value == "Ana lives in Porto. Ana is the tenant"
    test.text_area[0].set_value("Ana is the tenant and lives in Porto")
    test.button(key="memory-merge").click().run()
    assert kept(mind) == [("Ana is the tenant and lives in Porto", None), ("Herons wait", None)]
    assert "Merge" not in said(test)


@pytest.mark.slow
def test_searching(mind: DocMind) -> None:
    for text in ("Herons wait", "The lease ends in June", "Owls hunt", "Cranes lift", "Turbines turn"):
        mind.memories.add(text)
    test = panel()
    test.text_input(key="find_memory").set_value("lease").run()
    assert "The lease ends in June" in said(test)
    assert "Herons" not in said(test)
    test.text_input(key="find_memory").set_value("violin").run()
    assert "No memory is about that" in said(test)


def test_a_purge_asks_first(mind: DocMind) -> None:
    mind.memories.add("Everywhere")
    mind.memories.add("Here", thread_id="t1")
    mind.memories.add("There", thread_id="t2")
    test = panel("t1")
    test.button(key="memory-purge-This conversation").click().run()
    assert "Erase **1 memory** of this conversation" in said(test)
    test.button(key="memory-keep").click().run()
    assert len(kept(mind)) == 3
    test.button(key="memory-purge-This conversation").click().run()
    test.button(key="memory-erase").click().run()
    assert kept(mind) == [("Everywhere", None), ("There", "t2")]
    test.button(key="memory-purge-Everywhere").click().run()
    assert "Erase **2 memories**" in said(test)
    test.button(key="memory-erase").click().run()
    assert kept(mind) == []
    assert "Nothing is remembered yet" in said(test)


def test_no_memory_acts_on_the_page(mind: DocMind) -> None:
    mind.memories.add(HOSTILE)
    mind.memories.add(f"two {HOSTILE}")
    test = panel("t1", (f"three {HOSTILE}",))
    assert not test.exception
    drawn = [part.value for part in (*test.markdown, *test.caption)]
    drawn += [button.help for button in test.button if button.help] + [box.label for box in test.checkbox]
    assert any("127" in part for part in drawn)
    for part in drawn:  # nothing is left that begins a picture, a link, a colour, a formula or a tag
        assert not set("![]$<") & set(re.sub(r"\\.", "", part)), part
        assert ":red" not in part.replace("\u2060", " ")


def test_the_same_proposal_under_a_turn_and_in_the_panel(mind: DocMind) -> None:
    def draw() -> None:
        from docmind.ui.app.app_state import app_state
        from docmind.ui.chat.memories import draw_proposals, memories_panel

        draw_proposals(app_state().open(), "t1", ("I prefer tea",))
        memories_panel(app_state().open(), "t1", ("I prefer tea",))

    test = AppTest.from_function(draw, default_timeout=30).run()
    assert said(test).count("Dismiss") == 2
    next(button for button in test.button if button.label == "Dismiss").click().run()
    assert "Dismiss" not in said(test)
