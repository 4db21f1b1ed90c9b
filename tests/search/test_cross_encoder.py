"""A cross-encoder after fusion: a small random checkpoint on a real engine, and what happens without it."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from desks import settings_in, text_pdf
from docmind.application import DocMind
from docmind.config import RetrieveSettings, VisualSettings
from docmind.records.documents import Upload
from docmind.records.search import STARTING, SearchResult
from docmind.search import cross_encoder
from looking import wait_for
from tinysentences import tiny_cross_encoder

PAGES = ["Herons nest in tall poplar trees", "Their eggs are pale blue", "The court held that notice was required"]
HERONS = Upload("herons.pdf", text_pdf([*PAGES, "Bake the rye bread slowly for ninety minutes"]))
QUESTION = "pale blue eggs"


def vault(tmp_path: Path, **retrieve: Any) -> DocMind:
    waits = {"cross_encoder_budget_s": 120, "start_timeout_s": 120}
    wanted = RetrieveSettings.model_validate({"cross_encoder": "judge", **waits, **retrieve})
    visual = VisualSettings(models_dir=tmp_path / "models", image_model="off", late_model="off")
    return DocMind(settings_in(tmp_path, retrieve=wanted, visual=visual))


def pages_of(found: SearchResult) -> list[int]:
    return [hit.page_no for hit in found.hits]


@pytest.mark.slow
def test_the_first_pages_stand_in_its_order_and_without_it_as_before(tmp_path: Path) -> None:
    tiny_cross_encoder(tmp_path / "models" / "judge")
    with vault(tmp_path, cross_encoder="") as desk:
        desk.add([HERONS])
        plain = desk.search(QUESTION)
        assert [hit.rerank_score for hit in plain.hits] == [None] * 4
        assert "cross_encoder" not in dict(plain.timings_ms)
    with vault(tmp_path) as desk:
        judged = desk.search(QUESTION)
        told = [hit.rerank_score for hit in judged.hits if hit.rerank_score is not None]
        assert (len(told), judged.degraded) == (4, ())
        assert told == sorted(told, reverse=True)
        assert pages_of(judged) != pages_of(plain)
        assert [hit.score for hit in judged.hits] == [hit.score for hit in plain.hits]  # those of the places
        place = {rank.ranking: rank for rank in judged.hits[0].ranks}
        assert (place["cross_encoder"].rank, place["cross_encoder"].score) == (1, told[0])
        assert list(place)[-1] == "cross_encoder"
    with vault(tmp_path, cross_encoder_pages=2) as desk:
        some = desk.search(QUESTION)
        assert pages_of(some)[2:] == pages_of(plain)[2:]
        assert [hit.rerank_score is None for hit in some.hits] == [False, False, True, True]
    shutil.rmtree(tmp_path / "models" / "judge")
    with vault(tmp_path) as desk:
        lost = desk.search(QUESTION)
        assert pages_of(lost) == pages_of(plain)
        assert [(lack.stage, "no folder 'judge'" in lack.reason) for lack in lost.degraded] == [("cross-encoder", True)]


@pytest.mark.slow
def test_a_search_does_not_wait_longer_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()

    class Slow:
        is_ready = False

        def warm(self) -> None:
            self.is_ready = True

        def scores(self, question: str, texts: list[str]) -> None:
            is_over.wait(60)

        def close(self) -> None:
            is_over.set()

    monkeypatch.setattr(cross_encoder, "open_cross_encoder", lambda settings, name: Slow())
    with vault(tmp_path, cross_encoder_budget_s=0.2) as desk:
        desk.add([HERONS])
        first, second = desk.search(QUESTION), desk.search(QUESTION)
        assert pages_of(first) == pages_of(second)
        assert [lack.reason for lack in first.degraded] == ["It took longer than 0.2 s."]
        assert [lack.reason for lack in second.degraded] == ["It is not back from an earlier search yet."]


@pytest.mark.slow
def test_its_start_has_a_limit_of_its_own(tmp_path: Path) -> None:
    """A real checkpoint takes seconds to start: the limit of a search is not for that, and `warm` is not waited for."""
    tiny_cross_encoder(tmp_path / "models" / "judge")
    with vault(tmp_path, start_timeout_s=0.01) as desk:
        desk.add([HERONS])
        cold = [desk.search(QUESTION) for _ in range(2)]
        assert {lack.reason for found in cold for lack in found.degraded} == {STARTING}
        desk.start_models()
        wait_for(lambda: desk.text_search._judge is not None and desk.text_search._judge._is_ready, 120)
        assert desk.search(QUESTION).degraded == ()
    with vault(tmp_path, cross_encoder_budget_s=2, start_timeout_s=120) as desk:
        assert desk.search(QUESTION).degraded == ()
