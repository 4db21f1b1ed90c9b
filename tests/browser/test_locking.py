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
from served import WAIT_MS, App, Server, Tab, tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LOCKED, FIRST, SECOND = "Your library is locked", "correct horse battery", "staple of the stable"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Serve a library with a passphrase and a document."""
    settings = settings_in(tmp_path, keys=KeySettings(source="passphrase"))
    with DocMind(settings, ask_passphrase=lambda: FIRST) as docmind:
        docmind.add([Upload("herons.txt", b"The heron nests beside the river.")])
    server = App(
        tmp_path, DOCMIND_EMBEDDING__MODEL="fake", DOCMIND_READING__OCR="off", DOCMIND_KEYS__SOURCE="passphrase"
    )
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def unlock(one: Tab, passphrase: str) -> None:
    one.idle()  # until the page that asks is drawn, and what is typed stays
    field = one.page.get_by_label("Passphrase", exact=True)
    field.fill(passphrase)
    field.press("Enter")


def test_the_library_is_locked_and_opened_on_the_same_page(browser: Any, server: Server) -> None:
    """Walk through locking in one tab, with a second one at first.

    A minute of it passes in the open library until it locks by itself: that is the shortest time that can be set.
    """
    with tab(browser, server) as one:
        one.enter()
        field_has_the_keyboard(one)
        unlock(one, FIRST)
        with tab(browser, server) as other:
            locks_in_all_tabs(one, other)
        gets_new_keys(one)
        locks_by_itself_and_opens_with_the_recovery_code(one)


def field_has_the_keyboard(one: Tab) -> None:
    from playwright.sync_api import expect

    expect(one.page.get_by_label("Passphrase", exact=True)).to_be_focused(timeout=WAIT_MS)


def locks_in_all_tabs(one: Tab, other: Tab) -> None:
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


def gets_new_keys(one: Tab) -> None:
    one.section("Privacy")
    one.page.get_by_role("button", name="Make new keys").click()
    one.page.get_by_role("button", name="Begin").click()
    one.page.get_by_text("Everything has new keys").wait_for()
    one.page.get_by_role("button", name="Make new keys").wait_for()
    one.shows(one.page.get_by_text("The search index gets its new key"), 0)


def locks_by_itself_and_opens_with_the_recovery_code(one: Tab) -> None:
    one.page.get_by_role("button", name="Show the recovery code").first.click()
    code = one.page.locator(".st-key-recovery-code code").inner_text().strip()
    one.page.get_by_role("button", name="I have written it down").click()
    one.shows(one.page.get_by_role("button", name="Show the recovery code"), 0)  # it was here and in the reminder
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
    one.page.get_by_role("heading", name=LOCKED).wait_for()
    unlock(one, FIRST)
    one.page.get_by_text("This isn't the passphrase of your library.").wait_for()
    unlock(one, SECOND)
    one.page.get_by_role("button", name="Lock now").wait_for()
