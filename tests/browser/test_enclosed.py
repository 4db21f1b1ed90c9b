"""Files of an archive in a browser: below it in the table, listed on its page, each with the way back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from archives import archive
from desks import environment_of
from libraries import Library, confirm
from served import App, Server, tab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

FILES = {"2025/lease.txt": "Lease of the flat\n\nThe deposit is 1,800 euros.\n", "tool.exe": b"MZ\0\0"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    library = Library("an archive", [archive("Rent 2025.zip", FILES)], confirm)
    server = App(tmp_path, library=library, **environment_of(tmp_path))
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def test_an_archive_leads_to_its_files_and_back(browser: Any, server: Server) -> None:
    with tab(browser, server) as one:
        page = one.open("Documents").page
        one.shows(page.locator(".lib-row"), 2)
        assert page.locator(".lib-row .lib-words > a").all_inner_texts() == ["Rent 2025.zip", "Lease of the flat"]
        page.get_by_placeholder("Find by title, name or tag").fill("lease")
        page.locator(".lib-place", has_text="in Rent 2025.zip").wait_for()
        page.get_by_placeholder("Find by title, name or tag").fill("")
        page.get_by_role("link", name="Rent 2025.zip", exact=True).click()
        page.get_by_text("tool.exe is a program, which DocMind does not read.").wait_for()
        page.get_by_role("button", name="2025/lease.txt").click()
        page.get_by_role("heading", name="Lease of the flat").wait_for()
        page.get_by_role("button", name="in Rent 2025.zip").click()
        page.get_by_role("heading", name="Rent 2025.zip").wait_for()
        page.get_by_role("button", name="Delete", exact=True).click()
        page.get_by_text("is in the bin").wait_for()
        one.shows(page.locator(".lib-row"), 0)
        page.get_by_role("button", name="Bin (2)").click()
        page.get_by_role("button", name="Erase for good").first.click()
        page.get_by_text("Rent 2025.zip and 1 file inside").wait_for()
        page.get_by_role("button", name="Keep").click()
        page.get_by_role("button", name="Restore").first.click()
        page.get_by_role("button", name="All documents").click()
        one.shows(page.locator(".lib-row"), 2)
