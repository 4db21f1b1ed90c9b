"""The second part of a turn: what a language model writes beside the quotes by which the turn stands.

It is written without the conversation's lock. So what it replaces is read again when it is there, and it is dropped
where a document that the model read was erased meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime

from docmind.conversations.agent import Loop
from docmind.conversations.nodes import Steps
from docmind.conversations.run_context import RunContext
from docmind.conversations.state import State, answer_of, intent_of, nearest_of, plain_answer, question_of
from docmind.conversations.summaries import Summaries
from docmind.documents import Catalog
from docmind.records.answers import Answer, led
from docmind.records.search import Degraded
from docmind.wording import N_, _

WROTE_NOTHING = N_("it wrote nothing.")
READ_ERASED = N_("a document that it read was erased meanwhile.")

_STAGE = "language model"


def graph_of(steps: Steps, loop: Loop, summaries: Summaries) -> Any:
    """Compile the graph: answer, or agent and tools, then verify; or summarise. Nothing of it is stored."""
    builder = StateGraph(State, context_schema=RunContext)
    for name, step in (
        ("answer", steps.answer),
        ("agent", loop.agent),
        ("tools", loop.tools),
        ("summarise", summaries.summarise),
        ("verify", steps.verify),
    ):
        builder.add_node(name, step)
    builder.add_conditional_edges(START, steps.writer, ["answer", "agent", "summarise"])
    builder.add_edge("answer", "verify")
    builder.add_edge("verify", END)
    builder.add_edge("summarise", END)
    return builder.compile()


class Writing:
    """Has a language model write, and joins its answer with the quotes. Thread-safe: a run has its `RunContext`."""

    def __init__(self, *, catalog: Catalog, steps: Steps, loop: Loop, summaries: Summaries, most_steps: int) -> None:
        self._catalog, self._steps = catalog, steps
        self._graph, self._most_steps = graph_of(steps, loop, summaries), most_steps

    def write(self, values: Mapping[str, Any], context: RunContext) -> dict[str, Any]:
        """Return the channels of a turn as the model leaves them: `answer` is None where it wrote none."""
        channels = {name: values[name] for name in State.__annotations__ if name in values}
        config = {"recursion_limit": self._most_steps}
        return self._graph.invoke({**channels, "answer": None, "written": None}, config, context=context)

    def joined(self, values: Mapping[str, Any], written: Mapping[str, Any], context: RunContext) -> dict[str, Any]:
        """Return the channels of a turn that change: the quotes in `values` and what was `written`, as one answer."""
        state: Any = {name: values[name] for name in State.__annotations__ if name in values}
        question, before = question_of(state), state["answer"]
        quotes = answer_of(before, question, None, None)
        quotes = replace(quotes, degraded=tuple(one for one in quotes.degraded if one.stage != _STAGE))
        failure = written["written"]["failure"]
        if self._is_erased(state, context):
            answer = self._without(quotes, context, _(READ_ERASED))
        elif written["answer"] is None:
            is_stopped = written["written"]["is_stopped"]
            answer = self._without(quotes, context, failure[0] if failure else "" if is_stopped else _(WROTE_NOTHING))
        else:
            made = answer_of(written["answer"], question, None, None)
            answer = led(quotes, made, leads=written["written"].get("leads", made.is_supported))
            if not answer.model:
                answer = self._without(answer, context)
        changed: dict[str, Any] = {
            "answer": plain_answer(answer, () if answer.found else nearest_of(before)),
            "written": written["written"],
        }
        if not state["found"]["pages"]:  # a summary searches nothing
            changed["found"] = written["found"]
        answered: Any = {**state, **changed}
        return {**changed, "kept": self._steps.remember(answered, Runtime(context=context))["kept"]}

    def _without(self, quotes: Answer, context: RunContext, reason: str = "") -> Answer:
        """Return quotes with what the model's part went without."""
        why = (Degraded(_STAGE, reason),) if reason else ()
        return replace(quotes, degraded=tuple(dict.fromkeys((*quotes.degraded, *context.degraded, *why))))

    def _is_erased(self, state: State, context: RunContext) -> bool:
        """Return whether a document was erased that the model read."""
        read = {passage.hit.doc_id for passage in context.passages} | {hit.doc_id for hit in context.found}
        read |= {picture.place[0] for picture in context.pictures} | set(intent_of(state).doc_ids)
        read |= context.earlier_documents
        return "erased" in self._catalog.gone(read).values()
