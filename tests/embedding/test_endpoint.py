"""Text models behind an address: a real small HTTP server that checks and answers what it gets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from desks import settings_in, text_pdf
from docmind.application import DocMind
from docmind.config import EmbeddingSettings, LLMSettings, Settings
from docmind.embedding.base import TokenEmbedder, is_multilingual
from docmind.embedding.endpoint import EndpointModel
from docmind.embedding.registry import is_endpoint, open_text_model, text_model_capability
from docmind.errors import ConfigError, EndpointRefusedError, TextModelError
from docmind.records.documents import Upload
from docmind_testkit import FakeEmbedder
from llm_server import Behaviour, LLMServer, serving

TEXTS = ["Herons nest in tall poplar trees", "pale blue eggs", ""]
HERONS = Upload("herons.pdf", text_pdf(["Herons nest in tall poplar trees", "Their eggs are pale blue"]))
BREAD = Upload("bread.txt", b"Bake the rye bread slowly for ninety minutes.")


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with serving() as server:
        yield server


def chosen(server: LLMServer, name: str = "openai/own", path: str = "", **more: Any) -> EmbeddingSettings:
    return EmbeddingSettings.model_validate({"model": name, "url": server.url + path, "dim": 384, **more})


def model_at(server: LLMServer, name: str = "openai/own", path: str = "", **more: Any) -> EndpointModel:
    settings = Settings(embedding=chosen(server, name, path, **more))
    return EndpointModel(settings, name, pause=lambda seconds: None)


@pytest.mark.parametrize(
    ("name", "path", "asked"),
    [
        ("ollama/bge-m3:latest", "", "/api/embed"),
        ("openai/own", "", "/v1/embeddings"),
        ("openai/own", "/v1", "/v1/embeddings"),
    ],
)
def test_texts_become_unit_vectors_in_their_order(server: LLMServer, name: str, path: str, asked: str) -> None:
    model = model_at(server, name, path)
    vectors = model.embed_documents(TEXTS)
    assert (vectors.shape, vectors.dtype, model.name) == ((3, 384), np.float32, name.partition("/")[2])
    assert np.allclose(vectors, FakeEmbedder().embed_documents([*TEXTS[:2], " "]), atol=1e-5)
    assert np.allclose(model.embed_query("pale blue eggs"), vectors[1], atol=1e-5)
    [first, second] = server.embedded()
    assert (first.method, first.path) == ("POST", asked)
    assert (first.body["model"], first.body["input"]) == (name.partition("/")[2], [*TEXTS[:2], " "])
    assert second.body["input"] == ["pale blue eggs"]
    assert "authorization" not in first.headers
    assert model.embed_documents([]).shape == (0, 384)


def test_many_texts_go_in_batches(server: LLMServer) -> None:
    vectors = model_at(server).embed_documents([f"page {number}" for number in range(150)])
    assert [len(one.body["input"]) for one in server.embedded()] == [64, 64, 22]
    assert vectors.shape == (150, 384)


def test_a_key_goes_along_and_shorter_vectors_are_asked_for(server: LLMServer) -> None:
    model = model_at(server, "openai/text-embedding-3-small", dim=256, api_key="secret")
    assert model.embed_query("eggs").shape == (256,)
    [asked] = server.embedded()
    assert asked.headers["authorization"] == "Bearer secret"
    assert asked.body["dimensions"] == 256
    assert "secret" not in model.fingerprint + repr(model.__dict__["_more"])


def test_facts_are_known_and_nothing_is_sent(server: LLMServer) -> None:
    settings = Settings(embedding=EmbeddingSettings(model="openai/text-embedding-3-small", url=server.url))
    model = open_text_model(settings)
    assert (model.dim, model.fingerprint) == (1536, "openai:text-embedding-3-small:1536")
    model.warm()
    assert not isinstance(model, TokenEmbedder)
    assert is_multilingual(model)
    text = "Proteção de dados, 1.000"
    assert "".join(text[start:end] for start, end in model.pieces(text)) == text.replace(" ", "")
    assert server.url in text_model_capability(settings).detail
    assert server.received == []
    with pytest.raises(ConfigError, match="length of the vectors") as caught:
        open_text_model(Settings(embedding=EmbeddingSettings(model="ollama/unheard-of")))
    assert "DOCMIND_EMBEDDING__DIM" in caught.value.hint
    assert not is_endpoint("openai/")
    assert not is_endpoint("pair")


def test_what_may_pass_is_tried_again_with_growing_pauses(server: LLMServer) -> None:
    pauses: list[float] = []
    model = EndpointModel(Settings(embedding=chosen(server)), "openai/own", pause=pauses.append)
    server.queue(Behaviour("status", status=503, body="{}"), Behaviour("status", status=429, body="{}"))
    assert model.embed_documents(["eggs"]).shape == (1, 384)
    assert pauses == sorted(pauses)
    assert len(pauses) == 2
    server.queue(*[Behaviour("status", status=500, body='{"error": "no\\nroom"}')] * 9)
    with pytest.raises(TextModelError, match=r"refuses with status 500: no room\.$"):
        model.embed_documents(["eggs"])
    assert len(server.embedded()) == 3 + 4


@pytest.mark.parametrize(
    ("status", "body", "told", "hint"),
    [
        (401, '{"error": {"message": "Incorrect API key"}}', "status 401: Incorrect API key", "API_KEY"),
        (404, '{"error": "model \\"own\\" not found"}', "not found", "ollama pull own"),
        (400, "<html>", "status 400.", "log of its server"),
    ],
)
def test_a_refusal_is_one_sentence_and_is_not_repeated(
    server: LLMServer, status: int, body: str, told: str, hint: str
) -> None:
    server.queue(Behaviour("status", status=status, body=body))
    with pytest.raises(TextModelError) as caught:
        model_at(server, "ollama/own").embed_documents(["eggs"])
    assert told in str(caught.value)
    assert hint in caught.value.hint
    assert len(server.embedded()) == 1


def listed(rows: list[Any]) -> str:
    return json.dumps({"embeddings": rows})


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("", "does not answer as a server of embeddings"),
        ("[1]", "does not answer as"),
        ('{"embeddings": "x"}', "does not answer as"),
        (listed([]), "does not answer as"),
        (listed([[1.0] * 384] * 2), "does not answer as"),
        (listed([[0.0] * 384]), "does not answer as"),
        ('{"embeddings": [[NaN' + ", 1" * 383 + "]]}", "does not answer as"),
        (listed([[1.0] * 100]), "vectors of 100 numbers, not of 384"),
        (" " * (2 << 20), "does not answer as"),
    ],
)
def test_an_odd_answer_is_refused(server: LLMServer, body: str, told: str) -> None:
    server.queue(Behaviour("raw", body=body))
    with pytest.raises(TextModelError, match=told):
        model_at(server, "ollama/own").embed_query("eggs")


def test_other_hosts_are_asked_only_where_they_are_allowed(server: LLMServer, outbound: list[str]) -> None:
    settings = Settings(embedding=EmbeddingSettings(model="openai/own", url="https://example.com/v1", dim=8))
    with pytest.raises(EndpointRefusedError, match=r"example\.com isn't this computer, and it isn't allowed"):
        EndpointModel(settings, "openai/own").embed_query("eggs")
    allowed = settings.model_copy(update={"llm": LLMSettings(allowed_hosts="example.com")})
    here = EndpointModel(allowed, "openai/own", resolve=lambda host, port: ["169.254.169.254"])
    with pytest.raises(EndpointRefusedError, match="never contacted"):
        here.embed_query("eggs")
    plain = EmbeddingSettings.model_validate(
        {"model": "openai/own", "url": "http://example.com/v1", "dim": 8, "api_key": "secret"}
    )
    with pytest.raises(EndpointRefusedError, match="unencrypted"):
        EndpointModel(allowed.model_copy(update={"embedding": plain}), "openai/own").embed_query("eggs")
    server.queue(Behaviour("redirect", location="https://example.com/"))
    with pytest.raises(EndpointRefusedError, match="not followed"):
        model_at(server).embed_query("eggs")
    assert outbound == []


def test_the_address_is_asked_for_where_it_is_missing() -> None:
    model = EndpointModel(Settings(embedding=EmbeddingSettings(model="openai/own", dim=8)), "openai/own")
    with pytest.raises(ConfigError, match="address") as caught:
        model.embed_query("eggs")
    assert "DOCMIND_EMBEDDING__URL" in caught.value.hint


@pytest.mark.slow
def test_words_are_searched_while_the_server_is_gone_and_files_wait(tmp_path: Path) -> None:
    with serving() as server:
        settings = settings_in(tmp_path, embedding=chosen(server))
        with DocMind(settings) as desk:
            assert desk.add([HERONS])[0].status == "added"
            [first, *_] = (found := desk.search("pale blue eggs")).hits
            assert (first.text, found.degraded) == ("Their eggs are pale blue", ())
            assert {rank.ranking for rank in first.ranks} == {"dense", "sparse", "fused"}
    with DocMind(settings) as desk:  # the same address, where nothing answers now
        found = desk.search("Where is the poplar?")
        assert found.hits[0].text == "Herons nest in tall poplar trees"
        [lack] = found.degraded
        assert (lack.stage, "cannot be reached" in lack.reason) == ("dense", True)
        assert isinstance(desk.embedder, EndpointModel)
        desk.embedder._pause = lambda seconds: None
        with pytest.raises(TextModelError, match="cannot be reached"):
            desk.add([BREAD])
        [waiting] = desk.queue.uploads("waiting", "reading")
        assert waiting.document == "bread.txt"
    with serving(server.port), DocMind(settings) as desk:
        assert [result.status for result in desk.queue.finish()] == ["added"]
