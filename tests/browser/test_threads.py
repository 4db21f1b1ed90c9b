"""Conversations in a real browser: rename, find, export, delete, go back, branch, compare."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pypdfium2
import pytest

from desks import plain_in
from docmind.application import DocMind
from docmind.records.documents import Upload
from libraries import Library, confirm
from papers import line, pdf
from served import App, Server, Tab, choose_in_menu, tab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

PAPER = pdf(
    [
        "\n".join(line(text, y=700 - 40 * at, size=13) for at, text in enumerate(page))
        for page in (
            [
                "The lantern range sold 41,000 pieces in the fourth quarter.",
                "Revenue rose by 18 percent to 3.2 million.",
            ],
            ["The deposit is two months of rent.", "The tenant gives notice three months ahead."],
            ["The warranty lasts for twenty-four months from the day of delivery."],
        )
    ]
)
LANTERNS, DEPOSIT, WARRANTY, NOTICE = (
    "How many lanterns were sold?",
    "How large is the deposit?",
    "How long does the warranty last?",
    "When does the tenant give notice?",
)
HOSTILE = "![x](http://127.0.0.1:9/c.png) :red[r] $x$ <img src=http://127.0.0.1:9/i> [l](http://127.0.0.1:9) www.a.com"
SLOW_LOOK = """() => {
  const own = requestAnimationFrame;
  window.requestAnimationFrame = (call) => own(call.name === "look" ? () => setTimeout(call, 2_000) : call);
}"""
OTHERS = (HOSTILE, "Second", "Third", "Fourth", "Fifth", "Sixth, whose name is far longer than a side bar is wide")


def _begin(docmind: DocMind) -> None:
    confirm(docmind)
    for title in OTHERS:
        docmind.conversations.create(title)


TITLES = Library("threads", [Upload("papers.pdf", PAPER)], _begin, plain_in)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start the app over one document and conversations that only have titles; no language model."""
    server = App(tmp_path_factory.mktemp("threads"), library=TITLES)
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


@pytest.fixture(scope="module")
def opened(browser: Any, server: Server) -> Iterator[Tab]:
    with tab(browser, server, accept_downloads=True, permissions=["clipboard-read", "clipboard-write"]) as one:
        yield one.open()


@pytest.fixture
def one(opened: Tab) -> Tab:
    """Return the tab of this module, with a new conversation."""
    opened.begin()
    return opened


def rows(one: Tab) -> Any:
    return one.page.locator('.st-key-threads [class*="st-key-show-"]')


def row(one: Tab, title: str) -> Any:
    return one.page.locator('.st-key-threads [class*="thread-"]', has=one.page.get_by_text(title, exact=True))


def choose(one: Tab, place: Any, name: str) -> None:
    """Choose an entry of a row's menu by keyboard, which must show the menu too."""

    def opened() -> None:
        place.get_by_role("button", name="Menu").focus()
        one.page.keyboard.press("Enter")

    choose_in_menu(one, opened, name)


def open_history(one: Tab) -> None:
    one.page.locator(".st-key-beside-choice-history button").first.click()
    one.page.locator(".st-key-history").wait_for()


def told(one: Tab, question: str) -> Any:
    """Return the line of a question in the history."""
    return one.page.locator('.st-key-history [class*="lane-"]', has=one.page.get_by_text(question, exact=True))


def questions(one: Tab) -> list[str]:
    """Return the questions that the conversation shows."""
    shown = one.page.locator('[data-testid="stChatMessage"] [data-testid="stText"]').all_inner_texts()
    return [text for text in shown if text in (LANTERNS, DEPOSIT, WARRANTY, NOTICE)]


def wait_for_questions(one: Tab, *wanted: str) -> None:
    one.until(
        "([wanted, all]) => JSON.stringify([...document.querySelectorAll("
        "'[data-testid=stChatMessage] [data-testid=stText]')].map(text => text.innerText)"
        ".filter(text => all.includes(text))) === JSON.stringify(wanted)",
        [list(wanted), [LANTERNS, DEPOSIT, WARRANTY, NOTICE]],
    )
    one.idle()


