"""Questions that compare two things: whether a question does, and which passages stand side by side.

"Is the rent higher than in the old contract?" is answered by what both contracts say. Whether a question compares is
told by its vector and by its words of logic (*or*, *than*, *both*). Two passages stand side by side where both speak
for the answer and say the like of each other. `scripts/eval fit-comparisons` fits what all this weighs (ADR 0153).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import as_file, files
from itertools import combinations

import numpy as np
from safetensors.numpy import load_file

from docmind.answers.evidence import Unit
from docmind.answers.kinds import language_of_question
from docmind.answers.order import order_of, overlap
from docmind.language import entries, fold

LIKELY, SURE = 0.2, 0.5  # probabilities from which quotes stand side by side, and also in place of a sure one
DOCUMENTS = 2  # of which passages are paired: those of the best passages
PAIRED = 40  # passages of these
PAIRS = 2  # that lead
WORTHLESS = -8.0  # the logarithm of odds, beside the best passage's, below which all are alike
PAIR = ("better", "worse", "same document", "alike in two", "alike in one")
_LOGIC = ("alternatives", "both", "comparing", "between")
MARKS = len(_LOGIC) + 2  # of a question's words, beside its vector
_WORD = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_MARKED = 0.3  # of a mark beside a unit vector

Weights = dict[str, np.ndarray]


@cache
def weights() -> Weights:
    """Return the weights that come with DocMind: `asked` `(d + marks,)`, `asked_bias` `(1,)`, `pair` `(5,)`."""
    with as_file(files("docmind.answers") / "comparisons.safetensors") as path:
        return load_file(path)


def asked_features(question: str, vector: np.ndarray) -> np.ndarray:
    """Return what tells whether a question compares `(d + 6,)`; `vector` `(d,)` is that of its multilingual model."""
    said = [fold(word.lower()) for word in _WORD.findall(question)]
    held = _logic(language_of_question(question))
    asking = [word for word in said if word in held["questions"]]
    marks = [any(word in held[key] for word in said) for key in _LOGIC]
    marks += [len(asking) > len(set(asking)), len(set(_YEAR.findall(question))) > 1]
    return np.concatenate([vector, _MARKED * np.array(marks, np.float32)])


@cache
def _logic(language: str) -> dict[str, frozenset[str]]:
    return {key: frozenset(fold(word) for word in words) for key, words in entries(language).items()}


def likelihood(question: str, vector: np.ndarray) -> float:
    """Return the probability that a question compares two things."""
    held = weights()
    return float(1 / (1 + np.exp(-(asked_features(question, vector) @ held["asked"] + held["asked_bias"][0]))))


def pairs_of(
    units: Sequence[Unit], documents: Sequence[str], scores: np.ndarray, vectors: np.ndarray
) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Return the pairs of passages that may stand side by side, by index, and what speaks for each `(pairs, 5)`.

    `documents` are those of the passages, `scores` `(n,)` their logarithms of odds, `vectors` `(n, d)` have length 1.
    """
    order = np.argsort(-scores, kind="stable").tolist()
    first = list(dict.fromkeys(documents[at] for at in order))[:DOCUMENTS]
    among = [at for at in order if documents[at] in first][:PAIRED]
    texts = [" ".join(unit.text.split()).casefold() for unit in units]
    cosines = vectors @ vectors.T
    usual = (cosines.sum(1) - 1) / max(1, len(units) - 1)
    best, pairs, features = scores[order[0]], list[tuple[int, int]](), list[list[float]]()
    for one, other in combinations(among, 2):
        if texts[one] == texts[other] or overlap(units[one], units[other]):
            continue
        is_same, alike = documents[one] == documents[other], cosines[one, other] - (usual[one] + usual[other]) / 2
        odds = [max(WORTHLESS, float(scores[at] - best)) for at in (one, other)]
        pairs.append((one, other))
        features.append([*odds, is_same, alike * (not is_same), alike * is_same])
    return pairs, np.array(features, np.float64).reshape(-1, len(PAIR))


def side_by_side(
    units: Sequence[Unit], documents: Sequence[str], scores: np.ndarray, vectors: np.ndarray, most: int
) -> list[int]:
    """Return the best passage, the one beside it, the next pair, and the best others, by index; see `pairs_of`."""
    pairs, features = pairs_of(units, documents, scores, vectors)
    best = int(np.argmax(scores))
    likely = [pairs[at] for at in np.argsort(-(features @ weights()["pair"]), kind="stable").tolist()]
    beside = next((pair for pair in likely if best in pair), ())
    taken = [best]

    def take(those: Iterable[int], room: int) -> None:
        for one in those:
            if len(taken) < min(room, most) and not any(one == it or overlap(units[one], units[it]) for it in taken):
                taken.append(one)

    take(beside, 2)
    take((one for pair in likely for one in pair), 2 * PAIRS)
    take(order_of(units, scores, len(units)), most)
    return taken
