"""The graph of a turn: contextualise, retrieve, then answer (or agent and tools), verify, remember."""

from __future__ import annotations

from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph

from docmind.agent.course import Course, Means
from docmind.agent.loop import Loop
from docmind.agent.state import State
from docmind.agent.steps import Steps

QUESTION = START
"""As whom a question is written into a conversation: what runs next is the first step."""

LAST = "remember"
"""As whom a branch is written: nothing runs next."""


def graph_of(means: Means, checkpointer: BaseCheckpointSaver[Any] | None = None) -> Any:
    """The compiled graph; without a checkpointer nothing of a run is kept."""
    steps = Steps(means)
    loop = Loop(means, steps)
    builder = StateGraph(State, context_schema=Course)
    for name, step in (
        ("contextualise", steps.contextualise),
        ("retrieve", steps.retrieve),
        ("answer", steps.answer),
        ("agent", loop.agent),
        ("tools", loop.tools),
        ("verify", steps.verify),
        ("remember", steps.remember),
    ):
        builder.add_node(name, step)
    builder.add_edge(START, "contextualise")
    builder.add_edge("contextualise", "retrieve")
    builder.add_conditional_edges("retrieve", _mode, ["answer", "agent"])
    builder.add_edge("answer", "verify")
    builder.add_edge("verify", LAST)
    builder.add_edge(LAST, END)
    return builder.compile(checkpointer=checkpointer)


def _mode(state: State) -> Literal["answer", "agent"]:
    return "agent" if state["question"]["mode"] == "agent" else "answer"
