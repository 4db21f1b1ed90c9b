"""BM25 terms and weights: small enough to check by hand."""

from __future__ import annotations

import numpy as np
import pytest

from docmind.embedding.bm25 import (
    AVERAGE_WORDS,
    K1,
    B,
    page_terms,
    prefix,
    query_terms,
    reads_as_english,
    term_id,
    words,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Proteção de Dados", ["protecao", "dados"]),
        ("FY2022 and 10-K", ["fy2022", "fy", "2022", "10", "k"]),
        ("snake_case_name", ["snake", "case", "name"]),
        ("R$ 50.000.000,00", ["r", "50", "000", "000", "00"]),
        ("", []),
        ("合同责任", ["合同", "同责", "责任"]),
        ("第52条", ["第", "条", "52"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert sorted(words(text)) == sorted(expected)


def test_prefixes_stand_in_for_stems() -> None:
    assert prefix("protection") == prefix("proteccion") == prefix("protecao"[:9]) == "prote"
    assert prefix("2022") is None
    assert prefix("fine") is None


def test_weights_are_robertsons() -> None:
    """`tf (k1 + 1) / (tf + k1 (1 - b + b length / average))`, for two of three words being the same."""
    terms = page_terms("fine fine law", "")
    weights = dict(zip(terms.indices.tolist(), terms.values.tolist(), strict=True))
    room = K1 * (1 - B + B * 3 / AVERAGE_WORDS)
    assert weights[term_id("w:fine")] == pytest.approx(2 * (K1 + 1) / (2 + room), rel=1e-5)
    assert weights[term_id("w:law")] == pytest.approx((K1 + 1) / (1 + room), rel=1e-5)
    assert len(weights) == 2


def test_a_page_knows_its_document() -> None:
    terms = page_terms("Net sales decreased.", "fb ADOBE 2022 10K")
    assert term_id("w:adobe") in terms.indices
    assert term_id("w:2022") in terms.indices


def test_a_question_counts_each_term_once() -> None:
    terms = query_terms("fine, fine and again fine?")
    assert set(terms.indices.tolist()) == {term_id("w:fine"), term_id("w:again"), term_id("p:again")}
    assert set(terms.values.tolist()) == {1.0}


def test_a_question_without_words_has_no_terms() -> None:
    assert len(query_terms("¿?").indices) == 0
    assert query_terms("de la").indices.dtype == np.uint32


def test_ids_are_for_ever() -> None:
    """Pinned ids: an id that changed would lose every stored page."""
    assert term_id("w:contract") == int.from_bytes(bytes.fromhex(PINNED), "little")


PINNED = "67d0ea51"


@pytest.mark.parametrize(
    ("question", "english"),
    [
        ("What is the maximum fine?", True),
        ("Qual é o limite da multa?", False),
        ("¿Cuántos ciudadanos integran la Convención?", False),
        ("Wie hoch ist die Strafe und wer zahlt sie?", False),
        ("Ferrari 458 Spider", True),
    ],
)
def test_function_words_tell_english(question: str, english: bool) -> None:
    assert reads_as_english(question) is english


def test_a_word_of_many_scripts_is_as_deep_as_any() -> None:
    """Letters and characters alternate 20,000 times in one word; this used to exceed the recursion limit."""
    found = words("a中" * 20_000)
    assert (found.count("中"), found.count("a")) == (20_000, 0)  # `a` is a stop word
    assert len(words("x文字" * 20_000)) == 40_000


def test_a_giant_word_is_one_term_and_its_prefix() -> None:
    made = page_terms("a" * 5_000_000, "")
    assert len(made.indices) == 2
    assert term_id("w:" + "a" * 100) != term_id("w:" + "a" * 101)
