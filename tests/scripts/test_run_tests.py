"""The runner: pytest with its second try, the checks beside it, and what is told before the closing line."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import run_tests
from conftest import ROOT

TWO = ["-n", "2", "--dist", "loadfile"]
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:langsmith_plugin"]  # it takes seconds to import


@pytest.mark.parametrize(
    ("given", "passed"),
    [
        ([], []),
        (["-k", "keys"], ["-k", "keys"]),
        (["--fast"], ["-m", "not slow and not browser", *TWO]),
        (["--fast", "tests/x.py"], ["-m", "not slow and not browser", *TWO, "tests/x.py"]),
        (["--fast", "-n", "4"], ["-m", "not slow and not browser", "-n", "4"]),
        (["-m", "crash or gpu", "--fast"], [*TWO, "-m", "(crash or gpu) and not slow and not browser"]),
    ],
)
def test_fast_leaves_out_slow_and_browser_tests(given: list[str], passed: list[str]) -> None:
    assert run_tests.pytest_arguments(given) == passed


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder for tests that tell the runner what it asks for, and enter it."""
    (tmp_path / "conftest.py").write_text('pytest_plugins = ("closing",)\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTEST_ADDOPTS", "--basetemp=own")  # not the folder in which other runs leave things
    return tmp_path


# --- the second try ---------------------------------------------------------------------------------------------------

SHAKY = """
import pathlib
import pytest

SEEN = pathlib.Path({seen!r})


@pytest.mark.parametrize("number", range({failing}))
def test_shaky(number):
    count = int(SEEN.read_text()) if SEEN.exists() else 0
    SEEN.write_text(str(count + 1))
    assert count >= {passes_from}, f"run {{count}}"


def test_sound():
    pass
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("failing", "passes_from", "code", "runs"),
    [
        (1, 1, 0, 2),  # fails once, passes at its second try
        (1, 9, 1, 2),  # fails twice
        (5, 5, 0, 10),
        (6, 6, 1, 6),  # too many for an accident: no second try
    ],
)
def test_few_failed_tests_get_a_second_try(
    folder: Path, capfd: pytest.CaptureFixture[str], failing: int, passes_from: int, code: int, runs: int
) -> None:
    seen = folder / "seen"
    (folder / "test_shaky.py").write_text(SHAKY.format(seen=str(seen), failing=failing, passes_from=passes_from))
    assert run_tests.run_pytest(PYTEST, [], dict(os.environ)) == code
    assert int(seen.read_text()) == runs
    told = capfd.readouterr().out
    is_tried_again = failing <= run_tests.RETRIED
    assert ("a second try" in told) == is_tried_again
    assert Path(run_tests.FIRST_FAILURES).exists() == is_tried_again
    if is_tried_again:
        first = Path(run_tests.FIRST_FAILURES).read_text()
        for number in range(failing):
            assert f"test_shaky[{number}]\n" in first
            assert f"AssertionError: run {number}" in first
        _, second = told.split("a second try of what failed")
        assert first.strip() in second
    assert re.fullmatch(r"(\d+ (passed|failed)(, )?)+ in [\d.]+s", told.rstrip().splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n", "1"]])
def test_the_first_failure_of_a_rerun_is_told(
    folder: Path, capfd: pytest.CaptureFixture[str], workers: list[str]
) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", folder)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = browser\n")
    (folder / "test_rerun.py").write_text(
        "import pytest\nseen = []\n\n\n@pytest.mark.browser\ndef test_waits():\n    seen.append(1)\n"
        "    if len(seen) == 1:\n        raise RuntimeError('TimeoutError: Timeout 30ms exceeded')\n"
    )
    before = Path(run_tests.FIRST_FAILURES)
    before.parent.mkdir()
    before.write_text("of an earlier run")
    assert run_tests.run_pytest(PYTEST, workers, dict(os.environ)) == 0
    told = capfd.readouterr().out
    assert "first failures of tests that ran again" in told
    assert "Timeout 30ms exceeded" in told
    first = Path(run_tests.FIRST_FAILURES).read_text()
    assert first.startswith("test_rerun.py::test_waits\n")
    assert "Timeout 30ms exceeded" in first
    assert "of an earlier run" not in told + first
    assert "1 passed, 1 rerun" in told.rstrip().splitlines()[-1]


# --- checks beside pytest ---------------------------------------------------------------------------------------------


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-c", code]


def test_all_checks_run_one_after_another(tmp_path: Path) -> None:
    log = tmp_path / "log"
    step = "import time; log = open({0!r}, 'a'); log.write('+'); log.flush(); time.sleep(0.2); log.write('-')"
    checks = run_tests.Checks(
        [
            ("first", python(step.format(str(log)) + "; print('é', flush=True); raise SystemExit(3)")),
            ("missing", [str(tmp_path / "no such program")]),
            ("left out", "skipped: nothing to look at"),
            ("last", python(step.format(str(log)))),
        ],
        dict(os.environ, PYTHONIOENCODING="utf-8"),
        str(tmp_path / "result"),
    )
    checks.start()
    checks.join()
    assert checks.failed == ["first", "missing"]
    assert log.read_text() == "+-+-"
    result = json.loads((tmp_path / "result").read_text("utf-8"))
    assert result == {"failed": checks.failed, "output": checks.output}
    assert "== left out\nskipped: nothing to look at\n== last\n" in checks.output
    assert "no such program" in checks.output


@pytest.mark.slow
@pytest.mark.parametrize("is_passing", [True, False])
def test_checks_are_told_before_the_closing_line(
    folder: Path, capfd: pytest.CaptureFixture[str], is_passing: bool
) -> None:
    (folder / "test_one.py").write_text("def test_one(): pass\n")
    last = folder / "last"
    check = (
        f"import time; time.sleep(6); open({str(last)!r}, 'w'); print('said so'); raise SystemExit({not is_passing})"
    )
    code = run_tests.run_beside([("slow check", [sys.executable, "-c", check])], PYTEST, [], dict(os.environ))
    assert code == (not is_passing)
    assert last.exists(), "a check is waited for"
    lines = capfd.readouterr().out.rstrip().splitlines()
    assert lines.index("== slow check") < lines.index("said so") < len(lines) - 1
    assert ("FAILED: slow check" in lines) == (not is_passing)
    assert lines[-1].startswith("1 passed in ")


@pytest.mark.slow
def test_a_failed_check_is_named_again_after_a_second_try(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "test_shaky.py").write_text(SHAKY.format(seen=str(folder / "seen"), failing=1, passes_from=1))
    checks: list[tuple[str, Any]] = [("odd", python("raise SystemExit(1)")), ("even", python(""))]
    assert run_tests.run_beside(checks, PYTEST, [], dict(os.environ)) == 1
    first, second = capfd.readouterr().out.split("a second try of what failed")
    assert "FAILED: odd" in first
    assert "FAILED: odd (their output stands above)" in second
    assert second.rstrip().splitlines()[-1].startswith("1 passed in ")


@pytest.mark.slow
def test_a_pytest_without_summary_still_has_a_closing_line(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = run_tests.run_beside([("fine", python("print('said so')"))], PYTEST, ["--no-such-option"], dict(os.environ))
    assert code == 4
    lines = capfd.readouterr().out.rstrip().splitlines()
    assert "said so" in lines
    assert lines[-1] == "0 passed, 1 failed: pytest ended with code 4"


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("stage", ["test", "checks"])
def test_ctrl_c_ends_both(folder: Path, stage: str) -> None:
    """Interrupted while a test runs, and while pytest waits for a check."""
    marks = [folder / "check", folder / "test"]
    sleeping = "import os, time\nopen({0!r}, 'w').write(str(os.getpid()))\ntime.sleep({1})\n"
    (folder / "test_long.py").write_text(
        "def test_long():\n" + "".join(f"    {line}\n" for line in
                                       sleeping.format(str(marks[1]), 99 if stage == "test" else 0).splitlines())
    )  # fmt: skip
    script = folder / "run.py"
    script.write_text(
        "import os, signal, sys, run_tests\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a run in the background would ignore it
        f"check = [('long', [sys.executable, '-c', {sleeping.format(str(marks[0]), 99)!r}])]\n"
        f"run_tests.setup_env.end_quietly(lambda: run_tests.run_beside(check, {PYTEST!r}, [], dict(os.environ)))\n"
    )
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT / "scripts"), os.environ["PYTHONPATH"]]))
    runner = subprocess.Popen(
        [sys.executable, str(script)], env=environment, start_new_session=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    until(lambda: all(mark.exists() and mark.read_text() for mark in marks))
    time.sleep(0.5 if stage == "test" else 2)
    os.killpg(runner.pid, signal.SIGINT)
    output, _ = runner.communicate(timeout=60)
    assert "Stopped." in output
    for mark in marks:
        until(lambda mark=mark: not is_running(int(mark.read_text())))


def until(is_so: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# --- what pyright looks at --------------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make a git checkout with two committed files, enter it, and return a function that runs git."""
    if shutil.which("git") is None:
        pytest.skip("git is not here")
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)

    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)

    git("init", "-b", "main")
    for name in ("old.py", "gone.py", "read.md"):
        (tmp_path / name).write_text("1\n")
    git("add", ".")
    git("commit", "-m", "one")
    return git


