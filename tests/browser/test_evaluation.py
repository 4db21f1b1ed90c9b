"""Evaluation, in Settings: sources are labelled in the chat, measured before and after a change, and compared.

SCREENSHOTS=FOLDER also takes pictures.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser.test_accessibility import faults
from browser.test_settings import choose
from desks import plain_in
from docmind.records.documents import Upload
from libraries import Library, confirm
from served import WAIT_MS, App, Server, Tab, tab, take

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

BIRDS = Library(
    "evaluation",
    [
        Upload("owls.txt", b"Owls hunt at night, in the dark and in the rain."),
        Upload("herons.txt", b"Herons nest in tall trees beside the river."),
        Upload("lease.txt", b"The monthly rent of the boat house is 412 euros."),
    ],
    confirm,
    plain_in,
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = App(tmp_path, library=BIRDS)
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def label(one: Tab, question: str, grade: str) -> None:
    """Ask, and say of the first source what it is."""
    one.ask(question)
    choice = one.page.get_by_role("radio", name=grade).locator("visible=true").last
    choice.click()
    one.idle()
    assert choice.get_attribute("aria-checked") == "true"


def measure(one: Tab) -> None:
    one.section("Evaluation")
    one.page.get_by_role("button", name="Measure with your own labels").click()
    one.page.get_by_text("A right page is among the first 10").wait_for()
    one.idle()


def test_sources_are_labelled_measured_and_two_runs_are_compared(browser: Any, server: Server) -> None:
    with tab(browser, server) as one:
        one.open("Ask")
        a_label_is_given_by_the_keyboard_and_taken_back(one)
        one.go("Ask")
        two_runs_around_a_change_of_a_setting_are_compared(one)
        assert not one.complaints


def a_label_is_given_by_the_keyboard_and_taken_back(one: Tab) -> None:
    label(one, "When do owls hunt?", "Good source")
    one.page.reload()
    good = one.page.get_by_role("radio", name="Good source").locator("visible=true").first
    good.wait_for()
    one.idle()
    assert good.get_attribute("aria-checked") == "true", "shown when the conversation is drawn again"
    box = good.bounding_box()
    assert min(box["width"], box["height"]) >= 24, "what WCAG 2.2 asks of what is pressed"
    assert max(box["width"], box["height"]) <= 40, "a symbol"
    words = good.get_by_text("Good source")
    assert words.bounding_box()["width"] <= 1
    good.focus()
    one.page.keyboard.press("ArrowRight")  # the keyboard moves between the two, and shows what each means
    one.until("() => document.activeElement.textContent.includes('Not a source for this')")
    one.page.keyboard.press("ArrowLeft")
    one.until("([words]) => words.getBoundingClientRect().width > 40", [words.element_handle()])
    one.page.keyboard.press("Space")
    one.idle()
    assert good.get_attribute("aria-checked") == "false"
    one.shows(one.page.locator(".st-key-pages-of-the-app a"), 3)
    one.page.goto(f"{one.url}/evaluation?part=Performance")  # as it was when it was a page of its own
    one.page.get_by_role("tab", name="Performance", selected=True).wait_for()
    assert "/settings?" in one.page.url
    assert "section=Evaluation" in one.page.url
    one.page.get_by_role("tab", name="Quality").click()
    one.page.get_by_role("heading", name="Nothing measured yet").wait_for()
    one.idle()
    assert not one.page.get_by_role("button", name="Measure with your own labels").count()
    assert not faults(one, "nothing measured")


def two_runs_around_a_change_of_a_setting_are_compared(one: Tab) -> None:
    from playwright.sync_api import expect

    label(one, "When do owls hunt?", "Good source")
    label(one, "Where do herons nest?", "Good source")
    measure(one)
    take(one, "evaluation-run")
    assert not faults(one, "a run")
    one.section("Search")
    choose(one, "Search by", "Words only")
    one.page.get_by_text("Saved").first.wait_for()
    measure(one)
    one.page.get_by_role("heading", name="Over time").wait_for()
    one.page.get_by_role("combobox", name="Compare with").click()
    one.page.get_by_role("option", name="Your own labels").first.click()
    one.page.get_by_role("heading", name="Compared").wait_for()
    one.idle()
    changed = one.page.locator(".st-key-evaluation-changed-settings")
    expect(changed).to_contain_text("retrieve.fusion", timeout=WAIT_MS)
    expect(changed).to_contain_text("sparse")
    one.page.get_by_text("0 better, 0 worse, 2 the same").wait_for()
    take(one, "evaluation-compared")
    for theme in ("dark", "light"):
        one.wear(theme)
        one.page.wait_for_timeout(500)
        assert not faults(one, f"two runs, {theme}")
    with one.page.expect_download() as got:
        one.page.get_by_role("button", name="Download as TREC run").click()
    lines = got.value.path().read_text().splitlines()
    assert lines
    assert all(len(line.split()) == 6 for line in lines)
    one.page.get_by_role("button", name="Remove").click()
    one.page.get_by_role("button", name="Remove this run").click()
    one.page.get_by_role("heading", name="Over time").wait_for(state="detached")
    one.page.get_by_role("tab", name="Performance").click()
    one.idle()
    expect(one.page.locator(".st-key-performance-stages")).to_contain_text("Whole answer", timeout=WAIT_MS)
    assert not faults(one, "performance")
