"""Many small cases in one test: `each_of` runs every case and reports every case that fails."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import pytest

_SHOWN = reprlib.Repr()
_SHOWN.maxstring = _SHOWN.maxother = 200
_MESSAGE_SHOWN = 2_000  # characters of one failure; the traceback of each follows in full


def each_of(names: str, cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run the test function once for each case, within one test.

    `names` are the parameters that a case fills, separated by commas, as in `pytest.mark.parametrize`; the other
    parameters are fixtures, which all cases share. No failure ends the loop: at the end one AssertionError names every
    failed case with its error, be it an assertion or another exception. Only a timeout ends the loop, because nothing
    would stop the cases after it.

    A case that is skipped is reported as a skipped subtest with its reason; a test whose cases are all skipped is
    skipped.

    Use it where a case takes milliseconds and needs no fixture of its own. Where a fixture must be new for each case,
    use `pytest.mark.parametrize`.
    """
    parameters = [name.strip() for name in names.split(",")]
    rows = [tuple(case) if len(parameters) > 1 else (case,) for case in cases]
    assert rows, "a test without cases would pass whatever it says"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run_all(*, subtests: pytest.Subtests, **fixtures: Any) -> None:
            inner = {"subtests": subtests} if has_subtests else {}
            failed: list[tuple[str, BaseException]] = []
            skipped: list[tuple[str, str]] = []
            for row in rows:
                case = ", ".join(_SHOWN.repr(value) for value in row)
                try:
                    test(**dict(zip(parameters, row, strict=True)), **fixtures, **inner)
                except pytest.skip.Exception as skip:
                    skipped.append((case, str(skip)))
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - each is reported
                    failed.append((case, error))
                    if "from pytest-timeout" in str(error):
                        break
            if len(skipped) == len(rows):
                pytest.skip("; ".join(dict.fromkeys(reason for _, reason in skipped)))
            for case, reason in skipped:
                with subtests.test(case):
                    pytest.skip(reason)
            if failed:
                message = [f"{len(failed)} of {len(rows)} cases failed:"]
                message += [f"- {case}: {type(error).__name__}: {_clip(str(error))}" for case, error in failed]
                raise AssertionError("\n".join(message)) from BaseExceptionGroup("", [error for _, error in failed])

        signature = inspect.signature(test)
        has_subtests = "subtests" in signature.parameters  # it runs the cases of another `each_of`
        given = {*parameters, "subtests"}
        fixtures = [parameter for name, parameter in signature.parameters.items() if name not in given]
        own = inspect.signature(run_all, follow_wrapped=False).parameters["subtests"]
        vars(run_all)["__signature__"] = signature.replace(parameters=[*fixtures, own])
        return run_all

    return decorate


def _clip(message: str) -> str:
    return message if len(message) <= _MESSAGE_SHOWN else message[:_MESSAGE_SHOWN] + " …"
