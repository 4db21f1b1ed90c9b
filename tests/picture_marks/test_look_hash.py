"""The hash of how a picture looks."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from docmind.picture_marks import look_hash
from figured import drawing


def grey(data: bytes, size: tuple[int, int] = (640, 400)) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("L").resize(size))


def apart(one: str, other: str) -> int:
    return (int(one, 16) ^ int(other, 16)).bit_count()


def test_copies_in_other_sizes_are_alike_and_other_pictures_are_not() -> None:
    boiler = drawing("lightblue", "boiler")
    known = look_hash(grey(boiler))
    assert len(known) == 16
    assert apart(known, look_hash(grey(boiler, (320, 200)))) <= 6
    noise = np.random.default_rng(1).integers(0, 255, (400, 640), np.uint8)
    assert apart(known, look_hash(noise)) > 15


def test_the_smallest_pictures_have_one_too() -> None:
    assert len(look_hash(np.zeros((1, 1), np.uint8))) == 16
    assert len(look_hash(np.full((3, 900), 200, np.uint8))) == 16
