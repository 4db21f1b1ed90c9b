"""Every kernel gives the integers that int64 gives, and an inexact one is never chosen."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from docmind.late_interaction import maxsim
from docmind.late_interaction.known_kernels import KnownKernels
from docmind.late_interaction.layout import runs
from docmind.late_interaction.maxsim import (
    ChosenKernel,
    Kernel,
    NumpyKernel,
    Trial,
    choose,
    is_exact,
    makers,
    ordered,
)

CPU_KERNELS = ["torch", "onnxruntime", "numpy"]


def plain(query: np.ndarray, pages: list[np.ndarray]) -> list[list[int]]:
    return [(page.astype(np.int64) @ query.T.astype(np.int64)).max(axis=0).tolist() for page in pages]


def laid(pages: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    lengths = np.array([len(page) for page in pages])
    return np.concatenate(pages), np.cumsum(lengths) - lengths, lengths


@pytest.mark.slow
@pytest.mark.parametrize("name", CPU_KERNELS)
def test_identity_rows_by_hand(name: str) -> None:
    """Four directions; the first page holds two of them, the second one of them and its opposite."""
    cat, dog, owl, _elk = (np.eye(4) * 100).astype(np.int8)
    tokens, starts, lengths = laid([np.stack([cat, dog, cat]), np.stack([owl, -owl])])
    query = np.stack([cat, owl, -owl, dog + owl]) // 2
    assert makers()[name]().best(query, tokens, starts, lengths).tolist() == [
        [5000, 0, 0, 5000],
        [0, 5000, 5000, 5000],
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", CPU_KERNELS)
@pytest.mark.parametrize("dim", [1, 5, 128, 2_048])
def test_each_is_exact_in_pages_of_any_length_and_order(name: str, dim: int) -> None:
    kernel = makers()[name]()
    source = np.random.default_rng(dim)
    pages = [source.integers(-127, 128, (n, dim)).astype(np.int8) for n in (3, 1, 40, 40, 40, 700, 2, 2, 300, 300)]
    pages[3][:], pages[4][:] = 127, -127
    tokens, starts, lengths = laid(pages)
    for count in (1, 8, 31, 32, 33, 70):
        query = source.integers(-63, 64, (count, dim)).astype(np.int8)
        query[0] = 63
        wanted = plain(query, pages)
        assert kernel.best(query, tokens, starts, lengths).tolist() == wanted
        some = np.array([9, 2, 3, 7, 0])
        assert kernel.best(query, tokens, starts[some], lengths[some]).tolist() == [wanted[at] for at in some]
        assert kernel.best(query, tokens, starts[:0], lengths[:0]).shape == (0, count)


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="oneDNN's instruction sets are of x86")
@pytest.mark.parametrize("instructions", ["AVX2", "AVX512_CORE"])
def test_torch_is_exact_on_processors_without_vnni(instructions: str) -> None:
    """Sums in 16 bits are wrong there for a question of all -127..127, or of one column, so it stays within ±63."""
    code = (
        "from docmind.late_interaction.maxsim import is_exact\n"
        "from docmind.late_interaction.maxsim_torch import TorchKernel\n"
        "print(is_exact(TorchKernel(), 128), is_exact(TorchKernel(), 16))"
    )
    environment = dict(os.environ, ONEDNN_MAX_CPU_ISA=instructions)
    assert subprocess.check_output([sys.executable, "-c", code], text=True, env=environment).split() == ["True", "True"]


class Saturating(NumpyKernel):
    """A kernel that adds adjacent products in 16 bits, as processors without VNNI do."""

    def best(self, query: np.ndarray, tokens: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        pairs = (tokens[:, None].astype(np.int64) * query).reshape(len(tokens), len(query), -1, 2).sum(axis=3)
        products = np.clip(pairs, -15_000, 15_000).sum(axis=2)
        ends = starts + lengths
        return np.array([products[start:end].max(axis=0) for start, end in zip(starts, ends, strict=True)], np.int32)


def test_the_self_test_finds_errors_on_large_values_only() -> None:
    class Unsaturated(Saturating):
        def best(self, query: np.ndarray, tokens: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
            return NumpyKernel().best(query, tokens, starts, lengths)

    assert is_exact(Unsaturated(), 4)
    assert not is_exact(Saturating(), 4)


@pytest.mark.slow
def test_the_choice_of_a_kernel_reports_every_kernel() -> None:
    choice = choose(128)
    assert [trial.name for trial in choice.trials] == ["cuda", *CPU_KERNELS]
    times = {trial.name: trial.seconds for trial in choice.trials if trial.seconds is not None}
    assert {"onnxruntime", "numpy"} <= times.keys()
    assert times[choice.kernel.name] == min(times.values())
    assert all(trial.reason for trial in choice.trials if trial.seconds is None)
    assert choose(128) is choice


def scripted(*seconds: float) -> Callable[[], float]:
    """Return a clock of runs: these seconds one after another, the last of them again and again."""
    left = list(seconds)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def test_load_at_the_beginning_does_not_decide() -> None:
    busy = [0.2, 0.16, 0.21, 0.19, 0.2]  # five rounds beside another program, which the other kernel stands better
    kernels = {"torch": scripted(*busy, 0.09), "onnxruntime": scripted(0.154)}
    assert min(busy) > 0.154  # so five rounds would choose the slower one
    seconds, is_certain = ordered(kernels)
    assert is_certain
    assert min(seconds, key=seconds.__getitem__) == "torch"


def test_an_order_that_stays_open_is_told() -> None:
    swinging = ordered({"a": scripted(*[0.1, 0.2] * 30), "b": scripted(*[0.2, 0.1] * 29, 0.2, 0.11)})
    assert not swinging[1] or swinging[0]["a"] == pytest.approx(swinging[0]["b"], rel=0.05)
    assert ordered({"a": scripted(0.1), "b": scripted(0.101)})[1]  # as good as equal
    assert ordered({"alone": scripted(0.1)})[1]
    assert ordered({}) == ({}, True)


def test_a_choice_that_was_not_certain_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bool] = []

    def tested(_dim: int) -> ChosenKernel:
        made.append(len(made) > 0)
        return ChosenKernel(NumpyKernel(), (), is_certain=made[-1])

    monkeypatch.setattr(maxsim, "_test", tested)
    monkeypatch.setattr(maxsim, "_chosen", {})
    monkeypatch.setattr(maxsim, "_AGAIN_S", 0.0)
    assert not choose(128).is_certain
    assert choose(128).is_certain
    assert choose(128).is_certain
    assert made == [False, True]


def test_a_certain_choice_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept, made = KnownKernels(tmp_path / "kernels.json"), []

    def tested(dim: int) -> ChosenKernel:
        made.append(dim)
        return ChosenKernel(NumpyKernel(), (Trial("numpy", 0.25), Trial("torch", 0.5)), is_certain=dim != 8)

    def chosen(dim: int, known: KnownKernels | None = kept) -> str:
        monkeypatch.setattr(maxsim, "_chosen", {})  # as in another process
        return choose(dim, known).kernel.name

    monkeypatch.setattr(maxsim, "_test", tested)
    assert [chosen(16), chosen(16), chosen(16)] == ["numpy"] * 3
    assert made == [16]
    assert kept.get(16) == ("numpy", 0.25)
    chosen(16, None)  # the control: without the file each process tests
    assert [chosen(8), chosen(8)] == ["numpy"] * 2  # nor is an order kept that was not certain
    assert [chosen(32), chosen(32)] == ["numpy"] * 2
    assert made == [16, 16, 8, 8, 32]
    monkeypatch.setattr(maxsim, "is_exact", lambda kernel, dim: False)  # another processor, or another library
    chosen(16)
    assert made == [16, 16, 8, 8, 32, 16]


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{", "[" * 90_000, '{"machine": 1}', '{"machine": "M", "kernels": []}',
        '{"machine": "M", "kernels": {"16": 1}}',
        '{"machine": "M", "kernels": {"16": {"kernel": ["numpy"], "seconds": 0.1, "at_s": 1}}}',
        '{"machine": "M", "kernels": {"16": {"kernel": "numpy", "seconds": 0.1, "at_s": 1}}}',
        '{"machine": "M", "kernels": {"16": {"kernel": "numpy", "seconds": 0.1, "at_s": 1e99}}}',
        '{"machine": "other", "kernels": {"16": {"kernel": "numpy", "seconds": 0.1, "at_s": NOW}}}',
    ],
)  # fmt: skip
def test_a_damaged_old_or_foreign_file_says_nothing(text: str, tmp_path: Path) -> None:
    path = tmp_path / "kernels.json"
    KnownKernels(path).put(16, "torch", 0.5)
    machine = json.loads(path.read_text())["machine"]
    path.write_text(text.replace('"M"', json.dumps(machine)).replace("NOW", str(int(time.time()))))
    assert KnownKernels(path).get(16) is None
    KnownKernels(path).put(16, "torch", 0.5)
    assert KnownKernels(path).get(16) == ("torch", 0.5)


@pytest.mark.slow
def test_without_torch_others_serve() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from docmind.late_interaction.maxsim import choose\n"
        "choice = choose(16); print(choice.kernel.name, [trial.reason != '' for trial in choice.trials])"
    )
    name, said = subprocess.check_output([sys.executable, "-c", code], text=True).split(" ", 1)
    assert name in ("onnxruntime", "numpy")
    assert said.strip() == "[True, True, False, False]"


def test_runs_hold_pages_of_one_length_that_lie_together() -> None:
    lengths = np.array([4, 4, 4, 4, 4, 2, 2, 9])
    starts = np.array([0, 4, 8, 20, 24, 28, 30, 40])
    assert list(runs(starts, lengths, 8)) == [(0, 2, 0, 4), (2, 1, 8, 4), (3, 2, 20, 4), (5, 2, 28, 2), (7, 1, 40, 9)]
    assert list(runs(starts[:0], lengths[:0], 8)) == []


@pytest.mark.gpu
def test_cuda_is_exact() -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    kernel: Kernel = makers()["cuda"]()
    for dim in (8, 128, 320):
        assert is_exact(kernel, dim)