def test_a_conversation_is_renamed_exported_restored_and_purged(one: Tab) -> None:
    one.shows(rows(one), len(OTHERS))
    one.ask(LANTERNS)
    row(one, LANTERNS).wait_for()
    assert re.search(r"[?&]thread=\w+", one.page.url)

    one.page.evaluate(SLOW_LOOK)  # as on a busy machine: one types before the next look at the field
    choose(one, row(one, LANTERNS), "Rename")
    one.until("title => document.activeElement.value === title", LANTERNS)
    one.page.keyboard.type("Lamps of the year")
    one.page.keyboard.press("Enter")
    row(one, "Lamps of the year").wait_for()
    one.page.get_by_role("dialog").wait_for(state="detached")

    one.page.get_by_placeholder("Find a conversation").fill("41,000 lantern")
    one.page.keyboard.press("Enter")
    row(one, "Second").wait_for(state="detached")
    one.shows(rows(one), 1)  # a word of an answer finds it
    one.page.get_by_placeholder("Find a conversation").fill("")
    one.page.keyboard.press("Enter")
    row(one, "Second").wait_for()

    files = {}
    for name, made in (("Export as Markdown", "Download the zip file"), ("Export as PDF", "Download the PDF")):
        choose(one, row(one, "Lamps of the year"), name)
        with one.page.expect_download() as download:
            one.page.get_by_role("dialog").get_by_role("button", name=made).click()
        files[name] = Path(download.value.path()).read_bytes()
        one.page.keyboard.press("Escape")
        one.page.get_by_role("dialog").wait_for(state="detached")
    with zipfile.ZipFile(io.BytesIO(files["Export as Markdown"])) as archive:
        texts = [archive.read(name).decode() for name in archive.namelist() if name.endswith(".md")]
    assert any(LANTERNS in text and "41,000" in text for text in texts)
    printed = pypdfium2.PdfDocument(files["Export as PDF"])
    assert LANTERNS in " ".join(page.get_textpage().get_text_bounded() for page in printed)

    choose(one, row(one, "Lamps of the year"), "Delete")
    row(one, "Lamps of the year").wait_for(state="detached")
    assert "thread=" not in one.page.url
    one.page.get_by_role("button", name="Undo").click()
    row(one, "Lamps of the year").wait_for()
    wait_for_questions(one, LANTERNS)

    choose(one, row(one, "Lamps of the year"), "Delete")
    row(one, "Lamps of the year").wait_for(state="detached")
    one.page.get_by_role("button", name="1 deleted conversation").click()
    dialog = one.page.get_by_role("dialog")
    dialog.get_by_role("button", name="Delete permanently").first.click()
    dialog.get_by_text("This cannot be undone.").wait_for()
    dialog.get_by_role("button", name="Keep it").click()
    dialog.get_by_role("button", name="Restore").wait_for()
    dialog.get_by_role("button", name="Delete permanently").first.click()
    dialog.get_by_text("This cannot be undone.").wait_for()
    dialog.get_by_role("button", name="Delete permanently").click()
    dialog.get_by_text("was permanently deleted.").wait_for()
    one.page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    one.page.get_by_role("button", name="deleted conversation").wait_for(state="detached")
    one.shows(rows(one), len(OTHERS))


def focused(one: Tab) -> str:
    return one.page.evaluate("document.activeElement.placeholder || document.activeElement.innerText || ''")


def top_of_last(one: Tab) -> float:
    """Return how far below the top of the view the last question is, in pixels."""
    return one.page.evaluate("document.querySelector('.st-key-last').getBoundingClientRect().top")


