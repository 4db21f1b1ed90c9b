"""A pytest plugin: with `--coverage`, which lines and branches of DocMind the tests went through, told at the end.

Only the processes that run tests are measured: what a child process of DocMind runs is not seen. The data lie in
`.pytest_cache/coverage`, for `coverage html --data-file`. The figure is told and nothing depends on it.
"""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest
from coverage import Coverage

_STARTED = pytest.StashKey[Coverage]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--coverage", action="store_true", help="tell the share of lines and branches that tests run")


def folder_of(config: pytest.Config) -> Path:
    return config.rootpath / ".pytest_cache" / "coverage"


def data_file(config: pytest.Config) -> str:
    return str(folder_of(config) / "data")


def is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def runs_tests(config: pytest.Config) -> bool:
    """Return whether this process runs tests itself, and leaves them to no worker."""
    return is_worker(config) or not config.getoption("numprocesses", None)


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("coverage"):
        return
    if not is_worker(config):
        shutil.rmtree(folder_of(config), ignore_errors=True)
        folder_of(config).mkdir(parents=True)
    if runs_tests(config):
        coverage = Coverage(
            data_file(config), data_suffix=True, config_file=str(config.rootpath / "pyproject.toml"), messages=False
        )
        coverage.start()
        config.stash[_STARTED] = coverage


def pytest_sessionfinish(session: pytest.Session) -> None:
    coverage = session.config.stash.get(_STARTED, None)
    if coverage is not None:
        coverage.stop()
        coverage.save()


@pytest.hookimpl(tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not config.getoption("coverage"):
        return
    coverage = Coverage(data_file(config), config_file=str(config.rootpath / "pyproject.toml"), messages=False)
    coverage.combine(keep=True)
    coverage.save()
    share = coverage.report(file=io.StringIO())
    terminalreporter.section("coverage")
    terminalreporter.write_line(
        f"{share:.1f} % of lines and branches, in the processes that run tests (docs/contributing.md)"
    )
