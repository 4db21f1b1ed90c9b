"""Numbers formatted for people."""

from __future__ import annotations

from datetime import datetime

import pytest

from docmind.ui.app.format import about, count, duration, language, size, when
from docmind.wording import ngettext, number_text, speak


@pytest.mark.parametrize(
    ("ms", "said"), [(1, "1 s"), (5_400, "5 s"), (99_400, "99 s"), (100_000, "2 min"), (600_000, "10 min")]
)
def test_an_estimate_is_a_whole_number(ms: float, said: str) -> None:
    assert about(ms) == said


@pytest.mark.parametrize(
    ("ms", "said"), [(3, "0.1 s"), (400, "0.4 s"), (9_940, "9.9 s"), (12_300, "12 s"), (150_000, "2 min")]
)
def test_what_was_measured_keeps_its_tenths_while_they_matter(ms: float, said: str) -> None:
    assert duration(ms) == said


def test_counts_agree_with_their_nouns() -> None:
    assert [count(ngettext("{n} page", "{n} pages", n), n) for n in (1, 1_200)] == ["1 page", "1,200 pages"]


@pytest.fixture
def _english():
    yield
    speak("en")


@pytest.mark.parametrize(
    ("code", "numbers", "sized", "time", "moment", "name"),
    [
        ("en", ("1,200", "12,345"), "3.2 MB", "0.4 s", "3 May 2026, 09:05", "German"),
        ("pt", ("1200", "12\N{NO-BREAK SPACE}345"), "3,2 MB", "0,4 s", "3 de mai. de 2026, 09:05", "Alemão"),
        ("es", ("1200", "12\N{NO-BREAK SPACE}345"), "3,2 MB", "0,4 s", "3 may 2026, 09:05", "Alemán"),
    ],
)
@pytest.mark.usefixtures("_english")
def test_each_language_has_its_numbers_and_dates(
    code: str, numbers: tuple[str, str], sized: str, time: str, moment: str, name: str
) -> None:
    speak(code)
    at_ms = int(datetime(2026, 5, 3, 9, 5).astimezone().timestamp() * 1000)
    assert (number_text(1_200), number_text(12_345)) == numbers
    assert (size(3_210_000), duration(400), when(at_ms), language("de")) == (sized, time, moment, name)
