"""`--coverage`: one figure at the end of a run, from all the processes that run tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
def sign(number):
    if number < 0:
        return "-"
    return "+"


def unused():
    return 1
"""
TEST = """
from signs import sign


def test_{name}():
    assert sign({number}) == "{sign}"
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [["-n", "0"], ["-n", "2", "--dist", "loadfile"]])
def test_the_share_of_lines_and_branches_is_told(tmp_path: Path, workers: list[str]) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\npythonpath = ["."]\n[tool.coverage.run]\nbranch = true\ninclude = ["signs.py"]\n'
    )
    (tmp_path / "conftest.py").write_text('pytest_plugins = ("measured",)\n')
    (tmp_path / "signs.py").write_text(MODULE)
    (tmp_path / "test_less.py").write_text(TEST.format(name="less", number=-1, sign="-"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:langsmith_plugin", "--basetemp=own", *workers]

    def told(*more: str) -> str:
        return subprocess.run(
            [*command, *more], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
        ).stdout

    assert "of lines and branches" not in told()
    # Six lines, two branches: one line of `sign`, one of `unused` and one branch are not reached.
    assert "62.5 % of lines and branches" in told("--coverage")
    (tmp_path / "test_more.py").write_text(TEST.format(name="more", number=1, sign="+"))
    assert "87.5 % of lines and branches" in told("--coverage")
