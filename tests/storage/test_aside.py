"""Files set aside: only those of exactly our form, and found again."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import forked
from desks import environment_of, inventory, opened, report, settings_in
from docmind.errors import NotFoundError
from docmind.records.documents import ArtifactRef
from docmind.storage.artifacts import Artifacts, Sealable
from docmind.storage.keys import Keyset

TESTS = Path(__file__).resolve().parent.parent


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Artifacts]:
    artifacts = Artifacts(tmp_path / "artifacts", Keyset.generate())
    yield artifacts
    artifacts.close()


def aside_in(folder: Path) -> list[str]:
    return sorted(path.name[14:] for path in (folder / "aside").iterdir())


def test_unnamed_files_are_set_aside_and_return_when_read(tmp_path: Path, store: Artifacts) -> None:
    kept, lost = store.put_many([Sealable(b"kept", ".webp.enc"), Sealable(b"lost", ".webp.enc")])
    assert store.set_aside({kept.sha256}) == 1
    assert aside_in(tmp_path) == [lost.file_name]
    assert store.exists(lost)
    assert {ref.sha256 for ref in store.unreferenced({kept.sha256})} == {lost.sha256}
    assert store.get(lost) == b"lost"
    assert aside_in(tmp_path) == []
    assert (tmp_path / "artifacts" / lost.file_name).is_file()


def test_putting_the_same_bytes_again_brings_the_file_back(tmp_path: Path, store: Artifacts) -> None:
    ref = store.put(b"page", ".webp.enc")
    store.set_aside(set())
    assert store.put(b"page", ".webp.enc") == ref
    assert aside_in(tmp_path) == []


def test_a_reader_leaves_them_where_they_are(tmp_path: Path) -> None:
    keys = Keyset.generate()
    store = Artifacts(tmp_path / "artifacts", keys)
    ref = store.put(b"page", ".webp.enc")
    store.set_aside(set())
    reader = Artifacts(tmp_path / "artifacts", keys, read_only=True)
    assert reader.get(ref) == b"page"
    assert aside_in(tmp_path) == [ref.file_name]


def test_deleting_reaches_what_was_set_aside(tmp_path: Path, store: Artifacts) -> None:
    ref = store.put(b"page", ".webp.enc")
    store.set_aside(set())
    assert store.remove([ref]) == 1
    assert aside_in(tmp_path) == []
    with pytest.raises(NotFoundError):
        store.get(ref)


def test_files_of_another_form_are_never_touched(tmp_path: Path, store: Artifacts) -> None:
    """The user's own files, near misses of our names, and symlinks with exactly our names."""
    folder = tmp_path / "artifacts"
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.docx").write_bytes(b"years of work")
    names = [
        "model.bin", "thesis.docx", ".new-notes", ".new-0123456789ABCDEF", ".new-0123456789abcdef0", "a" * 64,
        "a" * 63 + ".webp.enc", "A" * 64 + ".webp.enc", "a" * 64 + ".webp.enc.bak.old", "a" * 64 + ".webp.enc~",
    ]  # fmt: skip
    for name in names:
        (folder / name).write_bytes(b"mine")
    (folder / "notes").mkdir()
    (folder / ("b" * 64 + ".webp.enc")).symlink_to(precious / "thesis.docx")
    (folder / ".new-0123456789abcdef").symlink_to(precious)
    (folder / ("c" * 64 + ".webp.enc")).mkdir()
    before = sorted(path.name for path in folder.iterdir())
    assert store.set_aside(set()) == 0
    assert store.stored() == []
    Artifacts(folder, Keyset.generate()).close()
    assert sorted(path.name for path in folder.iterdir()) == before
    assert (precious / "thesis.docx").read_bytes() == b"years of work"


def test_a_stray_of_exactly_our_form_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "artifacts"
    folder.mkdir()
    (folder / ".new-0123456789abcdef").write_bytes(b"half a file")
    Artifacts(folder, Keyset.generate()).close()
    assert not list(folder.iterdir())


