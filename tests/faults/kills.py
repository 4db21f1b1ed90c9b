"""Random kills: an owner works on a vault without a pause and is killed, or one of its child processes is.

Before and after each step it writes a line to a journal; the line after is the acknowledgement. Each new owner first
compares the vault with the journal: what was acknowledged must be there once, what was deleted must not come back. At
the end the queue must finish, every page must open, and the index must be level with the vault.

Owners are forked from a server that has everything imported. A thread of the owner sends the signal, to its own process
or to one of its children: SIGKILL leaves it no more time than one from outside would.
"""

from __future__ import annotations

import collections
import functools
import io
import json
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
from PIL import Image, ImageDraw

from desks import report, settings_in, settled, text_pdf
from docmind.application import DocMind
from docmind.errors import DocMindError
from docmind.maintenance import verify_bundle
from docmind.records.documents import Upload
from faults.points import Tally, quick_folder
from faults.server import Server, note
from faults.vaults import NOT_OURS, PASSPHRASE, left_behind, quiet

LONGEST_S = 1.2  # between two kills
FILES = 8  # in one upload
MOST = 14  # documents: above that more are deleted than added
BUNDLES = 3  # that an owner writes
SETTLE_S = 120.0  # for the queue to finish after the last kill


class Journal:
    """A journal of JSON lines, each written with one system call, so that a killed process leaves whole lines only."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, **entry: object) -> None:
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(handle, json.dumps(entry).encode() + b"\n")
        finally:
            os.close(handle)

    def entries(self) -> Iterator[dict[str, Any]]:
        if self._path.exists():
            for line in self._path.read_bytes().splitlines():
                yield json.loads(line)


class Expected:
    """The vault's contents according to the journal: those that must, may and must not exist."""

    def __init__(self, journal: Journal) -> None:
        self.present: set[str] = set()  # names of documents that were acknowledged
        self.gone: set[str] = set()
        self.binned: set[str] = set()
        self.uncertain: set[str] = set()  # a step on them was cut off
        self.questions: set[str] = set()
        self.memories: set[str] = set()
        self.forgotten: set[str] = set()
        self.bundles: set[str] = set()
        self.most_pages: set[int] = set()  # a setting: the last acknowledged value, and what was tried since
        began: dict[int, dict[str, Any]] = {}
        for entry in journal.entries():
            if entry["state"] == "began":
                began[entry["step"]] = entry
            elif entry["state"] in ("done", "failed"):
                self._apply(began.pop(entry["step"]), is_done=entry["state"] == "done")
        for step in began.values():
            self._apply(step, is_done=False)

    def _apply(self, step: dict[str, Any], *, is_done: bool) -> None:
        names, kind = set(step["names"]), step["kind"]
        places = {"add": self.present, "erase": self.gone, "bin": self.binned, "restore": self.present}
        if kind in places:
            for place in (self.present, self.gone, self.binned, self.uncertain):
                place -= names
            (places[kind] if is_done else self.uncertain).update(names)
        elif kind == "setting":
            self.most_pages = {int(step["names"][0])} if is_done else self.most_pages | {int(step["names"][0])}
        elif kind == "forget":
            self.memories -= names
            if is_done:
                self.forgotten |= names
        elif is_done:
            {"ask": self.questions, "remember": self.memories, "bundle": self.bundles}.get(kind, set()).update(names)


