"""Visual search in the sidebar over a real vault, without a browser."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from docmind.application import DocMind
from docmind.errors import NotFoundError
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Degraded, MultimodalResult
from docmind.ui.app import page_view, state
from docmind.ui.app.app_state import app_state
from docmind.ui.app.guard import inline_script_sources
from docmind.ui.app.page_links import reader_link
from docmind.ui.chat import visual_search as picture
from docmind.ui.chat.visual_search import PictureSearch
from sheets import png, sheet

HOSTILE = "![x](http:⁄⁄127.0.0.1:9⁄c.png) :red[r] $x$ <img src=x> [l](javascript:1) :material⁄home: www.a.com.png"
WAIT_S = 60


@pytest.fixture(scope="module", autouse=True)
def vault(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    """Make a vault with three pages, one of them of a document with a hostile name."""
    folder = tmp_path_factory.mktemp("pictures")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCMIND_DATA_DIR", str(folder / "data"))
        patch.setenv("DOCMIND_KEYS__SOURCE", "file")
        patch.setenv("DOCMIND_KEYS__FILE", str(folder / "docmind.key"))
        patch.setenv("DOCMIND_EMBEDDING__MODEL", "fake")
        patch.setenv("DOCMIND_LLM__PROVIDER", "off")
        patch.setenv("DOCMIND_READING__OCR", "off")
        patch.setenv("DOCMIND_READING__WORKERS", "1")
        app_state.clear()
        mind = app_state().open()
        empty = run(AppTest.from_function(page, default_timeout=60))
        assert "Once there are documents" in told(empty)
        assert not [button for button in empty.button if button.key == "picture-paste"]
        mind.add([Upload(name, png(sheet(seed))) for seed, name in enumerate(("one.png", HOSTILE, "three.png"), 1)])
        mind.lookalike.catch_up()
        yield mind
        app_state.clear()


def page() -> None:
    import streamlit as st

    from docmind.ui.app.app_state import app_state
    from docmind.ui.chat import conversation
    from docmind.ui.chat import visual_search as picture

    mind = app_state().open()
    with st.sidebar:
        picture.draw(mind)
    picture.draw_results(mind)
    conversation.draw_question_box(mind, None, mind.documents.all(), takes=True)


def looking_for(sought: bytes, name: str = "shot.png", words: str = "") -> AppTest:
    """Return the page after a search for a picture has ended."""
    test = AppTest.from_function(page, default_timeout=60)
    search = PictureSearch(app_state().open(), sought, name=name, words=words)
    assert over(search)
    test.session_state[state.PICTURE] = search
    return run(test)


def over(search: PictureSearch) -> bool:
    """Wait for the end of a search, and return whether it came."""
    ended = threading.Event()
    for _ in range(WAIT_S * 20):
        if search.now.is_over:
            return True
        ended.wait(0.05)
    return False


def run(test: AppTest) -> AppTest:
    test.run()
    assert not test.exception
    return test


def click(test: AppTest, key: str) -> AppTest:
    test.button(key=key).click()
    return run(test)


def told(test: AppTest) -> str:
    return "\n".join(str(part.value) for part in (*test.caption, *test.error, *test.markdown))


def crop(seed: int = 1) -> bytes:
    return png(sheet(seed).crop((80, 400, 900, 1_000)))


@pytest.mark.slow
def test_a_page_is_found_opened_and_asked_about() -> None:
    test = looking_for(crop())
    assert "Found on this page" in told(test)
    hit = test.session_state[state.PICTURE].now.result.hits[0]
    assert (hit.document, hit.page_no, hit.found) == ("one.png", 1, True)
    assert f"[Page 1]({reader_link(hit.doc_id, 1, quad=hit.quad)})" in told(test)
    click(test, "picture-ask-1")
    assert test.session_state[state.FILTER_DOCUMENTS] == [hit.doc_id]
    assert test.button(key="filters-none").label == "Search all"
    assert "Found on this page" not in told(test), "the pages make room for the question"
    click(test, "picture-show")
    assert "Found on this page" in told(test)
    click(test, "filters-none")
    assert test.session_state[state.FILTER_DOCUMENTS] == []
    click(test, "picture-clear")
    assert state.PICTURE not in test.session_state
    assert not [button for button in test.button if button.key == "picture-clear"]


@pytest.mark.slow
def test_words_with_the_picture_look_for_it_anew() -> None:
    test = looking_for(crop())
    before = test.session_state[state.PICTURE]
    test.text_input(key=state.PICTURE_WORDS).set_value("  heron figures ")
    run(test)
    now = test.session_state[state.PICTURE]
    assert now is not before
    assert (now.picture, now.words) == (before.picture, "heron figures")
    assert over(now)
    assert now.now.result.query == "heron figures"


def weaker() -> None:
    from dataclasses import replace

    import streamlit as st

    from docmind.ui.app import state
    from docmind.ui.app.app_state import app_state
    from docmind.ui.chat import visual_search

    hit = st.session_state[state.PICTURE].now.result.hits[0]
    for one in (hit, replace(hit, rank=2, found=False)):
        visual_search._draw_page(app_state().open(), one, st.container(), st.container())


@pytest.mark.slow
def test_a_page_that_is_no_sure_match_has_no_outline() -> None:
    search = looking_for(crop()).session_state[state.PICTURE]
    hit = search.now.result.hits[0]
    assert hit.quad
    test = AppTest.from_function(weaker, default_timeout=60)
    test.session_state[state.PICTURE] = search
    links = [part.value for part in run(test).markdown if part.value.startswith("[Page")]
    assert links == [f"[Page 1]({reader_link(hit.doc_id, 1, quad=quad)})" for quad in (hit.quad, ())]


@pytest.mark.slow
def test_what_no_page_looks_like_is_said_to_be_so() -> None:
    test = looking_for(png(Image.effect_noise((700, 500), 90).convert("RGB")))
    assert re.search("No page looks like this|No sure match", told(test))
    assert "Found on" not in told(test)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sought", "sentence"),
    [
        (b"", "empty"),
        (b"\x89PNG\r\n\x1a\nnothing", "broken"),
        (b"%PDF-1.4 a PDF by its first bytes", "not a picture"),
        (png(Image.new("RGB", (1, 40))), "too small"),
    ],
)
def test_a_file_that_is_no_picture_is_one_sentence(sought: bytes, sentence: str) -> None:
    test = looking_for(sought, name=HOSTILE)
    assert len(test.error) == 1
    assert sentence in test.error[0].value
    assert_escaped(test)
    click(test, "picture-clear")
    assert not test.error


@pytest.mark.slow
def test_hostile_names_are_escaped_wherever_they_stand() -> None:
    test = looking_for(crop(2), name=HOSTILE)
    assert "Found on" in told(test)
    assert test.session_state[state.PICTURE].now.result.hits[0].document == HOSTILE
    assert told(test).count("127") >= 1
    assert_escaped(test)
    click(test, "picture-ask-1")
    assert_escaped(test)


def assert_escaped(test: AppTest) -> None:
    for text in (*told(test).split("\n"), *(button.label for button in test.button)):
        left = re.sub(r"\\.|\]\(#read=[\w.&=-]+\)", "", re.sub(r":(material/\w+|green\[):?", "", text))
        for bad in ("![", "](", "red[", "<", "$", "://"):
            assert bad not in left, (bad, text)


@pytest.mark.slow
def test_a_page_that_is_deleted_under_the_result_leaves_a_line(vault: DocMind) -> None:
    vault.add([Upload("short lived.png", png(sheet(9)))])
    vault.lookalike.catch_up()
    test = looking_for(crop(9))
    hit = test.session_state[state.PICTURE].now.result.hits[0]
    vault.erasures.erase([hit.doc_id])
    page_view.drop_images()
    assert "short lived, page 1: no longer in the library" in told(run(test))
    assert "#read=" not in told(test)


@pytest.mark.slow
def test_a_search_is_repeated_once_pages_are_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    test = AppTest.from_function(page, default_timeout=60)
    test.session_state[state.PICTURE] = search = PictureSearch(WithUnseen(), crop(), name="shot.png")  # type: ignore[arg-type]
    assert over(search)
    monkeypatch.setattr(app_state().open().lookalike, "missing", lambda: 3)
    assert "Still preparing 3 pages for picture search; this may be among them." in told(run(test))
    assert test.session_state[state.PICTURE] is search
    monkeypatch.setattr(app_state().open().lookalike, "missing", lambda: 0)
    run(test)
    assert test.session_state[state.PICTURE] is not search
    assert over(test.session_state[state.PICTURE])
    assert "Found on this page" in told(run(test))
    assert "Still preparing" not in told(test)


class WithUnseen:
    """A facade that has processed only some of its page images."""

    def search(self, query: Query, **options: Any) -> MultimodalResult:
        return MultimodalResult("", (), degraded=(Degraded("unprepared", "Still preparing 3 pages."),))


class Slow:
    """A facade whose search by picture waits after its first result until it is released."""

    def __init__(self, *, fails: bool = False) -> None:
        self.seen_first, self.goes_on, self.over = threading.Event(), threading.Event(), threading.Event()
        self._fails = fails

    def search(self, query: Query, *, on_first: Any) -> MultimodalResult:
        try:
            on_first(MultimodalResult("first", (), is_final=False))
            self.seen_first.set()
            assert self.goes_on.wait(WAIT_S)
            if self._fails:
                raise NotFoundError("It went.")
            return MultimodalResult("last", ())
        finally:
            self.over.set()


@pytest.mark.slow
@pytest.mark.parametrize("stops", [False, True])
def test_the_first_result_is_replaced_by_the_last(stops: bool) -> None:
    slow = Slow()
    search = PictureSearch(slow, b"", name="")  # type: ignore[arg-type]
    first = search.first(WAIT_S)
    assert first.result is not None
    assert (first.result.query, first.is_over) == ("first", False)
    if stops:
        search.stop()
        search.stop()
    slow.goes_on.set()
    assert slow.over.wait(WAIT_S)
    assert over(search)
    now = search.now
    assert now.result is not None
    assert (now.result.query, now.is_stopped, now.error) == (("first", True, None) if stops else ("last", False, None))


@pytest.mark.slow
def test_an_error_after_the_first_look_keeps_what_was_found() -> None:
    slow = Slow(fails=True)
    search = PictureSearch(slow, b"", name="")  # type: ignore[arg-type]
    slow.goes_on.set()
    assert over(search)
    assert search.now.result is not None
    assert "It went." in str(search.now.error)


@pytest.mark.slow
def test_a_mistake_ends_the_search_with_a_sentence() -> None:
    search = PictureSearch(object(), b"", name="")  # type: ignore[arg-type]
    assert over(search)
    assert "error in DocMind" in str(search.now.error)


def test_the_policy_knows_the_script_that_is_sent() -> None:
    """The browser gets exactly the text that was read; another digest would block the script."""
    assert inline_script_sources(picture.SCRIPT).count("sha256-") == 1
    text = picture.SCRIPT.read_text("utf-8")
    assert text.encode() == picture.SCRIPT.read_bytes()
    body = text.removeprefix("<script>").removesuffix("</script>\n")
    assert not re.search(r"<[/\w!]", body), "the sanitiser of the browser takes such a script out"
