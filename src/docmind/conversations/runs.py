"""Running questions: each in its own thread, one at a time per conversation."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from docmind.errors import DocMindError, NotFoundError, VaultError
from docmind.observability import Answered, emit, traced
from docmind.records.conversations import RunProgress, RunStage, RunState, Turn, closest
from docmind.records.search import Hit
from docmind.runtime import log_mistake, ms_since, start_thread
from docmind.wording import _

Work = Callable[["LiveRun"], Turn]
Finish = Callable[[], Turn]
Watch = Callable[[RunProgress], None]
_KEPT = 200  # finished runs whose progress can still be read


class LiveRun:
    """The handle of a running question.

    Thread-safe: any thread may read its progress and stop it.
    """

    def __init__(self, thread_id: str, question: str, watch: Watch | None = None) -> None:
        self._lock = threading.Lock()
        self._news = threading.Condition(self._lock)
        self._chars = 0
        self._stopped, self._over = threading.Event(), threading.Event()
        self._pieces: list[str] = []
        self._finish: Finish | None = None
        self._started = time.perf_counter()
        self._watch = watch
        self._progress = RunProgress(
            run_id=secrets.token_hex(8),
            thread_id=thread_id,
            question=question,
            state="waiting",
            stage="waiting",
            started_at_ms=int(time.time() * 1000),
        )

    @property
    def run_id(self) -> str:
        return self._progress.run_id

    @property
    def thread_id(self) -> str:
        return self._progress.thread_id

    def progress(self) -> RunProgress:
        """Return the current progress as a record."""
        with self._lock:
            now = self._progress
            if now.is_over:
                return now
            if len(self._pieces) > 1:
                self._pieces = ["".join(self._pieces)]
            text = self._pieces[0] if self._pieces else ""
        return replace(now, text=text, elapsed_ms=self._elapsed())

    def report(
        self, stage: RunStage, piece: str = "", *, restart: bool = False, parts: tuple[int, int] | None = None
    ) -> None:
        """Set the current stage, and add a piece of the answer; `restart` discards the pieces added so far.

        `parts` are how many parts of a summary are done, of how many.
        """
        with self._lock:
            if restart:
                self._pieces, self._chars = [], 0
            if piece:
                self._pieces.append(piece)
                self._chars += len(piece)
            if stage != self._progress.stage or self._progress.state != "running":
                self._progress = replace(self._progress, stage=stage, state="running")
            if parts is not None:
                self._progress = replace(self._progress, parts_done=parts[0], parts_total=parts[1])
            if piece and self._progress.first_text_ms is None:
                self._progress = replace(self._progress, first_text_ms=self._elapsed())
            self._news.notify_all()
        if self._watch is not None:
            self._watch(self.progress())

    def show(self, hits: Sequence[Hit]) -> None:
        """Set the pages that were found, so that they can be looked at before the answer is there."""
        with self._lock:
            self._progress = replace(self._progress, pages=closest(hits))
            self._news.notify_all()
        if self._watch is not None:
            self._watch(self.progress())

    def stand(self, turn: Turn, finish: Finish) -> None:
        """Set the turn as it stands by its quotes; `finish` has a language model write beside them and returns it."""
        with self._lock:
            self._finish = finish
            self._progress = replace(self._progress, turn=turn, stage="waiting")
            self._news.notify_all()
        if self._watch is not None:
            self._watch(self.progress())

    def finish(self) -> Turn | None:
        """Have the language model write, and return the turn; None where nothing is left to do."""
        finish, self._finish = self._finish, None  # it holds the pages that were found, and the run is kept for long
        return finish() if finish is not None else None

    def by(self, model: str) -> None:
        """Set the name of the model that writes."""
        with self._lock:
            self._progress = replace(self._progress, model=model)

    def stop(self) -> None:
        """Ask the run to stop; what was written so far is kept."""
        self._stopped.set()

    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until the run is over, at most `timeout_s` seconds; return whether it is."""
        return self._over.wait(timeout_s)

    def wait_for_news(self, since: RunProgress, timeout_s: float) -> None:
        """Wait until the run is further than `since`, an earlier progress of it, at most `timeout_s` seconds."""

        def is_further() -> bool:
            now = self._progress
            told = (now.state, now.stage, now.pages, now.turn is None)
            known = (since.state, since.stage, since.pages, since.turn is None)
            return now.is_over or told != known or self._chars != len(since.text) or now.parts_done != since.parts_done

        with self._news:
            self._news.wait_for(is_further, timeout_s)

    def end(self, state: RunState, *, turn: Turn | None = None, message: str = "", hint: str = "") -> None:
        now = self.progress()
        with self._lock:
            self._progress = replace(
                now, state=state, stage="", turn=turn, message=message, hint=hint, elapsed_ms=self._elapsed()
            )
            self._news.notify_all()
        self._over.set()
        if self._watch is not None:
            self._watch(self._progress)

    def _elapsed(self) -> float:
        return (time.perf_counter() - self._started) * 1000


