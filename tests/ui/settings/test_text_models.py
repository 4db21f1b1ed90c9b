"""Text models in Settings: over a real vault, without a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from docmind.ui.app.app_state import app_state
from tinysentences import tiny_sentences


@pytest.fixture(autouse=True)
def vault(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "off")
    monkeypatch.setenv("DOCMIND_VISUAL__MODELS_DIR", str(tmp_path / "models"))
    tiny_sentences(tmp_path / "models" / "own")
    app_state.clear()
    yield
    app_state.clear()


def page() -> None:
    from docmind.ui.app.app_state import app_state
    from docmind.ui.settings import text_models

    mind, settings = app_state().open(), app_state().settings
    assert settings is not None
    text_models.section(mind, settings)


@pytest.mark.slow
def test_a_folder_is_chosen_and_used_at_once() -> None:
    test = AppTest.from_function(page, default_timeout=60).run()
    assert not test.exception
    assert any(option.startswith("own: bert, mean pooling") for option in test.selectbox("text-model").options)
    test.selectbox("text-model").select("own").run()
    test.button("text-model-use").click().run()
    assert not test.error
    assert app_state().open().text_models.all()
    assert test.run().selectbox("text-model").value == "own", "at once"
    app_state().close()
    app_state.clear()
    test = AppTest.from_function(page, default_timeout=60).run()
    assert test.selectbox("text-model").value == "own"


def test_what_the_settings_name_is_not_changed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_EMBEDDING__MODEL", "minilm")
    test = AppTest.from_function(page, default_timeout=60).run()
    assert test.selectbox("text-model").disabled
    assert test.selectbox("text-model").value == "minilm"


def among_sections() -> None:
    import streamlit as st

    from docmind.ui.app import state
    from docmind.ui.app.app_state import app_state
    from docmind.ui.settings import text_models

    mind, settings = app_state().open(), app_state().settings
    assert settings is not None
    search, evaluation = st.tabs(["Search", "Evaluation"], key=state.SECTION, bind="query-params")
    if search.open:
        text_models.section(mind, settings)
    if evaluation.open:
        st.text("measured here")


def test_a_comparison_is_followed_in_the_section_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    monkeypatch.setattr("docmind.ui.settings.text_models.compare_text_models", compared.append)
    test = AppTest.from_function(among_sections, default_timeout=60).run()
    test.selectbox("text-model").select("own").run()
    assert not test.text
    test.button("text-model-compare").click().run()
    assert not test.exception
    assert compared == ["own"]
    assert [part.value for part in test.text] == ["measured here"]
