"""Sums of files are kept beside them, made again when a file was touched, and never relied on when they are odd."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from docmind.weights.fingerprint import Fingerprints, sha256_of

FILES = ("a.json", "b.safetensors")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "private place"
    folder.mkdir()
    for name in FILES:
        (folder / name).write_text(name)
    return folder


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "models" / "fingerprints.json"


def test_it_is_made_of_names_and_contents(folder: Path, notes: Path) -> None:
    first = Fingerprints(notes).of(folder, FILES)
    assert Fingerprints(notes).of(folder, reversed(FILES)) == first
    assert Fingerprints(notes).of(folder, FILES[:1]) != first
    (folder / "a.json").rename(folder / "c.json")
    assert Fingerprints(notes).of(folder, ("c.json", FILES[1])) != first


def test_a_file_is_read_once_until_it_is_touched(folder: Path, notes: Path) -> None:
    first = Fingerprints(notes).of(folder, FILES)
    stat = (folder / "a.json").stat()
    (folder / "a.json").write_text("A.json")  # equal size
    os.utime(folder / "a.json", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert Fingerprints(notes).of(folder, FILES) == first  # so it was not read
    os.utime(folder / "a.json", ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert Fingerprints(notes).of(folder, FILES) != first


def test_the_notes_name_no_path(folder: Path, notes: Path) -> None:
    Fingerprints(notes).of(folder, FILES)
    text = notes.read_text("utf-8")
    assert "private" not in text
    assert sha256_of(folder / "a.json") in text
    Fingerprints(notes).forget(folder)
    assert json.loads(notes.read_text("utf-8")) == {}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"x": 1}', "[" * 50_000, '{"KEY": {"a.json": [1, 2]}}', "\ud800"])
def test_odd_notes_cost_only_time(folder: Path, notes: Path, text: str) -> None:
    first = Fingerprints(notes).of(folder, FILES)
    key = next(iter(json.loads(notes.read_text("utf-8"))))
    notes.write_text(text.replace("KEY", key), "utf-8", errors="surrogatepass")
    assert Fingerprints(notes).of(folder, FILES) == first


def test_a_place_that_cannot_be_written_to_costs_only_time(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert len(Fingerprints(tmp_path / "file" / "notes.json").of(folder, FILES)) == 16


def test_what_differs_from_what_was_told(folder: Path, notes: Path) -> None:
    sums = {name: sha256_of(folder / name) for name in FILES}
    fingerprints = Fingerprints(notes)
    assert fingerprints.differing(folder, sums) == ""
    assert fingerprints.differing(folder, {**sums, "b.safetensors": "0" * 64}) == "b.safetensors"
    assert fingerprints.differing(folder, {"gone.json": "0" * 64}) == ""
    for odd in (None, [], "text", {1: 2}, {"../a": None}):
        assert fingerprints.differing(folder, odd) == ""
