"""The list of conversations over a real vault, without a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from docmind.records.conversations import Thread
from docmind.ui.app import state
from docmind.ui.app.app_state import app_state
from docmind.ui.chat.threads import ages

HOSTILE = "![x](http://127.0.0.1:9/c.png) :red[r] $x$ <img src=x> [l](javascript:1) :material/home: www.a.com"


@pytest.fixture(autouse=True)
def vault(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DOCMIND_EMBEDDING__MODEL", "fake")
    monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "off")
    app_state.clear()
    yield
    app_state.clear()


def page() -> None:
    from docmind.ui.app.app_state import app_state
    from docmind.ui.chat import threads

    threads.sidebar(app_state().open())


def opened(thread_id: str = "") -> AppTest:
    test = AppTest.from_function(page, default_timeout=60)
    if thread_id:
        test.query_params["thread"] = thread_id
    return run(test)


def run(test: AppTest) -> AppTest:
    test.run()
    assert not test.exception
    return test


def listed(test: AppTest) -> list[str]:
    """Return the titles in the list, as a person reads them."""
    rows = [button.label for button in test.button if (button.key or "").startswith("show-")]
    return [re.sub(r"\\(.)", r"\1", row).replace("\u2060", "") for row in rows]


def click(test: AppTest, key: str) -> AppTest:
    test.button(key=key).click()
    return run(test)


def create(*titles: str) -> list[str]:
    return [app_state().open().conversations.create(title).thread_id for title in titles]


def test_an_empty_list_says_what_will_be_there() -> None:
    test = opened()
    assert any("Ask a question to start one" in caption.value for caption in test.caption)
    assert not test.text_input, "there is nothing to find"
    assert test.button(key="new-thread").label == "New conversation"


def test_the_open_conversation_stands_in_the_address() -> None:
    first, second = create("First", "Second")
    test = opened(first)
    assert test.session_state[state.THREAD] == first
    click(test, f"show-{second}")
    assert test.query_params["thread"] == second
    assert test.session_state[state.THREAD] == second
    click(test, "new-thread")
    assert "thread" not in test.query_params
    assert test.session_state[state.THREAD] is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nothing", "../../etc/passwd", "x" * 300, ""])
def test_an_address_that_leads_nowhere_begins_a_new_one(name: str) -> None:
    create("One")
    test = opened(name)
    assert "thread" not in test.query_params
    assert listed(test) == ["One"]


@pytest.mark.slow
def test_many_are_listed_in_parts_and_found_by_words() -> None:
    create(*(f"Conversation {number}" for number in range(95)), "About herons")
    test = opened()
    assert len(listed(test)) == 40
    assert len(listed(click(test, "more-threads"))) == 80
    assert len(listed(click(test, "more-threads"))) == 96
    test.text_input(key=state.FIND_THREAD).set_value("HERONS about")
    assert listed(run(test)) == ["About herons"]
    test.text_input(key=state.FIND_THREAD).set_value("no such words")
    assert not listed(run(test))
    assert "No conversations match." in [caption.value for caption in test.caption]


def test_what_was_deleted_elsewhere_is_not_opened() -> None:
    _, gone = create("Kept", "Gone")
    app_state().open().conversations.bin(gone)
    test = opened(gone)
    assert "thread" not in test.query_params
    assert listed(test) == ["Kept"]
    assert "was deleted" in test.toast[0].value
    assert test.button(key="deleted-threads").label == "1 deleted conversation"


@pytest.mark.slow
def test_the_last_deletion_is_undone_and_opened() -> None:
    (gone,) = create("Gone too soon")
    test = opened()
    test.session_state[state.DELETED_THREAD] = app_state().open().conversations.bin(gone)
    run(test)
    assert not listed(test)
    click(test, "undo")
    assert listed(test) == ["Gone too soon"]
    assert test.query_params["thread"] == gone


@pytest.mark.slow
def test_restoring_and_deleting_for_good() -> None:
    back, gone = create("Bring me back", HOSTILE)
    conversations = app_state().open().conversations
    for thread_id in (back, gone):
        conversations.bin(thread_id)
    test = click(opened(), "deleted-threads")
    click(test, f"purge-{gone}")
    assert "cannot be undone" in "".join(text.value for text in test.markdown)
    click(test, "keep-thread")
    assert len(conversations.threads(deleted=True)) == 2
    click(test, f"purge-{gone}")
    click(test, "purge-thread")
    assert [thread.thread_id for thread in conversations.threads(deleted=True)] == [back]
    assert "was permanently deleted" in test.success[0].value
    click(test, f"restore-{back}")
    assert listed(test) == ["Bring me back"]
    assert test.query_params["thread"] == back


@pytest.mark.slow
def test_renaming_asks_for_a_title_and_refuses_none() -> None:
    (thread_id,) = create("Old name")
    test = opened()
    test.session_state[state.THREAD_DIALOG] = ("rename", thread_id)
    run(test)
    for title, told in (("   ", 1), ("New name", 0)):
        test.text_input[0].set_value(title)
        next(button for button in test.button if button.label == "Rename").click()
        assert len(run(test).error) == told
    assert listed(test) == ["New name"]
    assert state.THREAD_DIALOG not in test.session_state


def test_hostile_titles_are_escaped_wherever_they_stand() -> None:
    first, second = create(HOSTILE, HOSTILE + " too")
    conversations = app_state().open().conversations
    test = opened(first)
    test.session_state[state.DELETED_THREAD] = conversations.bin(second)
    test.session_state[state.THREAD_DIALOG] = ("deleted", second)
    run(test)
    shown = [*test.markdown, *test.caption, *test.success, *test.error]
    told = [str(part.value) for part in shown] + [button.label for button in test.button]
    assert sum("127" in text for text in told) >= 3
    for text in told:
        left = re.sub(r"\\.", "", text.replace(":material/", ""))
        for bad in ("![", "](", "red[", "<", "$", "://"):
            assert bad not in left, (bad, text)


def test_conversations_are_told_by_their_age() -> None:
    def at(year: int, month: int, day: int, hour: int = 12) -> Thread:
        moment = int(datetime(year, month, day, hour).astimezone().timestamp() * 1000)
        return Thread(f"{month}-{day}-{hour}", "", moment, moment)

    threads = [
        at(2026, 3, 1, 23),
        at(2026, 3, 1, 0),
        at(2026, 2, 28, 23),
        at(2026, 2, 27),
        at(2026, 2, 22),
        at(2026, 2, 21),
    ]
    told = {name: [thread.thread_id for thread in members] for name, members in ages(threads, date(2026, 3, 1))}
    assert told == {
        "Today": ["3-1-23", "3-1-0"],
        "Yesterday": ["2-28-23"],
        "Last 7 days": ["2-27-12", "2-22-12"],
        "Older": ["2-21-12"],
    }
    assert next(ages([at(2027, 1, 1)], date(2026, 3, 1)))[0] == "Today", "a clock that was set back"
