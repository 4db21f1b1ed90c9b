"""The index sealed at rest: what opens it again, what does not, and what remains on the disk."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import forked
from docmind.errors import DamagedError, VaultBusyError
from docmind.index import ephemeral, private_folder, sealed_copy
from docmind.index.edge import EdgeIndex
from docmind.index.engine import NO_EPOCH
from docmind.index.ephemeral import EphemeralIndex
from docmind.index.private_folder import PrivateFolder, generations, remove_leftovers
from docmind.index.sealed_copy import NAME, SealedCopy
from index.points import axis, names, near
from index.test_edge import DIM, batch, kill

KEY = bytes(range(32))


@pytest.fixture(autouse=True)
def own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Temporary folders of this test alone, independent of other programs."""
    place = tmp_path / "places"
    place.mkdir()
    monkeypatch.setattr(private_folder, "_bases", lambda: iter([place]))
    return place


def opened(home: Path, **options: object) -> EphemeralIndex:
    return EphemeralIndex(home, DIM, key=KEY, min_free_mb=1, **options)  # type: ignore[arg-type]


def filled(home: Path, epoch: int = 5) -> None:
    index = opened(home)
    index.rebuild("model-1")
    for number in range(4):
        index.upsert("text", batch(number))
    index.commit(epoch)
    index.close()


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.slow
def test_a_closed_index_is_one_sealed_file(tmp_path: Path, own_places: Path) -> None:
    filled(tmp_path / "index")
    assert files(tmp_path / "index") == [NAME, "lock"]
    assert list(own_places.iterdir()) == []
    index = opened(tmp_path / "index")
    assert files(tmp_path / "index") == [NAME, "lock"], "nothing readable while it is open either"
    assert (index.epoch(), index.fingerprint(), index.count("text")) == (5, "model-1", 200)
    wanted = batch(2)[7]
    assert names(index.search([near(wanted.vectors["text-dense"], limit=1)])[0]) == [wanted.payload["node_id"]]
    assert index.at_rest().startswith("ephemeral")
    index.close()


@pytest.mark.slow
def test_a_copy_is_written_only_where_something_changed(tmp_path: Path) -> None:
    filled(tmp_path / "index")
    before = (tmp_path / "index" / NAME).read_bytes()
    opened(tmp_path / "index").close()
    assert (tmp_path / "index" / NAME).read_bytes() == before
    index = opened(tmp_path / "index")
    index.delete("text", "doc-1")
    index.commit(6)
    index.close()
    assert (tmp_path / "index" / NAME).read_bytes() != before
    index = opened(tmp_path / "index")
    assert (index.epoch(), index.count("text")) == (6, 150)
    index.close()


@pytest.mark.slow
def test_a_large_copy_is_rewritten_for_many_points_or_deletions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path / "index")
    copy = tmp_path / "index" / NAME
    monkeypatch.setattr(ephemeral, "LARGE", copy.stat().st_size)

    def is_written_after(*numbers: int, deleted: str = "") -> bool:
        before = copy.read_bytes()
        index = opened(tmp_path / "index")
        for number in numbers:
            index.delete("text", f"doc-{number}")  # as every document is written: what was there of it goes first
            index.upsert("text", batch(number))
        if deleted:
            index.delete("text", deleted)
        index.commit(index.epoch() + 1)
        index.close()
        return copy.read_bytes() != before

    assert not is_written_after(7)
    index = opened(tmp_path / "index")
    assert (index.epoch(), index.count("text")) == (5, 200), "the vault brings it up to date"
    index.close()
    assert is_written_after(deleted="doc-1")
    monkeypatch.setattr(ephemeral, "LARGE", 0)
    assert not is_written_after(7)
    assert is_written_after(*range(7, 18))


def test_the_same_vault_is_opened_once(tmp_path: Path) -> None:
    index = opened(tmp_path / "index")
    with pytest.raises(VaultBusyError, match="open already"):
        opened(tmp_path / "index")
    index.close()
    opened(tmp_path / "index").close()


