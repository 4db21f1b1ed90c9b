"""Answers without a language model: their three outcomes on labelled questions, and the fit of their confidence.

The questions are those of the folder, each also with its document left out, questions that no document answers, and
everyday questions over small files (`tests/answers/everyday.json`). An answer is right where the first quote is on a
labelled page, or holds the labelled words.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import docx
import numpy as np
from harness import add_missing, opened, vault_place

from docmind.answers import Extractive
from docmind.application import DocMind
from docmind.config import AnswerSettings
from docmind.evaluation import Question, read_questions
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters, SearchResult

UNANSWERABLE = Path(__file__).with_name("unanswerable.jsonl")
EVERYDAY = Path(__file__).resolve().parents[2] / "tests" / "answers" / "everyday.json"
RIDGE = 0.5  # of the fit; the evidence is standardised
OUTSIDE = 2.0  # weight of the questions of a set that nothing answers, against 1 for the others
STANDING_OUT = 7  # which of them is made of cosines, beside the first two
_MOST_STEPS, _SMALL_STEP = 60, 1e-8
EVIDENCE = 9  # numbers that a confidence rests on

IsRight = Callable[[str, int, str], bool]
"""Whether a quote of this document and page answers."""

Kind = Literal["labelled", "left out", "near", "far", "everyday", "everyday left out", "everyday outside"]


@dataclass(frozen=True, slots=True)
class Row:
    """One question with what its answer rests on. `group` is left out together in the folds of the fit."""

    of_set: str
    kind: Kind
    group: str
    text: str
    evidence: np.ndarray
    is_right: bool
    is_fitting: bool

    @property
    def is_answerable(self) -> bool:
        return self.kind in ("labelled", "everyday")


def fit(folders: Mapping[Path, Path], *, show_misses: bool) -> None:
    """Print the outcomes with held-out documents, and the weights that all rows give.

    `folders` are those of the questions, each with the place of its vault.
    """
    rows: list[Row] = []
    for folder, place in folders.items():
        with opened(place) as docmind:
            add_missing(docmind, folder)
            rows += _labelled(docmind, folder, read_questions(folder / "questions.jsonl"))
    with vault_place(None) as small, opened(small) as docmind:
        rows += _everyday(docmind)
    found = np.array([row.is_answerable for row in rows], np.float64)
    first = np.array([row.is_right for row in rows], np.float64)
    weights_of_rows = balanced(rows)
    without = [at for at in range(2, EVIDENCE) if at != STANDING_OUT]
    for name, of_found in (("", list(range(EVIDENCE))), ("_ANY", without)):  # without cosines
        of_first = [at for at in of_found if at]  # the nearest cosine says nothing about the first quote
        print(f"\nWith held-out documents{', without cosines' if name else ''}")
        _report(rows, folds(rows, found, of_found), folds(rows, first, of_first), show_misses=show_misses and not name)
        for what, right, columns in (("FOUND", found, of_found), ("FIRST", first, of_first)):
            intercept, weights = logistic(np.array([row.evidence for row in rows]), right, columns, weights_of_rows)
            print(f"{what}{name} = {intercept:.2f}, np.array([{', '.join(f'{weight:.2f}' for weight in weights)}])")


def _report(rows: Sequence[Row], found: np.ndarray, first: np.ndarray, *, show_misses: bool) -> None:
    """Print the outcomes of each kind of question by the default thresholds, and how many answers are right."""
    settings = AnswerSettings()
    print(f"{'questions':28} {'n':>4} {'answer':>7} {'right':>6} {'maybe':>6} {'not found':>10}")
    for of_set, kind in dict.fromkeys((row.of_set, row.kind) for row in rows):
        at = [i for i, row in enumerate(rows) if (row.of_set, row.kind) == (of_set, kind)]
        silent = {i for i in at if found[i] < settings.threshold}
        sure = [i for i in at if i not in silent and first[i] >= settings.sure and rows[i].is_fitting]
        right = sum(rows[i].is_right for i in sure)
        doubtful = len(at) - len(sure) - len(silent)
        print(f"{of_set + kind:28} {len(at):4} {len(sure):7} {right:6} {doubtful:6} {len(silent):10}")
        for i in at if show_misses else ():
            if (i in sure and not rows[i].is_right) or (i in silent and rows[i].is_answerable):
                print(f"    found {found[i]:.2f}, first {first[i]:.2f}: {rows[i].text}")


def folds(rows: Sequence[Row], right: np.ndarray, columns: Sequence[int]) -> np.ndarray:
    """Return each row's probability by weights that were fitted without its document."""
    evidence, groups = np.array([row.evidence for row in rows]), np.array([row.of_set + row.group for row in rows])
    of_rows = balanced(rows)
    probability = np.zeros(len(rows))
    for group in np.unique(groups):
        inside = groups == group
        intercept, weights = logistic(evidence[~inside], right[~inside], columns, of_rows[~inside])
        probability[inside] = 1 / (1 + np.exp(-(intercept + evidence[inside] @ weights)))
    return probability


