"""Failures of the embedded index: killed, hung, broken, opened twice, without space."""

from __future__ import annotations

import io
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import forked
from conftest import tiny_disk
from docmind.errors import DiskFullError, IndexEngineError, VaultBusyError
from docmind.index import edge_process
from docmind.index.blinding import Blinder
from docmind.index.edge import EdgeIndex
from docmind.index.engine import NO_EPOCH, Point, Sparse
from docmind.runtime import write_frame
from docmind.storage import hold
from index.points import axis, names, near, point, terms

DIM = 64


def open_index(directory: Path, timeout_s: float = 30.0, min_free_mb: int = 1) -> EdgeIndex:
    return EdgeIndex(directory, DIM, min_free_mb=min_free_mb, timeout_s=timeout_s)


def batch(number: int, size: int = 50) -> list[Point]:
    rng = np.random.default_rng(number)
    vectors = rng.standard_normal((size, DIM)).astype(np.float32)
    return [
        point(f"{number}-{n}", {"text-dense": vector, "text-sparse": terms({n: 1.0})}, doc_id=f"doc-{number}")
        for n, vector in enumerate(vectors)
    ]


def kill(index: EdgeIndex, how: int = signal.SIGKILL) -> None:
    assert index.pid is not None
    os.kill(index.pid, how)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[EdgeIndex]:
    engine = open_index(tmp_path / "index")
    engine.rebuild("model-1")
    yield engine
    engine.close()


# --- the process ------------------------------------------------------------------------------------------------------


def test_the_constructor_does_not_wait_for_the_process(index: EdgeIndex, tmp_path: Path) -> None:
    index.upsert("text", batch(1))
    index.commit(1)
    index.close()
    again = open_index(tmp_path / "index")
    generation = again._active
    assert generation is not None
    assert not generation._is_open
    assert again.epoch() == 1
    assert generation._is_open
    again.close()


def test_the_process_imports_nothing_heavy() -> None:
    code = "import sys, docmind.index.edge_process; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("numpy", "pydantic", "asyncio", "cryptography", "qdrant_client"):
        assert f"'{heavy}'" not in loaded


@pytest.mark.slow
@pytest.mark.crash
def test_a_killed_process_is_started_again_and_asked_once_more(index: EdgeIndex) -> None:
    index.upsert("text", batch(1))
    kill(index)
    assert index.count("text") == 50
    kill(index)
    assert len(index.search([near(axis(0, DIM), limit=10)])[0]) == 10
    kill(index)
    index.upsert("text", batch(2))
    kill(index)
    index.delete("text", "doc-1")
    kill(index)
    index.commit(1)
    assert index.count("text") == 50


