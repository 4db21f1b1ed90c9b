"""Labels of sources in the chat: given, shown again, taken back; over a real vault, without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from docmind.records.documents import Upload
from docmind.records.evaluation import GOOD, LABELS, NO_SOURCE
from docmind.ui.app.app_state import app_state

QUESTION = "When do owls hunt?"


@pytest.fixture(autouse=True)
def vault(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DOCMIND_EMBEDDING__MODEL", "fake")
    monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "off")
    app_state.clear()
    yield
    app_state.clear()


def page() -> None:
    from docmind.ui.app.app_state import app_state
    from docmind.ui.app.page_links import cited_in
    from docmind.ui.chat.sources import draw_sources

    docmind = app_state().open()
    (thread,) = docmind.conversations.threads()
    answer = docmind.conversations.view(thread.thread_id).turns[-1].answer
    assert answer is not None
    draw_sources(docmind, answer.sources, "turn-0", standing=2, question=answer.question, cited=cited_in(answer))


@pytest.mark.slow
def test_a_source_is_labelled_and_a_second_press_takes_it_back() -> None:
    docmind = app_state().open()
    docmind.add([Upload("owls.txt", b"Owls hunt at night.")])
    docmind.conversations.ask(QUESTION, thread_id=docmind.conversations.create().thread_id)
    test = AppTest.from_function(page, default_timeout=60).run()
    assert not test.exception
    choice = test.button_group[0]
    assert choice.label == "Is page 1 of owls a source for this?"
    choice.set_value(GOOD).run()
    assert [(one.question, one.page_no, one.grade) for one in docmind.evaluation.labels()] == [(QUESTION, 1, GOOD)]
    again = AppTest.from_function(page, default_timeout=60).run()
    assert again.button_group[0].value == GOOD, "the state is shown when it is drawn again"
    again.button_group[0].set_value(NO_SOURCE).run()
    assert [one.grade for one in docmind.evaluation.labels()] == [NO_SOURCE]
    again.button_group[0].set_value(None).run()
    assert docmind.evaluation.labels() == ()
    assert LABELS not in {one.name for one in docmind.evaluation.sets()}
