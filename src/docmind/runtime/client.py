"""The client of a child process that answers requests (`docmind.runtime.worker.serve_requests`).

The child starts at first use and again after its end. Any thread may ask, and each gets its own answer. Three children
have no such client: a reading process sends a stream of pages, a browser speaks its own protocol, and the index engine
(`index.edge_generation`) decides by the way a process ended whether its shards can be trusted.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from docmind import errors
from docmind.errors import DocMindError, WorkerFailedError
from docmind.runtime.limits import Limits
from docmind.runtime.worker import Frame, Header, Worker

E = TypeVar("E", bound=DocMindError)


def error_named(header: Header, *accepted: type[E]) -> E:
    """Return the error that a child named in a `refusal`; one of another kind becomes the first of `accepted`."""
    kind: Any = getattr(errors, str(header["error"]), None)
    if not (isinstance(kind, type) and issubclass(kind, accepted)):
        kind = accepted[0]
    return kind(str(header.get("message", "")), hint=str(header.get("hint", kind.hint)))


_restarts: Counter[str] = Counter()
_counting = threading.Lock()


def restarts() -> dict[str, int]:
    """Return how often a child of each entry was started again, after it died or was too slow, by this process."""
    with _counting:
        return dict(_restarts)


class Ask(Protocol):
    """Sends one request to a child and returns its answer."""

    def __call__(self, header: Header, blobs: Sequence[bytes] = (), *, timeout_s: float) -> Frame: ...


class Client:
    """A child process that answers requests. Thread-safe; requests of several threads may be under way at once.

    `limits` may be a function, which is asked at each request: a process that was started with others is replaced, so
    such a client is used by one thread at a time. `prepare` is given each new process before other requests reach it.
    The process ends after `idle_s` seconds without a request; 0 means never. `is_forked` is that of `Worker`.
    """

    def __init__(
        self,
        entry: str,
        limits: Limits | Callable[[], Limits] = Limits(),
        *,
        idle_s: float = 0.0,
        prepare: Callable[[Ask], None] = lambda _ask: None,
        is_forked: bool = True,
    ) -> None:
        self._entry, self._idle_s, self._prepare = entry, idle_s, prepare
        self._limits, self._is_forked = limits, is_forked
        self._lock, self._starting = threading.Lock(), threading.Lock()
        self._life: _Life | None = None
        self._prepared: _Life | None = None
        self._ends = 0

    @property
    def pid(self) -> int | None:
        """The id of the process; None while there is none."""
        life = self._life
        return life.pid if life is not None and life.is_alive else None

    @property
    def is_ready(self) -> bool:
        """Return whether there is a process that is prepared: the next request has not to wait for one."""
        life = self._life
        return life is not None and life is self._prepared and life.is_alive

    def start(self) -> None:
        """Start and prepare the process, where there is none."""
        self._living()

    def call(
        self, header: Header, blobs: Sequence[bytes] = (), *, timeout_s: float, is_repeatable: bool = False
    ) -> Frame:
        """Send one request and return its answer.

        A repeatable request is sent once more where the process died by itself within half of `timeout_s`. Raises
        `WorkerFailedError` where the process ends, and where it takes longer than `timeout_s`: then it is stopped, and
        all its other requests fail too.
        """
        asked_s, ends = time.monotonic(), self._ends
        while True:
            try:
                answer = self._living().ask(header, blobs, timeout_s=timeout_s)
            except WorkerFailedError:
                if not is_repeatable or ends != self._ends or time.monotonic() - asked_s > timeout_s / 2:
                    raise
                is_repeatable = False
                continue
            if answer is not None:
                return answer
            if ends != self._ends:
                raise WorkerFailedError(_STOPPED)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep the process from ending as idle while the block runs: it is used by another way than `call`.

        It is started where there is none. Raises as `start` does.
        """
        life = self._living()
        life.keep(1)
        try:
            yield
        finally:
            life.keep(-1)

    @property
    def is_held(self) -> bool:
        """Return whether a block of `hold` runs."""
        life = self._life
        return life is not None and life.is_kept

    def end(self) -> None:
        """End the process at once: running requests fail, and the next one starts it again. Idempotent."""
        with self._lock:
            self._ends += 1
            if self._life is not None:
                self._life.end()

    def _living(self) -> _Life:
        with self._starting:
            with self._lock:
                limits = self._limits() if callable(self._limits) else self._limits
                if self._life is not None and self._life.is_alive and self._life.limits != limits:
                    self._life.end()
                if self._life is not None and self._life.is_alive:
                    return self._life
                if self._life is not None and self._life.has_failed:
                    with _counting:
                        _restarts[self._entry] += 1
                worker = Worker(self._entry, limits, is_forked=self._is_forked)
                life = self._life = _Life(self._entry, worker, self._idle_s)
            try:
                self._prepare(life.prepare)
            except BaseException:
                life.end()
                raise
            self._prepared = life
            return life


