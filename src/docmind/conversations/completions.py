"""Stored turns whose search went on without a model that was starting: completed once it is there."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from langgraph.runtime import Runtime

from docmind.answers import Verified, with_looks
from docmind.conversations.checkpoints import Checkpoints
from docmind.conversations.nodes import Steps
from docmind.conversations.retrieval import Retrieval
from docmind.conversations.run_context import RunContext
from docmind.conversations.runs import Runs
from docmind.conversations.sessions import Sessions
from docmind.conversations.state import State, answer_of, plain_answer, question_of
from docmind.documents import Catalog
from docmind.errors import DocMindError, NotFoundError
from docmind.records.search import Degraded
from docmind.runtime import Background, log_mistake
from docmind.wording import N_, _

NOT_STARTED = N_("Its model did not start in time; answer the question again to search with it.")
WRITTEN_BEFORE = N_("Its model was still being started when this was written; answer the question again to use it.")

_PATIENCE_S = 120.0  # as a list that is the only one asked waits
_PAUSE_S = 0.5
_ADDED = ("image", "visual")  # lists whose pages are added to what a language model wrote


class Completions:
    """Completes turns in the background, one after another. Thread-safe.

    The question is searched again until no model is starting any more: the search itself waits for the start. Quotes
    are then made again. What a language model wrote stays; pages found by their look are added to its sources.
    """

    def __init__(
        self,
        *,
        catalog: Catalog,
        retrieval: Retrieval,
        steps: Steps,
        checkpoints: Checkpoints,
        sessions: Sessions,
        runs: Runs,
    ) -> None:
        self._catalog, self._retrieval, self._steps = catalog, retrieval, steps
        self._checkpoints, self._sessions, self._runs = checkpoints, sessions, runs
        self._lock = threading.Lock()
        self._waiting: deque[tuple[str, str, frozenset[str]]] = deque()
        self._work = Background("docmind-completions")

    def begin(self, thread_id: str, checkpoint_id: str, led: frozenset[str]) -> None:
        """Complete a turn, unless that is under way; `led` are the quotes that led the turn before it."""
        with self._lock:
            if not any(one[:2] == (thread_id, checkpoint_id) for one in self._waiting):
                self._waiting.append((thread_id, checkpoint_id, led))
        self._work.start(self._run)
        self._work.wake()

    def is_under_way(self, thread_id: str, checkpoint_id: str) -> bool:
        """Tell whether a turn is being completed, or will be."""
        with self._lock:
            return any(one[:2] == (thread_id, checkpoint_id) for one in self._waiting)

    def close(self) -> None:
        """Leave what is not completed as it is. Idempotent; `join` waits for the search that is running."""
        self._work.close()

    def join(self, timeout_s: float) -> None:
        """Wait for the end of the search that is running, at most so long."""
        self._work.join(timeout_s)

    def _run(self) -> None:
        while not self._work.is_closed:
            with self._lock:
                first = self._waiting[0] if self._waiting else None
            if first is None:
                self._work.sleep()
                continue
            try:
                self._complete(*first)
            except NotFoundError:
                pass  # the conversation was deleted meanwhile
            except DocMindError as error:
                if not self._work.is_closed:
                    log_mistake("docmind.runs", "an answer could not be completed", error)
            except Exception as error:  # noqa: BLE001 - a bug: the answer stays as it was, and the others are completed
                log_mistake("docmind.runs", "completing an answer failed", error)
            with self._lock:
                self._waiting.popleft()

    def _complete(self, thread_id: str, checkpoint_id: str, led: frozenset[str]) -> None:
        until = time.monotonic() + _PATIENCE_S
        while self._is_starting(self._searched(self._state(thread_id, checkpoint_id), thread_id, led)):
            self._work.rest(_PAUSE_S)
            if self._work.is_closed:
                return
            if time.monotonic() > until:
                break
        with self._runs.alone(thread_id):  # nothing is erased from the turn between this search and its storing
            thread = self._sessions.get_open(thread_id)
            state = self._state(thread_id, checkpoint_id)
            context = self._searched(state, thread_id, led)
            if self._work.is_closed:
                return
            self._checkpoints.complete(thread_id, checkpoint_id, self._completed(state, context))
            # a millisecond more: pages that show the thread notice, and it keeps its place in the list
            self._sessions.touch(thread_id, thread.checkpoint_id, thread.updated_at_ms + 1)

    def _state(self, thread_id: str, checkpoint_id: str) -> State:
        (saved,) = self._checkpoints.chain(thread_id, checkpoint_id, 1)
        values: Any = saved.values
        return values

    def _searched(self, state: State, thread_id: str, led: frozenset[str]) -> RunContext:
        """Return a run of the turn that has searched, and writes and tells nothing."""
        context = RunContext(
            stop=lambda: False,  # a search is not stopped, nor are its quotes
            report=_report_nothing,
            show=lambda hits: None,
            thread_id=thread_id,
            led=led,
        )
        self._retrieval.ensure(state, context)
        return context

    def _is_starting(self, context: RunContext) -> bool:
        return context.search is not None and any(one.is_starting for one in context.search.degraded)

    def _completed(self, state: State, context: RunContext) -> dict[str, Any]:
        """Return the channels of the turn that change."""
        before = state["answer"]
        assert before is not None
        runtime, known = Runtime(context=context), [Degraded(**part) for part in before["degraded"]]
        if before["model"]:
            changed: dict[str, Any] = {"answer": self._with_looks(state, before, context, known)}
        else:
            context.degraded = [one for one in known if one.stage == "language model"]
            changed = self._steps.retrieve(state, runtime)
            searched: Any = {**state, **changed}
            changed |= self._steps.quote(searched, runtime)
            del changed["written"]  # whether it was stopped, and what failed
            now = [_settled(Degraded(**part)) for part in changed["answer"]["degraded"]]
            changed["answer"] |= {"degraded": [asdict(one) for one in now], "timings_ms": before["timings_ms"]}
            if before.get("other"):  # what a model wrote
                changed["answer"] |= {"needs": "", "other": before["other"]}
        answered: Any = {**state, **changed}
        return {**changed, "kept": self._steps.remember(answered, runtime)["kept"]}

    def _with_looks(
        self, state: State, before: dict[str, Any], context: RunContext, known: Sequence[Degraded]
    ) -> dict[str, Any]:
        """Return what a language model wrote, with pages found by their look among its sources."""
        assert context.search is not None
        answer = answer_of(before, question_of(state), None, None)
        checked = Verified(answer.answer, answer.sentences, answer.sources)
        checked = with_looks(checked, context.looks, self._catalog, self._catalog.epoch())
        degraded: list[Degraded] = []
        for one in known:
            if not one.is_starting:
                degraded.append(one)
            elif one.stage in _ADDED:
                degraded += [_settled(now) for now in context.search.degraded if now.stage == one.stage]
            else:
                degraded.append(Degraded(one.stage, _(WRITTEN_BEFORE)))
        answer = replace(
            answer, found=bool(checked.sources), sources=checked.sources, degraded=tuple(dict.fromkeys(degraded))
        )
        return {**plain_answer(answer), "nearest": [] if answer.found else before["nearest"]}


def _settled(degraded: Degraded) -> Degraded:
    """Return what is missing in words that promise nothing: nobody waits any longer."""
    return Degraded(degraded.stage, _(NOT_STARTED)) if degraded.is_starting else degraded


def _report_nothing(
    stage: str, piece: str = "", *, restart: bool = False, parts: tuple[int, int] | None = None
) -> None:
    """Report no stage: the turn was answered before."""
