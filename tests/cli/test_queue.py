"""`docmind queue`: files that were submitted and are not read, and the rest of an interrupted run."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from msoffcrypto.format.ooxml import OOXMLFile

import forked
from desks import opened, report, text_pdf
from docmind.records.documents import Upload
from papers import word_file
from shells import Shell, sentence_of

PASSWORD = "opensesame"
LONG = 60  # pages: a few seconds from the first ones that are seen to the end


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


def locked(name: str = "contract.docx") -> Upload:
    out = io.BytesIO()
    OOXMLFile(io.BytesIO(word_file())).encrypt(PASSWORD, out)
    return Upload(name, out.getvalue())


def left(shell: Shell, *uploads: Upload) -> None:
    """Submit files without reading them, as an interrupted run does."""
    with opened(shell.folder) as desk:
        desk.keys.confirm_recovery_code(desk.keys.recovery_code() or "")
        desk.queue.hold(uploads)


def test_an_empty_queue_says_so(shell: Shell) -> None:
    assert "The queue is empty." in shell.run("queue", "list").stdout
    assert shell.json("queue", "list") == {"files": []}
    assert "no such file" in shell.run("queue", "resume").stderr
    assert "no such file" in shell.run("queue", "cancel").stderr


@pytest.mark.slow
def test_what_waits_is_counted_listed_and_read(shell: Shell) -> None:
    left(shell, report("heron", 3), Upload("broken.pdf", b"%PDF-1.4 broken"))
    assert "2 waiting. See docmind queue list." in shell.run("list").stderr
    assert "1  waiting    heron.pdf" in shell.run("queue", "list").stdout
    done = shell.run("queue", "resume", code=22)
    assert "Added heron.pdf: 3 pages" in done.stdout
    assert "broken.pdf" in done.stderr
    listed = shell.run("queue", "list").stdout
    assert "failed     broken.pdf" in listed
    assert "Re-save it in the program" in listed
    assert "1 failed" in shell.run("list").stderr
    shell.run("queue", "retry", code=22)
    (told,) = [info for info in shell.json("queue", "list")["files"] if info["state"] == "failed"]
    assert (told["document"], told["error"]) == ("broken.pdf", "CorruptFileError")
    assert "Removed: broken.pdf" in shell.run("queue", "remove", "broken.pdf").stdout
    assert shell.run("list").stderr == ""


@pytest.mark.slow
def test_pause_cancel_and_retry_by_number_and_name(shell: Shell) -> None:
    left(shell, report("heron", 1), report("owl", 1), report("crane", 1))
    assert shell.run("queue", "pause", "1").stdout == "Paused: heron.pdf\n"
    assert shell.run("queue", "cancel", "owl.pdf").stdout == "Cancelled: owl.pdf\n"
    # What was paused stays so, and what waits is read before the command's own files.
    added = shell.run("add", shell.file("stork.txt", b"Storks clatter on the roof."))
    assert "Files left from an earlier run: 1" in added.stderr
    assert [line.split()[1] for line in added.stdout.splitlines()] == ["crane.pdf:", "stork.txt:"]
    states = {info["document"]: info["state"] for info in shell.json("queue", "list")["files"]}
    assert (states["heron.pdf"], states["owl.pdf"]) == ("paused", "cancelled")
    assert "Added owl.pdf" in shell.run("queue", "retry", "owl.pdf").stdout
    assert "Added heron.pdf" in shell.run("queue", "resume").stdout
    refused = sentence_of(shell.run("queue", "retry", "nobody.pdf", code=4))
    assert "'nobody.pdf': the queue has no such file" in refused


@pytest.mark.slow
def test_a_locked_file_is_read_with_a_password_of_a_file(shell: Shell) -> None:
    left(shell, locked())
    shell.run("queue", "resume", code=24)
    assert "locked     contract.docx" in shell.run("queue", "list").stdout
    assert "A password is needed" in sentence_of(shell.run("queue", "unlock", code=24))
    passwords = shell.file("passwords.txt", f"wrong\n{PASSWORD}\n".encode())
    assert "Added contract.docx" in shell.run("queue", "unlock", "--password-file", passwords).stdout
    assert PASSWORD.encode() not in (shell.folder / "data" / "vault.db").read_bytes()


@pytest.mark.slow
def test_what_add_refuses_is_not_kept(shell: Shell) -> None:
    shell.run("add", shell.file("contract.docx", locked().data), shell.file("empty.txt", b" "), code=20)
    assert shell.json("queue", "list") == {"files": []}
    assert not list((shell.folder / "data" / "artifacts").iterdir())


def adding(shell: Shell) -> forked.Started:
    """Start `docmind add` with five files, the first of many pages."""
    files = [shell.file("0 long.pdf", text_pdf([f"Page {n} counts herons" for n in range(LONG)]))]
    files += [shell.file(f"{n} short.pdf", report(f"short{n}", 2).data) for n in range(1, 5)]
    command = [sys.executable, "-m", "docmind", "add", *map(str, files)]
    return forked.popen(
        command, env=os.environ | shell.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def begun(shell: Shell) -> None:
    """Wait until page images are sealed: the first document is being read."""
    deadline = time.monotonic() + 120
    while not list((shell.folder / "data").glob("artifacts/*.webp.enc")):
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_a_killed_add_is_finished_by_the_next_run(shell: Shell) -> None:
    with adding(shell) as process:
        begun(shell)
        process.kill()
    assert "5 waiting" in shell.run("list").stderr
    done = shell.run("queue", "resume").stdout
    assert f"Added 0 long.pdf: {LONG} pages" in done
    assert len(shell.json("list")["documents"]) == 5


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_keeps_pages_and_says_how_to_go_on(shell: Shell) -> None:
    with adding(shell) as process:
        begun(shell)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "Paused: 5 files are left to read." in told
    assert "docmind queue resume" in told
    (info,) = shell.json("list")["documents"]
    assert info["status"] == "paused"
    assert 0 < info["pages_done"] < LONG
    listed = shell.run("queue", "list").stdout
    assert f"0 long.pdf (page {info['pages_done']} of {LONG})" in listed
    assert listed.count("paused") == 5
    shell.run("add", shell.file("other.txt", b"Owls hunt at night."))
    assert len(shell.json("list")["documents"]) == 2, "another add leaves them alone"
    shell.run("queue", "resume")
    assert len(shell.json("list")["documents"]) == 6
