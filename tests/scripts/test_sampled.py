"""Large sets as a sample: a tenth, the same for one seed, another one on another day, whole on request."""

from __future__ import annotations

import pytest

import sampled
from faults import counted
from sampled import tenth_of


def test_a_tenth_is_taken_in_its_order_and_all_cases_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(sampled.WHOLE, raising=False)
    seen = set[int]()
    for day in range(100):
        monkeypatch.setenv(sampled.SEED, str(day))
        taken = tenth_of(range(150))
        assert len(taken) == 15
        assert taken == sorted(taken) == tenth_of(range(150))
        seen |= set(taken)
    assert seen == set(range(150))


def test_a_small_set_keeps_what_its_test_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(sampled.WHOLE, raising=False)
    assert [len(tenth_of(range(count))) for count in (1, 9, 11)] == [1, 1, 2]
    assert [len(tenth_of(range(count), at_least=3)) for count in (2, 9, 40)] == [2, 3, 4]


def test_the_fault_suites_take_them_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(sampled.WHOLE, "1")
    assert tenth_of(range(150)) == list(range(150))
    assert "test_odt.py" in {path.name for path in counted.files_with_large_sets()}
