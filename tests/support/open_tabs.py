"""A pytest plugin: a failed test tells what the open tabs of the browser show, and what their server has logged.

A tab that a test opens itself is closed by then, and told by `served.tab`. These are tabs of fixtures, which a module
has for all its tests.
"""

from __future__ import annotations

import sys
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and "served" in sys.modules:
        report.sections += [("open tab", tab.told()) for tab in sys.modules["served"].Tab.opened]
    return report
