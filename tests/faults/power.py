"""Power loss: replay a write log up to a moment, keep what was synced and a random part of what was not.

A session of several operations runs under the shim, which logs every call that changes a file. Of that log any state
can be built that a disk may be in after a power cut: all that was synced, of every other write a random set of its
sectors, and of the changes of names in a folder that was not synced since, the first few. The oracle opens the state:
what was acknowledged before that moment must be there.

The model is harsher than common file systems: a synced file has no name until its folder is synced, and a dropped write
inside a file does not stop later ones. It is milder in one way: names in one folder change in order.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults import shim
from faults.points import SOMETIMES, Bench, Tally, quick_folder

SECTORS = (512, 4096)
SESSIONS: dict[str, tuple[str, ...]] = {
    "documents": ("add a document", "move to the bin", "erase", "add texts together", "rebuild the index"),
    "talks": ("a turn", "remember", "a new conversation", "forget", "change a setting", "a collection", "a turn"),
    "moving": ("read a bundle", "set aside unnamed files", "write a bundle", "erase", "confirm the recovery code"),
}


@dataclass(eq=False, slots=True)
class Inode:
    """A file's durable bytes, and the writes (offset, bytes) and truncations (length, None) since its last sync."""

    durable: bytearray
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)

    def sync(self) -> None:
        for offset, data in self.pending:
            _apply(self.durable, offset, data)
        self.pending.clear()

    def after_a_cut(self, chance: random.Random) -> bytes:
        """Return bytes that the file may have after a power cut."""
        found = bytearray(self.durable)
        kept = chance.choice((0.0, 0.5, 0.9, 1.0))
        for offset, data in self.pending:
            if data is None:
                if chance.random() < kept:
                    _apply(found, offset, None)
                continue
            sector = chance.choice(SECTORS)
            for at in range(0, len(data), sector):
                if chance.random() < kept:
                    _apply(found, offset + at, data[at : at + sector])
                elif chance.random() < 0.1:  # the length came through, the bytes did not
                    _apply(found, max(len(found), offset + at), b"")
        return bytes(found)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    if data is None:
        del content[offset:]
    else:
        content[offset : offset + len(data)] = data


@dataclass(eq=False, slots=True)
class Change:
    """A change of names: those that get an inode, and those that end. A rename over two folders is one change."""

    given: dict[str, Inode]
    ended: tuple[str, ...] = ()

    def apply(self, names: dict[str, Inode]) -> None:
        for name in self.ended:
            names.pop(name, None)
        names.update(self.given)


class Disk:
    """What is durable of a folder and what is not, as calls of a log are done one after another."""

    def __init__(self, folder: Path, root: Path) -> None:
        """Begin with a folder in which everything is durable; calls name its files as those of the folder `root`."""
        self._root = str(root)
        files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("-shm")]
        self._names = {str(root / path.relative_to(folder)): Inode(bytearray(path.read_bytes())) for path in files}
        self._durable = dict(self._names)
        self._folders = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_dir()}
        self._pending: dict[str, list[Change]] = {}

    def do(self, call: shim.Call) -> None:
        """Do one call."""
        path = call.path
        if path.endswith("-shm"):  # SQLite makes it again from the log
            return
        inode = self._names.get(path)
        if call.kind == "mkdir":
            self._folders.add(str(Path(path).relative_to(self._root)))
        elif call.kind == "create":
            self._change(Change({path: Inode(bytearray())}), path)
        elif call.kind == "sync folder":
            self._sync_folder(path)
        elif inode is None:
            return  # a file without a name any more
        elif call.kind == "write":
            inode.pending.append((call.offset, call.data))
        elif call.kind == "truncate":
            inode.pending.append((call.offset, None))
        elif call.kind == "sync":
            inode.sync()
        elif call.kind == "rename":
            self._change(Change({call.other: inode}, (path,)), path, call.other)
        elif call.kind == "link":
            self._change(Change({call.other: inode}), call.other)
        elif call.kind == "unlink":
            self._change(Change({}, (path,)), path)

    def _change(self, change: Change, *paths: str) -> None:
        change.apply(self._names)
        for folder in {str(Path(path).parent) for path in paths}:
            self._pending.setdefault(folder, []).append(change)

    def _sync_folder(self, folder: str) -> None:
        done = self._pending.pop(folder, [])
        for change in done:
            change.apply(self._durable)
        for changes in self._pending.values():  # the other side of a rename is durable with it
            changes[:] = [change for change in changes if change not in done]

    def cut(self, folder: Path, chance: random.Random) -> None:
        """Write a state that the folder may be in after a power cut now."""
        names = dict(self._durable)
        share, done = chance.choice((0.0, 0.5, 1.0)), list[Change]()
        for changes in self._pending.values():
            count = round(share * len(changes)) if share != 0.5 else chance.randint(0, len(changes))
            for change in changes[:count]:
                if change not in done:
                    change.apply(names)
                    done.append(change)
        shutil.rmtree(folder, ignore_errors=True)
        for name in ("", *self._folders):
            (folder / name).mkdir(parents=True, exist_ok=True)
        content: dict[int, bytes] = {}
        for path, inode in names.items():
            if id(inode) not in content:
                content[id(inode)] = inode.after_a_cut(chance)
            place = folder / Path(path).relative_to(self._root)
            place.write_bytes(content[id(inode)])
            place.chmod(0o600)


