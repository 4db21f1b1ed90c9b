"""No data of a turn is sent to a tracing service, whatever the environment says."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

import pytest

from conftest import HELPERS, ROOT

TURN = """
import sys
from pathlib import Path
from desks import talking, report
with talking(Path(sys.argv[1])) as mind:
    mind.add([report("spring", 1)])
    assert mind.conversations.ask("How many herons?", thread_id=mind.conversations.create().thread_id).answer
    assert mind.conversations.ask("How many herons?").answer
"""
BARE = """
from langgraph.graph import START, StateGraph
builder = StateGraph(dict)
builder.add_node("a", lambda state: {"b": 1})
builder.add_edge(START, "a")
builder.compile().invoke({"a": 1})
"""


@pytest.fixture
def service() -> Iterator[tuple[str, list[bytes]]]:
    asked: list[bytes] = []

    class Notes(StreamRequestHandler):
        def handle(self) -> None:
            asked.append(self.rfile.readline())

    server = ThreadingTCPServer(("127.0.0.1", 0), Notes)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.parametrize(("script", "is_traced"), [(TURN, False), (BARE, True)], ids=["DocMind", "LangGraph alone"])
def test_tracing_is_off(tmp_path: Path, service: tuple[str, list[bytes]], script: str, is_traced: bool) -> None:
    address, asked = service
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LANGCHAIN", "LANGSMITH"))}
    environment |= {
        "LANGSMITH_TRACING": "true",
        "LANGSMITH_ENDPOINT": address,
        "LANGSMITH_API_KEY": "none",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *HELPERS]),
    }
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], env=environment, check=True)
    assert bool(asked) == is_traced
