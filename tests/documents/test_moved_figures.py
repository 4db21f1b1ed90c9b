"""Figures of a page whose lines are corrected by hand: where their words stand then, and which they are."""

from __future__ import annotations

from docmind.documents.figures import moved_figures
from docmind.records.documents import ArtifactRef, Box, Figure

OLD = "Rain of the year\nFigure 1. Rajn in Faro\nand in Lisbon\nThe gauge was broken in May\nA blue boat"


def figure(words: str, number: int = 1) -> Figure:
    """Return a figure whose caption is these words of the page, on one line."""
    start = OLD.index(words)
    caption = " ".join(words.split())
    return Figure(
        doc_id="d" * 32, page_no=1, number=number, box=Box(1.0, 2.0, 3.0, 4.0), width=9, height=9, caption=caption,
        start=start, end=start + len(words), image=ArtifactRef("0" * 64, ".webp.enc"),
    )  # fmt: skip


def words_of(one: Figure, text: str) -> str:
    return text[one.start : one.end]


def test_a_figure_stays_with_its_words_where_another_line_is_changed() -> None:
    two = figure("Figure 1. Rajn in Faro\nand in Lisbon"), figure("A blue boat", 2)
    new = OLD.replace("Rain of the year", "Rain of the whole year").replace("in May", "in the month of May")
    found = moved_figures(two, OLD, new)
    assert [words_of(one, new) for one in found] == [words_of(one, OLD) for one in two]
    assert [one.caption for one in found] == [one.caption for one in two]


def test_a_corrected_line_of_a_caption_corrects_the_caption() -> None:
    new = OLD.replace("Rajn", "Rainfall")
    (found,) = moved_figures((figure("Figure 1. Rajn in Faro\nand in Lisbon"),), OLD, new)
    assert words_of(found, new) == "Figure 1. Rainfall in Faro\nand in Lisbon"
    assert found.caption == "Figure 1. Rainfall in Faro and in Lisbon"
    assert moved_figures((found,), new, OLD) == (figure("Figure 1. Rajn in Faro\nand in Lisbon"),)


def test_a_figure_without_words_on_the_page_stays() -> None:
    bare = Figure(
        doc_id="d" * 32, page_no=1, number=1, box=Box(1.0, 2.0, 3.0, 4.0), width=9, height=9, alt="A boat",
        image=ArtifactRef("0" * 64, ".webp.enc"),
    )  # fmt: skip
    assert moved_figures((bare,), OLD, OLD.upper()) == (bare,)
