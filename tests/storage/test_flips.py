"""Single-bit flips over every kind of file of a vault, after a clean close and after a kill.

0 wrong reads, 0 tracebacks, and nothing that the mark covers lost without a word. `python tests/storage/flips.py 500 1
FOLDER` runs any number of them.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from docmind.storage import database as database_module
from docmind.storage.database import Database
from sampled import tenth_of
from storage import flips

SEED = 20


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the vault that ended in one of two ways; each is built once, and only copies of it are changed."""

    @cache
    def build(how: str) -> Path:
        folder = tmp_path_factory.mktemp(how) / "vault"
        flips.build(folder, how)
        return folder

    return build


@pytest.fixture(params=["clean", "killed"])
def vault(built: Callable[[str], Path], request: pytest.FixtureRequest) -> Path:
    if request.param == "killed" and os.name != "posix":
        pytest.skip("kill -9")
    flips.prepare(built(request.param))
    return built(request.param)


def chosen(vault: Path, chance: random.Random, counts: dict[str, int]) -> list[tuple[str, int]]:
    """Files and places in them: so many for each kind of file."""
    kinds = flips.files_of(vault)
    wanted = [(chance.choice(kinds[kind]), count) for kind, count in counts.items() if kind in kinds]
    return [(name, offset) for name, count in wanted for offset in flips.places(vault, chance, name, count)]


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.timeout(900)
def test_no_flip_is_read_wrong_or_lost_in_silence(vault: Path, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    counts = {"vault.db": 16, "vault.db-wal": 10, "vault.db-shm": 2, "mark": 4, "vault.json": 3, "artifacts": 4}
    tally = flips.run(
        vault, tmp_path, flips.database_reads, tenth_of(chosen(vault, chance, counts), at_least=13), chance
    )
    print(tally)
    assert (tally.wrong, tally.tracebacks) == ([], [])
    assert tally.said
    assert tally.right


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.timeout(900)
def test_no_flip_is_shown_wrong_or_as_a_traceback(vault: Path, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    counts = {"vault.db": 4, "vault.db-wal": 2, "mark": 1, "artifacts": 1, "index": 2}
    places = tenth_of(chosen(vault, chance, counts), at_least=3)
    tally = flips.run(vault, tmp_path, flips.facade_reads, places, chance)
    print(tally)
    assert (tally.wrong, tally.tracebacks) == ([], [])


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
@pytest.mark.timeout(900)
def test_without_both_checks_reads_are_wrong(
    built: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: zeros and lost rows are told by nothing else."""
    vault = built("killed")
    flips.prepare(vault)
    monkeypatch.setattr(database_module, "_is_whole", lambda db: True)
    monkeypatch.setattr(Database, "_compare", lambda self, *, accept: None)
    chance = random.Random(SEED)
    places = chosen(vault, chance, {"vault.db": 8, "vault.db-wal": 4})
    tally = flips.run(vault, tmp_path, flips.database_reads, places, chance)
    assert tally.wrong