def test_the_question_is_at_the_top_and_the_keyboard_in_its_box(one: Tab) -> None:
    one.page.goto(f"{one.url}/")
    box = "Ask your documents"
    one.until("() => document.activeElement.placeholder === 'Ask your documents'")
    one.page.locator(".st-key-turn-0").wait_for(state="detached")
    for question in (LANTERNS, WARRANTY, NOTICE, "Who painted the ceiling of the chapel?"):
        one.ask(question)
        assert 0 <= top_of_last(one) <= 90, question
        assert focused(one) == box
    open_history(one)
    one.ask(DEPOSIT)
    assert 0 <= top_of_last(one) <= 90, "with the history open"
    one.page.locator('.st-key-history [class*="lane-"]', has_text="ceiling").get_by_text("search_off").wait_for()
    one.page.mouse.move(640, 450)
    one.page.mouse.wheel(0, -600)
    one.page.wait_for_timeout(600)
    assert top_of_last(one) > 300, "a user who scrolls is not pulled back"
    one.page.reload()
    one.page.locator(".st-key-last").wait_for()
    one.until(  # it opens at its end, once all of it is drawn
        "() => { const last = document.querySelector('.st-key-last'); if (!last) return false;"
        " const { top } = last.getBoundingClientRect(); return top >= 0 && top <= 90; }"
    )
    one.page.keyboard.press("Control+Shift+O")
    one.until("() => !location.search.includes('thread=')")
    one.idle()
    assert focused(one) == box
    one.page.evaluate("document.activeElement.blur()")
    in_list = '.st-key-threads :is([class*="st-key-show-"], [class*="st-key-menu-"]) button'
    stops = []  # the page itself may be one of them: its text holds every title
    for _ in range(40):
        one.page.keyboard.press("Tab")
        stops.append(one.page.evaluate("rows => document.activeElement.matches(rows)", in_list))
        if focused(one) == box:
            break
    assert sum(stops) <= 1, "the list is one stop"
    one.page.get_by_role("link", name="Skip to the question box").focus()
    one.page.keyboard.press("Enter")
    assert focused(one) == box


def test_an_answer_is_copied_and_filters_are_kept(one: Tab) -> None:
    one.ask(LANTERNS)
    one.page.get_by_role("button", name="Copy", exact=True).click()
    one.page.get_by_text("Copied").wait_for()
    copied = one.page.evaluate("navigator.clipboard.readText()")
    assert copied == "“The lantern range sold 41,000 pieces in the fourth quarter.” (papers, page 1)"
    one.page.get_by_role("button", name="Copy in another form").click()
    one.page.get_by_role("menuitem", name="Copy as citation").click()
    one.until("() => navigator.clipboard.readText().then(text => text.startsWith('papers, page 1'))")

    one.page.get_by_role("button", name="All documents").click()
    one.page.get_by_role("button", name="Last 7 days").click()
    one.idle()
    one.page.keyboard.press("Escape")
    one.idle()
    one.ask("Who painted the ceiling of the chapel?")
    one.page.get_by_text("Only filtered documents were searched. (papers)").wait_for()
    one.page.reload()
    one.page.locator(".st-key-filters").get_by_text("1 document · Last 7 days").wait_for()
    one.page.get_by_role("button", name="Ask all documents").click()
    one.page.get_by_text("2 of 2").wait_for()
    one.idle()
    one.shows(one.page.get_by_text("Only filtered documents were searched."), 0)


def test_going_back_branching_and_comparing(one: Tab) -> None:
    for question in (LANTERNS, DEPOSIT, WARRANTY):
        one.ask(question)
    open_history(one)

    told(one, LANTERNS).get_by_role("button", name=LANTERNS).click()
    one.page.get_by_text("Viewing an earlier point.").wait_for()
    wait_for_questions(one, LANTERNS)
    assert one.page.locator('[data-testid="stChatInputTextArea"]').is_disabled()
    one.page.reload()
    wait_for_questions(one, LANTERNS)
    one.page.get_by_role("button", name="Back to now").click()
    wait_for_questions(one, LANTERNS, DEPOSIT, WARRANTY)

    if not one.page.locator(".st-key-history").count():
        open_history(one)
    told(one, LANTERNS).get_by_role("button", name=LANTERNS).click()
    one.page.get_by_role("button", name="Continue here").first.click()
    one.page.get_by_text("Viewing an earlier point.").wait_for(state="detached")
    wait_for_questions(one, LANTERNS)
    one.ask(NOTICE)
    wait_for_questions(one, LANTERNS, NOTICE)
    one.page.get_by_text("4 questions on 2 branches").wait_for()

    one.page.get_by_text("2 of 2").wait_for()
    one.page.locator('[class*="st-key-versions-"] button:not([disabled])').first.click()
    wait_for_questions(one, LANTERNS, DEPOSIT, WARRANTY)
    choose(one, told(one, NOTICE), "Switch to this branch")
    wait_for_questions(one, LANTERNS, NOTICE)
    choose(one, told(one, LANTERNS), "Continue here")
    wait_for_questions(one, LANTERNS)
    one.ask(WARRANTY)
    wait_for_questions(one, LANTERNS, WARRANTY)
    one.page.get_by_text("5 questions on 3 branches").wait_for()

    choose(one, told(one, NOTICE), "Compare with")
    one.page.get_by_text("with which one? Click it.").wait_for()
    told(one, WARRANTY).get_by_role("button", name=WARRANTY).click()
    one.page.get_by_role("heading", name="Two answers side by side").wait_for()
    one.idle()
    assert "three months" in one.page.locator(".st-key-compared-only_left").inner_text()
    assert "twenty-four" in one.page.locator(".st-key-compared-only_right").inner_text()
    one.page.locator(".stMarkdownColoredBackground").nth(2).wait_for()  # what differs is highlighted
    pictures = one.page.get_by_role("img", name=re.compile(r"Page \d of papers"))
    pictures.nth(1).wait_for()
    assert all(one.picture(picture).width > 100 for picture in pictures.all())
    one.page.get_by_role("button", name="Back to the conversation").click()
    wait_for_questions(one, LANTERNS, WARRANTY)

    one.page.keyboard.press("Control+Shift+O")
    one.page.get_by_role("heading", name="Ask your documents").wait_for()
    one.until("() => !location.search.includes('thread=')")
    one.page.go_back()
    wait_for_questions(one, LANTERNS, WARRANTY)
    one.go("Documents")
    one.go("Ask")
    wait_for_questions(one, LANTERNS, WARRANTY)


