"""Fit what the verifier makes of coverage, order and cosine, on half of the documents of `eval_verify.py`.

    .venv/bin/python scripts/fit_verify.py FOLDER --vault DIR

Prints the weights for `docmind.agent.evidence`, with and without the text model. Sentences written by hand weigh more
than those made by rules, verbatim ones less: an answer of a language model is a rewording.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np

from docmind.agent.alignment import Claim
from docmind.agent.evidence import Evidence, features
from docmind.agent.verify import leaves_of
from docmind.application import DocMind
from docmind.config import KeySettings, Settings
from docmind.evaluate import read_questions
from eval_verify import Case, add_missing, build, halves_of

BY_HAND, VERBATIM = 15.0, 0.25
PASSED_OVER = ("merged", "bullet", "other half", "number:", "unit", "name", "negation")
ANY_TRUE = 0.5  # of the weight of all: as many true as false
RIDGE = 0.3


def main() -> int:
    """Build the set, fit, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--vault", type=Path, required=True)
    arguments = parser.parse_args()
    place: Path = arguments.vault
    questions = read_questions(arguments.folder / "questions.jsonl")
    with DocMind(Settings(data_dir=place / "data", keys=KeySettings(file=place / "key"))) as desk:
        add_missing(desk, arguments.folder / "docs")
        cases = list(build(desk, desk._catalog, questions, Random(7)))  # noqa: S311
        x, is_true, weight = _rows(desk, cases)
    for name, columns in (("with the text model", [0, 1, 2]), ("words alone", [0, 1])):
        fitted = _logistic(x[:, columns], is_true, weight)
        says = np.column_stack([np.ones(len(x)), x[:, columns]]) @ fitted > 0
        print(f"{name}: intercept {fitted[0]:.2f}, weights {np.round(fitted[1:], 2)} of {columns}")
        print(f"  {len(x)} rows, right {(says == is_true).mean():.3f}, true found {says[is_true].mean():.3f},")
        print(f"  false found {says[~is_true].mean():.3f}")
    return 0


def _rows(desk: DocMind, cases: Sequence[Case]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of the best span without fault of each sentence of the first half, whether it is true, its weight."""
    fitted = halves_of([item for case in cases for item in case.items])["fitted"]
    x, truths, weights = [], [], []
    for case in cases:
        items = [item for item in case.items if item.document in fitted]
        evidence = Evidence(desk._embedder, leaves_of(case.passages))
        evidence.limit = 100_000
        claims = [Claim(item.text.removeprefix("- ")) for item in items]
        for item, (spans, _) in zip(items, evidence.candidates(claims), strict=True):
            is_gated = item.kind.removeprefix("by hand: ").startswith(PASSED_OVER)
            if is_gated or not spans:
                continue
            if all(span.cosine is None for span in spans):
                continue  # certain by its words: no weights decide
            x.append(max((features(span) for span in spans), key=lambda row: row[0] + 0.3 * row[1] + 0.7 * row[2]))
            truths.append(item.is_true)
            weights.append(BY_HAND if item.kind.startswith("by hand") else VERBATIM if item.kind == "verbatim" else 1.0)
    return np.array(x), np.array(truths), np.array(weights)


def _logistic(x: np.ndarray, is_true: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Intercept and weights by Newton's method, true and false weighing the same."""
    weight = weight / np.where(is_true, weight[is_true].sum(), weight[~is_true].sum()) * len(x) * ANY_TRUE
    rows = np.column_stack([np.ones(len(x)), x])
    ridge = RIDGE * np.diag([0.0, *np.ones(x.shape[1])])
    beta = np.zeros(rows.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-rows @ beta))
        gradient = rows.T @ (weight * (is_true - p)) - ridge @ beta
        beta = beta + np.linalg.solve((rows * (weight * p * (1 - p))[:, None]).T @ rows + ridge, gradient)
    return beta


if __name__ == "__main__":
    sys.exit(main())
