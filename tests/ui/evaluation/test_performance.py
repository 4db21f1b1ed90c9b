"""The page of performance: which stages are slow, and why, in words; the settings decide, not a clock."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from docmind.config import EmbeddingSettings, QdrantSettings, RetrieveSettings, Settings, StorageSettings
from docmind.observability import Stage, StageTimes
from docmind.records.conversations import ModelInfo, ModelList
from docmind.ui.evaluation.performance import is_slow, reasons


def docmind(folder: Path, *, is_busy: bool = False, model: ModelInfo | None = None, **changes: Any) -> Any:
    settings = Settings(data_dir=folder, storage=StorageSettings(min_free_mb=0)).model_copy(update=changes)
    return SimpleNamespace(
        settings=SimpleNamespace(now=settings),
        queue=SimpleNamespace(progress=lambda: SimpleNamespace(is_busy=is_busy)),
        models=SimpleNamespace(list=lambda: ModelList((), model)),
    )


def slow(stage: Stage) -> StageTimes:
    return StageTimes(stage, 9, 1.0, 1_000_000.0)


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.ui.evaluation.performance.free_bytes", lambda _folder: 10**12)


def test_nothing_is_named_where_nothing_is_slow(tmp_path: Path) -> None:
    quick = StageTimes("search", 9, 20.0, 80.0)
    assert not is_slow(quick)
    assert list(reasons(docmind(tmp_path), [quick], {})) == []


def test_each_cause_has_its_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.ui.evaluation.performance.free_bytes", lambda _folder: 10**9)
    one = docmind(
        tmp_path,
        is_busy=True,
        model=ModelInfo("ollama", "http://127.0.0.1:1", "parrot-7b"),
        retrieve=RetrieveSettings(cross_encoder="judge"),
        qdrant=QdrantSettings(url="http://index.example:6333/secret"),
        embedding=EmbeddingSettings(url="http://vectors.example"),
    )
    stages: tuple[Stage, ...] = ("answer", "visual", "embedding", "reading")
    told = list(reasons(one, [slow(stage) for stage in stages], {("image", "starting"): 2, ("visual", "timed out"): 1}))
    expected = (
        "2 searches came while a model was being started",
        "1 search gave up on a list",
        "A cross-encoder reads the first 25 pages",
        "Pages are looked at in parts",
        "The text model takes long",
        "another server: index.example.",
        "on a server: vectors.example.",
        "written by parrot-7b, on this computer",
        "nearly full: 1.0 GB",
        "Files are being read now",
        "OCR takes some seconds",
    )
    assert len(told) == len(expected)
    for words, sentence in zip(expected, told, strict=True):
        assert words in sentence
    assert "secret" not in " ".join(told), "of an address only its host"
