"""What speaks for a passage: the words and names of a question that it has, its place and form."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from docmind.answers import fitted
from docmind.answers.evidence import (
    CERTAINTY,
    PASSAGE,
    By,
    asked_part,
    asked_words,
    names,
    names_met,
    shares_of,
    standing_out,
)


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Is the margin improving? If that is not useful, say so.", "Is the margin improving?"),
        ("the price of the red car", "the price of the red car"),
        ("Note that U.S. law applies. Who pays? Who signs?", "Who pays? Who signs?"),
    ],
)
def test_only_what_asks_is_evidence(question: str, asked: str) -> None:
    assert asked_part(question) == asked


def test_pronouns_and_auxiliaries_need_not_be_on_a_page() -> None:
    assert asked_words("Can I keep my dog?") == ["keep", "dog"]
    assert asked_words("May I?") == ["may", "i"]


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("Was revenue up in FY2022?", "Revenue rose by 4 % in fiscal 2022.", True),
        ("Was revenue up in FY2022?", "Revenue rose by 4 % in fiscal 2021.", False),
        ("What did Ulta earn?", "Ulta Beauty earned 24 dollars a share.", True),
        ("What did Ulta earn?", "The company earned 24 dollars a share.", False),
        ("What does policy KX-884213 cover?", "Policy KX-884213 covers hail.", True),
        ("Who pays?", "The tenant pays.", True),
        ("Which item cost 1.234,56?", "gravel | 1234.56", True),
        ("Which item cost 1.234,56?", "gravel | 1243.56", False),
        ("What happens on 2025-05-12?", "On 12 May 2025 the boathouse is handed over.", True),
        ("What happens on 2025-05-12?", "On 11 May 2025 the boathouse is handed over.", False),
        ("Whose number is 912555013?", "Ana Prado | +351 912 555 013", True),
    ],
)
def test_every_name_of_a_question_is_looked_for(question: str, text: str, *, expected: bool) -> None:
    assert (names_met(question, text) == 1) is expected


def test_names_are_capitals_and_numbers_inside() -> None:
    assert names("What did Ulta Beauty earn in FY2022?") >= {"ulta", "beauty", "fy2022", "2022"}
    assert "what" not in names("What did they earn?")
    assert names("How much did I order? Where is it, and does US law apply?") == {"us"}


def test_words_that_ask_need_not_be_met() -> None:
    assert asked_words("¿Cuánto costó la lavadora?") == ["costo", "lavadora"]
    assert asked_words("Quanto açúcar leva o arroz?") == ["acucar", "leva", "arroz"]
    assert asked_words("When is Mateo's birthday?") == ["mateo", "birthday"]


@pytest.mark.parametrize("form", ["How long does the lease last?", "How long do the leases last?"])
def test_a_question_for_a_measure_needs_no_word_of_measure(form: str) -> None:
    assert "long" not in asked_part(form)


def test_deviations_of_equal_cosines_are_nothing() -> None:
    assert standing_out(np.full(4, 0.3)).tolist() == [0, 0, 0, 0]
    assert standing_out(np.array([0.1, 0.1, 0.1, 0.7])).argmax() == 3


def test_probabilities_of_passages_are_one_together() -> None:
    shares = shares_of(np.array([900.0, 901.0, -900.0]))
    assert shares.sum() == pytest.approx(1)
    assert shares[1] / shares[0] == pytest.approx(np.e)


def test_every_number_of_the_evidence_has_a_weight() -> None:
    read = {(by, "english") for by in get_args(By)} | {("many", "others"), ("words", "others")}
    assert {by: len(weights) for by, weights in fitted.PASSAGE.items()} == dict.fromkeys(get_args(By), len(PASSAGE))
    assert {key: len(weights) for key, weights in fitted.JUDGED.items()} == dict.fromkeys(read, 2)
    for of in (fitted.FOUND, fitted.FIRST):
        assert of.keys() == read | {(by, "none") for by in get_args(By)}
        assert {len(slopes) for _intercept, slopes in of.values()} == {len(CERTAINTY)}
