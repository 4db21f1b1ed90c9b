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
from archives import archive
from desks import settled
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


@pytest.mark.slow
def test_a_row_tells_in_which_document_one_came(docmind: DocMind, client: TestClient) -> None:
    docmind.add([archive("rent\u202e.zip", {"lease.txt": "The deposit of the flat is 1,800 euros."})])
    settled(docmind)  # the files inside are read after the archive
    told = client.get("/-/library").json()
    rows = [dict(zip(told["names"], row, strict=True)) for row in told["rows"]]
    there = {row["document"]: row for row in rows}
    assert (there["lease.txt"]["parent"], there["lease.txt"]["place"]) == (there["rent.zip"]["doc_id"], "in rent.zip")
    assert (there["b.txt"]["parent"], there["b.txt"]["place"]) == ("", "")


@pytest.mark.slow
def test_rows_are_sent_again_only_after_a_change(docmind: DocMind, client: TestClient) -> None:
    answer = client.get("/-/library?since=")
    version = answer.headers["docmind-version"]
    told = answer.json()
    assert sorted(row[1] for row in told["rows"])[-1] == "b.txt"
    assert told["kinds"] == {"txt": "Text"}
    assert not any("\u202e" in json.dumps(row, ensure_ascii=False) for row in told["rows"])
    assert client.get(f"/-/library?since={version}").status_code == 204
    owls = docmind.documents.find("b.txt").doc_id
    docmind.documents.new_collection("Birds", [owls])
    answer = client.get(f"/-/library?since={version}")
    assert answer.status_code == 200
    (name,) = answer.json()["collections"].values()
    assert name == "Birds"
    docmind.documents.bin([owls])
    assert len(client.get("/-/library").json()["rows"]) == 1
    assert client.get(f"/-/document/{owls}/original").status_code == 404


def test_originals_are_files_with_safe_names(docmind: DocMind, client: TestClient) -> None:
    ids = {info.doc_id: info for info in docmind.documents.all()}
    for doc_id in ids:
        answer = client.get(f"/-/document/{doc_id}/original")
        assert answer.content == docmind.documents.original(doc_id)
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
    first, second = docmind.documents.all()
    docmind.documents.edit(first.doc_id, document="same.txt")
    docmind.documents.edit(second.doc_id, document="Same.txt")
    answer = fetched(client, first.doc_id, second.doc_id)
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.namelist() == ["same.txt", "Same (2).txt"]
