"""The open vault of the app under changed settings: opened again at once, later, or as it was."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from desks import report
from docmind.application import DocMind
from docmind.config import Settings
from docmind.errors import ConfigError, KeyUnavailableError, VaultBusyError, WrongKeyError
from docmind.ui.app import app_state as desk_module
from docmind.ui.app.activity import Activity
from docmind.ui.app.app_state import AppState

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


def wait_until(is_so: Callable[[], bool]) -> bool:
    until = time.monotonic() + 30
    while not (so := is_so()) and time.monotonic() < until:
        time.sleep(0.05)
    return so


def test_a_change_is_applied_and_the_reference_stays(state: AppState) -> None:
    docmind = state.open()
    docmind.add([report("herons", 2)])
    assert state.change({"answer.quotes": 2}) == ("answer.quotes",)
    assert state.open() is docmind
    assert docmind.configured.answer.quotes == 2
    assert len(docmind.documents.all()) == 1
    assert state.settings is not None
    assert state.settings.answer.quotes == 2


def test_the_value_in_force_is_no_change(state: AppState) -> None:
    docmind = state.open()
    default = docmind.settings.info("storage.min_free_mb").value
    assert state.change({"storage.min_free_mb": default, "app.theme": "dark"}) == ("app.theme",)
    assert docmind.settings.info("storage.min_free_mb").source == "default"
    assert state.change({"storage.min_free_mb": 700}) == ("storage.min_free_mb",)
    assert state.change({"storage.min_free_mb": default}) == ("storage.min_free_mb",)  # back, by the user


@pytest.mark.parametrize("gives_way", [True, False])
def test_a_library_that_another_process_has_open_is_waited_for(
    state: AppState, monkeypatch: pytest.MonkeyPatch, *, gives_way: bool
) -> None:
    other = DocMind(Settings())
    if gives_way:
        closing = threading.Timer(0.5, other.close)
        closing.start()
        assert not state.open().documents.all()
        closing.join()
        return
    monkeypatch.setattr(desk_module, "_GIVES_WAY_S", 0.3)
    with pytest.raises(VaultBusyError, match="in use"):
        state.open()
    other.close()
    assert not state.open().documents.all()


def test_a_change_waits_for_a_running_question(state: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    docmind = state.open()
    monkeypatch.setattr(desk_module, "_is_busy", lambda _: True)
    state.change({"answer.quotes": 2})
    assert state.is_waiting
    assert docmind.configured.answer.quotes == 5
    monkeypatch.setattr(desk_module, "_is_busy", lambda _: False)
    state.open()
    assert not state.is_waiting
    assert docmind.configured.answer.quotes == 2


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
    assert docmind.documents.all() == ()


FIRST, SECOND = "correct horse battery", "staple of the stable"


@pytest.fixture
def locked_by_words(state: AppState, monkeypatch: pytest.MonkeyPatch) -> AppState:
    """Return a state whose vault is open, with a passphrase and a document."""
    monkeypatch.setenv("DOCMIND_KEYS__SOURCE", "passphrase")
    state.open(FIRST).add([report("herons", 2)])
    return state


def test_who_looks_at_an_open_vault_neither_uses_nor_opens_it(locked_by_words: AppState) -> None:
    state = locked_by_words
    time.sleep(0.05)
    assert state.opened() is state.open()
    assert state.activity.idle_s() >= 0.05
    assert wait_until(lambda: not state.opened().queue.progress().is_busy)
    assert state.lock()
    with pytest.raises(KeyUnavailableError):
        state.opened()
    assert not state.is_open


def test_locking_drops_the_vault_and_ends_its_index(locked_by_words: AppState) -> None:
    state = locked_by_words
    assert state.is_lockable
    docmind = state.open()
    docmind.search("herons")
    pid = docmind.index.started().index.pid  # type: ignore[attr-defined]
    there = weakref.ref(docmind)
    del docmind
    assert wait_until(lambda: not state.open().queue.progress().is_busy)
    assert state.lock()
    assert there() is None, "nothing holds the keys any more"
    assert not Path(f"/proc/{pid}").exists()
    assert state.wants_passphrase
    assert not state.is_open
    assert not state.lock()
    with pytest.raises(KeyUnavailableError):
        state.open()
    with pytest.raises(WrongKeyError):
        state.open("wrong")
    assert len(state.open(FIRST).documents.all()) == 1


def test_it_locks_after_idle_minutes_and_not_while_something_runs(
    locked_by_words: AppState, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = locked_by_words
    at = [0.0]
    state.activity = Activity(lambda: at[0])
    monkeypatch.setattr(desk_module, "_is_busy", lambda _: True)
    state.change({"keys.lock_after_min": 5})
    at[0] = 301.0
    state._lock_if_idle()
    assert state.is_open
    monkeypatch.setattr(desk_module, "_is_busy", lambda _: False)
    at[0] = 299.0
    state._lock_if_idle()
    assert state.is_open
    at[0] = 301.0
    state._lock_if_idle()
    assert not state.is_open


def test_locking_by_hand_waits_for_what_runs(locked_by_words: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "_is_busy", lambda _: True)
    assert not locked_by_words.lock(waits=True)
    assert locked_by_words.is_open
    monkeypatch.setattr(desk_module, "_is_busy", lambda _: False)
    locked_by_words._lock_if_idle()
    assert not locked_by_words.is_open


def test_a_library_without_a_typed_passphrase_does_not_lock(state: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    state.open()
    assert not state.is_lockable
    assert not state.lock()
    assert state.is_open
    state.close()


def test_a_library_that_gets_a_passphrase_locks_by_itself(state: AppState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_KEYS__SOURCE", "auto")
    monkeypatch.setattr(desk_module, "_IDLE_LOOK_S", 0.05)
    docmind = state.open()
    docmind.keys.protect(FIRST)
    state.watch_use()
    state.change({"keys.lock_after_min": 5})
    assert state.is_lockable
    monkeypatch.setattr(state.activity, "idle_s", lambda: 301.0)
    assert wait_until(lambda: not state.is_open)
    with pytest.raises(KeyUnavailableError):
        state.open()
    assert state.open(FIRST).keys.asks_passphrase


def test_the_recovery_code_opens_and_sets_a_passphrase(locked_by_words: AppState) -> None:
    state = locked_by_words
    code = state.open().keys.recovery_code() or ""
    assert state.lock()
    with pytest.raises(WrongKeyError):
        state.recover("AAAAA-AAAAA-AAAAA-AAAAA-AAAAA-AAAAA", SECOND)
    opened = state.recover(code.lower(), SECOND)
    assert opened.keys.recovery_code() not in (None, code)
    assert opened.vault.settings.keys.recovery_code is None
    assert len(opened.documents.all()) == 1
    del opened
    assert state.lock()
    with pytest.raises(WrongKeyError):
        state.open(FIRST)
    assert state.open(SECOND).keys.asks_passphrase


def test_a_result_with_texts_goes_with_an_erased_document_and_with_the_next_one(state: AppState) -> None:
    docmind = state.open()
    (added,) = docmind.add([report("herons", 2)])
    for name in ("first", "second"):
        state.start(name, lambda library, report: "The herons", has_texts=True).ends.wait(10)
    state.start("third", lambda library, report: 3).ends.wait(10)
    assert [state.work(name) is None for name in ("first", "second", "third")] == [True, False, False]
    docmind.erasures.erase([added.doc_id or ""])
    assert state.work("second") is None
    assert state.work("third") is not None
