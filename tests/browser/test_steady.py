"""Nothing moves: what is pressed stays where it is while the page makes room beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from desks import plain_in
from docmind.application import DocMind
from docmind.records.documents import Upload
from libraries import Library, confirm
from papers import line, pdf
from served import App, Server, Tab, close_reader, read_page, tab, take_both

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

SENTENCES = (
    "The deposit is two months of rent and is paid back within six weeks after the flat was handed over in good order.",
    "The warranty lasts for twenty-four months from the day of delivery and covers every part but the wick and glass.",
    "The tenant gives notice three months before the end of a quarter, in writing, to the address of the landlord.",
    "The landlord repairs the boiler within two working days, and pays for the heating fan that is lent meanwhile.",
)
ASKED = (
    "How large is the deposit?",
    "How long does the warranty last?",
    "When does the tenant give notice?",
    "Who repairs the boiler?",
)
WINDOWS = ((1280, 800), (1440, 900), (1920, 1080))
MOST = 8  # pixels
TURNS = 8  # more than two windows of answers above and below the one in the middle


def _talk(docmind: DocMind) -> None:
    confirm(docmind)
    for title, turns in (("One question", 1), ("Many questions", TURNS)):
        thread = docmind.conversations.create(title)
        for number in range(turns):
            docmind.conversations.ask(ASKED[number % len(ASKED)], thread_id=thread.thread_id)


PAPER = pdf([line(sentence[:64], y=700, size=13) + line(sentence[64:], y=682, size=13) for sentence in SENTENCES])
TALKS = Library("steady", [Upload("lease.pdf", PAPER)], _talk, plain_in)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = App(tmp_path_factory.mktemp("steady"), library=TALKS)
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def show(one: Tab, title: str) -> None:
    one.page.locator(".st-key-threads").get_by_text(title, exact=True).click()
    one.page.locator('[class*="-source-1"] img').last.wait_for()
    one.idle()
    one.page.wait_for_timeout(2_800)  # until the page no longer holds its last turn in view


def top(element: Any) -> float:
    box = element.bounding_box()
    assert box is not None, "it is gone"
    return float(box["y"])


def settled(one: Tab) -> None:
    one.idle()
    one.page.wait_for_timeout(1_200)  # longer than the place is held after a change of the width


def citation(one: Tab, turn: int) -> Any:
    return one.page.locator(f'.st-key-turn-{turn} [data-testid="stMarkdownContainer"] a[href^="#read="]').first


def a_pressed_citation_stays_where_it_is(one: Tab, title: str, turns: tuple[int, ...]) -> None:
    for width, height in WINDOWS:
        one.page.set_viewport_size({"width": width, "height": height})
        settled(one)
        for at in turns:
            link = citation(one, at)
            link.scroll_into_view_if_needed()
            settled(one)
            before = top(link)
            link.click()
            read_page(one, at % len(SENTENCES) + 1)
            settled(one)
            assert abs(top(link) - before) <= MOST, (title, at, width)
            assert link.get_attribute("aria-current") == "page"
            if width == WINDOWS[0][0]:
                take_both(one, f"steady-{turns[0]}-{at}")
            close_reader(one)
            settled(one)
            assert abs(top(link) - before) <= MOST, (title, at, width)
            assert link.get_attribute("aria-current") is None


def what_is_read_stays_when_a_panel_opens(one: Tab, panel: str) -> None:
    for at in (TURNS - 1, TURNS // 2):
        read = one.page.locator(f".st-key-turn-{at}-question")
        read.evaluate("one => one.scrollIntoView({block: 'start'})")
        one.page.mouse.move(700, 500)
        one.page.mouse.wheel(0, -90)
        settled(one)
        before = top(read)
        choice = one.page.locator(f".st-key-beside-choice-{panel} button").first
        for is_open in (True, False):
            choice.click()
            one.page.locator(".st-key-beside").wait_for(state="visible" if is_open else "detached")
            settled(one)
            assert abs(top(read) - before) <= MOST, (panel, at, is_open)


def test_what_is_read_stays_where_it_is(browser: Any, server: Server) -> None:
    """Walk through two conversations in one tab: drawing a long one is most of what this costs."""
    with tab(browser, server) as one:
        one.open()
        show(one, "One question")
        a_pressed_citation_stays_where_it_is(one, "One question", (0,))
        one.page.set_viewport_size({"width": 1024, "height": 768})  # where a panel makes lines much shorter
        show(one, "Many questions")
        for panel in ("history", "memory"):
            what_is_read_stays_when_a_panel_opens(one, panel)
        # In a long conversation one of an answer in the middle too, to which the user has scrolled.
        a_pressed_citation_stays_where_it_is(one, "Many questions", (TURNS - 1, TURNS // 2))
