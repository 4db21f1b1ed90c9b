"""Metrics on rankings that can be scored by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from docmind.errors import ConfigError
from docmind.evaluation import Question, character_error_rate, judge, read_questions, rows_of, score

ONE = Question("q1", "?", "en", "a.pdf", frozenset({3}), frozenset(), "own")
TWO = Question("q2", "?", "pt", "a.pdf", frozenset({3, 4}), frozenset({"table"}), "other")


def test_the_first_labelled_page_counts() -> None:
    assert judge(ONE, [("a.pdf", 1), ("b.pdf", 3), ("a.pdf", 3)]).first_rank == 3
    assert judge(ONE, [("b.pdf", 3)]).first_rank == 0


def test_ndcg_wants_every_labelled_page_first() -> None:
    assert judge(TWO, [("a.pdf", 4), ("a.pdf", 3)]).ndcg_5 == pytest.approx(1.0)
    ideal = 1 + 1 / math.log2(3)
    assert judge(TWO, [("x", 1), ("a.pdf", 3)]).ndcg_5 == pytest.approx(1 / math.log2(3) / ideal)


def test_a_page_of_another_document_may_answer_too() -> None:
    question = replace(ONE, elsewhere=frozenset({("b.pdf", 7)}))
    assert judge(question, [("x", 1), ("b.pdf", 7)]).first_rank == 2
    assert judge(question, [("b.pdf", 7), ("a.pdf", 3)]).ndcg_5 == 1.0
    assert question.documents == {"a.pdf", "b.pdf"}


def test_the_words_of_the_answer_count_where_no_page_is_labelled() -> None:
    question = replace(ONE, document="wine.csv", pages=frozenset(), answer="6 bottles")
    assert question.is_answered_by("wine.csv", 1, "Rioja |\n6  Bottles | A2")
    assert not question.is_answered_by("wine.csv", 1, "Port | 16 bottles")
    assert not question.is_answered_by("beer.csv", 1, "6 bottles")
    assert ONE.is_answered_by("a.pdf", 3, "")


def test_means() -> None:
    found = [judge(ONE, [("a.pdf", 3)]), judge(ONE, [("x", 1)] * 5 + [("a.pdf", 3)]), judge(ONE, [])]
    scores = score(found)
    assert (scores.recall_1, scores.recall_5, scores.recall_10) == pytest.approx((1 / 3, 1 / 3, 2 / 3))
    assert scores.mrr_10 == pytest.approx((1 + 1 / 6) / 3)
    assert scores.ndcg_5 == pytest.approx(1 / 3)
    assert score([]).recall_1 == 0.0


def test_rows_stand_apart() -> None:
    rows = rows_of([ONE, TWO], frozenset({"a.pdf"}))
    assert {name: len(row) for name, row in rows.items()} == {
        "all": 2, "own": 1, "own, scans": 1, "not own": 1, "language en": 1, "language pt": 1, "table": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("truth", "read", "rate"),
    [
        ("kitten", "sitting", 3 / 6),
        ("abc", "abc", 0),
        ("abc", "", 1),
        ("a  b\nc", "a b c", 0),
        ("", "x", 1),
        ("", "", 0),
    ],
)
def test_character_error_rate(truth: str, read: str, rate: float) -> None:
    assert character_error_rate(truth, read) == pytest.approx(rate)


def test_questions_are_read(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text('{"id": "1", "question": "Who?", "lang": "en", "doc": "docs/a.pdf", "pages": [2]}\n\n')
    [question] = read_questions(path)
    assert (question.document, question.pages) == ("a.pdf", frozenset({2}))
    path.write_text(
        '{"id": "1", "question": "Who?", "doc": "a.csv", "answer": "Ben", "alt": [{"doc": "b", "pages": [1]}]}'
    )
    [question] = read_questions(path)
    assert (question.pages, question.answer, question.elsewhere) == (frozenset(), "Ben", {("b", 1)})


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("not json", "Expecting value"),
        ("[]", ""),
        ('{"id": 1}', "the field question is missing"),
        ('{"id": "1", "question": "Who?", "pages": [1]}', "the field doc is missing"),
        ('{"id": "1", "question": "Who?", "doc": "a"}', "the field pages is missing"),
        ('{"id": "1", "question": "Who?", "doc": 5, "pages": [1]}', "doc is no text"),
        ('{"id": "1", "question": "Who?", "doc": "a", "pages": 1}', "pages is no list"),
        (
            '{"id": "1", "question": "Who?", "doc": "a", "pages": [1], "alt": [{"pages": [1]}]}',
            "the field doc is missing",
        ),
    ],
)
def test_a_bad_row_is_named_with_what_it_lacks(tmp_path: Path, row: str, reason: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text('{"id": "1", "question": "Who?", "doc": "a.pdf", "pages": [2]}\n\n' + row)
    with pytest.raises(ConfigError, match=rf"questions\.jsonl has no labelled question in line 3: {reason}"):
        read_questions(path)
    with pytest.raises(ConfigError, match="missing"):
        read_questions(tmp_path / "none.jsonl")
