"""The view of a checked text: each verdict in words, and the sources of a sentence as links to their pages."""

from __future__ import annotations

from typing import get_args

import pytest

from docmind.records.answers import Source
from docmind.records.drafts import IN_EARLIER, IN_NEWEST, VERDICTS, WITH_SOURCE, CheckedSentence, Verdict
from docmind.ui.chat.check_text import _shown


def source(n: int, quote: str) -> Source:
    return Source(n, f"lease v{n}.txt", f"{n}" * 32, 1, f"{n}::page::1", quote, (), 100, 100)


@pytest.mark.parametrize("verdict", get_args(Verdict))
def test_each_verdict_is_shown_in_words(verdict: Verdict) -> None:
    said = CheckedSentence("It is 900.", 0, 10, verdict, source(1, "It is 900.") if verdict in WITH_SOURCE else None)
    assert f"**{VERDICTS[verdict]}**" in _shown(said)


def test_the_sources_of_an_outdated_sentence_are_told_apart() -> None:
    shown = _shown(CheckedSentence("It is 900.", 0, 10, "outdated", source(1, "It is 900."), source(2, "It is 950.")))
    earlier, newest = (part for part in shown.split("\n\n") if part.startswith(">"))
    assert f", {IN_EARLIER}  \n> “It is 900\\.”" in earlier
    assert f", {IN_NEWEST}  \n> “It is 950\\.”" in newest
