"""Figures in a browser: listed on the page of their document, found by their caption, opened at their place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from desks import plain_in
from figured import ALT, CAPTION, handbook
from libraries import Library, confirm
from served import App, Server, Tab, tab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    library = Library("figures in a browser", [handbook()], confirm, plain_in)
    server = App(tmp_path, library=library, DOCMIND_READING__OCR="off")
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def outlined(one: Tab) -> dict[str, float]:
    """Wait for the outline in the reader, and return its place in parts of the page."""
    one.page.locator("#docmind-reader polygon.region").wait_for()
    return one.page.evaluate(
        """() => {
            const region = document.querySelector("#docmind-reader polygon.region").getBoundingClientRect();
            const page = document.querySelector("#docmind-reader .sheet").getBoundingClientRect();
            return {left: (region.left - page.left) / page.width, top: (region.top - page.top) / page.height,
                wide: region.width / page.width, tall: region.height / page.height};
        }"""
    )


def test_figures_are_listed_opened_at_their_place_and_looked_for_alone(browser: Any, server: Server) -> None:
    with tab(browser, server) as one:
        page = one.open("Documents").page
        page.get_by_role("link", name="Boiler handbook", exact=True).click()
        page.get_by_text("2 figures").wait_for()
        one.shows(page.locator(".doc-figures li"), 2)
        assert page.locator(".doc-figure-said").all_inner_texts() == [CAPTION, ALT]
        one.until("() => [...document.querySelectorAll('.doc-figures img')].every(one => one.naturalWidth === 640)")
        page.get_by_role("link", name=CAPTION).focus()
        page.keyboard.press("Enter")
        place = outlined(one)
        assert 0.05 < place["left"] < 0.2
        assert 0.1 < place["top"] < 0.25
        assert place["wide"] > 0.5
        assert place["tall"] > 0.2
        page.locator("#docmind-reader").get_by_role("button", name="Close", exact=True).first.click()

        one.go("Ask")
        page.get_by_role("button", name="All documents").click()
        page.get_by_role("button", name="Figures", exact=True).click()
        one.idle()
        page.get_by_text("Size of figures").wait_for()
        page.get_by_role("button", name="Large", exact=True).click()
        one.idle()
        page.keyboard.press("Escape")
        one.idle()
        page.locator(".st-key-filters").get_by_text("large figures").wait_for()
        one.ask("Show the figure about the wiring of the boiler")
        one.shows(page.get_by_role("link", name=CAPTION, exact=True), 0)  # it is a medium one
        page.reload()
        page.locator(".st-key-filters").get_by_text("large figures").click()
        page.get_by_role("button", name="Large", exact=True).click()
        page.get_by_role("button", name="Medium", exact=True).click()
        one.idle()
        page.keyboard.press("Escape")
        one.idle()
        one.ask("Show the figure about the wiring of the boiler, please")
        source = page.get_by_role("link", name=CAPTION, exact=True).first
        source.wait_for()
        source.click()
        assert outlined(one)["wide"] > 0.5
