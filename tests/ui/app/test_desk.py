"""The open vault of the app under changed settings: opened again at once, later, or as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from desks import report
from docmind.application import DocMind
from docmind.errors import ConfigError
from docmind.ui.app import desk as desk_module
from docmind.ui.app.desk import AppState

pytestmark = pytest.mark.slow


@pytest.fixture
def state(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppState]:
    monkeypatch.setenv("DOCMIND_EMBEDDING__MODEL", "fake")
    monkeypatch.setenv("DOCMIND_READING__OCR", "off")
    monkeypatch.setenv("DOCMIND_LLM__PROVIDER", "off")
    state = AppState()
    state.drawn()
    yield state
    state.close()


def test_a_change_is_applied_and_the_reference_stays(state: AppState) -> None:
    docmind = state.open()
    docmind.add([report("herons", 2)])
    assert state.change({"answer.quotes": 2}) == ("answer.quotes",)
    assert state.open() is docmind
    assert docmind._settings.answer.quotes == 2
    assert len(docmind.documents()) == 1
    assert state.settings is not None
    assert state.settings.answer.quotes == 2


def test_a_change_waits_for_a_running_question(state: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    docmind = state.open()
    monkeypatch.setattr(desk_module, "_is_busy", lambda _: True)
    state.change({"answer.quotes": 2})
    assert state.is_waiting
    assert docmind._settings.answer.quotes == 5
    monkeypatch.setattr(desk_module, "_is_busy", lambda _: False)
    state.open()
    assert not state.is_waiting
    assert docmind._settings.answer.quotes == 2


def test_a_change_under_which_the_vault_does_not_open_is_taken_back(
    state: AppState, monkeypatch: pytest.MonkeyPatch
) -> None:
    docmind = state.open()
    reopen = DocMind.reopen

    def failing(self: DocMind, *, unset: tuple[str, ...] = ()) -> None:
        if not unset:
            self.close()
            raise ConfigError("It does not open.")
        reopen(self, unset=unset)

    monkeypatch.setattr(DocMind, "reopen", failing)
    with pytest.raises(ConfigError, match="does not open"):
        state.change({"answer.quotes": 2})
    assert docmind.settings.info("answer.quotes").source == "default"
    assert docmind.documents() == ()
