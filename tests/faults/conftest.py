"""The compiled shim and one bench for all tests of a file."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import require
from faults import shim
from faults.points import Bench, quick_folder


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the shim; skip with the reason where that cannot be, and fail in CI."""
    require(not shim.unusable(), shim.unusable())
    return shim.build(tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="module")
def bench(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = quick_folder()
    home = (
        tmp_path_factory.mktemp("bench")
        if folder is None
        else Path(folder, f"docmind-faults-{random.randrange(10**12)}")
    )
    try:
        with Bench(library, home) as made:
            yield made
    finally:
        remove(home)


def remove(folder: Path) -> None:
    """Remove a folder in memory, which pytest does not do."""
    import shutil

    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def seed() -> int:
    """Return a seed, which a failing test prints."""
    found = random.randrange(10**6)
    print(f"seed {found}")
    return found
