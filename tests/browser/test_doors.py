"""The open app and its doors: commands, the Python client and assistants beside it, over one library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assistants import over_http, over_stdio, record
from desks import text_pdf
from docmind.client import connect
from loops import run_async
from served import App, Server, Tab, tab
from shells import Shell

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

DELIVERY = "The parcel is delivered on the ninth of March."
QUESTION = "When is the parcel delivered?"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def server(shell: Shell) -> Iterator[Server]:
    """Start the app over the vault of the shell."""
    server = App(shell.folder, library=None, **shell.environment)
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def source_in(one: Tab) -> str:
    """Return the document and page that the first source of the newest answer leads to."""
    link = one.page.locator('[class*="st-key-turn-"] a[href^="#read="]:visible').last.get_attribute("href")
    assert link is not None
    return link.removeprefix("#read=").partition("&")[0]


def test_every_door_leads_to_the_same_page(browser: Any, server: Server, shell: Shell) -> None:
    parcel = shell.file("parcel.pdf", text_pdf(["Terms of the carrier.", DELIVERY]))
    with tab(browser, server) as one:
        one.open("Documents")
        assert "Added parcel.pdf: 2 pages" in shell.run("add", parcel).stdout
        one.page.get_by_text("parcel.pdf").first.wait_for()  # without a reload
        (info,) = connect(shell.folder / "data").documents.all()
        place = f"{info.doc_id}.2"

        one.go("Ask")
        one.ask(QUESTION)
        assert source_in(one) == place

        (hit, *_) = shell.json("search", "parcel delivered")["hits"]
        assert (hit["doc_id"], hit["page_no"]) == (info.doc_id, 2)
        assert "ninth of March" in shell.run("ask", QUESTION).stdout
        client = connect(shell.folder / "data")
        answer = client.ask(QUESTION)
        assert [(source.doc_id, source.page_no) for source in answer.sources][:1] == [(info.doc_id, 2)]

        async def assistant(connection: Any) -> tuple[dict[str, Any], dict[str, Any]]:
            async with connection as asking:
                found = await record(asking, "search", question="parcel delivered")
                return found["hits"][0], (await record(asking, "ask", question=QUESTION))["sources"][0]

        secret = client.tokens.new("assistant").secret
        for connection in (over_http(f"{server.url}/mcp", secret), over_stdio(shell.environment)):
            for told in run_async(assistant(connection)):
                assert (told["doc_id"], told["page_no"]) == (info.doc_id, 2)

        one.ask("And the terms of the carrier?")  # the app goes on as before
        one.go("Documents")
        assert "bin" in shell.run("delete", "parcel.pdf", "-y").stdout
        one.page.get_by_text("0 documents, 0 pages").wait_for()
