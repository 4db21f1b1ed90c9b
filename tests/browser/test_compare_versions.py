"""Two versions are compared in a real browser, from the table, the document and the result of adding one."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docx
import pytest

from docmind.client import connect
from docmind.records.documents import Upload
from libraries import Library
from served import WAIT_MS, App, Server, Tab, tab, take_both

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
PARAGRAPHS = (
    "This lease is made between Marta Lind and Jonas Berg for the mill house in Overton.",
    "The monthly rent is {rent} crowns, payable on the first day of each month.",
    "The tenant keeps the garden and the fence in good order. {more}",
    "The landlord insures the building against fire and storm. The keys are handed over on the first day.",
    "Pets are allowed with written consent of the landlord, which is given once and holds for every animal.",
)


def lease(name: str, rent: int, more: str = "", *, is_moved: bool = False) -> Upload:
    made = docx.Document()
    made.add_heading("Lease <b>agreement</b>", 1)
    parts = [*PARAGRAPHS[:2], PARAGRAPHS[4], *PARAGRAPHS[2:4]] if is_moved else PARAGRAPHS
    for text in parts:
        made.add_paragraph(text.format(rent=rent, more=more))
    out = io.BytesIO()
    made.save(out)
    return Upload(name, out.getvalue())


LIBRARY = Library(
    "a lease and a note twice",
    [
        lease("lease.docx", 900, "The cellar is dry."),
        Upload("note.txt", b"Herons nest in tall trees."),
        Upload("note copy.txt", b"Herons  nest in\ntall trees."),
    ],
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = App(tmp_path, library=LIBRARY, DOCMIND_LLM__PROVIDER="off")
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def select(one: Tab, *names: str) -> None:
    for name in names:
        one.page.get_by_role("row", name=name).first.get_by_role("checkbox").click()


def test_versions_are_compared_and_one_replaces_the_one_before(browser: Any, server: Server, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    with tab(browser, server) as one:
        one.open()
        connect(tmp_path / "data").add([lease("lease v2.docx", 950, is_moved=True)])
        one.page.get_by_role("link", name="Documents").first.click()
        one.page.get_by_role("heading", name="Documents", exact=True).wait_for()
        one.page.get_by_text("lease v2.docx is a new version of lease.docx").first.wait_for()
        one.idle()
        take_both(one, "version-offer")
        offers = one.page.locator('[class*="st-key-version-"]').filter(has_text="lease v2.docx")
        offers.first.get_by_role("button", name="Compare").click()
        one.page.get_by_role("heading", name="Compare versions").wait_for()
        one.page.get_by_text("Change 1 of 3").wait_for(timeout=WAIT_MS)
        one.idle()
        take_both(one, "compare-versions-top")
        for width, height in ((390, 844), (1_280, 800), (1_920, 1_080)):
            one.page.set_viewport_size({"width": width, "height": height})
            one.idle()
            take_both(one, f"compare-versions-{width}")
        one.page.keyboard.press("ArrowDown")
        one.page.get_by_text("Change 2 of 3").wait_for()
        one.page.get_by_role("button", name="Previous").click()
        one.page.get_by_text("Change 1 of 3").wait_for()
        with one.page.expect_download() as saving:
            one.page.get_by_role("button", name="Save as JSON").click()
        saved = json.loads(Path(saving.value.path()).read_text("utf-8"))
        assert {(change["kind"]) for change in saved["changes"]} == {"changed", "removed", "moved"}
        one.page.get_by_role("button", name="All documents").click()
        one.page.get_by_role("button", name="Replace").first.wait_for()
        offers.first.get_by_role("button", name="Replace").click()
        one.page.get_by_text("“lease.docx” is in the bin.").wait_for()
        one.idle()
        one.page.get_by_role("button", name="Undo").click()
        expect(one.page.get_by_text("“lease.docx” is in the bin.")).to_have_count(0)
        one.idle()
        versions_that_say_the_same_say_so(one)


def versions_that_say_the_same_say_so(one: Tab) -> None:
    one.page.locator(".lib-row", has_text="note").get_by_role("button", name="2 versions").click()
    select(one, "note.txt", "note copy.txt")
    one.page.get_by_role("button", name="Compare", exact=True).last.click()
    one.page.get_by_text("The two versions say the same.").wait_for(timeout=WAIT_MS)
    one.idle()
    take_both(one, "compare-versions-same")
