"""A pytest plugin: the processor time of each test, its child processes included.

A test that waits costs nothing, and a test that leaves its work to child processes costs what they use. Each report of
a teardown carries the figures, also from the workers of xdist; the controller adds them up and names the tests that
are too dear. Nothing fails because of them.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

KINDS = ("quick", "slow", "browser", "crash")
TOO_DEAR_S = {"quick": 0.3, "slow": 10.0, "browser": 10.0}
_NAMED = 10  # tests of a kind that are named
PROPERTY = "case_times"


@dataclass
class Cost:
    """What all runs of one test took, in seconds."""

    kind: str
    wall: float = 0.0
    processor: float = 0.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--processor-times",
        metavar="FILE",
        help="write each test with its wall and processor seconds into this file, separated by tabs, the dearest first",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(CaseTimes(config))


def processor_s() -> float:
    """Return the processor time of this process and of its descendants, ended and living, in seconds."""
    spent = os.times()
    total = spent.user + spent.system + spent.children_user + spent.children_system
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            total += sum(child.cpu_times()[:4])  # its own time and that of the children that it waited for
    return total


def kind_of(item: pytest.Item) -> str:
    """Return the kind that a test is counted as: the last of KINDS that it is marked with."""
    return next((kind for kind in reversed(KINDS) if item.get_closest_marker(kind)), KINDS[0])


class CaseTimes:
    """Measures tests where they run, and adds up the reports where they arrive."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.costs: dict[str, Cost] = {}
        self._started = 0.0
        self._before: float | None = None  # what was spent when the test before this one ended

    @pytest.hookimpl(tryfirst=True, wrapper=True)
    def pytest_runtest_setup(self) -> Generator[None]:
        self._started = time.perf_counter()
        if self._before is None:
            self._before = processor_s()
        yield

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            wall, spent = time.perf_counter() - self._started, processor_s()
            # Less than before where a child process ended that nobody waited for: its time is lost.
            processor = max(0.0, spent - (self._before or 0.0))
            self._before = spent
            report.user_properties.append((PROPERTY, (kind_of(item), wall, processor)))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == PROPERTY and isinstance(value, tuple | list):  # xdist makes a list of it
                kind, wall, processor = value
                cost = self.costs.setdefault(report.nodeid, Cost(kind))
                cost.wall += wall
                cost.processor += processor

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        from measured import is_worker  # a plugin too, which pytest rewrites before it is imported

        if is_worker(self.config):  # the controller has the reports of all workers
            return
        dearest = sorted(self.costs.items(), key=lambda entry: -entry[1].processor)
        if path := self.config.getoption("--processor-times"):
            lines = [f"{nodeid}\t{cost.wall:.2f}\t{cost.processor:.2f}\n" for nodeid, cost in dearest]
            Path(path).write_text("test\twall s\tprocessor s\n" + "".join(lines), "utf-8")
        if not dearest:
            return
        terminalreporter.section("processor time")
        for kind in KINDS:
            spent = [cost.processor for cost in self.costs.values() if cost.kind == kind]
            if spent:
                terminalreporter.write_line(f"{kind}: {len(spent):,} tests, {sum(spent):,.0f} s")
        # The children of a controller are the workers, which spend time on collecting too.
        in_tests = sum(cost.processor for _, cost in dearest)
        terminalreporter.write_line(f"all: {in_tests:,.0f} s in tests, {processor_s():,.0f} s with what is around them")
        for kind, most in TOO_DEAR_S.items():
            dear = [(nodeid, cost) for nodeid, cost in dearest if cost.kind == kind and cost.processor > most]
            for nodeid, cost in dear[:_NAMED]:
                terminalreporter.write_line(
                    f"too dear: {cost.processor:.1f} s of processor time, {nodeid}", yellow=True
                )
            if dear[_NAMED:]:
                terminalreporter.write_line(f"too dear: {len(dear) - _NAMED} more {kind} tests", yellow=True)
