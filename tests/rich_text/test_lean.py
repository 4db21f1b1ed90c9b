"""Markdown with few backslashes: what stays escaped, and how long a line may be."""

from __future__ import annotations

import pytest

from docmind.rich_text import lean
from each import each_of


@each_of(
    "markdown, leaner",
    [
        (r"\# no heading \# here", r"\# no heading # here"),
        (r"1\. no item 2\. here", r"1\. no item 2. here"),
        (r"- \+ a", r"- \+ a"),
        ("1. \\# a\n\\- b \\- c", "1. \\# a\n\\- b - c"),
        (r"\&amp; and \& so", r"\&amp; and & so"),
        (r"`a\#` \*", r"`a\#` \*"),
    ],
)
def test_a_backslash_stays_where_it_is_needed(markdown: str, leaner: str) -> None:
    assert lean(markdown) == leaner


@pytest.mark.slow
@pytest.mark.timeout(20)
@each_of("sign", ["\\-", "\\+", "\\#", "\\.", "`", "1\\."])
def test_a_long_line_of_signs_ends(sign: str) -> None:
    """By the square of its length this line took 20 seconds and more."""
    assert lean(sign * (100_000 // len(sign)))