def test_what_was_set_aside_is_listed_in_our_form_alone(tmp_path: Path, store: Artifacts) -> None:
    folder = tmp_path / "aside"
    folder.mkdir()
    ours = [f"1700000000000-{'a' * 64}.webp.enc", "1700000000001-vault.db-wal"]
    foreign = ["notes.txt", "1700000000000-thesis.docx", f"1-{'a' * 64}.webp.enc"]
    for name in (*ours, *foreign):
        (folder / name).write_bytes(b"x")
    (folder / f"1700000000000-{'d' * 64}.webp.enc").symlink_to(folder / "notes.txt")
    found = store.stored()
    assert sorted(file.path.name for file in found) == sorted(ours)
    assert {file.name: file.artifact_id for file in found} == {"a" * 64 + ".webp.enc": "a" * 64, "vault.db-wal": ""}
    assert all(store.unlink(file) for file in found)
    assert len(list(folder.iterdir())) == len(foreign) + 1


def test_a_symlinked_folder_is_not_used(tmp_path: Path, store: Artifacts) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "aside").symlink_to(elsewhere)
    ref = store.put(b"page", ".webp.enc")
    assert store.set_aside(set()) == 0
    assert not list(elsewhere.iterdir())
    assert store.get(ref) == b"page"


# --- a killed deletion ------------------------------------------------------------------------------------------------

_KILLED_DELETE = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from desks import opened
from docmind.storage.artifacts import Artifacts
Artifacts.remove = lambda self, refs: os.kill(os.getpid(), signal.SIGKILL)
docmind = opened(Path(sys.argv[2]))
docmind.erasures.erase([docmind.documents.all()[0].doc_id])
"""


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
@pytest.mark.parametrize("remembers", [True, False])
def test_a_killed_deletion_leaves_no_orphans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remembers: bool) -> None:
    with opened(tmp_path) as docmind:
        docmind.add([report("heron", 3), report("stork", 1)])
    process = forked.run(
        [sys.executable, "-c", _KILLED_DELETE, str(TESTS), str(tmp_path)],
        env={**os.environ, **environment_of(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert process.returncode == -signal.SIGKILL, process.stderr
    files = tmp_path / "data" / "artifacts"
    assert len(list(files.glob("*.enc"))) == 4 * 2 + 2
    if not remembers:  # the negative control
        from docmind.documents.catalog import Catalog

        monkeypatch.setattr(Catalog, "doomed", lambda self: [])
        monkeypatch.setattr("docmind.maintenance.purge.Purge.follow", lambda self: None)
    with opened(tmp_path) as docmind:
        (left,) = docmind.documents.all()
    assert len(list(files.glob("*.enc"))) == (2 * left.pages + 1 if remembers else 4 * 2 + 2)
    if remembers:
        assert inventory(settings_in(tmp_path)).ready == 1


@pytest.mark.slow
def test_a_doomed_file_that_cannot_be_deleted_hinders_no_opening(tmp_path: Path) -> None:
    name = "e" * 64 + ".webp.enc"
    with opened(tmp_path) as docmind, docmind.vault.database.transaction() as db:
        db.execute("INSERT INTO doomed VALUES (?, ?)", ("e" * 64, ".webp.enc"))
    place = settings_in(tmp_path).data_dir / "artifacts" / name
    place.mkdir()  # no file can be unlinked there
    with opened(tmp_path) as docmind:
        assert docmind.vault.database.one("SELECT count(*) FROM doomed") == (1,)
    place.rmdir()
    with opened(tmp_path) as docmind:
        assert docmind.vault.database.one("SELECT count(*) FROM doomed") == (0,)


@pytest.mark.slow
def test_a_name_that_is_referred_to_again_is_not_doomed(tmp_path: Path) -> None:
    with opened(tmp_path) as docmind:
        docmind.add([report("heron", 1)])
        (info,) = docmind.documents.all()
        catalog, database = docmind.vault.catalog, docmind.vault.database
        original = catalog.original(info.doc_id)
        with database.transaction() as db:
            db.execute("INSERT INTO doomed VALUES (?, ?)", (original.sha256, original.suffix))
            db.execute("INSERT INTO doomed VALUES (?, ?)", ("e" * 64, ".webp.enc"))
        assert catalog.doomed() == [ArtifactRef("e" * 64, ".webp.enc")]
    with opened(tmp_path) as docmind:
        assert docmind.vault.database.one("SELECT count(*) FROM doomed") == (0,)
        assert docmind.vault.artifacts.get(original) == report("heron", 1).data
