"""Everyday questions over small files: a contact, a rule, a price, a setting; and some that no file answers."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docx
import pytest

from desks import settings_in
from docmind.application import DocMind
from docmind.config import AnswerSettings, EmbeddingSettings
from docmind.embedding.minilm import default_cache_dir
from docmind.records.answers import Answer
from docmind.records.documents import Upload

pytestmark = pytest.mark.slow
DATA: dict[str, Any] = json.loads(Path(__file__).with_name("everyday.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    folder = tmp_path_factory.mktemp("everyday")
    with DocMind(
        settings_in(
            folder, embedding=EmbeddingSettings(model="minilm"), answer=AnswerSettings(), cache_dir=default_cache_dir()
        )
    ) as docmind:
        added = docmind.add([upload(name, text) for name, text in DATA["files"].items()])
        assert {result.status for result in added} == {"added"}
        yield docmind


def upload(name: str, text: str) -> Upload:
    """Return a small file; the paragraphs of a DOCX file are apart by blank lines."""
    if not name.endswith(".docx"):
        return Upload(name, text.encode())
    document, out = docx.Document(), io.BytesIO()
    for paragraph in text.split("\n\n"):
        document.add_paragraph(paragraph)
    document.save(out)
    return Upload(name, out.getvalue())


def is_right(answer: Answer, row: dict[str, str]) -> bool:
    first = answer.sources[0] if answer.sources else None
    return first is not None and first.document == row["file"] and row["quote"] in " ".join(first.quote.split())


def test_the_first_quote_is_right(desk: DocMind) -> None:
    answers = [(desk.ask(row["question"]), row) for row in DATA["questions"]]
    outcomes = Counter(answer.outcome for answer, _ in answers)
    sure = [is_right(answer, row) for answer, row in answers if answer.outcome == "answer"]
    right = sum(is_right(answer, row) for answer, row in answers)
    assert len(answers) == 61
    assert right >= 57
    assert len(sure) >= 45
    assert sum(sure) >= 0.95 * len(sure)
    assert outcomes["not found"] <= 4


def test_what_no_file_says_is_not_answered(desk: DocMind) -> None:
    outcomes = Counter(desk.ask(question).outcome for question in DATA["outside"])
    assert outcomes.total() == 40
    assert outcomes["answer"] <= 1
    assert outcomes["not found"] >= 24


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Who is my plumber?", "Ben Cole | plumber"),
        ("Can I keep a dog?", "Dogs need the written consent of the landlord."),
        ("What happens if I pay the rent late?", "A late payment costs 2 % per week."),
    ],
)
def test_a_key_of_a_row_and_a_file_of_one_rule_are_proof(desk: DocMind, question: str, words: str) -> None:
    answer = desk.ask(question)
    assert answer.found
    assert words in answer.sources[0].quote


def test_a_name_that_the_quote_lacks_is_at_most_maybe(desk: DocMind) -> None:
    assert desk.ask("When does the flight leave Hamburg?").outcome == "answer"
    assert desk.ask("When does the flight leave Zagreb?").outcome != "answer"


def test_the_two_parts_of_a_question_are_both_answered(desk: DocMind) -> None:
    answer = desk.ask("Where may visitors park and what is the password of the guest network?")
    assert answer.outcome in ("answer", "maybe")
    assert "bay 14" in answer.answer
    assert "saltmarsh42" in answer.answer
    assert [sentence.sources for sentence in answer.sentences] == [(1,), (2,)]
