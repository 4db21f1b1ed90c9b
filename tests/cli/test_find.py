"""`docmind find`: complete lists for people, as JSON, CSV and Markdown."""

from __future__ import annotations

from pathlib import Path

import pytest

from docmind.errors import ConfigError
from shells import Shell, assert_inert, sentence_of, stocked_shell

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return stocked_shell(tmp_path_factory.mktemp("find"))


def test_mentions_come_with_pages_and_counts(shell: Shell) -> None:
    told = shell.run("find", "--all", "nest")
    assert "herons.pdf (" in told.stdout
    assert "page 2: Herons nest in tall trees near rivers." in told.stdout
    assert told.stderr.splitlines()[-1].startswith("Items: ")
    assert "Documents: 2. Pages read: 3." in told.stderr
    assert_inert(told.stdout)


def test_json_has_the_whole_list(shell: Shell) -> None:
    found = shell.json("find", "heron", "--doc", "herons.pdf")
    assert found["listing"]["is_complete"]
    assert found["listing"]["total"] == len(found["items"]) > 1
    assert {item["source"]["document"] for item in found["items"]} == {"herons.pdf"}
    assert all(item["source"]["boxes"] for item in found["items"])


def test_files_have_the_whole_list(shell: Shell, tmp_path: Path) -> None:
    whole = shell.run("find", "nest", "--csv").stdout
    assert whole.splitlines()[0] == "document,page,text,times,doc_id,place"
    for name in ("list.csv", "list.md"):
        shell.run("find", "nest", "--output", str(tmp_path / name))
    assert (tmp_path / "list.csv").read_text("utf-8").splitlines() == whole.splitlines()
    assert "- Herons nest in tall trees near rivers. (page 2)" in (tmp_path / "list.md").read_text("utf-8")


@pytest.mark.parametrize("arguments", [(), (" ",), ("x", "--csv", "--json")])
def test_what_cannot_be_listed_is_one_sentence(shell: Shell, arguments: tuple[str, ...]) -> None:
    assert sentence_of(shell.run("find", *arguments, code=ConfigError.exit_code))
