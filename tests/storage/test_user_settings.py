"""Settings made in DocMind: kept, checked, laid over the defaults, and never over the environment."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from desks import settings_in
from docmind.config import AnswerSettings, Settings, WebSettings
from docmind.errors import ConfigError
from docmind.storage import SETTABLE, Database, Preferences, UserSettings
from docmind.storage import keys as keys_module

VAULT = "0123456789abcdef"


@pytest.fixture
def preferences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Preferences]:
    monkeypatch.delenv("DOCMIND_NETWORK__STRICT", raising=False)
    database = Database(tmp_path / "vault.db", b"k" * 32)
    yield Preferences(database)
    database.close()


@pytest.fixture
def kept(preferences: Preferences, tmp_path: Path) -> UserSettings:
    return UserSettings(settings_in(tmp_path), preferences, VAULT, "file")


class Ring:
    """A keyring in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def set_password(self, service: str, name: str, secret: str) -> None:
        self.kept[service, name] = secret

    def get_password(self, service: str, name: str) -> str | None:
        return self.kept.get((service, name))

    def delete_password(self, service: str, name: str) -> None:
        del self.kept[service, name]


def test_every_setting_of_the_table_exists_and_is_described(kept: UserSettings) -> None:
    assert [info.name for info in kept.list()] == list(SETTABLE)
    for info in kept.list():
        assert info.title
        assert info.variable.startswith("DOCMIND_")
        assert info.kind != "choice" or info.choices


def test_a_value_is_kept_and_laid_over_the_default(
    kept: UserSettings, preferences: Preferences, tmp_path: Path
) -> None:
    assert kept.put({"answer.quotes": "3", "agent.mode": "agent"}) == ("answer.quotes", "agent.mode")
    assert kept.now.answer.quotes == 3
    again = UserSettings(settings_in(tmp_path), preferences, VAULT, "file")
    assert (again.now.answer.quotes, again.now.agent.mode) == (3, "agent")
    assert again.info("answer.quotes").source == "app"
    assert again.put({"answer.quotes": 3}) == ()
    assert again.unset(["answer.quotes"]) == ("answer.quotes",)
    assert again.now.answer.quotes == 5
    assert again.info("answer.quotes").source == "default"


def test_the_environment_wins(preferences: Preferences, tmp_path: Path) -> None:
    UserSettings(settings_in(tmp_path), preferences, VAULT, "file").put({"answer.quotes": 3})
    given = settings_in(tmp_path, answer=AnswerSettings(quotes=7))
    fixed = UserSettings(given, preferences, VAULT, "file")
    assert fixed.now.answer.quotes == 7
    assert fixed.info("answer.quotes").is_fixed
    with pytest.raises(ConfigError, match="DOCMIND_ANSWER__QUOTES"):
        fixed.put({"answer.quotes": 2})


def test_a_variable_of_the_environment_is_recognised(preferences: Preferences, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_READING__OCR", "off")
    loaded = UserSettings(Settings.load(), preferences, VAULT, "file")
    assert loaded.info("reading.ocr").is_fixed
    assert not loaded.info("reading.max_pages").is_fixed


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"nonsense": 1}, "There is no setting 'nonsense'"),
        ({"keys.source": "file"}, "There is no setting 'keys.source'"),
        ({"answer.quotes": 99}, "Most quotes in an answer is a number from 1 to 12."),
        ({"reading.max_file_mb": "much"}, "Largest file, in MB is a number from 1 up."),
        ({"retrieve.fusion": "best"}, "Search by is one of these: sum, rrf, dense, sparse."),
        ({"network.strict": "off"}, "Network guard is one of these: auto, on."),
        ({"app.language": "English"}, "a code of two letters"),
        ({"answer.quotes": 2, "agent.mode": "both"}, "How answers are made"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(
    kept: UserSettings, values: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        kept.put(values)
    assert sentence in str(refused.value)
    assert all(info.source != "app" for info in kept.list())


def test_what_cannot_be_used_any_more_is_left_out(
    preferences: Preferences, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    preferences.put("setting.answer.quotes", 1_000)
    with caplog.at_level("WARNING"):
        kept = UserSettings(settings_in(tmp_path), preferences, VAULT, "file")
    assert kept.now.answer.quotes == 5
    assert "answer.quotes" in caplog.text


def test_a_secret_is_never_told(kept: UserSettings, preferences: Preferences) -> None:
    kept.put({"web.api_key": "sk-secret"})
    assert kept.now.web.api_key is not None
    assert kept.now.web.api_key.get_secret_value() == "sk-secret"
    info = kept.info("web.api_key")
    assert (info.value, info.is_set, info.source) == (None, True, "app")
    assert "sk-secret" not in repr(kept.list()) + repr(kept.now)
    assert preferences.get("setting.web.api_key") == "sk-secret"  # in the encrypted database


def test_a_secret_lies_in_the_keyring_where_the_key_of_the_vault_does(
    preferences: Preferences, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = Ring()
    monkeypatch.setattr(keys_module, "_keyring", lambda: ring)
    kept = UserSettings(settings_in(tmp_path), preferences, VAULT, "keyring")
    kept.put({"web.api_key": "sk-secret"})
    assert ring.kept == {("docmind", f"{VAULT} web.api_key"): "sk-secret"}
    assert "sk-secret" not in str(preferences.get("setting.web.api_key"))
    again = UserSettings(settings_in(tmp_path), preferences, VAULT, "keyring")
    assert again.now.web.api_key == kept.now.web.api_key
    assert again.unset(["web.api_key"]) == ("web.api_key",)
    assert not ring.kept
    assert again.now.web == WebSettings()


def test_a_secret_moves_with_the_key_of_the_vault(
    preferences: Preferences, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring = Ring()
    monkeypatch.setattr(keys_module, "_keyring", lambda: ring)
    kept = UserSettings(settings_in(tmp_path), preferences, VAULT, "keyring")
    kept.put({"web.api_key": "sk-secret", "app.theme": "dark"})
    held = dict(ring.kept)
    assert held
    kept.move_secrets("passphrase")
    assert not ring.kept
    assert preferences.get("setting.web.api_key") == "sk-secret"
    kept.move_secrets("keyring")
    assert ring.kept == held
    again = UserSettings(settings_in(tmp_path), preferences, VAULT, "keyring").now
    assert again.web.api_key == kept.now.web.api_key
    assert again.app.theme == "dark"
