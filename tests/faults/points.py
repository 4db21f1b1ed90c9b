"""Fault points: an operation runs while its n-th changing call fails, and the oracle looks at what is left.

A counting run says how many such calls an operation makes. Points are drawn from all pairs of a call and a kind of
fault, the same number of every operation, by a seed. A point whose call did not come (the order of threads differs
between runs) is not counted as tried.
"""

from __future__ import annotations

import errno
import random
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults import shim
from faults.server import Ended, Server
from faults.vaults import OPERATIONS

KINDS = {
    "full once": ("once", errno.ENOSPC), "full for good": ("always", errno.ENOSPC), "I/O error": ("once", errno.EIO),
    "torn write, killed": ("torn", 0), "killed": ("kill", 0),
}  # fmt: skip

SOMETIMES = 4  # every so many points a document is added and searched for afterwards: it starts three processes
_THOROUGH = ("rebuild the index", "rebuild an index in clear")


@dataclass(frozen=True, slots=True)
class Point:
    """One fault: which operation, which of its calls, and which kind of fault (`KINDS`)."""

    operation: str
    call: int
    kind: str


@dataclass(slots=True)
class Tally:
    """What came of a suite: how many were tried and survived, what was found, and counts by name."""

    tried: int = 0
    survived: int = 0
    lost: int = 0
    findings: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    wall_s: float = 0.0

    def add(self, where: str, wrong: Sequence[str]) -> None:
        """Count one try, and what was wrong with it."""
        self.tried += 1
        self.survived += not wrong
        self.lost += sum("lost" in one for one in wrong)
        self.findings += [f"{where}: {one}" for one in wrong]

    def join(self, other: Tally) -> None:
        """Add what another tally has counted."""
        self.tried += other.tried
        self.survived += other.survived
        self.lost += other.lost
        self.findings += other.findings
        self.counts += other.counts

    @property
    def is_well(self) -> bool:
        """Return whether something was tried, and all of it survived."""
        return self.tried > 0 and self.tried == self.survived and not self.findings


