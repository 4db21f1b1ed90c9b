"""Kill DocMind at random moments and count what was lost: `.venv/bin/python scripts/soak_kills.py [KILLS] [SEED]`.

A process of its own owns a vault in a temporary folder and works on it without a pause: it adds, deletes, searches by
picture, asks, remembers, rebuilds the index, and hands in 20 files at a time. Before and after each step it writes a
line to a journal; the line after is the acknowledgement. This script kills the owner, or one of its child processes,
with SIGKILL. Each new owner first compares the vault with the journal. Prints the counts; the exit code is 1 where
anything acknowledged was lost or doubled, or the queue did not finish.
"""

from __future__ import annotations

import argparse
import collections
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
from PIL import Image, ImageDraw

from bench.harness import TESTKIT, paper
from docmind.application import DocMind
from docmind.config import Settings
from docmind.errors import DocMindError
from docmind.records.documents import Upload

_LONGEST_S = 4.0  # between two kills
_FILES = 20  # in one upload
_SETTLE_S = 300.0  # for the queue to finish after the last kill


class Journal:
    """A journal of JSON lines, each written with one system call, so that a killed process leaves whole lines only."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, **entry: object) -> None:
        line = json.dumps(entry).encode() + b"\n"
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)

    def entries(self) -> Iterator[dict[str, object]]:
        if self._path.exists():
            for line in self._path.read_bytes().splitlines():
                yield json.loads(line)


class Expected:
    """The vault's contents according to the journal: those that must, may and must not exist."""

    def __init__(self, journal: Journal) -> None:
        self.present: set[str] = set()  # names of documents that were acknowledged
        self.uncertain: set[str] = set()  # a step on them was cut off
        self.gone: set[str] = set()
        self.questions: dict[str, int] = collections.Counter()
        self.memories: set[str] = set()
        began: dict[int, dict[str, object]] = {}
        for entry in journal.entries():
            if entry["state"] == "began":
                began[int(str(entry["step"]))] = entry
                continue
            if entry["state"] in ("done", "failed"):
                step = began.pop(int(str(entry["step"])))
                self._apply(step, is_done=entry["state"] == "done")
        for step in began.values():
            self._apply(step, is_done=False)

    def _apply(self, step: dict[str, object], *, is_done: bool) -> None:
        names = [str(name) for name in step.get("names", [])]  # type: ignore[union-attr]
        kind = step["kind"]
        if kind in ("add", "submit"):
            (self.present if is_done else self.uncertain).update(names)
        elif kind == "delete":
            self.present.difference_update(names)
            self.uncertain.difference_update(names)
            (self.gone if is_done else self.uncertain).update(names)
        elif kind == "ask" and is_done:
            self.questions[names[0]] += 1
        elif kind == "remember" and is_done:
            self.memories.update(names)


def scan(number: int) -> bytes:
    """Return a picture of a line of text, which OCR reads, where there is an engine."""
    image = Image.new("RGB", (900, 300), "white")
    ImageDraw.Draw(image).text((40, 120), f"Scanned receipt number {number} of the harbour", fill="black", font_size=36)
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def own(folder: Path, seed: int) -> None:
    """Own the vault and work on it until killed."""
    chance = random.Random(seed)  # noqa: S311 - a soak test is repeated with its seed
    journal = Journal(folder / "journal")
    with DocMind(Settings.load()) as docmind:
        journal.write(state="opened", lost=missing(docmind, Expected(journal)))
        docmind.queue.start()
        steps = _steps(docmind, chance, journal)
        number = sum(1 for _ in journal.entries())
        while True:
            number += 1
            kind = chance.choices(list(steps), [5, 2, 3, 2, 2, 1, 2])[0]
            steps[kind](number)


