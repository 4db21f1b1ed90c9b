"""A complete list in a real browser: counts by document, the rest folded, sources that open, and both files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from desks import text_pdf
from docmind.records.documents import Upload
from libraries import Library
from served import WAIT_MS, App, Server, close_reader, covered, read_page, tab, take_both

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
MANY = 70
LIBRARY = Library(
    "a long list",
    [
        Upload("herons.pdf", text_pdf([f"On day {n} a heron was seen at the weir." for n in range(1, 4)])),
        Upload("log.txt", "\n".join(f"=Entry {n}: the heron <b>came</b> back." for n in range(MANY)).encode()),
    ],
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = App(tmp_path, library=LIBRARY, DOCMIND_LLM__PROVIDER="off")
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def test_a_list_counts_folds_and_is_saved_whole(browser: Any, server: Server) -> None:
    with tab(browser, server) as one:
        one.open()
        box = one.page.get_by_role("textbox").first
        box.fill("List every page that mentions the heron")
        box.press("Enter")
        told = one.page.get_by_text(f"{MANY + 3} passages mention “heron”, in 2 documents:")
        told.wait_for(timeout=2 * WAIT_MS)
        one.idle()
        for width, height in ((390, 844), (1_280, 800), (1_920, 1_080)):
            one.page.set_viewport_size({"width": width, "height": height})
            one.idle()
            take_both(one, f"list-{width}")
        more = one.page.get_by_text(f"{MANY + 3 - 20} more, the first 40 here")
        more.click()
        one.page.get_by_text("=Entry 59: the heron <b>came</b> back.").wait_for()
        more.click()
        one.page.get_by_text("Counts by document").click()
        one.idle()
        take_both(one, "list-counts")
        one.page.get_by_role("link", name="1", exact=True).first.click()
        assert covered(read_page(one, 1))[0]
        close_reader(one)
        with one.page.expect_download() as saving:
            one.page.get_by_role("button", name="Save as CSV").click()
        rows = Path(saving.value.path()).read_text("utf-8").splitlines()
        assert len(rows) == MANY + 4
        assert sum("'=Entry" in row for row in rows) == MANY
        with one.page.expect_download() as saving:
            one.page.get_by_role("button", name="Save as Markdown").click()
        assert Path(saving.value.path()).read_text("utf-8").count("- \\=Entry") == MANY
