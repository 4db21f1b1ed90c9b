"""Slips of the finger are mended by the words of the pages; words and names are left as they are."""

from __future__ import annotations

import numpy as np
import pytest

from docmind.answers.spelling import spelled
from docmind_testkit import FakeEmbedder

PAGE = (
    "The warranty period of the heavy drill is thirty months. Two horses stand in the Marta stable; brushes are sold. "
    "A bake oven."
)
KNOWN = {"house", "bushes", "marte"}


class Knowing(FakeEmbedder):
    """A text model that knows some words as one piece."""

    def pieces(self, text: str) -> np.ndarray:
        is_known = text in KNOWN
        return np.array([(0, len(text))] if is_known else [(0, 2), (2, len(text))], np.int64)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the warrenty peroid of the hevy drill?", "What is the warranty period of the heavy drill?"),
        ("How old is the house?", "How old is the house?"),
        ("Which bushes are sold?", "Which bushes are sold?"),
        ("Do they bike?", "Do they bike?"),
        ("Where is Marte?", "Where is Marte?"),
        ("What is the drll?", "What is the drill?"),
        ("What is the wrntperio?", "What is the wrntperio?"),
        ("", ""),
    ],
)
def test_mistyped_words_are_mended(question: str, expected: str) -> None:
    assert spelled(question, [PAGE], Knowing()) == expected
