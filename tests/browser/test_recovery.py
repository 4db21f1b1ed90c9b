"""The recovery code in the app: not in the way, copied and saved, and kept after a crash."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from served import App, Server, Tab, tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SHOW, WRITTEN = "Show the recovery code", "I have written it down"
FOLDED = "Write down the recovery code"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = App(tmp_path, DOCMIND_EMBEDDING__MODEL="fake", DOCMIND_READING__OCR="off")
    server.start()
    yield server
    server.stop()


def shown(one: Tab) -> str:
    one.page.get_by_role("button", name=SHOW).first.click()
    code = one.page.locator(".st-key-recovery-code code")
    code.wait_for()
    return code.inner_text().strip()


def test_the_code_is_shown_saved_kept_over_a_crash_and_confirmed(browser: Any, server: Server) -> None:
    with tab(browser, server, accept_downloads=True) as one:
        one.enter()
        one.page.get_by_text("Find a page by a picture of it").wait_for()  # the first screen is complete
        one.shows(one.page.get_by_role("button", name=SHOW), 0)
        one.page.get_by_role("button", name="Try it with a sample").click()
        one.page.get_by_placeholder("Ask your documents").wait_for()
        code = shown(one)
        assert len(code.split("-")) == 6
        copy = one.page.get_by_role("button", name="Copy to clipboard")
        assert copy.evaluate("node => { for (; node; node = node.parentElement)"
                             " if (getComputedStyle(node).opacity === '0') return false; return true }")  # fmt: skip
        with one.page.expect_download() as saved:
            one.page.get_by_role("button", name="Save as a file").click()
        assert saved.value.suggested_filename.startswith("docmind-recovery-code-")
        assert code in Path(saved.value.path()).read_text("utf-8")
        one.page.keyboard.press("Escape")  # not now
        one.page.get_by_role("dialog").wait_for(state="detached")
        side = one.page.locator('[data-testid="stSidebar"]').get_by_role("button", name=FOLDED)
        side.wait_for()
        one.shows(one.page.get_by_role("button", name=SHOW), 0)

        one.page.goto("about:blank")  # a page that is open would tell of the server that is gone
        server.kill()
        server.start()
        one.enter()
        one.shows(one.page.get_by_role("button", name=SHOW), 0)
        side.click()
        assert one.page.locator(".st-key-recovery-code code").inner_text().strip() == code
        one.page.get_by_role("button", name=WRITTEN).click()
        side.wait_for(state="detached")
        one.page.reload()
        one.page.get_by_placeholder("Ask your documents").wait_for()
        one.idle()
        assert not one.page.get_by_role("button", name=SHOW).count()
        assert not side.count()
        one.section("Privacy")
        one.page.get_by_role("button", name="Make a new recovery code").click()
        one.page.get_by_role("button", name="Make a new code").click()
        other = one.page.locator(".st-key-recovery-code code")
        other.wait_for()
        assert other.inner_text().strip() != code
        one.page.get_by_role("button", name=WRITTEN).click()
        one.page.get_by_text("You confirmed that you have it").wait_for()
