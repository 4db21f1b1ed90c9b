"""Pages for screen readers and weak eyes: axe-core finds nothing serious on any, in both themes and at every width."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from browser.test_looks import LEASE, MANUAL, QUARTER, paper
from conftest import ROOT
from papers import pdf
from served import Server, Tab, close_reader, read_page, tab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

WIDTHS = (390, 1280, 1920)
SECTIONS = ("Language model", "Answers", "Search", "Reading", "Privacy", "Programs", "Appearance", "Storage", "About")
GRAVE = ("serious", "critical")


@pytest.fixture(scope="module")
def server(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("accessibility"))
    server.start()
    yield server
    server.stop()


def faults(one: Tab, where: str) -> list[str]:
    """Return what axe-core finds on the page as it is now, one line for each element."""
    found = Axe().run(one.page, options={"resultTypes": ["violations"]})
    return [
        f"{where}: {rule['id']}: {element['html'][:160]} {(element['any'] or element['all'] or [{}])[0].get('message')}"
        for rule in found.response["violations"]
        if rule["impact"] in GRAVE
        for element in rule["nodes"]
    ]


def test_every_section_is_looked_at() -> None:
    names = re.search(r"^SECTIONS.*?^\}", (ROOT / "pages/settings.py").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert names
    assert tuple(re.findall(r'N_\("(.*?)"\)', names[0])) == SECTIONS


def everywhere(one: Tab, what: str) -> list[str]:
    """Return the faults of the page at every width."""
    found: list[str] = []
    for width in WIDTHS:
        one.page.set_viewport_size({"width": width, "height": 900})
        one.page.wait_for_timeout(300)
        found += faults(one, f"{what} at {width}")
    one.page.set_viewport_size({"width": 1280, "height": 900})
    one.page.wait_for_timeout(300)
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_has_a_serious_fault(browser: Any, server: Server, theme: Any) -> None:
    found: list[str] = []
    with tab(browser, server, color_scheme=theme) as one:
        one.open("Ask")
        if theme == "light":
            found += everywhere(one, "the first page")
            one.go("Documents")
            found += everywhere(one, "no documents")
            one.add(
                ("care.pdf", pdf([paper(MANUAL)] * 2)),
                ("lease.pdf", pdf([paper(LEASE)] * 3)),
                ("report.pdf", pdf([paper(QUARTER), paper(LEASE)])),
                ("empty.txt", b" "),
            )
        else:
            one.go("Documents")
        found += everywhere(one, "documents")
        one.go("Ask")
        found += everywhere(one, "a new conversation")
        one.ask("How many lanterns were sold?")
        one.ask("Which vegetables are in the soup?")
        found += everywhere(one, "answers")
        for panel in ("History", "Memory"):
            one.page.get_by_role("button", name=panel).click()
            one.idle()
            found += everywhere(one, panel)
        one.page.locator('[data-testid="stChatMessage"] a[href^="#read="]:visible').first.click()
        one.page.locator("#docmind-reader[data-shown]").wait_for()
        found += everywhere(one, "the reader beside a conversation")
        close_reader(one)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_of_a_document_or_of_the_settings_has_a_serious_fault(browser: Any, server: Server, theme: Any) -> None:
    found: list[str] = []
    with tab(browser, server, color_scheme=theme) as one:
        one.open("Documents")
        name = f"owls {theme}.txt"
        one.add((name, f"Owls hunt at night, in the {theme} and in the rain.".encode()))
        row = one.page.locator(".lib-row", has_text=name)
        row.get_by_role("checkbox").check()
        found += everywhere(one, "a selection")
        row.get_by_role("link").click()
        one.page.locator(".doc-pages a").first.wait_for()
        one.idle()
        found += everywhere(one, "a document")
        one.page.locator(".doc-pages a").first.click()
        reader = read_page(one, 1)
        found += everywhere(one, "the reader")
        reader.get_by_role("button", name="Find in this document").click()
        reader.get_by_role("searchbox").fill("night")
        reader.get_by_text("1 of 1").wait_for()
        found += everywhere(one, "the reader's search")
        reader.get_by_role("button", name="Close", exact=True).first.click()  # Escape would only end the search
        reader.wait_for(state="hidden")
        one.page.locator(".st-key-document-delete button").click()
        one.page.get_by_text("is in the bin.").wait_for()
        one.idle()
        found += everywhere(one, "a deletion")
        one.page.get_by_role("button", name="Bin (").click()
        one.page.get_by_role("heading", name="Bin").wait_for()
        one.idle()
        found += everywhere(one, "the bin")
        for section in SECTIONS:
            one.section(section)
            found += everywhere(one, f"settings, {section}")
    assert not found, "\n".join(found)
