"""A pytest plugin: what costs processor time in nearly every test and says nothing there is done more cheaply.

* Keys of passphrases have the least cost that a library may have.
* Processes with a model are forked from one that has imported torch (`model_forks`).
* What the installed packages declare is read once: the text model `fake` is one of these, so each opened library asks.
* The reserve of a library gets its blocks from the file system, without random bytes being written into them.

All of it concerns this process alone, not programs that tests start.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from unittest import mock

import pytest

CHEAP_PASSPHRASES = {"iterations": 1, "lanes": 1, "memory_kib": 8_192}  # the least that is accepted
_SMALL_DISK = 1 << 30  # bytes: on a smaller one a test fills it, and every byte of the reserve counts


@pytest.fixture(scope="session", autouse=True)
def model_forks() -> Iterator[None]:
    """Fork the processes of models from one that has imported torch."""
    from model_forks import forked_models

    with forked_models():
        yield


@pytest.fixture(scope="session", autouse=True)
def cheap_passphrases() -> Iterator[dict[str, int]]:
    """Give passphrases a cost of 0.01 s instead of 0.3 for each key; yield the cost that they have in the product.

    A library names its cost, so it is opened by what made it.
    """
    from docmind.storage import keys

    real = dict(keys._ARGON2)
    with mock.patch.dict(keys._ARGON2, CHEAP_PASSPHRASES):
        yield real


@pytest.fixture
def dear_passphrases(cheap_passphrases: dict[str, int]) -> Iterator[None]:
    """Give passphrases the cost that they have in the product."""
    from docmind.storage import keys

    with mock.patch.dict(keys._ARGON2, cheap_passphrases):
        yield


@pytest.fixture(scope="session", autouse=True)
def declared_once() -> Iterator[None]:
    """Read what packages declare once for each state of the folders that packages are looked for in."""
    read, told = importlib.metadata.entry_points, dict[Any, Any]()

    def entry_points(**wanted: Any) -> importlib.metadata.EntryPoints:
        state = tuple(wanted.items()), tuple((path, _changed_at(path)) for path in sys.path)
        if state not in told:
            told[state] = read(**wanted)
        return told[state]

    with mock.patch.object(importlib.metadata, "entry_points", entry_points):
        yield


def _changed_at(path: str) -> int:
    with suppress(OSError):
        return os.stat(path or ".").st_mtime_ns
    return 0


@pytest.fixture(scope="session", autouse=True)
def reserved_blocks() -> Iterator[None]:
    """Fill the reserve of a library with blocks of the file system, where the disk is not one that a test fills."""
    from docmind.storage.files import Reserve, open_own

    fill = Reserve._fill

    def reserve(self: Reserve, held: int, wanted: int) -> None:
        if not hasattr(os, "posix_fallocate") or shutil.disk_usage(self._path.parent).total < _SMALL_DISK:
            fill(self, held, wanted)
            return
        with suppress(OSError), os.fdopen(open_own(self._path, os.O_RDWR | os.O_CREAT), "r+b", buffering=0) as file:
            os.posix_fallocate(file.fileno(), held, wanted - held)

    with mock.patch.object(Reserve, "_fill", reserve):
        yield
