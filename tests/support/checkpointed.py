"""A real LangGraph graph of the shape of conversations, and turns run on it: two states each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph

from docmind.conversations.checkpoints import Checkpoints
from docmind.storage.database import Database

KEY = bytes(range(32))
Node = Callable[[Any], dict[str, Any]]


class State(TypedDict, total=False):
    question: str
    answer: dict[str, Any] | None
    recent: list[Any]


def opened(path: Path) -> tuple[Database, Checkpoints]:
    database = Database(path, KEY)
    return database, Checkpoints(database)


def quoted(state: Any) -> dict[str, Any]:
    return {"answer": {"text": f"About {state['question']}", "sources": []}}


def graph(checkpoints: Checkpoints, answer: Node = quoted) -> Any:
    """Build the graph: contextualise, answer, remember."""
    built: Any = StateGraph(State)
    built.add_node("contextualise", lambda state: {"question": state["question"].strip()})
    built.add_node("write", answer)
    built.add_node("remember", lambda state: {"recent": [*state.get("recent", []), state["question"]][-3:]})
    built.add_edge(START, "contextualise")
    built.add_edge("contextualise", "write")
    built.add_edge("write", "remember")
    built.add_edge("remember", END)
    return built.compile(checkpointer=checkpoints)


def place(thread_id: str, checkpoint_id: str | None = None) -> Any:
    chosen = {"thread_id": thread_id} | ({"checkpoint_id": checkpoint_id} if checkpoint_id else {})
    return {"configurable": chosen}


def question(app: Any, thread_id: str, text: str, parent_id: str | None = None) -> str:
    """Store the question and return the state that holds it."""
    config = app.update_state(place(thread_id, parent_id), {"question": text, "answer": None}, as_node="__start__")
    return config["configurable"]["checkpoint_id"]


def turn(app: Any, thread_id: str, text: str, parent_id: str | None = None) -> str:
    """Run a whole turn and return the state after it."""
    asked = place(thread_id, question(app, thread_id, text, parent_id))
    app.invoke(None, asked, durability="exit")
    return newest(app, thread_id)


def newest(app: Any, thread_id: str) -> str:
    return app.get_state(place(thread_id)).config["configurable"]["checkpoint_id"]
