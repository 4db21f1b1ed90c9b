"""Image models in Settings and on the Documents page: a real vault, fake models, no browser."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from desks import report
from docmind.access import Launch
from docmind.records.documents import Upload
from docmind.ui.app.app_state import app_state
from docmind.ui.app.format import about, pace
from docmind.ui.app.routes import Routes
from docmind.ui.reader.served import ROUTES
from docmind.ui.settings.visual_models import measuring
from papers import pdf

RED = "0.86 0.12 0.12 rg 306 396 306 396 re f"  # the upper right quarter of a page


@pytest.fixture(autouse=True)
def vault(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the folder for models: it is empty."""
    for name, value in (
        ("EMBEDDING__MODEL", "fake"), ("LLM__PROVIDER", "off"), ("READING__OCR", "off"), ("READING__WORKERS", "1"),
        ("VISUAL__MODELS_DIR", str(tmp_path / "models")), ("STORAGE__MIN_FREE_MB", "1"),
    ):  # fmt: skip
        monkeypatch.setenv(f"DOCMIND_{name}", value)
    app_state.clear()
    measuring.clear()
    yield tmp_path / "models"
    app_state.clear()


def settings_page() -> None:
    from docmind.ui.app.app_state import app_state
    from docmind.ui.settings import visual_models

    mind, settings = app_state().open(), app_state().settings
    assert settings is not None
    visual_models.section(mind, settings)


def documents_page() -> None:
    from docmind.ui.app.app_state import app_state
    from docmind.ui.documents import embedding

    mind = app_state().open()
    embedding.draw_question(mind)
    embedding.progress(mind)
    embedding.offer(mind)


def opened(page: Callable[[], None]) -> AppTest:
    return run(AppTest.from_function(page, default_timeout=60))


def run(test: AppTest) -> AppTest:
    test.run()
    assert not test.exception
    return test


def said(test: AppTest) -> str:
    parts = [*test.markdown, *test.caption, *test.warning, *test.error, *test.code]
    shown = [str(part.value) for part in parts] + [button.label for button in test.button]
    shown += [bar.proto.text for bar in test.get("progress")]
    return re.sub(r"\\(.)", r"\1", "\n".join(shown)).replace("\u2060", "")


def click(test: AppTest, key: str) -> AppTest:
    test.button(key=key).click()
    return run(test)


def keys(test: AppTest) -> set[str]:
    return {button.key for button in test.button if button.key}


def until(test: AppTest, is_so: Callable[[], object]) -> AppTest:
    """Run the page, as it does by itself in a browser, until a condition holds."""
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end, said(test)
        time.sleep(0.05)
        run(test)
    return run(test)


def with_pages(*uploads: Upload) -> None:
    assert all(added.status == "added" for added in app_state().open().add(uploads or [report("heron", 3)]))


@pytest.mark.slow
def test_what_is_known_is_told_before_anything_is_fetched() -> None:
    test = opened(settings_page)
    words = said(test)
    for told in ("Find figures and photos by description", "siglip", "not fetched", "licence Apache-2.0"):
        assert told in words
    assert re.search(r"about 8\d\d MB to fetch", words)
    assert "DOCMIND_VISUAL__LATE_MODEL=" in words
    assert {"fetch-siglip", "fetch-colmodernvbert"} <= keys(test)
    assert not [key for key in keys(test) if key.startswith(("enable-", "disable-", "measure-"))]
    assert not test.error


def test_fetching_asks_first_and_says_where_it_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_VISUAL__HUB_URL", "http://127.0.0.1:9")  # nothing answers there
    test = click(opened(settings_page), "fetch-siglip")
    words = said(test)
    assert "connect to **127.0.0.1:9**" in words
    assert re.search(r"fetch about \*\*8\d\d MB\*\*", words)
    assert "only time it connects there" in words
    assert not app_state().open().visual.pulls(), "nothing was asked for yet"
    test = click(test, "fetch-yes")
    until(test, lambda: all(pull.is_over for pull in app_state().open().visual.pulls()))
    (pull,) = app_state().open().visual.pulls()
    assert pull.error
    assert len(test.error) == 1, "one sentence"
    assert pull.error.split(".")[0] in re.sub(r"\\(.)", r"\1", test.error[0].value).replace("\u2060", "")
    assert test.button(key="fetch-siglip").label == "Resume"


def test_a_broken_model_says_why(vault: Path) -> None:
    (vault / "siglip").mkdir(parents=True)
    (vault / "siglip" / "config.json").write_text("{")
    test = opened(settings_page)
    assert "broken" in said(test)
    assert "config.json is broken" in said(test)
    assert test.button(key="fetch-siglip").label == "Fetch again"


@pytest.mark.slow
def test_a_model_that_a_setting_names_is_measured_but_not_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_VISUAL__LATE_MODEL", "fake-late")
    with_pages()
    test = opened(settings_page)
    assert "time per page not measured here" in said(test)
    assert "0 of 3 pages done" in said(test)
    assert test.button(key="disable-fake-late").disabled
    test = click(test, "measure-fake-late")
    until(test, lambda: (now := measuring().now) is not None and now.is_over)
    words = said(test)
    assert "Measured on 3 pages (cpu, float32)" in words
    assert re.search(r"\d m?s a page here: 3 pages would take about \d+ s", words)


