"""Answers without a language model: the fit of what their evidence weighs, and their outcomes with documents left out.

The questions are those of the folders, with those that no document answers, and questions over small files
(`tests/answers/everyday.json`, `across.json`). A quote is right where it holds the labelled words, or is on a labelled
page.

Three regressions are fitted: of the passages of a question, which one answers (a softmax over them); whether the
documents are about what is asked, or it is far from all of them; and whether the first passage answers. The last two
see the probabilities that the first gives to documents on which it was not fitted.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docx
import numpy as np
import torch
from harness import add_missing, json_rows, opened, vault_place

from docmind.answers.evidence import CERTAINTY, PASSAGE, By, Comparison, shares_of
from docmind.answers.extractive import Extractive, order_of
from docmind.application import DocMind
from docmind.config import AnswerSettings, EmbeddingSettings
from docmind.embedding import VectorCache
from docmind.evaluation import Question, read_questions
from docmind.evaluation.questions import question_of
from docmind.records.documents import Upload

SMALL = [Path(__file__).resolve().parents[2] / "tests" / "answers" / f"{name}.json" for name in ("everyday", "across")]
UNANSWERABLE = Path(__file__).with_name("unanswerable.jsonl")
FITTED = Path(__file__).resolve().parents[2] / "src" / "docmind" / "answers" / "fitted.py"
FOLDS = 8  # of documents
FAR = ", far"  # of questions that have nothing to do with the documents
ALL, EVERY = 10_000, 200_000  # passages: every one of the pages is compared, and of a set is read once
RIDGE = 0.01  # of the choice among passages; the evidence is standardised
RIDGE_OF_CERTAINTY = 2.0
NEAR_ONES, FAR_ONES = (
    0.12,
    0.12,
)  # of all questions, as the probabilities see it, have no answer but a near one, or none
SURE = (0.6, 0.7, 0.75, 0.8, 0.85, 0.9)  # probabilities for which the precision is printed
KEPT = 0.95  # of the questions with an answer among five are to have it among those that are shown
SHOWN = 5  # quotes of an answer
_STEPS, _SMALL_STEP = 60, 1e-8
MEANING = [name for name in PASSAGE if "meaning" in name]
COSINES = ["cosine", "cosine of the best window", "standing out"]


@dataclass(frozen=True, slots=True)
class Row:
    """One question with its passages compared, which of them are right, and which are the same words or places.

    `group` is left out together in the folds of the fit. `is_answerable` tells that a document has an answer.
    """

    of_set: str
    group: str
    text: str
    language: str
    tags: frozenset[str]
    is_answerable: bool
    comparison: Comparison | None
    right: np.ndarray
    order: Callable[[np.ndarray], list[int]]


def fit(folders: Mapping[Path, Path]) -> None:
    """Print the outcomes with documents left out, and write the weights that all rows give.

    `folders` are those of the questions, each with the place of its vault.
    """
    write({"many": rows_of(folders), "english": rows_of(folders, "english")})


def rows_of(folders: Mapping[Path, Path], by: By = "many") -> list[Row]:
    """Ask every question of the folders, and of the small files; English ones alone of a model of English."""
    rows: list[Row] = []
    embedding = EmbeddingSettings(model="minilm") if by == "english" else None
    for folder, kept in folders.items():
        with vault_place(kept if by == "many" else None) as place, opened(place, embedding=embedding) as docmind:
            add_missing(docmind, folder)
            rows += _of_folder(docmind, folder, by)
    for small in SMALL if by == "many" else SMALL[:1]:
        with vault_place(None) as place, opened(place, embedding=embedding) as docmind:
            rows += _of_small(docmind, small)
    return rows


def _extractive(docmind: DocMind) -> Extractive:
    """Return one that reads every passage once."""
    return Extractive(AnswerSettings(), docmind.vault.catalog, docmind.embedder, read=VectorCache(EVERY, "passages"))


def _of_folder(docmind: DocMind, folder: Path, by: By) -> Iterator[Row]:
    extractive = _extractive(docmind)
    for one in read_questions(folder / "questions.jsonl"):
        if by == "many" or one.language == "en":
            yield _row(docmind, extractive, folder.name, one.document, one.text, one)
    for asked in json_rows(folder / "unanswerable.jsonl"):
        if by == "many" or asked.get("lang") == "en":
            near = Path(asked["about"]).name
            yield _row(docmind, extractive, folder.name, near, asked["question"], None, asked.get("lang", ""))
    yield from _far(docmind, extractive, folder.name)


def _of_small(docmind: DocMind, small: Path) -> Iterator[Row]:
    told, of_set = json.loads(small.read_text("utf-8")), small.stem
    list(docmind.add(small_uploads(told["files"])))
    extractive = _extractive(docmind)
    for number, one in enumerate(told["questions"]):
        row = {"id": str(number), "question": one["question"], "doc": one["file"], "answer": one["quote"]}
        row |= {"lang": one.get("language", "en"), "tags": [of_set]}
        yield _row(docmind, extractive, of_set, one["file"], one["question"], question_of(row))
    if of_set != "everyday":
        for number, one in enumerate(told["outside"]):
            group = f"outside {number % FOLDS}"
            yield _row(docmind, extractive, of_set, group, one["question"], None, one["language"])
    yield from _far(docmind, extractive, of_set)


def _far(docmind: DocMind, extractive: Extractive, of_set: str) -> Iterator[Row]:
    """Ask what has nothing to do with any of the documents; each question is left out together in all sets."""
    asked = [one["question"] for one in json_rows(UNANSWERABLE) if not one.get("near")]
    asked += json.loads(SMALL[0].read_text("utf-8"))["outside"]
    for number, text in enumerate(asked):
        yield _row(docmind, extractive, f"{of_set}{FAR}", f"{FAR} {number}", text, None)


def small_uploads(files: dict[str, str]) -> Iterator[Upload]:
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
    docmind: DocMind,
    extractive: Extractive,
    of_set: str,
    group: str,
    text: str,
    question: Question | None,
    language: str = "",
) -> Row:
    ranked = extractive.rank(text, docmind.search(text), candidates=ALL)
    known = question.language if question else language, question.tags if question else frozenset()
    if ranked is None:
        return Row(of_set, group, text, *known, question is not None, None, np.zeros(0, bool), lambda scores: [])
    right = np.array(
        [
            question is not None and question.is_answered_by(page.hit.document, page.record.page_no, unit.text)
            for page, unit in ranked.compared
        ]
    )
    units = [unit for _page, unit in ranked.compared]

    def order(scores: np.ndarray) -> list[int]:
        return order_of(units, scores, SHOWN)

    return Row(of_set, group, text, *known, question is not None, ranked.comparison, right, order)


@dataclass(frozen=True, slots=True)
class Shown:
    """What a row shows by weights that were fitted without its document."""

    order: list[int]
    shares: np.ndarray
    certainty: np.ndarray


def write(rows_by: Mapping[By, Sequence[Row]], *, names: Sequence[str] = PASSAGE, to: Path | None = FITTED) -> None:
    """Print the outcomes with documents left out, and write the weights that all rows give.

    `rows_by` are those of each kind of text model; by words alone the first ones are used.
    """
    of_all: dict[By, dict[str, Any]] = {by: _fitted(rows, by, names) for by, rows in rows_by.items()}
    of_all["words"] = _fitted(rows_by["many"], "words", names)
    if to is not None:
        to.write_text(_module(rows_by["many"], of_all), "utf-8")


def _fitted(rows: Sequence[Row], by: By, names: Sequence[str]) -> dict[str, Any]:
    fold_of = folds(rows)
    kept = [name for name in names if by != "words" or name not in MEANING]
    weights = {fold: choice([row for row in rows if fold_of[_group(row)] != fold], kept) for fold in range(FOLDS)}
    shown = [_shown(row, weights[fold_of[_group(row)]]) for row in rows]
    first, found = (
        np.array([bool(row.right[one.order[:most]].any()) for row, one in zip(rows, shown, strict=True)])
        for most in (1, SHOWN)
    )
    numbers = np.array([one.certainty for one in shown])
    columns = [at for at, name in enumerate(CERTAINTY) if by != "words" or name not in COSINES]
    groups = np.array([fold_of[_group(row)] for row in rows])
    weight, is_far = weights_of(rows), np.array([row.of_set.endswith(FAR) for row in rows])
    of_first = _left_out(numbers, first, columns, groups, weight)
    of_found = _left_out(numbers, ~is_far, columns, groups, weight)
    print(f"\nWith documents left out, compared by {by}")
    report(rows, first, found, of_first, of_found)
    print(f"quotes from {least_share(rows, shown):.3f} of the best probability have {KEPT:.0%} of those among five")
    return {
        "PASSAGE": choice(rows, kept),
        "FOUND": logistic(numbers, (~is_far).astype(float), columns, weight),
        "FIRST": logistic(numbers, first.astype(float), columns, weight),
    }


def _group(row: Row) -> str:
    return row.group if row.of_set.endswith(FAR) else row.of_set + row.group


def folds(rows: Sequence[Row]) -> dict[str, int]:
    """Return the fold of each document."""
    groups = sorted({_group(row) for row in rows})
    order = np.random.default_rng(7).permutation(len(groups))
    return {groups[at]: number % FOLDS for number, at in enumerate(order)}


def choice(rows: Sequence[Row], names: Sequence[str]) -> np.ndarray:
    """Fit `(PASSAGE,)`, of which those with other names are 0: a softmax over the passages of each question."""
    torch.manual_seed(0)
    used = [(row.comparison.evidence, row.right) for row in rows if row.comparison is not None and row.right.any()]
    at = [PASSAGE.index(name) for name in names]
    every = np.concatenate([numbers[:, at] for numbers, _right in used])
    spread = np.maximum(every.std(axis=0), 1e-9)
    longest = max(len(right) for _numbers, right in used)
    x = torch.zeros(len(used), longest, len(at), dtype=torch.float64)
    there, right = (torch.zeros(len(used), longest, dtype=torch.bool) for _ in range(2))
    for number, (numbers, is_right) in enumerate(used):
        x[number, : len(numbers)] = torch.from_numpy(numbers[:, at] / spread)
        there[number, : len(numbers)] = True
        right[number, : len(numbers)] = torch.from_numpy(is_right)
    weights = torch.zeros(len(at), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        scores = (x @ weights).masked_fill(~there, -torch.inf)
        value = (scores.logsumexp(1) - scores.masked_fill(~right, -torch.inf).logsumexp(1)).mean()
        value = value + RIDGE * (weights**2).sum()
        value.backward()
        return value

    optimizer.step(loss)
    found = np.zeros(len(PASSAGE))
    found[at] = weights.detach().numpy() / spread
    return found


def _shown(row: Row, weights: np.ndarray) -> Shown:
    if row.comparison is None:
        return Shown([], np.zeros(0), np.zeros(len(CERTAINTY)))
    scores = row.comparison.scores(weights)
    shares, order = shares_of(scores), row.order(scores)
    return Shown(order, shares, row.comparison.certainty(shares, order[0]))


def _left_out(
    numbers: np.ndarray, right: np.ndarray, columns: Sequence[int], groups: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return each row's probability by weights that were fitted without its document."""
    probability = np.zeros(len(numbers))
    for group in np.unique(groups):
        inside = groups == group
        intercept, weights = logistic(numbers[~inside], right[~inside].astype(float), columns, weight[~inside])
        probability[inside] = 1 / (1 + np.exp(-(intercept + numbers[inside] @ weights)))
    return probability