def missing(docmind: DocMind, expected: Expected, folder: Path) -> list[str]:
    """Return acknowledged data that is missing or doubled, and deleted data that still exists."""
    documents = collections.Counter(info.document for info in docmind.documents())
    binned = {info.document for info in docmind.library.binned()}
    waiting = {upload.document for upload in docmind.queue.uploads() if upload.state != "done"}
    lost = [f"document {name} is lost" for name in expected.present if not documents[name] and name not in waiting]
    lost += [f"document {name} is lost from the bin" for name in expected.binned if name not in binned]
    lost += [f"twice {name}" for name, count in documents.items() if count > 1]
    lost += [f"erased, but here: {name}" for name in expected.gone if documents[name] or name in binned]
    asked: dict[str, int] = collections.Counter()
    for thread in docmind.conversations.threads():
        asked.update(turn.question for turn in docmind.conversations.view(thread.thread_id).turns)
    lost += [f"turn {question} is lost" for question in expected.questions if not asked[question]]
    lost += [f"turn twice {question}" for question, count in asked.items() if count > 1]
    facts = collections.Counter(memory.text for memory in docmind.memories.everything())
    lost += [f"memory {fact} is lost" for fact in expected.memories if not facts[fact]]
    lost += [f"memory twice {fact}" for fact, count in facts.items() if count > 1]
    lost += [f"forgotten, but here: {fact}" for fact in expected.forgotten if facts[fact]]
    found = docmind.settings.now.reading.max_pages
    if expected.most_pages and found not in expected.most_pages | {5_000}:
        lost.append(f"setting {found} is none of {expected.most_pages}")
    if len(expected.most_pages) == 1 and found not in expected.most_pages:
        lost.append(f"setting {expected.most_pages} is lost")
    return lost + [f"bundle {name} is lost" for name in expected.bundles if not (folder / name).exists()]


# --- the owner --------------------------------------------------------------------------------------------------------


def own(folder: str, seed: int) -> None:
    """Own the vault and work on it until killed; runs in a fork."""
    place, chance = Path(folder), random.Random(seed)
    journal = Journal(place / "journal")
    if chance.random() < 0.1:  # the others are killed after the vault has opened
        _kill_later(chance, 0.3)
    with DocMind(settings_in(place)) as docmind:
        expected = Expected(journal)
        journal.write(state="opened", lost=missing(docmind, expected, place))
        _kill_later(chance, LONGEST_S)
        docmind.queue.start()
        work = Work(docmind, chance, journal, place)
        number = max((entry.get("step", 0) for entry in journal.entries()), default=0)
        while True:
            number += 1
            work.step(number)


def _kill_later(chance: random.Random, longest_s: float) -> None:
    """Kill this process, or a child of it and then this process, at random moments."""

    def kill() -> None:
        time.sleep(chance.uniform(0.01, longest_s))
        while chance.random() < 0.3 and (children := psutil.Process().children(recursive=True)):
            child = chance.choice(children)
            name = _name(child)
            try:
                child.kill()
            except psutil.NoSuchProcess:  # it has ended meanwhile
                continue
            note(killed=name)
            time.sleep(chance.uniform(0.01, longest_s))
        note(killed="owner")
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=kill, daemon=True).start()


def _name(child: psutil.Process) -> str:
    """Return the entry function of a child process, the module of one that was forked, or the program's name."""
    try:
        line = child.cmdline()
        if "docmind.runtime.fork_server" in line:
            return child.name()
    except psutil.Error:
        return "gone"
    entries = [part for part in line if part.startswith("docmind.") and ":" in part]
    return entries[0].removeprefix("docmind.") if entries else Path(line[0]).name if line else "gone"