@dataclass(slots=True)
class Session:
    """What a session wrote, and what was observed before it and after each of its operations."""

    folder: Path
    calls: list[shim.Call]
    states: list[dict[str, Any]]

    def moments(self) -> Iterator[tuple[int, int]]:
        """Yield each moment: the number of calls done, and of operations acknowledged."""
        done = 0
        for number, call in enumerate(self.calls, 1):
            done += call.kind == "note"
            yield number, done


def recorded(bench: Bench, name: str, *, unsynced: bool = False) -> Session:
    """Run a session and return what it wrote."""
    start, log = bench.home / f"start-{name}", bench.home / f"log-{name}"
    shutil.rmtree(start, ignore_errors=True)
    log.unlink(missing_ok=True)
    shutil.copytree(bench.template / "file", start)
    ended = bench.armed.call(
        "vaults:session", folder=str(bench.work), start=str(start), control=str(bench.control), log=str(log),
        operations=SESSIONS[name], unsynced=unsynced,
    )  # fmt: skip
    if ended.status:
        raise RuntimeError(f"the session {name} fails without faults: {ended.said}")
    return Session(start, list(shim.calls_in(log)), json.loads(json.dumps(ended.result)))


def states_of(
    session: Session, root: Path, wanted: int, chance: random.Random, place: Path
) -> Iterator[tuple[int, int]]:
    """Write that many states of a session to `place`, one after another; yield the call and the acknowledged count."""
    moments = list(session.moments())
    chosen = sorted(chance.choices(moments, k=wanted))
    disk, done = Disk(session.folder, root), 0
    for number, acknowledged in chosen:
        for call in session.calls[done:number]:
            disk.do(call)
        done = number
        disk.cut(place, chance)
        yield number, acknowledged


def tried(
    bench: Bench, about: str, wanted: int, chance: random.Random, total: Tally, *, unsynced: bool = False,
    until: float = float("inf"), say: Callable[[str], None] = lambda text: None,
) -> None:  # fmt: skip
    """Try so many states of one session, and count them in `total`; `unsynced` as in `recorded`."""
    session, place = recorded(bench, about, unsynced=unsynced), bench.home / "cut"
    kinds = [call.kind for call in session.calls]
    say(f"{about}: {len(kinds)} calls, of which {kinds.count('write')} writes and {kinds.count('sync')} syncs")
    for call, done in states_of(session, bench.work, wanted, chance, place):
        if time.monotonic() > until:
            return
        after = session.states[min(done + 1, len(session.states) - 1)]
        ended = bench.plain.call(
            "vaults:check", operation="open", folder=str(place), before=session.states[done], after=after,
            is_acknowledged=False, is_killed=True, is_thorough=total.tried % SOMETIMES == 0,
            makes=["out.docmind"], parts=True,
        )  # fmt: skip
        wrong = [f"the state cannot be checked: {ended.said[-1500:]}"] if ended.status else ended.result
        total.add(f"{about}, after call {call}, {done} acknowledged", wrong)
        total.counts[about] += 1
        for one in wrong:
            say(f"FOUND {about} {call}: {one}")


def run(
    library: Path,
    *,
    wanted: int,
    seed: int,
    until: float = float("inf"),
    say: Callable[[str], None] = lambda text: None,
) -> Tally:
    """Try so many states, the same number of each session."""
    began, chance, total = time.monotonic(), random.Random(seed), Tally()
    with (
        tempfile.TemporaryDirectory(prefix="docmind-power-", dir=quick_folder()) as name,
        Bench(library, Path(name)) as bench,
    ):
        for number, about in enumerate(SESSIONS):
            share = wanted * (number + 1) // len(SESSIONS) - wanted * number // len(SESSIONS)
            tried(bench, about, share, chance, total, until=until, say=say)
    total.wall_s = time.monotonic() - began
    return total