@pytest.mark.slow
@pytest.mark.crash
def test_kills_in_the_middle_of_writes_lose_nothing(index: EdgeIndex, tmp_path: Path) -> None:
    """Ten kills at random moments, up to four of them during one request, so also while it is reopened."""
    over = threading.Event()
    index.upsert("text", batch(0))
    acknowledged = 1
    kills = [0]

    def assassin() -> None:
        rng, seen, in_a_row = random.Random(7), 1, 0
        while not over.wait(0.4 + 0.6 * rng.random()):
            in_a_row = 0 if acknowledged > seen else in_a_row
            seen = acknowledged
            if index.pid is not None and in_a_row < 4:
                try:
                    os.kill(index.pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                kills[0] += 1
                in_a_row += 1

    thread = threading.Thread(target=assassin)
    thread.start()
    try:
        while kills[0] < 10:
            try:
                index.upsert("text", batch(acknowledged))
            except IndexEngineError:
                continue  # killed too often over one request: the same request again heals
            acknowledged += 1
    finally:
        over.set()
        thread.join()
    index.upsert("text", batch(acknowledged))  # whatever was under way is whole again
    assert index.count("text") == (acknowledged + 1) * 50
    index.close()
    again = open_index(tmp_path / "index")
    assert again.count("text") == (acknowledged + 1) * 50
    again.close()


OWNER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from index.test_edge import batch, open_index
index = open_index(Path({directory!r}))
if index.epoch() < 0:
    index.rebuild("model-1")
for number in range({first}, 100_000):
    index.upsert("text", batch(number))
    print(number, flush=True)
"""


@pytest.mark.slow
@pytest.mark.crash
def test_a_killed_owner_loses_nothing_acknowledged(tmp_path: Path) -> None:
    directory, tests = tmp_path / "index", str(Path(__file__).parent.parent)
    last = -1
    for _ in range(3):
        code = OWNER.format(tests=tests, directory=str(directory), first=last + 1)
        owner = forked.popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert owner.stdout is not None
        for _ in range(5):
            last = int(owner.stdout.readline())
        time.sleep(0.02)
        owner.kill()
        last = max([last, *map(int, owner.stdout.read().split())])
        owner.wait()
        owner.stdout.close()
        index = open_index(directory)
        assert index.count("text") >= (last + 1) * 50
        index.commit(last)
        index.close()


class Hanging(io.BytesIO):
    """The pipe to an owner that dies while its third request is answered."""

    frames = 0

    def flush(self) -> None:
        self.frames += 1
        if self.frames == 3:
            raise BrokenPipeError


@pytest.mark.crash
def test_shards_are_closed_before_their_lock_is_free_where_the_owner_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dropped with their lock, they wrote their last files while the next owner opened them."""
    index = open_index(tmp_path / "index")
    index.rebuild("model-1")
    index.upsert("text", batch(1))
    index.commit(1)
    assert index._active is not None
    directory, collections = index._active.directory, index._active._collections
    index.close()
    incoming = io.BytesIO()
    write_frame(incoming, {"directory": str(directory), "collections": collections})
    write_frame(incoming, {"do": "flush"})
    incoming.seek(0)
    closed: list[bool] = []
    close = edge_process.Shards.close

    def noting(shards: edge_process.Shards) -> None:
        close(shards)
        closed.append(hold(directory / "lock") is None)

    monkeypatch.setattr(edge_process.Shards, "close", noting)
    with pytest.raises(BrokenPipeError):
        edge_process.serve(incoming, Hanging())
    assert closed == [True]
    again = open_index(tmp_path / "index")
    assert again.count("text") == 50
    again.close()


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGSTOP")
def test_a_hung_process_is_killed_in_time(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index", timeout_s=1.0)
    index.rebuild("model-1")
    index.upsert("text", batch(1))
    kill(index, signal.SIGSTOP)
    began = time.monotonic()
    assert index.count("text") == 50
    assert 0.9 < time.monotonic() - began < 6
    index.close()


@pytest.mark.slow
def test_threads_share_an_index(index: EdgeIndex) -> None:
    index.upsert("text", batch(0))
    wrong: list[object] = []

    def search(seed: int) -> None:
        for wanted in batch(0)[seed::5]:
            found = index.search([near(wanted.vectors["text-dense"], limit=1)])
            if names(found[0]) != [wanted.payload["node_id"]]:
                wrong.append(found)

    threads = [threading.Thread(target=search, args=(seed,)) for seed in range(5)]
    for thread in threads:
        thread.start()
    for number in range(1, 4):
        index.upsert("text", batch(number))
    index.rebuild("model-2")
    index.upsert("text", batch(0))
    index.activate()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.slow
def test_packing_changes_no_result(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index")
    index.rebuild("model-1")
    for number in range(20):
        index.upsert("text", batch(number, 500))
    queries = [near(axis(3, DIM), limit=150), near(terms({7: 1.0, 450: 2.0}), "text-sparse", limit=150)]
    before = index.search(queries)
    assert index.optimize_if_large() is True
    assert index.optimize_if_large() is False
    after = index.search(queries)
    for one, other in zip(before, after, strict=True):
        assert [hit.id for hit in one] == [hit.id for hit in other]
        assert [hit.score for hit in one] == pytest.approx([hit.score for hit in other], rel=1e-5)
    index.delete("text", "doc-3")
    index.upsert("text", batch(20, 500))
    assert index.count("text") == 10_000
    kill(index)
    assert index.count("text") == 10_000
    index.close()


# --- opening ----------------------------------------------------------------------------------------------------------


def test_a_second_owner_is_told(index: EdgeIndex, tmp_path: Path) -> None:
    with pytest.raises(VaultBusyError, match="open already"):
        open_index(tmp_path / "index")
    index.close()
    open_index(tmp_path / "index").close()


def _spoil_segment(generation: Path) -> None:
    for path in generation.rglob("segment.json"):
        path.write_bytes(b"{")


def _cut_vectors(generation: Path) -> None:
    for path in generation.rglob("*.mmap"):
        os.truncate(path, 0)


def _drop_segments(generation: Path) -> None:
    shutil.rmtree(generation / "text")
    (generation / "text").mkdir()


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.parametrize("spoil", [_spoil_segment, _drop_segments])
def test_broken_shards_are_set_aside(index: EdgeIndex, tmp_path: Path, spoil: object) -> None:
    directory = tmp_path / "index"
    index.upsert("text", batch(1))
    index.commit(5)
    index.close()
    assert callable(spoil)
    spoil(directory / "g000001")
    again = open_index(directory)
    assert again.epoch() == NO_EPOCH
    assert (directory / "g000001.broken").is_dir()
    for call in (
        lambda: again.search([near(axis(0, DIM))]),
        lambda: again.count("text"),
        lambda: again.upsert("text", batch(1)),
        lambda: again.commit(6),
    ):
        with pytest.raises(IndexEngineError, match="rebuilt"):
            call()
    again.rebuild("model-1")
    again.upsert("text", batch(1))
    again.commit(6)
    assert again.epoch() == 6
    assert again.count("text") == 50
    again.close()
    assert sorted(path.name for path in directory.iterdir()) == ["current", "g000001", "lock"]


@pytest.mark.slow
@pytest.mark.crash
def test_shards_that_fail_a_request_are_doubted(index: EdgeIndex, tmp_path: Path) -> None:
    """Truncated vector files open without an error; the search fails."""
    directory = tmp_path / "index"
    index.upsert("text", batch(1))
    index.commit(5)
    index.close()
    _cut_vectors(directory / "g000001")
    again = open_index(directory)
    with pytest.raises(IndexEngineError, match="index"):
        again.search([near(axis(0, DIM))])
    assert again.epoch() == NO_EPOCH
    again.close()
    heir = open_index(directory)
    assert heir.epoch() == NO_EPOCH
    heir.rebuild("model-1")
    heir.upsert("text", batch(1))
    heir.commit(6)
    heir.activate()
    assert (heir.epoch(), heir.count("text")) == (6, 50)
    heir.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["current", "g000001/state.json"])
@pytest.mark.parametrize(
    "data", [b"", b"\xff\x00", b"../../elsewhere", b'{"epoch":1}', b'{"epoch":"9","fingerprint":""}']
)
def test_a_spoilt_marker_makes_the_index_new(index: EdgeIndex, tmp_path: Path, name: str, data: bytes) -> None:
    index.commit(5)
    index.close()
    (tmp_path / "index" / name).write_bytes(data)
    again = open_index(tmp_path / "index")
    assert (again.epoch(), again.fingerprint(), again.count("text")) == (NO_EPOCH, "", 0)
    again.close()


# --- no room ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_too_little_room_is_said_before_anything_is_sent(tmp_path: Path) -> None:
    index = open_index(tmp_path / "index")
    index.rebuild("model-1")
    index.upsert("text", batch(1))
    index.commit(1)
    index.close()
    cramped = open_index(tmp_path / "index", min_free_mb=1 << 30)
    for call in (lambda: cramped.upsert("text", batch(2)), lambda: cramped.rebuild("model-2")):
        with pytest.raises(DiskFullError, match="MB free"):
            call()
    assert cramped.count("text") == 50
    cramped.delete("text", "doc-1")  # a deletion may be what makes room
    assert cramped.count("text") == 0
    cramped.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a real file system of 100 MB."""
    with tiny_disk(tmp_path, megabytes=100) as disk:
        yield disk


ROUNDS = 4_000


def fill(index: EdgeIndex, first: int) -> int:
    """Batches that were acknowledged until the index said that there is no room."""
    for number in range(first, ROUNDS):
        try:
            index.upsert("text", batch(number, 256))
        except (DiskFullError, IndexEngineError):
            return number
    return ROUNDS


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.parametrize("ballast_mb", [40, 55])
def test_a_full_disk_is_an_error_and_no_loss(small_disk: Path, ballast_mb: int) -> None:
    """Fill the disk under the running index (SIGBUS in its process), free space, continue; rebuild if required."""
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(ballast_mb << 20))
    index = EdgeIndex(small_disk / "index", DIM, min_free_mb=0)
    index.rebuild("model-1")
    acknowledged = fill(index, 0)
    assert 0 < acknowledged < ROUNDS
    assert fill(index, acknowledged) < ROUNDS, "the parent lives, and says it again"
    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,size=600m", str(small_disk)], check=True)
    try:
        found = index.count("text")
    except IndexEngineError:
        assert index.epoch() == NO_EPOCH
        index.rebuild("model-1")
        for number in range(acknowledged):
            index.upsert("text", batch(number, 256))
        found = index.count("text")
    assert found >= acknowledged * 256
    index.upsert("text", batch(acknowledged, 256))
    index.commit(3)
    index.close()
    again = EdgeIndex(small_disk / "index", DIM, min_free_mb=0)
    assert again.epoch() == 3
    for number in (0, acknowledged - 1, acknowledged):
        wanted = batch(number, 256)[3]
        assert names(again.search([near(wanted.vectors["text-dense"], limit=1)])[0]) == [wanted.payload["node_id"]]
    again.close()


# --- what stands in the files -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_files_hold_no_token_ids_tags_or_plain_vectors(tmp_path: Path) -> None:
    """Blinded values are found in the files (so the search is a real one), plain ones are not."""
    blind, rng = Blinder(bytes(range(32))), np.random.default_rng(3)
    tokens = np.sort(rng.choice(2**32, 6, replace=False).astype(np.uint32))
    vector, tag = rng.standard_normal(DIM).astype(np.float32), "plantedword"
    vector /= np.linalg.norm(vector)
    ids = blind.sparse(tokens)
    index = open_index(tmp_path / "index")
    index.rebuild("model-1")
    sealed = {"text-dense": blind.dense(vector), "text-sparse": Sparse(ids, np.ones(6, np.float32))}
    index.upsert("text", [point("a", sealed, tags=[blind.tag(tag)])])
    index.commit(1)
    query = [near(blind.dense(vector)), near(terms({int(blind.sparse(tokens[:1])[0]): 1.0}), "text-sparse")]
    assert [names(found) for found in index.search(query)] == [["a"], ["a"]]
    assert names(index.search([near(blind.dense(vector), tags=(blind.tag(tag),))])[0]) == ["a"]
    index.close()
    files = b"\n".join(path.read_bytes() for path in (tmp_path / "index").rglob("*") if path.is_file())

    def is_found(value: np.ndarray) -> bool:
        return value.tobytes() in files or value.byteswap().tobytes() in files

    assert all(is_found(one) for one in ids)
    assert not any(is_found(one) or str(one).encode() in files for one in tokens)
    assert blind.tag(tag).encode() in files
    assert tag.encode() not in files
    rotated = blind.dense(vector)
    assert is_found(rotated[:2].astype(np.float16)) or is_found(rotated[:2])
    assert not is_found(vector[:2].astype(np.float16))
    assert not is_found(vector[:2])


@pytest.mark.slow
def test_a_switch_leaves_no_file_of_the_old_generation(index: EdgeIndex, tmp_path: Path) -> None:
    index.upsert("text", [point("gone", {"text-dense": axis(1, DIM)}, doc_id="plantedname", tags=["plantedtag"])])
    index.commit(1)
    index.delete("text", "plantedname")
    index.rebuild("model-1")
    index.upsert("text", batch(1))
    index.commit(2)
    index.activate()
    index.close()
    files = b"\n".join(path.read_bytes() for path in (tmp_path / "index").rglob("*") if path.is_file())
    assert b"planted" not in files


def test_an_old_index_that_cannot_be_removed_now_goes_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    EdgeIndex(tmp_path, DIM, min_free_mb=1).close()
    (tmp_path / "g000009").mkdir()

    def refuse(_path: Path) -> None:
        raise OSError("in use")

    with monkeypatch.context() as patched:
        patched.setattr("docmind.index.edge.shutil.rmtree", refuse)
        index = EdgeIndex(tmp_path, DIM, min_free_mb=1)
        index.rebuild("model-1")
        index.upsert("text", batch(1))
        index.commit(1)
        index.close()
        assert (tmp_path / "g000009").is_dir()
    again = EdgeIndex(tmp_path, DIM, min_free_mb=1)
    assert not (tmp_path / "g000009").exists()
    assert (again.epoch(), again.count("text")) == (1, 50)
    again.close()