def _steps(docmind: DocMind, chance: random.Random, journal: Journal) -> dict[str, Callable[[int], None]]:
    def step(number: int, kind: str, names: list[str], work: Callable[[], object]) -> None:
        journal.write(state="began", step=number, kind=kind, names=names)
        try:
            work()
        except DocMindError as error:  # a child was killed under it: not acknowledged
            journal.write(state="failed", step=number, error=type(error).__name__, message=str(error)[:200])
        else:
            journal.write(state="done", step=number)

    def upload(name: str) -> Upload:
        if chance.random() < 0.15:
            return Upload(f"{name}.png", scan(chance.randrange(10**6)))
        return Upload(f"{name}.pdf", paper(chance.choice((1, 2, 6)), seed=chance.randrange(10**9)))

    def add(number: int) -> None:
        one = upload(f"a{number}")
        step(number, "add", [one.name], lambda: docmind.add([one]))

    def submit(number: int) -> None:
        if docmind.queue.progress().state == "reading":
            return
        many = [upload(f"s{number}-{n}") for n in range(_FILES)]
        step(number, "submit", [one.name for one in many], lambda: docmind.submit(many))

    def delete(number: int) -> None:
        ready = [info for info in docmind.documents() if info.status == "ready"]
        if len(ready) > 8:
            info = chance.choice(ready)
            step(number, "delete", [info.document], lambda: docmind.delete(info.doc_id))

    def ask(number: int) -> None:
        threads = docmind.conversations.threads()
        thread = threads[0] if threads else docmind.conversations.create("Soak")
        question = f"What does question {number} say of storage and keys?"
        step(number, "ask", [question], lambda: docmind.conversations.ask(question, thread_id=thread.thread_id))

    def remember(number: int) -> None:
        fact = f"The harbour number {number} opens at {number % 12}."
        step(number, "remember", [fact], lambda: docmind.memories.add(fact))

    def rebuild(number: int) -> None:
        step(number, "rebuild", [], docmind.reindex)

    def see(number: int) -> None:
        step(number, "see", [], lambda: docmind.see(scan(number), read=chance.random() < 0.3))

    return {
        "add": add, "submit": submit, "delete": delete, "ask": ask, "remember": remember, "rebuild": rebuild,
        "see": see,
    }  # fmt: skip


def missing(docmind: DocMind, expected: Expected) -> list[str]:
    """Return acknowledged data that is missing or doubled, and deleted data that still exists."""
    documents = collections.Counter(info.document for info in docmind.documents())
    waiting = {upload.document for upload in docmind.queue.uploads() if upload.state != "done"}
    lost = [f"document {name}" for name in expected.present if not documents[name] and name not in waiting]
    lost += [f"twice {name}" for name, count in documents.items() if count > 1]
    lost += [f"deleted, but here: {name}" for name in expected.gone if documents[name]]
    asked: dict[str, int] = collections.Counter()
    for thread in docmind.conversations.threads():
        asked.update(turn.question for turn in docmind.conversations.view(thread.thread_id).turns)
    lost += [f"turn {question}" for question in expected.questions if not asked[question]]
    lost += [f"turn twice {question}" for question, count in asked.items() if count > 1]
    facts = collections.Counter(memory.text for memory in docmind.memories.list(limit=10**6).memories)
    lost += [f"memory {fact}" for fact in expected.memories if not facts[fact]]
    lost += [f"memory twice {fact}" for fact, count in facts.items() if count > 1]
    return lost


def finish(journal: Journal) -> list[str]:
    """Open once more, let the queue finish, and compare; return what is wrong."""
    with DocMind(Settings.load()) as docmind:
        docmind.queue.start()
        until = time.monotonic() + _SETTLE_S
        while docmind.queue.progress().state == "reading" and time.monotonic() < until:
            time.sleep(0.5)
        wrong = missing(docmind, Expected(journal))
        wrong += [f"not ready: {info.document}: {info.status} {info.message}" for info in docmind.documents()
                  if info.status != "ready"]  # fmt: skip
        wrong += [f"not read: {one.document}: {one.state} {one.message}" for one in docmind.queue.uploads()
                  if one.state != "done"]  # fmt: skip
        for info in docmind.documents():
            if info.status == "ready":
                for page_no in range(1, info.pages + 1):
                    docmind.page_image(info.doc_id, page_no)
        docmind.reindex()
        status = docmind.status()
        if status.index_epoch != status.vault_epoch:
            wrong.append("the index is behind the vault")
        print(f"{status.documents} documents, {status.pages} pages, {status.nodes} passages at the end")
    return wrong