def balanced(rows: Sequence[Row]) -> np.ndarray:
    """Return the weight of each row: every set counts alike, and in it what nothing answers as `OUTSIDE` to 1."""
    kinds = [(row.of_set, row.is_answerable) for row in rows]
    counts = Counter(kinds)
    return np.array([(1.0 if kind[1] else OUTSIDE) / counts[kind] for kind in kinds])


def logistic(
    evidence: np.ndarray, right: np.ndarray, columns: Sequence[int], of_rows: np.ndarray
) -> tuple[float, np.ndarray]:
    """Fit a logistic regression of weighted rows by Newton's method with a ridge; other columns have the weight 0."""
    x, importance = evidence[:, columns], of_rows / of_rows.mean()
    mean, spread = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-9)
    z = np.column_stack([np.ones(len(x)), (x - mean) / spread])
    ridge = np.diag([1e-6, *np.full(x.shape[1], RIDGE)])
    w = np.zeros(z.shape[1])
    for _ in range(_MOST_STEPS):
        p = 1 / (1 + np.exp(-z @ w))
        curvature = (z * (importance * p * (1 - p))[:, None]).T @ z
        step = np.linalg.solve(curvature + ridge, z.T @ (importance * (right - p)) - ridge @ w)
        w += step
        if np.abs(step).max() < _SMALL_STEP:
            break
    weights = np.zeros(evidence.shape[1])
    weights[columns] = w[1:] / spread
    return float(w[0] - mean @ weights[columns]), weights


def _labelled(docmind: DocMind, folder: Path, questions: Sequence[Question]) -> Iterator[Row]:
    """Ask the questions of a folder; those over small files count as everyday questions of their own set."""
    known = {info.document: info.doc_id for info in docmind.documents.all()}
    is_small = not any(one.pages for one in questions)
    of_set = f"{folder.name}: "

    def row(kind: Kind, group: str, text: str, filters: Filters = Filters(), answers: IsRight = _never) -> Row:
        found = docmind.search(Query(text, filters=filters))
        return _row(docmind, of_set, kind, group, text, found, answers)

    for one in questions:
        others = tuple(doc_id for name, doc_id in known.items() if name not in one.documents)
        yield row("everyday" if is_small else "labelled", one.document, one.text, answers=one.is_answered_by)
        yield row("everyday left out" if is_small else "left out", one.document, one.text, Filters(doc_ids=others))
    path = folder / "unanswerable.jsonl"
    lines = (path if path.exists() else UNANSWERABLE).read_text("utf-8").splitlines()
    for number, asked in enumerate(json.loads(line) for line in lines if line.strip()):
        outside: Kind = "everyday outside" if is_small else "near" if asked.get("near") else "far"
        yield row(outside, f"outside {number % 10}", asked["question"])


def _never(document: str, page_no: int, quote: str) -> bool:
    """No quote answers a question that no document answers."""
    return False


def _everyday(docmind: DocMind) -> Iterator[Row]:
    told = json.loads(EVERYDAY.read_text("utf-8"))
    list(docmind.add(everyday_uploads(told["files"])))
    known = {info.document: info.doc_id for info in docmind.documents.all()}
    for one in told["questions"]:
        text, file, words = one["question"], one["file"], one["quote"]
        others = tuple(doc_id for name, doc_id in known.items() if name != file)
        yield _row(
            docmind, "", "everyday", file, text, docmind.search(text),
            lambda doc, _, quote, file=file, words=words: doc == file and words in " ".join(quote.split()),
        )  # fmt: skip
        found = docmind.search(Query(text, filters=Filters(doc_ids=others)))
        yield _row(docmind, "", "everyday left out", file, text, found, _never)
    for number, text in enumerate(told["outside"]):
        found = docmind.search(text)
        yield _row(docmind, "", "everyday outside", f"outside {number % 10}", text, found, _never)


def everyday_uploads(files: dict[str, str]) -> Iterator[Upload]:
    """Yield the small files; the paragraphs of a DOCX file are apart by blank lines."""
    for name, text in files.items():
        data = text.encode()
        if name.endswith(".docx"):
            document, out = docx.Document(), io.BytesIO()
            for paragraph in text.split("\n\n"):
                document.add_paragraph(paragraph)
            document.save(out)
            data = out.getvalue()
        yield Upload(name, data)


def _row(
    docmind: DocMind, of_set: str, kind: Kind, group: str, text: str, found: SearchResult, is_right: IsRight
) -> Row:
    extractive = Extractive(AnswerSettings(), docmind.vault.catalog, docmind.embedder)
    ranked = extractive.rank(text, found)
    if ranked is None:
        return Row(of_set, kind, group, text, np.zeros(EVIDENCE), is_right=False, is_fitting=False)
    first = ranked.sources()[0]
    right = is_right(first.document, first.page_no, first.quote)
    return Row(of_set, kind, group, text, ranked.evidence, right, ranked.is_fitting)