@pytest.mark.slow
@pytest.mark.parametrize("spoil", ["flip", "cut", "cut at a chunk", "longer", "empty", "another key", "swapped"])
def test_a_copy_that_is_not_as_we_wrote_it_is_built_again(
    tmp_path: Path, spoil: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealed_copy, "CHUNK", 1 << 16)
    filled(tmp_path / "index")
    copy = tmp_path / "index" / NAME
    data = bytearray(copy.read_bytes())
    key = KEY
    if spoil == "flip":
        data[random.Random(1).randrange(len(data))] ^= 4
    elif spoil == "cut":
        del data[-100:]
    elif spoil == "cut at a chunk":
        assert len(data) > 24 + 2 * ((1 << 16) + 16)
        del data[24 + 2 * ((1 << 16) + 16) :]
    elif spoil == "longer":
        data += b"more"
    elif spoil == "empty":
        data.clear()
    elif spoil == "swapped":
        data[24 : 24 + 64], data[24 + 64 : 24 + 128] = data[24 + 64 : 24 + 128], data[24 : 24 + 64]
    else:
        key = bytes(32)
    copy.write_bytes(data)
    with pytest.raises(DamagedError):
        SealedCopy(tmp_path / "index", key).read(None)
    index = EphemeralIndex(tmp_path / "index", DIM, key=key, min_free_mb=1)
    assert (index.epoch(), index.count("text")) == (NO_EPOCH, 0)
    index.rebuild("model-1")
    index.upsert("text", batch(1))
    index.commit(9)
    index.close()
    assert SealedCopy(tmp_path / "index", key).read(None).epoch == 9


def test_every_flip_is_noticed(tmp_path: Path) -> None:
    filled(tmp_path / "index")
    copy, there = tmp_path / "index" / NAME, SealedCopy(tmp_path / "index", KEY)
    whole, chance = copy.read_bytes(), random.Random(2)
    for at in [*range(24), *(chance.randrange(len(whole)) for _ in range(40)), len(whole) - 1]:
        data = bytearray(whole)
        data[at] ^= 1 << chance.randrange(8)
        copy.write_bytes(data)
        with pytest.raises(DamagedError):
            there.read(None)
    copy.write_bytes(whole)
    assert there.read(None).epoch == 5, "the control: untouched it is read"


OWNER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from docmind.index import private_folder as private
place = Path({place!r})
private._bases = lambda: iter([place])
from index.test_edge import batch
from index.test_ephemeral import opened
index = opened(Path({home!r}))
first = index.epoch()
if first < 0:
    index.rebuild("model-1")
for number in range(max(first, 0), 100_000):
    index.upsert("text", batch(number))
    index.commit(number + 1)
    print(number, flush=True)
