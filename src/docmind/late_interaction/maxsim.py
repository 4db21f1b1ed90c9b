"""MaxSim in integers: for each page and each token of a question, the largest product with any token of the page.

Several kernels compute it; they are exact, so they give the same numbers. A test at first use selects one: kernels with
any error are excluded, and the fastest of the others is used. `torch._int_mm` in particular is silently wrong on some
processors and some shapes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from docmind.late_interaction.layout import runs
from docmind.late_interaction.quantize import PAGE_LIMIT, QUERY_LIMIT

_BLOCK = 16_384  # tokens: 8 MB as float32
_PAGES, _LENGTH, _TOKENS, _ROUNDS = 128, 1_030, 20, 5  # of the speed test: a few milliseconds per round


class Kernel(Protocol):
    """An implementation of MaxSim. Thread-safe."""

    @property
    def name(self) -> str: ...

    def best(self, query: np.ndarray, tokens: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Return `(pages, n)` int32 for a question `(n, dim)` int8 within ±63 and pages in `tokens` `(all, dim)` int8.

        Page `i` is `tokens[starts[i] : starts[i] + lengths[i]]`; pages have at least one token.
        """
        ...


class NumpyKernel:
    """The kernel on numpy: blocks as float32, in which every possible integer is exact. Always available."""

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
    """The test result of one kernel: the seconds of the speed test, or None and the reason why it is excluded."""

    name: str
    seconds: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """The selected kernel, and the test results of all kernels."""

    kernel: Kernel
    trials: tuple[Trial, ...]


_chosen: dict[int, Choice] = {}
_choosing = threading.Lock()


def choose(dim: int) -> Choice:
    """Return the fastest exact kernel for vectors of this dimension: tested once per process, which imports torch."""
    with _choosing:
        if dim not in _chosen:
            _chosen[dim] = _test(dim)
        return _chosen[dim]


def makers() -> dict[str, Callable[[], Kernel]]:
    """Return every kernel by name; one that cannot run here raises `ImportError`, `RuntimeError` or `OSError`."""
    from docmind.late_interaction.maxsim_onnx import OrtKernel
    from docmind.late_interaction.maxsim_torch import CudaKernel, TorchKernel

    return {"cuda": CudaKernel, "torch": TorchKernel, "onnxruntime": OrtKernel, "numpy": NumpyKernel}


def is_exact(kernel: Kernel, dim: int) -> bool:
    """Return whether a kernel is exact, tested on the largest and on random values, in several shapes."""
    source = np.random.default_rng(7)
    for count, lengths in ((1, [1]), (20, [1_030] * 5), (33, [2, 9, 9, 9, 1]), (8, [700, 1_031, 64, 64])):
        sizes = np.array(lengths)
        starts = np.cumsum(sizes) - sizes
        tokens = source.integers(-PAGE_LIMIT, PAGE_LIMIT + 1, (int(sizes.sum()), dim)).astype(np.int8)
        query = source.integers(-QUERY_LIMIT, QUERY_LIMIT + 1, (count, dim)).astype(np.int8)
        query[0] = QUERY_LIMIT
        tokens[starts[::2]] = PAGE_LIMIT  # the largest sums, which overflow first
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
    for _ in range(_ROUNDS):  # alternating, so that other load on the machine affects all kernels
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
