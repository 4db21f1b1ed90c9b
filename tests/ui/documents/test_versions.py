"""What a person says of versions on the page of a document; over a real vault, without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from docmind.records.documents import Upload
from docmind.ui.app.app_state import app_state


@pytest.fixture(autouse=True)
def vault(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DOCMIND_EMBEDDING__MODEL", "fake")
    monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "off")
    app_state.clear()
    yield
    app_state.clear()


def page() -> None:
    from docmind.ui.app.app_state import app_state
    from docmind.ui.documents.versions import draw_saying

    docmind = app_state().open()
    draw_saying(docmind, docmind.documents.find("rules.txt"))


@pytest.mark.slow
def test_a_document_is_called_a_version_and_then_none() -> None:
    docmind = app_state().open()
    results = docmind.add([Upload("rules.txt", b"Bikes stay out."), Upload("owls.txt", b"Owls hunt at night.")])
    rules, owls = (one.doc_id or "" for one in results)
    test = AppTest.from_function(page, default_timeout=60).run()
    assert not test.exception
    assert [button.disabled for button in test.button] == [True], "nothing is chosen, and it is no version yet"
    test.selectbox[0].set_value(owls).run()
    test.button(key="version-of").click().run()
    assert not test.exception
    assert {one.series for one in docmind.documents.all()} == {owls}
    test.button(key="version-not").click().run()
    assert not test.exception
    assert docmind.documents.get(rules).series == ""
    assert [button.key for button in test.button] == ["version-of"]
