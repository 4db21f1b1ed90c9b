"""Addresses that the scripts of a page ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from desks import environment_of
from docmind.access import Launch
from docmind.application import DocMind
from docmind.records.documents import Upload
from docmind.ui.app.desk import desk
from docmind.ui.app.routes import PAGE_IMAGES, Routes


@pytest.fixture
def docmind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DocMind]:
    for name, value in environment_of(tmp_path).items():
        monkeypatch.setenv(name, value)
    desk.clear()
    yield desk().open()
    desk.clear()


@pytest.fixture
def client() -> TestClient:
    launch = Launch()
    launch.place("")
    streamlit = Route("/{path:path}", lambda _: PlainTextResponse("the page"))
    served = Starlette(routes=[streamlit], middleware=[Middleware(Routes, launch=launch, routes=[PAGE_IMAGES])])
    return TestClient(served, base_url=f"http://127.0.0.1{launch.base}")


def test_a_page_image_is_served_as_it_is_kept(docmind: DocMind, client: TestClient) -> None:
    (added,) = docmind.add([Upload("note.txt", b"The boiler is serviced every spring.")])
    assert added.doc_id
    for size, is_thumbnail in (("", False), ("?size=thumbnail", True)):
        answer = client.get(f"/-/page/{added.doc_id}/1/image{size}")
        assert answer.headers["content-type"] == "image/webp"
        assert answer.content == docmind.page_image(added.doc_id, 1, thumbnail=is_thumbnail)


def test_a_page_that_is_not_there_is_an_error(docmind: DocMind, client: TestClient) -> None:
    answer = client.get("/-/page/0123abcd/1/image")
    assert answer.status_code == 404
    assert "no such document" in answer.json()["error"]


def test_other_addresses_are_left_to_streamlit(client: TestClient) -> None:
    assert client.get("/documents").text == "the page"
