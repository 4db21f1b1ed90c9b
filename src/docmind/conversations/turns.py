"""Turns of conversations with LangGraph: a question is one checkpoint, its answer the next.

The graph of a turn: contextualise, recognise, then reply, or summarise, or retrieve, answer (or agent) and verify; then
remember.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langsmith.run_helpers import tracing_context

from docmind.answers import DirectAnswers, DocumentSearch, Verifier
from docmind.config import Settings
from docmind.conversations.agent import Loop
from docmind.conversations.checkpoints import Checkpoints, Saved
from docmind.conversations.course import Course, Means
from docmind.conversations.history import History
from docmind.conversations.instructions import Instructions
from docmind.conversations.nodes import Steps
from docmind.conversations.runs import LiveRun, Runs, Watch
from docmind.conversations.sessions import Sessions
from docmind.conversations.state import NOTHING_KEPT, Question, State, new_question, new_turn
from docmind.conversations.summaries import Summaries
from docmind.documents import Catalog
from docmind.embedding import TextEmbedder
from docmind.llm import LanguageModels
from docmind.memory import Memories
from docmind.records.conversations import Mode, Thread, Turn, WebResult
from docmind.records.documents import ArtifactRef
from docmind.records.query import Query
from docmind.rich_text import clip
from docmind.storage import Database

QUESTION = START
"""The node in whose name a question is written into a conversation: the first step runs next."""

LAST = "remember"
"""The node in whose name a branch is written: nothing runs next."""


def graph_of(means: Means, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Any:
    """Compile the graph; without a checkpointer nothing of a run is stored."""
    steps = Steps(means)
    loop, summaries = Loop(means, steps), Summaries(means)
    builder = StateGraph(State, context_schema=Course)
    for name, step in (
        ("contextualise", steps.contextualise),
        ("recognise", steps.recognise),
        ("reply", steps.reply),
        ("summarise", summaries.summarise),
        ("retrieve", steps.retrieve),
        ("answer", steps.answer),
        ("agent", loop.agent),
        ("tools", loop.tools),
        ("verify", steps.verify),
        ("remember", steps.remember),
    ):
        builder.add_node(name, step)
    builder.add_edge(START, "contextualise")
    builder.add_edge("contextualise", "recognise")
    builder.add_conditional_edges("recognise", steps.way, ["reply", "retrieve", "summarise"])
    builder.add_edge("reply", LAST)
    builder.add_edge("summarise", LAST)
    builder.add_conditional_edges("retrieve", steps.mode, ["answer", "agent"])
    builder.add_edge("answer", "verify")
    builder.add_edge("verify", LAST)
    builder.add_edge(LAST, END)
    return builder.compile(checkpointer=checkpointer)


_MARKERS = re.compile(r" ?\[\d+\]")
_TITLE = 72  # characters of a title made from a question
_SAID = 6  # earlier turns that a run can see


class Talk:
    """Runs turns and reads them back.

    Thread-safe; a caller that writes to a thread holds its lock of `runs`.
    """

    def __init__(
        self,
        settings: Settings,
        database: Database,
        sessions: Sessions,
        catalog: Catalog,
        embedder: TextEmbedder,
        search: DocumentSearch,
        epoch: Callable[[], int],
        memories: Memories,
        models: LanguageModels,
        image: Callable[[ArtifactRef], bytes],
        instructions: Instructions,
        direct: DirectAnswers,
    ) -> None:
        self.runs, self.checkpoints, self._database = Runs(), Checkpoints(database), database
        self._sessions, self._models, self._direct, self._catalog = sessions, models, direct, catalog
        self._mode: Mode = settings.agent.mode
        means = Means(
            settings=settings,
            catalog=catalog,
            search=search,
            verifier=Verifier(embedder),
            direct=direct,
            epoch=epoch,
            recall=lambda question, thread_id: memories.recall(question, thread_id=thread_id),
            told=lambda question, thread_id: memories.told(question, thread_id=thread_id),
            expand=lambda question, thread_id: memories.expand(question, thread_id=thread_id),
            propose=memories.propose,
            image=image,
            instructions=instructions.of,
            web=_web(settings),
        )
        self._graph, self._unkept = graph_of(means, self.checkpoints), graph_of(means)
        self._limit = 2 * settings.agent.max_steps + 20

    def begin(self, thread_id: str, query: Query | str, watch: Watch | None = None) -> tuple[LiveRun, Question]:
        """Create a run for a question. Raises `ConfigError` as `Query.check_for`."""
        query = Query.of(query)
        query.check_for("turn")
        return LiveRun(thread_id, query.question.strip(), watch), new_question(query, self._mode)

    def turn(self, run: LiveRun, question: Question, checkpoint_id: str | None) -> Turn:
        """Store a question where its thread stands, or at a given checkpoint, and answer it."""
        thread = self._sessions.get_open(run.thread_id)  # it may have been deleted while the run waited
        asked_id = self._ask(run.thread_id, checkpoint_id or thread.checkpoint_id, question)
        self._sessions.touch(run.thread_id, asked_id, _now_ms())
        if not thread.title or self._may_rename(thread, question["text"]):
            self._sessions.rename(run.thread_id, _title(question["text"]))
        return self._answer(run, asked_id)

    def _may_rename(self, thread: Thread, question: str) -> bool:
        """Return whether a question takes the place of a title that is the greeting with which the thread began."""
        if not self._direct.is_greeting(thread.title) or self._direct.is_greeting(question):
            return False
        first = next(iter(self.history(thread.thread_id).runs(None)), None)
        return first is not None and _title(first.question) == thread.title

    def retry(self, thread_id: str, checkpoint_id: str | None) -> str:
        """Answer a turn's question, beside its answer where it has one; return the run's id."""
        history = self.history(thread_id)
        turn = history.turn_at(checkpoint_id)
        run = LiveRun(thread_id, turn.question)
        if turn.state == "unanswered":
            asked_id = history.asked_id(turn.checkpoint_id)
            return self.runs.start(run, lambda run: self._answer(run, asked_id))
        question = new_question(replace(history.query_at(checkpoint_id), web=False), self._mode)
        return self.runs.start(run, lambda run: self.turn(run, question, turn.before_id))

    def _ask(self, thread_id: str, checkpoint_id: str | None, question: Question) -> str:
        """Store a question after a checkpoint, or as the first; return the checkpoint that holds it."""
        if checkpoint_id is None:
            checkpoint_id = self._saved(
                self._graph.update_state(_config(thread_id), {"kept": NOTHING_KEPT}, as_node=LAST)
            )
        else:
            self.check(thread_id, checkpoint_id)
        return self._saved(
            self._graph.update_state(_config(thread_id, checkpoint_id), new_turn(question), as_node=QUESTION)
        )

    def _answer(self, run: LiveRun, asked_id: str) -> Turn:
        """Answer the question of a checkpoint. Raises what the steps raise; the question stays."""
        course = self._course(run, self._before(run.thread_id, asked_id))
        config = {**_config(run.thread_id, asked_id), "recursion_limit": self._limit}
        with tracing_context(enabled=False):  # whatever the environment says: nothing of a turn is sent anywhere
            self._graph.invoke(None, config, context=course, durability="exit")
        answer_id = self.checkpoints.child_of(run.thread_id, asked_id)  # the thread is locked for this run
        assert answer_id is not None
        self._sessions.touch(run.thread_id, answer_id, _now_ms())
        self._database.settle()
        return History(run.thread_id, self.checkpoints.chain(run.thread_id, answer_id, 2)[::-1]).turn_at(answer_id)

    def once(self, run: LiveRun, question: Question) -> Turn:
        """Answer a question outside of any conversation: nothing is stored."""
        course = self._course(run, ())
        with tracing_context(enabled=False):
            values = self._unkept.invoke(new_turn(question), {"recursion_limit": self._limit}, context=course)
        saved = Saved("", None, values, {"source": "loop"})
        return History(None, [saved]).turn(saved)

    def branch(self, thread_id: str, checkpoint_id: str) -> str:
        """Create a sibling of what follows this checkpoint; return its id.

        Raises `NotFoundError`.
        """
        self.check(thread_id, checkpoint_id)
        config = _config(thread_id, checkpoint_id)
        kept = self._graph.get_state(config).values.get("kept") or NOTHING_KEPT
        return self._saved(self._graph.update_state(config, {"kept": kept}, as_node=LAST))

    def check(self, thread_id: str, checkpoint_id: str) -> None:
        """Raise `NotFoundError` where the thread has no such checkpoint."""
        self.checkpoints.chain(thread_id, checkpoint_id, 1)

    def history(self, thread_id: str) -> History:
        return History(thread_id, self.checkpoints.history(thread_id), self._catalog.gone)

    def _course(self, run: LiveRun, before: Sequence[Turn]) -> Course:
        model = self._models.current()
        if model is not None:
            run.by(model.info.name)
        return Course(
            stop=run.is_stopped,
            tell=run.tell,
            show=run.show,
            model=model,
            thread_id=run.thread_id or None,
            said=tuple((turn.question, _MARKERS.sub("", turn.answer.answer) if turn.answer else "") for turn in before),
            topics=tuple(turn.question for turn in before if turn.answer is None or turn.answer.has_topic),
            quoted=frozenset(source.quote for turn in before[-1:] if turn.answer for source in turn.answer.sources),
            degraded=list(self._models.degraded()),
            started=time.perf_counter(),
        )

    def _before(self, thread_id: str, asked_id: str) -> list[Turn]:
        """Return the turns before a question, oldest first."""
        chain = self.checkpoints.chain(thread_id, asked_id, 3 * _SAID + 1)[::-1]
        return History(thread_id, chain).turns(chain[-1].parent_id, _SAID)[0] if len(chain) > 1 else []

    def _saved(self, config: Any) -> str:
        return config["configurable"]["checkpoint_id"]


def _config(thread_id: str, checkpoint_id: str | None = None) -> RunnableConfig:
    place = {"thread_id": thread_id, "checkpoint_ns": ""}
    return {"configurable": {**place, "checkpoint_id": checkpoint_id} if checkpoint_id else place}


def _title(question: str) -> str:
    line = clip(question, 10_000)
    return line if len(line) <= _TITLE else re.sub(r"\s+\S*$", "", line[:_TITLE]) + "…"


def _now_ms() -> int:
    return int(time.time() * 1000)


def _web(settings: Settings) -> Callable[[str], tuple[WebResult, ...]] | None:
    """Return web search, set up at its first call; None where it is off."""
    if settings.web.provider == "off":
        return None

    def search(query: str) -> tuple[WebResult, ...]:
        from docmind.network import search_web

        provider = search_web(settings.web)
        return provider.search(query) if provider is not None else ()

    return search
