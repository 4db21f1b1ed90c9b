"""`docmind doctor`: what it says, its exit codes, a library that does not open, and a document that comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

import other_readers
from docmind.storage import OwnerLock
from docmind.storage.keys import open_keys
from docmind.storage.mark import Mark
from shells import Shell, stocked_shell

QUESTION = "How many sticks are their nests made of?"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return stocked_shell(tmp_path)


def data_of(shell: Shell) -> Path:
    return shell.folder / "data"


def delete_rows(shell: Shell, document: str) -> None:
    """Delete the rows of a document by hand, as nothing in DocMind does."""
    from docmind.config import KeySettings
    from docmind.storage import Database

    folder = data_of(shell)
    opened = open_keys(folder, KeySettings(source="file", file=shell.folder / "docmind.key"))
    mark = Mark(folder / "mark", opened.keyset.db_key, opened.vault_id)
    database = Database(folder / "vault.db", opened.keyset.db_key, mark=mark)
    with database.transaction() as db:
        db.execute("DELETE FROM documents WHERE document = ?", (document,))
    database.close()


@pytest.mark.slow
def test_a_document_whose_rows_are_lost_comes_back(shell: Shell) -> None:
    """The same question gets the same source."""
    before = shell.json("ask", QUESTION)["sources"][0]
    delete_rows(shell, "herons.pdf")
    assert [info["document"] for info in shell.json("list")["documents"]] == ["owls.txt"]
    found = shell.json("doctor", code=1)["check"]
    assert [one["document"] for one in found["findings"] if one["kind"] == "document-lost"] == ["herons.pdf"]
    told = shell.json("doctor", "--repair", "--full")
    assert told["before"]["counts"].keys() >= {"document-lost"}
    assert told["mended"]["document-lost"] == 1
    assert told["check"]["is_well"]
    after = shell.json("ask", QUESTION)["sources"][0]
    ids = ("doc_id", "document", "page_no", "quote")
    assert [after[name] for name in ids] == [before[name] for name in ids]


@pytest.mark.slow
def test_what_is_found_is_said_with_what_to_do(shell: Shell) -> None:
    well = shell.run("doctor", "--full").stdout
    assert well.startswith("All is well.\nChecked in ")
    assert "2 documents, 3 pages, 7 files" in well
    (data_of(shell) / "notes.txt").write_text("not DocMind's")
    told = shell.run("doctor", code=1).stdout
    assert told.startswith("The data folder holds a file that isn't DocMind's. (1)\n    notes.txt\n  Move it")
    assert "0 findings were mended." in shell.run("doctor", "--repair", code=1).stdout


@pytest.mark.slow
def test_readers_that_cannot_be_used_are_named_and_are_no_damage(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_readers.install(tmp_path / "packages", monkeypatch, "docmind-broken", "raise OSError('no toys')", toy="Toy")
    on = {"DOCMIND_READING__READERS": "toy", "DOCMIND_READING__PANDOC": "off"}
    told = shell.run("doctor", **on).stdout
    assert told.startswith("All is well.")
    assert "missing  reader toy: docmind-broken 1.0 (MIT): The reader toy failed: OSError: no toys." in told
    assert "isolation of readers: " in told
    states = {one["name"]: one["state"] for one in shell.json("doctor", **on)["check"]["readers"]}
    assert set(states) == {"isolation of readers", "pandoc", "reader toy"}
    assert (states["pandoc"], states["reader toy"]) == ("off", "missing")


def test_a_folder_without_a_library_stays_empty(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    shell.begins = False
    assert "There is no library in" in shell.run("doctor", code=10).stderr
    assert not data_of(shell).exists()


@pytest.mark.slow
def test_a_library_that_does_not_open_is_looked_at(shell: Shell) -> None:
    folder = data_of(shell)
    image = next((folder / "artifacts").glob("*.webp.enc"))
    image.write_bytes(image.read_bytes()[:-1])
    assert shell.json("doctor", code=1)["check"]["counts"] == {"image-damaged": 1}

    key = shell.folder / "docmind.key"
    right = key.read_bytes()
    key.write_bytes(b"0" * 64)
    found = shell.json("doctor", "--full", code=12)["check"]
    assert found["counts"] == {"file-damaged": 1, "key-wrong": 1}
    assert found["unchecked"] == ["database", "index"]
    key.unlink()
    assert shell.json("doctor", code=11)["check"]["counts"].keys() == {"file-damaged", "locked"}
    key.write_bytes(right)
    key.chmod(0o600)

    for name, kind in (("vault.json", "description-damaged"), ("vault.db", "database-damaged")):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(b"x" * len(data))
        assert shell.json("doctor", "--repair", code=1)["check"]["counts"].keys() == {"file-damaged", kind}
        (folder / name).write_bytes(data)

    (folder / "mark").unlink()
    assert shell.json("doctor", code=1)["check"]["counts"].keys() == {"image-damaged", "mark-damaged"}
    shell.run("accept", "-y")
    assert shell.json("doctor", "--repair")["check"]["is_well"]


def test_a_library_in_use_is_locked(shell: Shell) -> None:
    held = OwnerLock(data_of(shell))
    try:
        assert "in use" in shell.run("doctor", code=11).stderr
    finally:
        held.release()