class Bench:
    """A server under the shim, one without it, and the prepared vaults. Not thread-safe. A context manager."""

    def __init__(self, library: Path, home: Path, template: Path | None = None) -> None:
        """Make the prepared vaults in `home`, unless another bench has made them in `template`."""
        home.mkdir(parents=True, exist_ok=True)
        self.home, self.work = home, home / "work"
        self.armed, self.plain = Server(shim.environment(library)), Server()
        self.control = home / "control"
        shim.Control(self.control).close()
        self.template = template or home / "template"
        if template is None:
            self.template.mkdir()
            ended = self.plain.call("vaults:prepare", folder=str(self.template))
            if ended.status:
                raise RuntimeError(f"no vault could be prepared: {ended.said}")
        self._outcomes: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_unused: object) -> None:
        self.armed.close()
        self.plain.close()

    def outcome(self, operation: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what is observed before and after an operation without faults."""
        if operation not in self._outcomes:
            ended = self.plain.call(
                "vaults:outcome", template=str(self.template), operation=operation, folder=str(self.work)
            )
            if ended.status:
                raise RuntimeError(f"{operation} fails without faults: {ended.said}")
            before, after = ended.result
            self._outcomes[operation] = before, after
        return self._outcomes[operation]

    def act(self, operation: str, call: int = 0, how: str = "count", error: int = 0, **more: Any) -> Ended:
        """Do an operation while a call of it fails; `more` are further arguments of `vaults.act`."""
        return self.armed.call(
            "vaults:act", template=str(self.template), operation=operation, folder=str(self.work),
            control=str(self.control), at=call, how=how, error=error, **more,
        )  # fmt: skip

    def count(self, operation: str, **more: Any) -> int:
        """Return how many changing calls an operation makes. Raises `RuntimeError` where it fails by itself."""
        ended = self.act(operation, **more)
        if ended.status or "error" in ended.result or "raw" in ended.result:
            raise RuntimeError(f"{operation} fails without faults: {ended.said or ended.result}")
        return int(ended.result["calls"])

    def try_point(self, point: Point, **more: Any) -> tuple[bool, list[str]]:
        """Return whether the fault came, and what is wrong with what it left."""
        how, error = KINDS[point.kind]
        before, after = self.outcome(point.operation)
        ended = self.act(point.operation, point.call, how, error, **more)
        switch = shim.Control(self.control)
        fired, failed = switch.fired, switch.failed
        switch.close()
        if not fired:
            return False, []
        is_thorough = point.operation in _THOROUGH or point.call % SOMETIMES == 0
        return True, self.judged(point.operation, ended, before, after, failed=failed, is_thorough=is_thorough)

    def judged(
        self, operation: str, ended: Ended, before: dict[str, Any], after: dict[str, Any], *, failed: str = "",
        is_thorough: bool = True,
    ) -> list[str]:  # fmt: skip
        """Return what is wrong with how an operation ended and with what it left."""
        wrong = []
        if ended.is_late:
            wrong.append(f"it did not end: {ended.said[-500:]}")
        elif ended.status and not ended.is_killed:
            wrong.append(f"it ended with {ended.status}: {ended.said[-1500:]}")
        elif ended.result and "raw" in ended.result:
            wrong.append(f"an error that is none of DocMind's: {ended.result['raw'][-1500:]}")
        is_acknowledged = any(note.get("acknowledged") for note in ended.notes)
        seen = self.plain.call(
            "vaults:check", operation=operation, folder=str(self.work), before=before, after=after,
            is_acknowledged=is_acknowledged, is_killed=ended.is_killed or failed == "unlink", is_thorough=is_thorough,
        )  # fmt: skip
        if seen.status or seen.is_late:
            wrong.append(f"the vault cannot be checked: {'it hangs ' * seen.is_late}{seen.said[-1500:]}")
        return wrong + (seen.result or [])


def drawn(counts: dict[str, int], wanted: int, seed: int) -> list[Point]:
    """Return points of all operations in turn, each drawn once; fewer than wanted where there are no more."""
    chance = random.Random(seed)
    lists = []
    for operation, calls in counts.items():
        points = [Point(operation, call, kind) for call in range(1, calls + 1) for kind in KINDS]
        chance.shuffle(points)
        lists.append(points)
    found: list[Point] = []
    while len(found) < wanted and any(lists):
        found += [points.pop() for points in lists if points]
    return found[:wanted]


def run(
    library: Path, *, wanted: int, seed: int, jobs: int = 2, operations: Sequence[str] = tuple(OPERATIONS),
    until: float = float("inf"), say=lambda text: None,
) -> Tally:  # fmt: skip
    """Try points of these operations until so many were tried, or `time.monotonic()` is `until`."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="docmind-faults-", dir=quick_folder()) as name:
        home = Path(name)
        with Bench(library, home / "first") as first:
            counts = {operation: first.count(operation) for operation in operations}
            say("calls: " + ", ".join(f"{operation} {count}" for operation, count in counts.items()))
            # More than wanted: not every call comes again.
            points, lock, total = iter(drawn(counts, 2 * wanted, seed)), threading.Lock(), Tally()

            def work(bench: Bench) -> None:
                for point in _until(points, lock, total, wanted, until):
                    fired, wrong = bench.try_point(point)
                    with lock:
                        if not fired:
                            total.counts["did not come"] += 1
                            continue
                        total.add(f"{point.operation}, call {point.call}, {point.kind}", wrong)
                        total.counts[point.kind] += 1
                        for one in wrong:
                            say(f"FOUND {point}: {one}")
                        if total.tried % 100 == 0:
                            say(f"{total.tried} tried, {total.survived} survived")

            benches = [first] + [Bench(library, home / f"job{n}", first.template) for n in range(1, jobs)]
            try:
                with ThreadPoolExecutor(jobs) as pool:
                    for done in [pool.submit(work, bench) for bench in benches]:
                        done.result()
            finally:
                for bench in benches[1:]:
                    bench.__exit__()
    total.wall_s = time.monotonic() - began
    return total


def _until(points: Iterator[Point], lock: threading.Lock, total: Tally, wanted: int, until: float) -> Iterator[Point]:
    while time.monotonic() < until:
        with lock:
            point = next(points, None) if total.tried < wanted else None
        if point is None:
            return
        yield point


def quick_folder() -> str | None:
    """Return a folder in memory with room for the copies, or None: the usual one."""
    shared = Path("/dev/shm")
    return str(shared) if shared.is_dir() and shutil.disk_usage(shared).free > 1 << 30 else None
