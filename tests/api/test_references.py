"""One contract at every door: each hit of each list names files that open, and they are those of its page."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assistants import over_http, record
from desks import text_pdf
from docmind import DocMind
from docmind.client import connect, encode
from docmind.records.documents import ArtifactRef, Upload
from docmind.records.query import Query
from docmind.records.search import MultimodalResult
from libraries import Library, confirm
from looking import album, looking_in
from loops import run_async
from served import App
from shells import Shell

pytestmark = pytest.mark.slow
QUESTION = "Where do red herons nest?"
LISTS = ("text", "code", "image", "visual")


def _prepare(docmind: DocMind) -> None:
    confirm(docmind)
    for name in ("fake-image", "fake-late"):
        docmind.visual.embed(name)


LIBRARY = Library(
    "references",
    [
        Upload("herons.pdf", text_pdf(["Herons wait in shallow water.", "Herons nest in tall trees."])),
        Upload("nests.py", b"def nest_height(poplar):\n    return poplar.metres * 0.9\n"),
        album("colours", "red", "green"),
    ],
    _prepare,
    looking_in,
)


@dataclass(frozen=True)
class Door:
    """A way to search: by words in one list, by a picture, and by a question that no document answers."""

    search: Callable[[str], list[dict[str, Any]]]
    see: Callable[[bytes], list[dict[str, Any]]]
    nearest: Callable[[str], list[dict[str, Any]]]


def _plain(found: Any) -> list[dict[str, Any]]:
    return encode(MultimodalResult, found)["hits"]


def _of_facade(docmind: Any) -> Door:
    def nearest(question: str) -> list[dict[str, Any]]:
        turn = docmind.conversations.ask(question, thread_id=docmind.conversations.create().thread_id)
        return encode(type(turn), turn)["nearest"]

    return Door(
        lambda name: _plain(docmind.search(Query(QUESTION, lists=(name,)))),  # type: ignore[arg-type]
        lambda picture: _plain(docmind.search(Query(picture=picture, read_picture=False))),
        nearest,
    )


def _of_rest(folder: Path, host: str) -> Door:
    secret = connect(folder / "data").tokens.new("contract", scope="full").secret

    def asked(path: str, body: Any) -> Any:
        connection = http.client.HTTPConnection(host, timeout=60)
        is_bytes = isinstance(body, bytes)
        headers = {"Authorization": f"Bearer {secret}"} | ({} if is_bytes else {"Content-Type": "application/json"})
        connection.request("POST", f"/api/v1/{path}", body if is_bytes else json.dumps(body), headers)
        answer = connection.getresponse()
        told = json.loads(answer.read())
        assert answer.status == 200, told
        return told

    return Door(
        lambda name: asked("search", {"question": QUESTION, "lists": [name]})["hits"],
        lambda picture: asked("search/picture?read_picture=false", picture)["hits"],
        lambda question: asked("turns", {"question": question})["nearest"],
    )


def _of_mcp(folder: Path, address: str) -> Door:
    secret = connect(folder / "data").tokens.new("assistant", scope="full").secret

    def asked(**arguments: Any) -> list[dict[str, Any]]:
        async def session() -> list[dict[str, Any]]:
            async with over_http(address, secret) as client:
                return (await record(client, "search", **arguments))["hits"]

        return run_async(session())

    return Door(
        lambda name: asked(question=QUESTION, lists=[name]),
        lambda picture: asked(picture=base64.b64encode(picture).decode(), read_picture=False),
        lambda question: asked(question=question),
    )


def _of_shell(shell: Shell) -> Door:
    return Door(
        lambda name: shell.json("search", QUESTION, "--modality", name)["hits"],
        lambda picture: shell.json("search", "--no-read", "--image", shell.file("shot.webp", picture))["hits"],
        lambda question: shell.json("ask", question)["nearest"],
    )


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("doors")
    models = {"DOCMIND_VISUAL__IMAGE_MODEL": "fake-image", "DOCMIND_VISUAL__LATE_MODEL": "fake-late"}
    server = App(folder, library=LIBRARY, DOCMIND_EMBEDDING__MODEL="fake", **models)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    """Another copy of the library: it has the same keys, so the same references open there."""
    with LIBRARY.opened(tmp_path_factory.mktemp("kept")) as docmind:
        yield docmind


@pytest.mark.parametrize("door", ["facade", "client", "rest", "mcp", "shell"])
def test_the_references_of_every_hit_open(door: str, app: App, kept: DocMind, tmp_path: Path) -> None:
    folder = app._folder
    shell = Shell(tmp_path, DOCMIND_DATA_DIR=str(folder / "data"), DOCMIND_KEYS__FILE=str(folder / "docmind.key"))
    by_name: dict[str, Callable[[], Door]] = {
        "facade": lambda: _of_facade(kept),
        "client": lambda: _of_facade(connect(folder / "data")),
        "rest": lambda: _of_rest(folder, f"127.0.0.1:{app.port}"),
        "mcp": lambda: _of_mcp(folder, f"{app.url}/mcp"),
        "shell": lambda: _of_shell(shell),
    }
    asked = by_name[door]()
    picture = kept.documents.page_image(kept.documents.find("herons.pdf").doc_id, 2)
    hits = {name: asked.search(name) for name in LISTS}
    hits |= {"lookalike": asked.see(picture), "nearest": asked.nearest("Who won the 1998 World Cup?")}
    for name, of_list in hits.items():
        assert of_list, name
        for hit in of_list:
            assert hit["image"] is not None, (name, hit["document"])
            image, thumbnail = (ArtifactRef(**hit[each]) for each in ("image", "thumbnail"))
            page = kept.documents.page_image(hit["doc_id"], hit["page_no"])
            assert kept.pictures.get(image) == page
            assert kept.pictures.get(thumbnail, thumbnail=True) == kept.documents.page_image(
                hit["doc_id"], hit["page_no"], thumbnail=True
            )
