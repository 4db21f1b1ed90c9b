"""A document read again in a browser: by the menu of its page, with what is installed, while the page stays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import require
from desks import environment_of, settings_in
from docmind.config import ReadingSettings, Settings
from docmind.reading import find_pandoc
from docmind.records.documents import Upload
from libraries import Library, confirm
from papers import pdf
from served import App, Server, tab, take

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


def without_pandoc(folder: Path) -> Settings:
    settings = settings_in(folder)
    return settings.model_copy(update={"reading": ReadingSettings(pandoc="off")})


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    page = "BT /F1 24 Tf 72 700 Td (The lease ends in March.) Tj ET"
    library = Library("a page to read again", [Upload("lease.pdf", pdf([page]))], confirm)
    server = App(tmp_path, library=library, **environment_of(tmp_path))
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def test_a_document_is_read_again(browser: Any, server: Server) -> None:
    with tab(browser, server) as one:
        page = one.open("Documents").page
        page.get_by_role("link", name="lease", exact=True).or_(page.locator(".lib-words > a")).first.click()
        page.get_by_role("button", name="Read again…").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("OCR engine").wait_for()
        dialog.get_by_text("None: only text of the file").click()
        one.idle()
        take(one, "reading-again")
        dialog.get_by_role("button", name="Read again", exact=True).click()
        page.get_by_text("The document was read again.").wait_for()
        assert not page.get_by_role("dialog").is_visible()
        page.get_by_text("Text from the file: 1 page").wait_for()


def test_a_text_that_was_read_without_pandoc_is_read_again_by_it(browser: Any, tmp_path: Path) -> None:
    require(find_pandoc(), "pandoc is not installed")
    text = b"Lease\n=====\n\n.. list-table:: Rents\n\n   * - May\n     - 900 euros\n"
    library = Library("a text read without pandoc", [Upload("lease.rst", text)], confirm, without_pandoc)
    server = App(tmp_path, library=library, **environment_of(tmp_path))
    server.start()
    try:
        with tab(browser, server) as one:
            page = one.open("Documents").page
            page.get_by_role("link", name="lease", exact=True).or_(page.locator(".lib-words > a")).first.click()
            page.get_by_text("Its marks stay as they are written").wait_for()
            take(one, "read-without-pandoc")
            page.get_by_role("button", name="Read again…").click()
            dialog = page.get_by_role("dialog")
            dialog.get_by_role("button", name="Read again", exact=True).wait_for()
            assert not dialog.get_by_text("OCR engine").is_visible()
            one.idle()
            take(one, "reading-again-by-pandoc")
            dialog.get_by_role("button", name="Read again", exact=True).click()
            page.get_by_text("The document was read again.").wait_for()
            page.get_by_text("Read by pandoc").wait_for()
            assert not page.get_by_text("Its marks stay as they are written").is_visible()
            assert not page.get_by_role("button", name="Read again…").is_visible()
    finally:
        server.stop()
    assert "Traceback" not in server.log()
