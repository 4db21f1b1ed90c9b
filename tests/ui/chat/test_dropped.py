"""Files dropped on the question box: added once, asked alone where that is wanted, and questions that wait for them."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from conftest import ROOT
from desks import environment_of, text_pdf
from docmind.application import DocMind
from docmind.records.documents import Upload
from docmind.records.search import Filters
from docmind.ui.app import state
from docmind.ui.app.app_state import app_state
from docmind.ui.app.page_view import drop_images
from libraries import Library, confirm

BOILER = ("boiler.pdf", text_pdf(["The boiler is serviced every spring by the landlord."]))
OWLS = ("owls.pdf", text_pdf(["Owls hunt at night, in the woods and in the fields."]))
QUESTION = "Who services the boiler every spring?"


@pytest.fixture
def docmind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DocMind]:
    for name, value in environment_of(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("DOCMIND_ANSWER__THRESHOLD", "0")  # the fake model's scores are always low
    app_state.clear()
    drop_images()
    Library("rent", [Upload("lease.pdf", text_pdf(["The rent is paid each month."]))], confirm).copy_to(tmp_path)
    yield app_state().open()
    app_state.clear()


def app() -> AppTest:
    return checked(AppTest.from_file(str(ROOT / "pages/start.py"), default_timeout=60).run())


def checked(test: AppTest) -> AppTest:
    assert not test.exception
    return test


def drop(test: AppTest, *files: tuple[str, bytes], text: str | None = None, kind: str = "application/pdf") -> AppTest:
    box = test.chat_input(key=state.QUESTION)
    for name, data in files:
        box.upload(name, data, kind)
    if text is not None:
        box.set_value(text)
    return checked(box.run())


def read(docmind: DocMind, test: AppTest) -> AppTest:
    """Wait until the queue is read, and run the page as it does by itself in a browser."""
    until = time.monotonic() + 120
    while docmind.queue.progress().is_busy:
        assert time.monotonic() < until
        time.sleep(0.05)
    return checked(test.run())


def click(test: AppTest, key: str) -> AppTest:
    return checked(test.button(key=key).click().run())


def limit(test: AppTest, scope: str) -> AppTest:
    return checked(test.segmented_control(key=state.DROPPED_SCOPE).set_value(scope).run())


def doc_id(docmind: DocMind, name: str) -> str:
    return docmind.documents.find(name).doc_id


def shown(test: AppTest) -> str:
    return "\n".join(str(part.value) for part in (*test.markdown, *test.caption)).replace("\\", "")


@pytest.mark.slow
def test_the_first_page_says_that_files_can_be_dropped(docmind: DocMind) -> None:
    assert "You can drop files on the question box" in shown(app())


@pytest.mark.slow
def test_dropped_files_are_added_once_and_all_documents_are_asked(docmind: DocMind) -> None:
    test = drop(app(), BOILER, OWLS)
    assert "boiler.pdf" in shown(test)
    assert "All your documents are asked" in shown(test)
    test = read(docmind, test)
    checked(test.run())
    assert sorted(info.document for info in docmind.documents.all()) == ["boiler.pdf", "lease.pdf", "owls.pdf"]
    assert len(docmind.queue.uploads()) == 2
    assert test.session_state[state.FILTER_DOCUMENTS] == []
    click(test, "dropped-dismiss")
    assert state.DROPPED not in test.session_state


@pytest.mark.slow
def test_a_question_waits_for_the_files_that_came_with_it(docmind: DocMind) -> None:
    docmind.queue.pause()
    test = drop(app(), BOILER, text=QUESTION)
    test = read(docmind, test)
    (thread,) = docmind.conversations.threads()
    assert test.session_state[state.THREAD] == thread.thread_id
    (turn,) = docmind.conversations.view(thread.thread_id).turns
    assert turn.question == QUESTION
    assert turn.filters.doc_ids == ()
    assert "boiler.pdf" in shown(test), "the files follow into the conversation"


@pytest.mark.slow
def test_a_conversation_is_limited_to_its_files_until_it_is_left(docmind: DocMind) -> None:
    test = limit(drop(app(), BOILER, OWLS), "here")
    assert "kept in your library, encrypted" in shown(test)
    test = read(docmind, test)
    only = [doc_id(docmind, "boiler.pdf"), doc_id(docmind, "owls.pdf")]
    assert sorted(test.session_state[state.FILTER_DOCUMENTS]) == sorted(only)
    checked(test.chat_input(key=state.QUESTION).set_value(QUESTION).run())
    (thread,) = docmind.conversations.threads()
    (turn,) = docmind.conversations.view(thread.thread_id).turns
    assert sorted(turn.filters.doc_ids) == sorted(only)
    assert docmind.conversations.thread(thread.thread_id).bound.doc_ids == tuple(sorted(only))
    click(test, "new-thread")
    assert test.session_state[state.FILTER_DOCUMENTS] == []
    click(test, f"show-{thread.thread_id}")
    assert sorted(test.session_state[state.FILTER_DOCUMENTS]) == sorted(only)

    again = app()  # another tab, later
    click(again, f"show-{thread.thread_id}")
    assert sorted(again.session_state[state.FILTER_DOCUMENTS]) == sorted(only)
    click(again, "filters-none")
    assert again.session_state[state.FILTER_DOCUMENTS] == []
    assert docmind.conversations.thread(thread.thread_id).bound == Filters()


@pytest.mark.slow
def test_what_is_chosen_stays_with_the_conversation_and_follows_the_bin(docmind: DocMind) -> None:
    docmind.add([Upload(*BOILER), Upload(*OWLS)])
    boiler, owls = (doc_id(docmind, name) for name in ("boiler.pdf", "owls.pdf"))
    bound, free = (docmind.conversations.create(name).thread_id for name in ("Bound", "Free"))
    test = click(app(), f"show-{bound}")
    test.session_state[state.FILTER_DOCUMENTS] = [boiler, owls]
    checked(test.run())
    assert docmind.conversations.thread(bound).bound.doc_ids == tuple(sorted((boiler, owls)))
    click(test, f"show-{free}")
    assert test.session_state[state.FILTER_DOCUMENTS] == []
    docmind.documents.bin([boiler])
    click(test, f"show-{bound}")
    assert test.session_state[state.FILTER_DOCUMENTS] == [owls]
    docmind.documents.restore([boiler])
    checked(test.run())
    assert sorted(test.session_state[state.FILTER_DOCUMENTS]) == sorted((boiler, owls))
    docmind.erasures.erase([owls])
    checked(test.run())
    assert test.session_state[state.FILTER_DOCUMENTS] == [boiler]
    assert docmind.conversations.thread(free).bound == Filters()


@pytest.mark.slow
def test_a_limit_can_be_chosen_and_taken_back_after_reading(docmind: DocMind) -> None:
    test = read(docmind, drop(app(), OWLS))
    limit(test, "here")
    assert test.session_state[state.FILTER_DOCUMENTS] == [doc_id(docmind, "owls.pdf")]
    limit(test, "library")
    assert test.session_state[state.FILTER_DOCUMENTS] == []


@pytest.mark.slow
def test_a_broken_file_is_told_and_its_question_comes_back(docmind: DocMind) -> None:
    test = drop(app(), ("broken.pdf", b"%PDF-1.4 nothing"), text=QUESTION)
    given_back = [test.chat_input(key=state.QUESTION).proto.value]  # at once, where it was read during the run
    read(docmind, test)
    given_back.append(test.chat_input(key=state.QUESTION).proto.value)
    assert "broken.pdf" in shown(test)
    (info,) = docmind.queue.uploads("failed")
    assert test.button(key=f"queue-retry-{info.upload_id}")
    assert not docmind.conversations.threads()
    assert QUESTION in given_back


@pytest.mark.slow
def test_a_picture_is_searched_for_or_added(docmind: DocMind) -> None:
    out = io.BytesIO()
    Image.new("RGB", (300, 200), "white").save(out, "PNG")
    picture = ("photo.png", out.getvalue())
    test = drop(app(), picture, kind="image/png")
    assert not docmind.queue.uploads()
    click(test, "dropped-find-0")
    assert test.session_state[state.PICTURE].picture == picture[1]
    assert state.DROPPED not in test.session_state
    test = read(docmind, click(drop(test, picture, kind="image/png"), "dropped-add-0"))
    assert doc_id(docmind, "photo.png")
