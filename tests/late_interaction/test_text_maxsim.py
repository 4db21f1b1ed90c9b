"""MaxSim on hand-checkable rows, and on MiniLM's own tokens."""

from __future__ import annotations

import numpy as np
import pytest

from docmind.embedding.base import QueryTokens
from docmind.embedding.minilm import MiniLM, default_cache_dir
from docmind.late_interaction.text_maxsim import matches, scores

IDENTITY = (np.eye(4) * 127).astype(np.int8)  # four tokens, each a direction of its own
CAT, DOG, OWL, _ELK = IDENTITY


def query(*rows: np.ndarray, weights: tuple[float, ...] | None = None) -> QueryTokens:
    return QueryTokens(np.stack(rows), np.array(weights or (1.0,) * len(rows), np.float32))


def test_maxsim_of_identity_rows_by_hand() -> None:
    """Of cat and dog, the first window holds both, the second one of them, twice, the third none, the last no token."""
    windows = [np.stack([DOG, OWL, CAT]), np.stack([CAT, CAT]), np.stack([OWL]), IDENTITY[:0]]
    assert scores(query(CAT, DOG), windows).tolist() == [1.0, 0.5, 0.0, -1.0]


def test_a_token_counts_by_its_weight() -> None:
    windows = [np.stack([CAT]), np.stack([DOG]), np.stack([-DOG])]
    assert scores(query(CAT, DOG, weights=(3.0, 1.0)), windows).tolist() == [0.75, 0.25, -0.25]


def test_each_token_of_the_question_takes_its_best_match_alone() -> None:
    between = np.array([90, 90, 0, 0], np.int8)  # 0.708 of cat and of dog
    [both, one] = scores(query(CAT, DOG), [np.stack([between]), np.stack([CAT])])
    assert both == pytest.approx(90 / 127)
    assert one == 0.5


@pytest.mark.parametrize("weights", [(), (0.0, 0.0)])
def test_a_question_without_telling_tokens_likes_nothing(weights: tuple[float, ...]) -> None:
    nothing = QueryTokens(IDENTITY[: len(weights)], np.array(weights, np.float32))
    assert scores(nothing, [IDENTITY, IDENTITY[:0]]).tolist() == [0.0, 0.0]
    assert scores(query(CAT), []).shape == (0,)


def test_scores_are_the_same_to_the_bit_whatever_stands_beside() -> None:
    random = np.random.default_rng(3)
    asked = QueryTokens(
        random.integers(-127, 128, (17, 32)).astype(np.int8), random.integers(1, 132, 17).astype(np.float32) / 16
    )
    windows = [random.integers(-127, 128, (n % 190, 32)).astype(np.int8) for n in range(7, 400, 13)]
    together = scores(asked, windows)
    for size in (1, 2, 5, 30):
        parts = [scores(asked, windows[at : at + size]) for at in range(0, len(windows), size)]
        assert np.concatenate(parts).tolist() == together.tolist()
    products = [(asked.vectors.astype(np.int64) @ window.astype(np.int64).T) for window in windows if len(window)]
    exact = [float((p.max(axis=1) * asked.weights.astype(np.float64)).sum()) for p in products]
    kept = [score for score, window in zip(together, windows, strict=True) if len(window)]
    assert kept == pytest.approx(np.array(exact) / (127**2 * float(asked.weights.sum())), rel=1e-12)


@pytest.mark.slow
def test_golden_scores_of_minilm() -> None:
    """By the float32 model: int8 runs differ a little between processors."""
    model = MiniLM(default_cache_dir(), precision="float32")
    _, asked = model.embed_query_with_tokens("What is the maximum fine for an infringement?")
    _, windows = model.embed_with_tokens(
        ["The maximum fine is 50 million per infringement.", "Penalties are capped by law.", "Bake the bread slowly."]
    )
    assert scores(asked, windows).tolist() == pytest.approx([0.893, 0.617, 0.088], abs=0.005)


def test_matches_are_where_the_best_tokens_stand() -> None:
    spans = np.array([[0, 3], [4, 7], [8, 11], [12, 15]])
    tokens = np.stack([OWL, CAT, DOG, CAT])
    assert matches(query(CAT), tokens, spans) == [(4, 7), (12, 15)]
    assert matches(query(CAT, DOG), tokens, spans) == [(4, 15)], "neighbours are one span"
    assert matches(query(IDENTITY[3]), tokens, spans) == [], "nothing is near enough"
    assert matches(query(CAT, OWL, weights=(5.0, 1.0)), tokens, spans) == [(4, 7), (12, 15)], "what weighs little"
    assert matches(query(CAT), tokens[:0], spans[:0]) == []
