"""Snapshots in a real browser: their dialogs in Settings, and a question as of one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from desks import text_pdf
from docmind.application import DocMind
from docmind.records.documents import Upload
from libraries import Library, confirm
from served import WAIT_MS, App, Server, Tab, tab, take

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
NAME = "Before the otters"


def _snapshot(docmind: DocMind) -> None:
    confirm(docmind)
    docmind.snapshots.create(NAME)
    docmind.add([Upload("otters.pdf", text_pdf(["Otters sleep under the bridge."]))])


OTTERS = Library("snapshots", [Upload("herons.pdf", text_pdf(["Herons nest in tall trees."]))], _snapshot)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = App(tmp_path, library=OTTERS, DOCMIND_EMBEDDING__MODEL="fake", DOCMIND_READING__OCR="off")
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def section(one: Tab) -> Any:
    """Open the section, and return the place of its subheader."""
    one.section("Storage")
    one.page.get_by_role("button", name="Delete").last.scroll_into_view_if_needed()
    return one.page.get_by_role("heading", name="Snapshots")


def test_a_snapshot_is_compared_and_asked(browser: Any, server: Server) -> None:
    with tab(browser, server) as one:
        page = one.page
        one.enter()
        section(one).wait_for()
        page.get_by_text(NAME, exact=True).wait_for()
        take(one, "snapshots-light")
        page.get_by_role("button", name="What changed since").click()
        page.get_by_role("dialog").get_by_text("otters.pdf").wait_for(timeout=WAIT_MS)
        one.idle()
        take(one, "snapshots-compared-light")
        page.get_by_test_id("stDialog").get_by_role("button", name="Close").last.click()
        one.idle()
        page.get_by_role("button", name="Go back").first.click()
        page.get_by_role("dialog").get_by_text("so you can undo this").wait_for(timeout=WAIT_MS)
        one.idle()
        take(one, "snapshots-going-back-light")
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")

        one.wear("dark")
        take(one, "snapshots-dark")
        one.go("Ask")
        page.get_by_role("button", name="All documents").click()
        page.get_by_role("combobox", name="As of a snapshot").click()
        page.get_by_role("option", name=NAME).click()
        one.idle()
        take(one, "snapshots-as-of-dark")
        page.keyboard.press("Escape")
        page.get_by_role("button", name=f"as of {NAME}").wait_for()
