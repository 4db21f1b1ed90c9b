"""Conversations bound to a collection: asked in it until they are bound to another, or to all documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from shells import Shell


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    shell = Shell(tmp_path_factory.mktemp("bound"), DOCMIND_ANSWER__THRESHOLD="0")
    files = [
        shell.file(f"{name}.txt", f"{name.title()} nest in tall trees near the river.\n".encode() * 3)
        for name in ("herons", "owls")
    ]
    shell.run("add", *files)
    shell.run("collection", "add", "Waders", "herons.txt")
    return shell


def cited(shell: Shell, *words: str | Path) -> set[str]:
    told = shell.json("ask", "Where do they nest?", *words)
    return {source["document"] for source in told["sources"]}


@pytest.mark.slow
def test_a_conversation_begun_in_a_collection_stays_in_it(shell: Shell) -> None:
    assert cited(shell, "--thread", "birds", "--collection", "Waders") == {"herons.txt"}
    assert cited(shell, "--thread", "birds") == {"herons.txt"}
    assert cited(shell, "--collection", "Waders") == {"herons.txt"}
    refused = shell.run("ask", "Where do they nest?", "--thread", "birds", "--doc", "owls.txt", code=2)
    assert "bound to other documents" in refused.stderr
    told = shell.run("chat", "--thread", "birds", "--json", typed="Where do they nest?").stdout
    assert "herons.txt" in told
    assert "owls.txt" not in told


@pytest.mark.slow
def test_it_is_bound_and_unbound(shell: Shell) -> None:
    assert "owls.txt" in cited(shell, "--thread", "trees")
    bound = shell.json("threads", "bind", "trees", "Waders")
    assert len(bound["bound"]["collections"]) == 1
    assert cited(shell, "--thread", "trees") == {"herons.txt"}
    assert "is asked in all documents." in shell.run("threads", "bind", "trees").stdout
    assert shell.json("threads", "bind", "trees")["bound"]["collections"] == []
    shell.run("threads", "bind", "trees", "No such", code=4)