"""


@pytest.mark.slow
@pytest.mark.crash
def test_a_killed_owner_costs_the_way_back_to_the_last_copy(tmp_path: Path, own_places: Path) -> None:
    home, tests = tmp_path / "index", str(Path(__file__).parent.parent)
    filled(home, epoch=4)
    code = OWNER.format(tests=tests, place=str(own_places), home=str(home))
    owner = forked.popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    for _ in range(3):
        owner.stdout.readline()
    owner.kill()
    owner.wait()
    owner.stdout.close()
    [left] = own_places.iterdir()
    index = opened(home)
    assert not left.exists(), "what it left in memory is gone"
    assert (index.epoch(), index.count("text")) == (4, 200), "the epoch says what is missing"
    index.close()


@pytest.mark.slow
@pytest.mark.crash
def test_a_killed_engine_costs_nothing(tmp_path: Path) -> None:
    filled(tmp_path / "index")
    index = opened(tmp_path / "index")
    assert index.epoch() == 5
    kill(index)
    index.upsert("text", batch(9))
    kill(index, signal.SIGTERM)
    assert index.count("text") == 250
    index.commit(6)
    kill(index)
    index.close()
    index = opened(tmp_path / "index")
    assert (index.epoch(), index.count("text")) == (6, 250)
    index.close()


@pytest.mark.slow
def test_a_full_disk_at_closing_keeps_the_copy_of_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path / "index")
    index = opened(tmp_path / "index")
    index.upsert("text", batch(9))
    index.commit(6)
    with monkeypatch.context() as full:
        full.setattr("docmind.storage.files.os.fsync", _no_room)
        index.close()
    assert files(tmp_path / "index") == [NAME, "lock"]
    index = opened(tmp_path / "index")
    assert (index.epoch(), index.count("text")) == (5, 200)
    index.close()


def _no_room(_handle: int) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.slow
def test_a_vault_that_cannot_be_written_is_left_as_it_is(tmp_path: Path) -> None:
    home = tmp_path / "index"
    nothing = opened(home, is_writable=False)
    nothing.rebuild("model-1")
    nothing.upsert("text", batch(1))
    nothing.commit(1)
    assert nothing.count("text") == 50
    nothing.close()
    assert not home.exists()
    filled(home)
    (home / "lock").unlink()
    before = {name: (home / name).read_bytes() for name in files(home)}
    reader = opened(home, is_writable=False)
    assert (reader.epoch(), reader.count("text")) == (5, 200)
    reader.upsert("text", batch(9))
    reader.commit(6)
    reader.close()
    assert {name: (home / name).read_bytes() for name in files(home)} == before


@pytest.mark.slow
def test_the_blinded_index_is_removed_once_the_copy_is_proven(tmp_path: Path) -> None:
    home = tmp_path / "index"
    old = EdgeIndex(home, DIM, min_free_mb=1)
    old.rebuild("model-1")
    old.upsert("text", batch(1))
    old.commit(3)
    old.close()
    (home / "g2024-notes").mkdir()
    (home / "g2024-notes" / "mine").write_bytes(b"mine")
    opened(home).close()
    assert len(generations(home)) == 1, "nothing was sealed yet"
    filled(home)
    assert generations(home) == []
    assert files(home) == ["g2024-notes/mine", NAME, "lock"]


# --- private folders --------------------------------------------------------------------------------------------------


def test_only_leftovers_of_ours_are_removed(own_places: Path) -> None:
    def left(number: int, fill: Callable[[Path], object], mode: int = 0o700) -> Path:
        path = own_places / f"{private_folder.PREFIX}{number:032x}"
        path.mkdir()
        (path / "held").touch()
        fill(path)
        path.chmod(mode)
        return path

    gone = [
        left(1, lambda path: (path / "g000001" / "text" / "segments").mkdir(parents=True)),
        left(2, lambda path: (path / "current").write_bytes(b"g000001")),
    ]
    kept = [
        left(3, lambda path: (path / "thesis.docx").write_bytes(b"work")),
        left(4, lambda path: (path / "g2024").mkdir()),
        left(5, lambda path: (path / "current").symlink_to("/etc/passwd")),
        own_places / "docmind-index-notes",
    ]
    if os.name != "nt":
        kept.append(left(6, lambda path: None, mode=0o755))
    kept[3].mkdir()
    living = PrivateFolder.make(0)
    young = own_places / f"{private_folder.PREFIX}{7:032x}"
    young.mkdir(mode=0o700)
    assert remove_leftovers() == len(gone)
    assert not any(path.exists() for path in gone)
    assert all(path.exists() for path in (*kept, living.path, young))
    living.remove()
    assert not living.path.exists()


def test_a_private_folder_is_for_its_owner_alone(own_places: Path) -> None:
    made = PrivateFolder.make(0)
    assert made.path.parent == own_places
    if os.name != "nt":
        assert made.path.stat().st_mode & 0o777 == 0o700
    made.remove()
    made.remove()


@pytest.fixture
def memory_and_disk(own_places: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Path]]:
    memory = Path("/dev/shm/docmind-test-places")
    if not private_folder.is_in_memory(Path("/dev/shm")):
        pytest.skip("no shared memory as a file system")
    memory.mkdir(exist_ok=True)
    monkeypatch.setattr(private_folder, "_bases", lambda: iter([memory, own_places]))
    yield memory, own_places
    shutil.rmtree(memory)


def test_memory_is_taken_where_there_is_room(
    memory_and_disk: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, disk = memory_and_disk
    for room, place in ((True, memory), (False, disk)):
        monkeypatch.setattr(private_folder, "has_memory", lambda base, needed, room=room: room)
        made = PrivateFolder.make(1)
        assert (made.path.parent, made.is_in_memory) == (place, room)
        made.remove()


@pytest.mark.slow
@pytest.mark.crash
def test_an_index_that_outgrows_memory_goes_on_on_the_disk(
    tmp_path: Path, memory_and_disk: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, disk = memory_and_disk
    filled(tmp_path / "index")
    index = opened(tmp_path / "index")
    assert index.private_folder.parent == memory
    assert index.count("text") == 200
    real = shutil.disk_usage

    def little(path: Path) -> object:
        usage = real(path)
        return usage._replace(free=1 << 10) if str(path).startswith(str(memory)) else usage

    monkeypatch.setattr("docmind.storage.files.shutil.disk_usage", little)
    index.upsert("text", batch(9))
    assert index.private_folder.parent == disk
    assert list(memory.iterdir()) == []
    index.commit(6)
    assert (index.epoch(), index.count("text")) == (6, 250)
    assert "disk" in index.at_rest()
    assert len(index.search([near(axis(0, DIM), limit=300)])[0]) == 250
    index.close()
    assert list(disk.iterdir()) == []
    index = opened(tmp_path / "index")
    assert (index.epoch(), index.count("text")) == (6, 250)
    index.close()
