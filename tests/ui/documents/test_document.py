"""The facts of an opened document, over a real vault, without a browser."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from docmind.application import DocMind
from docmind.records.documents import Upload
from libraries import Library

LIBRARY = Library(
    "a page with a picture that is not there",
    [
        Upload("mill.html", b"<html><body><p>The wheel turns at dawn.</p><img src='a.png'></body></html>"),
        Upload("owls.txt", b"Owls hunt at night."),
    ],
)


@pytest.fixture(scope="module")
def library() -> Library:
    return LIBRARY


def facts() -> None:
    import streamlit as st

    from docmind.ui.documents.document import _draw_facts

    docmind = st.session_state["docmind"]
    _draw_facts(docmind, docmind.documents.find(st.session_state["name"]))


@pytest.fixture
def page(docmind: DocMind) -> AppTest:
    test = AppTest.from_function(facts, default_timeout=60)
    test.session_state["docmind"] = docmind
    return test


def told(page: AppTest, name: str) -> list[str]:
    page.session_state["name"] = name
    page.run()
    assert not page.exception
    return [caption.value for caption in page.caption]


@pytest.mark.slow
def test_what_was_not_read_is_on_the_page_of_the_document(page: AppTest) -> None:
    assert "Not read\\: 1 picture" in told(page, "mill.html")
    assert not [line for line in told(page, "owls.txt") if "Not read" in line]
