"""What evaluations leave: nothing that can be read, not even after a crash, and no name that steers a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from conftest import ROOT
from desks import opened
from docmind.documents.carrying import TABLES
from docmind.evaluation import trec_run
from docmind.records.documents import Upload
from docmind.records.evaluation import GOOD, LABELS

T = TypeVar("T")
TEXT, NAME, QUESTION, LABEL = "Quokkazephyrine", "Wolframjubilant", "Xerobiscuitine", "Zinfandelmarquee"
ODD_NAMES = (
    "a b\n1 Q0 owl 1 9 x.txt", "c\x1b[2J\x07.txt", "d\u202egpj.txt", "e\tf\u2028g.txt", "h\u200bi.txt", "#1.txt", "-",
)  # fmt: skip


def set_in(folder: Path, *, documents: int = 2, name: str = NAME) -> Path:
    (folder / "docs").mkdir(parents=True)
    rows = []
    for n in range(documents):
        (folder / "docs" / f"{name}{n}.txt").write_text(f"The {TEXT} engine number {n} is kept dry. " * 20)
        relevant = [{"doc": f"{name}{n}.txt", "page": 1, "relevance": 2}]
        rows.append({"id": f"{QUESTION}{n}", "query": f"where is {TEXT} {QUESTION} {n}", "relevant": relevant})
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def readable(*folders: Path) -> list[str]:
    """Return the files whose name or content shows one of the words."""
    found = []
    for path in (path for folder in folders for path in folder.rglob("*")):
        held = path.name.encode()
        with contextlib.suppress(FileNotFoundError):  # of another process, which has just removed it
            held += path.read_bytes() if path.is_file() else b""
        found += [f"{word}: {path}" for word in (TEXT, NAME, QUESTION, LABEL) if word.lower().encode() in held.lower()]
    return found


def test_the_search_for_words_finds_them(tmp_path: Path) -> None:
    set_in(tmp_path, documents=1)
    assert {one.partition(":")[0] for one in readable(tmp_path)} == {TEXT, NAME, QUESTION}


@pytest.mark.slow
def test_runs_and_labels_are_encrypted_and_their_keys_are_changed_too(tmp_path: Path) -> None:
    folder = set_in(tmp_path / "set")
    seen: list[str] = []
    with opened(tmp_path) as desk:
        (added,) = desk.add([Upload(f"{NAME}.txt", f"The {TEXT} engine is kept dry.".encode())])
        assert added.doc_id
        desk.evaluation.label(f"what is {LABEL} dry", added.doc_id, 1, GOOD)
        run = desk.evaluation.run(folder, progress=lambda *_: seen.extend(readable(tmp_path / "data")))
        desk.evaluation.run(LABELS, answers=False)
        assert readable(tmp_path / "data") == seen == []
        desk.rotate_keys()
        assert desk.evaluation.get(run.run_id) == run
        assert LABEL in desk.evaluation.get("latest").scores[0].text
        assert readable(tmp_path / "data") == []
    assert readable(tmp_path / "data") == []


def private_folders(pid: int) -> set[Path]:
    """Return the folders in which the indexes of a process work; those of other programs come and go."""
    process, paths = psutil.Process(pid), list[Path]()
    for one in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):  # it ended meanwhile
            paths += [Path(file.path) for file in one.open_files()]
    return {path.parent for path in paths if path.name == "held" and path.parent.name.startswith("docmind-index-")}


def wait_until(process: subprocess.Popen[bytes], condition: Callable[[], T]) -> T:
    """Wait until a running process has made something true, and return that."""
    until = time.monotonic() + 120
    while not (found := condition()):
        assert process.poll() is None, "it ended before it was killed"
        assert time.monotonic() < until
        time.sleep(0.05)
    return found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks at files of Linux")
def test_a_killed_evaluation_leaves_nothing_that_can_be_read(tmp_path: Path) -> None:
    folder = set_in(tmp_path / "set", documents=300)
    outside = [tmp_path / name for name in ("home", "scratch")]
    for place in outside:
        place.mkdir()
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT / "src"), "HOME": str(outside[0]), "TMPDIR": str(outside[1]),
        "DOCMIND_DATA_DIR": str(tmp_path / "data"), "DOCMIND_KEYS__SOURCE": "file", "DOCMIND_LLM__PROVIDER": "off",
        "DOCMIND_KEYS__FILE": str(tmp_path / "docmind.key"), "DOCMIND_EMBEDDING__MODEL": "minilm",
    }  # fmt: skip
    command = [sys.executable, "-m", "docmind", "evaluate", str(folder)]
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out)
    try:
        sealed = (tmp_path / "data" / "evaluation").glob
        wait_until(process, lambda: len(list(sealed("*/artifacts/*.original.enc"))) > 20)
        left = wait_until(process, lambda: private_folders(process.pid))
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    assert left, "it was killed before there was an index"
    assert list(sealed("*/vault.db")), "it was killed before there was anything"
    assert readable(tmp_path / "data", *outside, *left) == []
    with opened(tmp_path) as desk:
        assert not list(sealed("*"))
        desk.index.ready()
        assert desk.evaluation.runs() == ()
        assert not [path for path in left if path.exists()]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_names_of_a_set_break_no_line_and_steer_no_terminal(tmp_path: Path) -> None:
    folder = tmp_path / "a \x1b[2Jset\nx"
    (folder / "docs").mkdir(parents=True)
    rows = []
    for n, name in enumerate(ODD_NAMES):
        (folder / "docs" / name).write_text(f"Herons number {n} wait in shallow water.")
        relevant = [{"doc": name, "page": 1, "relevance": 2}]
        rows.append({"id": f"q {n}\n\x1b]0;x\x07", "query": "herons in \x1b[2J water", "relevant": relevant})
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "docs" / os.fsdecode(b"\xff\xfe.txt")).write_text("No text can have this name.")
    with opened(tmp_path) as desk:
        run = desk.evaluation.run(folder, answers=False)
        assert (run.figures["recall"].mean, len(run.skipped)) == (1.0, 1)
        assert desk.evaluation.get(run.run_id) == run
        told = trec_run(run)
    assert all(len(line.split(" ")) == len(line.split()) == 6 for line in told.split("\n"))
    assert len(told.split("\n")) == len(ODD_NAMES) ** 2
    assert not [char for char in told.replace("\n", "") if unicodedata.category(char).startswith("C")]


@pytest.mark.slow
def test_hostile_words_cost_their_rows_and_no_run(tmp_path: Path) -> None:
    folder = set_in(tmp_path / "set")
    odd = ['{"id": "half", "query": "\\ud83d", "relevant": []}', '{"id": "zero\\u0000", "query": "x", "relevant": []}']
    odd += [
        json.dumps({"id": word, "query": word, "relevant": []}) for word in ("\u202eabc", "%s{0}$(id)", "';--", "?")
    ]
    with (folder / "queries.jsonl").open("a") as file:
        file.write("\n" + "\n".join(odd))
    with opened(tmp_path) as desk:
        run = desk.evaluation.run(folder)
        assert (len(run.skipped), run.queries) == (2, 6)
        assert desk.evaluation.get(run.run_id) == run


@pytest.mark.slow
def test_snapshots_and_bundles_bring_back_no_run_and_no_label(tmp_path: Path) -> None:
    """What is said of a library's quality stays in the library."""
    bundle = tmp_path / "all.docmind"
    with opened(tmp_path) as desk:
        (added,) = desk.add([Upload("herons.txt", b"Herons wait in shallow water.")])
        assert added.doc_id
        desk.evaluation.label(f"where is {LABEL}", added.doc_id, 1, GOOD)
        desk.evaluation.run(set_in(tmp_path / "set"), answers=False)
        desk.bundles.write(bundle, "a heron waits in shallow water", lambda *_: None)
        snapshot = desk.snapshots.create("before")
        desk.evaluation.label(f"where is {LABEL}", added.doc_id, 1, None)
        for run in desk.evaluation.runs():
            desk.evaluation.remove(run.run_id)
        desk.snapshots.activate(snapshot.snapshot_id)
        assert (desk.evaluation.runs(), desk.evaluation.labels()) == ((), ())
    with opened(tmp_path / "other") as other:
        assert other.bundles.read(bundle, "a heron waits in shallow water", lambda *_: None).documents == 1
        assert (other.evaluation.runs(), other.evaluation.labels()) == ((), ())
    assert not [table for table in TABLES if "label" in table or "evaluation" in table]
