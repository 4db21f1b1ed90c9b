"""The reader beside the conversation, in a real browser: links, turning pages, search, copying, the address."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from PIL import Image

from browsers import WINDOW
from desks import plain_in
from docmind.records.documents import Upload
from libraries import Library, confirm
from papers import pdf
from served import App, Server, Tab, tab, take

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

QUESTION = "How long is the notice period of the lease?"
NOTICE = "The notice period of the lease is six months to the end of a quarter."
NAME = "lease.pdf"


def page_of(*lines: str) -> str:
    shown = "".join(f"({text}) Tj 0 -24 Td " for text in lines)
    return f"BT /F1 14 Tf 72 700 Td {shown}ET"


def lease() -> bytes:
    """Return a lease of three pages; the first has a word that is broken at the end of a line."""
    first = page_of(
        "Lease of the warehouse at the harbour",
        NOTICE,
        "It is given in writing by either of the two par-",
        "ties to this contract, and it reaches the other one by post.",
    )
    return pdf([first, page_of("Rent", "The rent is paid each month."), page_of("On the third page", "Repairs")])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = App(
        tmp_path, library=Library("reader", [Upload(NAME, lease())], confirm, plain_in), DOCMIND_READING__OCR="off"
    )
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def press_marker(one: Tab) -> Any:
    """Press [1] in the answer and return the reader, once it shows the page."""
    one.page.locator('[data-testid="stChatMessage"] a[href^="#read="]').first.click()
    return shown(one, 1)


def shown(one: Tab, page_no: int) -> Any:
    reader = one.page.locator("#docmind-reader")
    one.page.locator(f'#docmind-reader[data-shown="{page_no}"]').wait_for()
    assert reader.get_by_role("textbox", name="Page number").input_value() == str(page_no)
    return reader


def close_by_button(one: Tab) -> None:
    """Close the reader wherever the keyboard is."""
    reader = one.page.locator("#docmind-reader")
    reader.get_by_role("button", name="Close", exact=True).first.click()
    reader.wait_for(state="hidden")


def in_view(one: Tab, selector: str) -> bool:
    """Tell whether the first of these shapes lies within what the reader shows."""
    return one.page.evaluate(
        """selector => {
            const view = document.querySelector("#docmind-reader .view").getBoundingClientRect();
            const box = document.querySelector(`#docmind-reader ${selector}`).getBoundingClientRect();
            return box.width > 5 && box.top >= view.top && box.bottom <= view.bottom && box.right > view.left
                && box.left < view.right;
        }""",
        selector,
    )


def a_marker_opens_the_page_at_its_words(one: Tab) -> None:
    reader = press_marker(one)
    assert in_view(one, "polygon.cited")
    assert reader.get_by_role("heading").inner_text()
    assert "Text from the file" in reader.locator(".facts").inner_text()
    assert one.page.evaluate("document.activeElement.closest('#docmind-reader') !== null")
    assert "#read=" in one.page.url
    assert "thread=" in one.page.url
    take(one, "reader-light")
    one.page.keyboard.press("Escape")
    one.page.locator("#docmind-reader").wait_for(state="hidden")
    assert "#read=" not in one.page.url
    assert one.page.evaluate("document.activeElement.matches('a[href^=\"#read=\"]')")


def pages_are_turned_by_button_key_number_and_thumbnail(one: Tab) -> None:
    reader = press_marker(one)
    reader.get_by_role("button", name="Next page").click()
    shown(one, 2)
    assert not reader.locator("polygon.cited").count(), "the quote belongs to its page only"
    one.page.keyboard.press("ArrowRight")
    shown(one, 3)
    field = reader.get_by_role("textbox", name="Page number")
    field.fill("1")
    field.press("Enter")
    shown(one, 1)
    reader.locator(".strip").get_by_role("button", name="Page 2", exact=True).click()
    shown(one, 2)
    close_by_button(one)


def zoom_stays_at_the_highlight(one: Tab) -> None:
    reader = press_marker(one)
    before = reader.locator(".turned").bounding_box()
    for _ in range(3):
        reader.get_by_role("button", name="Zoom in").click()
        assert in_view(one, "polygon.cited")
    after = reader.locator(".turned").bounding_box()
    assert after["width"] > 1.8 * before["width"]
    reader.get_by_role("button", name="Rotate").click()
    turned = reader.locator(".turned").bounding_box()
    assert turned["width"] > turned["height"]
    reader.get_by_role("button", name="Fit page").click()
    whole, view = (reader.locator(part).bounding_box() for part in (".turned", ".view"))
    assert whole["height"] <= view["height"]
    assert whole["width"] <= view["width"]
    close_by_button(one)


def search_within_the_document(one: Tab) -> None:
    reader = press_marker(one)
    reader.get_by_role("button", name="Find in this document").click()
    field = reader.get_by_role("searchbox")
    field.fill("ÓN THE THIRD")
    reader.get_by_text("1 of 1").wait_for()
    shown(one, 3)
    assert in_view(one, "polygon.match.now")
    field.fill("the two parties to this contract")  # over the end of a line, and of a broken word
    reader.get_by_text("1 of 1").wait_for()
    shown(one, 1)
    assert reader.locator("polygon.match.now").count() == 2
    field.fill("rent")
    reader.get_by_text("1 of 3").or_(reader.get_by_text("1 of 2")).wait_for()
    field.press("Enter")
    reader.get_by_text(re.compile("^2 of")).wait_for()
    field.fill("zebra")
    reader.get_by_text("No matches").wait_for()
    close_by_button(one)


def copied_text_is_joined(one: Tab) -> None:
    press_marker(one)
    copied = one.page.evaluate(
        """() => {
            const words = document.querySelector("#docmind-reader .words");
            getSelection().selectAllChildren(words);
            const event = new ClipboardEvent("copy", {
                clipboardData: new DataTransfer(), bubbles: true, cancelable: true });
            words.firstChild.dispatchEvent(event);
            return event.clipboardData.getData("text/plain");
        }"""
    )
    assert f"{NOTICE} It is given in writing by either of the two parties to this contract" in copied
    close_by_button(one)


def the_address_holds_the_page(one: Tab) -> None:
    press_marker(one)
    one.page.keyboard.press("ArrowRight")
    shown(one, 2)
    one.page.reload()
    shown(one, 2)
    one.page.get_by_text("Answered in").first.wait_for()
    one.idle()
    one.page.go_back()
    one.page.locator("#docmind-reader").wait_for(state="hidden")
    one.page.get_by_text("Answered in").first.wait_for()
    one.page.go_forward()
    shown(one, 2)
    close_by_button(one)


def hovering_a_marker_shows_its_place_on_the_page(one: Tab) -> None:
    """Check for the place and not for the words, which stand in the answer."""
    one.page.locator('[data-testid="stChatMessage"] a[href^="#read="]').first.hover()
    tip = one.page.get_by_role("tooltip").filter(has=one.page.get_by_role("img", name=NOTICE))
    tip.wait_for()
    assert tip.inner_text() == "lease, page 1"


def the_original_and_the_page_are_downloaded(one: Tab) -> None:
    reader = press_marker(one)
    for name, link in ((NAME, "Download the original file"), ("lease, page 1.png", "Download this page (PNG)")):
        reader.get_by_role("button", name="Download").click()
        with one.page.expect_download() as download:
            reader.get_by_role("link", name=link).click()
        assert download.value.suggested_filename == name
        data = download.value.path().read_bytes()
        if name == NAME:
            assert data == lease()
            assert len(pypdfium2.PdfDocument(data)) == 3
        else:
            assert Image.open(io.BytesIO(data)).format == "PNG"
    close_by_button(one)


def asking_one_document_narrows_the_next_questions(one: Tab) -> None:
    reader = press_marker(one)
    reader.get_by_role("button", name="Ask this document").click()
    one.page.locator(".st-key-filters button", has_text="lease").wait_for()
    one.idle()
    assert reader.is_visible()
    close_by_button(one)


def the_library_opens_it_too_in_the_dark(one: Tab) -> None:
    one.wear("dark")
    press_marker(one)
    take(one, "reader-dark")
    one.go("Documents")
    one.page.locator("#docmind-reader").wait_for(state="hidden")


def it_covers_a_narrow_window(one: Tab) -> None:
    one.page.set_viewport_size({"width": 390, "height": 844})
    one.idle()
    reader = press_marker(one)
    assert reader.bounding_box()["width"] == 390
    assert in_view(one, "polygon.cited")
    assert reader.get_by_role("toolbar").bounding_box()["height"] < 60  # one row; the rest is in its menu
    reader.get_by_role("button", name="More").click()
    reader.get_by_role("button", name="Fit page").click()
    one.shows(reader.locator(".extras.open"), 0)
    take(one, "reader-narrow")
    close_by_button(one)
    one.page.set_viewport_size(WINDOW)
    one.idle()


def what_fails_is_told_and_tried_again(one: Tab) -> None:
    facts = re.compile(r"/-/page/[^/]+/1(\?.*)?$")
    one.page.route(facts, lambda route: route.abort())
    one.page.locator('[data-testid="stChatMessage"] a[href^="#read="]').first.click()
    reader = one.page.locator("#docmind-reader")
    reader.get_by_role("alert").get_by_text("DocMind doesn't answer").wait_for()
    one.page.unroute_all()
    reader.get_by_role("button", name="Retry").click()
    shown(one, 1)
    one.page.route(facts, lambda route: route.fulfill(status=404, json={"error": "There is no such document."}))
    one.page.reload()
    told = reader.get_by_role("alert")
    told.get_by_text("This document has been deleted. The quote is kept from when it was cited.").wait_for()
    assert NOTICE in told.inner_text()
    one.complaints.clear()  # the browser tells of the requests that failed


WALK = (
    hovering_a_marker_shows_its_place_on_the_page,
    a_marker_opens_the_page_at_its_words,
    pages_are_turned_by_button_key_number_and_thumbnail,
    copied_text_is_joined,
    asking_one_document_narrows_the_next_questions,  # it keeps the reader open over changes of the page for a while
    the_original_and_the_page_are_downloaded,
    zoom_stays_at_the_highlight,
    search_within_the_document,
    the_address_holds_the_page,
    it_covers_a_narrow_window,
    the_library_opens_it_too_in_the_dark,
)


def is_heard(one: Tab) -> None:
    """Check what a screen reader is told of a conversation whose answer has just come."""
    one.page.locator("#docmind-said").filter(has_text="The answer is here.").wait_for(state="attached")
    assert one.page.get_by_role("heading", level=1, name=QUESTION).count() == 1
    assert one.page.get_by_role("navigation", name="Pages of DocMind").get_by_role("link").count() == 3
    assert one.page.get_by_role("button", name="Edit the question and ask again").count() == 1


def test_the_reader_beside_a_conversation(browser: Any, server: Server) -> None:
    """Walk through one conversation with one answer; each part leaves the reader closed and the window wide."""
    with tab(browser, server) as one:
        one.open()
        one.ask(QUESTION)
        conversation = one.page.url
        is_heard(one)
        for part in WALK:
            part(one)
            assert one.page.locator("#docmind-reader").is_hidden(), part.__name__
        one.page.goto(conversation)  # a page that has read nothing yet
        one.page.get_by_text("Answered in").first.wait_for()
        one.idle()
        what_fails_is_told_and_tried_again(one)
