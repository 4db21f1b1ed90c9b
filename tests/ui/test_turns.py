"""What the web said stands apart from the documents, and nothing in it is live."""

from __future__ import annotations

import re

from streamlit.testing.v1 import AppTest


def page() -> None:
    from docmind.conversation import WebResult
    from docmind.ui.turns import draw_web

    hostile = "![x](http://127.0.0.1:9/c.png) :red[r] $x$ <img src=x>"
    results = (
        WebResult(hostile, "https://example.com/a?b=c", f"It says {hostile}"),
        WebResult("No host", "http://[broken", "Nothing."),
    )
    draw_web(results, "turn-0")


def test_web_results_are_quoted_as_such_and_their_addresses_are_words() -> None:
    test = AppTest.from_function(page).run()
    assert not test.exception
    assert test.expander[0].label == "2 results from the web, not from your documents"
    assert "It says ![x](http://127.0.0.1:9/c.png)" in test.text[0].value, "st.text shows what it is given as it is"
    for part in [*test.markdown, *test.caption]:
        left = re.sub(r"\\.", "", part.value)
        for bad in ("![", "](", "red[", "<", "$", "://"):
            assert bad not in left, part.value
    assert "example" in test.markdown[0].value