def test_a_hostile_title_is_words_wherever_it_stands(one: Tab) -> None:
    """The tab reports requests that the title causes elsewhere."""
    place = one.page.locator('.st-key-threads [class*="thread-"]', has_text="<img src=")
    place.get_by_role("button").first.click()
    one.page.locator('[class*="st-key-open-thread-"]', has_text="<img src=").wait_for()
    place.hover()
    for name in ("Rename", "Export as PDF"):
        choose(one, place, name)
        one.page.get_by_role("dialog").wait_for()
        one.idle()
        assert_inert(one)
        one.page.keyboard.press("Escape")
        one.page.get_by_role("dialog").wait_for(state="detached")
    choose(one, place, "Delete")
    one.page.get_by_role("button", name="Undo").wait_for()
    assert_inert(one)
    one.page.get_by_role("button", name="1 deleted conversation").click()
    one.page.get_by_role("dialog").get_by_role("button", name="Delete permanently").first.click()
    one.page.get_by_role("dialog").get_by_text("This cannot be undone.").wait_for()
    assert_inert(one)
    one.page.get_by_role("button", name="Keep it").click()
    one.page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    place.wait_for()


def test_conversations_are_on_every_page_pinned_and_archived(one: Tab) -> None:
    """The last one: the narrow window leaves the list of conversations closed."""
    one.go("Documents")
    choose(one, row(one, "Fourth"), "Pin")
    one.page.locator(".st-key-threads").get_by_text("Pinned").wait_for()
    one.idle()  # the rows that have moved are drawn twice until then
    choose(one, row(one, "Fifth"), "Archive")
    one.shows(row(one, "Fifth"), 0)
    one.page.get_by_role("button", name="1 archived conversation").click()
    archive = one.page.locator(".st-key-archive-threads")
    archive.get_by_text("Fifth").wait_for()
    choose(one, archive.locator('[class*="thread-"]').first, "Move out of the archive")
    row(one, "Fifth").wait_for()
    choose(one, row(one, "Fourth"), "Unpin")
    one.page.locator(".st-key-threads").get_by_text("Pinned").wait_for(state="detached")
    one.page.set_viewport_size({"width": 390, "height": 844})
    one.page.reload()
    one.idle()
    one.page.locator('[data-testid="stExpandSidebarButton"]').click()  # a narrow window is loaded with the list closed
    one.idle()
    row(one, "Second").get_by_role("button").first.click()
    one.page.wait_for_url(re.compile("thread="))
    one.page.locator('[data-testid="stSidebar"][data-collapsed="true"]').wait_for(state="attached")


def assert_inert(one: Tab) -> None:
    app = one.page.locator("body")
    assert not app.locator(".katex, iframe, .stMarkdownColoredText").count()
    assert not app.locator('a[href*="127.0.0.1:9"], a[href*="www.a.com"]').count()
    # The readers ask for their pictures when they are opened.
    pictures = app.locator("img:not(#docmind-reader img, #docmind-xray img)")
    sources = [image.get_attribute("src") or "" for image in pictures.all()]
    own = ("/media/", one.url, "data:image/svg", "data:image/jpeg")
    assert not [source for source in sources if not source.startswith(own)]