def logistic(
    numbers: np.ndarray, right: np.ndarray, columns: Sequence[int], weight: np.ndarray
) -> tuple[float, np.ndarray]:
    """Fit a logistic regression of weighted rows by Newton's method with a ridge; other columns have the weight 0."""
    x = numbers[:, columns]
    mean, spread = x.mean(axis=0), np.maximum(x.std(axis=0), 1e-9)
    z = np.column_stack([np.ones(len(x)), (x - mean) / spread])
    ridge = np.diag([1e-6, *np.full(x.shape[1], RIDGE_OF_CERTAINTY)])
    w = np.zeros(z.shape[1])
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-z @ w))
        step = np.linalg.solve((z.T * (weight * p * (1 - p))) @ z + ridge, z.T @ (weight * (right - p)) - ridge @ w)
        w += step
        if np.abs(step).max() < _SMALL_STEP:
            break
    weights = np.zeros(numbers.shape[1])
    weights[columns] = w[1:] / spread
    return float(w[0] - mean @ weights[columns]), weights


def weights_of(rows: Sequence[Row]) -> np.ndarray:
    """Return the weight of each row: those without an answer are `NEAR_ONES` and `FAR_ONES` of all."""
    is_answerable = np.array([row.is_answerable for row in rows])
    is_far = np.array([row.of_set.endswith(FAR) for row in rows])
    weights = np.where(is_answerable, 1.0, 0.0)
    for some, share in ((is_far, FAR_ONES), (~is_far & ~is_answerable, NEAR_ONES)):
        weights[some] = share / (1 - NEAR_ONES - FAR_ONES) * is_answerable.sum() / max(1, int(some.sum()))
    return weights


