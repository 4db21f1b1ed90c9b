"""Answers without a language model: the fit of what their evidence weighs, and their outcomes with documents left out.

The questions are those of the folders, with those that no document answers, and questions over small files
(`tests/answers/everyday.json`, `across.json`). A quote is right where it holds the labelled words, or is on a labelled
page.

Four regressions are fitted: which of the passages of a question answers (a softmax over them), by their evidence, and
by that and what the passage reader says; whether the documents are about what is asked, or it is far from all of them;
and whether the first passage answers. The last two see the probabilities that the first two give to documents on which
they were not fitted.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import docx
import numpy as np
import torch
from aside import SETS, is_aside
from harness import add_missing, json_rows, opened, vault_place

from docmind.answers import fitted
from docmind.answers.evidence import CERTAINTY, PASSAGE, By, Comparison, Judge, shares_of
from docmind.answers.extractive import Extractive
from docmind.answers.order import order_of
from docmind.application import DocMind
from docmind.config import AnswerSettings, EmbeddingSettings
from docmind.embedding import PassageReaders, VectorCache, open_readers
from docmind.evaluation import Question, read_questions
from docmind.evaluation.questions import question_of
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters

SMALL = [Path(__file__).resolve().parents[2] / "tests" / "answers" / f"{name}.json" for name in ("everyday", "across")]
UNANSWERABLE = Path(__file__).with_name("unanswerable.jsonl")
FITTED = Path(__file__).resolve().parents[2] / "src" / "docmind" / "answers" / "fitted.py"
FOLDS = 8  # of documents
FEW, FEW_ONES = ", few documents", 2  # of questions asked of their document and as many others
FAR = ", far"  # of questions that have nothing to do with the documents
ALL, EVERY = 10_000, 200_000  # passages: every one of the pages is compared, and of a set is read once
RIDGE = 0.01  # of the choice among passages; the evidence is standardised
RIDGE_OF_CERTAINTY = 2.0
NEAR_ONES, FAR_ONES = 0.12, 0.12  # of all questions, for the probabilities: no answer but a near one, or none at all
SURE = (0.6, 0.7, 0.75, 0.8, 0.85, 0.9)  # probabilities for which the precision is printed
KEPT = 0.95  # of the questions with an answer among five are to have it among those that are shown
SHOWN = 5  # quotes of an answer
_STEPS, _SMALL_STEP = 60, 1e-8
MEANING = [name for name in PASSAGE if "meaning" in name]
COSINES = ["cosine", "cosine of the best window"]


@dataclass(frozen=True, slots=True)
class Row:
    """One question with its passages compared, which of them are right, and which are the same words or places.

    `group` is left out together in the folds of the fit. `is_answerable` tells that a document has an answer. `texts`
    are what the passage reader is given of them, `scores` `(n,)` their scores by the weights that are in force.
    """

    of_set: str
    group: str
    text: str
    language: str
    tags: frozenset[str]
    is_answerable: bool
    comparison: Comparison | None
    right: np.ndarray
    order: Callable[[np.ndarray, int], list[int]]
    texts: tuple[str, ...] = ()
    scores: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def judge(self) -> Judge:
        """Which passage reader read some of its passages."""
        return self.comparison.judge if self.comparison is not None else "none"


def fit(folders: Mapping[Path, Path]) -> None:
    """Print the outcomes with documents left out, and write the weights that all rows give.

    `folders` are those of the questions, each with the place of its vault.
    """
    write({"many": rows_of(folders), "english": rows_of(folders, "english")})


def rows_of(folders: Mapping[Path, Path], by: By = "many") -> list[Row]:
    """Ask the questions of the folders, and of the small files; English ones alone of a model of English.

    Of the sets that the reader was taught on only the documents are asked about that are set aside.
    """
    rows: list[Row] = []
    embedding = EmbeddingSettings(model="minilm") if by == "english" else None
    for folder, kept in folders.items():

        def is_asked(document: str, language: str, of_set: str = folder.name) -> bool:
            return (by == "many" or language == "en") and (of_set not in SETS or is_aside(document))

        with vault_place(kept if by == "many" else None) as place, opened(place, embedding=embedding) as docmind:
            extractive = extractive_of(docmind, open_readers(docmind.settings.now))
            for few in (False, True):
                rows += folder_rows(docmind, extractive, folder, is_asked, few=few)
                rows += _far(docmind, extractive, folder.name + FEW * few, few=few)
    for small in SMALL if by == "many" else SMALL[:1]:
        with vault_place(None) as place, opened(place, embedding=embedding) as docmind:
            list(docmind.add(small_uploads(json.loads(small.read_text("utf-8"))["files"])))
            extractive = extractive_of(docmind, open_readers(docmind.settings.now))
            for few in (False, True):
                rows += _of_small(docmind, extractive, small, few=few)
    return rows


def extractive_of(docmind: DocMind, readers: PassageReaders | None = None) -> Extractive:
    """Return one that embeds every passage once."""
    cache = VectorCache(EVERY, "passages")
    return Extractive(AnswerSettings(), docmind.vault.catalog, docmind.embedder, read=cache, readers=readers)


def folder_rows(
    docmind: DocMind, extractive: Extractive, folder: Path, is_asked: Callable[[str, str], bool], *, few: bool = False
) -> Iterator[Row]:
    """Ask the questions of a folder of which `is_asked` tells, by their document and language.

    With `few` each is asked of its document and the next two alone, as of a small library.
    """
    add_missing(docmind, folder)
    within, of_set = _boundaries(docmind, few=few), folder.name + FEW * few
    for one in read_questions(folder / "questions.jsonl"):
        if is_asked(one.document, one.language):
            yield _row(docmind, extractive, of_set, one.document, one.text, one, within=within[one.document])
    for asked in json_rows(folder / "unanswerable.jsonl"):
        near, language = Path(asked["about"]).name, asked.get("lang", "")
        if is_asked(near, language):
            yield _row(docmind, extractive, of_set, near, asked["question"], None, language, within=within[near])


def _of_small(docmind: DocMind, extractive: Extractive, small: Path, *, few: bool) -> Iterator[Row]:
    told, of_set = json.loads(small.read_text("utf-8")), small.stem + FEW * few
    within = _boundaries(docmind, few=few)
    for number, one in enumerate(told["questions"]):
        row = {"id": str(number), "question": one["question"], "doc": one["file"], "answer": one["quote"]}
        row |= {"lang": one.get("language", "en"), "tags": [small.stem]}
        question = question_of(row)
        yield _row(docmind, extractive, of_set, one["file"], one["question"], question, within=within[one["file"]])
    if small.stem != "everyday":
        some = list(within.values())
        for number, one in enumerate(told["outside"]):
            group = f"outside {number % FOLDS}"
            filters = some[number % len(some)]
            yield _row(docmind, extractive, of_set, group, one["question"], None, one["language"], within=filters)
    yield from _far(docmind, extractive, of_set, few=few)


def _far(docmind: DocMind, extractive: Extractive, of_set: str, *, few: bool) -> Iterator[Row]:
    """Ask what has nothing to do with any of the documents; each question is left out together in all sets."""
    asked = [one["question"] for one in json_rows(UNANSWERABLE) if not one.get("near")]
    asked += json.loads(SMALL[0].read_text("utf-8"))["outside"]
    some = list(_boundaries(docmind, few=few).values())
    for number, text in enumerate(asked):
        filters = some[number % len(some)]
        yield _row(docmind, extractive, f"{of_set}{FAR}", f"{FAR} {number}", text, None, within=filters)


def _boundaries(docmind: DocMind, *, few: bool) -> dict[str, Filters]:
    """Return where the questions about each document are asked: in all documents, or in it and the next `FEW_ONES`."""
    every = sorted(docmind.documents.all(), key=lambda info: info.document)
    ids = [info.doc_id for info in every] * 2
    return {
        info.document: Filters(doc_ids=tuple(ids[at : at + FEW_ONES + 1])) if few else Filters()
        for at, info in enumerate(every)
    }


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
    *,
    within: Filters,
) -> Row:
    ranked = extractive.rank(text, docmind.search(Query(text, filters=within)), candidates=ALL)
    if ranked is not None and ranked.degraded:
        raise SystemExit(f"{text}: {ranked.degraded[0].reason}")
    known = question.language if question else language, question.tags if question else frozenset()
    if ranked is None:
        return Row(of_set, group, text, *known, question is not None, None, np.zeros(0, bool), partial(order_of, ()))
    right = np.array(
        [
            question is not None and question.is_answered_by(page.hit.document, page.record.page_no, unit.text)
            for page, unit in ranked.compared
        ]
    )
    order = partial(order_of, [unit for _page, unit in ranked.compared])
    texts = tuple(unit.subject(page) for page, unit in ranked.compared)
    scores = ranked.comparison.scores(fitted.PASSAGE[ranked.comparison.by])
    return Row(of_set, group, text, *known, question is not None, ranked.comparison, right, order, texts, scores)


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
    weighed = [(row, fold_of[_group(row)], weights[fold_of[_group(row)]]) for row in rows]
    found: dict[str, Any] = {"PASSAGE": choice(rows, kept), "JUDGED": {}}
    shown = [(at, row, _shown(row, own, None)) for row, at, own in weighed]
    certain = {"none": _certainties(shown, by, f"compared by {by}, judged by none")}
    for judge in sorted({row.judge for row in rows} - {"none"}):
        read = [one for one in weighed if one[0].judge == judge]
        judged = {fold: of_judged([(row, own) for row, at, own in read if at != fold]) for fold in range(FOLDS)}
        found["JUDGED"][judge] = of_judged([(row, own) for row, _at, own in read])
        shown = [(at, row, _shown(row, own, judged[at])) for row, at, own in read]
        certain[judge] = _certainties(shown, by, f"compared by {by}, judged by the passage reader: {judge}")
    for name in ("FOUND", "FIRST"):
        found[name] = {judge: of[name] for judge, of in certain.items()}
    return found


def _certainties(rows: Sequence[tuple[int, Row, Shown]], by: By, told: str) -> dict[str, tuple[float, np.ndarray]]:
    """Fit both probabilities of rows, each with its fold and what it shows, and print the outcomes."""
    groups = np.array([at for at, _row, _shown in rows])
    asked, shown = [row for _at, row, _shown in rows], [one for _at, _row, one in rows]
    first, found = (
        np.array([bool(row.right[one.order[:most]].any()) for row, one in zip(asked, shown, strict=True)])
        for most in (1, SHOWN)
    )
    numbers = np.array([one.certainty for one in shown])
    columns = [at for at, name in enumerate(CERTAINTY) if by != "words" or name not in COSINES]
    weight, is_far = weights_of(asked), np.array([row.of_set.endswith(FAR) for row in asked])
    of_first = _left_out(numbers, first, columns, groups, weight)
    # Equal passages share the odds, and are about it all the same.
    of_any = [at for at in columns if CERTAINTY[at] != "odds"]
    of_found = _left_out(numbers, ~is_far, of_any, groups, weight)
    print(f"\nWith documents left out, {told}")
    report(asked, first, found, of_first, of_found)
    print(f"quotes from {least_share(asked, shown):.3f} of the best probability have {KEPT:.0%} of those among five")
    return {
        "FOUND": logistic(numbers, (~is_far).astype(float), of_any, weight),
        "FIRST": logistic(numbers, first.astype(float), columns, weight),
    }


def of_judged(rows: Sequence[tuple[Row, np.ndarray]]) -> np.ndarray:
    """Fit `(2,)`: what the scores of the evidence, by these weights, and the logits of the passage reader weigh."""
    compared = [(row.comparison, row.right, weights) for row, weights in rows if row.comparison is not None]
    return softmax(
        [(np.column_stack([one.scores(weights), one.judged]), right) for one, right, weights in compared if right.any()]
    )


def _group(row: Row) -> str:
    return row.group if row.of_set.endswith(FAR) else row.of_set + row.group


def folds(rows: Sequence[Row]) -> dict[str, int]:
    """Return the fold of each document."""
    groups = sorted({_group(row) for row in rows})
    order = np.random.default_rng(7).permutation(len(groups))
    return {groups[at]: number % FOLDS for number, at in enumerate(order)}


def choice(rows: Sequence[Row], names: Sequence[str]) -> np.ndarray:
    """Fit `(PASSAGE,)`, of which those with other names are 0."""
    at = [PASSAGE.index(name) for name in names]
    found = np.zeros(len(PASSAGE))
    compared = [(row.comparison, row.right) for row in rows if row.comparison is not None and row.right.any()]
    found[at] = softmax([(one.evidence[:, at], right) for one, right in compared])
    return found


def softmax(used: Sequence[tuple[np.ndarray, np.ndarray]], ridge: float = RIDGE) -> np.ndarray:
    """Fit `(k,)`: a softmax over the choices of each question, of numbers `(n, k)` and which are right `(n,)`."""
    torch.manual_seed(0)
    spread = np.maximum(np.concatenate([numbers for numbers, _right in used]).std(axis=0), 1e-9)
    longest = max(len(right) for _numbers, right in used)
    x = torch.zeros(len(used), longest, len(spread), dtype=torch.float64)
    there, right = (torch.zeros(len(used), longest, dtype=torch.bool) for _ in range(2))
    for number, (numbers, is_right) in enumerate(used):
        x[number, : len(numbers)] = torch.from_numpy(numbers / spread)
        there[number, : len(numbers)] = True
        right[number, : len(numbers)] = torch.from_numpy(is_right)
    weights = torch.zeros(len(spread), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        scores = (x @ weights).masked_fill(~there, -torch.inf)
        value = (scores.logsumexp(1) - scores.masked_fill(~right, -torch.inf).logsumexp(1)).mean()
        value = value + ridge * (weights**2).sum()
        value.backward()
        return value

    optimizer.step(loss)
    return weights.detach().numpy() / spread


def _shown(row: Row, weights: np.ndarray, judged: np.ndarray | None) -> Shown:
    """Return what a row shows by weights of its evidence, and of what the passage reader says; None: nothing."""
    if row.comparison is None:
        return Shown([], np.zeros(0), np.zeros(len(CERTAINTY)))
    comparison, scores = row.comparison, row.comparison.scores(weights)
    if judged is None:
        comparison = replace(comparison, is_judged=np.zeros(len(scores), bool))
    else:
        scores = comparison.with_judged(scores, judged)
    shares, order = shares_of(scores), row.order(scores, SHOWN)
    return Shown(order, shares, comparison.certainty(shares, order[0]))


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
        names = "all with an answer", row.of_set, f"language {row.language or 'en'}", *sorted(row.tags)
        for name in dict.fromkeys(names):
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
        "`JUDGED` weighs their sum and the logit of a passage reader. `FOUND` and `FIRST` have an intercept and slopes",
        "for each passage reader, and for questions that none read.",
        "Questions:", *told, '"""', "", "from __future__ import annotations", "",
        "from docmind.answers.evidence import By, Judge", "", "Logistic = tuple[float, tuple[float, ...]]", "",
    ]  # fmt: skip
    of_passages = {by: _rounded(weights["PASSAGE"]) for by, weights in of_all.items()}
    lines.append(f"PASSAGE: dict[By, tuple[float, ...]] = {of_passages!r}")

    def by_judge(name: str, value: Callable[[Any], Any]) -> dict[tuple[By, str], Any]:
        return {(by, judge): value(one) for by, weights in of_all.items() for judge, one in weights[name].items()}

    lines.append(f"JUDGED: dict[tuple[By, Judge], tuple[float, ...]] = {by_judge('JUDGED', _rounded)!r}")
    for name in ("FOUND", "FIRST"):
        value = by_judge(name, lambda one: (round(one[0], 3), _rounded(one[1])))
        lines.append(f"{name}: dict[tuple[By, Judge], Logistic] = {value!r}")
    return "\n".join(lines) + "\n"


def _rounded(weights: np.ndarray) -> tuple[float, ...]:
    return tuple(round(float(one), 3) for one in weights)
