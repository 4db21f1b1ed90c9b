"""Document mutants, small; and an error that is no sentence is found out."""

from __future__ import annotations

import random

import pytest

from conftest import require
from docmind.reading import Reader
from faults import mutants, shim


@pytest.fixture(autouse=True)
def forks() -> None:
    require(not shim.unusable().startswith("the fault shim is for"), "reading processes are forked")


@pytest.mark.crash
@pytest.mark.slow
def test_damaged_documents_never_bring_the_app_down(seed: int) -> None:
    tally = mutants.run(wanted=40, seed=seed)
    print(f"{tally.tried} tried, {tally.survived} survived, {dict(tally.counts)}")
    assert tally.is_well, tally.findings
    assert tally.counts["read"], "some are still read"
    assert len(tally.counts) > 2, "and others are not"


@pytest.mark.slow
def test_the_seeds_are_read_before_they_are_damaged() -> None:
    whole = mutants.seeds()[:16]
    with Reader(mutants.SETTINGS) as reader:
        assert [(upload.name, *mutants.read(reader, upload)) for upload in whole] == [
            (one.name, "read", []) for one in whole
        ]


def test_an_error_that_is_none_of_ours_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with Reader(mutants.SETTINGS) as reader:
        monkeypatch.setattr(reader, "read", lambda upload: 1 / 0)
        assert mutants.read(reader, mutants.seeds()[0])[1] == ["ZeroDivisionError: division by zero"]


def test_a_mutant_differs_and_can_be_made_again() -> None:
    seeds = mutants.seeds()[:16]
    first = [mutants.mutated(upload, random.Random(number), seeds).data for number, upload in enumerate(seeds)]
    again = [mutants.mutated(upload, random.Random(number), seeds).data for number, upload in enumerate(seeds)]
    assert first == again
    assert sum(data != upload.data for data, upload in zip(first, seeds, strict=True)) > 12
