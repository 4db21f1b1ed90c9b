"""The marks of a page: how many it keeps, and that its size and direction hardly change them."""

from __future__ import annotations

import numpy as np
import pytest

from docmind.picture_marks import RUN, SHEET, SPOT, ink_of, marks_of_page
from docmind.picture_marks.features import MOST_RUNS, MOST_SPOTS, letters, turned, turns_of
from sheets import figure, sheet


@pytest.mark.slow
def test_a_page_keeps_few_marks() -> None:
    crowded = marks_of_page(np.asarray(sheet(1).convert("L")))
    shapes = marks_of_page(np.asarray(figure(1).convert("L")))
    assert (crowded.kinds == RUN).sum() == MOST_RUNS
    assert (shapes.kinds == RUN).sum() < 100
    assert 20 < (shapes.kinds == SPOT).sum() <= MOST_SPOTS
    assert (crowded.kinds == SHEET).sum() == (shapes.kinds == SHEET).sum() == 1


def test_an_empty_sheet_has_no_marks() -> None:
    assert len(marks_of_page(np.full((500, 400), 255, np.uint8))) == 0


def test_ink_is_the_same_on_light_and_dark_paper() -> None:
    grey = np.asarray(sheet(1, lines=12).convert("L"))
    dark, light = ink_of(255 - grey).astype(int), ink_of(grey).astype(int)
    assert ink_of(grey).dtype == np.uint8
    assert light.max() > 200
    assert np.abs(dark - light).mean() < 1


def test_the_direction_of_lines_is_found() -> None:
    grey = np.asarray(sheet(1, lines=30).convert("L"))
    assert turns_of(letters(ink_of(grey)).mask) == [0.0]
    crooked, _ = turned(grey, 7.0)
    assert any(abs(degrees + 7.0) <= 0.5 for degrees in turns_of(letters(ink_of(crooked)).mask))


@pytest.mark.slow
def test_a_narrow_picture_has_marks_or_none() -> None:
    """Sides that are not multiples of the reductions, down to a strip."""
    for height, width in ((1_601, 1_133), (37, 900), (900, 9), (3, 3), (2, 3), (900, 2), (2, 6_000)):
        noise = np.random.default_rng(1).integers(0, 255, (height, width), dtype=np.uint8)
        assert len(marks_of_page(noise)) <= MOST_RUNS + MOST_SPOTS + 1
