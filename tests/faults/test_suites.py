"""The fault suites, small: fault points, power cuts, wrong clocks, missing keys; planted mistakes are found out."""

from __future__ import annotations

import random

import pytest

from faults import circumstances, points, power
from faults.points import Bench, Point, Tally
from faults.vaults import OPERATIONS

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(600)]
OFTEN = ("remember", "a turn", "move to the bin", "change a setting", "open")


def told(tally: Tally) -> str:
    return f"{tally.tried} tried, {tally.survived} survived: {tally.findings}"


def test_fault_points_lose_nothing(bench: Bench, seed: int) -> None:
    tally, operations = (
        Tally(),
        [*OFTEN, *random.Random(seed).sample(["erase", "read a bundle", "add texts together"], 1)],
    )
    counts = {operation: bench.count(operation) for operation in operations}
    assert all(counts.values()), counts
    for point in points.drawn(counts, 9, seed):
        fired, wrong = bench.try_point(point)
        if fired:
            tally.add(str(point), wrong)
    print(told(tally))
    assert tally.tried >= 6, "most of the calls come again"
    assert tally.is_well, told(tally)


def test_power_cuts_lose_nothing_that_was_synced(bench: Bench, seed: int) -> None:
    tally = Tally()
    power.tried(bench, "talks", 9, random.Random(seed), tally)
    assert tally.is_well, told(tally)


def test_dropped_syncs_are_found_out(bench: Bench, seed: int) -> None:
    """The negative control of power cuts: without fsync, acknowledged data must be missing in some state."""
    tally = Tally()
    power.tried(bench, "talks", 12, random.Random(seed), tally, unsynced=True)
    assert tally.survived < tally.tried


def test_a_commit_noted_too_early_is_found_out(bench: Bench) -> None:
    """The negative control of fault points: a vault that notes a commit before it makes it."""
    calls = bench.count("change a setting", is_mark_first=True)
    found = []
    for call in range(1, calls + 1):
        fired, wrong = bench.try_point(Point("change a setting", call, "killed"), is_mark_first=True)
        found += wrong
        if fired and wrong:
            break
    assert any("BehindError" in one for one in found), found


def test_a_fault_that_never_comes_is_no_success(bench: Bench) -> None:
    fired, wrong = bench.try_point(Point("remember", 100_000, "killed"))
    assert (fired, wrong) == (False, [])
    assert not Tally().is_well


@pytest.mark.parametrize("case", circumstances.REFUSED)
def test_without_key_or_beside_another_owner_all_stays(bench: Bench, case: str) -> None:
    message, wrong = circumstances.locked_out(bench, case)
    assert not wrong, message


def test_a_turn_under_a_clock_set_back_stays(bench: Bench) -> None:
    assert circumstances.under_a_wrong_clock(bench, "a turn", -circumstances.TEN_YEARS_S) == []


def test_points_are_drawn_once_and_by_their_seed() -> None:
    counts = {"a": 3, "b": 40}
    found = points.drawn(counts, 60, seed=1)
    assert found == points.drawn(counts, 60, seed=1) != points.drawn(counts, 60, seed=2)
    assert len(set(found)) == 60
    assert sum(point.operation == "a" for point in found) == 15, "all there are"


def test_every_operation_has_a_sentence_for_the_table() -> None:
    assert all(name == name.strip().lower() for name in OPERATIONS)
