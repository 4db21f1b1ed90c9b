"""`--bare`: which tests ask for an optional part, read from the sources, and that each of them is skipped."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import bare
from conftest import ROOT

CONFTEST = """
import os
import shutil

import pytest

pytest_plugins = ("bare",)

def require(condition, reason):
    if not condition or os.environ.get("BARE"):
        pytest.skip(reason)

@pytest.fixture
def browser():
    require(shutil.which("chromium"), "no chromium")

@pytest.fixture(name="tab")
def opened_tab(browser):
    return 1
"""
PARTS = """
from conftest import require

class Reader:
    def read(self):
        require(None, "no reader")

def installed():
    require(None, "no pandoc")

def text():
    return "text"
"""
TESTS = """
import pytest

import parts
from parts import Reader, installed, text

@pytest.fixture(autouse=True, scope="session")
def quiet():
    "Fixtures that ask for nothing change nothing."

READ = [lambda: installed()]

def test_fixture(tab): assert False
def test_function(): assert not installed()
def test_module(): assert not parts.installed()
def test_class(): assert not Reader().read()
def test_constant(): assert not READ[0]()
def test_by_name(request): assert not request.getfixturevalue("tab")
@pytest.mark.usefixtures("browser")
@pytest.mark.parametrize("row", [1, 2])
def test_mark(row): assert False
def test_text(): assert text()
def test_word(): assert "tab"
"""
ASKING = {"fixture", "function", "module", "class", "constant", "by_name", "mark"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tests" / "support").mkdir(parents=True)
    (tmp_path / "tests" / "conftest.py").write_text(CONFTEST)
    (tmp_path / "tests" / "support" / "parts.py").write_text(PARTS)
    (tmp_path / "tests" / "support" / "bare.py").write_text(Path(bare.__file__).read_text("utf-8"))
    (tmp_path / "tests" / "test_some.py").write_text(TESTS)
    (tmp_path / "tests" / "test_none.py").write_text("assert False, 'it is not imported'\ndef test_it(): pass\n")
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\npythonpath = tests tests/support\naddopts = --import-mode=importlib\n"
    )
    return tmp_path


def test_tests_that_may_ask_for_a_part_are_found(folder: Path) -> None:
    tests = folder / "tests"
    assert bare.asking(tests) == {tests / "test_some.py": {f"test_{name}" for name in ASKING}}


@pytest.mark.slow
def test_each_of_them_is_skipped_with_its_reason_and_no_other_runs(folder: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:langsmith_plugin", "tests"]
    environment = {**os.environ, "BARE": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert "8 skipped, 2 deselected" in done.stdout, done.stdout
    reasons = {line.rpartition(": ")[2] for line in done.stdout.splitlines() if line.startswith("SKIPPED")}
    assert reasons == {"no chromium", "no pandoc", "no reader"}


@pytest.mark.slow
def test_tests_of_this_project_are_found() -> None:
    found = bare.asking(ROOT / "tests")
    assert "test_a_full_disk_is_an_error_and_no_loss" in found[ROOT / "tests" / "index" / "test_edge.py"]
    assert "test_latex_is_read_as_it_is_printed" in found[ROOT / "tests" / "reading" / "formats" / "test_pandoc.py"]
    assert Path(__file__) not in found
