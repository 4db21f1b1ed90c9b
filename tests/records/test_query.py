"""What can be asked: every field of `Query` at every door, and each bound refused with the same sentence."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest

from docmind.access import Launch
from docmind.api.mcp_server import schema_at_root
from docmind.api.mcp_tools import TOOLS, Context
from docmind.api.openapi import document
from docmind.api.programs import OWN, Permit
from docmind.api.rest import Rest
from docmind.application import DocMind
from docmind.client import CALLS, decode
from docmind.errors import ConfigError
from docmind.records.query import Operation, Query, default_of, fields_for
from docmind.records.search import Filters, StoredFacts
from each import each_of
from libraries import THREE_DOCUMENTS, Library
from loops import run_async
from shells import Shell

REST: dict[str, Operation] = {
    "search": "search", "search_by_picture": "search", "ask": "answer", "conversations.ask": "turn",
    "conversations.start": "turn", "conversations.start_once": "turn",
}  # fmt: skip
MCP: dict[str, Operation] = {"search": "search", "ask": "turn"}
CLI: dict[str, Operation] = {"search": "search", "ask": "turn", "chat": "turn"}


@pytest.fixture(scope="module")
def library() -> Library:
    return THREE_DOCUMENTS


def wanted(operation: Operation, door: str) -> set[str]:
    """Return the names that a door for people or assistants must have, from the declarations alone."""
    names = {one.name for one in fields(Query) if operation in one.metadata.get("only", (operation,))}
    names -= {one.name for one in fields(Query) if door in one.metadata.get("absent", ())}
    named = {one.metadata.get("named", one.name) for one in fields(Filters)}
    return names if door == "rest" else (names - {"filters"}) | named


def test_rest_has_every_field() -> None:
    asking = {call.name: call for call in CALLS if call.asks is not None}
    assert {name: call.asks for name, call in asking.items()} == REST
    paths = document()["paths"]
    for name, call in asking.items():
        told = paths[call.path]["post"]
        there = {one["name"] for one in told["parameters"]}
        body = told["requestBody"]["content"]
        there |= set(body.get("application/json", {}).get("schema", {}).get("properties", ()))
        there |= {"picture"} if "application/octet-stream" in body else set()
        assert wanted(REST[name], "rest") - there <= ({"picture"} if name == "search" else set()), name


def test_tools_have_every_field_with_its_sentence_and_its_bounds() -> None:
    for tool in TOOLS:
        if tool.name in MCP:
            there = schema_at_root(tool.takes, is_request=True)["properties"]
            assert not wanted(MCP[tool.name], "mcp") - set(there), tool.name
            assert not {"web", "picture_name"} & set(there)
            assert there["k"]["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 1000}
            assert all(there[one.name]["description"] for one in fields_for(MCP[tool.name], door="mcp")[3:4])


def test_commands_have_every_field() -> None:
    from docmind.cli import main

    for name, operation in CLI.items():
        there = {one.name for one in main.commands[name].params}
        left_out = {"question", "web"} if name == "chat" else set()  # each is typed there: words, and /web
        assert not wanted(operation, "cli") - there - left_out, name


@pytest.mark.slow
def test_retrievers_have_every_field(docmind: DocMind) -> None:
    from docmind.api.llama_index import MultimodalRetriever, PictureRetriever, TextRetriever

    values = {one.name: default_of(one) for one in fields_for("search") if one.name not in ("question", "picture")}
    for kind in (TextRetriever, MultimodalRetriever, PictureRetriever):
        kind(docmind, **values)
        with pytest.raises(TypeError):
            kind(docmind, confidence=1)


def test_what_is_left_out_has_a_reason() -> None:
    for one in (*fields(Query), *fields(Filters)):
        assert one.metadata["about"].endswith("."), one.name
        assert all(reason.endswith(".") for reason in one.metadata.get("absent", {}).values()), one.name
        assert ("only" in one.metadata) == ("why" in one.metadata), one.name


BEYOND = {
    "k": (0, "k is 0; it must be 1 to 1,000.", ["-k", "0"]),
    "many": (5_000, "k is 5,000; it must be 1 to 1,000.", ["-k", "5000"]),
    "question": ("q" * 20_001, "The question has 20,001 characters; 20,000 are the most.", []),
    "lists": (("sound",), "lists[0] has a wrong value; expected: text | code | image | lookalike | visual.",
              ["--list", "sound"]),
    "limits": ({"text": 0}, "limits.text is 0; it must be 1 to 1,000.", ["--limit", "text=0"]),
    "merge": ("best", "merge has a wrong value; expected: rrf | score | interleaved | grouped.", ["--merge", "best"]),
    "dedup_key": ("line", "dedup_key has a wrong value; expected: node_id | page_id | doc_id.",
                  ["--dedup-key", "line"]),
    "rerank": ("best", "rerank has a wrong value; expected: off | image | late.", ["--rerank", "best"]),
    "since": ("yesterday", "since is no day of the calendar.", ["--since", "yesterday"]),
    "after": ("2025-02-30", "after is no day of the calendar.", ["--after", "2025-02-30"]),
    "before": ("soon", "before is no day of the calendar.", ["--before", "soon"]),
    "figure_sizes": (("huge",), "figure_sizes[0] has a wrong value; expected: small | medium | large.",
                     ["--figure-size", "huge"]),
    "figure_kinds": (("painting",), "figure_kinds[0] has a wrong value; expected: photo | graphic | drawing.",
                     ["--figure-kind", "painting"]),
}  # fmt: skip
"""A value beyond its bounds, the sentence that refuses it, and the options that give it."""
OF_FILTERS = {"since", "after", "before", "figure_sizes", "figure_kinds"}


def given(name: str) -> dict[str, Any]:
    value = BEYOND[name][0]
    return {"question": "boiler"} | {{"many": "k"}.get(name, name): list(value) if isinstance(value, tuple) else value}


def refused(name: str) -> str:
    return BEYOND[name][1]


@each_of("name", list(BEYOND))
def test_a_query_refuses_what_is_beyond_its_bounds(name: str) -> None:
    values = given(name)
    filters = Filters(**{one: values.pop(one) for one in OF_FILTERS & values.keys()})
    with pytest.raises(ConfigError) as caught:
        Query(**values, filters=filters)
    assert str(caught.value).replace("filters.", "") == refused(name)


class Everybody:
    async def admit(self, _scope: Any) -> Permit:
        return OWN


async def posted(rest: Rest, path: str, body: bytes) -> tuple[int, Any]:
    """Send a request as a server would pass it on; return the status and the object of the answer."""
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": f"/api/v1{path}", "raw_path": path.encode(), "query_string": b"", "headers": [], "root_path": "",
        "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 6),
    }  # fmt: skip
    waiting, parts = [{"type": "http.request", "body": body, "more_body": False}], list[Any]()

    async def receive() -> dict[str, Any]:
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        parts.append(message)

    await rest(scope, receive, send)
    return parts[0]["status"], json.loads(b"".join(part.get("body", b"") for part in parts[1:]))


@pytest.mark.slow
def test_rest_and_tools_refuse_with_the_same_sentence(docmind: DocMind) -> None:
    async def nothing(_scope: Any, _receive: Any, _send: Any) -> None:
        raise AssertionError("the request left the interface")

    rest = Rest(nothing, Launch(is_token_required=False), Everybody(), lambda: docmind)  # type: ignore[arg-type]
    tools = {tool.name: tool for tool in TOOLS}
    context = Context(OWN, (), frozenset(), lambda _run: None, lambda: False)

    async def each() -> None:
        for name in BEYOND:
            values = given(name)
            filters = {one: values.pop(one) for one in OF_FILTERS & values.keys()}
            asked = values | ({"filters": filters} if filters else {})
            for path in ("/search", "/ask", "/turns"):
                status, told = await posted(rest, path, json.dumps(asked).encode())
                assert (status, told["error"]["message"].replace("filters.", "")) == (400, refused(name)), path

    run_async(each())
    for name in BEYOND:
        for tool in MCP:
            with pytest.raises(ConfigError) as caught:
                tools[tool].work(docmind, decode(tools[tool].takes, given(name), ""), context)
            assert str(caught.value) == refused(name), tool


@pytest.mark.slow
def test_commands_refuse_with_the_same_sentence(tmp_path_factory: pytest.TempPathFactory) -> None:
    shell = Shell(tmp_path_factory.mktemp("asking"))
    shell.run("add", shell.file("boiler.txt", b"The boiler is serviced every spring."))
    for name, (value, sentence, options) in BEYOND.items():
        words = value if name == "question" else "boiler"
        for command in ("search", "ask"):
            said = shell.run(command, words, *options, code=ConfigError.exit_code).stderr
            assert sentence in said.replace("filters.", ""), (command, said)


def test_what_does_not_go_together_is_refused(docmind: DocMind) -> None:
    for query, sentence in (
        (Query(" "), "There is nothing to search for."),
        (Query("boiler", mode="agent"), "mode can't be given here."),
        (Query("boiler", read_picture=False), "There is no picture whose words could be left unread."),
        (Query("boiler", lists=("lookalike",)), "lists has a wrong value; expected: text | code | image | visual."),
        (Query(picture=b"x", lists=("code",)), "lists has a wrong value; expected: lookalike | text | image."),
    ):
        with pytest.raises(ConfigError) as caught:
            docmind.search(query)
        assert str(caught.value) == sentence
    for refusing in (docmind.ask, docmind.conversations.ask):
        with pytest.raises(ConfigError, match="picture can't be given here"):
            refusing(Query("boiler", picture=b"x"))
        with pytest.raises(ConfigError, match="question is empty"):
            refusing(" ")


def test_documents_are_narrowed_by_kind_and_day() -> None:
    facts = StoredFacts("a", "pdf", 1_767_700_000_000, (), ())  # in January 2026
    assert Filters(kinds=("pdf",), since="2026-01-01").allow(facts)
    assert not Filters(kinds=("txt",)).allow(facts)
    assert not Filters(since="2026-03-01").allow(facts)
    narrowed = Filters(doc_ids=("a",), languages=("en",), kinds=("pdf",), since="2026-01-01", tags=("x",))
    assert narrowed.is_of_documents
    assert narrowed.as_documents(("b",)) == Filters(doc_ids=("b",), languages=("en",))
    assert not Filters(doc_ids=("a",), languages=("en",), modalities=("code",)).is_of_documents


@pytest.mark.slow
def test_a_search_is_narrowed_by_kind_and_day(docmind: DocMind) -> None:
    kinds = {info.doc_id: info.kind for info in docmind.documents.all()}
    found = docmind.search(Query("boiler", k=50)).hits
    for kind in {*kinds.values(), "none"}:
        within = docmind.search(Query("boiler", k=50, filters=Filters(kinds=(kind,)))).hits
        assert {hit.doc_id for hit in within} == {hit.doc_id for hit in found if kinds[hit.doc_id] == kind}
    assert docmind.search(Query("boiler", filters=Filters(since="2999-01-01"))).hits == ()
    assert len(docmind.search(Query("boiler", k=50, filters=Filters(since="2000-01-01"))).hits) == len(found)


def test_a_query_is_hashable_and_says_what_was_given() -> None:
    query = Query("boiler", k=3, lists=("text", "text"), limits={"text": 5})
    assert query.given() == {"question": "boiler", "k": 3, "lists": ("text",), "limits": {"text": 5}}
    assert hash(query) == hash(replace(query))
    assert Query("a\udc80\n b ").words == "a? b"


def test_source_code_is_found_by_the_language_of_its_file() -> None:
    def allowed(kind: str, name: str, *wanted: str) -> bool:
        return Filters(kinds=wanted).allow(StoredFacts("a", kind, 0, (), (), name))

    assert allowed("code", "desk.py", "python")
    assert allowed("code", "desk.py", "code")
    assert allowed("code", "main.go", "go")
    assert allowed("code", "desk.h", "cpp")
    assert allowed("code", "desk.h", "c")
    assert allowed("code", "Desk.TSX", "typescript")
    assert not allowed("code", "desk.py", "rust")
    assert not allowed("txt", "desk.py", "python")
