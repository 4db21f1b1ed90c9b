"""Addresses of the Documents page: rows, and originals alone and together."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from addresses import client_of, desk_in
from docmind.application import DocMind
from docmind.records.documents import Upload
from docmind.ui.documents.served import LIBRARY
from docmind.ui.reader.served import ROUTES
from libraries import Library

HOSTILE = "../évil\u202e\x00.txt"
FILES = [Upload(HOSTILE, b"The boiler is serviced every spring."), Upload("b.txt", b"Owls hunt at night.", tags=("a",))]


@pytest.fixture
def docmind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DocMind]:
    yield from desk_in(tmp_path, monkeypatch, Library("a hostile name and a tag", FILES))


@pytest.fixture
def client() -> TestClient:
    return client_of([*LIBRARY, *ROUTES])


def fetched(client: TestClient, *doc_ids: str) -> Any:
    """Fetch several originals as the table does."""
    answer = client.post("/-/originals", data={"ids": ".".join(doc_ids)})
    return client.get(f"/-/originals/{answer.json()['selection']}")


def test_rows_are_sent_again_only_after_a_change(docmind: DocMind, client: TestClient) -> None:
    answer = client.get("/-/library?since=")
    version = answer.headers["docmind-version"]
    told = answer.json()
    assert sorted(row[1] for row in told["rows"])[-1] == "b.txt"
    assert told["kinds"] == {"txt": "Text"}
    assert not any("\u202e" in json.dumps(row, ensure_ascii=False) for row in told["rows"])
    assert client.get(f"/-/library?since={version}").status_code == 204
    owls = docmind.find_document("b.txt").doc_id
    docmind.library.new_collection("Birds", [owls])
    answer = client.get(f"/-/library?since={version}")
    assert answer.status_code == 200
    (name,) = answer.json()["collections"].values()
    assert name == "Birds"
    docmind.library.bin([owls])
    assert len(client.get("/-/library").json()["rows"]) == 1
    assert client.get(f"/-/document/{owls}/original").status_code == 404


def test_originals_are_files_with_safe_names(docmind: DocMind, client: TestClient) -> None:
    ids = {info.doc_id: info for info in docmind.documents()}
    for doc_id in ids:
        answer = client.get(f"/-/document/{doc_id}/original")
        assert answer.content == docmind.library.original(doc_id)
        assert answer.headers["content-disposition"].startswith('attachment; filename="')
        assert "/" not in answer.headers["content-disposition"].split("''")[1]
    answer = fetched(client, *ids)
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert {archive.read(name) for name in names} == {file.data for file in FILES}
        assert not any(name.startswith(("/", ".")) or "/" in name for name in names)
    assert client.post("/-/originals", data={}).status_code == 409
    assert client.post("/-/originals", data={"ids": "0123"}).status_code == 404
    assert client.get("/-/originals/0123").status_code == 404


def test_files_of_one_name_stay_apart(docmind: DocMind, client: TestClient) -> None:
    first, second = docmind.documents()
    docmind.library.rename(first.doc_id, document="same.txt")
    docmind.library.rename(second.doc_id, document="Same.txt")
    answer = fetched(client, first.doc_id, second.doc_id)
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.namelist() == ["same.txt", "Same (2).txt"]