class Work:
    """The steps of an owner, drawn at random."""

    def __init__(self, docmind: DocMind, chance: random.Random, journal: Journal, folder: Path) -> None:
        self._docmind, self._chance, self._journal, self._folder = docmind, chance, journal, folder
        self._kinds: dict[str, tuple[int, Callable[[int], None]]] = {
            "add": (5, self._add), "submit": (1, self._submit), "erase": (2, self._erase), "bin": (2, self._bin),
            "restore": (1, self._restore), "ask": (3, self._ask), "remember": (2, self._remember),
            "forget": (1, self._forget), "rebuild": (1, self._rebuild), "see": (1, self._see),
            "setting": (1, self._setting), "aside": (1, self._aside),
            "write": (1, self._write), "read": (1, self._read),
        }  # fmt: skip

    def step(self, number: int) -> None:
        """Do one step."""
        kinds = list(self._kinds)
        kind = self._chance.choices(kinds, [self._kinds[name][0] for name in kinds])[0]
        self._kinds[kind][1](number)

    def _do(self, number: int, kind: str, names: list[str], work: Callable[[], object]) -> None:
        self._journal.write(state="began", step=number, kind=kind, names=names)
        try:
            work()
        except DocMindError as error:  # a child was killed under it: not acknowledged
            self._journal.write(state="failed", step=number, error=type(error).__name__, message=str(error)[:200])
        else:
            self._journal.write(state="done", step=number)

    def _upload(self, name: str) -> Upload:
        kind = self._chance.random()
        if kind < 0.1:
            return Upload(f"{name}.png", scan(self._chance.randrange(10**6)))
        if kind < 0.3:
            return report(name, self._chance.choice((1, 2, 5)))
        return Upload(f"{name}.txt", f"Note {name}: the harbour opens at {self._chance.randrange(24)}.".encode())

    def _ready(self) -> list[Any]:
        return [info for info in self._docmind.documents() if info.status == "ready"]

    def _add(self, number: int) -> None:
        if len(self._ready()) <= MOST:
            one = self._upload(f"a{number}")
            self._do(number, "add", [one.name], lambda: self._docmind.add([one]))

    def _submit(self, number: int) -> None:
        if self._docmind.queue.progress().state != "reading" and len(self._ready()) <= MOST:
            many = [self._upload(f"s{number}-{n}") for n in range(FILES)]
            self._do(number, "add", [one.name for one in many], lambda: self._docmind.submit(many))

    def _erase(self, number: int) -> None:
        ready = self._ready()
        if len(ready) > 4:
            info = self._chance.choice(ready)
            self._do(number, "erase", [info.document], lambda: self._docmind.erase([info.doc_id]))

    def _bin(self, number: int) -> None:
        ready = self._ready()
        if len(ready) > 4:
            info = self._chance.choice(ready)
            self._do(number, "bin", [info.document], lambda: self._docmind.library.bin([info.doc_id]))

    def _restore(self, number: int) -> None:
        if binned := self._docmind.library.binned():
            info = self._chance.choice(binned)
            self._do(number, "restore", [info.document], lambda: self._docmind.library.restore([info.doc_id]))

    def _ask(self, number: int) -> None:
        threads = self._docmind.conversations.threads()
        thread = threads[0] if threads else self._docmind.conversations.create("Soak")
        question = f"What does question {number} say of the harbour?"
        self._do(
            number, "ask", [question], lambda: self._docmind.conversations.ask(question, thread_id=thread.thread_id)
        )

    def _remember(self, number: int) -> None:
        fact = f"The harbour number {number} opens at {number % 12}."
        self._do(number, "remember", [fact], lambda: self._docmind.memories.add(fact))

    def _forget(self, number: int) -> None:
        if memories := self._docmind.memories.everything():
            memory = self._chance.choice(memories)
            self._do(number, "forget", [memory.text], lambda: self._docmind.memories.remove(memory.memory_id))

    def _rebuild(self, number: int) -> None:
        self._do(number, "rebuild", [], self._docmind.reindex)

    def _see(self, number: int) -> None:
        self._do(number, "see", [], lambda: self._docmind.see(scan(number), read=False))

    def _setting(self, number: int) -> None:
        value = 1_000 + number
        self._do(number, "setting", [str(value)], lambda: self._docmind.settings.put({"reading.max_pages": value}))

    def _aside(self, number: int) -> None:
        self._do(number, "aside", [], self._docmind.set_aside)

    def _write(self, number: int) -> None:
        name = f"out{number % BUNDLES}.docmind"
        path = self._folder / name
        if not path.exists():
            self._do(number, "bundle", [name], lambda: self._docmind.bundles.write(path, PASSPHRASE, quiet))

    def _read(self, number: int) -> None:
        """Read a bundle of one document that this vault lacks at first, and has afterwards, erased before or not."""
        path, name = self._folder / "in.docmind", "gulls.pdf"
        if all(info.document != name for info in self._docmind.library.binned()):  # it would stay in the bin
            read = functools.partial(self._docmind.bundles.read, path, PASSPHRASE, quiet, with_erased=True)
            self._do(number, "add", [name], read)


def scan(number: int) -> bytes:
    """Return a picture of a line of text."""
    image = Image.new("RGB", (450, 150), "white")
    ImageDraw.Draw(image).text((20, 60), f"Scanned receipt number {number} of the harbour", fill="black")
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


# --- before and after -------------------------------------------------------------------------------------------------


