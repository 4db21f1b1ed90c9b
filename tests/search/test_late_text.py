"""Late interaction over pages: on a real vault, the text model without weights."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from desks import opened, text_pdf
from docmind.application import DocMind
from docmind.config import RetrieveSettings
from docmind.embedding.base import QueryTokens
from docmind.embedding.registry import TEXT_MODELS
from docmind.errors import ConfigError, DamagedError
from docmind.records.documents import Upload
from docmind.search.late_text import Rerank
from docmind_testkit import FakeEmbedder
from libraries import Library

LONG = " ".join(f"filler{n}" for n in range(300)) + " pale blue eggs of the heron " + "more " * 150
BIRDS = Upload("birds.txt", LONG.encode())
LAW = Upload("law.pdf", text_pdf(["The controller pays the damage", "Appeals go to the court"]))


@pytest.fixture(scope="module")
def library() -> Library:
    return Library("birds and law", [BIRDS, LAW])


def reranker(docmind: DocMind) -> Rerank:
    rerank = docmind.text_search.rerank
    assert rerank is not None
    return rerank


def asked(docmind: DocMind, question: str) -> QueryTokens:
    embedder = docmind.text_search._tokens
    assert embedder is not None
    return embedder.embed_query_with_tokens(question)[1]


def page_ids(docmind: DocMind) -> dict[str, tuple[str, ...]]:
    return {f"{info.doc_id}::page::{n}": () for info in docmind.documents.all() for n in range(1, info.pages + 1)}


def forget_tokens(docmind: DocMind, *, all_but: int = 0) -> None:
    with docmind.vault.database.transaction() as db:
        db.execute(
            "DELETE FROM tokens WHERE content_hash NOT IN (SELECT content_hash FROM tokens ORDER BY 1 LIMIT ?)",
            (all_but,),
        )


def token_rows(docmind: DocMind) -> list[tuple[bytes, bytes]]:
    return docmind.vault.database.all("SELECT content_hash, tokens FROM tokens ORDER BY content_hash")


@pytest.mark.slow
def test_a_page_is_as_like_as_its_best_window(docmind: DocMind) -> None:
    found = reranker(docmind).likeness(asked(docmind, "pale blue eggs"), page_ids(docmind))
    birds = docmind.documents.find("birds.txt").doc_id
    best, *others = found.nodes[f"{birds}::page::1"]
    assert others, "the page has several windows"
    assert "pale blue eggs" in docmind.documents.page(birds, 1).text[best.start : best.end]
    assert found.pages[f"{birds}::page::1"] == pytest.approx(1.0, abs=0.02)
    assert max(found.pages, key=lambda page: found.pages[page]) == f"{birds}::page::1"
    assert found.missing == 0


@pytest.mark.slow
def test_pages_without_token_vectors_are_counted_unscored(docmind: DocMind) -> None:
    forget_tokens(docmind)
    found = reranker(docmind).likeness(asked(docmind, "pale blue eggs"), page_ids(docmind))
    assert (found.pages, found.nodes, found.missing) == ({}, {}, 3)


@pytest.mark.slow
def test_pages_that_are_gone_are_neither_found_nor_missed(docmind: DocMind) -> None:
    found = reranker(docmind).likeness(asked(docmind, "eggs"), {"0" * 32 + "::page::1": ("none",)})
    assert (found.pages, found.missing) == ({}, 0)


@pytest.mark.slow
def test_damaged_token_vectors_are_an_error(docmind: DocMind) -> None:
    with docmind.vault.database.transaction() as db:
        db.execute("UPDATE tokens SET tokens = X'0120FFFF00'")
    with pytest.raises(DamagedError):
        reranker(docmind).likeness(asked(docmind, "eggs"), page_ids(docmind))


@pytest.mark.slow
def test_filling_makes_what_adding_would_have_made_once(docmind: DocMind) -> None:
    before = token_rows(docmind)
    forget_tokens(docmind, all_but=1)
    told: list[tuple[int, int]] = []
    assert reranker(docmind).fill(lambda done, total: told.append((done, total))) == len(before) - 1
    assert token_rows(docmind) == before
    assert told == [(1, 2), (2, 2)]
    assert reranker(docmind).fill() == 0


@pytest.mark.slow
def test_reindexing_fills_a_vault_that_is_older(docmind: DocMind) -> None:
    before = token_rows(docmind)
    forget_tokens(docmind)
    [degraded] = docmind.search("pale blue eggs").degraded
    assert degraded.stage == "late interaction"
    assert "docmind reindex" in degraded.reason
    assert docmind.reindex() == 2
    assert token_rows(docmind) == before
    assert docmind.search("pale blue eggs").degraded == ()


@pytest.mark.slow
def test_a_fill_that_is_cut_off_goes_on_where_it_was(docmind: DocMind) -> None:
    before = token_rows(docmind)
    forget_tokens(docmind)

    def cut(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reranker(docmind).fill(cut)
    rest = len(before) - len(token_rows(docmind))
    assert 0 < rest < len(before)
    assert reranker(docmind).fill() == rest
    assert token_rows(docmind) == before


class Halting(FakeEmbedder):
    """A model that cannot embed, though its tokenizer works."""

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        raise ConfigError("The text model cannot be converted.")


@pytest.mark.slow
def test_an_index_is_built_anew_also_where_filling_fails(
    tmp_path: Path, docmind: DocMind, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_tokens(docmind)
    docmind.close()
    shutil.rmtree(tmp_path / "data" / "index")
    monkeypatch.setitem(TEXT_MODELS, "fake", lambda _settings: Halting())
    with opened(tmp_path) as docmind:
        with pytest.raises(ConfigError):
            docmind.reindex()
        assert docmind.status().index_epoch == docmind.status().vault_epoch
        assert token_rows(docmind) == []


@pytest.mark.slow
def test_a_vault_without_late_interaction_holds_no_token_vectors(tmp_path: Path) -> None:
    with opened(tmp_path, retrieve=RetrieveSettings(rerank="off")) as docmind:
        docmind.add([LAW])
        assert token_rows(docmind) == []
        assert docmind.text_search.rerank is None
        assert docmind.reindex() == 1
        assert token_rows(docmind) == []
        assert docmind.search("court").degraded == ()


@pytest.mark.slow
def test_matches_are_the_words_that_were_asked_for(docmind: DocMind) -> None:
    birds = docmind.documents.find("birds.txt").doc_id
    rerank = reranker(docmind)
    question = asked(docmind, "eggs, but pale")
    best = rerank.likeness(question, {f"{birds}::page::1": ()}).nodes[f"{birds}::page::1"][0]
    text = docmind.documents.page(birds, 1).text[best.start : best.end]
    assert [text[start:end] for start, end in rerank.matches(question, best)] == ["pale", "eggs"]
    forget_tokens(docmind)
    assert rerank.matches(question, best) == []


@pytest.mark.slow
def test_words_of_the_label_are_no_matches_in_the_text(docmind: DocMind) -> None:
    law = docmind.documents.find("law.pdf").doc_id
    node = docmind.vault.nodes.of_page(law, 2)[0]
    assert reranker(docmind).matches(asked(docmind, "law"), node) == []
    assert np.array(reranker(docmind).matches(asked(docmind, "law court"), node)).tolist() == [[18, 23]]


@pytest.mark.slow
def test_the_best_passage_of_each_page_is_compared_with_the_question(docmind: DocMind) -> None:
    question = "who answers for losses"
    embedder, kept = docmind.embedder, docmind.vault.passage_vectors
    vector = embedder.embed_query(question)
    law, birds = (docmind.documents.find(name).doc_id for name in ("law.pdf", "birds.txt"))
    first, second = f"{law}::page::1", f"{law}::page::2"
    kept.put(embedder.fingerprint, law, 1, ["far", "near"], np.stack([-vector, vector]))
    kept.put(embedder.fingerprint, law, 2, ["far"], -vector[None])
    kept.put(embedder.fingerprint, birds, 1, [], np.zeros((0, embedder.dim), np.float32))
    found = reranker(docmind).likeness(asked(docmind, question), page_ids(docmind), vector=vector, language="en")
    assert found.passages == pytest.approx({first: 1.0, second: -1.0}), "in standard deviations from their mean"
    assert reranker(docmind).likeness(asked(docmind, question), page_ids(docmind)).passages == {}


@pytest.mark.slow
def test_best_passages_of_pages_in_other_languages_are_compared_with_each_other(docmind: DocMind) -> None:
    """Their cosines are lower than those of pages in the question's language, whatever they say."""
    embedder, kept = docmind.embedder, docmind.vault.passage_vectors
    vector = embedder.embed_query("who answers for losses")
    across = np.roll(vector, 1) - vector * float(np.roll(vector, 1) @ vector)
    law, birds = (docmind.documents.find(name).doc_id for name in ("law.pdf", "birds.txt"))
    for doc_id, page_no, cosine in ((birds, 1, 0.9), (law, 1, 0.3), (law, 2, 0.1)):
        row = cosine * vector + (1 - cosine**2) ** 0.5 * across / np.linalg.norm(across)
        kept.put(embedder.fingerprint, doc_id, page_no, ["a"], row[None])
    with docmind.vault.database.transaction() as db:
        db.execute("UPDATE nodes SET language = CASE doc_id WHEN ? THEN 'en' ELSE 'pt' END", (birds,))
    tokens = asked(docmind, "who answers for losses")
    found = reranker(docmind).likeness(tokens, page_ids(docmind), vector=vector, language="en")
    near = {f"{birds}::page::1": 0.0, f"{law}::page::1": 1.0, f"{law}::page::2": -1.0}
    assert found.passages == pytest.approx(near)


@pytest.mark.slow
def test_a_search_puts_the_page_of_the_nearest_passage_first(docmind: DocMind) -> None:
    question = "the court pays"
    embedder, kept = docmind.embedder, docmind.vault.passage_vectors
    vector = embedder.embed_query(question)
    law, birds = (docmind.documents.find(name).doc_id for name in ("law.pdf", "birds.txt"))
    pages = [(birds, 1), (law, 1), (law, 2)]
    for nearest in pages[1:]:
        for page in pages:
            kept.put(embedder.fingerprint, *page, ["a"], (vector if page == nearest else -vector)[None])
        (hit, *_others) = docmind.search(question).hits
        assert (hit.doc_id, hit.page_no) == nearest
