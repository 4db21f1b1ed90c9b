"""A conversation that is bound to a collection: begun from the library, kept with the conversation, removed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from desks import environment_of
from docmind.application import DocMind
from docmind.records.documents import Upload
from libraries import Library, confirm
from served import App, Server, Tab, tab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

FILES = [
    (f"{name}.txt", f"{name.title()} nest in tall trees near the river.\n".encode() * 3) for name in ("herons", "owls")
]


def _collect(docmind: DocMind) -> None:
    confirm(docmind)
    docmind.documents.new_collection("Waders", [docmind.documents.find("herons.txt").doc_id])


WADERS = Library("collections", [Upload(*file) for file in FILES], _collect)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("collections")
    server = App(folder, library=WADERS, **environment_of(folder))
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


@pytest.fixture
def one(browser: Any, server: Server) -> Iterator[Tab]:
    with tab(browser, server) as one:
        yield one


def test_a_collection_is_asked_and_stays_with_its_conversation(one: Tab) -> None:
    page = one.open("Documents").page
    page.locator(".lib-row").first.wait_for()
    assert not page.get_by_role("button", name="Ask this collection").is_visible()
    page.get_by_label("Collection", exact=True).select_option("Waders")
    page.get_by_role("button", name="Ask this collection").click()
    chosen = page.get_by_role("button", name=re.compile("1 document · Waders"))
    chosen.wait_for()
    page.wait_for_url(re.compile("collection="))  # the address follows the page a moment later
    assert "collection=" in page.url
    page.get_by_placeholder("Ask your documents").fill("Where do they nest?")
    page.keyboard.press("Enter")
    page.get_by_text("Searched: Waders").wait_for()
    one.idle()
    assert page.get_by_text("owls.txt").count() == 0
    page.reload()
    page.get_by_text("Searched: Waders").wait_for()
    chosen.wait_for()

    page.get_by_role("button", name="New conversation").click()
    page.get_by_role("button", name="All documents").wait_for()
    one.idle()
    assert "collection=" not in page.url
    page.get_by_role("button", name="Where do they nest?").first.click()
    chosen.wait_for()
    one.idle()
    page.get_by_role("button", name="Search all").click()
    page.get_by_role("button", name="All documents").wait_for()
    one.idle()
    page.reload()
    page.get_by_text("Searched: Waders").wait_for()  # the turn keeps what it was asked in
    page.get_by_role("button", name="All documents").wait_for()
