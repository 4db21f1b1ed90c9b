"""Pages for screen readers and weak eyes: axe-core finds nothing serious on any, in both themes and at every width."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from axe_playwright_python.sync_playwright import Axe

from browser.test_looks import LEASE, MANUAL, QUARTER, SECTIONS, WIDTHS, paper
from browsers import WINDOW
from desks import plain_in
from docmind.records.documents import Upload
from libraries import Library, confirm
from papers import pdf
from served import THEMES, App, Server, Tab, close_reader, read_page, tab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

GRAVE = ("serious", "critical")

LANTERNS = Library(
    "accessibility",
    [
        Upload("care.pdf", pdf([paper(MANUAL)] * 2)),
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
    """A visit of pages in one tab, each looked at in both themes and at one width for each, the next ones in turn.

    With EVERY_LOOK=1 each page is looked at in both themes at every width.
    """

    def __init__(self, one: Tab) -> None:
        self.one = one
        self.faults: list[str] = []
        self._widths = itertools.cycle(WIDTHS)

    def look(self, what: str) -> None:
        """Note the faults of the page as it is now, and leave it light and at the usual width."""
        for theme in THEMES:
            for width in WIDTHS if os.environ.get("EVERY_LOOK") else (next(self._widths),):
                self._wear(theme, width)
                if found := faults(self.one, f"{what}, {theme}, at {width}"):
                    self.one.idle()  # colours fade from one theme to the other: a fault is what stays
                    self.one.page.wait_for_timeout(1_000)
                    found = faults(self.one, f"{what}, {theme}, at {width}")
                self.faults += found
        self._wear("light", WINDOW["width"])

    def _wear(self, theme: str, width: int) -> None:
        self.one.page.set_viewport_size({"width": width, "height": WINDOW["height"]})
        self.one.wear(theme)
        self.one.page.wait_for_timeout(300)


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
