"""Embeddings of questions and passages are made once, limited in number, and never mixed between models."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from docmind.embedding.vector_cache import VectorCache


class Model:
    """A function that counts its calls."""

    def __init__(self, name: str) -> None:
        self.name, self.made = name, Counter[str]()

    def of(self, cache: VectorCache, text: str) -> str:
        def make() -> str:
            self.made[text] += 1
            return f"{self.name} of {text}"

        return cache.get(self.name, text, make)


def test_a_question_is_made_once_and_the_rate_counts() -> None:
    cache, model = VectorCache(4), Model("a")
    assert cache.hit_rate() is None
    assert [model.of(cache, "herons") for _ in range(4)] == ["a of herons"] * 4
    assert model.made == {"herons": 1}
    assert cache.hit_rate() == 0.75


def test_models_do_not_share_a_question() -> None:
    cache, one, other = VectorCache(4), Model("a"), Model("b")
    assert (one.of(cache, "herons"), other.of(cache, "herons")) == ("a of herons", "b of herons")


def test_the_question_used_longest_ago_goes_first() -> None:
    cache, model = VectorCache(2), Model("a")
    for text in ("one", "two", "one", "three", "one", "two"):
        model.of(cache, text)
    assert model.made == {"one": 1, "two": 2, "three": 1}


def test_what_fails_is_not_kept() -> None:
    cache = VectorCache(2)

    def fail() -> str:
        raise OSError("the model is gone")

    with pytest.raises(OSError, match="gone"):
        cache.get("a", "herons", fail)
    assert cache.get("a", "herons", lambda: "made") == "made"
    assert cache.hit_rate() == 0.0


def test_forgetting_leaves_nothing() -> None:
    cache, model = VectorCache(2), Model("a")
    model.of(cache, "herons")
    cache.drop()
    model.of(cache, "herons")
    assert model.made == {"herons": 2}


def test_no_thread_waits_for_a_model_that_hangs() -> None:
    cache, model, hanging = VectorCache(8), Model("a"), threading.Event()
    stuck = threading.Thread(target=lambda: cache.get("b", "herons", lambda: hanging.wait(30)), daemon=True)
    stuck.start()
    with ThreadPoolExecutor(16) as pool:
        texts = [f"question {n % 24}" for n in range(600)]
        assert list(pool.map(lambda text: model.of(cache, text), texts)) == [f"a of {text}" for text in texts]
    assert len(cache._kept) <= 8
    hanging.set()
    stuck.join(30)
    assert not stuck.is_alive()


def test_rows_that_are_cached_are_not_made_again() -> None:
    cache, made = VectorCache(8), list[str]()

    def make(texts: Sequence[str]) -> np.ndarray:
        made.extend(texts)
        return np.array([[len(text)] for text in texts])

    assert cache.rows("m", ["a", "bb", "a"], make).tolist() == [[1], [2], [1]]
    assert cache.rows("m", ["bb", "ccc"], make).tolist() == [[2], [3]]
    assert made == ["a", "bb", "ccc"]
    assert cache.rows("other", ["a"], make).tolist() == [[1]]
    cache.drop()
    cache.rows("m", ["a"], make)
    assert made == ["a", "bb", "ccc", "a", "a"]
    assert cache.rows("m", [f"{n}" * n for n in range(1, 21)], make).shape == (20, 1)  # more than it holds
