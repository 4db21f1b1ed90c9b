"""The library over MCP, with the client of the official SDK: over a real process, and over HTTP of the real app."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import Client, MCPError
from PIL import Image

from assistants import called, over_stdio, record, refusal
from conftest import ROOT
from desks import opened, text_pdf
from docmind import DocMind
from docmind.api.mcp_server import schema_at_root, server
from docmind.api.mcp_tools import TOOLS, UNTRUSTED, Tool
from docmind.api.programs import OWN, Permit
from docmind.client import decode, encode
from docmind.config import McpSettings, Settings
from docmind.errors import AppNotOpenError, DamagedError, DocMindError, IndexEngineError, KeyUnavailableError
from docmind.records.documents import Upload
from figured import CAPTION, handbook
from loops import run_async
from record_mcp import blocks
from shells import Shell, stocked_shell

pytestmark = pytest.mark.slow
HERONS = text_pdf(["Herons wait in shallow water for fish.", "Herons nest in tall trees."])


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    folder = tmp_path_factory.mktemp("stdio")
    (folder / "inbox").mkdir()
    return stocked_shell(folder, DOCMIND_MCP__FOLDERS=str(folder / "inbox"))


def test_each_tool_over_standard_input_and_output(shell: Shell) -> None:
    async def session() -> None:
        async with over_stdio(shell.environment) as client:
            tools: dict[str, Any] = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == [
                "search",
                "ask",
                "list_all",
                "check_text",
                "compare_versions",
                "list_documents",
                "get_page",
                "page_lines",
                "get_original",
                "ingest",
                "jobs",
            ]
            assert [name for name, tool in tools.items() if not tool.annotations.read_only_hint] == ["ask", "ingest"]
            assert all(tool.output_schema["type"] == "object" for tool in tools.values())

            found = await record(client, "search", question="nest in tall trees", k=2)
            hit = found["hits"][0]
            assert (hit["document"], hit["page_no"]) == ("herons.pdf", 2)
            assert hit["boxes"]
            assert hit["image"]["sha256"]
            assert hit["origins"][0]["list"] == "text"
            with_images = await called(
                client, "search", question="herons", include_images=True, images=1, include_code=False
            )
            (image,) = [part for part in with_images.content if part.type == "image"]
            assert Image.open(io.BytesIO(base64.b64decode(image.data))).format == "WEBP"
            by_picture = await record(client, "search", picture=image.data, read_picture=False, k=3)
            assert by_picture["found"] is True

            answer = await record(client, "ask", question="Where do herons nest?")
            assert "tall trees" in answer["answer"]
            assert answer["sources"][0]["page_no"] == 2
            kept = await record(client, "ask", question="Where do herons nest?", conversation="new")
            again = await record(client, "ask", question="Where do owls nest?", conversation=kept["thread_id"])
            assert again["thread_id"] == kept["thread_id"]

            (said, denied) = (
                await record(client, "check_text", draft="Herons nest in tall trees. Herons do not nest in tall trees.")
            )["sentences"]
            assert (said["verdict"], denied["verdict"]) == ("supported", "contradicted")
            assert said["source"]["document"] == "herons.pdf"
            assert said["source"]["boxes"]

            every = await record(client, "list_all", words="heron", most=1)
            assert every["listing"]["is_complete"]
            assert every["listing"]["total"] >= len(every["items"]) == 1
            assert every["items"][0]["source"]["boxes"]
            compared = await record(client, "compare_versions", before="herons.pdf", after="owls.txt", most=1)
            assert len(compared["comparison"]["changes"]) == 1 < compared["total"]

            listed = await record(client, "list_documents", find="heron")
            assert [info["document"] for info in listed["documents"]] == ["herons.pdf"]
            doc_id = listed["documents"][0]["doc_id"]
            page = await record(client, "get_page", document="herons.pdf", page_no=2, most=10)
            assert (page["page"]["text"], page["next_start"]) == ("Herons nes", 10)
            lines = await record(client, "page_lines", document="herons.pdf", page_no=2, most=1)
            assert [(line["n"], line["source"], line["grade"]) for line in lines["lines"]] == [(1, "layer", "good")]
            region = await called(
                client, "get_page", document=doc_id, page_no=2, region=hit["boxes"][0], include_image=True
            )
            assert "Herons" in region.structured_content["page"]["text"]
            cut = Image.open(io.BytesIO(base64.b64decode(region.content[-1].data)))
            assert cut.height < page["page"]["height"] / 4
            original = await called(client, "get_original", document="owls.txt")
            assert base64.b64decode(original.content[-1].resource.blob).startswith(b"Owls hunt")
            assert original.structured_content["media_type"] == "text/plain"

            resources = (await client.list_resources()).resources
            assert {one.name for one in resources} == {"herons.pdf", "owls.txt"}
            about: Any = (await client.read_resource(f"docmind://document/{doc_id}")).contents[0]
            assert json.loads(about.text)["pages"] == 2
            text: Any = (await client.read_resource(f"docmind://page/{doc_id}/1")).contents[0]
            assert text.text.startswith("Herons wait")
            assert len((await client.list_resource_templates()).resource_templates) == 4

            note = shell.folder / "inbox" / "note.txt"
            note.write_text("Kingfishers dive from branches into clear rivers.")
            added = await record(
                client, "ingest", paths=[str(note)], tags=["birds"], language="en", visual=True, wait_s=60
            )
            assert [result["status"] for result in added["results"]] == ["added"]
            assert [one["stage"] for one in added["degraded"]] == ["image"]  # no image model is in use
            known = await record(client, "list_documents", tags=["birds"])
            assert known["documents"][0]["language"] == "en"
            progress = await record(client, "jobs")
            assert progress["progress"]["state"] == "idle"

    run_async(session())


# --- states that are foreseen, and hostile arguments ------------------------------------------------------------------


def asked(docmind: Any, folders: Path | str = "", permit: Permit = OWN) -> Client:
    """Return a client in this process, of a server over an open library."""

    @contextmanager
    def reach() -> Iterator[Any]:
        if isinstance(docmind, DocMindError):
            raise docmind
        yield docmind

    settings = Settings(mcp=McpSettings(folders=str(folders)))
    if not isinstance(docmind, DocMindError):
        settings = docmind.settings.now.model_copy(update={"mcp": settings.mcp})
    return Client(server(reach, lambda _library: settings, lambda _request: permit))


@pytest.fixture(scope="module")
def docmind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with opened(tmp_path_factory.mktemp("inside")) as docmind:
        docmind.add([Upload("herons.pdf", HERONS), Upload("code.py", b"def heron():\n    return 'tall trees'\n")])
        yield docmind


def test_an_empty_library_gives_empty_results(tmp_path: Path) -> None:
    async def session() -> None:
        with opened(tmp_path) as docmind:
            async with asked(docmind) as client:
                assert (await record(client, "search", question="herons"))["hits"] == []
                assert (await record(client, "list_documents"))["total"] == 0
                answer = await record(client, "ask", question="Where do herons nest?")
                assert (answer["found"], answer["sources"]) == (False, [])
                assert (await record(client, "jobs"))["files"] == []
                assert (await client.list_resources()).resources == []
                assert "herons.pdf" in await refusal(client, "get_page", document="herons.pdf", page_no=1)

    run_async(session())


@pytest.mark.parametrize(
    "error",
    [KeyUnavailableError("The library is locked."), AppNotOpenError("DocMind was closed."), DamagedError("It rotted.")],
    ids=["locked", "closed", "damaged"],
)
def test_a_library_that_cannot_be_opened_is_told_by_every_tool(error: DocMindError) -> None:
    required: dict[str, dict[str, Any]] = {
        "ask": {"question": "x"}, "check_text": {"draft": "x"},
        "compare_versions": {"before": "x", "after": "y"},
        "get_page": {"document": "x", "page_no": 1}, "page_lines": {"document": "x", "page_no": 1},
        "get_original": {"document": "x"},
        "list_all": {"words": "x"}, "ingest": {"paths": ["/x"]}, "search": {"question": "x"},
    }  # fmt: skip

    async def session() -> None:
        async with asked(error) as client:
            for tool in TOOLS:
                said = await refusal(client, tool.name, **required.get(tool.name, {}))
                assert said == f"{error} {error.hint}"
            assert (await client.list_resources()).resources == []

    run_async(session())


def test_an_index_that_is_down_leaves_an_empty_result_that_names_it(docmind: DocMind) -> None:
    class Down:
        def __getattr__(self, name: str) -> Any:
            if name in ("search", "ask"):
                raise IndexEngineError("The index engine ended.")
            return getattr(docmind, name)

    async def session() -> None:
        async with asked(Down()) as client:
            for tool, arguments in (("search", {"question": "herons"}), ("ask", {"question": "Where?"})):
                found = await record(client, tool, **arguments)
                assert found["degraded"][0]["reason"].startswith("The index engine ended.")
            assert (await record(client, "list_documents"))["total"] == 2

    run_async(session())


def test_a_mistake_inside_is_told_and_the_server_goes_on(docmind: DocMind) -> None:
    class Broken:
        def __getattr__(self, name: str) -> Any:
            if name == "documents":
                raise RuntimeError("secret details")
            return getattr(docmind, name)

    async def session() -> None:
        async with asked(Broken()) as client:
            said = await refusal(client, "list_documents")
            assert "RuntimeError" in said
            assert "secret" not in said
            assert (await record(client, "jobs"))["files"] is not None

    run_async(session())


HOSTILE: list[tuple[str, dict[str, Any]]] = [
    ("search", {}),
    ("search", {"question": "   "}),
    ("search", {"question": "x", "k": 1_000_000}),
    ("search", {"question": "x", "k": True}),
    ("search", {"question": "x" * 20_001}),
    ("search", {"question": "x", "path": "/etc/passwd"}),
    ("search", {"question": "x", "lists": ["lookalike"]}),
    ("search", {"question": "x", "limits": {"text": -1}}),
    ("search", {"question": "x", "documents": ["no such document"]}),
    ("search", {"question": "x", "collections": ["none"]}),
    ("search", {"question": "x", "as_of": "no such snapshot"}),
    ("search", {"picture": "A" * 400, "lists": ["code"]}),
    ("search", {"picture": "A" * 400, "limits": {"visual": 3}}),
    ("search", {"picture": "not base64!"}),
    ("search", {"picture": base64.b64encode(b"no picture").decode()}),
    ("search", {"picture": "A" * 15_000_000}),
    ("ask", {"question": ""}),
    ("ask", {"question": "x", "conversation": "../../none"}),
    ("ask", {"question": "x", "conversation": "new", "quotes": True}),
    ("list_documents", {"most": 0}),
    ("get_page", {"document": "herons.pdf", "page_no": 99}),
    ("get_page", {"document": "herons.pdf", "page_no": 0}),
    ("page_lines", {"document": "herons.pdf", "page_no": 99}),
    ("get_page", {"document": "herons.pdf", "page_no": 1, "region": [0, 0]}),
    ("get_page", {"document": "herons.pdf", "page_no": 1, "region": [-50, -50, 10, 10]}),
    ("get_page", {"document": "herons.pdf", "page_no": 1, "region": [0, 0, 0, 0], "include_image": True}),
    ("get_original", {"document": "../../etc/passwd"}),
    ("ingest", {"paths": ["/etc/passwd"]}),
    ("ingest", {"paths": []}),
    ("jobs", {"newest": -1}),
    ("check_text", {"draft": " "}),
    ("list_all", {"words": " "}),
    ("list_all", {"words": "x", "what": "secrets"}),
    ("compare_versions", {"before": "", "after": "x"}),
    ("compare_versions", {"before": "x", "after": "y", "most": 100_000}),
    ("check_text", {"draft": "x" * 100_001}),
]


def test_hostile_arguments_are_refused_in_a_sentence(docmind: DocMind) -> None:
    async def session() -> None:
        async with asked(docmind) as client:
            for tool, arguments in HOSTILE:
                said = await refusal(client, tool, **arguments)
                assert "mistake in DocMind" not in said, (tool, arguments, said)
                assert "Traceback" not in said
            with pytest.raises(MCPError, match="no tool"):
                await client.call_tool("erase", {})
            for uri in ("file:///etc/passwd", "docmind://page/../1", "docmind://document/none"):
                with pytest.raises(MCPError):
                    await client.read_resource(uri)

    run_async(session())


def test_a_document_of_the_bin_is_asked_as_of_a_snapshot(docmind: DocMind) -> None:
    async def session() -> None:
        taken = docmind.snapshots.create("Before spring")
        (doc_id,) = (info.doc_id for info in docmind.documents.all() if info.document == "herons.pdf")
        docmind.documents.bin([doc_id])
        try:
            async with asked(docmind) as client:
                now = await record(client, "search", question="tall trees")
                assert "herons.pdf" not in {hit["document"] for hit in now["hits"]}
                then = await record(client, "search", question="tall trees", as_of="Before spring")
                (hit, *_others) = [hit for hit in then["hits"] if hit["document"] == "herons.pdf"]
                page = await record(client, "get_page", document=hit["doc_id"], page_no=hit["page_no"])
                assert page["page"]["document"] == "herons.pdf"
                answer = await record(client, "ask", question="Where do herons nest?", as_of=taken.snapshot_id)
                assert {source["document"] for source in answer["sources"]} == {"herons.pdf"}
                await refusal(client, "get_page", document="herons.pdf", page_no=1)
        finally:
            docmind.documents.restore([doc_id])
            docmind.snapshots.remove(taken.snapshot_id)

    run_async(session())


def test_figures_are_listed_with_their_page_and_read_as_resources(docmind: DocMind) -> None:
    docmind.add([handbook()])
    doc_id = docmind.documents.find("handbook.docx").doc_id

    async def session() -> None:
        async with asked(docmind) as client:
            page = await record(client, "get_page", document=doc_id, page_no=1)
            assert [(one["number"], one["caption"]) for one in page["figures"]] == [(1, CAPTION)]
            figure: Any = (await client.read_resource(f"docmind://figure/{doc_id}/1/1")).contents[0]
            assert base64.b64decode(figure.blob) == docmind.documents.figure_image(doc_id, 1, 1)
            found = await record(client, "search", question="Show the figure with the wiring", k=1)
            assert (found["hits"][0]["modality"], found["hits"][0]["figure"]) == ("image_caption", 1)
            with pytest.raises(MCPError, match="has no figure 9"):
                await client.read_resource(f"docmind://figure/{doc_id}/1/9")

    try:
        run_async(session())
    finally:
        docmind.erasures.erase([doc_id])


def test_pages_without_code_and_a_region_partly_off_the_page(docmind: DocMind) -> None:
    async def session() -> None:
        async with asked(docmind) as client:
            both = await record(client, "search", question="tall trees")
            assert {hit["document"] for hit in both["hits"]} == {"herons.pdf", "code.py"}
            plain = await record(client, "search", question="tall trees", include_code=False)
            assert {hit["document"] for hit in plain["hits"]} == {"herons.pdf"}
            page = await record(client, "get_page", document="herons.pdf", page_no=1, region=[-10, -10, 1e6, 1e6])
            assert page["region"] == [0, 0, page["page"]["width"], page["page"]["height"]]

    run_async(session())


def test_only_files_in_allowed_folders_are_added(docmind: DocMind, tmp_path: Path) -> None:
    inbox, outside = tmp_path / "inbox", tmp_path / "outside"
    (inbox / "deep").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.txt").write_text("A secret.")
    (inbox / "deep" / "wren.txt").write_text("Wrens sing loudly for their size.")
    (inbox / "empty.txt").write_bytes(b"")
    (inbox / "way-out").symlink_to(outside)
    (inbox / "secret.txt").symlink_to(outside / "secret.txt")
    refused = [
        outside / "secret.txt", inbox / "way-out" / "secret.txt", inbox / "secret.txt", inbox / ".." / "outside",
        Path("inbox/deep/wren.txt"), tmp_path / "inbox-2", Path("/"), inbox / "\x00", docmind.settings.now.data_dir,
    ]  # fmt: skip

    async def session() -> None:
        async with asked(docmind) as client:
            said = await refusal(client, "ingest", paths=[str(inbox)])
            assert "DOCMIND_MCP__FOLDERS" in said
        async with asked(docmind, inbox, Permit("read", "reader")) as client:
            assert "may only read" in await refusal(client, "ingest", paths=[str(inbox)])
        async with asked(docmind, inbox) as client:
            for path in refused:
                assert "no folder that may be added from" in await refusal(client, "ingest", paths=[str(path)])
            assert "is not there" in await refusal(client, "ingest", paths=[str(inbox / "none.txt")])
            report = await record(client, "ingest", paths=[str(inbox)], wait_s=60)
            assert {one["document"]: one["status"] for one in report["results"]} == {
                "wren.txt": "added", "empty.txt": "refused",
            }  # fmt: skip
            again = await record(
                client, "ingest", paths=[str(inbox / "deep" / "wren.txt")], wait_s=60, language="en", tags=["loud"]
            )
            assert [one["status"] for one in again["results"]] == ["already"]
        wren = docmind.documents.find("wren.txt")
        assert (wren.language, wren.tags) == ("en", ("loud",))
        docmind.erasures.erase([wren.doc_id])

    run_async(session())


def test_a_home_that_is_allowed_keeps_its_secrets(
    docmind: DocMind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = docmind.settings.now
    home = settings.data_dir.parent
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    assert settings.keys.file is not None
    secrets = [
        settings.keys.file, settings.data_dir / "vault.json", home / "config" / "docmind" / "other.key",
        home / ".ssh" / "id_ed25519", home / "papers" / ".env", home / "papers" / "a second name of the key",
    ]  # fmt: skip
    for place in (home / "config" / "docmind", home / ".ssh", home / "papers"):
        place.mkdir(parents=True)
    (home / "papers" / "wren.txt").write_text("Wrens sing loudly for their size.")
    (home / "papers" / "key of another library").write_text("0f" * 32)
    for secret in secrets[2:5]:
        secret.write_text("A secret.")
    secrets[5].hardlink_to(settings.keys.file)

    async def session() -> None:
        async with asked(docmind, home) as client:
            for secret in (secrets[1], *secrets[2:5], *(secret.parent for secret in secrets[1:4])):
                said = await refusal(client, "ingest", paths=[str(secret)])
                assert "is hidden or belongs to DocMind" in said
            for secret in (secrets[0], secrets[5]):
                (told,) = (await record(client, "ingest", paths=[str(secret)]))["results"]
                assert "is hidden, or belongs to DocMind" in told["message"]
            report = await record(client, "ingest", paths=[str(home)], wait_s=60)
            assert {one["document"]: one["status"] for one in report["results"]} == {
                "wren.txt": "added", "key of another library": "refused",
            }  # fmt: skip
        docmind.erasures.erase([docmind.documents.find("wren.txt").doc_id])

    run_async(session())


def test_a_reading_token_stores_nothing(docmind: DocMind) -> None:
    async def session() -> None:
        async with asked(docmind, permit=Permit("read", "reader")) as client:
            assert (await record(client, "ask", question="Where do herons nest?"))["found"]
            for arguments in (
                {"question": "Remember that the heron year is 2026."},
                {"question": "Where do herons nest?", "conversation": "new"},
            ):
                assert "The token reader may only read" in await refusal(client, "ask", **arguments)
        assert not docmind.conversations.threads()
        assert not docmind.memories.list().memories

    run_async(session())


def test_the_sdk_is_loaded_by_the_first_request_alone() -> None:
    code = (
        "import sys, docmind, docmind.cli, docmind.api.rest, docmind.api.mcp_http; assert 'mcp' not in sys.modules\n"
        "seen = []\n"
        "sys.addaudithook(lambda name, args: seen.append(name) if name.startswith('socket.') else None)\n"
        "import docmind.api.mcp_server; assert 'mcp' in sys.modules\n"
        "print(sorted(set(seen) - {'socket.__new__'}))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_the_recorded_session_has_the_fields_of_today(tool: Tool) -> None:
    request, result = map(json.loads, blocks((ROOT / "docs" / "mcp.md").read_text("utf-8"))[tool.name])
    assert request["name"] == tool.name
    decode(tool.takes, request["arguments"])
    record = result["structuredContent"]
    assert encode(tool.returns, decode(tool.returns, record)) == record
    assert result["content"][1]["text"] == UNTRUSTED


def test_every_tool_is_described_with_all_that_it_takes() -> None:
    for tool in TOOLS:
        schema = schema_at_root(tool.takes, is_request=True)
        assert all("description" in member for member in schema["properties"].values()), tool.name
        Draft202012Validator.check_schema(schema)
        Draft202012Validator.check_schema(schema_at_root(tool.returns))
