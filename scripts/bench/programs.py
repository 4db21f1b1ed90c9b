"""Other programs: what a search costs over REST and over MCP, beside the facade's own."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx
import uvicorn
from harness import Times, filled_vault, questions
from starlette.responses import Response

from docmind.access import Launch, RunningApp
from docmind.api.mcp_http import Mcp
from docmind.api.programs import Programs
from docmind.api.rest import Rest
from docmind.application import DocMind
from docmind.client import Client

_DOCUMENTS, _NODES, _QUESTIONS = 500, 10_000, 150
_MOST_MS = 15.0  # that REST may cost more, at the 95th percentile


def bench_rest() -> None:
    """Time a search by the facade, by the Python client over REST, with a long-lived token, and over MCP, in turn."""
    with filled_vault(documents=_DOCUMENTS, nodes=_NODES) as settings, DocMind(settings) as docmind:
        docmind.search("warm")
        secret = docmind.tokens.new("bench").secret
        with _served(docmind) as app, httpx.Client(headers={"Authorization": f"Bearer {secret}"}, timeout=60) as http:
            searches: dict[str, Callable[[str], object]] = {
                "facade": docmind.search,
                "client over REST": Client(app).search,
                "with a token": Client(app, token=secret).search,
                "MCP": lambda question: _over_mcp(http, f"{app.local}mcp", question),
            }
            times = {name: Times() for name in searches}
            more = {name: Times() for name in searches}
            for search in searches.values():
                search("warm")
            for question in questions(_QUESTIONS):
                for name, search in searches.items():
                    docmind.queries.drop()  # each embeds the question again
                    with times[name].one():
                        search(question)
                    more[name].append(times[name][-1] - times["facade"][-1])
    for name in searches:
        print(f"{name}: {times[name]}; beyond the facade {more[name]}")
    beyond = times["client over REST"].p95 - times["facade"].p95
    print(f"p95 over REST beyond that of the facade: {beyond:.1f} ms (at most {_MOST_MS:.0f} ms wanted)")


def _over_mcp(http: httpx.Client, address: str, question: str) -> object:
    call = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search", "arguments": {"question": question}},
    }  # fmt: skip
    headers = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-06-18"}
    answer = http.post(address, json=call, headers=headers)
    told = json.loads(answer.raise_for_status().content)["result"]
    assert not told.get("isError"), told
    return told["structuredContent"]


@contextmanager
def _served(docmind: DocMind) -> Iterator[RunningApp]:
    """Serve the interfaces of programs over an open library, in a thread of this process."""
    launch = Launch()
    launch.place("")

    async def nothing(scope: dict, receive: Callable, send: Callable) -> None:
        await Response(status_code=404)(scope, receive, send)

    programs = Programs(launch, lambda: docmind)
    app = Rest(Mcp(nothing, launch, programs, lambda: docmind), launch, programs, lambda: docmind)  # type: ignore[arg-type]
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        yield RunningApp(address, address, launch.secret, True, 0)
        server.should_exit = True
        thread.join()
