"""Mails in the terminal: narrowed by people and days, and shown with their exchange."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mails import mail
from shells import Shell

ANA, BEN = "Ana Silva <ana@lar.example>", "Ben Ott <ben@ott.example>"


@pytest.mark.slow
def test_mails_are_narrowed_and_shown_with_their_exchange(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    first = mail(
        "The lease ends in May.\n", {"From": ANA, "To": BEN, "Subject": "Lease", "Message-ID": "<1@x.example>"}
    )
    second = mail(
        "I signed the lease.\n",
        {
            "From": BEN, "To": ANA, "Subject": "Re: Lease", "References": "<1@x.example>",
            "Date": "Tue, 03 Jun 2025 10:00:00 +0100",
        },
    )  # fmt: skip
    shell.run("add", shell.file("1.eml", first), shell.file("2.eml", second))

    def found(*options: str) -> set[str]:
        hits = json.loads(shell.run("search", "lease", "--json", *options).stdout)["hits"]
        return {hit["document"] for hit in hits}

    assert found() == {"1.eml", "2.eml"}
    assert found("--from", "ana") == found("--to", "ott") == found("--before", "2025-06-02") == {"1.eml"}
    assert found("--after", "2025-06-03") == {"2.eml"}
    listed = json.loads(shell.run("find", "--all", "lease", "--from", "ben", "--json").stdout)
    assert {item["source"]["document"] for item in listed["items"]} == {"2.eml"}
    shown = shell.run("show", "2.eml").stdout
    assert "From: Ben Ott <ben@ott.example>" in shown
    assert "Mails of this exchange:" in shown
    assert "* 2025-06-03  Ben Ott: Re: Lease" in shown
    assert "  2025-06-02  Ana Silva: Lease" in shown
    assert len(json.loads(shell.run("show", "2.eml", "--json").stdout)["exchange"]) == 2
    assert "3 Jun 2025" in shell.run("ask", "--quotes", "When did Ben answer?").stdout
