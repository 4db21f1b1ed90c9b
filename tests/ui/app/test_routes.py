"""Addresses that the scripts of a page ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from addresses import client_of, desk_in
from docmind.application import DocMind
from docmind.records.documents import Upload
from docmind.ui.app.routes import ORIGINALS, PAGE_IMAGES


@pytest.fixture
def docmind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DocMind]:
    yield from desk_in(tmp_path, monkeypatch)


@pytest.fixture
def client() -> TestClient:
    return client_of([PAGE_IMAGES, ORIGINALS])


@pytest.mark.slow
def test_a_page_image_is_served_as_it_is_kept(docmind: DocMind, client: TestClient) -> None:
    (added,) = docmind.add([Upload("note.txt", b"The boiler is serviced every spring.")])
    assert added.doc_id
    for size, is_thumbnail in (("", False), ("?size=thumbnail", True)):
        answer = client.get(f"/-/page/{added.doc_id}/1/image{size}")
        assert answer.headers["content-type"] == "image/webp"
        assert answer.content == docmind.documents.page_image(added.doc_id, 1, thumbnail=is_thumbnail)


def test_a_page_that_is_not_there_is_an_error(docmind: DocMind, client: TestClient) -> None:
    answer = client.get("/-/page/0123abcd/1/image")
    assert answer.status_code == 404
    assert "no such document" in answer.json()["error"]


def test_other_addresses_are_left_to_streamlit(client: TestClient) -> None:
    assert client.get("/documents").text == "the page"
