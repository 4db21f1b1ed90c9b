"""Embedding jobs: paused, resumed, interrupted by a crash, stopped by a budget; their counts add up."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from conftest import HELPERS, tiny_disk
from docmind.application import DocMind
from docmind.errors import NotFoundError, VaultError
from docmind.records.models import EmbeddingProgress
from docmind_testkit import FakeLateModel
from libraries import Library
from looking import album, looking, looking_in, wait_for
from tinymodels import tiny_colpali

COLOURS = ("red", "green", "blue", "yellow", "orange", "purple")


LIBRARY = Library("many colours", [album("many", *COLOURS), album("again", "red")], settings=looking_in)


def stocked(folder: Path) -> None:
    """Put a vault there with six different pages, and one more that looks like the first."""
    LIBRARY.copy_to(folder)


def slow(desk: DocMind, monkeypatch: pytest.MonkeyPatch, seconds: float = 0.05) -> threading.Event:
    """Slow the fake down; the event is set once it has begun a page."""
    begun = threading.Event()
    embed_images = FakeLateModel.embed_images

    def slowly(self: FakeLateModel, images):
        begun.set()
        time.sleep(seconds)
        return embed_images(self, images)

    monkeypatch.setattr(FakeLateModel, "embed_images", slowly)
    return begun


def sums_up(progress: EmbeddingProgress, pages: int) -> bool:
    done = progress.result
    return done is not None and done.pages_added + done.pages_skipped + done.pages_failed == pages


@pytest.mark.slow
def test_a_job_is_paused_gone_on_with_and_cancelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stocked(tmp_path)
    with looking(tmp_path) as desk:
        visual = desk.visual
        begun = slow(desk, monkeypatch)
        job = visual.submit_embedding("fake-late")
        assert visual.embedding(job).pages_total == 7
        begun.wait(10)
        visual.pause(job)
        wait_for(lambda: visual.embedding(job).state == "paused")
        halted = visual.embedding(job)
        assert 0 < halted.pages_done < 7
        assert len(desk.page_search.search_late("red", k=20).hits) >= halted.pages_done  # what is done is found
        visual.resume(job)
        wait_for(lambda: visual.embedding(job).is_over)
        over = visual.embedding(job)
        assert (over.state, over.pages_done, over.message) == ("done", 7, "")
        assert over.seconds_per_page is not None
        assert over.result is not None
        assert (over.result.pages_added, sums_up(over, 7)) == (7, True)

        other = visual.submit_embedding("fake-late", force=True)
        waiting = visual.submit_embedding("fake-late", force=True)
        visual.cancel(waiting)
        visual.cancel(other)
        wait_for(lambda: visual.embedding(other).is_over)
        assert {visual.embedding(one).state for one in (other, waiting)} == {"cancelled"}
        visual.resume(other)  # is over
        assert visual.embedding(other).state == "cancelled"
        for ask in (visual.embedding, visual.pause, visual.resume, visual.cancel):
            with pytest.raises(NotFoundError):
                ask("no such job")


@pytest.mark.slow
def test_a_closed_vault_keeps_its_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stocked(tmp_path)
    with looking(tmp_path) as desk:
        begun = slow(desk, monkeypatch)
        jobs = [desk.visual.submit_embedding("fake-late", force=force) for force in (False, True)]
        begun.wait(10)
    monkeypatch.undo()
    with looking(tmp_path) as desk:
        visual = desk.visual
        assert [one.job_id for one in visual.embeddings()] == jobs
        assert {one.state for one in visual.embeddings()} == {"paused"}
        assert visual.embedding(jobs[0]).pages_done > 0
        desk.erasures.erase([desk.documents.find("again.tiff").doc_id])
        for job in jobs:
            visual.resume(job)
        wait_for(lambda: all(one.is_over for one in visual.embeddings()))
        assert all(one.state == "done" and sums_up(one, one.pages_total) for one in visual.embeddings())
    with pytest.raises(VaultError):
        visual.submit_embedding("fake-late")


@pytest.mark.slow
def test_a_budget_pauses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stocked(tmp_path)
    with looking(tmp_path, budget_s=0.1) as desk:
        slow(desk, monkeypatch, 0.06)
        job = desk.visual.submit_embedding("fake-late")
        rounds = 0
        while desk.visual.embedding(job).state != "done":
            wait_for(lambda: desk.visual.embedding(job).state in ("paused", "done"))
            rounds += 1
            if desk.visual.embedding(job).state == "paused":
                assert "DOCMIND_VISUAL__BUDGET_S" in desk.visual.embedding(job).message
                desk.visual.resume(job)
        assert rounds > 1
        assert sums_up(desk.visual.embedding(job), 7)


CRASHING = """
import os, sys, time
from pathlib import Path
sys.path[:0] = {tests!r}
from looking import looking
with looking(Path({folder!r}), late_model="auto") as desk:
    job = desk.visual.submit_embedding("colpali")
    while desk.visual.embedding(job).pages_done < 2:
        time.sleep(0.002)
    print(job, flush=True)
    time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.crash
