"""Strokes land on the words, and only there."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from docmind.marks import framed, marked, strip
from docmind.schema import Box

PAGE = (200, 100)


def page(colour: str = "white") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", PAGE, colour).save(out, "WEBP", lossless=True)
    return out.getvalue()


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB")


def is_marked(pixel: object) -> bool:
    red, _, blue = pixel  # type: ignore[misc]
    return red - blue > 80


def test_a_stroke_covers_its_box_and_nothing_far_from_it() -> None:
    picture = opened(marked(page(), [Box(50, 40, 60, 10)], PAGE))
    assert picture.size == PAGE
    assert is_marked(picture.getpixel((80, 45)))
    for outside in ((20, 45), (150, 45), (80, 20), (80, 70)):
        assert not is_marked(picture.getpixel(outside))


def test_letters_stay_black_under_the_stroke() -> None:
    picture = opened(marked(page("black"), [Box(50, 40, 60, 10)], PAGE))
    assert sum(picture.getpixel((80, 45))) < 60  # type: ignore[arg-type]


def test_boxes_follow_the_image_when_it_is_smaller() -> None:
    picture = opened(marked(page(), [Box(100, 50, 80, 40)], PAGE, width=100))
    assert picture.size == (100, 50)
    assert is_marked(picture.getpixel((70, 35)))
    assert not is_marked(picture.getpixel((30, 12)))


def test_boxes_are_pixels_of_the_named_size() -> None:
    picture = opened(marked(page(), [Box(1000, 500, 800, 400)], (2000, 1000)))
    assert is_marked(picture.getpixel((140, 70)))


@pytest.mark.parametrize("box", [Box(-50, -50, 10, 10), Box(500, 500, 10, 10), Box(10, 10, 0, 0), Box(50, 50, -5, -5)])
def test_impossible_boxes_draw_nothing_and_break_nothing(box: Box) -> None:
    picture = opened(marked(page(), [box], PAGE))
    assert not any(is_marked(picture.getpixel((x, y))) for x in range(2, 198, 7) for y in range(2, 98, 7))


def test_without_boxes_the_page_is_itself() -> None:
    picture = opened(marked(page(), [], PAGE))
    assert min(picture.getpixel((100, 50))) > 250  # type: ignore[type-var]


def test_a_strip_holds_the_boxes_and_their_lines() -> None:
    data = strip(page(), [Box(20, 40, 60, 8), Box(20, 50, 30, 8)], PAGE)
    assert data is not None
    picture = opened(data)
    assert picture.height < PAGE[1]
    assert picture.width >= 0.5 * PAGE[0]
    marks = sum(is_marked(picture.getpixel((x, y))) for x in range(picture.width) for y in range(picture.height))
    assert marks > 400


def test_a_strip_of_nothing_is_nothing() -> None:
    assert strip(page(), [], PAGE) is None
    assert strip(page(), [Box(500, 500, 10, 10)], PAGE) is None


def test_a_thumbnail_has_an_edge() -> None:
    picture = opened(framed(page()))
    assert max(picture.getpixel((0, 50))) < 230  # type: ignore[type-var]
    assert min(picture.getpixel((100, 50))) > 245  # type: ignore[type-var]
