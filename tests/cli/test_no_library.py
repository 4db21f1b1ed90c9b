"""Commands where there is no library, or no text model: what is said, and what is not made."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from docmind.embedding.minilm_weights import PUBLISHED, SMALL, SOURCES
from docmind.errors import IndexMismatchError
from each import each_of
from shells import Shell, sentence_of

READING = [
    ["list"], ["status"], ["search", "herons"], ["ask", "What do herons eat?"], ["show", "herons.pdf", "1"],
    ["doctor"], ["reindex"],
    ["threads", "list"], ["memory", "list"], ["models", "list"], ["settings", "list"], ["snapshot", "list"],
    ["queue", "list"], ["bin", "list"], ["collection", "list"], ["sync", "list"], ["tokens", "list"], ["keys", "code"],
    ["gc"], ["accept"],
]  # fmt: skip


@pytest.fixture
def nothing(tmp_path: Path) -> Shell:
    """Return a shell where there is no library."""
    shell = Shell(tmp_path)
    shell.begins = shell.confirms = False
    return shell


@each_of("words", READING)
def test_a_command_that_reads_makes_no_library(words: list[str], nothing: Shell) -> None:
    data = nothing.folder / "data"
    result = nothing.run(*words, code=10)
    assert sentence_of(result) == f"docmind: There is no library in {data} yet."
    assert "docmind add" in result.stderr
    assert "recovery code" not in result.stderr
    assert not data.exists()


@pytest.mark.slow
def test_a_command_that_adds_makes_one(nothing: Shell) -> None:
    assert "recovery code" in nothing.run("add", nothing.file("herons.txt", b"Herons eat fish.")).stderr
    assert "herons.txt" in nothing.run("list").stdout


def test_the_status_names_the_folder(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    assert f"Folder of the library: {tmp_path / 'data'}\n" in shell.run("status").stdout
    assert shell.json("status")["data_dir"] == str(tmp_path / "data")


@pytest.fixture
def without_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Return a shell where no package with weights of MiniLM is installed, over an empty library."""
    find, gone = importlib.util.find_spec, {source.module for source in SOURCES}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name in gone else find(name, *rest))
    return Shell(tmp_path, DOCMIND_EMBEDDING__MODEL="minilm")


@each_of("words", [["search", "herons"], ["ask", "--quotes", "What do herons eat?"], ["search", "herons", "--json"]])
def test_a_text_model_that_is_not_installed_is_no_empty_result(words: list[str], without_weights: Shell) -> None:
    result = without_weights.run(*words, code=3)
    assert sentence_of(result) == "docmind: The text model all-MiniLM-L6-v2 is not installed."
    assert f"Run: {SMALL.install}" in result.stderr
    assert result.stdout == ""


def test_adding_and_the_status_name_the_missing_model(without_weights: Shell) -> None:
    told = without_weights.run("add", without_weights.file("herons.txt", b"Herons eat fish."), code=3)
    assert "The text model all-MiniLM-L6-v2 is not installed." in told.output
    assert SMALL.install in told.output
    (model,) = [one for one in without_weights.json("status")["capabilities"] if one["name"] == "text model"]
    assert (model["state"], SMALL.install in model["hint"]) == ("missing", True)


@pytest.mark.slow
def test_a_model_that_is_installed_later_is_used(without_weights: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    herons = without_weights.file("herons.txt", b"Herons nest in tall trees near rivers.")
    without_weights.run("add", herons, code=3)
    without_weights.run("search", "herons", code=3)
    monkeypatch.undo()
    without_weights.run("add", herons)
    told = without_weights.json("search", "where do birds live?")
    assert (told["hits"][0]["document"], told["degraded"]) == ("herons.txt", [])


@pytest.mark.slow
def test_other_weights_of_the_same_model_need_a_new_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their vectors are nearly equal, and not mixed."""
    shell = Shell(tmp_path, DOCMIND_EMBEDDING__MODEL="minilm")
    shell.run("add", shell.file("herons.txt", b"Herons nest in tall trees near rivers."))
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == PUBLISHED.module else find(name, *rest)
    )
    assert "docmind reindex" in shell.run("search", "herons", code=IndexMismatchError.exit_code).stderr
    shell.run("reindex")
    told = shell.json("search", "where do birds live?")
    assert (told["hits"][0]["document"], told["degraded"]) == ("herons.txt", [])
