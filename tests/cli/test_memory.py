"""`docmind memory`: every command, its JSON, its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shells import Shell, assert_inert, sentence_of

HOSTILE = "evil\x1b[2J\x1b]0;owned\x07\u202egnp"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def test_a_memory_from_its_beginning_to_its_end(shell: Shell) -> None:
    assert "There are no memories yet" in shell.run("memory", "list").stdout
    kept = shell.json("memory", "add", "The lease ends in June")["memory"]
    assert set(kept) == {"memory_id", "text", "thread_id", "created_at_ms", "updated_at_ms", "score"}
    assert (kept["text"], kept["thread_id"]) == ("The lease ends in June", None)
    assert shell.json("memory", "add", "the lease ends in june")["memory"]["memory_id"] == kept["memory_id"]
    listed = shell.json("memory", "list")
    assert [one["text"] for one in listed["memories"]] == ["The lease ends in June"]
    assert listed["degraded"] == []
    said = shell.run("memory", "list").stdout
    assert kept["memory_id"][:12] in said
    assert "The lease ends in June" in said
    changed = shell.json("memory", "edit", kept["memory_id"][:6], "The lease ends in July")["memory"]
    assert (changed["memory_id"], changed["text"]) == (kept["memory_id"], "The lease ends in July")
    assert "Deleted" in shell.run("memory", "forget", kept["memory_id"]).stdout
    assert shell.json("memory", "list")["memories"] == []


def test_a_search_narrows_the_list(shell: Shell) -> None:
    for text in ("Herons wait in shallow water", "The lease ends in June"):
        shell.run("memory", "add", text)
    found = shell.json("memory", "list", "--search", "lease")["memories"]
    assert [one["text"] for one in found] == ["The lease ends in June"]
    assert "No memories match" in shell.run("memory", "list", "--search", "turbine").stdout
    away = {"DOCMIND_MEMORY__VECTORS": "off"}
    found = shell.json("memory", "list", "--search", "lease", **away)
    assert [one["text"] for one in found["memories"]] == ["The lease ends in June"]
    assert [one["stage"] for one in found["degraded"]] == ["sqlite-vec"]


@pytest.mark.slow
def test_memories_of_one_conversation(shell: Shell) -> None:
    shell.run("add", shell.file("owls.txt", b"Owls hunt at night and swallow their prey whole. " * 3))
    thread = shell.json("ask", "What do owls hunt?", "--thread", "owls")["thread_id"]
    shell.run("memory", "add", "Here owls are barn owls", "--thread", thread)
    shell.run("memory", "add", "The lease ends in June")
    here = shell.json("memory", "list", "--thread", thread)["memories"]
    assert [(one["text"], one["thread_id"]) for one in here] == [("Here owls are barn owls", thread)]
    assert f"(conversation {thread[:12]})" in shell.run("memory", "list").stdout
    assert shell.json("memory", "purge", "--thread", thread, "-y") == {"purged": 1, "thread_id": thread}
    assert shell.json("memory", "purge", "-y") == {"purged": 1, "thread_id": None}
    assert "Deleted permanently: 0 memories." in shell.run("memory", "purge", "-y").stdout


def test_a_purge_asks_first(shell: Shell) -> None:
    shell.run("memory", "add", "The lease ends in June")
    refused = shell.run("memory", "purge", code=130)
    assert sentence_of(refused) == "docmind: Nothing was deleted."
    assert len(shell.json("memory", "list")["memories"]) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("edit", "0" * 32, "text"), 4),
        (("forget", "nothing"), 4),
        (("forget", "\x1b[2J"), 4),
        (("add", "fact", "--thread", "nowhere"), 4),
        (("list", "--thread", "nowhere"), 4),
        (("add", " "), 2),
        (("add", "x" * 2001), 2),
    ],
)
def test_what_cannot_be_done_is_one_sentence(shell: Shell, words: tuple[str, ...], code: int) -> None:
    shell.run("memory", "list")  # creates the vault, which prints its code
    refused = shell.run("memory", *words, code=code)
    sentence_of(refused)
    assert_inert(refused.stderr)
    assert shell.json("memory", "list")["memories"] == []


def test_no_memory_commands_the_terminal(shell: Shell) -> None:
    shell.run("memory", "list")
    for result in (
        shell.run("memory", "add", HOSTILE),
        shell.run("memory", "list"),
        shell.run("memory", "list", "--json"),
    ):
        assert_inert(result.stdout)
    (kept,) = json.loads(shell.run("memory", "list", "--json").stdout)["memories"]
    assert kept["text"] == "evil[2J]0;ownedgnp"
