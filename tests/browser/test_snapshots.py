"""Snapshots in a real browser: taken in Settings, compared, gone back to, asked as of one, deleted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from desks import text_pdf
from served import WAIT_MS, Server, tab, take

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path, DOCMIND_EMBEDDING__MODEL="fake", DOCMIND_READING__OCR="off", DOCMIND_LLM__PROVIDER="off")
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_snapshot_is_taken_and_gone_back_to(browser: Any, server: Server, scheme: str) -> None:
    with tab(browser, server, color_scheme=scheme) as one:
        page = one.page
        one.open("Documents")
        one.add(("herons.pdf", text_pdf(["Herons nest in tall trees."])))
        one.section("Storage")
        page.get_by_text("There are no snapshots yet.").wait_for()
        page.get_by_role("textbox", name="Description").fill("Before the otters")
        page.get_by_role("button", name="Take a snapshot").click()
        page.get_by_text("Before the otters", exact=True).wait_for(timeout=WAIT_MS)
        one.idle()
        take(one, f"snapshots-{scheme}")
        one.go("Documents")
        one.add(("otters.pdf", text_pdf(["Otters sleep under the bridge."])))
        one.section("Storage")
        page.get_by_role("button", name="What changed since").click()
        page.get_by_role("dialog").get_by_text("otters.pdf").wait_for(timeout=WAIT_MS)
        one.idle()
        take(one, f"snapshots-compared-{scheme}")
        page.get_by_role("dialog").get_by_role("button", name="Close").last.click()
        one.idle()
        page.get_by_role("button", name="Go back").first.click()
        page.get_by_role("dialog").get_by_text("so you can undo this").wait_for(timeout=WAIT_MS)
        one.idle()
        take(one, f"snapshots-going-back-{scheme}")
        page.get_by_role("dialog").get_by_role("button", name="Go back").click()
        page.get_by_text("The library is as it was").wait_for(timeout=WAIT_MS)
        one.idle()
        take(one, f"snapshots-gone-back-{scheme}")
        one.go("Ask")
        page.get_by_role("button", name="All documents").click()
        page.get_by_text("As of a snapshot").first.wait_for()
        page.get_by_role("combobox", name="As of a snapshot").click()
        page.get_by_role("option", name="Before the otters").click()
        one.idle()
        take(one, f"snapshots-as-of-{scheme}")
        page.keyboard.press("Escape")
        one.ask("Where do herons nest?")
        page.get_by_text("as of Before the otters").first.wait_for(timeout=WAIT_MS)
        take(one, f"snapshots-asked-{scheme}")
        one.section("Storage")
        page.get_by_role("button", name="Delete").last.click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        one.idle()
        assert page.get_by_text("Before the otters", exact=True).count() == 0
