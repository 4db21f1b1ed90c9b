"""Commands about names, tags, collections, the bin, and originals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from docmind.records.documents import Upload
from libraries import Library, confirm
from shells import Shell, sentence_of, stocked_shell

HERONS = b"Herons wait in shallow water for fish, and nest in tall trees."
OWLS = b"Owls hunt at night and swallow their prey whole."
LIBRARY = Library("herons.txt and owls.txt", [Upload("herons.txt", HERONS), Upload("owls.txt", OWLS)], confirm)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return stocked_shell(tmp_path, LIBRARY)


def names(told: dict) -> list[str]:
    return [info["document"] for info in told["documents"]]


@pytest.mark.slow
def test_an_original_comes_out_as_it_went_in(shell: Shell, tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    assert shell.json("get", "herons.txt", "-o", target)["bytes"] == len(HERONS)
    assert target.read_bytes() == HERONS
    assert "exists already" in sentence_of(shell.run("get", "owls.txt", "-o", target, code=2))
    assert target.read_bytes() == HERONS
    shell.run("get", "owls.txt", "-o", target, "--force")
    assert target.read_bytes() == OWLS
    shell.run("rename", "owls.txt", "strix")
    (folder := tmp_path / "folder").mkdir()
    shell.run("get", "strix", "-o", folder)
    assert (folder / "strix.txt").read_bytes() == OWLS
    command = [sys.executable, "-m", "docmind", "get", "herons.txt", "-o", "-"]
    done = subprocess.run(command, env={**os.environ, **shell.environment}, capture_output=True, check=True)
    assert done.stdout == HERONS


@pytest.mark.slow
def test_an_author_and_a_day_are_set_and_shown(shell: Shell) -> None:
    told = shell.json("rename", "owls.txt", "--author", "Ada\u202e Owl", "--dated", "2024-02-29")["document"]
    assert (told["author"], told["dated"], told["document"]) == ("Ada Owl", "2024-02-29", "owls.txt")
    assert "no day of the calendar" in sentence_of(shell.run("rename", "owls.txt", "--dated", "2023-02-29", code=2))
    shown = shell.run("show", "owls.txt").stdout.splitlines()
    assert {"Name: owls.txt", "Author: Ada Owl", "Date: 2024-02-29"} <= set(shown)
    assert any(line.startswith("Read by docmind") for line in shown)
    document = shell.json("show", "owls.txt")["document"]
    assert document in shell.json("list")["documents"]
    assert document["ingestion"]["passages"] >= 1
    assert document["updated_at_ms"] >= document["added_at_ms"]
    assert "an image for each page" in sentence_of(shell.run("show", "owls.txt", "--image", "x.webp", code=2))


@pytest.mark.slow
def test_names_tags_and_collections(shell: Shell) -> None:
    told = shell.json("rename", "owls.txt", "strix.txt", "--title", "On owls")["document"]
    assert (told["document"], told["title"]) == ("strix.txt", "On owls")
    assert "nothing to change" in sentence_of(shell.run("rename", "strix.txt", code=2))
    shell.run("tag", "strix.txt", "herons.txt", "--add", "Birds", "--add", "night")
    shell.run("tag", "herons.txt", "--remove", "NIGHT", "--language", "pt")
    assert "nothing to change" in sentence_of(shell.run("tag", "herons.txt", code=2))
    assert names(shell.json("list", "--tag", "night")) == ["strix.txt"]
    assert names(shell.json("list", "--language", "pt")) == ["herons.txt"]
    assert names(shell.json("list", "--kind", "pdf")) == []
    assert "No documents match." in shell.run("list", "--kind", "pdf").stdout
    assert shell.json("collection", "add", "Water", "herons.txt")["collection"]["documents"] == 1
    shell.run("collection", "add", "water", "strix.txt")
    shell.run("collection", "remove", "Water", "strix.txt")
    shell.run("collection", "rename", "Water", "Lakes")
    assert names(shell.json("list", "--collection", "lakes")) == ["herons.txt"]
    assert [hit["document"] for hit in shell.json("search", "owls", "--collection", "Lakes")["hits"]] in (
        [],
        ["herons.txt"],
    )
    assert "Lakes: 1 document" in shell.run("collection", "list").stdout
    assert "no collection" in sentence_of(shell.run("list", "--collection", "Seas", code=4))
    shell.run("collection", "delete", "Lakes")
    assert shell.json("collection", "list") == {"collections": []}
    assert len(names(shell.json("list"))) == 2


@pytest.mark.slow
def test_deletion_goes_to_the_bin(shell: Shell) -> None:
    told = shell.json("delete", "owls.txt")
    assert [info["document"] for info in told["binned"]] == ["owls.txt"]
    assert told["deleted"] == []
    assert names(shell.json("list")) == ["herons.txt"]
    assert names(shell.json("bin", "list")) == ["owls.txt"]
    assert "There is no document" in sentence_of(shell.run("rename", "owls.txt", "a", code=4))
    assert shell.json("bin", "restore", "owls.txt")["restored"][0]["status"] == "ready"
    assert shell.json("search", "owls hunt")["hits"][0]["document"] == "owls.txt"
    shell.run("delete", "owls.txt", "herons.txt")
    assert "Nothing was deleted" in sentence_of(shell.run("bin", "empty", code=130))
    assert len(shell.json("bin", "empty", "owls.txt", "--yes")["deleted"]) == 1
    assert "herons.txt was erased (1 page)." in shell.run("bin", "empty", "-y").stdout
    assert shell.json("bin", "list") == {"documents": []}
    assert list((shell.folder / "data" / "artifacts").iterdir()) == []


@pytest.mark.slow
def test_without_a_bin_deletion_asks(shell: Shell) -> None:
    done = shell.run("delete", "owls.txt", code=130, DOCMIND_STORAGE__BIN_DAYS="0")
    assert "Nothing was deleted" in sentence_of(done)
    told = json.loads(shell.run("delete", "owls.txt", "-y", "--json", DOCMIND_STORAGE__BIN_DAYS="0").stdout)
    assert len(told["deleted"]) == 1
