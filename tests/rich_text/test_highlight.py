"""Strokes land on the words, and only there."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from docmind.records.documents import Box
from docmind.records.search import Quad
from docmind.rich_text.highlight import LINE, compared, framed, marked, outlined, reduced, strip

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


@pytest.mark.parametrize(("side", "size"), [(1000, PAGE), (200, PAGE), (100, (100, 50)), (33, (33, 16)), (1, (1, 1))])
def test_a_reduced_page_has_its_longer_side_and_nothing_else(side: int, size: tuple[int, int]) -> None:
    data, told = reduced(page("#204060"), side)
    picture = Image.open(io.BytesIO(data))
    assert (picture.format, picture.size, told) == ("JPEG", size, size)
    assert set(picture.info) <= {"jfif", "jfif_version", "jfif_unit", "jfif_density"}
    colours = picture.convert("RGB").getextrema()
    assert all(high - low <= 6 for low, high in colours), "no rim is drawn"  # type: ignore[operator,misc]


def test_a_thumbnail_has_an_edge() -> None:
    picture = opened(framed(page()))
    assert max(picture.getpixel((0, 50))) < 230  # type: ignore[type-var]
    assert min(picture.getpixel((100, 50))) > 245  # type: ignore[type-var]


def along(picture: Image.Image) -> list[tuple[int, int]]:
    """Return the pixels that an outline has covered."""
    pixels = picture.load()
    assert pixels is not None

    def is_line(pixel: Any) -> bool:
        return all(abs(channel - line) < 60 for channel, line in zip(pixel, LINE, strict=True))

    return [(x, y) for x in range(picture.width) for y in range(picture.height) if is_line(pixels[x, y])]


def test_an_outline_runs_around_its_region_and_shades_the_rest() -> None:
    picture = opened(outlined(page(), ((50, 20), (150, 30), (140, 80), (40, 70)), PAGE))
    line = along(picture)
    assert min(x for x, _ in line) < 44
    assert max(x for x, _ in line) > 146
    assert min(picture.getpixel((95, 50))) > 250, "inside nothing is changed"  # type: ignore[type-var]
    assert 200 < max(picture.getpixel((15, 15))) < 245, "what lies outside steps back"  # type: ignore[type-var]


def test_an_outline_shows_on_a_dark_page_too() -> None:
    picture = opened(outlined(page("black"), ((50, 20), (150, 20), (150, 80), (50, 80)), PAGE))
    assert len(along(picture)) > 200
    assert any(min(picture.getpixel((100, y))) > 120 for y in range(12, 30)), "its casing is light"  # type: ignore[type-var]


def test_an_outline_follows_the_image_when_it_is_smaller() -> None:
    picture = opened(outlined(page(), ((1000, 500), (1800, 500), (1800, 900), (1000, 900)), (2000, 1000), width=100))
    assert picture.size == (100, 50)
    line = along(picture)
    assert 48 <= min(x for x, _ in line) <= 52
    assert 88 <= max(x for x, _ in line) <= 92


def test_the_outline_is_clipped_to_the_page() -> None:
    line = along(opened(outlined(page(), ((-80, -60), (300, -40), (280, 190), (-70, 160)), PAGE)))
    assert (min(x for x, _ in line), min(y for _, y in line)) <= (3, 3)
    assert max(x for x, _ in line) >= 196
    assert max(y for _, y in line) >= 96


def test_a_region_partly_beyond_the_page_is_closed_at_its_edge() -> None:
    line = along(opened(outlined(page(), ((120, 30), (400, 30), (400, 70), (120, 70)), PAGE)))
    assert {x for x, y in line if 45 < y < 55 and x > 190}, "along the edge of the page"
    assert min(x for x, _ in line) >= 117


@pytest.mark.parametrize(
    "quad",
    [
        (),
        ((500, 500), (600, 500), (600, 600), (500, 600)),
        ((50, 50), (50, 50), (50, 50), (50, 50)),
        ((20, 50), (180, 50), (180, 50), (20, 50)),
        ((float("nan"), 0), (100, 0), (100, 50), (0, 50)),
        ((-1e300, -1e300), (1e300, -1e300), (1e300, 1e300), (-1e300, 1e300)),
    ],
)
def test_impossible_regions_draw_nothing_and_break_nothing(quad: Quad) -> None:
    picture = opened(outlined(page(), quad, PAGE))
    assert not along(picture)
    assert min(picture.getpixel((100, 30))) > 250  # type: ignore[type-var]


def test_a_region_that_crosses_itself_is_drawn_as_it_is() -> None:
    assert along(opened(outlined(page(), ((20, 20), (180, 80), (180, 20), (20, 80)), PAGE)))


def test_changes_are_told_by_colour_sign_and_frame() -> None:
    page = io.BytesIO()
    Image.new("RGB", (1_000, 400), (255, 255, 255)).save(page, "WEBP", lossless=True)
    box = Box(400, 100, 200, 40)
    drawn: dict[tuple[str, bool], np.ndarray] = {}
    for kind in ("added", "removed", "changed", "moved"):
        for is_shown in (True, False):
            jpeg = compared(page.getvalue(), [(kind, 7, is_shown, [box])], (1_000, 400))
            drawn[kind, is_shown] = np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"), dtype=int)
    inside = {tuple(picture[112, 500]) for picture in drawn.values()}
    assert len(inside) == 8
    assert all(sum(colour) < 3 * 245 for colour in inside)
    for picture in drawn.values():
        assert picture[120, 700].min() == 255
        assert picture[104, 4].sum() < 500  # the label, in the margin


def test_a_slim_page_with_changes_is_not_made_larger_than_a_picture_can_be() -> None:
    page = io.BytesIO()
    Image.new("RGB", (8, 1_600), (255, 255, 255)).save(page, "WEBP")
    with Image.open(
        io.BytesIO(compared(page.getvalue(), [("added", 1, True, [Box(0, 10, 8, 20)])], (8, 1_600)))
    ) as made:
        assert max(made.size) == 6_000
