"""A pytest plugin: which tests run side by side, in `--dist loadfile` (scripts/run_tests.py).

A file stays on one worker. All browser tests are on one worker too: two browsers and two apps on two cores wait for
each other. What takes longest begins first, so that no worker is left alone with it at the end.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

BROWSER = "tests/browser"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files with browser tests first, then those with most crashes, then those with most slow tests."""
    long: dict[Path, tuple[int, ...]] = {}
    for path, same in itertools.groupby(items, lambda item: item.path):
        file = list(same)
        counts = (sum(1 for item in file if item.get_closest_marker(kind)) for kind in ("browser", "crash", "slow"))
        long[path] = tuple(-count for count in counts)
    items.sort(key=lambda item: long[item.path])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """Return the scheduler of `--dist loadfile`."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return lane_of(nodeid)

    config.option.loadscopereorder = False
    return Scheduling(config, log)


def lane_of(nodeid: str) -> str:
    """Return what stays on one worker: all browser tests, or the file of a test."""
    path = nodeid.partition("::")[0]
    return BROWSER if path.startswith(f"{BROWSER}/") else path
