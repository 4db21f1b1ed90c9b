"""Image models of random weights beside words: what says nothing about a question changes no rank and no outcome."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from desks import settings_in
from docmind.application import DocMind
from docmind.config import EmbeddingSettings, VisualSettings
from docmind.embedding.minilm import default_cache_dir
from docmind.records.answers import Answer
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import MultimodalResult
from tinymodels import tiny_colpali, tiny_siglip

pytestmark = pytest.mark.slow
DATA: dict[str, Any] = json.loads((Path(__file__).parent.parent / "answers" / "everyday.json").read_text("utf-8"))
FILES = {name: text for name, text in DATA["files"].items() if not name.endswith(".docx")}
ASKED = [*(row["question"] for row in DATA["questions"] if row["file"] in FILES)][::3] + DATA["outside"][::5]
FOURS = [list(FILES)[at : at + 4] for at in (0, 4, 8, 12, 16)]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    """Twenty small files, none prepared; both models are there with random weights."""
    folder = tmp_path_factory.mktemp("random")
    tiny_siglip(folder / "models" / "siglip")
    tiny_colpali(folder / "models" / "colpali")
    settings = settings_in(
        folder, embedding=EmbeddingSettings(model="minilm"), cache_dir=default_cache_dir(),
        visual=VisualSettings(models_dir=folder / "models", list_timeout_s=60),
    )  # fmt: skip
    with DocMind(settings) as docmind:
        assert {one.status for one in docmind.add([Upload(name, text.encode()) for name, text in FILES.items()])} == {
            "added"
        }
        yield docmind


def ranks(found: MultimodalResult) -> list[tuple[str, float]]:
    return [(hit.page_id, hit.score) for hit in found.hits]


def essence(answer: Answer) -> tuple[object, ...]:
    return answer.outcome, [(one.page_id, one.quote) for one in answer.sources if one.kind == "quote"]


def test_any_four_prepared_documents_change_no_rank(desk: DocMind) -> None:
    before = {question: ranks(desk.search(question)) for question in ASKED}
    colpali = desk.visual.enable("colpali").fingerprint
    for four in FOURS:
        desk.visual.embed("colpali", [desk.documents.find(name).doc_id for name in four])
        for question in ASKED:
            found = desk.search(question)
            assert {one.list: (one.state, one.count) for one in found.lists}["visual"] == ("ran", 4)
            assert ranks(found) == before[question], (question, four)
        desk.visual.late_store.drop(colpali)


def test_models_that_know_nothing_change_no_outcome(desk: DocMind) -> None:
    seen = 0
    for name in ("colpali", "siglip"):
        desk.visual.enable(name)
        desk.visual.embed(name)
    outcomes = Counter[str]()
    for question in ASKED:
        plain = desk.ask(Query(question, lists=("text",)))  # its scores are those of the words
        answer = desk.ask(question)
        assert essence(answer) == essence(plain), question
        outcomes[plain.outcome] += 1
        found = desk.search(question)
        assert {one.state for one in found.lists if one.list in ("image", "visual")} == {"ran"}
        assert ranks(found) == ranks(desk.search(Query(question, lists=("text", "code"))))
        seen += bool(found.looks)
    assert outcomes.keys() == {"answer", "maybe", "not found"}
    assert seen <= 1  # pages that are near every question are not found by their look
