"""Extras that are asked for in the app: written down where the launcher looks, and nowhere without it."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from docmind.errors import VaultError
from docmind.storage import can_wish, wish, wishes
from docmind.storage.wish_list import VARIABLE


@pytest.fixture(scope="module")
def launcher() -> Any:
    return runpy.run_path(str(ROOT / "scripts" / "setup_env.py"))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launcher: Any) -> Path:
    file = tmp_path / launcher["WISHES"]
    monkeypatch.setenv(VARIABLE, str(file))
    return file


def test_a_wish_is_read_by_the_launcher_and_taken_back(file: Path, tmp_path: Path, launcher: Any) -> None:
    assert can_wish()
    assert wishes() == ()
    assert launcher["wishes"](str(tmp_path)) == []
    wish("local-llm")
    wish("local-llm")
    assert wishes() == ("local-llm",)
    assert launcher["wishes"](str(tmp_path)) == ["local-llm"]
    wish("local-llm", is_wanted=False)
    assert wishes() == ()
    assert launcher["wishes"](str(tmp_path)) == []
    wish("local-llm")
    launcher["forget_wishes"](str(tmp_path))
    assert not file.exists()
    launcher["forget_wishes"](str(tmp_path))


@pytest.mark.parametrize(
    "text", ["", "{", "5", "null", '"local-llm"', '["--index-url=http://h.example", "torch", 3, null]', '{"test": 1}']
)
def test_nothing_else_is_installed(file: Path, tmp_path: Path, launcher: Any, text: str) -> None:
    file.write_text(text)
    assert launcher["wishes"](str(tmp_path)) == []
    wish("local-llm")
    assert launcher["wishes"](str(tmp_path)) == ["local-llm"]


def test_without_the_launcher_there_is_no_wish(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    wish("local-llm")
    assert not can_wish()
    assert wishes() == ()


def test_a_folder_that_cannot_be_written_to_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file" / "folder" / "wishes"))
    with pytest.raises(VaultError, match="cannot be written"):
        wish("local-llm")


def test_the_launcher_and_the_app_agree() -> None:
    assert f'"{VARIABLE}"' in (ROOT / "scripts" / "run_app.py").read_text()
