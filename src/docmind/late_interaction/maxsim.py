"""MaxSim in integers: for each page and each token of a question, the largest product with any token of the page.

Several kernels compute it; they are exact, so they give the same numbers. A test at first use selects one: kernels with
any error are excluded, and the fastest of the others is used. `torch._int_mm` in particular is silently wrong on some
processors and some shapes. Other load on the machine changes the order of single measurements, so they are repeated
until the order is certain; where it is not within the time, the kernels are tested again after a minute. A certain
choice is kept for a month (`known_kernels`), and only its kernel is tested for exactness by the next process.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import comb
from statistics import median
from typing import Protocol

import numpy as np

from docmind.late_interaction.known_kernels import KnownKernels
from docmind.late_interaction.layout import runs
from docmind.late_interaction.quantize import PAGE_LIMIT, QUERY_LIMIT

_BLOCK = 16_384  # tokens: 8 MB as float32
_PAGES, _LENGTH, _TOKENS = 128, 1_030, 20  # of the speed test: a few milliseconds per round
_LEAST_ROUNDS, _MOST_ROUNDS, _LONGEST_S = 5, 60, 2.0
_CHANCE, _EQUAL, _FAR = 0.01, 1.05, 3.0  # of a wrong order; times as good as equal; too slow to be measured further
_AGAIN_S = 60.0


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
class ChosenKernel:
    """The selected kernel, the test results of all kernels, and whether the order of their speeds is certain."""

    kernel: Kernel
    trials: tuple[Trial, ...]
    is_certain: bool = True


_chosen: dict[int, tuple[ChosenKernel, float]] = {}  # with the time of the test
_choosing = threading.Lock()


def choose(dim: int, kept: KnownKernels | None = None) -> ChosenKernel:
    """Return the fastest exact kernel for vectors of this dimension.

    It is tested once per process, which imports torch, and again a minute after a test whose order was not certain.
    Where a kernel is known in `kept`, it alone is tested; a certain choice is put there.
    """
    with _choosing:
        known = _chosen.get(dim)
        if known is None or (not known[0].is_certain and time.monotonic() - known[1] > _AGAIN_S):
            known = _chosen[dim] = ((kept and _known(dim, kept)) or _tested(dim, kept), time.monotonic())
        return known[0]


def _known(dim: int, kept: KnownKernels) -> ChosenKernel | None:
    """Return the kernel that was the fastest before, if it runs here and is exact."""
    name, seconds = kept.get(dim) or ("", 0.0)
    with suppress(KeyError, ImportError, RuntimeError, OSError):
        kernel = makers()[name]()
        if is_exact(kernel, dim):
            return ChosenKernel(kernel, (Trial(name, seconds),))
    return None


def _tested(dim: int, kept: KnownKernels | None) -> ChosenKernel:
    choice = _test(dim)
    seconds = {trial.name: trial.seconds for trial in choice.trials}.get(choice.kernel.name)
    if kept is not None and choice.is_certain and seconds is not None:
        kept.put(dim, choice.kernel.name, seconds)
    return choice


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


def _test(dim: int) -> ChosenKernel:
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
    seconds, is_certain = ordered(
        {name: lambda kernel=kernel: _timed(kernel, query, tokens, starts, lengths) for name, kernel in exact.items()}
    )
    trials = tuple(Trial(name, seconds.get(name), reasons.get(name, "")) for name in makers())
    fastest = min(seconds, key=seconds.__getitem__, default=None)
    return ChosenKernel(exact[fastest] if fastest else NumpyKernel(), trials, is_certain)


def ordered(timed: Mapping[str, Callable[[], float]]) -> tuple[dict[str, float], bool]:
    """Return the median seconds of each kernel, and whether it is certain which one is the fastest.

    `timed` runs a kernel once and returns its seconds. The kernels alternate, so that other load affects all of them,
    and are compared round by round: the order is certain where the fastest won so many rounds against each other
    kernel that chance would do it in 1% (sign test), or where both are equally fast within 5%.
    """
    times: dict[str, list[float]] = {name: [] for name in timed}
    running, until = dict(timed), time.monotonic() + _LONGEST_S
    is_certain = not timed
    for number in range(_MOST_ROUNDS if timed else 0):
        for name, run in running.items():
            times[name].append(run())
        if number + 1 < _LEAST_ROUNDS:
            continue
        middle = {name: median(taken) for name, taken in times.items()}
        best = min(middle, key=middle.__getitem__)
        running = {name: run for name, run in running.items() if name == best or min(times[name]) < _FAR * middle[best]}
        is_certain = all(_is_slower(times[name], times[best]) for name in running if name != best)
        if is_certain or time.monotonic() > until:
            break
    return {name: median(taken) for name, taken in times.items() if taken}, is_certain


def _is_slower(taken: list[float], best: list[float]) -> bool:
    """Return whether a kernel is certainly slower than the best, or as fast as makes no difference."""
    count = len(taken)
    wins = sum(mine < other for mine, other in zip(best, taken, strict=True))
    if sum(comb(count, one) for one in range(wins, count + 1)) / 2**count < _CHANCE:
        return True
    return count > 2 * _LEAST_ROUNDS and median(taken) < _EQUAL * median(best)


def _timed(kernel: Kernel, *arguments: np.ndarray) -> float:
    started = time.perf_counter()
    kernel.best(*arguments)
    return time.perf_counter() - started
