"""Kinds of files that people have, followed as a folder: each is read, found, quoted and boxed.

SCREENSHOTS=FOLDER also takes pictures of each answer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from archives import packed
from decks import body, deck, title
from desks import plain_in
from libraries import Library, confirm
from served import App, Tab, choose_in_menu, marks, tab, take
from sheet_files import xls

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

DECK = deck(
    [
        title("Office move") + body("The move to Harbour Street is on 14 March", "Boxes come on 7 March"),
        title("Costs") + body("The movers ask 4,200 euros for two vans"),
    ]
)
TERMS = "Terms of the boiler service\n\nThe yearly service of the boiler costs 145 euros.\n"
CELLS = [
    {"cell_type": "markdown", "metadata": {}, "source": "# Rain gauges\n\nThe gauge in Faro was broken in May."},
    {
        "cell_type": "code",
        "metadata": {},
        "execution_count": 1,
        "source": "total = rain.sum()\nprint(total)",
        "outputs": [{"output_type": "stream", "name": "stdout", "text": "Rain of the year: 512.4 mm\n"}],
    },
]
NOTEBOOK = json.dumps({"cells": CELLS, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
NAMES = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "text"))
ODT = packed(
    {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": f"<office:document-content {NAMES}><office:body><office:text>"
        '<text:h text:outline-level="1">The pond book</text:h>'
        "<text:p>The heron was last seen at the pond on 9 October.</text:p>"
        "</office:text></office:body></office:document-content>",
    }
)
OLD = xls({"Fleet": [["Boat", "Berth", "Length"], ["Petrel", "B14", 6.5], ["Dunlin", "B17", 7.25]]})
CODE = '''"""Tides of a harbour."""


def slack_water(minutes: int) -> int:
    """Return how long the water stands still, in minutes, after a tide of this length."""
    return minutes // 24
'''


def mail() -> bytes:
    """Return a mail with a text attached."""
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "Jo Lind <jo@lind.example>", "mara@vale.example", "Boiler inspection"
    made["Date"] = "Mon, 02 Jun 2025 09:12:00 +0100"
    made.set_content("Dear Mara,\n\nthe inspection of the boiler was moved to Friday at 10:30.\n\nJo\n")
    made.add_attachment(TERMS.encode(), "text", "plain", filename="boiler-terms.txt")
    return made.as_bytes()


FILES = {
    "office-move.pptx": DECK,
    "boiler.eml": mail(),
    "rain.ipynb": NOTEBOOK,
    "pond.odt": ODT,
    "fleet.xls": OLD,
    "Rent 2025.zip": packed({"2025/lease.txt": "Lease of the flat\n\nThe deposit of the flat is 1,800 euros.\n"}),
    "harbour/tides.py": CODE.encode(),
    "harbour/README.md": b"# Harbour\n\nThe tables of the harbour are kept by the pilots.\n",
}
ASKED = (
    ("When is the move to Harbour Street?", "on 14 March", "Office move"),
    ("How much do the movers ask?", "4,200 euros", "Office move"),
    ("When is the inspection of the boiler?", "Friday at 10:30", "Boiler inspection"),
    ("What does the yearly service of the boiler cost?", "145 euros", "Boiler inspection"),
    ("Where was a gauge broken in May?", "The gauge in Faro was broken in May", "Rain gauges"),
    ("What is the rain of the year?", "512.4 mm", "Rain gauges"),
    ("When was the heron last seen at the pond?", "9 October", "The pond book"),
    ("Which berth has the Dunlin?", "B17", "fleet"),
    ("How much is the deposit of the flat?", "1,800 euros", "Rent 2025.zip"),
    ("What does slack_water return?", "how long the water stands still", "tides.py"),
    ("Who keeps the tables of the harbour?", "kept by the pilots", "Harbour"),
)


@pytest.fixture
def one(browser: Any, tmp_path: Path) -> Iterator[Tab]:
    folder = tmp_path / "Desk"
    for name, data in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    server = App(tmp_path, library=Library("empty, to be read", (), confirm, plain_in))
    server.start()
    with tab(browser, server) as opened:
        yield opened
    server.stop()
    assert "Traceback" not in server.log()


def test_a_folder_of_many_kinds_is_read_and_quoted(one: Tab, tmp_path: Path) -> None:
    page = one.open("Documents").page
    choose_in_menu(one, lambda: page.get_by_role("button", name="Add", exact=True).click(), "Watched folders")
    page.get_by_label("Folder", exact=True).fill(str(tmp_path / "Desk"))
    page.get_by_role("button", name="Follow folder").click()
    page.get_by_role("dialog").get_by_text(f"{len(FILES)} files").wait_for()
    page.keyboard.press("Escape")
    one.shows(page.locator(".lib-row"), len(FILES) + 2)
    for number, (question, quote, source_name) in enumerate(ASKED):
        page.goto(f"{one.url}/")
        one.idle()
        one.ask(question)
        source = page.locator('[class*="st-key-turn-0-source-1"]').first
        source.locator("img").first.wait_for()
        said = " ".join(page.locator('[class*="st-key-turn-0"]').first.inner_text().replace("\u2060", "").split())
        assert quote in said, f"{question}: {said}"
        assert source_name in said, f"{question}: {said}"
        assert marks(one.picture(source.locator("img").first)), f"no stroke on the page: {question}"
        if os.environ.get("SCREENSHOTS"):
            take(one, f"kinds-{number}")
