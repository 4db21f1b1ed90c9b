"""One owner of a vault, between processes for real."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from docmind.errors import VaultBusyError, VaultError
from docmind.storage.lock import OwnerLock

_HOLD = """
import sys
from pathlib import Path
from docmind.storage.lock import OwnerLock
lock = OwnerLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
sys.stdin.readline()
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_told_at_once_who_has_it(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        with pytest.raises(VaultBusyError, match=str(process.pid)):
            OwnerLock(tmp_path)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "released\n"
        OwnerLock(tmp_path).release()
        process.kill()


@pytest.mark.crash
def test_a_killed_owner_leaves_no_lock(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        process.kill()
        process.wait()
        lock = OwnerLock(tmp_path)
    assert (tmp_path / "lock").read_text() == str(os.getpid())
    lock.release()


def test_a_second_owner_in_the_same_process_is_refused_too(tmp_path: Path) -> None:
    lock = OwnerLock(tmp_path)
    with pytest.raises(VaultBusyError):
        OwnerLock(tmp_path)
    lock.release()
    lock.release()  # harmless twice
    OwnerLock(tmp_path).release()


def test_a_refused_second_owner_does_not_free_the_first(tmp_path: Path) -> None:
    lock = OwnerLock(tmp_path)
    for _ in range(3):
        with pytest.raises(VaultBusyError, match=str(os.getpid())):
            OwnerLock(tmp_path)
    lock.release()


def test_a_lock_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    with pytest.raises(VaultError, match="cannot be opened"):
        OwnerLock(tmp_path)
