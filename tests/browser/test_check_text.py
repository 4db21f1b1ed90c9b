"""A text is checked in a real browser: pasted, with its verdicts in words, and a source that opens its page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from libraries import Library
from served import WAIT_MS, App, Server, Tab, close_reader, covered, read_page, tab, take_both
from shells import STOCKED

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
LIBRARY: Library = STOCKED
DRAFT = """# Herons

Herons nest in tall trees near rivers. Their nests are made of 421 sticks.

Whales <b>sing</b> in the ![harbour](http://127.0.0.1:9/x.png) at noon.
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = App(tmp_path, library=LIBRARY, DOCMIND_LLM__PROVIDER="off")
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def send(one: Tab, text: str) -> None:
    one.page.get_by_role("textbox", name="Text").fill(text)
    one.page.get_by_role("button", name="Check", exact=True).click()


def test_a_text_is_checked_and_a_source_opens_its_page(browser: Any, server: Server) -> None:
    from playwright.sync_api import expect

    with tab(browser, server) as one:
        one.open()
        one.page.get_by_role("button", name="Check a text").click()
        one.page.get_by_role("heading", name="Check a text").wait_for()
        one.idle()
        take_both(one, "check-text-empty")
        send(one, " ")
        one.page.get_by_text("There is no text to check.").wait_for()
        send(one, DRAFT)
        listed = one.page.locator(".st-key-check-text-list")
        listed.get_by_text("Not found").wait_for(timeout=2 * WAIT_MS)
        one.idle()
        for words in ("No claim", "Supported", "Contradicted", "Not found"):
            expect(listed.get_by_text(words, exact=True)).to_have_count(1)
        assert listed.locator("img").count() == 0
        assert "<b>sing</b>" in listed.inner_text()
        for width, height in ((390, 844), (1_280, 800)):
            one.page.set_viewport_size({"width": width, "height": height})
            one.idle()
            take_both(one, f"check-text-{width}")
        listed.get_by_role("link", name="herons, page 2").first.click()
        points, size = covered(read_page(one, 2), "region")
        assert points
        assert max(y for _x, y in points) < size[1]
        close_reader(one)
        with one.page.expect_download() as saving:
            one.page.get_by_role("button", name="Save as Markdown").click()
        saved = Path(saving.value.path()).read_text("utf-8")
        assert "Herons nest in tall trees near rivers.[^1]" in saved
        assert "![harbour](" not in saved
        one.page.get_by_role("button", name="Check another text").click()
        expect(one.page.get_by_role("textbox", name="Text")).to_have_value("")
        one.page.get_by_role("button", name="Back to asking").click()
        one.page.get_by_role("heading", name="Ask your documents").wait_for()
