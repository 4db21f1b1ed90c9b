"""Bitmaps in Windows metafiles, and pictures of workbooks of before 2007."""

from __future__ import annotations

import contextlib
import gzip
import io
import random
import struct
import zlib

import pytest
from PIL import Image, ImageDraw

from docmind.errors import ReadingError
from docmind.reading.file_type import identify
from docmind.reading.formats import Opened, Rules, reader
from docmind.reading.formats.figures import encoded, picture_in
from docmind.reading.formats.metafile import bitmap_in, is_metafile
from docmind.records.documents import Loss, PageFigure, Upload
from each import each_of
from old_pictures import (
    art,
    art_picture,
    art_shape,
    dib,
    drawn_workbook,
    emf,
    plus,
    plus_image,
    stretched,
    wmf,
)
from sampled import tenth_of


def photo(seed: int = 1, size: tuple[int, int] = (300, 200)) -> bytes:
    image = Image.new("RGB", size, (30 * seed, 40, 90))
    ImageDraw.Draw(image).ellipse((20, 20, 120, 120), fill=(250, 220, 30))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def opened(data: bytes) -> Opened:
    kind, upload = identify(Upload("a.xls", data))
    return reader(kind)(upload, kind, Rules(marks=False))


def figures(file: Opened) -> list[PageFigure]:
    return [figure for number in range(1, file.pages + 1) for figure in file.page(number).figures]


METAFILES = {
    "stretched": emf(stretched(photo())),
    "without a place": emf(stretched(photo(), (0, 0, -1, -1))),
    "EMF+": emf(plus(*plus_image(photo()))),
    "EMF+ in parts": emf(*(plus(part) for part in plus_image(photo(), 3))),
    "WMF": wmf(photo()),
    "placeable WMF": wmf(photo(), is_placeable=True),
    "packed": gzip.compress(emf(stretched(photo()))),
}


@each_of("name", list(METAFILES))
def test_the_bitmap_that_fills_a_metafile_is_its_picture(name: str) -> None:
    picture = picture_in(METAFILES[name])
    assert picture is not None
    assert (picture.width, picture.height) == (300, 200)
    shown = Image.open(io.BytesIO(encoded(picture))).convert("RGB")
    for place, colour in (((70, 70), (250, 220, 30)), ((250, 180), (30, 40, 90))):
        found = shown.getpixel(place)
        assert isinstance(found, tuple)
        assert all(abs(one - other) < 12 for one, other in zip(found, colour, strict=True)), place


LINES = struct.pack("<HHII", 0x400D, 0, 12, 0)


@each_of(
    "data, why",
    [
        (emf(), "a drawing of lines"),
        (emf(stretched(photo(), (0, 0, 99, 99))), "a bitmap that is a small part of a drawing"),
        (emf(plus(*plus_image(photo()), *[LINES] * 5)), "a picture beside lines"),
        (wmf(photo(), extent=(900, 900)), "a bitmap that is a small part of a drawing"),
        (emf(stretched(photo()))[:200], "a file that was cut off"),
        (gzip.compress(b"x" * 100), "something else that is packed"),
        (b"\x01\0\x09\0" + b"\xff" * 60, "records that are none"),
    ],
)
def test_metafiles_without_such_a_bitmap_have_no_picture(data: bytes, why: str) -> None:
    assert picture_in(data) is None, why


def test_a_packed_metafile_is_unpacked_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.reading.formats.metafile._LARGEST", 1_000)
    assert is_metafile(METAFILES["packed"])
    assert bitmap_in(METAFILES["packed"]) == b""


def test_pictures_of_a_workbook_are_figures_with_their_alternative_text() -> None:
    header, pixels = dib(photo(3))
    store = [
        art_picture(photo(1)),
        art_picture(photo(2), instance=0x6E1),
        art_picture(header + pixels, 0xF01F, 0x7A8),
        art_picture(emf(stretched(photo(4))), 0xF01A, 0x3D4),
        art_picture(wmf(photo(5)), 0xF01B, 0x216),
    ]
    shapes = [art_shape(number, f"A disc of kind {number}") for number in (2, 1, 3, 4, 5)]
    file = opened(drawn_workbook(store, shapes, cut=3_000))
    found = figures(file)
    assert [figure.text for figure in found] == [f"A disc of kind {number}" for number in (2, 1, 3, 4, 5)]
    assert {figure.size for figure in found} == {(300, 200)}
    assert len({figure.image for figure in found}) == 5
    assert file.losses == ()
    assert "A disc of kind 3" in "".join(file.page(number).text for number in range(1, file.pages + 1))


def test_a_picture_that_is_not_decoded_is_a_loss() -> None:
    shapes = [art_shape(1), art_shape(2, "A valve"), art_shape(9)]
    file = opened(drawn_workbook([art_picture(photo()), art_picture(b"not a picture")], shapes))
    assert [figure.size for figure in figures(file)] == [(300, 200)]
    assert file.losses == (Loss("picture", 2, "Stock"),)
    assert "A valve" in file.page(1).text


def test_packed_metafiles_of_a_workbook_are_unpacked_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.reading.formats.office_art._LARGEST", 200_000)
    monkeypatch.setattr("docmind.reading.formats.office_art._MOST_UNPACKED", 200_000)
    whole = emf(stretched(photo(1)))
    assert len(whole) < 200_000
    bomb = bytes(16) + struct.pack("<I", 1 << 30) + bytes(28) + b"\0\xfe" + zlib.compress(bytes(5 << 20))
    store = [art(0xF01A, bomb, instance=0x3D4), art_picture(whole, 0xF01A, 0x3D4)]
    file = opened(drawn_workbook(store, [art_shape(1), art_shape(2)]))
    assert figures(file) == []
    assert file.losses == (Loss("picture", 2, "Stock"),)


def test_damaged_metafiles_and_drawings_end_in_a_loss_or_a_sentence() -> None:
    book = drawn_workbook([art_picture(photo(1))], [art_shape(1, "A disc")])
    for whole, count in (*((metafile, 30) for metafile in METAFILES.values()), (book, 90)):
        for number in tenth_of(range(count)):
            chance = random.Random(number)
            bad = bytearray(whole)
            for _change in range(chance.choice((1, 4, 16))):
                bad[chance.randrange(0 if whole is not book else 512, len(bad))] = chance.randrange(256)
            cut = bytes(bad[: chance.randrange(len(bad))]) if chance.random() < 0.3 else bytes(bad)
            if whole is not book:
                picture = picture_in(cut)
                assert picture is None or encoded(picture) is not None
                continue
            with contextlib.suppress(ReadingError):
                figures(opened(cut))
