"""A page that an engine is unsure of is read a second time, and the reading with more text is kept."""

from __future__ import annotations

import pytest
from PIL import Image

from docmind.reading.ocr.reading_order import Spot, rows
from docmind.reading.ocr.second_look import Look, look, look_again


def spot(text: str, score: float, left: float = 0, top: float = 0, width: float = 100) -> Spot:
    return Spot(text, ((left, top), (left + width, top), (left + width, top + 10), (left, top + 10)), score)


class Engine:
    """Reads `first`, then `second`; keeps the sizes of the images."""

    def __init__(self, first: list[Spot], second: list[Spot]) -> None:
        self.given, self.sizes = [first, second], list[tuple[int, int]]()

    def rows(self, image: Image.Image, language: str) -> tuple[list[list[Spot]], int]:
        self.sizes.append(image.size)
        return [self.given[len(self.sizes) - 1]], 0


@pytest.mark.parametrize(
    ("spots", "doubt"),
    [([], 1.0), ([spot("sure", 0.9)], 0.0), ([spot("sure!", 0.9), spot("not s", 0.79)], 0.5)],
)
def test_doubt_is_the_share_of_text_in_unsure_lines(spots: list[Spot], doubt: float) -> None:
    assert Look("rapidocr", [spots], 0).doubt == doubt


def test_a_small_image_is_read_twice_as_large_and_its_boxes_are_of_the_image() -> None:
    engine = Engine([spot("l0w", 0.6)], [spot("low print", 0.9, 40, 80, 200)])
    image = Image.new("RGB", (300, 400), "white")
    kept = look_again(look(engine, "rapidocr", image, ""), engine, image, "")
    assert engine.sizes == [(300, 400), (600, 800)]
    ((only,),) = kept.rows
    assert (only.text, only.corners) == ("low print", ((20, 40), (120, 40), (120, 45), (20, 45)))


def test_a_large_image_keeps_its_size() -> None:
    engine = Engine([spot("l0w", 0.6)], [spot("low print", 0.9)])
    image = Image.new("RGB", (1_200, 1_600), "white")
    look_again(look(engine, "rapidocr", image, ""), engine, image, "")
    assert engine.sizes == [(1_200, 1_600)] * 2


@pytest.mark.parametrize("second", [[], [spot("less", 0.9)], [spot("as many letters but unsure", 0.55)]])
def test_the_first_reading_stays_where_the_second_has_less(second: list[Spot]) -> None:
    engine = Engine([spot("the first reading", 0.79)], second)
    image = Image.new("RGB", (300, 400), "white")
    first = look(engine, "rapidocr", image, "")
    assert look_again(first, engine, image, "") is first


def test_lines_of_a_page_askew_are_read_as_if_it_were_level() -> None:
    slope = 0.1  # six degrees: the right column of a row begins beside the left one of the next
    names = [["one", "two"], ["three", "four"]]
    spots = []
    for row, both in enumerate(names):
        for column, text in enumerate(both):
            x, y = 10 + 320 * column, 10 + 30 * row + slope * 320 * column
            end = (x + 300, y + slope * 300)
            spots.append(Spot(text, ((x, y), end, (end[0] - 2, end[1] + 20), (x - 2, y + 20)), 1.0))
    found = rows([spots[at] for at in (3, 0, 1, 2)])
    assert [[one.text for one in row] for row in found] == names
    assert {id(one) for row in found for one in row} == set(map(id, spots)), "the corners are those of the picture"
