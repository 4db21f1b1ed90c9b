"""`--json` is understood by all commands alike: one option, behind the command, and one object on one line."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click
import pytest

from docmind.cli import main
from docmind.cli.context import json_option
from shells import Shell, sentence_of, stocked_shell

SERVING = {("app",), ("mcp",)}
"""They serve the library until they are ended, and print nothing of their own."""


def commands(command: click.Command, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        for name, child in command.commands.items():
            yield from commands(child, *path, name)
    else:
        yield path, command


EVERY = dict(commands(main))
READING = sorted(
    path for path, command in EVERY.items()
    if path[-1] in ("list", "status", "doctor", "gc") and not any(one.required for one in command.params)
)  # fmt: skip


@click.command()
@json_option
def like_this(as_json: bool) -> None:
    """Have the option that all commands have."""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return stocked_shell(tmp_path_factory.mktemp("json"))


def test_every_command_that_prints_something_has_the_option() -> None:
    (wanted,) = like_this.params
    assert EVERY.keys() >= SERVING
    for path, command in EVERY.items():
        named = [one for one in command.params if "--json" in one.opts]
        assert len(named) == 1, path
        if path not in SERVING:
            assert isinstance(named[0], click.Option)
            assert named[0].to_info_dict() == wanted.to_info_dict(), path


@pytest.mark.parametrize("path", sorted(SERVING), ids=" ".join)
def test_what_serves_the_library_refuses_it_in_a_sentence(shell: Shell, path: tuple[str, ...]) -> None:
    assert any("--json" in one.opts for one in EVERY[path].params), "without it the app would take this process"
    refused = shell.run(*path, "--json", code=2)
    assert refused.stdout == ""
    assert "runs until it is ended, and has no JSON" in sentence_of(refused)


@pytest.mark.parametrize("path", READING, ids=" ".join)
def test_what_reads_the_library_prints_one_object(shell: Shell, path: tuple[str, ...]) -> None:
    printed = shell.run(*path, "--json").stdout
    assert printed.count("\n") == 1
    assert isinstance(json.loads(printed), dict)


@pytest.mark.slow
def test_a_receipt_is_saved_and_told(shell: Shell) -> None:
    shell.run("add", shell.file("gulls.txt", b"Gulls follow the plough."))
    shell.run("purge", "gulls.txt", "--now", "--yes")
    (receipt,) = shell.json("receipt", "list")["receipts"]
    file = shell.files / "receipt.json"
    assert shell.json("receipt", "save", receipt["doc_id"], "-o", file) == {"file": str(file), "receipt": receipt}