class Runs:
    """All runs of this process. Thread-safe.

    Turns of a conversation run one after another: its lock is held until a turn stands by its quotes. What a language
    model writes beside them is written without this lock, so that the next question has its quotes meanwhile, and one
    answer of a conversation at a time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: dict[str, LiveRun] = {}
        self._turns: dict[str, threading.RLock] = {}
        self._writing: dict[str, threading.Lock] = {}
        self._is_closed = False

    def alone(self, thread_id: str) -> threading.RLock:
        """Return the lock of one conversation."""
        with self._lock:
            return self._turns.setdefault(thread_id, threading.RLock())

    def _writes(self, thread_id: str) -> threading.Lock:
        with self._lock:
            return self._writing.setdefault(thread_id, threading.Lock())

    def start(self, run: LiveRun, work: Work) -> str:
        """Run `work` in its own thread and return the run's id."""
        self._enter(run)
        start_thread(lambda: self._run(run, work), name=f"run {run.run_id}", stop=run.stop)
        return run.run_id

    def here(self, run: LiveRun, work: Work) -> Turn:
        """Run `work` in this thread. Raises its error."""
        self._enter(run)
        return self._work(run, work)

    def get(self, run_id: str) -> LiveRun:
        """Return a run. Raises `NotFoundError`."""
        with self._lock:
            run = self._runs.get(run_id)
        if run is None:
            raise NotFoundError(
                _("This question is no longer being answered."), hint=_("Open its conversation to see the answer.")
            )
        return run

    def all_live(self, thread_id: str) -> list[LiveRun]:
        """Return the unfinished runs of a conversation, the oldest first: it writes, or will write next."""
        with self._lock:
            runs = [run for run in self._runs.values() if run.thread_id == thread_id]
        return [run for run in runs if not run.progress().is_over]

    def live(self, thread_id: str) -> LiveRun | None:
        """Return the oldest unfinished run of a conversation."""
        return next(iter(self.all_live(thread_id)), None)

    def forget_over(self) -> None:
        """Forget the runs that are over, and with them what their answers quote of a document that is erased."""
        with self._lock:
            self._runs = {run_id: run for run_id, run in self._runs.items() if not run.progress().is_over}

    @property
    def is_busy(self) -> bool:
        """Tell whether a run is not over."""
        with self._lock:
            return any(not run.progress().is_over for run in self._runs.values())

    def close(self) -> None:
        """Stop all runs and wait for them, for at most ten seconds. Idempotent."""
        with self._lock:
            self._is_closed = True
            runs = list(self._runs.values())
        for run in runs:
            run.stop()
        until = time.monotonic() + 10
        for run in runs:
            run.wait(max(0.0, until - time.monotonic()))

    def _enter(self, run: LiveRun) -> None:
        with self._lock:
            if self._is_closed:
                raise VaultError(_("The library is closed."))
            over = [run_id for run_id, known in self._runs.items() if known.progress().is_over]
            for run_id in over[: max(0, len(self._runs) - _KEPT)]:
                del self._runs[run_id]
            self._runs[run.run_id] = run

    def _run(self, run: LiveRun, work: Work) -> None:
        try:
            self._work(run, work)
        except DocMindError:
            pass  # reported by the run's progress
        except Exception as error:  # noqa: BLE001 - a bug: the run reports it, and the app goes on
            log_mistake("docmind.runs", "a run failed", error)

    def _work(self, run: LiveRun, work: Work) -> Turn:
        try:
            with traced("answer"):
                with self.alone(run.thread_id):
                    started = time.perf_counter()
                    turn = work(run)
                if turn.answer is not None:
                    emit(Answered(turn.answer.outcome, ms_since(started)))
            with self._writes(run.thread_id):
                turn = run.finish() or turn
        except DocMindError as error:
            run.end("failed", message=str(error), hint=error.hint)
            raise
        except BaseException as error:
            run.end(
                "failed",
                message=_("This is a mistake in DocMind ({kind}).").format(kind=type(error).__name__),
                hint=_("Try again."),
            )
            raise
        run.end("stopped" if turn.state == "stopped" else "done", turn=turn)
        return turn
