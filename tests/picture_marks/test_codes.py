"""Marks are packed without loss, and the keys of a code are the bits that vary least."""

from __future__ import annotations

import numpy as np
import pytest

from docmind import picture_marks as marks
from docmind.errors import DamagedError
from docmind.picture_marks import PackedMarks, PictureMarks, marks_of_page
from sheets import figure, sheet


@pytest.fixture(scope="module")
def page() -> PictureMarks:
    return marks_of_page(np.asarray(sheet(1, lines=12).convert("L")))


@pytest.mark.slow
def test_packing_keeps_codes_and_places(page: PictureMarks) -> None:
    again = PictureMarks.unpack(page.pack())
    order = np.argsort(page.kinds, kind="stable")
    assert (again.codes == page.codes[order]).all()
    assert (again.kinds == page.kinds[order]).all()
    assert np.abs(again.places - page.places[order]).max() <= 1 / 16
    assert len(page.pack()) == 7 + 16 * len(page)


@pytest.mark.parametrize("harm", [lambda data: data[:-1], lambda data: b"\xff" + data[1:], lambda data: b""])
def test_torn_marks_are_damage(page: PictureMarks, harm) -> None:
    with pytest.raises(DamagedError):
        PictureMarks.unpack(harm(page.pack()))


def test_the_exact_key_comes_first_then_uncertain_bits_flip() -> None:
    numbers = np.ones((1, marks.BITS), np.float32)
    numbers[0, :20] = 0.01 * np.arange(1, 21)
    own, *others = marks.probes_of(numbers)[0]
    assert own == marks.keys_of(marks.packed(numbers))[0] == 2**marks.KEY_BITS - 1
    assert len(set(others)) == 15
    assert all(bin(own ^ other).count("1") <= 4 for other in others)


def test_several_pages_are_read_at_once(page: PictureMarks) -> None:
    other = marks_of_page(np.asarray(figure(1).convert("L")))
    together = PackedMarks.of([page.pack(), other.pack()])
    assert together.counts.sum(axis=1).tolist() == [len(page), len(other)]
    assert (together.codes[len(page) :] == PictureMarks.unpack(other.pack()).codes).all()
    assert (together.kinds == np.concatenate([PictureMarks.unpack(one.pack()).kinds for one in (page, other)])).all()
