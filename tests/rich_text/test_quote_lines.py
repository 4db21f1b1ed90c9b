"""Lines of a quote: those of a paragraph are joined, those of lists, tables and code are kept."""

from __future__ import annotations

import pytest

from docmind.rich_text import flow, quote_lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("The controller shall repair the damage that\nwas caused.", 1),
        ("The tenant shall observe the following rules:\na) the quiet hours;\nb) the stairs.", 3),
        ("name | trade\n…\nBen Cole | plumber", 3),
        ("def wait(n):\n    # Wait twice as long after each failure of a download.\n    return 2 ** n", 3),
        ("Ben Cole\nHigh Street 4", 2),
        ("Fees are owed when\nyour child is ill or on holiday.", 1),
        ("Ausgaben über 2.500\nEuro bedürfen eines Beschlusses des Vorstands.", 1),
        ("Closed on Monday.\nThe museum opens at ten on all other days.", 2),
        ("Fee | Amount\nA late payment of the monthly rent | 2 %", 2),
        ("\n \n", 0),
    ],
)
def test_lines_are_as_they_were_meant(text: str, lines: int) -> None:
    made = quote_lines(text)
    assert len(made) == lines
    assert " ".join(made).split() == text.split()


def test_paragraphs_stay_apart() -> None:
    assert flow("Ben Cole\nHigh Street 4\n\nAnother.") == "Ben Cole\nHigh Street 4\n\nAnother."
    assert flow("One line of a paragraph that goes on and on\nhere.") == (
        "One line of a paragraph that goes on and on here."
    )
