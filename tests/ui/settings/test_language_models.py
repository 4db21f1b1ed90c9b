"""Language models in Settings: over a real vault and real servers on loopback, without a browser."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from docmind.llm import INSTALL
from docmind.records.conversations import ModelInfo, ModelList
from docmind.ui.app.app_state import app_state
from llm_server import Model, serving
from smollm import LLAMA, gguf

HOSTILE = "![x](http://127.0.0.1:9/c.png) :red[r] $x$ <img src=x> [l](javascript:1)"


@pytest.fixture(autouse=True)
def vault(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DOCMIND_EMBEDDING__MODEL", "fake")
    monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "auto")
    app_state.clear()
    yield
    app_state.clear()


def page() -> None:
    from docmind.ui.app.app_state import app_state
    from docmind.ui.settings import language_models as models

    mind, settings = app_state().open(), app_state().settings
    assert settings is not None
    models.section(mind, settings)


def opened() -> AppTest:
    return run(AppTest.from_function(page, default_timeout=30))


def run(test: AppTest) -> AppTest:
    test.run()
    assert not test.exception
    return test


def said(test: AppTest) -> str:
    parts = [*test.markdown, *test.caption, *test.warning, *test.error, *test.code]
    shown = [str(part.value) for part in parts] + [button.label for button in test.button]
    return re.sub(r"\\(.)", r"\1", "\n".join(shown)).replace("\u2060", "")


def chosen(test: AppTest) -> list[str]:
    return [button.label for button in test.button if button.icon == ":material/radio_button_checked:"]


def click(test: AppTest, label: str) -> AppTest:
    next(button for button in test.button if label in button.label).click()
    return run(test)


@pytest.mark.slow
def test_models_are_chosen_and_let_go_and_the_choice_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    models = (Model("plain", capabilities=("completion",)), Model("handy"))
    with serving(protocols=("ollama",), models=models) as server:
        monkeypatch.setenv("DOCMIND_LLM__URL", server.url)
        test = opened()
        assert f"Ollama at 127.0.0.1:{server.port}" in said(test)
        assert "on this computer" in said(test)
        assert chosen(test) == ["**plain**"], "the first of the server that is set"
        assert "tools" in said(test)
        assert chosen(click(test, "handy")) == ["**handy**"]
        assert chosen(click(test, "Quotes only")) == ["**Quotes only**"]
        assert app_state().open().models.current() is None
        click(test, "handy")
        app_state.clear()
        assert chosen(opened()) == ["**handy**"], "after a new start too"
        server.models.append(Model("late"))
        assert "late" in said(click(test, "Look again"))
        assert not test.warning


def test_without_a_server_it_says_how_to_add_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as server:
        gone = server.url
    monkeypatch.setenv("DOCMIND_LLM__URL", gone)
    words = said(opened())
    assert gone.removeprefix("http://") in words, "the one that was set is told as not answering"
    assert "Set by DOCMIND_LLM__URL" in words
    assert "type its address above" in words


def test_a_model_on_another_machine_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a server's models are a record here; reaching a server is tested with the servers themselves."""
    far = ModelInfo("openai", "http://10.0.0.4:8080/v1", HOSTILE, is_tool_calling=True, is_remote=True)
    mind = app_state().open()
    monkeypatch.setattr(mind.models, "list", lambda **_: ModelList((far,), far))
    test = opened()
    words = said(test)
    assert "another computer" in words
    assert "Sent there with each question" in test.warning[0].value
    assert "10.0.0.4:8080" in words
    told = [str(part.value) for part in [*test.markdown, *test.caption, *test.warning]]
    for text in told + [button.label for button in test.button]:
        left = re.sub(r"\\.", "", text.replace(":material/", "").replace("orange-badge[", ""))
        for bad in ("![", "](", "red[", "<", "$", "://"):
            assert bad not in left, (bad, text)


def test_what_is_sent_to_another_machine_names_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    far = ModelInfo("ollama", "http://10.0.0.4:11434", "gemma3:4b", is_remote=True, takes_images=True)
    monkeypatch.setattr(app_state().open().models, "list", lambda **_: ModelList((far,), far))
    assert "pictures of up to 2 pages that may answer it are sent too" in opened().warning[0].value
    monkeypatch.setenv("DOCMIND_LLM__IMAGES", "0")
    app_state.clear()
    monkeypatch.setattr(app_state().open().models, "list", lambda **_: ModelList((far,), far))
    assert "Pictures of pages are not." in opened().warning[0].value


def test_what_is_switched_off_by_a_setting_cannot_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "off")
    test = opened()
    assert "Language models are off" in said(test)
    assert "Set by DOCMIND_LLM__PROVIDER" in said(test)
    assert not chosen(test)


@pytest.mark.slow
def test_a_server_is_tested_and_saved_in_the_form() -> None:
    with serving(models=(Model("plain"), Model("handy"))) as server:
        test = opened()
        test.text_input(key="server-url").set_value(server.url)
        test.text_input(key="server-model").set_value("nobody")
        click(test, "Test")
        assert "has no model" in test.error[0].value
        test.text_input(key="server-model").set_value("handy")
        click(test, "Test")
        assert "answered in" in test.success[0].value
        test.text_input(key="server-key").set_value("sk-secret")
        click(test, "Save")
        assert chosen(test) == ["**handy**"]
        mind = app_state().open()
        assert mind.settings.info("llm.url").source == "app"
        assert mind.settings.now.llm.api_key is not None
        assert "sk-secret" not in str([field.value for field in test.text_input])
        click(test, "Forget this server")
        assert mind.settings.info("llm.api_key").source == "default"


def test_another_address_does_not_get_the_key() -> None:
    mind = app_state().open()
    mind.settings.put({"llm.url": "http://127.0.0.1:9", "llm.api_key": "sk-secret"})
    with serving() as server:
        test = opened()
        test.text_input(key="server-url").set_value(server.url)
        click(test, "Save")
        assert mind.settings.now.llm.api_key is None
        assert not any("sk-secret" in str(request) for request in server.received)


def test_another_computer_is_asked_only_with_consent() -> None:
    test = opened()
    assert not test.checkbox
    test.text_input(key="server-url").set_value("http://192.0.2.1:11434").run()
    assert "192.0.2.1" in test.checkbox(key="server-allowed").label.replace("\\", "")
    click(test, "Test")
    assert "192.0.2.1 isn't this computer, and it isn't allowed." in said(test)


@pytest.mark.slow
def test_a_gguf_file_is_added_and_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "inside")
    monkeypatch.setenv("DOCMIND_VISUAL__MODELS_DIR", str(tmp_path / "models"))
    (tmp_path / "Tiny.gguf").write_bytes(gguf(LLAMA))
    (tmp_path / "notes.gguf").write_text("These are notes.")
    test = opened()
    assert "GGUF" in said(test)
    test.text_input(key="gguf-file").set_value(str(tmp_path / "notes.gguf"))
    assert "it is no GGUF file" in said(click(test, "Use this file"))
    test.text_input(key="gguf-file").set_value(str(tmp_path / "Tiny.gguf"))
    words = said(click(test, "Use this file"))
    assert chosen(test) == ["**Tiny**"]
    assert "Inside DocMind" in words
    assert "of memory, and" in words
    assert str(tmp_path) not in words


def test_without_the_package_the_command_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "inside")
    test = opened()
    assert "Nothing is fetched until you run this" in said(test)
    assert INSTALL in said(test)
    assert not [field for field in test.text_input if field.key == "gguf-file"]
