"""Versions of a document in the table: one row, opened to the earlier ones, with what can be done with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from desks import environment_of
from docmind.records.documents import Upload
from libraries import Library, confirm
from served import App, Server, Tab, tab, take, take_both

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

LEASE = (
    "# Lease of the mill house\n\nSigned on {day}.\n\n"
    "Whoever lives here pays. The rent of the mill house is {rent} crowns a month. It is due on the third day.\n"
)
FILES = [
    Upload("lease.md", LEASE.format(day="3 March 2023", rent=900).encode()),
    Upload("owls.txt", b"Owls hunt at night and swallow their prey whole, which they digest until noon.\n" * 3),
    Upload("lease v2.md", LEASE.format(day="5 April 2024", rent=950).encode()),
    Upload("lease v3.md", LEASE.format(day="7 May 2025", rent=975).encode()),
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    library = Library("three leases", FILES, confirm)
    server = App(tmp_path, library=library, **environment_of(tmp_path))
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def names(one: Tab) -> list[str]:
    return [link.get_attribute("title").split("\n")[-1] for link in one.page.locator(".lib-row .lib-words > a").all()]


def test_versions_are_one_row_that_opens(browser: Any, server: Server) -> None:
    with tab(browser, server) as one:
        page = one.open("Documents").page
        one.shows(page.locator(".lib-row"), 2)
        assert sorted(names(one)) == ["lease v3.md", "owls.txt"]
        page.get_by_text("4 documents, 4 pages").wait_for()
        take_both(one, "versions-closed-1280")
        it_opens_and_closes_by_key(one)
        page.get_by_role("button", name="3 versions").click()
        one.shows(page.locator(".lib-row"), 4)
        assert [name for name in names(one) if "lease" in name] == ["lease v3.md", "lease v2.md", "lease.md"]
        pictures_of_all_widths(one)
        found_and_filtered(one)
        compared_and_cleared_away(one)


def it_opens_and_closes_by_key(one: Tab) -> None:
    page = one.page
    page.get_by_role("grid").focus()
    page.keyboard.press("Home")
    if "lease" not in names(one)[0]:
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    one.shows(page.locator(".lib-row"), 4)
    assert page.get_by_role("button", name="3 versions").get_attribute("aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    one.shows(page.locator(".lib-row"), 4)
    page.keyboard.press("ArrowLeft")
    one.shows(page.locator(".lib-row"), 2)


def pictures_of_all_widths(one: Tab) -> None:
    for width, height in ((390, 844), (1280, 800), (1920, 1080)):
        one.page.set_viewport_size({"width": width, "height": height})
        one.idle()
        take_both(one, f"versions-{width}")
    one.wear("light")
    one.page.set_viewport_size({"width": 1280, "height": 800})


def found_and_filtered(one: Tab) -> None:
    page = one.page
    find = page.get_by_placeholder("Find by title, name or tag")
    find.fill("mill house")
    page.get_by_text("3 of 4 documents").wait_for()
    find.fill("lease.md")
    one.shows(page.locator(".lib-row"), 1)
    assert names(one) == ["lease.md"], "an earlier version is found where the newest one does not match"
    find.fill("")
    one.shows(page.locator(".lib-row"), 4)


def compared_and_cleared_away(one: Tab) -> None:
    page = one.page
    page.get_by_role("button", name="Compare with the newest version: lease.md").click()
    page.get_by_text("900").first.wait_for()
    take(one, "versions-compared")
    one.open("Documents")
    one.shows(page.locator(".lib-row"), 2)
    page.get_by_role("button", name="3 versions").click()
    page.get_by_role("button", name="Delete: lease.md").click()
    page.get_by_text("is in the bin").wait_for()
    page.get_by_role("button", name="2 versions").wait_for()
