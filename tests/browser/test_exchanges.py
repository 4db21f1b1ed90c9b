"""An exchange of mails in a browser: listed on the page of each mail, and mails chosen by who wrote them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from desks import environment_of
from docmind.records.documents import Upload
from libraries import Library, confirm
from mails import mail
from served import App, Server, tab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

ANA, BEN = "Ana Silva <ana@lar.example>", "Ben Ott <ben@ott.example>"
FIRST = mail(
    "Dear Ben,\n\nthe price of the boiler is 900 euros.\n",
    {"From": ANA, "To": BEN, "Subject": "Boiler offer", "Message-ID": "<1@x.example>"},
)
SECOND = mail(
    "Thank you. When can you come?\n",
    {
        "From": BEN, "To": ANA, "Subject": "Re: Boiler offer", "Message-ID": "<2@x.example>",
        "References": "<1@x.example>", "Date": "Tue, 03 Jun 2025 10:00:00 +0100",
    },
)  # fmt: skip
GATE = mail(
    "The gate is green.\n", {"From": BEN, "To": ANA, "Subject": "Gate", "Date": "Tue, 02 Jan 2024 10:00:00 +0000"}
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    files = [Upload("1.eml", FIRST), Upload("2.eml", SECOND), Upload("3.eml", GATE)]
    server = App(tmp_path, library=Library("mails", files, confirm), **environment_of(tmp_path))
    server.start()
    yield server
    server.stop()
    assert "Traceback" not in server.log()


def test_a_mail_lists_its_exchange_and_mails_are_chosen_by_their_sender(browser: Any, server: Server) -> None:
    with tab(browser, server) as one:
        page = one.open("Documents").page
        page.get_by_role("link", name="Boiler offer", exact=True).click()
        page.get_by_text("2 mails in this exchange").wait_for()
        page.get_by_text("From: Ana Silva").wait_for()
        told = " ".join(page.locator(".st-key-thread").inner_text().split())
        assert told.index("Boiler offer 2 Jun 2025 · Ana Silva") < told.index("Re: Boiler offer 3 Jun 2025 · Ben Ott")
        links = page.locator(".st-key-thread button")
        assert links.count() == 1, "the open mail is no link"
        links.click()
        page.get_by_role("heading", name="Re: Boiler offer").wait_for()
        page.get_by_text("From: Ben Ott").wait_for()

        one.go("Ask")
        page.get_by_text("All documents", exact=True).first.click()
        people = page.get_by_role("combobox", name="From")
        people.click()
        page.get_by_role("option", name="Ana Silva").click()
        page.get_by_text("from Ana Silva").wait_for()
        page.wait_for_url("**from=Ana**")
