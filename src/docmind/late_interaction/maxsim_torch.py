"""MaxSim by `torch._int_mm`: on the processor in blocks that fit in its cache, and on a CUDA device."""

from __future__ import annotations

import importlib
import itertools
import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from docmind.late_interaction.layout import runs

COLUMNS = 32  # per product: fewer are not exact on every processor, more exceed the cache
_BLOCK = 4_200  # tokens: half a megabyte, and as much again for their products
_CUDA_BLOCK = 262_144
_CUDA_ROWS = 32  # a product on CUDA needs more than 16 rows


class TorchKernel:
    """The kernel on torch: products of a few pages at a time, and their maxima while they are in the cache.

    Its own threads take block after block. Torch's threads would wait for each other at every block: on a busy machine
    that took ten times as long.
    """

    name = "torch"

    def __init__(self) -> None:
        """Start the threads. Raises `ImportError` where torch is not installed."""
        self._torch: Any = _torch()
        self._cores = os.cpu_count() or 1
        # In torch this setting belongs to the thread that makes it.
        self._pool = ThreadPoolExecutor(self._cores, "maxsim", lambda: self._torch.set_num_threads(1))

    def best(self, query: np.ndarray, tokens: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        torch = self._torch
        width = -(-len(query) // COLUMNS) * COLUMNS
        columns = [torch.from_numpy(_padded(query[at : at + COLUMNS])) for at in range(0, width, COLUMNS)]
        best = torch.empty((len(starts), width), dtype=torch.int32)
        whole = torch.from_numpy(tokens)
        blocks = list(runs(starts, lengths, _BLOCK))
        taken = itertools.count()

        def work() -> None:
            scratch = torch.empty((max(_BLOCK, int(lengths.max())), COLUMNS), dtype=torch.int32)
            while (number := next(taken)) < len(blocks):
                page, count, start, length = blocks[number]
                size = count * length
                for at, part in enumerate(columns):
                    products = torch._int_mm(whole[start : start + size], part, out=scratch[:size])
                    into = best[page : page + count, at * COLUMNS : (at + 1) * COLUMNS]
                    torch.amax(products.view(count, length, COLUMNS), dim=1, out=into)

        waits = [self._pool.submit(work) for _ in range(min(self._cores, len(blocks)))]
        for wait in waits:
            wait.result()
        return best.numpy()[:, : len(query)]


class CudaKernel:
    """The kernel on a CUDA device: the same products, with pages copied to the device block by block."""

    name = "cuda"

    def __init__(self) -> None:
        """Raise `ImportError` where torch is not installed, `RuntimeError` where there is no device."""
        self._torch: Any = _torch()
        if not self._torch.cuda.is_available():
            raise RuntimeError("there is no CUDA device")

    def best(self, query: np.ndarray, tokens: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        torch = self._torch
        count = -(-len(query) // 8) * 8
        columns = torch.from_numpy(_padded(query, count).T.copy()).cuda().t()  # the layout that every device accepts
        best = torch.empty((len(starts), count), dtype=torch.int32, device="cuda")
        whole = torch.from_numpy(tokens)
        for page, pages, start, length in runs(starts, lengths, _CUDA_BLOCK):
            size = pages * length
            block = whole[start : start + size].cuda()
            if size < _CUDA_ROWS:
                block = torch.nn.functional.pad(block, (0, 0, 0, _CUDA_ROWS - size))
            products = torch._int_mm(block, columns)[:size]
            torch.amax(products.view(pages, length, count), dim=1, out=best[page : page + pages])
        return best[:, : len(query)].cpu().numpy()


def _padded(query: np.ndarray, count: int = COLUMNS) -> np.ndarray:
    """Return `(dim, count)` int8, one column per token, padded with zeros."""
    columns = np.zeros((query.shape[1], count), np.int8)
    columns[:, : len(query)] = query.T
    return columns


def _torch() -> Any:
    # Pages are in a read-only map, and nothing here writes to them.
    warnings.filterwarnings("ignore", message="The given NumPy array is not writable", category=UserWarning)
    return importlib.import_module("torch")
