"""Commands beside the open app: they reach it, and say what they say without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from desks import text_pdf
from docmind.client import connect
from served import Server
from shells import Shell, sentence_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("beside")
    shell = Shell(folder)
    server = Server(folder, **shell.environment)
    server.start()
    connect(folder / "data").status()  # the app has opened the vault
    yield shell
    server.stop()


def test_a_document_is_added_found_shown_and_deleted(shell: Shell, tmp_path: Path) -> None:
    herons = shell.file(
        "herons.pdf", text_pdf(["Herons wait in shallow water for fish.", "Herons nest in tall trees."])
    )
    empty = shell.file("empty.pdf", b"")
    told = shell.run("add", herons, empty, shell.files / "missing.pdf", "--tag", "birds", code=20)
    assert "Added herons.pdf: 2 pages" in told.stdout
    assert "empty.pdf could not be read: it is empty" in told.stderr
    assert "missing.pdf can't be opened" in told.stderr
    assert "Already here: herons.pdf" in shell.run("add", herons).stdout
    assert [info["tags"] for info in shell.json("list")["documents"]] == [["birds"]]
    assert shell.json("search", "nest in tall trees")["hits"][0]["page_no"] == 2
    assert "nest in tall trees" in shell.run("ask", "Where do herons nest?").stdout
    assert "nest in tall trees" in shell.run("ask", "Where do herons nest?", "--thread", "birds").stdout
    page = tmp_path / "page.webp"
    shell.run("show", "herons.pdf", "1", "--image", page)
    assert shell.json("search", "--image", page, "--no-read")["query"] == ""
    shell.run("get", "herons.pdf", "-o", tmp_path / "copy.pdf")
    assert (tmp_path / "copy.pdf").read_bytes() == herons.read_bytes()
    assert shell.json("status")["documents"] == 1
    assert shell.json("doctor", "--full")["check"]["counts"].keys() <= {"marks-missing"}
    assert shell.json("queue", "list")["files"]
    shell.run("tag", "herons.pdf", "--add", "water")
    shell.run("memory", "add", "The heron year is 2026.")
    assert "heron year" in shell.run("memory", "list").stdout
    assert "bin" in shell.run("delete", "herons.pdf", "-y").stdout
    shell.run("show", "herons.pdf", "1", code=4)


def test_commands_that_need_the_stores_say_so(shell: Shell) -> None:
    assert "work while it is closed" in sentence_of(shell.run("reindex", code=11))


def test_a_new_version_replaces_the_earlier_one_where_the_app_reads_it(shell: Shell) -> None:
    lease = "Whoever lives here pays.\n\nThe rent of the mill house is {rent} crowns a month. It is due on the third.\n"
    shell.run("add", shell.file("mill lease.txt", lease.format(rent=900).encode()))
    told = shell.run("add", "--replace", shell.file("mill lease (2).txt", lease.format(rent=950).encode())).stdout
    assert "mill lease.txt is in the bin. Undo: docmind bin restore" in told
    names = [info["document"] for info in shell.json("list")["documents"]]
    assert "mill lease (2).txt" in names
    assert "mill lease.txt" not in names