def test_killed_in_the_middle_it_goes_on_where_it_was(tmp_path: Path) -> None:
    """A real checkpoint in a child process; the owner is killed while pages are being embedded."""
    tiny_colpali(tmp_path / "models" / "colpali")
    stocked(tmp_path)
    code = CRASHING.format(tests=HELPERS, folder=str(tmp_path))
    owner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    job = owner.stdout.readline().strip()
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()
    owner.stdout.close()
    with looking(tmp_path, late_model="auto") as desk:
        visual = desk.visual
        before = visual.embedding(job)
        assert before.state in ("paused", "done")  # done where it was quicker than the kill
        kept = visual.estimate("colpali")[0]
        assert kept < 6
        visual.resume(job)
        wait_for(lambda: visual.embedding(job).is_over, 60)
        over = visual.embedding(job)
        assert (over.state, over.pages_done) == ("done", 7)
        assert sums_up(over, 7)
        assert visual.estimate("colpali") == (0, pytest.approx(0.0))
        assert len(desk.page_search.search_late("total revenue", k=20).hits) == 7
        doc_id = desk.documents.find("many.tiff").doc_id
        heat = desk.page_search.heat_map("total revenue", doc_id, 3)
        assert (heat.rows, heat.cols, len(heat.values)) == (8, 8, 64 * len(heat.tokens))


def free_at_rest(disk: Path) -> int:
    """Return how many bytes are free once that is the same twice: what is being written needs more for a moment."""
    before, now = -1, shutil.disk_usage(disk).free
    while now != before:
        time.sleep(0.3)
        before, now = now, shutil.disk_usage(disk).free
    return now


@pytest.mark.slow
@pytest.mark.crash
def test_what_a_full_disk_could_not_keep_is_not_counted(tmp_path: Path) -> None:
    with tiny_disk(tmp_path, megabytes=200) as disk:
        settings = looking_in(tmp_path).model_copy(update={"data_dir": disk / "data"})
        with DocMind(settings) as desk:
            desk.add([album("many", *COLOURS)])
            visual = desk.visual
            filler = disk / "filler"
            filler.write_bytes(bytes(free_at_rest(disk) - (900 << 10)))
            job = visual.submit_embedding("fake-late")
            wait_for(lambda: visual.embedding(job).state not in ("queued", "running"))
            halted = visual.embedding(job)
            assert (halted.state, halted.pages_done) == ("failed", 0)
            assert "Free some disk space" in halted.message
            filler.unlink()
            visual.resume(job)
            wait_for(lambda: visual.embedding(job).is_over and visual.embedding(job).state == "done")
            over = visual.embedding(job).result
            assert over is not None
            assert (over.pages_added, over.pages_skipped, over.pages_failed) == (6, 0, 0)
            assert len(desk.page_search.search_late("red", k=20).hits) == 6


@pytest.mark.slow
def test_searches_and_runs_at_once_harm_nobody(tmp_path: Path) -> None:
    """Two runs, the background and searches: each page is embedded, nothing is counted twice, nobody waits forever."""
    with DocMind(looking_in(tmp_path)) as desk:
        desk.add([album("many", *COLOURS)])
        desk.visual.follow()
        errors: list[BaseException] = []

        def work(ask) -> None:
            try:
                for _ in range(5):
                    ask()
            except BaseException as error:  # noqa: BLE001 - shown below
                errors.append(error)

        asks = [
            lambda: desk.visual.embed("fake-image", force=True),
            lambda: desk.visual.embed("fake-late"),
            lambda: desk.page_search.search_images("red"),
            lambda: desk.page_search.search_late("blue"),
            lambda: desk.search("page"),
            lambda: desk.visual.models(),
        ]
        threads = [threading.Thread(target=work, args=(ask,)) for ask in asks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not errors
        assert len(desk.page_search.search_images("red").hits) == 6
        assert len(desk.page_search.search_late("red").hits) == 6
