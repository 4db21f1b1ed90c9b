"""Questions that compare two things: the fit of which do, and of which passages stand side by side.

`comparisons/` has two sets of eighteen documents with 120 questions each, of which 75 compare two things, and
`questions.jsonl` with 1,498 questions without documents, half of which do. They were written in five languages by
people who had not seen how they are answered. Questions of the other sets that one place answers stand beside them.

Two models are fitted: whether a question compares, a logistic of its vector and its words of logic, and which pair of
passages says what both sides are, a softmax over the pairs of a question.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from fit_answers import softmax
from harness import add_missing, json_rows, opened, save_arrays, vault_place

from docmind.answers.comparisons import PAIR, QUOTED, asked_features, pairs_of, side_by_side
from docmind.answers.evidence import Unit
from docmind.application import DocMind
from docmind.embedding import of_many_languages, open_text_model
from docmind.records.query import Query

FOLDER = Path(__file__).with_name("comparisons")
FITTED = Path(__file__).resolve().parents[2] / "src" / "docmind" / "answers" / "comparisons.safetensors"
TEXTS, OF_EACH = ("papers", "papers_more", "papers_twins", "plain", "papers_files"), 350  # questions of one place
PILES, OF_PILE = Path(__file__).with_name("tables"), 40  # questions of tables, but those for a difference
DECAY_ASKED, DECAY_PAIR = 0.03, 0.3  # of squared weights, against overfitting
SHARES = (0.1, 0.2, 0.3, 0.5)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a part of the sets, with what tells whether it compares."""

    part: str
    features: np.ndarray
    compares: bool


@dataclass(frozen=True, slots=True)
class Case:
    """A comparison with its passages as `side_by_side` takes them, and which `(passages, sides)` have what a side is.

    `features` `(pairs, 5)` and `right` `(pairs,)` are of its pairs.
    """

    part: str
    passages: tuple[Sequence[Unit], Sequence[str], np.ndarray, np.ndarray]
    has: np.ndarray
    features: np.ndarray
    right: np.ndarray

    def shows(self, pair: np.ndarray, most: int) -> bool:
        """Return whether both sides are among the first passages that stand side by side by these weights."""
        return bool(self.has[side_by_side(*self.passages, pair)[:most]].any(0).all())


def fit() -> None:
    """Print the outcomes with each part left out, and write the weights that all give."""
    torch.manual_seed(0)
    asked, cases = list[Asked](), list[Case]()
    with vault_place(None) as place, opened(place) as docmind:
        model = open_text_model(docmind.configured)
        for part, question, compares in _questions():
            vector = of_many_languages(model, model.embed_query(question))
            assert vector is not None
            asked.append(Asked(part, asked_features(question, vector), compares))
    for folder in sorted(path for path in FOLDER.iterdir() if path.is_dir()):
        with vault_place(None) as place, opened(place) as docmind:
            add_missing(docmind, folder)
            rows = [row for row in json_rows(folder / "questions.jsonl") if row["kind"] == "comparison"]
            cases += [one for row in rows if (one := _case(docmind, folder.name, row)) is not None]
    for part in dict.fromkeys(one.part for one in asked):
        _print_asked(part, [one for one in asked if one.part == part], [one for one in asked if one.part != part])
    for part in dict.fromkeys(one.part for one in cases):
        _print_pairs(part, [one for one in cases if one.part == part], [one for one in cases if one.part != part])
    weights, pair = _asked_weights(asked), _pair_weights(cases)
    print("pair", dict(zip(PAIR, pair.round(2).tolist(), strict=True)))
    arrays = {"asked": weights[:-1], "asked_bias": weights[-1:], "pair": pair}
    save_arrays(FITTED, {name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()})


