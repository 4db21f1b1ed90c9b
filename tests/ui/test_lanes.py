"""The tree of a conversation as lines: nothing is left out, parents stand before children, branches to the side."""

from __future__ import annotations

import random

import pytest

from docmind.conversation import Run
from docmind.ui.lanes import Lanes


def tree(*links: str, current: str = "") -> list[Run]:
    """Runs from `parent>child`, or `child` for a beginning, in the order they were asked."""
    runs = []
    for at, link in enumerate(links):
        parent, _, child = link.rpartition(">")
        runs.append(Run(child, parent or None, f"question {child}", at, "answered", child in current))
    return runs


def drawn(lanes: Lanes, *unfolded: str) -> list[str]:
    return [
        "  " * line.lane + line.run.checkpoint_id + (f"+{line.folded}" if line.folded else "")
        for line in lanes.lines(unfolded)
    ]


def test_a_straight_conversation_is_one_lane() -> None:
    lanes = Lanes(tree("a", "a>b", "b>c", current="abc"))
    assert drawn(lanes) == ["a", "b", "c"]
    assert lanes.standing == "c"
    assert lanes.branches == 1
    assert lanes.siblings("b") == [lanes.by_id["b"]]


def test_a_branch_is_one_line_until_it_is_unfolded() -> None:
    lanes = Lanes(tree("a", "a>b", "b>c", "a>x", "x>y", "y>z", "x>w", current="abc"))
    assert drawn(lanes) == ["a", "  x+3", "b", "c"]
    assert drawn(lanes, "x") == ["a", "  x", "    y+1", "  w", "b", "c"]
    assert drawn(lanes, "x", "y") == ["a", "  x", "    y", "    z", "  w", "b", "c"]
    folded = next(line for line in lanes.lines() if line.folded)
    assert folded.is_branch
    assert folded.tip == "w", "the end that was reached last"
    assert lanes.branches == 3


def test_the_way_to_where_it_stands_goes_straight_down() -> None:
    runs = ("a", "a>b", "b>c", "a>x", "x>y")
    assert drawn(Lanes(tree(*runs, current="axy"))) == ["a", "  b+1", "x", "y"]
    behind = Lanes(tree(*runs, current="a"))
    assert behind.standing == "a"
    assert drawn(behind) == ["a", "  b+1", "x", "y"], "from there on the newest way does"


def test_the_first_question_may_have_been_asked_anew() -> None:
    lanes = Lanes(tree("a", "a>b", "c", "d", current="c"))
    assert drawn(lanes) == ["  a+1", "  d", "c"]
    assert [run.checkpoint_id for run in lanes.siblings("c")] == ["a", "c", "d"]


def test_a_conversation_that_stands_at_its_beginning() -> None:
    lanes = Lanes(tree("a", "a>b"))
    assert lanes.standing is None
    assert drawn(lanes) == ["a", "b"]
    assert drawn(Lanes([])) == []
    assert Lanes([]).siblings("a") == []


def test_a_run_whose_parent_is_not_known_is_a_beginning() -> None:
    assert drawn(Lanes(tree("gone>a", "a>b", current="ab"))) == ["a", "b"]


@pytest.mark.parametrize("seed", range(20))
def test_no_run_is_lost_or_told_twice(seed: int) -> None:
    chance = random.Random(seed)
    links = ["0"] + [f"{chance.randrange(max(1, at - 6), at + 1) - 1}>{at}" for at in range(1, 200)]
    runs = tree(*links)
    lanes = Lanes(chance.sample(runs, len(runs)))
    everywhere = lanes.lines({run.checkpoint_id for run in runs})
    told = [line.run.checkpoint_id for line in everywhere]
    assert sorted(told) == sorted(run.checkpoint_id for run in runs)
    place = {checkpoint_id: at for at, checkpoint_id in enumerate(told)}
    assert all(place[run.parent_id] < place[run.checkpoint_id] for run in runs if run.parent_id)
    folded = lanes.lines()
    assert len(folded) + sum(line.folded for line in folded) == len(runs)


def test_a_long_conversation_does_not_exhaust_the_stack() -> None:
    runs = tree("0", *(f"{at - 1}>{at}" for at in range(1, 5_000)))
    assert len(Lanes(runs).lines()) == 5_000
