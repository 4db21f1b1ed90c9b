"""A vault that is only read: everything can be looked at, nothing is changed, and writing is refused in a sentence."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import require
from desks import opened, report, settings_in
from docmind.application import DocMind
from docmind.errors import VaultBusyError, VaultError
from docmind.records.documents import Upload
from docmind.storage.database import Database
from libraries import Library


def converse(docmind: DocMind) -> None:
    thread = docmind.conversations.create("Birds")
    docmind.conversations.ask("How many herons?", thread_id=thread.thread_id)
    docmind.memories.add("My boat is called Tern.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a closed vault with a document, a conversation and a memory."""
    Library("a conversation and a memory", [report("heron", 3)], converse).copy_to(tmp_path)
    with opened(tmp_path):  # fills the reserve, as every opening for writing does
        pass
    return tmp_path


@pytest.fixture
def on_read_only_disk(folder: Path) -> Iterator[Path]:
    """Make the same vault in a folder that cannot be written."""
    require(sys.platform == "linux" and os.geteuid() == 0, "mounting needs Linux and root")
    data = str(folder / "data")
    made = subprocess.run(["mount", "--bind", data, data], capture_output=True, text=True)
    require(made.returncode == 0, f"this system does not mount: {made.stderr.strip()}")
    subprocess.run(["mount", "-o", "remount,bind,ro", data], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", data], check=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted((folder / "data").rglob("*")) if path.is_file()}


def look(docmind: DocMind) -> None:
    """All that can be done without writing."""
    (info,) = docmind.documents()
    assert [hit.document for hit in docmind.search("heron report page 1").hits]
    assert docmind.multimodal_search("heron report page 1").hits
    assert docmind.ask("How many herons does the heron report count on page 1?").sources is not None
    assert docmind.conversations.ask("How many herons?").question
    assert docmind.page(info.doc_id, 1).words
    assert docmind.page_image(info.doc_id, 1)
    (thread,) = docmind.conversations.threads("herons")
    assert docmind.conversations.view(thread.thread_id).turns
    assert docmind.conversations.export(thread.thread_id, "markdown").data
    assert docmind.memories.list().memories
    assert docmind.memories.recall("What is my boat called?").memories
    assert docmind.status().documents == 1


WRITES: dict[str, Callable[[DocMind], object]] = {
    "add": lambda docmind: docmind.add([Upload("new.txt", b"New words.")]),
    "delete": lambda docmind: docmind.erase([docmind.documents()[0].doc_id]),
    "reindex": lambda docmind: docmind.reindex(),
    "create": lambda docmind: docmind.conversations.create("New"),
    "turn": lambda docmind: docmind.conversations.ask(
        "How many herons?", thread_id=docmind.conversations.threads()[0].thread_id
    ),
    "purge": lambda docmind: docmind.conversations.erase_thread(docmind.conversations.threads()[0].thread_id),
    "memory": lambda docmind: docmind.memories.add("I prefer tea."),
    "forget": lambda docmind: docmind.memories.remove(docmind.memories.list().memories[0].memory_id),
}


@pytest.mark.slow
def test_a_vault_on_a_read_only_disk_can_be_looked_at(on_read_only_disk: Path) -> None:
    before = contents(on_read_only_disk)
    with opened(on_read_only_disk) as docmind:
        assert docmind.is_read_only
        look(docmind)
        for name, write in WRITES.items():
            with pytest.raises(VaultError, match="open for reading only"):
                write(docmind)
            assert len(docmind.documents()) == 1, name
    assert contents(on_read_only_disk) == before


@pytest.mark.slow
def test_a_vault_that_is_asked_to_be_only_read_is_not_changed(folder: Path) -> None:
    before = contents(folder)
    scratch = set(Path(tempfile.gettempdir()).glob("docmind-*"))
    with DocMind(settings_in(folder), read_only=True) as docmind:
        look(docmind)
        with pytest.raises(VaultError, match="open for reading only"):
            docmind.add([Upload("new.txt", b"New words.")])
        with DocMind(settings_in(folder), read_only=True) as second:  # readers do not exclude each other
            assert second.documents()
        with pytest.raises(VaultBusyError):
            opened(folder)
    assert contents(folder) == before
    assert set(Path(tempfile.gettempdir()).glob("docmind-*")) <= scratch
    with opened(folder) as docmind:
        docmind.add([report("stork", 1)])


def test_an_empty_folder_that_cannot_be_written_holds_no_vault(tmp_path: Path) -> None:
    with pytest.raises(VaultError, match="has no library"):
        DocMind(settings_in(tmp_path), read_only=True)


def test_a_log_is_read_through_a_copy(tmp_path: Path) -> None:
    """A database with a log needs SQLite's files beside it: they are made in a private folder."""
    key = bytes(range(32))
    source = Database(tmp_path / "vault.db", key)
    with source.transaction() as db:
        db.execute("INSERT INTO changes (doc_id, at_ms) VALUES ('one', 1)")
    place = tmp_path / "left"
    place.mkdir()
    for name in ("vault.db", "vault.db-wal"):
        shutil.copy(tmp_path / name, place / name)
    source.close()
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    assert before["vault.db-wal"]
    reader = Database(place / "vault.db", key, read_only=True)
    assert reader.one("SELECT doc_id FROM changes") == ("one",)
    with pytest.raises(VaultError, match="open for reading only"), reader.transaction() as db:
        db.execute("DELETE FROM changes")
    reader.close()
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