def main(kills: int, seed: int) -> int:
    # The processes that are killed use the text model of the tests, which needs no weights.
    paths = [str(TESTKIT), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    chance = random.Random(seed)  # noqa: S311 - a soak test is repeated with its seed
    killed: dict[str, int] = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="docmind-soak-") as name:
        folder = Path(name)
        os.environ.update(
            DOCMIND_DATA_DIR=str(folder / "data"), DOCMIND_KEYS__SOURCE="file", DOCMIND_KEYS__FILE=str(folder / "key"),
            DOCMIND_LLM__PROVIDER="off", DOCMIND_EMBEDDING__MODEL="fake", DOCMIND_STORAGE__MIN_FREE_MB="50",
        )  # fmt: skip
        journal = Journal(folder / "journal")
        while sum(killed.values()) < kills:
            command = [sys.executable, __file__, "own", str(folder), str(chance.randrange(10**9))]
            with (folder / "log").open("ab") as log:
                owner = subprocess.Popen(command, stdout=log, stderr=log)
            if chance.random() < 0.9:  # the others are killed while the vault opens
                _wait_for_opening(owner, journal)
            while owner.poll() is None:
                time.sleep(chance.uniform(0.05, _LONGEST_S))
                children = _children(owner.pid)
                if children and chance.random() < 0.5 and sum(killed.values()) < kills - 1:
                    child = chance.choice(children)
                    killed[_name(child)] += 1
                    _kill(child)
                else:
                    owner.kill()
                    owner.wait()
                    killed["owner"] += 1
                    break
            else:
                print(f"The owner ended by itself: {(folder / 'log').read_text('utf-8', 'replace')[-3_000:]}")
                return 1
        wrong = [str(one) for entry in journal.entries() if entry["state"] == "opened" for one in entry["lost"]]  # type: ignore[union-attr]
        wrong += finish(journal)
        done = collections.Counter(entry["state"] for entry in journal.entries())
        failures = collections.Counter(str(entry["error"]) for entry in journal.entries() if entry["state"] == "failed")
        print(f"seed {seed}; kills: {dict(killed)}, {sum(killed.values())} in all")
        print(f"steps: {dict(done)}; told as errors: {dict(failures)}")
        for one in dict.fromkeys(wrong):
            print(f"WRONG: {one}")
        print(f"{len(set(wrong))} things lost, doubled or unfinished")
        tracebacks = (folder / "log").read_text("utf-8", "replace").count("Traceback")
        print(f"{tracebacks} tracebacks in the owners' logs")
    return 1 if wrong or tracebacks else 0


def _wait_for_opening(owner: subprocess.Popen[bytes], journal: Journal) -> None:
    before = sum(entry["state"] == "opened" for entry in journal.entries())
    while owner.poll() is None and sum(entry["state"] == "opened" for entry in journal.entries()) == before:
        time.sleep(0.1)


def _children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []


def _name(child: psutil.Process) -> str:
    """Return the entry function of a child process, or the program's name."""
    try:
        line = child.cmdline()
    except psutil.Error:
        return "gone"
    entries = [part for part in line if part.startswith("docmind.") and ":" in part]
    return entries[0].removeprefix("docmind.") if entries else Path(line[0]).name if line else "gone"


def _kill(child: psutil.Process) -> None:
    try:
        child.kill()
    except psutil.Error:
        return


if __name__ == "__main__":
    if sys.argv[1:2] == ["own"]:
        own(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
        parser.add_argument("kills", nargs="?", type=int, default=300)
        parser.add_argument("seed", nargs="?", type=int, default=7)
        arguments = parser.parse_args()
        sys.exit(main(arguments.kills, arguments.seed))
