"""A picture finds its page and place; a picture of another page finds none; hostile pictures do no harm.

The region of a page on a picture, from the region of the picture on the page.
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter

from desks import settings_in
from docmind.application import DocMind
from docmind.config import ReadingSettings
from docmind.errors import CorruptFileError, EmptyFileError, TooLargeError, UnsupportedFileError
from docmind.image_match.matcher import are_apart, cover_of
from docmind.records.documents import Upload
from docmind.records.search import Filters, Quad, Sightings
from sheets import Corners, figure, jpeg, png, sheet, slanted

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


W, H = 1_131, 1_600
WHOLE: Corners = [(0, 0), (W, 0), (W, H), (0, H)]
SIDE = ReadingSettings(ocr="off", workers=1)


def part(image: Image.Image, left: int, top: int, right: int, bottom: int) -> tuple[bytes, Corners]:
    return jpeg(image.crop((left, top, right, bottom))), [(left, top), (right, top), (right, bottom), (left, bottom)]


def crooked(image: Image.Image) -> tuple[bytes, Corners]:
    seen = image.rotate(4, expand=True, fillcolor="white", resample=Image.Resampling.BICUBIC)
    angle, middle = np.radians(4), np.array([W / 2, H / 2])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    corners = np.array([[0, 0], [seen.width, 0], [seen.width, seen.height], [0, seen.height]]) - np.array(seen.size) / 2
    return jpeg(seen), [(float(x), float(y)) for x, y in corners @ turn.T + middle]


def by_exif(image: Image.Image) -> tuple[bytes, Corners]:
    """Store the picture rotated, with the tag that turns it upright."""
    exif = Image.Exif()
    exif[0x0112] = 6
    return jpeg(image.transpose(Image.Transpose.ROTATE_90), exif=exif.tobytes()), WHOLE


def photographed(image: Image.Image) -> tuple[bytes, Corners]:
    seen, corners = slanted(image)
    return jpeg(seen.filter(ImageFilter.GaussianBlur(0.8)), 60), corners


VIEWS: dict[str, Callable[[Image.Image], tuple[bytes, Corners]]] = {
    "whole": lambda image: (jpeg(image), WHOLE),
    "smaller": lambda image: (jpeg(image.resize((700, 990))), WHOLE),
    "a crop": lambda image: part(image, 80, 400, 750, 1_000),
    "a strip": lambda image: part(image, 0, 600, W, 800),
    "on its side": lambda image: (jpeg(image.rotate(90, expand=True)), [(W, 0), (W, H), (0, H), (0, 0)]),
    "upside down": lambda image: (jpeg(image.rotate(180)), [(W, H), (0, H), (0, 0), (W, 0)]),
    "on its other side": lambda image: (jpeg(image.rotate(270, expand=True)), [(0, H), (0, 0), (W, 0), (W, H)]),
    "crooked": crooked,
    "turned by EXIF": by_exif,
    "photographed": photographed,
    "blurred": lambda image: (jpeg(image.filter(ImageFilter.GaussianBlur(2.0)), 30), WHOLE),
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    """Six pages of words, two of them from one template, and two of shapes."""
    pages = {f"words-{seed}": sheet(seed) for seed in range(1, 5)}
    pages |= {f"form-{seed}": sheet(seed, template=9) for seed in (11, 12)}
    pages |= {f"shapes-{seed}": figure(seed) for seed in (1, 2)}
    with DocMind(settings_in(tmp_path_factory.mktemp("looks"), reading=SIDE)) as desk:
        desk.add([Upload(f"{name}.png", png(image)) for name, image in pages.items()])
        assert desk.lookalike.missing() == 0, "pages are prepared while they are read"
        yield desk


def first(found: Sightings) -> str:
    return found.hits[0].document if found.hits else ""


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
def test_a_picture_finds_its_page_and_its_place(desk: DocMind, view: str) -> None:
    picture, corners = VIEWS[view](sheet(3))
    found = desk.lookalike.search(picture)
    assert found.found
    assert found.hits[0].found
    assert (first(found), found.hits[0].page_no) == ("words-3.png", 1)
    assert (found.hits[0].page_width, found.hits[0].page_height) == (W, H)
    assert np.abs(np.array(found.hits[0].quad) - np.array(corners)).max() < 8
    assert found.degraded == ()


@pytest.mark.slow
def test_pages_of_one_template_are_told_apart(desk: DocMind) -> None:
    for seed in (11, 12):
        found = desk.lookalike.search(jpeg(sheet(seed, template=9).resize((800, 1_132)), 50))
        assert first(found) == f"form-{seed}.png"
        assert [hit.document for hit in found.hits if hit.found] == [f"form-{seed}.png"]


@pytest.mark.slow
def test_of_a_picture_of_two_pages_both_are_found(desk: DocMind) -> None:
    both = Image.new("RGB", (2 * W + 60, H), (190, 190, 190))
    both.paste(sheet(1), (0, 0))
    both.paste(sheet(4).resize((W * 9 // 10, H * 9 // 10)), (W + 60, 80))
    found = desk.lookalike.search(jpeg(both))
    assert {hit.document for hit in found.hits if hit.found} == {"words-1.png", "words-4.png"}


@pytest.mark.slow
def test_shapes_are_found_without_any_words(desk: DocMind) -> None:
    picture, corners = part(figure(2), 100, 300, 1_000, 1_200)
    found = desk.lookalike.search(picture)
    assert first(found) == "shapes-2.png"
    assert found.found
    assert np.abs(np.array(found.hits[0].quad) - np.array(corners)).max() < 8


@pytest.mark.slow
@pytest.mark.parametrize(
    "absent",
    [
        jpeg(sheet(77)),
        jpeg(sheet(78).crop((80, 400, 750, 1_000))),
        jpeg(figure(79)),
        png(Image.new("RGB", (900, 600), "white")),
        png(Image.new("RGB", (3, 2), "black")),
        jpeg(Image.effect_noise((800, 600), 80).convert("RGB")),
    ],
    ids=["another page", "a crop of another", "other shapes", "nothing", "hardly a pixel", "noise"],
)
def test_what_is_not_there_is_not_found(desk: DocMind, absent: bytes) -> None:
    found = desk.lookalike.search(absent)
    assert not found.found
    assert not any(hit.found for hit in found.hits)


@pytest.mark.slow
def test_filters_narrow_it(desk: DocMind) -> None:
    ids = {info.document: info.doc_id for info in desk.documents.all()}
    picture = jpeg(sheet(3))
    others = Filters(doc_ids=tuple(doc_id for name, doc_id in ids.items() if name != "words-3.png"))
    assert not desk.lookalike.search(picture, filters=others).found
    assert desk.lookalike.search(picture, filters=Filters(doc_ids=(ids["words-3.png"],))).found
    assert desk.lookalike.search(picture, filters=Filters(tags=("unknown",))).hits == ()
    assert desk.lookalike.search(picture, filters=Filters(modalities=("text",))).hits == ()
    assert desk.lookalike.search(picture, filters=Filters(languages=("xx",))).hits == ()


@pytest.mark.slow
def test_as_many_hits_as_asked_for(desk: DocMind) -> None:
    found = desk.lookalike.search(jpeg(sheet(11, template=9)), k=1)
    assert [hit.rank for hit in found.hits] == [1]
    assert {name for name, _ in found.timings_ms} == {"marks", "index", "votes", "compare", "total"}


def png_of_size(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 9)) + chunk(b"IEND", b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("picture", "error"),
    [
        (b"", EmptyFileError),
        (b"only words, no picture at all", UnsupportedFileError),
        (b"%PDF-1.4 and nothing more", UnsupportedFileError),
        (png(sheet(1))[:4_000], CorruptFileError),
        (png_of_size(60_000, 60_000), TooLargeError),
        (png(Image.new("RGB", (1, 900), "white")), CorruptFileError),
        (b"\xff\xd8\xff\xe0" + os.urandom(5_000), CorruptFileError),
    ],
    ids=["empty", "text", "pdf", "cut off", "a bomb", "a line", "rubbish"],
)
def test_a_picture_that_cannot_be_read_is_refused(desk: DocMind, picture: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        desk.lookalike.search(picture)
    assert first(desk.lookalike.search(jpeg(sheet(2)))) == "words-2.png"


def test_a_picture_of_too_many_bytes_is_refused(tmp_path: Path) -> None:
    reading = SIDE.model_copy(update={"max_file_mb": 1})
    with DocMind(settings_in(tmp_path, reading=reading)) as small, pytest.raises(TooLargeError):
        small.lookalike.search(b"\xff" * (2 << 20))


@pytest.mark.slow
def test_a_process_that_dies_is_started_again(desk: DocMind) -> None:
    desk.lookalike.search(jpeg(sheet(2)))
    desk.lookalike.close()  # ends its processes, as a crash would
    assert first(desk.lookalike.search(jpeg(sheet(2)))) == "words-2.png"


@pytest.mark.slow
def test_following_loads_the_index_before_the_first_search(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, reading=SIDE)
    with DocMind(settings) as desk:
        desk.add([Upload(f"{seed}.png", png(sheet(seed))) for seed in (1, 2)])
        desk.lookalike.catch_up()
    with DocMind(settings) as desk:
        looks = desk.lookalike
        looks.follow()
        deadline = time.monotonic() + 60
        while looks._sight._client.pid is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert looks._known.index.pages == 2
        known = looks._known
        assert first(looks.search(jpeg(sheet(2)))) == "2.png"
        assert looks._known is known
