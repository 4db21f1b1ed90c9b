"""Folders in a real browser: one is followed, looked at, and decided about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from served import Server, tab, take

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path, DOCMIND_EMBEDDING__MODEL="fake", DOCMIND_READING__OCR="off")
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def test_a_folder_is_followed_and_what_is_gone_is_decided(browser: Any, server: Server, tmp_path: Path) -> None:
    papers = tmp_path / "Papers"
    papers.mkdir()
    for name in ("heron", "owl", "stork"):
        (papers / f"{name}.txt").write_text(f"The {name} flies over the reeds.")
    with tab(browser, server) as one:
        one.page.set_default_timeout(300_000)
        one.open("Documents")
        take(one, "folders-none-light")
        one.page.get_by_text("Folders", exact=True).first.click()
        one.page.get_by_label("Folder", exact=True).fill(str(papers))
        one.page.get_by_role("button", name="Follow folder").click()
        one.page.get_by_text("3 added").wait_for()
        (papers / "heron.txt").unlink()
        (papers / "owl.txt").unlink()
        one.page.get_by_role("button", name="Look now").click()
        one.page.get_by_text("2 files are gone from their folders").wait_for()
        one.idle()
        take(one, "folders-gone-light")
        one.page.set_viewport_size({"width": 390, "height": 844})
        take(one, "folders-gone-phone-light")
        one.page.get_by_role("button", name="Keep", exact=True).first.click()
        one.page.get_by_text("1 file is gone from its folder").wait_for()
        one.page.get_by_role("button", name="Delete", exact=True).first.click()
        one.page.get_by_text("gone from").wait_for(state="detached")