def least_share(rows: Sequence[Row], shown: Sequence[Shown]) -> float:
    """Return the largest floor, a share of the best quote's probability, that hides at most 1 - `KEPT` of answers."""
    shares = sorted(
        max(one.shares[at] for at in one.order if row.right[at]) / one.shares[one.order[0]]
        for row, one in zip(rows, shown, strict=True)
        if one.order and row.right[one.order].any()
    )
    return float(shares[int((1 - KEPT) * len(shares))])


def report(
    rows: Sequence[Row], first: np.ndarray, found: np.ndarray, of_first: np.ndarray, of_found: np.ndarray
) -> None:
    """Print the outcomes of each kind of question, and what the probabilities tell apart."""
    settings, kinds = AnswerSettings(), dict[str, list[int]]()
    for at, row in enumerate(rows):
        if not row.is_answerable:
            kinds.setdefault(f"{row.of_set}: no answer", []).append(at)
            continue
        for name in ("all with an answer", row.of_set, f"language {row.language or 'en'}", *sorted(row.tags)):
            kinds.setdefault(name, []).append(at)
    head = "n", "first", "any", "answer", "right", "maybe", "not found"
    print(f"{'questions':24}", *(f"{one:>9}" for one in head))
    for name, at in kinds.items():
        silent = [i for i in at if of_found[i] < settings.threshold]
        is_sure = [i for i in at if i not in silent and of_first[i] >= settings.sure]
        print(
            f"{name:24} {len(at):9} {first[at].mean():9.3f} {found[at].mean():9.3f} {len(is_sure):9}"
            f" {int(first[is_sure].sum()):9} {len(at) - len(is_sure) - len(silent):9} {len(silent):9}"
        )
    answerable = np.array([row.is_answerable for row in rows])
    far = np.array([row.of_set.endswith(FAR) for row in rows])
    weights = weights_of(rows)
    for sure in SURE:
        at = of_first >= sure
        right = float((first * weights)[at].sum() / max(weights[at].sum(), 1e-9))
        print(f"sure from {sure:.2f}: {right:.3f} right, {at[answerable].mean():.3f} of those with an answer")
    print(f"area under the curve: first right {area(of_first, first):.3f}, not far {area(of_found, ~far):.3f}")


