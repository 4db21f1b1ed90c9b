"""Other files in an index folder are kept, whatever their names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from docmind.errors import IndexEngineError
from docmind.index.edge import EdgeIndex
from docmind.index.private_folder import free_name, generations, is_generation
from index.points import DIM, point


def use(directory: Path) -> None:
    """Open, build twice and close: each of them sweeps."""
    index = EdgeIndex(directory, DIM, min_free_mb=1)
    for epoch in (1, 2):
        index.rebuild("model-1")
        index.upsert("text", [point("a")])
        index.commit(epoch)
        index.activate()
    assert (index.epoch(), index.count("text")) == (2, 1)
    index.close()


def foreign(directory: Path) -> dict[Path, bytes]:
    """Create files and folders that a user may have there."""
    files = {
        directory / "g2024-notes" / "thesis.docx": b"years of work",
        directory / "g000001" / "model.bin": b"weights",
        directory / "g000002" / "text" / "chapter.txt": b"a chapter",
        directory / "g000003.broken" / "state.json" / "mine": b"a folder of that name",
        directory / "g000004x" / "state.json": b"{}",
        directory / "g٠٠٠٠٠٠" / "state.json": b"{}",
        directory / "notes.txt": b"notes",
    }
    for path, data in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return files


@pytest.mark.slow
def test_foreign_files_and_folders_stay(tmp_path: Path) -> None:
    files = foreign(tmp_path)
    use(tmp_path)
    use(tmp_path)
    assert {path: path.read_bytes() for path in files} == files


def test_generations_of_ours_go(tmp_path: Path) -> None:
    """The control: a sweep does delete."""
    for name in ("g000007", "g000008.broken"):
        (tmp_path / name / "text" / "segments").mkdir(parents=True)
        (tmp_path / name / "state.json").write_bytes(b"{}")
    use(tmp_path)
    assert [path.name for path in generations(tmp_path)] == [(tmp_path / "current").read_text()]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege")
def test_links_are_never_followed(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "index"
    (outside / "text").mkdir(parents=True)
    (outside / "state.json").write_bytes(b"mine")
    folder.mkdir()
    (folder / "g000001").symlink_to(outside)
    (folder / "current").symlink_to(outside / "state.json")
    (folder / "current.new").symlink_to(outside / "state.json")
    assert not is_generation(folder / "g000001")
    use(folder)
    assert (outside / "state.json").read_bytes() == b"mine"
    assert (folder / "g000001").is_symlink()


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege")
def test_a_lock_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_bytes(b"mine")
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "lock").symlink_to(tmp_path / "mine")
    with pytest.raises(IndexEngineError, match="lock"):
        EdgeIndex(tmp_path / "index", DIM, min_free_mb=1)
    assert (tmp_path / "mine").read_bytes() == b"mine"


def test_a_name_is_never_taken_twice(tmp_path: Path) -> None:
    for name in ("g000001", "g000002.broken", "g999999"):
        (tmp_path / name).mkdir()
    assert free_name(tmp_path) == "g000003"
