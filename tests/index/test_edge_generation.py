"""Failures that count against a generation, failures that do not, and trust in its state."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import tiny_disk
from docmind.errors import DiskFullError, IndexEngineError
from docmind.index import edge_generation as generation_module
from docmind.index.edge import EdgeIndex
from docmind.index.edge_generation import (
    FAULTS,
    PATIENCE,
    Generation,
    GenerationLostError,
    State,
    read_state,
    room_to_open,
)
from docmind.index.engine import NO_EPOCH
from docmind.index.private_folder import is_in_memory
from index.points import DIM, point


def filled(directory: Path) -> Path:
    """Return the generation of a closed index with one point at epoch 5."""
    index = EdgeIndex(directory, DIM, min_free_mb=1)
    index.rebuild("model-1")
    index.upsert("text", [point("a")])
    index.commit(5)
    index.close()
    return directory / "g000001"


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make engine processes die where they would open their shards; return the file with a line for each."""
    notes = tmp_path / "notes"
    notes.touch()
    inherited = [path for path in [os.environ.get("PYTHONPATH")] if path]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent.parent), *inherited]))
    monkeypatch.setenv("DYING_NOTES", str(notes))
    monkeypatch.setattr(generation_module, "ENTRY", "index.dying:serve")
    return notes


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_deaths_from_outside_set_nothing_aside(
    tmp_path: Path, dying: Path, monkeypatch: pytest.MonkeyPatch, how: int
) -> None:
    with monkeypatch.context() as healthy:
        healthy.setattr(generation_module, "ENTRY", "docmind.index.edge_process:serve")
        kept = filled(tmp_path / "index")
    monkeypatch.setenv("DYING_SIGNAL", str(int(how)))
    index = EdgeIndex(tmp_path / "index", DIM, min_free_mb=1)
    with pytest.raises(IndexEngineError, match="cannot be kept running"):
        index.epoch()
    assert len(dying.read_text().split()) == PATIENCE
    monkeypatch.setattr(generation_module, "ENTRY", "docmind.index.edge_process:serve")
    assert (index.epoch(), index.count("text")) == (5, 1)
    index.close()
    assert kept.is_dir()


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
@pytest.mark.parametrize("how", ["SIGSEGV", "SIGBUS", "SIGABRT"])
def test_crashes_of_its_own_set_it_aside(
    tmp_path: Path, dying: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The control of the test above: failures that the shards can have caused count against them."""
    with monkeypatch.context() as healthy:
        healthy.setattr(generation_module, "ENTRY", "docmind.index.edge_process:serve")
        filled(tmp_path / "index")
    monkeypatch.setenv("DYING_SIGNAL", str(int(getattr(signal, how))))
    index = EdgeIndex(tmp_path / "index", DIM, min_free_mb=1)
    assert index.epoch() == NO_EPOCH
    assert len(dying.read_text().split()) == FAULTS
    assert (tmp_path / "index" / "g000001.broken").is_dir()
    index.close()


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.parametrize(
    ("words", "tries", "said"),
    [
        ("Exception: failed to build edge edge-search thread pool: os error 11", PATIENCE, "cannot be kept running"),
        ("PanicException: called `Option::unwrap()` on a `None` value", 2, "failed twice"),
    ],
)
def test_words_of_the_engine_are_for_the_log(
    tmp_path: Path,
    dying: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    words: str,
    tries: int,
    said: str,
) -> None:
    with monkeypatch.context() as healthy:
        healthy.setattr(generation_module, "ENTRY", "docmind.index.edge_process:serve")
        kept = filled(tmp_path / "index")
    monkeypatch.setattr(generation_module, "ENTRY", "index.dying:serve_failures")
    monkeypatch.setenv("DYING_WORDS", words)
    caplog.set_level(logging.INFO, "docmind.index")
    index = EdgeIndex(tmp_path / "index", DIM, min_free_mb=1)
    with pytest.raises(IndexEngineError, match=said) as failed:
        index.count("text")
    index.close()
    assert words.partition(": ")[2] not in f"{failed.value} {failed.value.hint}"
    assert words in caplog.text
    assert len(dying.read_text().split()) == tries
    assert kept.is_dir()


def test_every_flipped_bit_of_the_state_is_noticed(tmp_path: Path) -> None:
    Generation.create(tmp_path / "g000001", State(1_234, "model-1", 384, written=77))
    path = tmp_path / "g000001" / "state.json"
    whole = path.read_bytes()
    believed_without_checksum = 0
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        with pytest.raises(GenerationLostError):
            read_state(tmp_path / "g000001")
        try:
            believed_without_checksum += json.loads(flipped.partition(b"\n")[0]) != json.loads(
                whole.partition(b"\n")[0]
            )
        except ValueError:
            continue
    assert believed_without_checksum > 50, "the control: without the checksum these would be believed"
    path.write_bytes(whole)
    assert read_state(tmp_path / "g000001") == State(1_234, "model-1", 384, written=77)


@pytest.mark.slow
@pytest.mark.parametrize("length", [0, 1, 40, 100])
def test_a_torn_state_is_rebuilt(tmp_path: Path, length: int) -> None:
    kept = filled(tmp_path / "index")
    os.truncate(kept / "state.json", length)
    index = EdgeIndex(tmp_path / "index", DIM, min_free_mb=1)
    assert (index.epoch(), index.fingerprint()) == (NO_EPOCH, "")
    index.close()


def test_points_written_are_counted_with_the_commit(tmp_path: Path) -> None:
    kept = filled(tmp_path / "index")
    assert read_state(kept) == State(5, "model-1", DIM, written=1)
    assert replace(read_state(kept), is_doubted=True).contained == NO_EPOCH


@pytest.fixture
def memory_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a file system in memory of 200 MB."""
    with tiny_disk(tmp_path, megabytes=200) as disk:
        yield disk


def taken(folder: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


def test_opening_in_memory_takes_what_was_foretold(memory_disk: Path) -> None:
    assert is_in_memory(memory_disk)
    kept = filled(memory_disk / "index")
    before, foretold = taken(kept), room_to_open(kept)
    index = EdgeIndex(memory_disk / "index", DIM, min_free_mb=0)
    assert index.epoch() == 5
    took = taken(kept) - before
    index.close()
    assert took <= foretold
    assert took < 25 << 20, "vectors are not read in whole: with `Memory.Cached` this is 54 MB"


@pytest.mark.slow
@pytest.mark.crash
def test_an_index_without_room_to_open_is_no_new_index(memory_disk: Path) -> None:
    """No engine is started that a full disk would kill, nothing is set aside, and nothing is rebuilt."""
    kept = filled(memory_disk / "index")
    # Copied with its holes, as it comes from a sealed copy: opening makes pages of them again.
    subprocess.run(["cp", "-r", "--sparse=always", str(kept), str(memory_disk / "again")], check=True)
    subprocess.run(["rm", "-r", str(kept)], check=True)
    (memory_disk / "again").rename(kept)
    ballast = memory_disk / "ballast"
    ballast.write_bytes(bytes(os.statvfs(memory_disk).f_bavail * 4096 - (4 << 20)))
    index = EdgeIndex(memory_disk / "index", DIM, min_free_mb=0)
    assert index.pid is None
    with pytest.raises(DiskFullError, match="MB free"):
        index.epoch()
    assert kept.is_dir()
    ballast.unlink()
    assert (index.epoch(), index.count("text")) == (5, 1)
    index.close()
