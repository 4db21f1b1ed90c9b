"""Rows, columns and words of what was found on a picture."""

from __future__ import annotations

import numpy as np
import pytest

from docmind.reading.ocr.process import turn_back
from docmind.reading.ocr.reading_order import Spot, page_of, rows


def spot(text: str, left: float, top: float, width: float, height: float = 10, score: float = 1.0) -> Spot:
    right, bottom = left + width, top + height
    return Spot(text, ((left, top), (right, top), (right, bottom), (left, bottom)), score)


def test_one_column_reads_down_and_rows_read_across() -> None:
    found = [spot("total", 0, 40, 60), spot("below", 0, 60, 100), spot("9", 300, 41, 20), spot("title", 0, 0, 300)]
    assert page_of(rows(found))[0] == "title\ntotal 9\nbelow"


def test_two_columns_under_a_heading_read_one_after_the_other() -> None:
    found = [spot("heading over both", 0, 0, 400)]
    for number in range(4):
        found += [spot(f"L{number}", 0, 20 + 15 * number, 180), spot(f"R{number}", 220, 20 + 15 * number, 180)]
    found.append(spot("foot over both columns", 0, 100, 400))
    text = page_of(rows(found))[0].split("\n")
    assert text == ["heading over both", "L0", "L1", "L2", "L3", "R0", "R1", "R2", "R3", "foot over both columns"]


def test_a_table_is_not_two_columns() -> None:
    found = [spot("a wide line of prose above it", 0, 0, 400)]
    for number in range(4):
        found += [spot(f"k{number}", 0, 20 + 15 * number, 40), spot(f"v{number}", 300, 20 + 15 * number, 40)]
    assert page_of(rows(found))[0].split("\n")[1:] == ["k0 v0", "k1 v1", "k2 v2", "k3 v3"]


def test_a_broken_word_is_joined_in_two_pieces() -> None:
    text, words, score = page_of(rows([spot("um procedi-", 0, 0, 100, score=0.9), spot("mento novo", 0, 20, 100)]))
    assert text == "um procedimento novo"
    assert [text[s:e] for s, e in zip(words.starts, words.ends, strict=True)] == ["um", "procedi", "mento", "novo"]
    assert 0.9 < score < 1.0
    assert words.certainties is not None
    assert words.certainties.tolist() == [0.9, 0.9, 1.0, 1.0]


def test_words_share_a_line_by_their_letters() -> None:
    _, words, _ = page_of([[spot("ab cd", 0, 0, 460)]])
    assert words.boxes == pytest.approx(np.array([[0, 0, 200, 10], [260, 0, 200, 10]]))


@pytest.mark.parametrize(
    ("turn", "box"),
    [(0, [1, 2, 3, 4]), (90, [100 - 2 - 4, 1, 4, 3]), (180, [96, 44, 3, 4]), (270, [2, 50 - 1 - 3, 4, 3])],
)
def test_boxes_turn_back_with_their_page(turn: int, box: list[int]) -> None:
    assert turn_back(np.array([[1, 2, 3, 4]]), turn, 100, 50).tolist() == [box]