def _questions() -> list[tuple[str, str, bool]]:
    """Return the part, the words, and whether it compares, of each question."""
    chance = random.Random(0)  # noqa: S311
    found = [(row["part"], row["q"], row["kind"] == "comparison") for row in json_rows(FOLDER / "questions.jsonl")]
    for folder in sorted(path for path in FOLDER.iterdir() if path.is_dir()):
        rows = json_rows(folder / "questions.jsonl")
        found += [(folder.name, row["q"], row["kind"] == "comparison") for row in rows]
    for name in TEXTS:
        rows = json_rows(FOLDER.parent / name / "questions.jsonl")
        found += [(name, row["question"], False) for row in chance.sample(rows, min(OF_EACH, len(rows)))]
    for pile in sorted(path for path in PILES.iterdir() if path.is_dir()):
        rows = [row for row in json_rows(pile / "questions.jsonl") if row["task"] != "difference"]
        found += [("tables", row["q"], False) for row in chance.sample(rows, OF_PILE)]
    return found


def _case(docmind: DocMind, part: str, row: dict[str, Any]) -> Case | None:
    """Return a comparison with its passages; None where the search finds none."""
    ranked = docmind.answerer.direct.extractive.rank(row["q"], docmind.search(Query(row["q"])))
    if ranked is None or ranked.vectors is None:
        return None
    units = [unit for _page, unit in ranked.compared]
    passages = units, [page.hit.doc_id for page, _unit in ranked.compared], ranked.odds, ranked.vectors
    texts = [" ".join(unit.text.split()) for unit in units]
    has = np.array([[" ".join(side.split()) in text for side in row["expect"]] for text in texts])
    pairs, features = pairs_of(*passages)
    right = np.array([bool((has[one] | has[other]).all()) for one, other in pairs], bool)
    return Case(part, passages, has, features, right)


def _asked_weights(asked: Sequence[Asked]) -> np.ndarray:
    """Return the weights of the features and the bias `(d + 7,)`."""
    features = torch.tensor(np.stack([one.features for one in asked]), dtype=torch.float64)
    compares = torch.tensor([float(one.compares) for one in asked], dtype=torch.float64)
    centre = features.mean(0)
    weights = torch.zeros(features.shape[1] + 1, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        scores = (features - centre) @ weights[:-1] + weights[-1]
        wrong = torch.nn.functional.binary_cross_entropy_with_logits(scores, compares, reduction="sum")
        wrong = wrong + DECAY_ASKED * (weights[:-1] ** 2).sum()
        wrong.backward()
        return wrong

    optimizer.step(loss)
    fitted = weights.detach().numpy()
    fitted[-1] -= centre.numpy() @ fitted[:-1]
    return fitted


def _pair_weights(cases: Sequence[Case]) -> np.ndarray:
    """Return the weights of what speaks for a pair `(5,)`."""
    seen = [(one.features, one.right) for one in cases if one.right.any()]
    return softmax(seen, DECAY_PAIR / len(seen))


def _print_asked(part: str, of_part: Sequence[Asked], others: Sequence[Asked]) -> None:
    weights = _asked_weights(others)
    scores = np.stack([one.features for one in of_part]) @ weights[:-1] + weights[-1]
    likely, compares = 1 / (1 + np.exp(-scores)), np.array([one.compares for one in of_part])
    told = [f"{part} left out, {len(of_part)} questions:"]
    for share in SHARES:
        found, wrong = int((likely >= share)[compares].sum()), int((likely >= share)[~compares].sum())
        told.append(f"from {share}: {found} of {compares.sum()} found, {wrong} of {(~compares).sum()} wrongly;")
    print(" ".join(told), flush=True)


def _print_pairs(part: str, cases: Sequence[Case], others: Sequence[Case]) -> None:
    pair = _pair_weights(others)
    two, four = (sum(one.shows(pair, most) for one in cases) for most in (2, QUOTED))
    possible = sum(bool(one.has.any(0).all()) for one in cases)
    told = f"both sides in 2 passages {two}, in {QUOTED} {four}, in all {possible}"
    print(f"{part} left out, {len(cases)} comparisons: {told}", flush=True)
