"""`docmind tokens` without the app: made, listed, revoked, in a library of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from shells import Shell, sentence_of

pytestmark = pytest.mark.slow


def test_a_token_is_made_listed_and_revoked(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    assert "There are no tokens." in shell.run("tokens", "list").stdout
    made = shell.run("tokens", "new", "script")
    assert made.stdout.startswith("docmind_")
    assert made.stdout.count("\n") == 1  # the token alone, so that it can be piped
    assert "not shown again" in made.stderr
    told = shell.json("tokens", "new", "notes", "--full")
    assert (told["name"], told["scope"], told["token"][:8]) == ("notes", "full", "docmind_")
    listed = shell.json("tokens", "list")["tokens"]
    assert [(one["name"], one["scope"]) for one in listed] == [("script", "read"), ("notes", "full")]
    assert "token" not in listed[0]
    shown = shell.run("tokens", "list").stdout
    assert "last used never" in shown
    assert told["token"] not in shown
    assert "already" in sentence_of(shell.run("tokens", "new", "script", code=2))
    assert "revoked" in shell.run("tokens", "revoke", "script").stdout
    sentence_of(shell.run("tokens", "revoke", "script", code=4))
    assert [one["name"] for one in shell.json("tokens", "list")["tokens"]] == ["notes"]
