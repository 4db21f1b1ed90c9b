"""A pytest plugin: what scripts/run_tests.py wants told at the end of a run, before pytest's closing line.

The runner passes paths of files in these variables. Their values are taken out of the environment, so that a pytest
that a test starts does not take the files for its own.

* CHECKS_RESULT: the checks that run beside pytest write their outcome here when they have all ended; it is waited for,
  told, and the file is removed.
* CHECKS_FAILED: the names of checks that failed before this run, for a second try.
* FAILED_TESTS: written here, as JSON: the node id of each failed test and its failure.
* FIRST_FAILURES: a text with the first failure of each test that ran again. The tests that pytest-rerunfailures ran
  again are added; then it is told.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

NAMES = ("CHECKS_RESULT", "CHECKS_FAILED", "FAILED_TESTS", "FIRST_FAILURES")
_GIVEN = pytest.StashKey[dict[str, str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_GIVEN] = {name: os.environ.pop(name, "") for name in NAMES}


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config) -> None:
    given = config.stash[_GIVEN]
    if given["FIRST_FAILURES"]:
        tell_first_failures(terminalreporter, Path(given["FIRST_FAILURES"]))
    if given["FAILED_TESTS"]:
        reports = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
        failures: dict[str, str] = {}
        for report in reports:
            failures.setdefault(report.nodeid, report.longreprtext)
        Path(given["FAILED_TESTS"]).write_text(json.dumps(failures), "utf-8")
    if given["CHECKS_RESULT"] and exitstatus != pytest.ExitCode.INTERRUPTED:
        tell_checks(terminalreporter, Path(given["CHECKS_RESULT"]))
    if given["CHECKS_FAILED"]:
        terminalreporter.section("checks")
        terminalreporter.write_line(f"FAILED: {given['CHECKS_FAILED']} (their output stands above)", red=True)


def tell_first_failures(terminal: pytest.TerminalReporter, path: Path) -> None:
    """Add the tests that pytest-rerunfailures ran again to the file, and write all of it."""
    reports = terminal.getreports("rerun")
    if reports:
        with path.open("a", encoding="utf-8") as file:
            file.writelines(f"{report.nodeid}\n{report.longreprtext}\n\n" for report in reports)
    if path.exists():
        terminal.section("first failures of tests that ran again")
        terminal.write_line(path.read_text("utf-8").rstrip())


def tell_checks(terminal: pytest.TerminalReporter, path: Path) -> None:
    """Wait until the runner's checks have ended, and write their output and outcome."""
    runner = os.getppid()
    if not path.exists():
        terminal.write_line("waiting for the checks beside pytest")
    while not path.exists():
        if os.getppid() != runner:
            terminal.write_line("the runner of the checks has ended without a result", red=True)
            return
        time.sleep(0.05)
    result = json.loads(path.read_text("utf-8"))
    terminal.section("checks beside pytest")
    terminal.write_line(result["output"].rstrip())
    if result["failed"]:
        terminal.write_line("FAILED: " + ", ".join(result["failed"]), red=True)
    path.unlink()
