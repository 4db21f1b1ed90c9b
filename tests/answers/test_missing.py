"""The sentence of an answer that has nothing to show names the list that was missing."""

from __future__ import annotations

import pytest

from docmind.answers.missing import NOT_ALL_SEEN, NOT_FOUND, NOT_READ, NOT_SEEN, not_found
from docmind.records.search import Degraded, ListReport, ListState, MultimodalResult, SearchResult

PARTIAL = (Degraded("image", "215 of 219 page images aren't prepared yet"),)


@pytest.mark.parametrize(
    ("text", "image", "visual", "degraded", "told"),
    [
        ("ran", "off", "off", (), NOT_FOUND),
        ("empty", "ran", "empty", (), NOT_FOUND),
        ("ran", "timed out", "off", (), NOT_SEEN),
        ("ran", "off", "failed", (), NOT_SEEN),
        ("ran", "ran", "failed", (), NOT_ALL_SEEN),
        ("ran", "ran", "off", PARTIAL, NOT_ALL_SEEN),
        ("ran", "off", "off", (Degraded("late interaction", "damaged"),), NOT_FOUND),
        ("failed", "ran", "off", (), NOT_READ),
        ("off", "empty", "off", (), NOT_READ),
    ],
)
def test_it_names_what_was_missing(
    text: ListState, image: ListState, visual: ListState, degraded: tuple[Degraded, ...], told: str
) -> None:
    reports = (ListReport("text", text), ListReport("image", image), ListReport("visual", visual))
    assert not_found(MultimodalResult("herons", (), degraded, lists=reports)) == told


def test_a_search_of_page_images_alone_did_not_read_the_text() -> None:
    for reports in ((ListReport("visual", "off"),), (ListReport("code", "timed out"), ListReport("image", "ran"))):
        assert not_found(MultimodalResult("herons", (), lists=reports)) == NOT_READ
    assert not_found(MultimodalResult("herons", (), lists=(ListReport("code", "empty"),))) == NOT_FOUND


def test_a_search_of_words_alone_misses_nothing() -> None:
    assert not_found(SearchResult("herons", (), PARTIAL)) == NOT_FOUND
