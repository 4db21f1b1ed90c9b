"""Programs that are run once over a text: what they may read, and when they are stopped."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conftest import require
from docmind.errors import WorkerFailedError
from docmind.runtime import landlock, run_confined


@pytest.fixture(scope="module")
def shell() -> str:
    found = shutil.which("dash") or shutil.which("sh")
    require(found, "there is no shell")
    return str(Path(str(found)).resolve())


def test_a_program_gets_a_text_and_says_something(shell: str) -> None:
    ran = run_confined(shell, ["-c", "read line; echo got $line; echo wrong >&2; exit 3"], b"a heron\n", seconds=20)
    assert (ran.code, ran.output, ran.errors) == (3, b"got a heron\n", b"wrong\n")


def test_a_program_reads_and_changes_no_file_and_starts_no_other(shell: str, tmp_path: Path) -> None:
    require(landlock.version(), "this system holds no program to some folders")
    secret = tmp_path / "secret"
    secret.write_text("a heron")
    for command in (f"read line < {secret} && echo $line", f"echo owl > {tmp_path / 'new'}", "/usr/bin/env"):
        ran = run_confined(shell, ["-c", command], b"", seconds=20)
        assert ran.code, command
        assert ran.output == b"", command
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]
    assert secret.read_text() == "a heron"  # this process is as it was


def test_a_program_learns_nothing_of_the_environment(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERONS", "a secret")
    ran = run_confined(shell, ["-c", "set"], b"", seconds=20)
    assert b"PATH=" in ran.output
    assert b"HERONS" not in ran.output
    assert b"secret" not in ran.output


@pytest.mark.slow
def test_a_program_that_takes_too_long_or_says_too_much_is_stopped(shell: str) -> None:
    with pytest.raises(WorkerFailedError, match="took longer than 1 s"):
        run_confined(shell, ["-c", "while :; do read line; done"], b"", seconds=1)
    with pytest.raises(WorkerFailedError, match="more than 1 MB"):
        run_confined(shell, ["-c", "while :; do echo heron; done"], b"", seconds=60, most_bytes=1 << 20)
    with pytest.raises(WorkerFailedError, match="could not be started"):
        run_confined("/nonexistent/program", [], b"", seconds=1)
