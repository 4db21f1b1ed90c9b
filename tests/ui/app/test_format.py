"""Numbers formatted for people."""

from __future__ import annotations

import pytest

from docmind.ui.app.format import about, count, duration


@pytest.mark.parametrize(
    ("ms", "said"), [(1, "1 s"), (5_400, "5 s"), (99_400, "99 s"), (100_000, "2 min"), (600_000, "10 min")]
)
def test_an_estimate_is_a_whole_number(ms: float, said: str) -> None:
    assert about(ms) == said


@pytest.mark.parametrize(
    ("ms", "said"), [(3, "0.1 s"), (400, "0.4 s"), (9_940, "9.9 s"), (12_300, "12 s"), (150_000, "2 min")]
)
def test_what_was_measured_keeps_its_tenths_while_they_matter(ms: float, said: str) -> None:
    assert duration(ms) == said


def test_counts_agree_with_their_nouns() -> None:
    assert (count(1, "page"), count(1_200, "page"), count(2, "copy", "copies")) == ("1 page", "1,200 pages", "2 copies")
