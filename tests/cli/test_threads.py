"""`docmind threads`: every command as text and as JSON, going back and branching, and refusals.

Exported files: named after the conversation, written whole or not at all, never over another one.
"""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from pathlib import Path
from typing import Any

import pytest

from conftest import tiny_disk
from docmind.application import DocMind
from docmind.cli.threads import file_name_of, write_whole
from docmind.errors import ConfigError, DiskFullError
from docmind.records.conversations import Exported
from each import each_of
from libraries import Library, confirm
from shells import STOCKED, Shell, assert_inert, sentence_of, stocked_shell

PDF = Exported("x.pdf", "application/pdf", b"%PDF")


@each_of(
    "title, name",
    [
        ("Where do herons nest?", "Where do herons nest.pdf"),
        ("../../etc/passwd", "etc passwd.pdf"),
        ("", "conversation.pdf"),
        (" ... ", "conversation.pdf"),
        ("CON", "conversation CON.pdf"),
        ("lpt1.txt", "conversation lpt1.txt.pdf"),
        ("a\x1b[2J\nb\x00c", "a 2J b c.pdf"),
        ("-rf", "rf.pdf"),
        ("Relatório de Évora", "Relatório de Évora.pdf"),
    ],
)
def test_a_title_makes_a_name_that_any_file_system_takes(title: str, name: str) -> None:
    assert file_name_of(PDF, title) == name


def test_a_long_title_is_cut(tmp_path: Path) -> None:
    for title in ("x" * 5_000, "漢" * 5_000, "🪶" * 5_000):
        write_whole(tmp_path / file_name_of(PDF, title), b"x", over=False)


def test_a_file_is_written_whole_and_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    write_whole(path, b"%PDF", over=False)
    assert path.read_bytes() == b"%PDF"
    assert os.name != "posix" or stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["a.pdf"]


def test_what_is_there_stays_unless_it_may_go(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(b"old")
    with pytest.raises(ConfigError, match="already exists"):
        write_whole(path, b"new", over=False)
    assert path.read_bytes() == b"old"
    write_whole(path, b"new", over=True)
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.pdf"]


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_a_link_that_leads_nowhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="already exists"):
        write_whole(tmp_path / "a.pdf", b"new", over=False)
    write_whole(tmp_path / "a.pdf", b"new", over=True)
    assert os.listdir(tmp_path) == ["a.pdf"]


