"""Layout of every page in both themes: nothing overflows.

SCREENSHOTS=FOLDER also takes pictures; those of the guides are made by `scripts/screens FOLDER --docs docs/images`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsers import WINDOW
from desks import plain_in
from docmind.records.documents import Upload
from docmind.ui.pages import settings
from libraries import Library, confirm
from papers import line, pdf
from served import App, Server, Tab, close_reader, read_page, tab, take_both

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

WIDTHS = (390, 1280, 1920)
SECTIONS = tuple(settings.SECTIONS)
LONG = "A name that nobody would type but every browser makes when it saves a page, " * 2 + "final (2).txt"
QUARTER = [
    "Quarterly report of the Lantern Works",
    "Revenue rose by 18 percent to 3.2 million in the fourth quarter, mainly because",
    "the repair business grew in every region and two new workshops were opened.",
    "The lantern range sold 41,000 pieces, 3,000 more than a year ago.",
    "Costs grew more slowly than revenue, so that the margin reached 14 percent.",
    "The company plans to open three more workshops before the end of next year.",
    "Outlook",
    "We expect revenue between 3.4 and 3.6 million in the next quarter.",
    "Brass has become dearer; prices will rise by two percent in spring.",
    "The order book is full until the end of May.",
    "Staff",
    "The works employ 64 people, six more than at the end of last year.",
    "Four apprentices have finished their training and stay with us.",
]
LEASE = [
    "Lease of the workshop in Harbour Street",
    "The tenant gives notice three months before the end of a calendar quarter.",
    "The deposit is two months' rent and is paid back within six weeks.",
    "Repairs below 200 are carried out at the tenant's expense.",
]
MANUAL = [
    "How to care for your lantern",
    "Clean the glass with a dry cloth once a month.",
    "The warranty lasts for twenty-four months from the day of delivery.",
]


def paper(lines: list[str]) -> str:
    """Return the content of one page: a heading and lines under it."""
    body = [line(text, y=650 - 34 * number, size=13) for number, text in enumerate(lines[1:])]
    return "\n".join([line(lines[0], size=22), *body])


PAPERS = Library(
    "looks",
    [
        Upload(LONG, b"The name of this file is far too long, and that is its only fault."),
        Upload("care.pdf", pdf([paper(MANUAL)] * 2, title="How to care for your lantern")),
        Upload("lease harbour street.pdf", pdf([paper(LEASE)] * 3)),
        Upload("quarterly report.pdf", pdf([paper(QUARTER), paper(LEASE), paper(MANUAL)])),
    ],
    confirm,
    plain_in,
)


@pytest.fixture
def desk_of_papers(tmp_path: Path) -> Iterator[Server]:
    server = App(tmp_path, library=PAPERS)
    server.start()
    yield server
    server.stop()


def test_every_page_keeps_its_shape(browser: Any, desk_of_papers: Server) -> None:
    with tab(browser, desk_of_papers, color_scheme="light") as one:
        one.open("Documents")
        one.add(("empty.txt", b" "))  # it stays in the queue, with the reason
        one.go("Ask")
        one.ask("How many lanterns were sold?")
        one.page.locator('[class*="st-key-turn-0-source-1"] img').first.wait_for()
        take_both(one, "chat")
        one.ask("And how long does the warranty last?")
        one.page.get_by_role("button", name="History").click()
        one.page.get_by_text("Click one to view that point.").wait_for()
        one.idle()
        take_both(one, "conversation")
        one.go("Documents")
        take_both(one, "documents")
        one.page.locator(".lib-row", has_text="quarterly report.pdf").get_by_role("link").click()
        one.idle()
        one.page.locator(".doc-pages a").first.click()
        read_page(one, 1)
        one.page.keyboard.press("ArrowRight")
        read_page(one, 2)
        take_both(one, "page")
        close_reader(one)
        one.page.get_by_role("button", name="All documents").click()
        one.go("Settings")
        one.page.get_by_role("tab", name="Appearance").wait_for()
        take_both(one, "settings")


def test_no_page_scrolls_sideways(browser: Any, desk_of_papers: Server) -> None:
    with tab(browser, desk_of_papers) as one:
        one.open("Ask")
        at_every_width(one, "a new conversation")
        one.ask("How many lanterns were sold?")
        at_every_width(one, "an answer")
        for panel in ("History", "Memory"):
            one.page.get_by_role("button", name=panel).click()
            one.idle()
            at_every_width(one, panel)
        one.go("Documents")
        one.page.locator(".lib-row").first.wait_for()
        at_every_width(one, "documents")
        one.page.locator(".lib-row", has_text="quarterly report.pdf").get_by_role("checkbox").check()
        at_every_width(one, "a selection")
        one.page.locator(".lib-row", has_text="quarterly report.pdf").get_by_role("link").click()
        one.page.locator(".doc-pages a").first.wait_for()
        at_every_width(one, "a document")
        one.page.locator(".st-key-document-delete button").click()
        one.page.get_by_role("button", name="Bin (").click()
        one.page.get_by_role("heading", name="Bin").wait_for()
        at_every_width(one, "the bin")
        for section in SECTIONS:
            one.section(section)
            at_every_width(one, section)


def at_every_width(one: Tab, what: str) -> None:
    """Nothing on the page as it is now can be scrolled sideways, and the window is again as wide as it was."""
    for width in WIDTHS:
        one.page.set_viewport_size({"width": width, "height": WINDOW["height"]})
        one.idle()
        assert not one.sideways(), f"{what}, at {width}: {one.sideways()}"
    one.page.set_viewport_size(WINDOW)
    one.idle()
