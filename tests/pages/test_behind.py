"""The app over a vault that lacks acknowledged changes: what is missing, and the two choices."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from conftest import ROOT
from docmind.application import DocMind
from docmind.config import Settings
from docmind.records.documents import Upload
from docmind.ui.app.app_state import app_state


@pytest.fixture(params=["file", "passphrase"])
def older(data_dir: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[str]:
    """Make a vault whose vault.db was restored; yield the passphrase to type, if any."""
    monkeypatch.setenv("DOCMIND_EMBEDDING__MODEL", "fake")
    monkeypatch.setenv("DOCMIND_READING__OCR", "off")
    monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "off")
    monkeypatch.setenv("DOCMIND_READING__WORKERS", "1")
    if request.param == "passphrase":
        monkeypatch.setenv("DOCMIND_KEYS__SOURCE", "passphrase")
        monkeypatch.delenv("DOCMIND_KEYS__FILE")
    app_state.clear()
    before = data_dir.parent / "before.db"
    for name in ("herons", "storks"):
        with DocMind(Settings.load(), ask_passphrase=lambda: "correct horse") as docmind:
            docmind.add([Upload(f"{name}.txt", f"The {name} wait in shallow water for fish.".encode())])
        if name == "herons":
            shutil.copy(data_dir / "vault.db", before)
    shutil.copy(before, data_dir / "vault.db")
    yield "correct horse" if request.param == "passphrase" else ""
    app_state.clear()


def said(test: AppTest) -> str:
    assert not test.exception
    told = [*test.error, *test.info, *test.title, *test.caption]
    return "\n".join(str(one.value).replace("\\", "") for one in told)


def begun(passphrase: str) -> AppTest:
    test = AppTest.from_file(str(ROOT / "pages/start.py"), default_timeout=60).run()
    if passphrase:
        test.text_input[0].set_value(passphrase)
        test.button[0].click().run()
    return test


def press(test: AppTest, label: str) -> AppTest:
    (button,) = [button for button in test.button if button.label == label]
    return button.click().run()


@pytest.mark.slow
def test_a_vault_that_is_behind_can_be_viewed_or_accepted(older: str) -> None:
    test = begun(older)
    assert "older than the files beside it" in said(test)
    assert "storks.txt" in said(test)
    test = press(test, "Look at it read-only")
    assert "open for reading only" in said(test)
    assert [info.document for info in app_state().open().documents.all()] == ["herons.txt"]
    assert app_state().open().is_read_only
    test = press(test, "Close it")
    if older:
        test = begun(older)
    assert "older than the files beside it" in said(test)
    test = press(test, "Go on with what is here")
    assert "older than" not in said(test)
    assert not app_state().open().is_read_only
    assert [info.document for info in app_state().open().documents.all()] == ["herons.txt"]