def test_where_it_cannot_be_written_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="can't be written"):
        write_whole(tmp_path / "no" / "a.pdf", b"x", over=False)
    (tmp_path / "folder").mkdir()
    with pytest.raises(ConfigError, match="can't be written"):
        write_whole(tmp_path / "folder", b"x", over=True)
    assert os.listdir(tmp_path) == ["folder"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    with tiny_disk(tmp_path, megabytes=1) as disk:
        path = disk / "a.pdf"
        path.write_bytes(b"old")
        with pytest.raises(DiskFullError):
            write_whole(path, os.urandom(2 << 20), over=True)
        assert path.read_bytes() == b"old"
        assert os.listdir(disk) == ["a.pdf"]


TURN = {"question", "answer", "sentences", "sources", "checkpoint_id", "before_id", "state", "found", "thread_id"}
THREAD = {
    "thread_id",
    "title",
    "created_at_ms",
    "updated_at_ms",
    "checkpoint_id",
    "deleted_at_ms",
    "is_pinned",
    "is_archived",
    "bound",
}
QUESTIONS = ("Where do herons nest?", "Where do owls nest?", "What are nests made of?")


def converse(docmind: DocMind) -> None:
    """Ask three questions in a conversation, as `ask --thread birds` does."""
    confirm(docmind)
    thread_id = docmind.conversations.create(thread_id="birds").thread_id
    for question in QUESTIONS:
        docmind.conversations.ask(question, thread_id=thread_id)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Make a vault with one conversation of three turns."""
    return stocked_shell(tmp_path, Library("herons and owls with three turns", STOCKED.uploads, converse))


def asked(view: dict[str, Any]) -> list[str]:
    return [turn["question"] for turn in view["turns"]]


@pytest.mark.slow
def test_list_as_json_and_as_text(shell: Shell) -> None:
    (told,) = shell.json("threads", "list")["threads"]
    assert set(told) == THREAD
    assert (told["thread_id"], told["title"]) == ("birds", QUESTIONS[0])
    assert told["checkpoint_id"]
    listed = shell.run("threads", "list").stdout
    assert "birds" in listed
    assert QUESTIONS[0] in listed
    shell.run("ask", "Where do owls hunt?", "--thread", "newer")
    assert [thread["thread_id"] for thread in shell.json("threads", "list")["threads"]] == ["newer", "birds"]


@pytest.mark.slow
def test_ids_are_listed_so_that_they_can_be_told_apart(shell: Shell) -> None:
    for name in ("a-long-name-1", "a-long-name-2", "new"):
        shell.run("ask", "Where do owls hunt?", "--thread", name)
    shown = [line.split()[0] for line in shell.run("threads", "list").stdout.splitlines()]
    assert {"a-long-name-1", "a-long-name-2", "birds"} < set(shown)
    for name in shown:
        shell.run("threads", "show", name)


@pytest.mark.slow
def test_search_looks_into_titles_and_texts(shell: Shell) -> None:
    shell.run("ask", "Where do owls hunt?", "--thread", "hunting")
    for words, found in (("412 sticks", ["birds"]), ("OWLS HUNT?", ["hunting"]), ("nothing like it", [])):
        told = shell.json("threads", "list", "--search", words)
        assert sorted(thread["thread_id"] for thread in told["threads"]) == sorted(found), words
    assert "No conversations match." in shell.run("threads", "list", "--search", "nothing like it").stdout


def test_an_empty_vault_has_no_conversations(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    assert shell.json("threads", "list") == {"threads": []}
    assert "no conversations yet" in shell.run("threads", "list").stdout


@pytest.mark.slow
def test_show_as_json_and_as_text(shell: Shell) -> None:
    told = shell.json("threads", "show", "birds")
    assert set(told) == {"thread", "turns", "runs", "earlier"}
    assert set(told["thread"]) == THREAD
    assert asked(told) == list(QUESTIONS)
    for turn in told["turns"]:
        assert set(turn) >= TURN
        assert turn["sources"][0]["boxes"]
        assert turn["sentences"][0]["supported"]
    assert [run["is_current"] for run in told["runs"]] == [True] * 3
    assert told["runs"][1]["parent_id"] == told["runs"][0]["checkpoint_id"]
    shown = shell.run("threads", "show", "birds").stdout
    for question in QUESTIONS:
        assert f"> {question}" in shown
    assert "  [1] herons.pdf, page 2" in shown
    tree = shell.run("threads", "show", QUESTIONS[0], "--tree").stdout.splitlines()
    assert [line[0] for line in tree[2:]] == ["*"] * 3
    assert tree[-1].endswith("<- you are here")


@pytest.mark.slow
def test_show_at_an_earlier_checkpoint(shell: Shell) -> None:
    first = shell.json("threads", "show", "birds")["turns"][0]["checkpoint_id"]
    for name in (first, first[-8:], first[-5:], first[:-2]):
        assert asked(shell.json("threads", "show", "birds", "--at", name)) == [QUESTIONS[0]]
    assert "checkpoints begin or end with" in sentence_of(
        shell.run("threads", "show", "birds", "--at", first[:6], code=4)
    )
    assert "no checkpoint" in sentence_of(shell.run("threads", "show", "birds", "--at", first[-3:], code=4))


def _ids(shell: Shell) -> list[str]:
    return [run["checkpoint_id"] for run in shell.json("threads", "show", "birds")["runs"]]


@pytest.mark.slow
def test_resume_goes_back_and_forth_and_loses_nothing(shell: Shell) -> None:
    ids = _ids(shell)
    told = shell.json("threads", "resume", "birds", "--at", ids[0])
    assert (told["thread_id"], told["checkpoint_id"]) == ("birds", ids[0])
    assert asked(shell.json("threads", "show", "birds")) == [QUESTIONS[0]]
    assert _ids(shell) == ids
    assert ids[2][-8:] in shell.run("threads", "resume", "birds", "--at", ids[2][-8:]).stdout
    assert asked(shell.json("threads", "show", "birds")) == list(QUESTIONS)


@pytest.mark.slow
def test_fork_branches_and_both_branches_stay(shell: Shell) -> None:
    ids = _ids(shell)
    told = shell.json("threads", "fork", "birds", "--at", ids[0][-8:])
    assert told["thread_id"] == "birds"
    assert told["checkpoint_id"] not in ids
    shell.run("ask", "Where do owls hunt?", "--thread", "birds")
    assert asked(shell.json("threads", "show", "birds")) == [QUESTIONS[0], "Where do owls hunt?"]
    view = shell.json("threads", "show", "birds", "--at", ids[2])
    assert asked(view) == list(QUESTIONS)
    assert [run["is_current"] for run in view["runs"]] == [True, False, False, True]
    assert "new branch at" in shell.run("threads", "fork", "birds").stdout


@pytest.mark.slow
def test_fork_of_a_conversation_without_turns_is_one_sentence(shell: Shell) -> None:
    shell.run("chat", "--thread", "fresh", typed="")
    assert "still empty" in sentence_of(shell.run("threads", "fork", "fresh", code=4))


@pytest.mark.slow
def test_compare_as_json_and_as_text(shell: Shell) -> None:
    first = _ids(shell)[0]
    shell.run("threads", "fork", "birds", "--at", first)
    other = shell.json("ask", "Where do owls nest?", "--thread", "birds", "--doc", "owls.txt")["checkpoint_id"]
    told = shell.json("threads", "compare", "birds", first, other)
    assert set(told) == {"left", "right", "changes", "pages_both", "pages_left", "pages_right"}
    assert (told["left"]["question"], told["right"]["question"]) == ("Where do herons nest?", "Where do owls nest?")
    assert set(told["left"]) >= TURN
    assert {kind for kind, _ in told["changes"]} <= {"same", "only_left", "only_right"}
    shown = shell.run("threads", "compare", "birds", first[-8:], other[-8:]).stdout
    assert f"--- {first[-8:]}  Where do herons nest?" in shown
    assert f"+++ {other[-8:]}  Where do owls nest?" in shown
    assert "- “Herons nest in tall trees near rivers.”" in shown.splitlines()
    same = shell.run("threads", "compare", "birds", first, first).stdout
    assert "  “Herons nest in tall trees near rivers.”" in same.splitlines()


@pytest.mark.slow
def test_rename_delete_and_restore(shell: Shell) -> None:
    assert shell.json("threads", "rename", "birds", "  Of \x1b[31mnests\n ")["title"].startswith("Of")
    assert_inert(shell.run("threads", "list").stdout)
    shell.run("threads", "rename", "birds", "Of nests")
    assert "title" in sentence_of(shell.run("threads", "rename", "birds", " ", code=2))
    assert shell.json("threads", "delete", "Of nests")["deleted_at_ms"]
    assert shell.json("threads", "list") == {"threads": []}
    assert [thread["thread_id"] for thread in shell.json("threads", "list", "--deleted")["threads"]] == ["birds"]
    assert shell.json("threads", "restore", "birds")["deleted_at_ms"] is None
    assert asked(shell.json("threads", "show", "birds")) == list(QUESTIONS)
    assert "docmind threads restore birds" in shell.run("threads", "delete", "birds").stdout
    assert "was restored" in shell.run("threads", "restore", "Of nests").stdout


@pytest.mark.slow
def test_purge_asks_or_is_told(shell: Shell) -> None:
    assert "Nothing was deleted" in sentence_of(shell.run("threads", "purge", "birds", code=130))
    assert asked(shell.json("threads", "show", "birds")) == list(QUESTIONS)
    shell.run("threads", "purge", "birds", "nobody", "--yes", code=4)
    (receipt,) = shell.json("threads", "purge", "birds", "birds", "-y")["purged"]
    assert (receipt["thread_id"], receipt["title"]) == ("birds", QUESTIONS[0])
    assert receipt["checkpoints"] >= 6
    assert shell.json("threads", "list", "--deleted") == {"threads": []}
    assert "no conversation" in sentence_of(shell.run("threads", "show", "birds", code=4))
    shell.run("ask", "Where?", "--thread", "again")
    shell.run("threads", "delete", "again")
    assert "“Where?” was permanently deleted." in shell.run("threads", "purge", "again", "-y").stdout


@pytest.mark.slow
def test_export_as_markdown_and_as_pdf(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    told = shell.json("threads", "export", "birds")
    assert told["file"] == "Where do herons nest.zip"
    with zipfile.ZipFile(io.BytesIO((here / told["file"]).read_bytes())) as package:
        assert package.testzip() is None
        text = b"".join(package.read(name) for name in package.namelist() if name.endswith(".md")).decode()
        assert any(name.endswith((".webp", ".png", ".jpg")) for name in package.namelist())
    assert all(question in text for question in QUESTIONS)
    shown = shell.run("threads", "export", "birds", "--format", "pdf", "--output", tmp_path / "out.pdf").stdout
    assert shown == f"Saved to {tmp_path / 'out.pdf'}\n"
    assert (tmp_path / "out.pdf").read_bytes().startswith(b"%PDF-")
    shell.run("threads", "export", "birds", "--format", "pdf", "--output", tmp_path / "here")
    assert sorted(os.listdir(here)) == ["Where do herons nest.pdf", "Where do herons nest.zip"]


@pytest.mark.slow
def test_an_export_replaces_a_file_only_when_told_to(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "kept.zip"
    path.write_bytes(b"mine")
    refused = shell.run("threads", "export", "birds", "--output", path, code=2)
    assert "already exists" in sentence_of(refused)
    assert "--force" in refused.stderr
    assert path.read_bytes() == b"mine"
    shell.run("threads", "export", "birds", "--output", path, "--force")
    assert path.read_bytes().startswith(b"PK")
    assert "can't be written" in sentence_of(
        shell.run("threads", "export", "birds", "--output", tmp_path / "no" / "x.zip", code=2)
    )
    first = _ids(shell)[0]
    shell.run("threads", "export", "birds", "--output", path, "--force", "--at", first)
    assert QUESTIONS[2].encode() not in b"".join(
        zipfile.ZipFile(path).read(n) for n in zipfile.ZipFile(path).namelist()
    )


@pytest.mark.slow
def test_a_conversation_is_pinned_archived_and_brought_back(shell: Shell) -> None:
    assert "is pinned." in shell.run("threads", "pin", "birds").stdout
    assert shell.json("threads", "list")["threads"][0]["is_pinned"] is True
    assert "not pinned any more" in shell.run("threads", "pin", "birds", "--undo").stdout
    assert shell.json("threads", "archive", "birds")["is_archived"] is True
    assert "birds" not in [thread["thread_id"] for thread in shell.json("threads", "list")["threads"]]
    assert [thread["thread_id"] for thread in shell.json("threads", "list", "--archived")["threads"]] == ["birds"]
    assert "back in the list" in shell.run("threads", "archive", "birds", "--undo").stdout


@pytest.mark.slow
def test_what_is_not_there_is_one_sentence(shell: Shell) -> None:
    commands = [
        ("show", "nobody"), ("fork", "nobody"), ("rename", "nobody", "x"), ("delete", "nobody"), ("restore", "nobody"),
        ("resume", "nobody", "--at", "12345678"), ("compare", "nobody", "1234", "5678"), ("export", "nobody"),
        ("purge", "nobody", "-y"), ("pin", "nobody"), ("archive", "nobody"),
    ]  # fmt: skip
    for words in commands:
        assert "no conversation" in sentence_of(shell.run("threads", *words, code=4)), words
    hostile = shell.run("threads", "show", "\x1b[2J\x1b]0;owned\x07", code=4)
    assert_inert(hostile.stderr)


@pytest.mark.slow
def test_conversations_of_one_title_are_told_apart_by_ids(shell: Shell) -> None:
    shell.run("ask", QUESTIONS[0], "--thread", "birds-2")
    refused = shell.run("threads", "show", QUESTIONS[0], code=4)
    assert "birds-2" in sentence_of(refused)


@pytest.mark.slow
def test_json_is_one_line_of_its_own(shell: Shell) -> None:
    for words in (("list",), ("show", "birds"), ("fork", "birds"), ("rename", "birds", "x"), ("delete", "birds")):
        json.loads(shell.run("threads", *words, "--json").stdout)
