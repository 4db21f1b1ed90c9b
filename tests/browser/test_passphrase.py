"""A library gets a passphrase in the app, locks with it, changes it, and loses it again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from desks import settings_in
from docmind.application import DocMind
from docmind.records.documents import Upload
from served import App, Server, Tab, tab

pytestmark = [pytest.mark.browser, pytest.mark.slow]
LOCKED, FIRST, SECOND = "Your library is locked", "canoe lentil orbit velvet harbour", "staple of the stable"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Serve a library with a key file and a document."""
    with DocMind(settings_in(tmp_path)) as docmind:
        docmind.keys.confirm_recovery_code(docmind.keys.recovery_code() or "")
        docmind.add([Upload("herons.txt", b"The heron nests beside the river.")])
    server = App(
        tmp_path,
        DOCMIND_EMBEDDING__MODEL="fake",
        DOCMIND_READING__OCR="off",
        DOCMIND_KEYS__SOURCE="auto",
        DOCMIND_KEYS__FILE=str(tmp_path / "docmind.key"),
    )
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def test_a_passphrase_is_given_changed_and_taken_away(browser: Any, server: Server, tmp_path: Path) -> None:
    with tab(browser, server) as one:
        one.enter()
        one.section("Privacy")
        protects(one)
        assert not (tmp_path / "docmind.key").exists()
        changes(one)
        locks_and_unlocks(one, FIRST, SECOND)
        loses_it(one)
        assert (tmp_path / "docmind.key").exists()
    server.stop()
    server.start()
    with tab(browser, server) as one:
        one.enter()
        one.page.get_by_placeholder("Ask your documents").wait_for()


def protects(one: Tab) -> None:
    one.page.get_by_role("button", name="Protect with a passphrase").click()
    dialog = one.page.get_by_role("dialog")
    new, again = dialog.get_by_label("New passphrase", exact=True), dialog.get_by_label("New passphrase again")
    new.fill("12345678")
    new.press("Tab")
    dialog.get_by_text("Weak: who has a copy").wait_for()
    new.fill(FIRST)
    new.press("Tab")
    dialog.get_by_text("Strong: guessing it is out of reach.").wait_for()
    again.fill(f"{FIRST} ")
    again.press("Enter")
    dialog.get_by_text("The two differ.").wait_for()
    dialog.get_by_text("Also delete the key file").click()
    again.fill(FIRST)
    again.press("Enter")
    confirms_the_code(one)
    one.page.get_by_text("The key is made from your passphrase.").wait_for()


def confirms_the_code(one: Tab) -> None:
    one.page.locator(".st-key-recovery-code code").wait_for()
    one.page.get_by_role("button", name="I have written it down").click()
    one.shows(one.page.get_by_role("dialog"), 0)


def locks_and_unlocks(one: Tab, wrong: str, right: str) -> None:
    one.page.get_by_role("button", name="Lock now").click()
    one.page.get_by_role("heading", name=LOCKED).wait_for()
    for passphrase in (wrong, right):
        one.idle()
        field = one.page.get_by_label("Passphrase", exact=True)
        field.fill(passphrase)
        field.press("Enter")
        if passphrase == wrong:
            one.page.get_by_text("This isn't the passphrase of your library.").wait_for()
    one.page.get_by_role("button", name="Lock now").wait_for()


def changes(one: Tab) -> None:
    one.page.get_by_role("button", name="Change the passphrase").click()
    dialog = one.page.get_by_role("dialog")
    again = dialog.get_by_label("New passphrase again")
    for now in ("not this one", FIRST):
        for label, text in (("Passphrase now", now), ("New passphrase", SECOND)):
            field = dialog.get_by_label(label, exact=True)
            field.fill(text)
            field.press("Tab")
            one.idle()
        again.fill(SECOND)
        again.press("Enter")
        if now != FIRST:
            dialog.get_by_text("This isn't the passphrase of your library.").wait_for()
    confirms_the_code(one)


def loses_it(one: Tab) -> None:
    one.page.get_by_role("button", name="Remove the passphrase").click()
    dialog = one.page.get_by_role("dialog")
    field = dialog.get_by_label("Passphrase now", exact=True)
    field.fill(FIRST)
    field.press("Enter")
    dialog.get_by_text("This isn't the passphrase of your library.").wait_for()
    field.fill(SECOND)
    field.press("Enter")
    confirms_the_code(one)
    one.page.get_by_text("It opens without a passphrase").wait_for()
    one.shows(one.page.get_by_role("button", name="Lock now"), 0)
