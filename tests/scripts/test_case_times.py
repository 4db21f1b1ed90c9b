"""The processor time of tests: child processes count, waiting does not, and workers send their figures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import subprocess, sys, time
import pytest

BUSY = "import time\\nends = time.process_time() + 0.5\\nwhile time.process_time() < ends: pass\\n"


def test_waits():
    time.sleep(0.8)


def test_computes():
    exec(BUSY)


@pytest.mark.slow
def test_a_child_computes():
    subprocess.run([sys.executable, "-c", BUSY])


@pytest.mark.crash
@pytest.mark.slow
def test_a_child_that_goes_on_computes():
    child = subprocess.Popen([sys.executable, "-c", BUSY + "print('done', flush=True)\\ntime.sleep(60)"],
                             stdout=subprocess.PIPE)
    assert child.stdout.readline()
    globals()["left"] = child


def test_later():
    left.kill()
    left.communicate()


def test_with_a_dear_fixture(dear):
    pass


@pytest.fixture
def dear():
    yield
    exec(BUSY)
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n", "1"]])
def test_processor_time_of_each_test(tmp_path: Path, workers: list[str]) -> None:
    (tmp_path / "test_costs.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(
        'pytest_plugins = ("case_times",)\n\n\ndef pytest_configure():\n'
        "    import case_times\n\n    case_times.TOO_DEAR_S = dict.fromkeys(case_times.TOO_DEAR_S, 0.4)\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow\n    crash\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:langsmith_plugin", "--basetemp", str(tmp_path / "own")]
    command += ["--processor-times", "times.tsv"]
    run = subprocess.run(command + workers, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    head, *rows = [line.split("\t") for line in (tmp_path / "times.tsv").read_text().splitlines()]
    assert head == ["test", "wall s", "processor s"]
    spent = {name.partition("::")[2]: float(processor) for name, _, processor in rows}
    dear = ("test_computes", "test_a_child_computes", "test_a_child_that_goes_on_computes", "test_with_a_dear_fixture")
    assert list(spent.values()) == sorted(spent.values(), reverse=True)
    assert {name: seconds > 0.4 for name, seconds in spent.items()} == {
        **dict.fromkeys(dear, True), "test_waits": False, "test_later": False,
    }  # fmt: skip
    assert {name: float(wall) for name, wall, _ in rows}["test_costs.py::test_waits"] >= 0.8
    told = run.stdout
    assert "quick: 4 tests, " in told
    assert "slow: 1 tests, " in told
    assert "crash: 1 tests, " in told
    named = {line.rpartition("::")[2] for line in told.splitlines() if line.startswith("too dear: ")}
    assert named == {*dear} - {"test_a_child_that_goes_on_computes"}
    assert told.rstrip().splitlines()[-1].startswith("6 passed in ")
