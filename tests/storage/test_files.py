"""Atomic writes, and what is raised where the disk is full.

The reserve: on a disk without one free byte, documents are listed, shown and deleted.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conftest import tiny_disk
from desks import opened, report, settings_in
from docmind.application import DocMind
from docmind.config import StorageSettings
from docmind.errors import ConfigError, DiskFullError, DocMindError, VaultError
from docmind.storage.files import OPENING, SIZE, Reserve, check_room, disk_error, free_bytes, replacing
from libraries import Library
from shells import Shell


def free(disk: Path) -> int:
    stat = os.statvfs(disk)
    return stat.f_bavail * stat.f_frsize


def fill(disk: Path) -> None:
    """Leave not one byte."""
    with open(disk / "ballast", "wb", buffering=0) as file:
        while True:
            try:
                file.write(bytes(1 << 16 if free(disk) >= 1 << 16 else 4096))
            except OSError:
                break
    assert free(disk) == 0


BIG = {pages: Library(f"small and {pages} pages", [report("small", 3), report("big", pages)]) for pages in (3, 40, 300)}


@contextmanager
def full_disk(folder: Path, *, pages: int, reserve: int) -> Iterator[Path]:
    """Fill a disk of 40 MB that holds a vault: one small document, and one of so many pages.

    The index is left out, as after a restored backup: it is a derived cache.
    """
    with BIG[pages].opened(folder):
        pass  # it fills the reserve
    with tiny_disk(folder, megabytes=40) as disk:
        shutil.copytree(folder / "data", disk / "data", ignore=shutil.ignore_patterns("index"))
        assert (disk / "data" / "reserve").stat().st_size == SIZE
        os.truncate(disk / "data" / "reserve", reserve)
        fill(disk)
        yield disk


@pytest.mark.crash
@pytest.mark.slow
def test_a_full_disk_is_listed_shown_and_deleted_from(tmp_path: Path) -> None:
    with full_disk(tmp_path, pages=40, reserve=SIZE) as disk:
        (tmp_path / "shell").mkdir()
        shell = Shell(tmp_path / "shell").having(
            DOCMIND_DATA_DIR=str(disk / "data"),
            DOCMIND_KEYS__FILE=str(tmp_path / "docmind.key"),
            DOCMIND_STORAGE__MIN_FREE_MB="200",
        )
        for _ in range(3):  # the room that one command needs is there for the next as well
            names = [info["document"] for info in shell.json("list")["documents"]]
            assert sorted(names) == ["big.pdf", "small.pdf"]
        assert "The big report, page 6" in shell.run("show", "big.pdf", "7").stdout
        image = tmp_path / "page.webp"
        shell.run("show", "big.pdf", "7", "--image", image)
        assert image.stat().st_size > 0
        shell.run("delete", "big.pdf", "--yes")
        shell.run("delete", "small.pdf", "--yes")
        assert shell.json("list") == {"documents": []}
        (disk / "ballast").unlink()
        shell.run("list")
        assert (disk / "data" / "reserve").stat().st_size == SIZE


@pytest.mark.crash
@pytest.mark.slow
def test_without_the_reserve_a_full_disk_cannot_even_be_listed(tmp_path: Path) -> None:
    """The negative control."""
    with full_disk(tmp_path, pages=3, reserve=0) as disk:
        settings = settings_in(tmp_path, data_dir=disk / "data")
        with pytest.raises(DiskFullError):
            DocMind(settings)
        (disk / "ballast").unlink()
        with DocMind(settings) as desk:
            assert len(desk.documents.all()) == 2


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.parametrize("are_images_first", [True, False])
def test_a_document_larger_than_the_reserve_drops_images_first(
    tmp_path: Path, are_images_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not are_images_first:  # the negative control
        monkeypatch.setattr("docmind.documents.catalog.Catalog.images_of", lambda _self, _doc_id: [])
    with full_disk(tmp_path, pages=300, reserve=OPENING // 2) as disk:
        settings = settings_in(tmp_path, data_dir=disk / "data", storage=StorageSettings(min_free_mb=200))
        with DocMind(settings) as desk:
            doc_id = desk.documents.find("big.pdf").doc_id
            if not are_images_first:
                with pytest.raises(DiskFullError):
                    desk.erasures.erase([doc_id])
                return
            receipt = desk.erasures.erase([doc_id])[0]
            assert (receipt.pages, dict(receipt.erased)["files"]) == (300, 601)
            assert receipt.is_clean, "what it took is enough to write the library again"
            assert [info.document for info in desk.documents.all()] == ["small.pdf"]
            small = desk.documents.find("small.pdf").doc_id
            assert desk.documents.page_image(small, 1)


def test_the_reserve_is_filled_given_up_and_filled_again(tmp_path: Path) -> None:
    with tiny_disk(tmp_path, megabytes=16) as disk:
        reserve, path = Reserve(disk), disk / "reserve"
        reserve.refill()
        assert path.stat().st_size == SIZE
        assert path.stat().st_blocks * 512 >= SIZE
        assert path.read_bytes()[: 1 << 16] != bytes(1 << 16)
        reserve.make_room(OPENING)  # there is room: nothing is given up
        assert path.stat().st_size == SIZE
        fill(disk)
        reserve.make_room(OPENING)
        assert free(disk) == OPENING
        reserve.refill()  # what little there is stays for others
        assert free(disk) == OPENING
        reserve.make_room()
        assert free(disk) == SIZE
        assert path.stat().st_size == 0
        (disk / "ballast").unlink()
        reserve.refill()
        assert path.stat().st_size == SIZE


def test_a_closed_vault_leaves_the_reserve_to_its_next_owner(tmp_path: Path) -> None:
    desk = opened(tmp_path)
    desk.close()
    reserve = tmp_path / "data" / "reserve"
    assert reserve.stat().st_size == SIZE
    os.truncate(reserve, 0)
    desk.close()
    with pytest.raises(VaultError):
        desk.erasures.erase(["0"])
    assert reserve.stat().st_size == 0


def test_a_vault_that_is_not_made_leaves_no_reserve(tmp_path: Path) -> None:
    (tmp_path / "docmind.key").write_text("no key")
    with pytest.raises(DocMindError):
        opened(tmp_path)
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["lock"]
    (tmp_path / "docmind.key").unlink()
    opened(tmp_path).close()


posix = pytest.mark.skipif(os.name != "posix", reason="modes and symbolic links")


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert os.name != "posix" or stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["a.json"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ValueError(), KeyboardInterrupt()])
def test_an_interrupted_write_keeps_the_old_file(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")

    def write() -> None:
        with replacing(path) as file:
            file.write(b"new")
            raise error

    with pytest.raises(type(error)):
        write()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.json"]


def test_without_replace_an_existing_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError), replacing(path, replace=False) as file:
        file.write(b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.json"]


@posix
def test_a_named_temporary_file_may_be_left_over_or_a_link(tmp_path: Path) -> None:
    path, beside, target = tmp_path / "state", tmp_path / "state.new", tmp_path / "mine"
    target.write_bytes(b"mine")
    beside.symlink_to(target)
    with replacing(path, beside=beside) as file:
        file.write(b"new")
    assert (path.read_bytes(), target.read_bytes()) == (b"new", b"mine")
    assert sorted(os.listdir(tmp_path)) == ["mine", "state"]


def test_a_long_name_leaves_room_for_the_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 255)
    with replacing(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_has_its_own_error(number: int) -> None:
    otherwise, full = ConfigError("It cannot be written."), DiskFullError("It is full.")
    assert disk_error(OSError(number, "full"), otherwise, full) is full
    assert str(disk_error(OSError(number, "full"), otherwise)) == "It cannot be written."
    assert isinstance(disk_error(OSError(number, "full"), otherwise), DiskFullError)
    assert disk_error(OSError(errno.EACCES, "denied"), otherwise, full) is otherwise


def test_a_disk_without_room_is_told_in_megabytes(tmp_path: Path) -> None:
    check_room(tmp_path, 1, "not raised")
    needed = free_bytes(tmp_path) + (1 << 40)
    with pytest.raises(DiskFullError) as raised:
        check_room(tmp_path, needed, "{folder}: {needed} MB, but {free} MB")
    found = re.fullmatch(r"(.+): (\d+) MB, but (\d+) MB", str(raised.value))
    assert found
    assert found[1] == str(tmp_path)
    assert int(found[2]) == -(-needed >> 20)
    assert int(found[3]) < int(found[2])
