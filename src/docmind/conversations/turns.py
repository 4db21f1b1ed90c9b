"""Turns of conversations with LangGraph: a question is one checkpoint, its answer the next.

The graph of a turn: contextualise, recognise, then reply, or retrieve and quote; then remember. With that the turn
stands. What a language model writes beside the quotes (`writing`) replaces channels of the stored answer.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langsmith.run_helpers import tracing_context

from docmind.config import Settings
from docmind.conversations.agent import Loop, Tools
from docmind.conversations.answerer import Answerer
from docmind.conversations.boundary import within
from docmind.conversations.checkpoints import Checkpoints, Saved
from docmind.conversations.completions import Completions
from docmind.conversations.guidance import Guidance
from docmind.conversations.history import History
from docmind.conversations.instructions import Instructions
from docmind.conversations.nodes import Steps, awaits_model
from docmind.conversations.pictures import PageImages
from docmind.conversations.retrieval import Retrieval
from docmind.conversations.run_context import RunContext
from docmind.conversations.runs import LiveRun, Runs, Watch
from docmind.conversations.sessions import Sessions
from docmind.conversations.state import NO_DOCUMENTS, Question, State, new_question, new_turn
from docmind.conversations.summaries import Summaries
from docmind.conversations.writing import Writing
from docmind.llm import LanguageModels
from docmind.reading import PagePictures
from docmind.records.conversations import Mode, Thread, Turn
from docmind.records.query import Query
from docmind.rich_text import clip
from docmind.storage import Database

QUESTION = START
"""The node in whose name a question is written into a conversation: the first step runs next."""

LAST = "remember"
"""The node in whose name a branch is written: nothing runs next."""


def graph_of(steps: Steps, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Any:
    """Compile the graph; without a checkpointer nothing of a run is stored."""
    builder = StateGraph(State, context_schema=RunContext)
    for name, step in (
        ("contextualise", steps.contextualise),
        ("recognise", steps.recognise),
        ("reply", steps.reply),
        ("retrieve", steps.retrieve),
        ("quote", steps.quote),
        ("remember", steps.remember),
    ):
        builder.add_node(name, step)
    builder.add_edge(START, "contextualise")
    builder.add_edge("contextualise", "recognise")
    builder.add_conditional_edges("recognise", steps.way, ["reply", "retrieve"])
    builder.add_edge("reply", LAST)
    builder.add_edge("retrieve", "quote")
    builder.add_edge("quote", LAST)
    builder.add_edge(LAST, END)
    return builder.compile(checkpointer=checkpointer)


_MARKERS = re.compile(r" ?\[\d+\]")
_TITLE = 72  # characters of a title made from a question
_EARLIER_TURNS = 6  # earlier turns that a run can see


class TurnRunner:
    """Runs turns and reads them back.

    Thread-safe; a caller that writes to a thread holds its lock of `runs`.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        database: Database,
        sessions: Sessions,
        instructions: Instructions,
        pictures: PagePictures,
        models: LanguageModels,
        answerer: Answerer,
    ) -> None:
        self.runs, self.checkpoints, self._database = Runs(), Checkpoints(database), database
        self._sessions, self._models, self._direct, self._catalog = sessions, models, answerer.direct, answerer.catalog
        self._mode: Mode = settings.agent.mode
        catalog, memories, direct = answerer.catalog, answerer.memories, answerer.direct
        retrieval = Retrieval(catalog=catalog, search=answerer.search, direct=direct)
        images = PageImages(settings.llm, catalog=catalog, pictures=pictures)
        guidance = Guidance(memories=memories, instructions=instructions)
        steps = Steps(
            settings.llm,
            catalog=catalog,
            retrieval=retrieval,
            images=images,
            guidance=guidance,
            memories=memories,
            direct=direct,
            verifier=answerer.verifier,
        )
        tools = Tools(settings.web, catalog=catalog, retrieval=retrieval, memories=memories)
        loop = Loop(settings, steps=steps, tools=tools, images=images)
        summaries = Summaries(settings, catalog=catalog, images=images, guidance=guidance, verifier=answerer.verifier)
        self._graph, self._unkept = graph_of(steps, self.checkpoints), graph_of(steps)
        self._writing = Writing(
            catalog=catalog, steps=steps, loop=loop, summaries=summaries, most_steps=2 * settings.agent.max_steps + 20
        )
        self.completions = Completions(
            catalog=catalog,
            retrieval=retrieval,
            steps=steps,
            checkpoints=self.checkpoints,
            sessions=sessions,
            runs=self.runs,
        )

    def begin(self, thread_id: str, query: Query | str, watch: Watch | None = None) -> tuple[LiveRun, Question]:
        """Create a run for a question, which is asked within what its thread is bound to.

        Raises `ConfigError` as `Query.check_for`, and where the filters name only documents outside of that.
        """
        query = Query.of(query)
        query.check_for("turn")
        if thread_id:
            query = replace(query, filters=within(query.filters, self._sessions.get(thread_id).bound, self._catalog))
        return LiveRun(thread_id, query.question.strip(), watch), new_question(query, self._mode)

    def turn(self, run: LiveRun, question: Question, checkpoint_id: str | None) -> Turn:
        """Store a question where its thread stands, or at a given checkpoint, and answer it by quotes."""
        thread = self._sessions.get_open(run.thread_id)  # it may have been deleted while the run waited
        asked_id = self._ask(run.thread_id, checkpoint_id or thread.checkpoint_id, question)
        self._sessions.touch(run.thread_id, asked_id, _now_ms())
        written = question["text"]
        if not thread.title or self._may_rename(thread, written):
            self._sessions.rename(run.thread_id, _title(written))
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
                self._graph.update_state(_config(thread_id), {"kept": NO_DOCUMENTS}, as_node=LAST)
            )
        else:
            self.check(thread_id, checkpoint_id)
        return self._saved(
            self._graph.update_state(_config(thread_id, checkpoint_id), new_turn(question), as_node=QUESTION)
        )

    def _answer(self, run: LiveRun, asked_id: str) -> Turn:
        """Answer the question of a checkpoint. Raises what the steps raise; the question stays.

        Where a language model is to write beside the quotes, `run.finish` has it do so.
        """
        context = self._context(run, self._before(run.thread_id, asked_id))
        config = _config(run.thread_id, asked_id)
        with tracing_context(enabled=False):  # whatever the environment says: nothing of a turn is sent anywhere
            self._graph.invoke(None, config, context=context, durability="exit")
        answer_id = self.checkpoints.child_of(run.thread_id, asked_id)  # the thread is locked for this run
        assert answer_id is not None
        self._sessions.touch(run.thread_id, answer_id, _now_ms())
        self._database.settle()
        turn = self._turn_at(run.thread_id, answer_id)
        if _is_to_write(turn, context):
            run.stand(turn, lambda: self._finish(run, answer_id, context))
            return turn
        return self._to_complete(turn, context)

    def _finish(self, run: LiveRun, answer_id: str, context: RunContext) -> Turn:
        """Have the language model write, and store its answer with the quotes."""
        (saved,) = self.checkpoints.chain(run.thread_id, answer_id, 1)
        with tracing_context(enabled=False):
            written = self._writing.write(saved.values, context)
        with self.runs.alone(run.thread_id):  # nothing is erased from the turn between reading and storing it
            thread = self._sessions.get(run.thread_id)
            (saved,) = self.checkpoints.chain(run.thread_id, answer_id, 1)
            joined = self._writing.joined(saved.values, written, context)
            self.checkpoints.complete(run.thread_id, answer_id, joined)
            self._sessions.touch(run.thread_id, thread.checkpoint_id, max(_now_ms(), thread.updated_at_ms + 1))
            self._database.settle()
        return self._to_complete(self._turn_at(run.thread_id, answer_id), context)

    def _turn_at(self, thread_id: str, answer_id: str) -> Turn:
        chain = self.checkpoints.chain(thread_id, answer_id, 2)[::-1]
        return History(thread_id, chain, self._catalog).turn_at(answer_id)

    def _to_complete(self, turn: Turn, context: RunContext) -> Turn:
        """Return a turn, which is completed where a model was starting."""
        if turn.is_incomplete:
            self.completions.begin(context.thread_id or "", turn.checkpoint_id, context.led)
        return turn

    def complete(self, thread_id: str, checkpoint_id: str) -> bool:
        """Have a turn completed that went without a model that was starting; return whether that is under way."""
        if self.completions.is_under_way(thread_id, checkpoint_id):
            return True
        turn = self.history(thread_id).turn_at(checkpoint_id)
        if turn.is_incomplete:
            self.completions.begin(thread_id, turn.checkpoint_id, _led(self._before(thread_id, turn.checkpoint_id)))
        return turn.is_incomplete

    def once(self, run: LiveRun, question: Question) -> Turn:
        """Answer a question outside of any conversation: nothing is stored."""
        context = self._context(run, ())
        with tracing_context(enabled=False):
            values = self._unkept.invoke(new_turn(question), context=context)
        turn = self._unkept_turn(values)
        if _is_to_write(turn, context):
            run.stand(turn, lambda: self._finish_unkept(values, context))
        return turn

    def _finish_unkept(self, values: dict[str, Any], context: RunContext) -> Turn:
        with tracing_context(enabled=False):
            written = self._writing.write(values, context)
        return self._unkept_turn({**values, **self._writing.joined(values, written, context)})

    def _unkept_turn(self, values: dict[str, Any]) -> Turn:
        saved = Saved("", None, values, {"source": "loop"})
        return History(None, [saved], self._catalog).turn(saved)

    def branch(self, thread_id: str, checkpoint_id: str) -> str:
        """Create a sibling of what follows this checkpoint; return its id.

        Raises `NotFoundError`.
        """
        self.check(thread_id, checkpoint_id)
        config = _config(thread_id, checkpoint_id)
        kept = self._graph.get_state(config).values.get("kept") or NO_DOCUMENTS
        return self._saved(self._graph.update_state(config, {"kept": kept}, as_node=LAST))

    def check(self, thread_id: str, checkpoint_id: str) -> None:
        """Raise `NotFoundError` where the thread has no such checkpoint."""
        self.checkpoints.chain(thread_id, checkpoint_id, 1)

    def history(self, thread_id: str) -> History:
        return History(thread_id, self.checkpoints.history(thread_id), self._catalog)

    def _context(self, run: LiveRun, before: Sequence[Turn]) -> RunContext:
        model = self._models.current()
        if model is not None:
            run.by(model.info.name)
        cited = {doc_id for turn in before if turn.answer for doc_id in turn.answer.doc_ids}
        erased = {doc_id for doc_id, state in self._catalog.gone(cited).items() if state == "erased"}
        return RunContext(
            stop=run.is_stopped,
            report=run.report,
            show=run.show,
            model=model,
            thread_id=run.thread_id or None,
            earlier_turns=tuple(
                (turn.question, _MARKERS.sub("", turn.answer.answer) if turn.answer else "") for turn in before
            ),
            earlier_documents=frozenset(cited - erased),
            topics=tuple(
                turn.completed or turn.question for turn in before if turn.answer is None or turn.answer.has_topic
            ),
            led=_led(before),
            degraded=list(self._models.degraded()),
            started=time.perf_counter(),
        )

    def _before(self, thread_id: str, asked_id: str) -> list[Turn]:
        """Return the turns before a question, oldest first."""
        chain = self.checkpoints.chain(thread_id, asked_id, 3 * _EARLIER_TURNS + 1)[::-1]
        return History(thread_id, chain).turns(chain[-1].parent_id, _EARLIER_TURNS)[0] if len(chain) > 1 else []

    def _saved(self, config: Any) -> str:
        return config["configurable"]["checkpoint_id"]


def _config(thread_id: str, checkpoint_id: str | None = None) -> RunnableConfig:
    place = {"thread_id": thread_id, "checkpoint_ns": ""}
    return {"configurable": {**place, "checkpoint_id": checkpoint_id} if checkpoint_id else place}


def _is_to_write(turn: Turn, context: RunContext) -> bool:
    return turn.answer is not None and awaits_model(turn.answer, context)


def _led(before: Sequence[Turn]) -> frozenset[str]:
    """Return the quotes that led the previous answer: those that it cites, of passages that may answer the first."""
    answer = before[-1].answer if before else None
    if answer is None:
        return frozenset()
    cited = {number for sentence in answer.sentences for number in sentence.sources}
    led = [source for source in answer.sources if source.n in cited]
    return frozenset(source.quote for source in (led[:1] if answer.outcome == "maybe" else led))


def _title(question: str) -> str:
    line = clip(question, 10_000)
    return line if len(line) <= _TITLE else re.sub(r"(?<!\s)\s+\S*$", "", line[:_TITLE]) + "…"


def _now_ms() -> int:
    return int(time.time() * 1000)