_STOPPED = "it was stopped"


class _Life:
    """One process, from its start to its end."""

    def __init__(self, entry: str, worker: Worker, idle_s: float) -> None:
        self._worker = worker
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._waiting: dict[int, Future[Frame]] = {}
        self._asked = 0
        self._holds = 0
        self._used_s = time.monotonic()
        self._ended = threading.Event()
        self.has_failed = False
        """Whether it ended by itself, or was stopped because it took too long."""

        threading.Thread(target=self._hand_out, name=f"answers {entry}", daemon=True).start()
        if idle_s:
            threading.Thread(target=self._end_when_idle, args=(idle_s,), name=f"idle {entry}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._worker.pid

    @property
    def limits(self) -> Limits:
        return self._worker.limits

    @property
    def is_alive(self) -> bool:
        return not self._ended.is_set() and self._worker.is_alive

    def ask(self, header: Header, blobs: Sequence[bytes] = (), *, timeout_s: float) -> Frame | None:
        """Send one request and wait for its answer; None where the process had ended before it was asked."""
        answer: Future[Frame] = Future()
        with self._lock:
            if self._ended.is_set():
                return None
            self._asked += 1
            number = self._asked
            self._waiting[number] = answer
            self._used_s = time.monotonic()
        with self._sending:  # a lock of its own: answers are handed out while a child is slow to read
            self._worker.send({"id": number, **header}, blobs, timeout_s=timeout_s)
        try:
            return answer.result(timeout_s)
        except TimeoutError as error:
            self.has_failed = True
            self.end()
            raise WorkerFailedError(f"it took longer than {timeout_s:.0f} s and was stopped") from error

    def prepare(self, header: Header, blobs: Sequence[bytes] = (), *, timeout_s: float) -> Frame:
        answer = self.ask(header, blobs, timeout_s=timeout_s)
        if answer is None:
            raise WorkerFailedError(_STOPPED)
        return answer

    @property
    def is_kept(self) -> bool:
        return self._holds > 0

    def keep(self, by: int) -> None:
        """Add `by` to the number of users that the idle time waits for."""
        with self._lock:
            self._holds += by
            self._used_s = time.monotonic()

    def end(self) -> None:
        """End the process at once; threads that wait for an answer get an error."""
        self._ended.set()
        self._worker.kill()

    def _hand_out(self) -> None:
        """Give each answer to the thread that waits for it, until the process ends."""
        while True:
            try:
                header, blobs = self._worker.receive()
                number = header.get("id")
                with self._lock:
                    self._used_s = time.monotonic()
                    answer = self._waiting.pop(number, None) if isinstance(number, int) else None
                if answer is None:
                    raise WorkerFailedError("a worker answered what it was not asked")
            except WorkerFailedError as error:
                self.has_failed |= not self._ended.is_set()
                reason = WorkerFailedError(_STOPPED if self._ended.is_set() else str(error))
                break
            answer.set_result((header, blobs))
        with self._lock:
            self._ended.set()
            left, self._waiting = list(self._waiting.values()), {}
        self._worker.kill()
        for answer in left:
            answer.set_exception(reason)

    def _end_when_idle(self, idle_s: float) -> None:
        while not self._ended.wait(min(idle_s / 4, 15.0)):
            with self._lock:
                is_idle = not self._waiting and not self._holds and time.monotonic() - self._used_s > idle_s
                if is_idle:
                    self._ended.set()
            if is_idle:
                self._worker.kill()
