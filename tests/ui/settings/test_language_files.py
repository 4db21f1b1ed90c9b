"""Language models in Settings: fetched from a hub on this machine, removed, and what runs them asked for."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from docmind.model_files import KNOWN_FILES
from docmind.storage import wishes
from docmind.storage.wish_list import VARIABLE
from docmind.ui.app.app_state import app_state
from hub_server import Behaviour, HubServer, serving
from smollm import LLAMA, gguf

KNOWN = KNOWN_FILES["qwen2.5-1.5b"].source
OWNER = "maker/tiny-GGUF"


@pytest.fixture
def hub() -> Iterator[HubServer]:
    data = gguf(LLAMA, padding=400_000)
    with serving({KNOWN.repository: {KNOWN.file: data}, OWNER: {"Tiny.gguf": data}}) as hub:
        yield hub


@pytest.fixture(autouse=True)
def vault(data_dir: Path, hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("DOCMIND_EMBEDDING__MODEL", "fake")
    monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "inside")
    monkeypatch.setenv("DOCMIND_VISUAL__MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.setenv("DOCMIND_VISUAL__HUB_URL", hub.url)
    app_state.clear()
    yield
    app_state.clear()


def page() -> None:
    from docmind.ui.app.app_state import app_state
    from docmind.ui.settings import language_models as models

    mind, settings = app_state().open(), app_state().settings
    assert settings is not None
    models.section(mind, settings)


def run(test: AppTest) -> AppTest:
    test.run()
    assert not test.exception
    return test


def opened() -> AppTest:
    return run(AppTest.from_function(page, default_timeout=30))


def said(test: AppTest) -> str:
    parts = [*test.markdown, *test.caption, *test.warning, *test.error, *test.code]
    shown = [str(part.value) for part in parts] + [button.label for button in test.button]
    return "\n".join(shown).replace("\\", "").replace("\u2060", "")


def press(test: AppTest, key: str) -> AppTest:
    test.button(key=key).click()
    return run(test)


def wait(test: AppTest, words: str) -> str:
    deadline = time.monotonic() + 60
    while words not in said(run(test)):
        assert time.monotonic() < deadline, said(test)
        time.sleep(0.1)
    return said(test)


@pytest.mark.slow
def test_nothing_is_fetched_before_consent_then_it_is_there_and_goes(hub: HubServer, tmp_path: Path) -> None:
    test = opened()
    words = said(test)
    assert "of memory are free here" in words
    assert "licence Apache-2.0" in words
    assert "needs about 1.6 GB of memory" in words
    press(test, "file-fetch-qwen2-5-1-5b")
    assert "DocMind will connect to" in said(test)
    assert "1.1 GB" in said(test)
    assert not hub.received
    press(test, "file-no")
    assert "DocMind will connect to" not in said(test)
    press(test, "file-fetch-qwen2-5-1-5b")
    press(test, "file-yes")
    wait(test, "Inside DocMind · on this computer")
    assert "file-fetch-qwen2-5-1-5b" not in [button.key for button in test.button]
    place = tmp_path / "models" / "language" / f"{KNOWN.name}.gguf"
    assert place.exists()
    press(test, f"remove-{''.join(c if c.isalnum() else '-' for c in KNOWN.name)}")
    assert "is deleted from the models folder" in said(test)
    press(test, "remove-no")
    assert place.exists()
    press(test, f"remove-{''.join(c if c.isalnum() else '-' for c in KNOWN.name)}")
    press(test, "remove-yes")
    assert not place.exists()
    assert "file-fetch-qwen2-5-1-5b" in [button.key for button in run(test).button]


@pytest.mark.slow
def test_another_file_is_named_and_a_failure_can_be_resumed(hub: HubServer) -> None:
    test = opened()
    test.text_input(key="gguf-other").set_value("what is this")
    [button] = [button for button in test.button if button.label == "Fetch…"]
    button.click()
    assert "named by its repository and file" in said(run(test))
    hub.queue("Tiny.gguf", Behaviour("cut", 100_000))
    for outcome in ("broke off", "Inside DocMind · on this computer"):
        test.text_input(key="gguf-other").set_value(f"{OWNER} Tiny.gguf")
        [button] = [button for button in test.button if button.label == "Fetch…"]
        button.click()
        assert OWNER in said(run(test))
        press(test, "file-yes")
        wait(test, outcome)
    assert [one.start for one in hub.asked("Tiny.gguf")] == [0, 100_000]


def test_what_runs_them_is_asked_for_and_the_wish_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "wishes"))
    test = opened()
    assert "its installer does, once, at the next start" in said(test)
    press(test, "extra-install")
    assert "will be installed at the next start" in said(test)
    assert wishes() == ("local-llm",)
    press(test, "extra-undo")
    assert wishes() == ()
