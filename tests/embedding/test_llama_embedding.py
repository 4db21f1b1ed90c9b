"""A text model as a LlamaIndex embedding."""

from __future__ import annotations

import numpy as np

from docmind.embedding.chunking import embedded_text
from docmind.embedding.llama_embedding import TextEmbedding
from docmind_testkit import FakeEmbedder
from loops import run_async

FAKE = FakeEmbedder()
MODEL = TextEmbedding(FAKE)


def test_questions_and_texts_have_the_vectors_of_the_model() -> None:
    assert MODEL.get_query_embedding("Where do herons nest?") == FAKE.embed_query("Where do herons nest?").tolist()
    texts = [f"text {number}" for number in range(150)]  # more than a batch
    assert np.array_equal(np.array(MODEL.get_text_embedding_batch(texts), np.float32), FAKE.embed_documents(texts))
    assert MODEL.get_text_embedding("a") == MODEL.get_text_embedding_batch(["a"])[0]


def test_texts_are_cleaned_as_the_windows_of_a_vault_are() -> None:
    window = "Chapter one ........ 12\n\n_____ end"
    wanted = FAKE.embed_documents([embedded_text("label", window)])[0]
    assert MODEL.get_text_embedding(f"label. {window}") == wanted.tolist()


def test_asynchronous_calls_give_the_same() -> None:
    async def both() -> tuple[list[float], list[list[float]]]:
        return await MODEL.aget_query_embedding("a b"), await MODEL.aget_text_embedding_batch(["a", "b"])

    query, texts = run_async(both())
    assert query == MODEL.get_query_embedding("a b")
    assert texts == MODEL.get_text_embedding_batch(["a", "b"])
    assert run_async(MODEL.aget_text_embedding("a")) == texts[0]


def test_a_model_is_serialized_by_its_fingerprint() -> None:
    written = MODEL.to_dict()
    assert (written["model_name"], written["fingerprint"]) == ("fake", FAKE.fingerprint)
    assert "embedder" not in written
