"""Files dropped on the question box in a real browser; and how far it is by the Tab key."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from desks import plain_in
from docmind.application import DocMind
from docmind.config import EmbeddingSettings, Settings
from docmind.records.documents import Upload
from libraries import Library, confirm
from papers import line, pdf
from served import WAIT_MS, App, Server, Tab, tab, take

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

LEASE = pdf([line("The rent is paid each month.")])
BOILER = pdf([line("The boiler is serviced every spring by the landlord.")])


def _converse(docmind: DocMind) -> None:
    confirm(docmind)
    for number in range(8):
        thread = docmind.conversations.create(f"Conversation {number}")
        if number < 3:
            docmind.conversations.archive(thread.thread_id)
        elif number == 3:
            docmind.conversations.bin(thread.thread_id)


def _settings(folder: Path) -> Settings:
    return plain_in(folder, embedding=EmbeddingSettings(model="fake"))


THREADS = Library("dropped", [Upload("lease.pdf", LEASE)], _converse, _settings)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Start the app over one document and eight conversations."""
    server = App(
        tmp_path,
        library=THREADS,
        DOCMIND_EMBEDDING__MODEL="fake",
        DOCMIND_LLM__PROVIDER="off",
        DOCMIND_ANSWER__THRESHOLD="0",
    )
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def drop(one: Tab, name: str, data: bytes) -> None:
    """Give a file to the question box."""
    chosen = {"name": name, "mimeType": "application/pdf", "buffer": data}
    one.page.locator('[data-testid="stChatInput"] input[type=file]').set_input_files([chosen])


def stops(one: Tab) -> list[str]:
    """Press Tab until the question box has the keyboard; return the names of the stops before it."""
    passed: list[str] = []
    for _ in range(40):
        one.page.keyboard.press("Tab")
        name = one.page.evaluate(
            "(document.activeElement.placeholder || document.activeElement.getAttribute('aria-label') ||"
            " document.activeElement.innerText || document.activeElement.tagName).trim().slice(0, 60)"
        )
        if name == "Ask your documents":
            return passed
        passed.append(name)
    raise AssertionError(passed)


def the_question_box_is_at_most_ten_stops_away(one: Tab) -> None:
    from playwright.sync_api import expect

    expect(one.page.get_by_placeholder("Ask your documents")).to_be_focused(timeout=WAIT_MS)
    one.page.evaluate("document.body.tabIndex = -1; document.body.focus(); document.body.removeAttribute('tabindex')")
    assert len(stops(one)) <= 10
    one.page.locator(".st-key-new-thread button").focus()
    one.page.keyboard.press("ArrowUp")
    assert one.page.evaluate("document.activeElement.innerText").endswith("Settings")
    one.page.locator(".st-key-threads button").first.focus()
    one.page.keyboard.press("End")
    assert "deleted conversation" in one.page.evaluate("document.activeElement.innerText")


def a_dropped_file_is_added_and_asked_alone(one: Tab) -> None:
    one.page.get_by_text("You can drop files on the question box").wait_for()
    drop(one, "boiler.pdf", BOILER)
    one.page.locator('[data-testid="stChatInput"]').get_by_text("boiler.pdf").wait_for()
    box = one.page.get_by_placeholder("Ask your documents")
    box.fill("Who services the boiler?")
    one.idle()
    box.press("Enter")
    panel = one.page.locator(".st-key-dropped")
    panel.get_by_text("boiler.pdf").first.wait_for()
    one.idle()
    take(one, "dropped")
    panel.get_by_text("Only for this conversation").click()
    panel.get_by_text("This conversation asks these documents only.").wait_for()
    one.page.get_by_text("Answered in").first.wait_for()
    one.idle()
    take(one, "dropped-answered")
    one.page.locator(".st-key-filters").get_by_text("boiler").first.wait_for()
    one.page.reload()
    one.page.locator(".st-key-filters").get_by_text("boiler").first.wait_for()


def test_the_question_box_is_near_and_takes_files(browser: Any, server: Server) -> None:
    with tab(browser, server) as one:
        one.open()
        the_question_box_is_at_most_ten_stops_away(one)
        a_dropped_file_is_added_and_asked_alone(one)
