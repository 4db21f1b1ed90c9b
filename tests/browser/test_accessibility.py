"""Pages for screen readers and weak eyes: axe-core finds nothing serious on any, in both themes and at every width.

None of them can be scrolled sideways. SCREENSHOTS=FOLDER also takes pictures; those of the guides are made by
`scripts/screens FOLDER --docs docs/images`.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from axe_playwright_python.sync_playwright import Axe

from browsers import WINDOW
from desks import plain_in
from docmind.records.documents import Upload
from docmind.ui.pages import settings
from libraries import Library, confirm
from papers import line, pdf
from served import THEMES, App, Server, Tab, close_reader, read_page, tab, take

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

GRAVE = ("serious", "critical")
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


LANTERNS = Library(
    "accessibility",
    [
        Upload(LONG, b"The name of this file is far too long, and that is its only fault."),
        Upload("care.pdf", pdf([paper(MANUAL)] * 2, title="How to care for your lantern")),
        Upload("lease.pdf", pdf([paper(LEASE)] * 3)),
        Upload("report.pdf", pdf([paper(QUARTER), paper(LEASE)])),
        Upload("owls.txt", b"Owls hunt at night, in the dark and in the rain."),
    ],
    confirm,
    plain_in,
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = App(tmp_path, library=LANTERNS)
    server.start()
    yield server
    server.stop()


def faults(one: Tab, where: str) -> list[str]:
    """Return what axe-core finds on the page as it is now, one line for each element."""
    script = "0" if one.page.evaluate("'axe' in window") else AXE_SCRIPT  # read once in each page
    found = Axe(script).run(one.page, options={"resultTypes": ["violations"]})
    return [
        f"{where}: {rule['id']}: {element['html'][:160]} {(element['any'] or element['all'] or [{}])[0].get('message')}"
        for rule in found.response["violations"]
        if rule["impact"] in GRAVE
        for element in rule["nodes"]
    ]


class Walk:
    """A visit of pages in one tab: none scrolls sideways at any width, and axe-core finds nothing.

    axe-core looks at each in both themes and at one width for each, the next ones in turn; with EVERY_LOOK=1 at every
    width. The theme stays until the next look: to change it is a large part of what a look costs.
    """

    def __init__(self, one: Tab) -> None:
        self.one = one
        self.faults: list[str] = []
        self._widths = itertools.cycle(WIDTHS)
        self._themes = list(THEMES)

    def look(self, what: str) -> None:
        """Note the faults of the page as it is now, and leave it at the usual width."""
        first, second = next(self._widths), next(self._widths)
        self._themes.reverse()  # as it was left comes first
        looks = {(self._themes[0], first), (self._themes[1], second)}
        if os.environ.get("EVERY_LOOK"):
            looks = set(itertools.product(self._themes, WIDTHS))
        widths = sorted(WIDTHS, key=lambda width: (width == second, width == first))
        for theme in self._themes:
            for width in widths:
                if (theme == self._themes[0] and width != second) or (theme, width) in looks:
                    self._look_at(what, theme, width, with_axe=(theme, width) in looks)
        self.one.page.set_viewport_size(WINDOW)
        self.one.idle()

    def _look_at(self, what: str, theme: str, width: int, *, with_axe: bool) -> None:
        where = f"{what}, {theme}, at {width}"
        self.one.page.set_viewport_size({"width": width, "height": WINDOW["height"]})
        self.one.wear(theme)
        self.one.page.wait_for_timeout(300)
        if over := self.one.sideways():
            self.faults.append(f"{where}: {over}")
        elif os.environ.get("SCREENSHOTS"):
            take(self.one, f"{what}-{theme}-{width}")
        if with_axe and faults(self.one, where):
            self.one.idle()  # colours fade from one theme to the other: a fault is what stays
            self.one.page.wait_for_timeout(1_000)
            self.faults += faults(self.one, where)


def test_no_page_of_an_empty_library_has_a_serious_fault(browser: Any, tmp_path: Path) -> None:
    server = App(tmp_path)
    server.start()
    try:
        with tab(browser, server) as one:
            walk = Walk(one)
            one.open("Ask")
            walk.look("the first page")
            one.go("Documents")
            walk.look("no documents")
    finally:
        server.stop()
    assert not walk.faults, "\n".join(walk.faults)


def test_no_page_has_a_serious_fault(browser: Any, server: Server) -> None:
    """Look at every page in one tab; axe-core reads each in both themes, which is what this costs."""
    with tab(browser, server) as one:
        walk = Walk(one)
        one.open("Documents")
        one.add(("empty.txt", b" "))  # it stays in the queue, with the reason
        one.page.get_by_text("empty.txt").locator("visible=true").first.wait_for()
        walk.look("documents")
        one.go("Ask")
        walk.look("a new conversation")
        one.ask("How many lanterns were sold?")
        one.ask("Which vegetables are in the soup?")
        one.page.locator('[class*="st-key-turn-0-source-1"] img').first.wait_for()
        walk.look("answers")
        for panel in ("History", "Memory"):
            one.page.get_by_role("button", name=panel).click()
            one.idle()
            walk.look(panel)
        one.page.locator('[data-testid="stChatMessage"] a[href^="#read="]:visible').first.click()
        one.page.locator("#docmind-reader[data-shown]").wait_for()
        walk.look("the reader beside a conversation")
        close_reader(one)
        one.go("Documents")
        row = one.page.locator(".lib-row", has_text="owls.txt")
        row.get_by_role("checkbox").check()
        walk.look("a selection")
        row.get_by_role("link").click()
        one.page.locator(".doc-pages a").first.wait_for()
        one.idle()
        walk.look("a document")
        one.page.locator(".doc-pages a").first.click()
        reader = read_page(one, 1)
        walk.look("the reader")
        reader.get_by_role("button", name="Find in this document").click()
        reader.get_by_role("searchbox").fill("night")
        reader.get_by_text("1 of 1").wait_for()
        walk.look("the reader's search")
        reader.get_by_role("button", name="Close", exact=True).first.click()  # Escape would only end the search
        reader.wait_for(state="hidden")
        one.page.locator(".st-key-document-delete button").click()
        one.page.get_by_text("is in the bin.").wait_for()
        one.idle()
        walk.look("a deletion")
        one.page.get_by_role("button", name="Bin (").click()
        one.page.get_by_role("heading", name="Bin").wait_for()
        one.idle()
        walk.look("the bin")
        for section in SECTIONS:
            one.section(section)
            walk.look(f"settings, {section}")
        one.section("Evaluation")
        one.page.get_by_role("tab", name="Performance").click()
        one.page.locator(".st-key-performance-stages table").wait_for()
        one.idle()
        walk.look("performance")
    assert not walk.faults, "\n".join(walk.faults)
