"""Choices: plain JSON under short names, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from docmind.errors import ConfigError, DamagedError
from docmind.storage.database import Database
from docmind.storage.preferences import LARGEST, Preferences

KEY = bytes(range(32))


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "vault.db", KEY)
    yield database
    database.close()


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -7, 2.5, "", "ação 漢字 \U0001f600", [], [1, [2, {}]], {"provider": "ollama", "seen": None}],
)
def test_what_was_chosen_comes_back_after_reopening(tmp_path: Path, value: Any) -> None:
    database = Database(tmp_path / "vault.db", KEY)
    Preferences(database).put("llm.model", "another")
    Preferences(database).put("llm.model", value)
    database.close()
    database = Database(tmp_path / "vault.db", KEY)
    assert Preferences(database).get("llm.model") == value
    database.close()


def test_what_was_never_chosen_or_is_dropped_is_none(db: Database) -> None:
    choices = Preferences(db)
    assert choices.get("theme") is None
    choices.remove("theme")
    choices.put("theme", "dark")
    choices.put("other", 1)
    choices.remove("theme")
    assert choices.get("theme") is None
    assert choices.get("other") == 1


@pytest.mark.parametrize(
    "value", [b"x", {1, 2}, (1, 2), {1: "x"}, float("nan"), float("inf"), "\ud800", Path("x"), object(), "x" * LARGEST]
)
def test_a_value_that_is_no_small_json_changes_nothing(db: Database, value: Any) -> None:
    choices = Preferences(db)
    choices.put("theme", "dark")
    with pytest.raises(ConfigError, match="theme"):
        choices.put("theme", value)
    assert choices.get("theme") == "dark"


@pytest.mark.slow
def test_recursive_and_endlessly_nested_values_are_refused(db: Database) -> None:
    ring: list[Any] = []
    ring.append(ring)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (ring, deep):
        with pytest.raises(ConfigError):
            Preferences(db).put("theme", value)


@pytest.mark.parametrize("name", ["", "9lives", "a b", "a" * 65, "a;DROP TABLE x", "naïve", "a\n"])
def test_a_name_that_is_none_is_refused(db: Database, name: str) -> None:
    choices = Preferences(db)
    for call in (lambda: choices.get(name), lambda: choices.put(name, 1), lambda: choices.remove(name)):
        with pytest.raises(ConfigError, match="named by"):
            call()


@pytest.mark.parametrize("text", ["", "{", "not json", "[" * 100_000])
def test_a_choice_that_is_unreadable_is_one_sentence(db: Database, text: str) -> None:
    with db.transaction() as connection:
        connection.execute("INSERT INTO preferences (name, value) VALUES ('theme', ?)", (text,))
    with pytest.raises(DamagedError, match="theme"):
        Preferences(db).get("theme")
    Preferences(db).put("theme", "dark")
    assert Preferences(db).get("theme") == "dark"
