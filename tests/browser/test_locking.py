"""Locking in the app: the passphrase page, locking by hand and by itself, the recovery code, and new keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from desks import settings_in
from docmind.application import DocMind
from docmind.config import KeySettings
from docmind.records.documents import Upload
from served import Server, Tab, tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LOCKED, FIRST, SECOND = "Your library is locked", "correct horse battery", "staple of the stable"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Serve a library with a passphrase and a document."""
    settings = settings_in(tmp_path, keys=KeySettings(source="passphrase"))
    with DocMind(settings, ask_passphrase=lambda: FIRST) as docmind:
        docmind.add([Upload("herons.txt", b"The heron nests beside the river.")])
    server = Server(
        tmp_path, DOCMIND_EMBEDDING__MODEL="fake", DOCMIND_READING__OCR="off", DOCMIND_KEYS__SOURCE="passphrase"
    )
    server.start()
    yield server
    server.stop()


def unlock(one: Tab, passphrase: str) -> None:
    field = one.page.get_by_label("Passphrase", exact=True)
    field.fill(passphrase)
    field.press("Enter")


def test_the_library_is_locked_and_opened_on_the_same_page(browser: Any, server: Server) -> None:
    with tab(browser, server) as one, tab(browser, server) as other:
        one.enter()
        one.page.wait_for_function("document.activeElement.type === 'password'")
        unlock(one, FIRST)
        other.enter()
        other.page.get_by_placeholder("Ask your documents").wait_for()
        one.section("Privacy")
        one.page.get_by_role("button", name="Lock now").click()
        one.page.get_by_role("heading", name=LOCKED).wait_for()
        other.page.get_by_role("heading", name=LOCKED).wait_for()  # a tab that nobody touches shows no document
        unlock(one, "wrong")
        one.page.get_by_text("This isn't the passphrase of your library.").wait_for()
        unlock(one, FIRST)
        one.page.get_by_role("button", name="Lock now").wait_for()  # the same page, the same section
        other.page.get_by_placeholder("Ask your documents").wait_for()


def test_it_locks_by_itself_and_opens_with_the_recovery_code(browser: Any, server: Server) -> None:
    with tab(browser, server) as one:
        one.enter()
        unlock(one, FIRST)
        one.page.get_by_role("button", name="Show the recovery code").first.click()
        code = one.page.locator(".st-key-recovery-code code").inner_text().strip()
        one.page.get_by_role("button", name="I have written it down").click()
        one.page.get_by_role("button", name="Show the recovery code").wait_for(state="detached")
        one.section("Privacy")
        minutes = one.page.get_by_test_id("stNumberInputField")
        minutes.fill("1")
        minutes.press("Enter")
        one.page.get_by_text("Saved").wait_for()
        one.page.get_by_role("heading", name=LOCKED).wait_for(timeout=120_000)
        one.shows(one.page.get_by_test_id("stTabs"), 0)  # nothing of the page is left
        one.page.get_by_text("Forgot it? Use the recovery code").click()
        one.page.get_by_label("Recovery code").fill(code.lower())
        one.page.get_by_label("New passphrase", exact=True).fill(SECOND)
        one.page.get_by_label("New passphrase again").fill(SECOND)
        one.page.get_by_role("button", name="Open the library").click()
        shown = one.page.locator(".st-key-recovery-code code")
        shown.wait_for()
        assert shown.inner_text().strip() != code
        one.page.get_by_role("button", name="I have written it down").click()
        one.page.get_by_role("button", name="Lock now").click()
        unlock(one, FIRST)
        one.page.get_by_text("This isn't the passphrase of your library.").wait_for()
        unlock(one, SECOND)
        one.page.get_by_role("button", name="Lock now").wait_for()


def test_the_library_gets_new_keys(browser: Any, server: Server) -> None:
    with tab(browser, server) as one:
        one.enter()
        unlock(one, FIRST)
        one.section("Privacy")
        one.page.get_by_role("button", name="Make new keys").click()
        one.page.get_by_role("button", name="Begin").click()
        one.page.get_by_text("Everything has new keys").wait_for()
        one.page.get_by_role("button", name="Make new keys").wait_for()
        one.shows(one.page.get_by_text("The search index gets its new key"), 0)
