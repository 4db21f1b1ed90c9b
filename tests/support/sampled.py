"""A pytest plugin: large sets of like cases run as a sample, a tenth of them, chosen by the day's seed.

Mutants of a file, places of a kill and forged files are cases by the hundred of one behaviour. Each day takes another
tenth; `python3 scripts/run_tests.py --faults sets` runs all. The sets themselves never change with the day, so that a
case that fails once fails whenever it is taken. The head of a run names its seed; SAMPLE_SEED=N takes the same again.
"""

from __future__ import annotations

import datetime as dt
import os
import random
from collections.abc import Iterable
from typing import TypeVar

import pytest

SEED, WHOLE = "SAMPLE_SEED", "WHOLE_SETS"  # environment variables
_SHARE = 10

Case = TypeVar("Case")

# The workers of one run, which collect the same tests, take it from here: a run may go on past midnight.
os.environ.setdefault(SEED, str(dt.datetime.now(tz=dt.UTC).toordinal()))


def tenth_of(cases: Iterable[Case], *, at_least: int = 1) -> list[Case]:
    """Return a tenth of the cases, in their order, but `at_least` so many; all of them where WHOLE_SETS is set."""
    every = list(cases)
    if os.environ.get(WHOLE):
        return every
    count = min(len(every), max(at_least, -(-len(every) // _SHARE)))
    taken = random.Random(f"{os.environ[SEED]} {len(every)}").sample(range(len(every)), count)
    return [every[number] for number in sorted(taken)]


def pytest_report_header(config: pytest.Config) -> str:
    return "large sets: whole" if os.environ.get(WHOLE) else f"large sets: a tenth, {SEED}={os.environ[SEED]}"
