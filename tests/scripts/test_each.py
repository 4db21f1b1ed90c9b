"""`each_of`: every case runs, every failed case is reported, and nothing else ends the loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from each import each_of


def test_every_failed_case_is_named_with_its_error() -> None:
    seen = []

    @each_of("number", range(6))
    def check(number: int) -> None:
        seen.append(number)
        if number == 2:
            raise KeyError("odd")
        if number == 3:
            with pytest.raises(ValueError, match="never"):
                pass
        if number == 4:
            pytest.skip("not here")
        assert number != 1, "one is wrong"

    with pytest.raises(AssertionError) as caught:
        check()
    assert seen == [0, 1, 2, 3, 4, 5]
    lines = str(caught.value).splitlines()
    assert lines[0] == "4 of 6 cases failed:"
    assert [line.split(":")[:2] for line in lines if line.startswith("- ")] == [
        ["- 1", " AssertionError"],
        ["- 2", " KeyError"],
        ["- 3", " Failed"],
        ["- 4", " Skipped"],
    ]
    assert "one is wrong" in str(caught.value)
    cause = caught.value.__cause__
    assert isinstance(cause, BaseExceptionGroup)
    assert len(cause.exceptions) == 4


def test_a_case_may_fill_several_parameters() -> None:
    seen = []

    @each_of("left, right", {"a": 1, "b": 2}.items())
    def check(left: str, right: int) -> None:
        seen.append((left, right))

    check()
    assert seen == [("a", 1), ("b", 2)]


@each_of("text", ["x", "y"])
@pytest.mark.parametrize("times", [1, 2])
def test_fixtures_and_parameters_reach_each_case(tmp_path: Path, text: str, times: int) -> None:
    (tmp_path / text).write_text(text * times)
    assert (tmp_path / "x").read_text() == "x" * times


def test_a_timeout_ends_the_cases() -> None:
    seen = []

    @each_of("number", range(3))
    def check(number: int) -> None:
        seen.append(number)
        pytest.fail("Timeout (>180.0s) from pytest-timeout.")

    with pytest.raises(AssertionError, match="1 of 3 cases failed"):
        check()
    assert seen == [0]


def test_a_test_without_cases_is_refused() -> None:
    with pytest.raises(AssertionError, match="without cases"):
        each_of("text", [])
