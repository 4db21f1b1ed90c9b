"""Questions that compare two things: whether a question does, and which passages stand side by side.

"Is the rent higher than in the old contract?" is answered by what both contracts say. Whether a question compares is
told by its vector and by its words of logic (*or*, *than*, *both*). Two passages stand side by side where both speak
for the answer and say the like of each other. `scripts/eval fit-comparisons` fits what all this weighs (ADR 0153).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import as_file, files
from itertools import combinations

import numpy as np
from safetensors.numpy import load_file

from docmind.answers.evidence import Unit
from docmind.answers.kinds import language_of_question
from docmind.answers.order import overlap, words_of
from docmind.language import entries, folded

MAY_COMPARE = 0.2  # probability from which both sides are quoted behind a first quote that only may answer
COMPARES = 0.5  # and from which behind one that is sure, or behind the two parts of a question
DOCUMENTS = 2  # of which passages are paired: those of the best passages
PAIRED = 40  # passages of these documents, the best ones
QUOTED = 4  # passages of the likeliest pairs
WORTHLESS = -8.0  # logarithm of odds, less the best passage's, below which passages speak for nothing
PAIR = ("better", "worse", "same document", "alike in two", "alike in one")
_LOGIC = ("alternatives", "both", "comparing", "between")
MARKS = len(_LOGIC) + 2  # of a question's words, beside its vector
_MARKED = 0.3  # the number of a mark, where a vector has the length 1
_WORD = re.compile(r"[^\W_]+")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")

Weights = dict[str, np.ndarray]


@cache
def weights() -> Weights:
    """Return the weights that come with DocMind: `asked` `(d + marks,)`, `asked_bias` `(1,)`, `pair` `(5,)`."""
    with as_file(files("docmind.answers") / "comparisons.safetensors") as path:
        return load_file(path)


def asked_features(question: str, vector: np.ndarray) -> np.ndarray:
    """Return what tells whether a question compares `(d + 6,)`; `vector` `(d,)` is by the multilingual model."""
    said = _WORD.findall(folded(question))
    held = _logic(language_of_question(question))
    asking = [word for word in said if word in held["questions"]]
    marks = [any(word in held[key] for word in said) for key in _LOGIC]
    marks += [len(asking) > len(set(asking)), len(set(_YEAR.findall(question))) > 1]
    return np.concatenate([vector, _MARKED * np.array(marks, np.float32)])


@cache
def _logic(language: str) -> dict[str, frozenset[str]]:
    return {key: frozenset(map(folded, words)) for key, words in entries(language).items()}


def likelihood(question: str, vector: np.ndarray) -> float:
    """Return the probability that a question compares two things."""
    held = weights()
    return float(1 / (1 + np.exp(-(asked_features(question, vector) @ held["asked"] + held["asked_bias"][0]))))


def pairs_of(
    units: Sequence[Unit], documents: Sequence[str], odds: np.ndarray, vectors: np.ndarray
) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Return the pairs of passages that may stand side by side, by index, and what speaks for each `(pairs, 5)`.

    `documents` are those of the passages, `odds` `(n,)` their logarithms of odds, `vectors` `(n, d)` have length 1; a
    passage without one, of zeros, is in no pair. What two documents say in the same words is a pair as well.
    """
    order = [at for at in np.argsort(-odds, kind="stable").tolist() if vectors[at].any()]
    first = list(dict.fromkeys(documents[at] for at in order))[:DOCUMENTS]
    among = [at for at in order if documents[at] in first][:PAIRED]
    texts = [words_of(unit) for unit in units]
    cosines = vectors @ vectors.T
    usual = (cosines.sum(1) - np.diag(cosines)) / max(1, len(order) - 1)
    worth = np.maximum(odds - odds[order[0]], WORTHLESS) if order else odds
    pairs, features = list[tuple[int, int]](), list[list[float]]()
    for one, other in combinations(among, 2):
        is_same, alike = documents[one] == documents[other], cosines[one, other] - (usual[one] + usual[other]) / 2
        if overlap(units[one], units[other]) or (is_same and texts[one] == texts[other]):
            continue
        pairs.append((one, other))
        features.append([float(worth[one]), float(worth[other]), is_same, alike * (not is_same), alike * is_same])
    return pairs, np.array(features, np.float64).reshape(-1, len(PAIR))


def side_by_side(
    units: Sequence[Unit],
    documents: Sequence[str],
    odds: np.ndarray,
    vectors: np.ndarray,
    pair: np.ndarray | None = None,
) -> list[int]:
    """Return the best passage, the one beside it, and those of the next likeliest pairs, by index; see `pairs_of`.

    Empty where nothing stands beside the best. `pair` `(5,)` are other weights than those that come with DocMind.
    """
    pairs, features = pairs_of(units, documents, odds, vectors)
    likely = [
        pairs[at] for at in np.argsort(-(features @ (weights()["pair"] if pair is None else pair)), kind="stable")
    ]
    best = int(np.argmax(odds)) if len(odds) else -1
    beside = next((one + other - best for one, other in likely if best in (one, other)), None)
    if beside is None:
        return []
    taken = [best, beside]
    for at in (at for both in likely for at in both):
        if len(taken) < QUOTED and not any(at == one or overlap(units[at], units[one]) for one in taken):
            taken.append(at)
    return taken
