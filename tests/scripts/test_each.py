"""`each_of`: every case runs, every failed case is reported, and nothing else ends the loop."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from each import each_of


class Noted:
    """What a test reports as skipped subtests, in place of pytest's own report."""

    def __init__(self) -> None:
        self.skipped: list[tuple[str, str]] = []
        self.subtests = cast("pytest.Subtests", self)

    @contextmanager
    def test(self, case: str) -> Iterator[None]:
        with pytest.raises(pytest.skip.Exception) as caught:
            yield
        self.skipped.append((case, str(caught.value)))


def test_every_failed_case_is_named_with_its_error(subtests: pytest.Subtests) -> None:
    seen = []

    @each_of("number", range(6))
    def check(number: int) -> None:
        seen.append(number)
        if number == 2:
            raise KeyError("odd")
        if number == 3:
            with pytest.raises(ValueError, match="never"):
                pass
        assert number != 1, "one is wrong"

    with pytest.raises(AssertionError) as caught:
        check(subtests=subtests)
    assert seen == [0, 1, 2, 3, 4, 5]
    lines = str(caught.value).splitlines()
    assert lines[0] == "3 of 6 cases failed:"
    assert [line.split(":")[:2] for line in lines if line.startswith("- ")] == [
        ["- 1", " AssertionError"],
        ["- 2", " KeyError"],
        ["- 3", " Failed"],
    ]
    assert "one is wrong" in str(caught.value)
    cause = caught.value.__cause__
    assert isinstance(cause, BaseExceptionGroup)
    assert len(cause.exceptions) == 3


@each_of("failing, outcome", [(set(), "passed"), ({3}, "1 of 4 cases failed")])
def test_a_skipped_case_is_a_skip_with_its_reason(failing: set[int], outcome: str) -> None:
    noted = Noted()

    @each_of("number", range(4))
    def check(number: int) -> None:
        if number in (1, 2):
            pytest.skip(f"no part {number} here")
        assert number not in failing

    if failing:
        with pytest.raises(AssertionError, match=outcome):
            check(subtests=noted.subtests)
    else:
        check(subtests=noted.subtests)
    assert noted.skipped == [("1", "no part 1 here"), ("2", "no part 2 here")]


def test_a_test_whose_cases_are_all_skipped_is_skipped() -> None:
    noted = Noted()

    @each_of("number", range(4))
    def check(number: int) -> None:
        pytest.skip("no odd part here" if number % 2 else "no even part here")

    with pytest.raises(pytest.skip.Exception, match=r"^no even part here; no odd part here$"):
        check(subtests=noted.subtests)
    assert noted.skipped == []


def test_a_case_may_fill_several_parameters(subtests: pytest.Subtests) -> None:
    seen = []

    @each_of("left, right", {"a": 1, "b": 2}.items())
    def check(left: str, right: int) -> None:
        seen.append((left, right))

    check(subtests=subtests)
    assert seen == [("a", 1), ("b", 2)]


def test_cases_of_cases_all_run(subtests: pytest.Subtests) -> None:
    seen = []

    @each_of("letter", "ab")
    @each_of("number", [1, 2])
    def check(letter: str, number: int) -> None:
        seen.append((letter, number))

    assert [*inspect.signature(check).parameters] == ["subtests"]
    check(subtests=subtests)
    assert seen == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


@each_of("text", ["x", "y"])
@pytest.mark.parametrize("times", [1, 2])
def test_fixtures_and_parameters_reach_each_case(tmp_path: Path, text: str, times: int) -> None:
    (tmp_path / text).write_text(text * times)
    assert (tmp_path / "x").read_text() == "x" * times


def test_a_timeout_ends_the_cases(subtests: pytest.Subtests) -> None:
    seen = []

    @each_of("number", range(3))
    def check(number: int) -> None:
        seen.append(number)
        pytest.fail("Timeout (>180.0s) from pytest-timeout.")

    with pytest.raises(AssertionError, match="1 of 3 cases failed"):
        check(subtests=subtests)
    assert seen == [0]


def test_a_test_without_cases_is_refused() -> None:
    with pytest.raises(AssertionError, match="without cases"):
        each_of("text", [])
