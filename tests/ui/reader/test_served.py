"""Addresses of the reader: pages, sources, search, downloads; hostile ids, and what is gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from starlette.middleware import Middleware
from starlette.testclient import TestClient

from addresses import client_of, desk_in, launched, served
from desks import environment_of, text_pdf
from docmind.access import Launch, mint_ticket
from docmind.application import DocMind
from docmind.records.answers import Answer
from docmind.records.documents import Upload
from docmind.ui.app.app_state import app_state
from docmind.ui.app.guard import Guard
from docmind.ui.app.page_links import cited_in, reader_link
from docmind.ui.reader.served import ROUTES
from libraries import Library

LEASE = text_pdf(["The notice period of the lease is six months.", "The rent is paid each month."])
HOSTILE = ("..", "%2e%2e", "a%2f..%2fb", "'; DROP TABLE pages;--", "%00", "<img src=x>", "é", "0" * 400)


@pytest.fixture
def docmind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DocMind]:
    yield from desk_in(tmp_path, monkeypatch, Library("lease.pdf", [Upload("lease.pdf", LEASE)]))


@pytest.fixture
def launch() -> Launch:
    return launched()


@pytest.fixture
def client(launch: Launch) -> TestClient:
    return client_of(ROUTES, launch)


def lease_of(docmind: DocMind) -> str:
    return docmind.documents.find("lease.pdf").doc_id


def ask(docmind: DocMind, question: str = "How long is the notice period of the lease?") -> Answer:
    thread = docmind.conversations.create()
    answer = docmind.conversations.ask(question, thread_id=thread.thread_id).answer
    assert answer is not None
    assert answer.sources
    return answer


def place(answer: Answer, n: int = 1) -> str:
    cited = cited_in(answer, n)
    assert cited is not None
    return ".".join(map(str, cited))


@pytest.mark.slow
def test_a_page_comes_with_its_words_and_facts(docmind: DocMind, client: TestClient) -> None:
    doc_id = lease_of(docmind)
    found = client.get(f"/-/page/{doc_id}/2").json()
    assert (found["doc"], found["page"], found["pages"], found["name"]) == (doc_id, 2, 2, "lease.pdf")
    assert [word[0] for word in found["words"]] == ["The", "rent", "is", "paid", "each", "month."]
    assert all(0 <= word[1] <= found["width"] and 0 <= word[2] <= found["height"] for word in found["words"])
    assert "Text from the file" in found["facts"]
    assert found["heat"] is False


@pytest.mark.slow
def test_a_source_has_its_quote_its_shapes_and_its_picture(docmind: DocMind, client: TestClient) -> None:
    doc_id = lease_of(docmind)
    answer = ask(docmind)
    source = answer.sources[0]
    found = client.get(f"/-/cited/{place(answer, source.n)}").json()
    assert (found["doc"], found["page"], found["n"]) == (doc_id, source.page_no, source.n)
    assert "six months" in found["quote"]
    assert len(found["quads"]) == len(source.boxes)
    assert all(len(quad) == 4 for quad in found["quads"])
    picture = client.get(f"/-/cited/{place(answer, source.n)}/image")
    assert picture.headers["content-type"] == "image/webp"
    assert picture.content == docmind.documents.page_image(doc_id, source.page_no)


@pytest.mark.slow
@pytest.mark.parametrize("with_quotes", [False, True])
def test_an_erased_document_is_gone(docmind: DocMind, client: TestClient, with_quotes: bool) -> None:
    doc_id = lease_of(docmind)
    answer = ask(docmind)
    docmind.erasures.erase([doc_id], conversations=with_quotes)
    assert ("six months" in client.get(f"/-/cited/{place(answer)}").json()["quote"]) is not with_quotes
    for address in (f"cited/{place(answer)}/image", f"page/{doc_id}/1", f"document/{doc_id}/original"):
        refused = client.get(f"/-/{address}")
        assert refused.status_code == 404
        assert refused.json()["error"]


def test_a_text_is_found_within_the_document(docmind: DocMind, client: TestClient) -> None:
    doc_id = lease_of(docmind)
    found = client.get(f"/-/document/{doc_id}/places", params={"text": "RENT is"}).json()
    ((page_no, quads),) = found["places"]
    assert page_no == 2
    assert len(quads) == 1
    assert found["cut"] is False
    assert client.get(f"/-/document/{doc_id}/places").json()["places"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["lease.pdf", "Mietvertrag – Café.pdf", 'a"; filename="x.exe', "line\r\nSet-Cookie: a=b.pdf", "../../etc/passwd"],
)
def test_the_original_is_downloaded_byte_for_byte(docmind: DocMind, client: TestClient, name: str) -> None:
    data = LEASE + b"% another file"
    (added,) = docmind.add([Upload(name, data)])
    assert added.doc_id, added.message
    answer = client.get(f"/-/document/{added.doc_id}/original")
    assert answer.content == data
    assert answer.headers["content-type"] == "application/octet-stream"
    assert "set-cookie" not in answer.headers
    disposition = answer.headers["content-disposition"]
    assert disposition.startswith('attachment; filename="')
    assert disposition.count('"') == 2
    told = unquote(disposition.partition("filename*=UTF-8''")[2])
    assert told
    assert not set(told) & set('"/\\\r\n<>:|?*')


def test_a_page_is_downloaded_as_a_picture(docmind: DocMind, client: TestClient) -> None:
    answer = client.get(f"/-/page/{lease_of(docmind)}/2/download")
    assert answer.content.startswith(b"\x89PNG")
    assert quote("lease, page 2.png") in answer.headers["content-disposition"]


@pytest.mark.parametrize("bad", HOSTILE)
def test_hostile_ids_are_not_found(docmind: DocMind, client: TestClient, bad: str) -> None:
    shown = bad if "%" in bad else quote(bad, safe="")
    for address in (
        f"page/{shown}/1",
        f"page/{shown}/1/image",
        f"page/{shown}/1/download",
        f"document/{shown}/original",
        f"document/{shown}/places?text=a",
        f"cited/{shown}",
        f"cited/{shown}/image",
        f"cited/{shown}.{shown}.1",
        f"page/0123/1/heat?from={shown}",
    ):
        answer = client.get(f"/-/{address}")
        assert answer.status_code == 404 or answer.text == "the page", address


def test_a_source_of_another_conversation_is_not_found(docmind: DocMind, client: TestClient) -> None:
    first, second = ask(docmind), ask(docmind, "When is the rent paid?")
    assert client.get(f"/-/cited/{first.thread_id}.{second.checkpoint_id}.1").status_code == 404
    assert client.get(f"/-/cited/{place(first, 99)}").status_code == 404


def test_a_document_of_another_vault_is_not_found(
    docmind: DocMind, client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    doc_id = lease_of(docmind)
    app_state.clear()
    for name, value in environment_of(tmp_path / "other").items():
        monkeypatch.setenv(name, value)
    app_state().open()
    assert client.get(f"/-/page/{doc_id}/1").status_code == 404
    assert client.get(f"/-/document/{doc_id}/original").status_code == 404


def test_nothing_is_stored_by_the_browser_nor_given_to_a_stranger(docmind: DocMind, launch: Launch) -> None:
    doc_id = lease_of(docmind)
    client = TestClient(
        served(launch, ROUTES, Middleware(Guard, launch=launch)), base_url=f"http://127.0.0.1{launch.base}"
    )
    assert client.get(f"/-/document/{doc_id}/original").status_code == 403
    client.get(f"/?ticket={mint_ticket(launch.secret)}")
    for address in (f"document/{doc_id}/original", f"page/{doc_id}/1", f"page/{doc_id}/1/download"):
        answer = client.get(f"/-/{address}")
        assert answer.status_code == 200, address
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_link_takes_well_formed_ids_only() -> None:
    assert reader_link("0123ab", 7) == "#read=0123ab.7"
    quad = ((1.2, -3.0), (10, 0), (10, 20), (0, 20))
    assert reader_link("0123ab", 7, quad=quad) == "#read=0123ab.7&quad=7.1.-3.10.0.10.20.0.20"
    for bad in ("", "a b", "a)b", 'a"b', "a#b", "a" * 65):
        with pytest.raises(ValueError, match="an id has"):
            reader_link(bad, 1)
