"""`docmind settings`: listed, shown, set and unset; keys stay hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

import other_readers
from archives import packed
from shells import Shell, sentence_of

pytestmark = pytest.mark.slow


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_a_setting_is_set_shown_and_unset(shell: Shell) -> None:
    assert "answer.quotes" in shell.run("settings", "list").stdout
    assert shell.run("settings", "set", "answer.quotes", "3").stdout == "answer.quotes: 3\n"
    assert "Most quotes in an answer: 3 (set here)" in shell.run("settings", "get", "answer.quotes").stdout
    told = {info["name"]: info for info in shell.json("settings", "list")["settings"]}
    assert (told["answer.quotes"]["value"], told["answer.quotes"]["source"]) == (3, "app")
    assert told["reading.ocr"]["source"] == "environment"
    assert shell.run("settings", "unset", "answer.quotes").stdout == "answer.quotes: 5 (default)\n"


def test_what_cannot_be_set_is_one_sentence(shell: Shell) -> None:
    shell.run("settings", "list")  # makes the vault
    assert "DOCMIND_READING__OCR" in sentence_of(shell.run("settings", "set", "reading.ocr", "auto", code=2))
    assert "from 1 to 12" in sentence_of(shell.run("settings", "set", "answer.quotes", "0", code=2))


def test_a_key_comes_from_standard_input_and_is_not_shown(shell: Shell) -> None:
    told = shell.run("settings", "set", "web.api_key", typed="sk-secret\n").stdout
    assert told == "web.api_key: hidden\n"
    assert "sk-secret" not in shell.run("settings", "list", "--json").stdout


def test_a_reader_that_is_turned_on_names_what_it_can_read_now(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "class Toy:\n title = 'Toys'\n magic = (b'TOY ',)\n def read(self, data, name, losses): ...\n"
    other_readers.install(tmp_path / "packages", monkeypatch, "docmind-toys", code, toy="Toy")
    files = [shell.file("a.toy", b"TOY heron"), shell.file("b.toy", packed({"x": "y"}))]  # that one is not kept
    shell.run("add", *files, code=23)
    told = shell.run("settings", "set", "reading.readers", "toy").stdout
    assert told.splitlines() == [
        "reading.readers: toy",
        "1 document was read as an archive or plain text, and one of these readers may know it.",
        "    docmind reread a.toy",
    ]
