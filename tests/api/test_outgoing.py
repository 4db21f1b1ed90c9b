"""A model's words on their way to other programs: over REST and over MCP they are neutral Markdown."""

from __future__ import annotations

import json
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_args, get_type_hints

import httpx
import pytest
from mcp import Client

from assistants import record
from desks import text_pdf
from docmind.access import Launch, api_token
from docmind.api.mcp_server import server
from docmind.api.outgoing import outgoing
from docmind.api.programs import Programs
from docmind.api.rest import Rest
from docmind.application import DocMind
from docmind.client import CALLS
from docmind.llm.service import OneModel
from docmind.records.answers import Answer
from docmind.records.conversations import RunProgress
from docmind.records.documents import Upload
from docmind_testkit import FakeChatModel
from inert import assert_inert
from libraries import Library
from loops import run_async

SAID = (
    "Herons nest in tall trees. [1] ![x](http://127.0.0.1:9/p?q=trees) See [this](javascript:alert(1)) "
    "and \u202egnp.exe, or www.evil.example."
)
QUESTION = "Where do herons nest?"


@pytest.fixture(scope="module")
def library() -> Library:
    return Library("herons for programs", [Upload("herons.pdf", text_pdf(["Herons nest in tall trees."]))])


@pytest.fixture
def docmind(docmind: DocMind) -> DocMind:
    assert isinstance(docmind.models, OneModel)
    docmind.models.model = FakeChatModel(SAID, SAID, SAID)
    return docmind


async def nowhere(*_: Any) -> None:
    pytest.fail("not an address of REST")


def check(answer: dict[str, Any]) -> None:
    assert "\u202e" not in json.dumps(answer, ensure_ascii=False)
    both = (answer, answer["other"])
    assert [bool(one["model"]) for one in both].count(True) == 1
    for part in both:
        assert_inert(part["answer"])
        assert "Herons nest in tall trees." in part["answer"]
        for one in part["sentences"]:
            assert part["answer"][one["start"] : one["end"]] == one["text"]


@pytest.mark.slow
def test_the_check_would_notice(docmind: DocMind) -> None:
    turn = docmind.conversations.ask(QUESTION)
    assert turn.answer is not None
    assert turn.answer.other is not None
    with pytest.raises(AssertionError):
        assert_inert(turn.answer.answer + turn.answer.other.answer)


@pytest.mark.slow
def test_rest_sends_neutral_markdown(docmind: DocMind) -> None:
    launch = Launch()
    app = Rest(nowhere, launch, Programs(launch, lambda: docmind), lambda: docmind)
    headers = {"Authorization": f"Bearer {api_token(launch.secret)}"}

    async def session() -> None:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:8501/api/v1", headers=headers
        ) as client:
            thread = (await client.post("/threads", json={})).json()["thread_id"]
            turn = (await client.post("/turns", json={"question": QUESTION, "thread_id": thread})).json()
            check(turn["answer"])
            view = (await client.get(f"/threads/{thread}/transcript")).json()
            check(view["turns"][0]["answer"])
            assert isinstance(docmind.models, OneModel)
            docmind.models.model = FakeChatModel(SAID, delay_s=0.2)
            run = (await client.post("/runs", json={"question": QUESTION})).json()
            events = (await client.get(f"/runs/{run}/events")).text
            told = [json.loads(line.removeprefix("data: ")) for line in events.split("\n") if line.startswith("data")]
            for one in told:
                assert_inert(one["text"])
            standing = next(one for one in told if one["turn"] is not None)
            assert (standing["text"], standing["turn"]["answer"]["model"]) == ("", ""), "the quotes come first"
            check(told[-1]["turn"]["answer"])

    run_async(session())


@pytest.mark.slow
def test_mcp_sends_neutral_markdown(docmind: DocMind) -> None:
    @contextmanager
    def reach() -> Iterator[DocMind]:
        yield docmind

    async def session() -> None:
        async with Client(server(reach, lambda library: library.settings.now)) as client:
            check(await record(client, "ask", question=QUESTION))

    run_async(session())


def test_every_record_with_an_answer_is_covered() -> None:
    known = {kind for kind in outgoing.registry if kind is not object}

    def holding(declared: Any) -> Iterator[type]:
        """Yield the records from this type down that hold an answer or a draft."""
        if isinstance(declared, type) and hasattr(declared, "__dataclass_fields__"):
            hints = [hint for hint in get_type_hints(declared).values() if declared not in get_args(hint)]
            inner = [one for hint in hints for one in holding(hint)]
            if inner or declared in (Answer, RunProgress):
                yield declared
                yield from inner
        elif isinstance(declared, types.UnionType) or get_args(declared):
            for one in get_args(declared):
                yield from holding(one)

    found = {kind for call in CALLS for kind in holding(call.result)}
    assert {Answer, RunProgress} <= found
    assert found <= known