def looked_at() -> Any:
    return dict(run_tests.checks_of("python", is_fast=True))["pyright"]


def test_fast_looks_at_what_differs_from_main(checkout: Callable[..., None]) -> None:
    assert looked_at() == run_tests.NO_CHANGES
    Path("read.md").write_text("2\n")
    assert looked_at() == run_tests.NO_CHANGES
    Path("old.py").write_text("2\n")
    Path("new.py").write_text("1\n")
    Path("gone.py").unlink()
    assert looked_at() == ["python", "-m", "pyright", "new.py", "old.py"]
    checkout("checkout", "-b", "other")
    checkout("add", ".")
    checkout("commit", "-m", "two")
    assert looked_at() == ["python", "-m", "pyright", "new.py", "old.py"], "committed on a branch"
    checkout("branch", "-D", "main")
    assert looked_at() == run_tests.NO_CHANGES, "without a main branch: what is not committed"
    assert dict(run_tests.checks_of("python"))["pyright"] == ["python", "-m", "pyright"]


def test_what_changed_since_a_commit(checkout: Callable[..., None]) -> None:
    Path("old.py").write_text("2\n")
    Path("read.md").write_text("2\n")
    checkout("commit", "-a", "-m", "two")
    Path("new.py").write_text("1\n")
    assert run_tests.changed_files() == ["new.py"], "since main, which is here"
    assert run_tests.changed_files("HEAD~1") == ["new.py", "old.py", "read.md"]
    assert run_tests.changed_files("no-such-commit") is None


def test_a_whole_run_has_the_tests_without_any_optional_part_beside_it() -> None:
    name = "tests without any optional part"
    assert dict(run_tests.checks_of("python"))[name] == ["python", run_tests.__file__, "--bare", "-q"]
    assert name not in dict(run_tests.checks_of("python", is_fast=True))
    assert name not in dict(run_tests.checks_of("python", is_complete=False))


def test_without_git_fast_leaves_pyright_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert looked_at() == run_tests.NO_GIT
    monkeypatch.setenv("PATH", str(tmp_path))
    assert looked_at() == run_tests.NO_GIT
