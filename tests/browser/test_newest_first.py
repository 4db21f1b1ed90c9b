"""Newest first in a browser: an order of the filter, and the dates of quotes of several years."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from desks import environment_of
from docmind.records.documents import Upload
from libraries import Library, confirm
from served import App, Server, tab, take, take_both

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

_REPORTS = (("Harbour", "3 May 2022", "4,907"), ("Ferry", "12 March 2023", "5,210"), ("Quay", "9 April 2024", "6,118"))
FILES = [
    Upload(
        f"{name.lower()}.md",
        f"# {name} report\n\nPublished on {day}.\n\n"
        f"The boat carried {number} passengers in the whole year.\n\nNew {name.lower()} planks were laid.\n".encode(),
    )
    for name, day, number in _REPORTS
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    library = Library("three reports", FILES, confirm)
    server = App(tmp_path, library=library, **environment_of(tmp_path))
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def test_the_newest_answers_where_the_filter_says_so(browser: Any, server: Server) -> None:
    with tab(browser, server) as one:
        page = one.open().page
        page.get_by_role("button", name="All documents").click()
        page.get_by_text("Newest first", exact=True).click()
        one.idle()
        take(one, "newest-filter-1280")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="All documents · newest first").wait_for()
        one.ask("How many passengers did the boat carry in the whole year?")
        page.get_by_text("6,118").first.wait_for()
        page.get_by_text("Quay report · 9 Apr 2024").first.wait_for()
        one.idle()
        for width, height in ((390, 844), (1280, 800), (1920, 1080)):
            page.set_viewport_size({"width": width, "height": height})
            one.idle()
            take_both(one, f"newest-{width}")
