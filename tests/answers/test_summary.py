"""The arithmetic of summaries: even samples, centrality, variety, and words where there is no text model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from desks import opened
from docmind.answers.summary import Summarizer, _by_words, _page_rank, _sample, _windows
from docmind.application import DocMind
from docmind.documents import NodeRecord
from docmind.records.documents import Upload
from docmind_testkit import FakeEmbedder

STORKS = """The storks of the village nest on the chimney of the old school. The village counts its storks every spring.
Children of the village feed the young storks of the school. A baker sells bread beside the bridge.
The storks leave the village at the end of the summer."""


def node(number: int) -> NodeRecord:
    return NodeRecord(f"n{number}", "d", number, 0, 0, 1, "text", "en", b"")


def test_a_long_document_is_sampled_evenly() -> None:
    nodes = [node(number) for number in range(1, 1_001)]
    some = [one.page_no for one in _sample(nodes, 400)]
    assert (len(some), some[0], some[-1]) == (400, 1, 1_000)
    assert set(np.diff(some)) == {2, 3}
    assert _sample(nodes[:10], 400) == nodes[:10]


def test_the_window_that_is_like_the_others_is_central() -> None:
    vectors = np.array([[1, 0, 0], [0.8, 0.6, 0], [0, 1, 0], [0, 0, 1]], np.float32)
    ranks = _page_rank(vectors @ vectors.T)
    assert int(np.argmax(ranks)) == 1
    assert int(np.argmin(ranks)) == 3
    assert float(ranks.sum()) == pytest.approx(1, abs=1e-6)


def test_windows_that_say_the_same_are_chosen_last() -> None:
    vectors = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    assert _windows(vectors, np.array([1.0, 0.9, 0.8]), np.arange(3)) == [0, 2, 1]


def test_vectors_of_words_have_unit_length() -> None:
    vectors = _by_words(["storks nest", "storks nest", "bread", "…"])
    assert vectors @ vectors[0] == pytest.approx([1, 1, 0, 0])


class BrokenEmbedder(FakeEmbedder):
    """A text model whose weights were lost after the documents were embedded."""

    def embed_documents(self, texts: object) -> np.ndarray:
        raise OSError("its file is gone")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[DocMind]:
    with opened(tmp_path) as docmind:
        docmind.add([Upload("storks.txt", STORKS.encode())])
        yield docmind


@pytest.mark.slow
def test_words_decide_where_the_text_model_is_lost(desk: DocMind) -> None:
    summarizer = Summarizer(desk.vault.catalog, desk.vault.nodes, BrokenEmbedder())
    summary = summarizer.summarize(desk.documents.find("storks.txt"))
    assert [part.stage for part in summary.degraded] == ["dense"]
    said = [" ".join(source.quote.split()) for _, source in summary.parts]
    assert said
    assert not any("baker" in one for one in said)