@pytest.mark.slow
def test_a_folder_that_goes_away_under_a_running_vault_is_told(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tinymodels import tiny_siglip

    hostile = vault / "![x](y) :red[r] $x$"
    hostile.mkdir(parents=True)
    monkeypatch.setenv("DOCMIND_VISUAL__IMAGE_MODEL", str(tiny_siglip(hostile)))
    test = opened(settings_page)
    assert "x-y-red-r-x" in said(test), "a name of letters and digits, made of that of the folder"
    assert "in use" in said(test)
    for path in hostile.iterdir():
        path.unlink()
    hostile.rmdir()
    words = said(run(test))
    assert "its files are gone" in words
    assert "Its directory has gone." in words
    told = [str(part.value) for part in [*test.markdown, *test.caption, *test.error]]
    for text in told:
        left = re.sub(r"\\.", "", text.replace(":material/", ""))
        for bad in ("![", "](", "red[", "$"):
            assert bad not in left, (bad, text)


@pytest.mark.slow
def test_pages_are_looked_at_when_the_user_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    test = opened(documents_page)
    assert not test.button, "without a model there is nothing to offer"
    app_state.clear()
    monkeypatch.setenv("DOCMIND_VISUAL__LATE_MODEL", "fake-late")
    with_pages()
    test = opened(documents_page)
    assert "3 pages to do with fake-late" in said(test)
    test = click(test, "embed-offer")
    assert "has not been measured" in said(test)
    test = click(test, "embed-no")
    assert not app_state().open().visual.embeddings()
    app_state().open().visual.bench("fake-late")
    test = click(test, "embed-offer")
    assert "each as measured on this computer: about **1 s**" in said(test)
    test = click(test, "embed-yes")
    until(test, lambda: all(job.is_over for job in app_state().open().visual.embeddings()))
    words = said(test)
    assert "**3 pages** looked at with fake-late" in words
    assert "Every page has been looked at by fake-late" in words
    (job,) = app_state().open().visual.embeddings()
    test = click(test, f"dismiss-{job.job_id}")
    assert "**3 pages** looked at" not in said(test)


@pytest.mark.slow
def test_a_paused_job_goes_on_after_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_VISUAL__LATE_MODEL", "fake-late")
    with_pages(report("heron", 40))
    visual = app_state().open().visual
    job_id = visual.submit_embedding("fake-late")
    visual.pause(job_id)
    until(opened(documents_page), lambda: app_state().open().visual.embedding(job_id).state in ("paused", "done"))
    assert app_state().open().visual.embedding(job_id).state == "paused"
    app_state.clear()
    test = opened(documents_page)
    assert "Paused with **fake-late**" in said(test)
    test = click(test, f"resume-{job_id}")
    until(test, lambda: app_state().open().visual.embedding(job_id).is_over)
    assert app_state().open().visual.embedding(job_id).pages_done == 40


@pytest.mark.slow
def test_the_reader_shows_a_page_with_its_heat_and_one_word_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCMIND_VISUAL__LATE_MODEL", "fake-late")
    with_pages(Upload("red.pdf", pdf([RED])))
    mind = app_state().open()
    (info,) = mind.documents.all()
    mind.visual.embed("fake-late")
    thread = mind.conversations.create()
    turn = mind.conversations.ask("Where is the red box, not blue?", thread_id=thread.thread_id)
    launch = Launch()
    launch.place("")
    app = Starlette(middleware=[Middleware(Routes, launch=launch, routes=ROUTES)])
    client, page = TestClient(app, base_url=f"http://127.0.0.1{launch.base}"), f"/-/page/{info.doc_id}/1"
    asked_in = f"from={thread.thread_id}.{turn.checkpoint_id}.0"
    assert client.get(f"{page}?{asked_in}").json()["heat"] is True
    heat = client.get(f"{page}/heat?{asked_in}").json()
    assert heat["strongest"] == "strongest at the upper right"
    assert (heat["model"], heat["words"], heat["word"]) == ("fake-late", ["red", "box", "blue"], "")
    alone = client.get(f"{page}/heat?{asked_in}&word=red").json()
    assert (alone["strongest"], alone["word"]) == ("strongest at the upper right", "red")
    assert alone["image"].startswith("data:image/jpeg;base64,")
    assert client.get(page).json()["heat"] is False, "without a question there is nothing to show"


@pytest.mark.parametrize(("ms", "said"), [(5_900_000, "98 min"), (6_100_000, "2 h"), (3.6e8, "100 h")])
def test_long_estimates_are_told_in_hours(ms: float, said: str) -> None:
    assert about(ms) == said


@pytest.mark.parametrize(("seconds", "said"), [(0.004, "4 ms"), (0.35, "0.35 s"), (2.44, "2.4 s"), (31.2, "31 s")])
def test_a_pace_keeps_what_matters(seconds: float, said: str) -> None:
    assert pace(seconds) == said


@pytest.mark.slow
def test_another_image_model_embeds_all_pages_on_request(vault: Path) -> None:
    from tinymodels import tiny_siglip

    (vault / "siglip").mkdir(parents=True)
    shutil.copytree(tiny_siglip(vault / "siglip"), vault / "siglip-384")
    with_pages()
    mind = app_state().open()
    done = mind.visual.embed("siglip")
    assert done.pages_added + done.pages_skipped == 3
    mind.visual.enable("siglip-384")
    test = opened(settings_page)
    assert "siglip finds pages until this one has looked at all of them." in said(test)
    test = click(test, "embed-siglip-384")
    until(test, lambda: all(job.is_over for job in mind.visual.embeddings()))
    assert "finds pages until this one" not in said(test)
    assert "3 of 3 pages done" in said(test)