def begin(folder: str) -> None:
    """Make the bundle that owners read, and a file of the user."""
    with tempfile.TemporaryDirectory() as name, DocMind(settings_in(Path(name))) as other:
        other.add([Upload("gulls.pdf", text_pdf(["Gulls follow the plough.", "They rest on the water."]))])
        other.bundles.write(Path(folder, "in.docmind"), PASSPHRASE, quiet)
    Path(folder, "mine.txt").write_text(NOT_OURS)


def finish(folder: str) -> list[str]:
    """Open the vault once more, let the queue finish, and compare; return what is wrong."""
    place = Path(folder)
    journal = Journal(place / "journal")
    with DocMind(settings_in(place)) as docmind:
        docmind.queue.start()
        settled(docmind, SETTLE_S)
        # A file whose process was killed at two tries is not tried again by itself: the user is told, and asks for it.
        docmind.queue.retry([one.upload_id for one in docmind.queue.uploads("failed")])
        settled(docmind, SETTLE_S)
        docmind.finish_erasures()
        docmind.set_aside()
        wrong = missing(docmind, Expected(journal), place)
        wrong += [f"not ready: {info.document}: {info.status} {info.message}" for info in docmind.documents()
                  if info.status != "ready"]  # fmt: skip
        wrong += [f"not read: {one.document}: {one.state} {one.message}" for one in docmind.queue.uploads()
                  if one.state != "done"]  # fmt: skip
        for info in docmind.documents():
            for page_no in range(1, info.pages + 1):
                docmind.page_image(info.doc_id, page_no)
        for receipt in docmind.receipts():
            if not receipt.is_clean:
                wrong.append(f"an erasure left something: {receipt}")
        docmind.reindex()
        status = docmind.status()
        if status.index_epoch != status.vault_epoch:
            wrong.append("the index is behind the vault")
    for path in place.glob("out*.docmind"):
        verify_bundle(path, PASSPHRASE, quiet)
    makes = ("journal", *(f"out{number}.docmind" for number in range(BUNDLES)))
    return wrong + left_behind(place, makes, (), is_killed=True)


def _seen(journal: Journal) -> list[str]:
    return [one for entry in journal.entries() if entry["state"] == "opened" for one in entry["lost"]]


# --- the suite --------------------------------------------------------------------------------------------------------


def run(
    *, wanted: int, seed: int, jobs: int = 2, until: float = float("inf"),
    say: Callable[[str], None] = lambda text: None,
) -> Tally:  # fmt: skip
    """Kill owners of `jobs` vaults and their children so many times in all."""
    began, total, lock = time.monotonic(), Tally(), threading.Lock()
    wrong: list[str] = []

    def work(job: int) -> None:
        chance, share = random.Random(seed * 1_009 + job), (wanted + jobs - 1) // jobs
        with tempfile.TemporaryDirectory(prefix="docmind-kills-", dir=quick_folder()) as name, Server() as server:
            server.call("kills:begin", folder=name)
            journal, kills = Journal(Path(name, "journal")), 0
            while kills < share and time.monotonic() < until:
                ended = server.call("kills:own", folder=name, seed=chance.randrange(10**9), timeout_s=SETTLE_S)
                killed = [str(one["killed"]) for one in ended.notes if "killed" in one]
                kills += len(killed)
                with lock:
                    total.counts.update(killed)
                    total.tried += len(killed)
                    if total.tried % 100 < len(killed):
                        say(f"{total.tried} kills")
                if not ended.is_killed:
                    with lock:
                        wrong.append(f"an owner ended by itself: {ended.status} {ended.said[-1500:]}")
                    break
                if "Traceback" in ended.said:
                    with lock:
                        wrong.append(f"an error was printed: {ended.said[-1500:]}")
            ended = server.call("kills:finish", folder=name, timeout_s=3 * SETTLE_S)
            with lock:
                wrong.extend(_seen(journal))
                wrong.extend(
                    ended.result if ended.status == 0 else [f"it does not open at the end: {ended.said[-1500:]}"]
                )
                states = collections.Counter(entry["state"] for entry in journal.entries())
                say(f"vault {job}: {dict(states)}")

    threads = [threading.Thread(target=work, args=(job,)) for job in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total.findings = list(dict.fromkeys(wrong))
    total.lost = sum("lost" in one for one in total.findings)
    total.survived = max(0, total.tried - len(total.findings))
    total.wall_s = time.monotonic() - began
    return total
