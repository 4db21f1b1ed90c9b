"""Where a page lies on a picture, from where the picture lies on the page."""

from __future__ import annotations

import pytest

from docmind.lookalike.cover import are_apart, cover_of
from docmind.seeing import Quad

PAGE = (100, 200)


def test_of_two_pages_side_by_side_each_covers_its_half() -> None:
    left = cover_of(((0, 0), (200, 0), (200, 200), (0, 200)), PAGE)
    right = cover_of(((-100, 0), (100, 0), (100, 200), (-100, 200)), PAGE)
    assert left == pytest.approx((0, 0, 0.5, 1))
    assert right == pytest.approx((0.5, 0, 1, 1))
    assert left is not None
    assert right is not None
    assert are_apart(left, right)
    assert not are_apart(left, left)


def test_a_part_of_a_page_is_covered_whole() -> None:
    assert cover_of(((20, 20), (60, 20), (60, 80), (20, 80)), PAGE) == pytest.approx((0, 0, 1, 1))


def test_a_page_on_its_side_is_found_where_it_lies() -> None:
    """The picture's top left is the page's bottom left, and the page fills the picture's lower half."""
    assert cover_of(((-100, 200), (-100, 0), (100, 0), (100, 200)), PAGE) == pytest.approx((0, 0.5, 1, 1))


@pytest.mark.parametrize(
    "quad",
    [
        (),
        ((5, 5), (5, 5), (5, 5), (5, 5)),
        ((0, 0), (50, 0), (100, 0), (150, 0)),
        ((500, 0), (600, 0), (600, 200), (500, 200)),
        ((float("nan"), 0), (100, 0), (100, 200), (0, 200)),
    ],
)
def test_a_page_that_is_not_on_the_picture_covers_nothing(quad: Quad) -> None:
    assert cover_of(quad, PAGE) is None
