"""Packed words."""

from __future__ import annotations

import struct
import zlib

import pytest

from docmind.documents.words import Words
from docmind.errors import DamagedError
from docmind.records.documents import Box


def test_packing_keeps_places_and_whole_pixels() -> None:
    words = Words.unpack(Words.of([(0, 5), (6, 9)], [(10.4, 20.0, 30.6, 8.0), (50, 20, 20, 8)]).pack())
    assert words.starts.tolist() == [0, 6]
    assert words.ends.tolist() == [5, 9]
    assert words.boxes.tolist() == [[10, 20, 31, 8], [50, 20, 20, 8]]


def test_nothing_packs_to_nothing() -> None:
    assert len(Words.unpack(b"")) == 0
    assert len(Words.unpack(Words.of([], []).pack())) == 0


def test_certainties_of_ocr_are_kept() -> None:
    words = Words.of([(0, 3), (4, 7), (8, 11)], [(0, 0, 9, 9)] * 3, [0.9, 0.25, 1.2])
    kept = Words.unpack(words.pack())
    assert kept.certainties is not None
    assert kept.certainties.tolist() == pytest.approx([0.9, 0.25, 1.0], abs=1 / 255)
    assert kept.certainty_of(0, 3) == pytest.approx(0.9, abs=1 / 255)
    assert kept.certainty_of(0, 11) == pytest.approx(0.25, abs=1 / 255)
    assert kept.certainty_of(3, 4) == 1.0


def test_words_of_a_text_layer_have_no_certainties() -> None:
    words = Words.unpack(Words.of([(0, 3)], [(0, 0, 9, 9)]).pack())
    assert words.certainties is None
    assert words.certainty_of(0, 3) == 1.0


def test_boxes_of_a_span_are_joined_along_each_line() -> None:
    words = Words.of([(0, 3), (4, 7), (8, 11)], [(0, 0, 30, 10), (35, 0, 30, 10), (0, 20, 30, 10)])
    assert words.boxes_of(0, 11) == (Box(0, 0, 65, 10), Box(0, 20, 30, 10))
    assert words.boxes_of(5, 6) == (Box(35, 0, 30, 10),)
    assert words.boxes_of(3, 4) == ()


def test_a_word_without_a_place_has_no_box() -> None:
    assert Words.of([(0, 3)], [(0, 0, 0, 0)]).boxes_of(0, 3) == ()


@pytest.mark.parametrize(
    "data",
    [
        b"no zlib",
        zlib.compress(b""),
        zlib.compress(struct.pack("<I", 2) + bytes(14)),  # two words said, one there
        zlib.compress(struct.pack("<I", 1) + bytes(15)),
        zlib.compress(struct.pack("<I", 1 | 1 << 31) + bytes(14)),  # certainties said, none there
        zlib.compress(bytes(65 << 20)),  # small here, large there
    ],
    ids=["noise", "empty", "too few", "too many", "not certain", "bomb"],
)
def test_what_is_no_list_of_words_is_refused(data: bytes) -> None:
    with pytest.raises(DamagedError):
        Words.unpack(data)
