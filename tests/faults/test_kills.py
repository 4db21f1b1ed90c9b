"""Random kills, small; and the journal tells what must be there."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import require
from desks import opened
from docmind.records.documents import Upload
from faults import kills, shim


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kills_at_random_moments_lose_nothing(seed: int) -> None:
    require(not shim.unusable().startswith("the fault shim is for"), "the owners are forked")
    tally = kills.run(wanted=6, seed=seed, jobs=1)
    print(f"{tally.tried} tried, {tally.survived} survived, {dict(tally.counts)}")
    assert tally.is_well, tally.findings


@pytest.mark.slow
def test_what_is_lost_or_doubled_is_found_out(tmp_path: Path) -> None:
    """The negative control: a journal that tells of more than the vault has, and of less."""
    journal = kills.Journal(tmp_path / "journal")
    told = [
        ("add", "a.txt"),
        ("add", "b.txt"),
        ("erase", "c.txt"),
        ("ask", "Where?"),
        ("remember", "I fish."),
        ("setting", "7"),
    ]
    for number, (kind, name) in enumerate(told):
        journal.write(state="began", step=number, kind=kind, names=[name])
        journal.write(state="done", step=number)
    journal.write(state="began", step=99, kind="add", names=["cut off.txt"])
    with opened(tmp_path) as docmind:
        docmind.add([Upload("a.txt", b"Herons."), Upload("c.txt", b"Storks.")])
        wrong = kills.missing(docmind, kills.Expected(journal), tmp_path)
    assert len(wrong) == 5, wrong
    for part in (
        "b.txt is lost",
        "erased, but here: c.txt",
        "turn Where? is lost",
        "memory I fish. is lost",
        "setting {7} is lost",
    ):
        assert any(part in one for one in wrong), (part, wrong)
