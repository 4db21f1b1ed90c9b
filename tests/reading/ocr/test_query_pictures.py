"""Words on a query picture: read whatever the picture is, and the telling ones picked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from docmind.config import ReadingSettings
from docmind.errors import ReaderFailedError, VaultError
from docmind.reading.ocr.query_pictures import PictureText, telling, turn_of
from papers import print_of
from sheets import jpeg, png

LINES = ["Internal rules of the harbour office", "Boats longer than twelve metres pay", "a berth fee of 48 crowns"]


@pytest.fixture(scope="module")
def reader() -> Iterator[PictureText]:
    reader = PictureText(ReadingSettings(workers=1))
    yield reader
    reader.close()


@pytest.mark.slow
def test_a_picture_is_read_as_it_lies_on_its_page(reader: PictureText) -> None:
    exif = print_of(LINES).getexif()
    exif[0x0112] = 3  # stored upside down, with the note that turns it upright
    assert "twelve metres" in reader.read(jpeg(print_of(LINES).rotate(180), exif=exif.tobytes()))
    crooked = print_of(LINES).rotate(30, expand=True, fillcolor="white")  # counter-clockwise
    assert "twelve metres" in reader.read(png(crooked), turn=30.0)


@pytest.mark.slow
def test_what_is_no_picture_ends_one_reading_and_not_the_next(reader: PictureText) -> None:
    for data in (b"only words", b"%PDF-1.7\n", png(print_of(LINES))[:200], b""):
        with pytest.raises(ReaderFailedError):
            reader.read(data)
    assert "harbour" in reader.read(png(print_of(LINES)))


def test_nothing_is_read_once_it_is_closed() -> None:
    closed = PictureText(ReadingSettings(workers=1))
    closed.close()
    closed.close()
    with pytest.raises(VaultError, match="closed"):
        closed.read(png(print_of(LINES)))


def test_without_an_engine_it_says_why() -> None:
    off = PictureText(ReadingSettings(ocr="off"))
    assert "switched off" in off.missing
    with pytest.raises(ReaderFailedError):
        off.read(png(print_of(LINES)))
    off.close()


@pytest.mark.parametrize(
    ("quad", "turn"),
    [
        (((0, 0), (10, 0), (10, 20), (0, 20)), 0.0),
        (((0, 0), (100, 5), (95, 205), (-5, 200)), 0.0),  # three degrees: read as it is
        (((10, 0), (10, 20), (0, 20), (0, 0)), 90.0),  # its top edge runs down the page: turn it clockwise
        (((10, 20), (0, 20), (0, 0), (10, 0)), 180.0),
        (((0, 20), (0, 0), (10, 0), (10, 20)), -90.0),
        ((), 0.0),
    ],
)
def test_how_a_picture_lies_on_the_page_says_how_to_turn_it(quad: tuple[tuple[float, float], ...], turn: float) -> None:
    assert turn_of(quad) == turn


def test_a_short_text_is_searched_for_as_it_is() -> None:
    assert telling("  a fee \n of 48 crowns ", 6) == "a fee of 48 crowns"
    assert telling("", 6) == ""


def test_rare_words_of_a_long_text_are_taken_once_in_order() -> None:
    text = "the fee of the harbour is the fee in RFC-2119 and by the harbourmaster of the town"
    assert telling(text, 4) == "harbour RFC-2119 harbourmaster town"
