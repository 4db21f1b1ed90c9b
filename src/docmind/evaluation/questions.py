"""Retrieval quality on labelled questions: metrics, and the questions themselves.

A question is found where any labelled page is among the hits; ranks count from 1. nDCG has binary gains, and its ideal
ranking holds every labelled page first (Järvelin & Kekäläinen 2002).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rapidfuzz.distance import Levenshtein

from docmind.errors import ConfigError
from docmind.evaluation.metrics import scored
from docmind.wording import _


@dataclass(frozen=True, slots=True)
class Question:
    """One labelled question: `pages` of `document` (file name) answer it, and so do `elsewhere`, pages of others.

    A question over a small file has no pages; a quote of the file that holds the words of `answer` answers it, and half
    of those of `span`, the sentence or row where they stand, where that is labelled.
    """

    id: str
    text: str
    language: str
    document: str
    pages: frozenset[int]
    tags: frozenset[str]
    source: str
    answer: str = ""
    elsewhere: frozenset[tuple[str, int]] = frozenset()
    span: str = ""

    def is_on(self, document: str, page_no: int) -> bool:
        """Return whether a page is labelled with the answer."""
        return (document == self.document and page_no in self.pages) or (document, page_no) in self.elsewhere

    def is_answered_by(self, document: str, page_no: int, quote: str) -> bool:
        """Return whether a quote is on a labelled page; without labelled pages, whether it has the answer's words."""
        if self.pages:
            return self.is_on(document, page_no)
        if document != self.document:
            return False
        wanted, said, around = (re.findall(r"\w+", text.casefold()) for text in (self.answer, quote, self.span))
        has_answer = f" {' '.join(wanted)} " in f" {' '.join(said)} "
        return has_answer and 2 * len(set(around) & set(said)) >= len(set(around))

    @property
    def documents(self) -> frozenset[str]:
        """The documents that answer it."""
        return frozenset({self.document, *(document for document, _ in self.elsewhere)})


@dataclass(frozen=True, slots=True)
class Scores:
    """Mean metrics over questions."""

    questions: int
    recall_1: float
    recall_5: float
    recall_10: float
    mrr_10: float
    ndcg_5: float


def read_questions(path: Path) -> list[Question]:
    """Read questions from JSON lines: `id, question, lang, doc, pages, tags, source, answer, span, alt`.

    `pages` may be left out where there is an `answer`; `alt` are further `doc, pages`. Raises `ConfigError`.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError as error:
        raise ConfigError(f"{path} is missing.", hint="Give a folder with docs/ and questions.jsonl.") from error
    found: list[Question] = []
    for number, line in enumerate(lines, 1):
        try:
            found += [question_of(json.loads(line))] if line.strip() else []
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{path} has no labelled question in line {number}: {reason_of(error)}.") from error
    return found


def question_of(row: Mapping[str, Any]) -> Question:
    """Return the question of one row. Raises `KeyError`, `TypeError`, `ValueError` where it is none."""
    return Question(
        id=row["id"],
        text=row["question"],
        language=row.get("lang", ""),
        document=_document_of(row),
        pages=frozenset(_listed(row, "pages") if "pages" in row or "answer" not in row else ()),
        tags=frozenset(row.get("tags", ())),
        source=row.get("source", ""),
        answer=row.get("answer", ""),
        elsewhere=frozenset(
            (_document_of(other), page) for other in row.get("alt", ()) for page in _listed(other, "pages")
        ),
        span=row.get("span", ""),
    )


def reason_of(error: Exception) -> str:
    """Return why a row cannot be used: for a `KeyError` the name of the field that it lacks."""
    return _("the field {name} is missing").format(name=error.args[0]) if isinstance(error, KeyError) else str(error)


def _document_of(row: Mapping[str, Any]) -> str:
    if not isinstance(name := row["doc"], str):
        raise ValueError(_("{name} is no text").format(name="doc"))
    return Path(name).name


def _listed(row: Mapping[str, Any], name: str) -> list[Any]:
    if not isinstance(found := row[name], list):
        raise ValueError(_("{name} is no list").format(name=name))
    return found


@dataclass(frozen=True, slots=True)
class Judged:
    """One answered question: the rank of the first labelled page (0: none), and its nDCG@5."""

    first_rank: int
    ndcg_5: float


def judge(question: Question, pages: Iterable[tuple[str, int]]) -> Judged:
    """Score a ranking of `(document, page_no)` against the labels; nDCG@5 is at most 1."""
    gains = [int(question.is_on(document, page_no)) for document, page_no in pages]
    ndcg = scored(gains, [1] * len(question.pages), 5).ndcg  # above 1 where pages of other documents are found too
    return Judged(gains.index(1) + 1 if 1 in gains else 0, min(ndcg, 1.0))


def score(judged: Sequence[Judged]) -> Scores:
    """Average over questions; all zero where there are none."""
    count = len(judged) or 1
    ranks = [one.first_rank for one in judged]

    def recall(k: int) -> float:
        return sum(1 for rank in ranks if 1 <= rank <= k) / count

    mrr = sum(1 / rank for rank in ranks if 1 <= rank <= 10) / count
    return Scores(len(ranks), recall(1), recall(5), recall(10), mrr, sum(one.ndcg_5 for one in judged) / count)


def rows_of(questions: Sequence[Question], scans: frozenset[str]) -> dict[str, list[Question]]:
    """Group questions by row of the report; one question is in several.

    `scans` are documents without a text layer.
    """
    own = [question for question in questions if question.source == "own"]
    rows = {
        "all": list(questions),
        "own": own,
        "own, text layer": [question for question in own if question.document not in scans],
        "own, scans": [question for question in own if question.document in scans],
        "not own": [question for question in questions if question.source != "own"],
    }
    for language in sorted({question.language for question in questions}):
        rows[f"language {language}"] = [question for question in questions if question.language == language]
    for tag in ("xling", "cross", "statement", "table", "figure", "paraphrase"):
        rows[tag] = [question for question in questions if tag in question.tags]
    return {name: row for name, row in rows.items() if row}


def character_error_rate(truth: str, read: str) -> float:
    """Return the Levenshtein distance over the truth's length, white space collapsed."""
    wanted, got = " ".join(truth.split()), " ".join(read.split())
    if not wanted:
        return float(bool(got))
    return Levenshtein.distance(wanted, got) / len(wanted)
