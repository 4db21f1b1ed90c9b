"""What stands below every mail is no statement of it: 36 mails in five languages, in the styles of several programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from docmind.blocks import unpack
from docmind.reading.formats import Rules, reader
from docmind.records.documents import Upload
from mails import mail

MAILS = json.loads((Path(__file__).parent / "mail_signatures.json").read_text("utf-8"))
TEXT = "text/plain; charset=utf-8"


def said(body: str, kind: str) -> dict[str, str]:
    """Return the text of a mail by what it is: its own words, footers, quoted words."""
    opened = reader("mail")(Upload("a.eml", mail(body, None, kind)), "mail", Rules())
    found = {"own": "", "footer": "", "quoted": "", "field": ""}
    for number in range(1, opened.pages + 1):
        page = opened.page(number)
        for block in unpack(page.blocks, len(page.text)):
            kind_of = block.kind if block.kind in found else "own"
            found[kind_of] += " " + " ".join(page.text[block.start : block.end].split())
    return found


@pytest.mark.parametrize("told", MAILS, ids=[one["name"] for one in MAILS])
def test_what_stands_below_every_mail(told: dict[str, Any]) -> None:
    found = said(told["body"], told["kind"])
    for what in ("own", "footer", "quoted"):
        for words in told[what]:
            assert words in found[what], what


@pytest.mark.slow
def test_a_mail_of_farewells_is_read_in_time() -> None:
    found = said("Best regards,\n\n" * 20_000, TEXT)
    assert "Best regards" in found["own"]
