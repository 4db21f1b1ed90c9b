"""Prepared libraries: independent copies that answer as a new vault does, built once and again after a change."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from clearvault import clear
from conftest import HELPERS
from desks import inventory, settings_in, talking
from docmind.application import DocMind
from docmind.config import AnswerSettings, EmbeddingSettings
from docmind.records.documents import Upload
from docmind.records.search import Hit
from docmind.storage.files import SIZE
from libraries import DOCUMENTS, EMPTY, KEPT_S, QUESTIONS, ROOT, TEN_TURNS, THREE_DOCUMENTS, Library, copy_file, sources

TWICE = """
import os, sys
from pathlib import Path
from libraries import Library

def count(docmind):
    with open(sys.argv[2], "a") as told:
        told.write(f"{os.getpid()}\\n")

print(Library("counted", then=count).built(Path(sys.argv[1])))
"""


def places(hits: Sequence[Hit]) -> list[tuple[str, int, object]]:
    """Return the pages with their scores, which differ a little: an index is blinded by the key of its vault."""
    return [(hit.document, hit.page_no, pytest.approx(hit.score, abs=0.01)) for hit in hits]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_copy_answers_as_a_new_vault_does(tmp_path: Path) -> None:
    with talking(tmp_path / "new") as new:
        assert [result.status for result in new.add(DOCUMENTS)] == ["added"] * 3
    with talking(tmp_path / "new") as new, THREE_DOCUMENTS.opened(tmp_path / "copy") as copy:
        assert {one.document for one in copy.documents.all()} == {one.document for one in new.documents.all()}
        for question in QUESTIONS:
            found = [(hit.document, hit.page_no, hit.score) for hit in copy.search(question).hits]
            assert found == places(new.search(question).hits)
            assert copy.ask(question).answer == new.ask(question).answer
    assert inventory(settings_in(tmp_path / "copy")) == inventory(settings_in(tmp_path / "new"))


@pytest.mark.slow
def test_a_copy_is_whole_and_keeps_its_identity(docmind: DocMind, tmp_path: Path) -> None:
    assert docmind.doctor.examine("deep").findings == ()
    assert (tmp_path / "data" / "reserve").stat().st_size == SIZE
    with THREE_DOCUMENTS.opened(tmp_path / "other") as other:
        assert other.status().vault_id == docmind.status().vault_id
        assert [one.doc_id for one in other.documents.all()] == [one.doc_id for one in docmind.documents.all()]


@pytest.mark.slow
def test_copies_are_independent(tmp_path: Path) -> None:
    before = contents(THREE_DOCUMENTS.built())
    with THREE_DOCUMENTS.opened(tmp_path / "one") as one, THREE_DOCUMENTS.opened(tmp_path / "two") as two:
        one.erasures.erase([one.documents.find("lease.txt").doc_id])
        one.memories.add("The lease is gone")
        one.conversations.create("Birds")
        assert (len(one.documents.all()), len(two.documents.all())) == (2, 3)
        assert two.memories.everything() == ()
        assert two.conversations.threads() == ()
        assert two.ask("How long is the notice period of the lease?").found
    assert contents(THREE_DOCUMENTS.built()) == before


@pytest.mark.slow
def test_the_standard_libraries_hold_what_they_are_named_after(tmp_path: Path) -> None:
    with EMPTY.opened(tmp_path / "empty") as empty:
        assert empty.documents.counts() == (0, 0, 0)
    with TEN_TURNS.opened(tmp_path / "turns") as docmind:
        (thread,) = docmind.conversations.threads()
        turns = docmind.conversations.view(thread.thread_id).turns
        assert [turn.question for turn in turns] == list(QUESTIONS)
        assert len(turns) == 10
        assert len(docmind.documents.all()) == 3


@pytest.mark.slow
def test_settings_may_change_and_a_copy_is_opened_again(tmp_path: Path) -> None:
    with THREE_DOCUMENTS.opened(tmp_path, answer=AnswerSettings(threshold=0)) as docmind:
        docmind.erasures.erase([docmind.documents.find("lease.txt").doc_id])
    with talking(tmp_path) as docmind:
        assert len(docmind.documents.all()) == 2


def test_what_decides_the_contents_decides_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library("birds", [Upload("a.txt", b"Herons wait.")])
    others = [
        replace(library, name="owls"),
        replace(library, uploads=[Upload("a.txt", b"Herons wait!")]),
        replace(library, uploads=[Upload("a.txt", b"Herons wait.", tags=("x",))]),
        replace(library, then=lambda docmind: docmind.memories.add("A fact")),
        replace(library, settings=lambda folder: settings_in(folder, embedding=EmbeddingSettings(model="minilm"))),
    ]
    assert len({one.digest() for one in (library, *others)}) == 6
    assert library.digest() == Library("birds", [Upload("a.txt", b"Herons wait.")]).digest()
    monkeypatch.setattr("libraries._TODAY", "2001-01-01")
    assert library.digest() != Library("birds").digest()


@pytest.mark.parametrize("changed", ["src/docmind/deep/one.py", "tests/support/two.py", "constraints.txt"])
def test_a_change_of_a_source_changes_the_hash(tmp_path: Path, changed: str) -> None:
    for number, name in enumerate(("src/docmind/deep/one.py", "tests/support/two.py", "constraints.txt")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"line {number}\n")
    before = sources.__wrapped__(tmp_path)
    assert sources.__wrapped__(tmp_path) == before
    (tmp_path / changed).write_text("another line\n")
    assert sources.__wrapped__(tmp_path) != before


def test_the_hash_is_of_this_repository() -> None:
    assert (ROOT / "src" / "docmind" / "application.py").is_file()
    assert (ROOT / "constraints.txt").is_file()


@pytest.mark.slow
def test_two_processes_build_once(tmp_path: Path) -> None:
    script, told = tmp_path / "twice.py", tmp_path / "told"
    script.write_text(TWICE)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *HELPERS])}
    command = [sys.executable, str(script), str(tmp_path / "store"), str(told)]
    running = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = {process.communicate(timeout=120)[0] for process in running}
    assert [process.returncode for process in running] == [0, 0]
    assert len(printed) == 1
    assert len(told.read_text().split()) == 1
    assert {path.suffix for path in (tmp_path / "store").iterdir()} == {"", ".lock"}


def test_a_builder_that_fails_leaves_nothing_and_is_tried_again(tmp_path: Path) -> None:
    tries: list[int] = []

    def fill(docmind: DocMind) -> None:
        tries.append(1)
        assert len(tries) > 1, "the first try fails"

    library = Library("failing", then=fill)
    with pytest.raises(AssertionError, match="the first try fails"):
        library.built(tmp_path / "store")
    assert [path.suffix for path in (tmp_path / "store").iterdir()] == [".lock"]
    assert library.built(tmp_path / "store").is_dir()
    assert library.built(tmp_path / "store").is_dir()
    assert len(tries) == 2


def test_settings_of_a_test_do_not_reach_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = EMPTY.built(tmp_path / "store").name
    monkeypatch.setenv("DOCMIND_READING__LANGUAGES", "deu")
    monkeypatch.setenv("DOCMIND_ANSWER__THRESHOLD", "0")
    assert EMPTY.built(tmp_path / "store").name == digest
    assert os.environ["DOCMIND_ANSWER__THRESHOLD"] == "0"


def test_libraries_of_former_days_are_removed(tmp_path: Path) -> None:
    store = tmp_path / "store"
    old = EMPTY.built(store)
    long_ago = time.time() - KEPT_S - 60
    os.utime(old, (long_ago, long_ago))
    new = Library("another").built(store)
    assert not old.exists()
    assert new.is_dir()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
def test_a_store_that_others_may_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    with pytest.raises(AssertionError, match="open to other users"):
        EMPTY.built(tmp_path / "open")
    (tmp_path / "own").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "own")
    with pytest.raises(AssertionError, match="not a folder of this user"):
        EMPTY.built(tmp_path / "link")


def test_a_file_is_copied_with_its_mode_and_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "source"
    source.write_bytes(bytes(range(256)) * 300)
    source.chmod(0o600)
    os.utime(source, (1_000_000, 1_000_000))
    copy_file(source, tmp_path / "one")
    monkeypatch.delattr(os, "copy_file_range", raising=False)
    copy_file(source, tmp_path / "two")
    for name in ("one", "two"):
        copied = tmp_path / name
        assert copied.read_bytes() == source.read_bytes()
        assert (copied.stat().st_mode, copied.stat().st_mtime) == (source.stat().st_mode, source.stat().st_mtime)


def test_a_vault_in_clear_is_never_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clear(monkeypatch)
    with pytest.raises(AssertionError, match="turned the encryption off"):
        EMPTY.built(tmp_path / "store")
