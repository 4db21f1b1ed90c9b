"""MaxSim in whole numbers: of each page and each token of a question, the largest product with any of the page's.

Several kernels compute it; being exact, they give the same numbers. Which one runs is decided by a test at first use:
one that errs by one is out, and of the others the fastest runs. `torch._int_mm` in particular is silently wrong on some
processors and some shapes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from docmind.late.int8 import PAGE_LIMIT, QUERY_LIMIT

_BLOCK = 16_384  # tokens: 8 MB as float32
_PAGES, _LENGTH, _TOKENS, _ROUNDS = 128, 1_030, 20, 5  # of the speed test: some milliseconds a round


class Kernel(Protocol):
    """One way to compute it. Safe from any thread."""

    @property
    def name(self) -> str: ...

    def best(self, query: np.ndarray, tokens: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """`(pages, n)` int32 for a question `(n, dim)` int8 within ±63 and pages in `tokens` `(all, dim)` int8.

        Page `i` is `tokens[starts[i] : starts[i] + lengths[i]]`; pages have one token at least.
        """
        ...


def runs(starts: np.ndarray, lengths: np.ndarray, most: int) -> Iterator[tuple[int, int, int, int]]:
    """Pages that lie one behind another and are of one length, as (first page, pages, first token, length).

    A run has at most `most` tokens, or is one page.
    """
    if not len(starts):
        return
    breaks = (starts[1:] != starts[:-1] + lengths[:-1]) | (lengths[1:] != lengths[:-1])
    edges = [0, *(np.flatnonzero(breaks) + 1).tolist(), len(starts)]
    for first, end in pairwise(edges):
        start, length = int(starts[first]), int(lengths[first])
        step = max(1, most // length)
        for at in range(first, end, step):
            yield at, min(step, end - at), start + (at - first) * length, length


class NumpyKernel:
    """Blocks turned into float32, in which every whole number that can occur is exact. It is always there."""

    name = "numpy"

    def best(self, query: np.ndarray, tokens: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        columns = np.ascontiguousarray(query.T, dtype=np.float32)
        found = np.empty((len(starts), len(query)), np.int32)
        for page, count, start, length in runs(starts, lengths, _BLOCK):
            products = tokens[start : start + count * length].astype(np.float32) @ columns
            found[page : page + count] = products.reshape(count, length, -1).max(axis=1)
        return found


@dataclass(frozen=True, slots=True)
class Trial:
    """What the test found of one kernel: the seconds of the speed test, None where it is out, and then why."""

    name: str
    seconds: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """The kernel that runs, and what was found of every one."""

    kernel: Kernel
    trials: tuple[Trial, ...]


_chosen: dict[int, Choice] = {}
_choosing = threading.Lock()


def choose(dim: int) -> Choice:
    """The fastest exact kernel for vectors of this dimension: tested once a process, which imports torch."""
    with _choosing:
        if dim not in _chosen:
            _chosen[dim] = _test(dim)
        return _chosen[dim]


def makers() -> dict[str, Callable[[], Kernel]]:
    """Every kernel by its name; one that cannot run here raises `ImportError`, `RuntimeError` or `OSError`."""
    from docmind.late.ortkernel import OrtKernel
    from docmind.late.torchkernels import CudaKernel, TorchKernel

    return {"cuda": CudaKernel, "torch": TorchKernel, "onnxruntime": OrtKernel, "numpy": NumpyKernel}


def is_exact(kernel: Kernel, dim: int) -> bool:
    """Whether it gives the whole numbers that int64 gives, on the largest and on random values, in several shapes."""
    source = np.random.default_rng(7)
    for count, lengths in ((1, [1]), (20, [1_030] * 5), (33, [2, 9, 9, 9, 1]), (8, [700, 1_031, 64, 64])):
        sizes = np.array(lengths)
        starts = np.cumsum(sizes) - sizes
        tokens = source.integers(-PAGE_LIMIT, PAGE_LIMIT + 1, (int(sizes.sum()), dim)).astype(np.int8)
        query = source.integers(-QUERY_LIMIT, QUERY_LIMIT + 1, (count, dim)).astype(np.int8)
        query[0] = QUERY_LIMIT
        tokens[starts[::2]] = PAGE_LIMIT  # sums that overflow where anything does
        tokens[starts[1::2]] = -PAGE_LIMIT
        if not np.array_equal(kernel.best(query, tokens, starts, sizes), _plain(query, tokens, starts)):
            return False
    return True


def _plain(query: np.ndarray, tokens: np.ndarray, starts: np.ndarray) -> np.ndarray:
    # float64 holds every sum exactly, and is a hundred times as fast as numpy's int64
    return np.maximum.reduceat(tokens.astype(np.float64) @ query.T.astype(np.float64), starts, axis=0).astype(np.int32)


def _test(dim: int) -> Choice:
    exact: dict[str, Kernel] = {}
    reasons: dict[str, str] = {}
    for name, make in makers().items():
        try:
            kernel = make()
            if is_exact(kernel, dim):
                exact[name] = kernel
            else:
                reasons[name] = "it is not exact on this processor"
        except (ImportError, RuntimeError, OSError) as error:
            reasons[name] = str(error).splitlines()[0] if str(error) else type(error).__name__
    source = np.random.default_rng(8)
    some = source.integers(-PAGE_LIMIT, PAGE_LIMIT + 1, (_LENGTH * 16, dim)).astype(np.int8)
    tokens = np.tile(some, (_PAGES // 16, 1))
    query = source.integers(-QUERY_LIMIT, QUERY_LIMIT + 1, (_TOKENS, dim)).astype(np.int8)
    starts, lengths = np.arange(_PAGES) * _LENGTH, np.full(_PAGES, _LENGTH)
    times: dict[str, list[float]] = {name: [] for name in exact}
    for _ in range(_ROUNDS):  # by turns: what else the machine does then meets all of them
        for name, kernel in exact.items():
            times[name].append(_timed(kernel, query, tokens, starts, lengths))
    seconds = {name: min(taken) for name, taken in times.items()}
    trials = tuple(Trial(name, seconds.get(name), reasons.get(name, "")) for name in makers())
    fastest = min(seconds, key=seconds.__getitem__, default=None)
    return Choice(exact[fastest] if fastest else NumpyKernel(), trials)


def _timed(kernel: Kernel, *arguments: np.ndarray) -> float:
    started = time.perf_counter()
    kernel.best(*arguments)
    return time.perf_counter() - started