def area(probability: np.ndarray, right: np.ndarray) -> float:
    """Return the area under the receiver operating characteristic."""
    ranks = np.argsort(np.argsort(probability)) + 1
    yes, no = int(right.sum()), int((~right).sum())
    return float((ranks[right].sum() - yes * (yes + 1) / 2) / (yes * no)) if yes and no else 0.0


def _module(rows: Sequence[Row], of_all: Mapping[By, Mapping[str, Any]]) -> str:
    """Return the source of the module of weights."""
    sets = {name: [row for row in rows if row.of_set == name] for name in dict.fromkeys(row.of_set for row in rows)}
    counts = {name: sum(row.is_answerable for row in of) for name, of in sets.items()}
    told = [f"{name}: {counts[name]} with an answer, {len(of) - counts[name]} without." for name, of in sets.items()]
    lines = [
        '"""What the evidence of an answer weighs, by what passages are compared by.', "",
        "Written by `scripts/eval FOLDER fit-answers`, in the order of `evidence.PASSAGE` and `evidence.CERTAINTY`.",
        "Questions:", *told, '"""', "", "from __future__ import annotations", "",
        "from docmind.answers.evidence import By", "",
    ]  # fmt: skip
    passage = {by: tuple(round(float(one), 3) for one in weights["PASSAGE"]) for by, weights in of_all.items()}
    lines.append(f"PASSAGE: dict[By, tuple[float, ...]] = {passage!r}")
    for name in ("FOUND", "FIRST"):
        value = {
            by: (round(weights[name][0], 3), tuple(round(float(one), 3) for one in weights[name][1]))
            for by, weights in of_all.items()
        }
        lines.append(f"{name}: dict[By, tuple[float, tuple[float, ...]]] = {value!r}")
    return "\n".join(lines) + "\n"
