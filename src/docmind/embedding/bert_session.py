"""What text models of BERT's kind share: settings, converted files, sessions of onnxruntime, runs of texts, pooling."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from docmind.embedding.activations import Activation, Activations
from docmind.embedding.token_vectors import Projection
from docmind.errors import ConfigError, DiskFullError
from docmind.observability import Embedded, ModelName, emit
from docmind.runtime import ms_since, quiet
from docmind.storage import disk_error, write_private
from docmind.wording import _

if TYPE_CHECKING:
    import onnx
    import onnxruntime

RUN_TOKENS = 256
"""Tokens of a run of several texts, padding counted; a longer text runs alone, because batching gains nothing there."""
_BUILD = 3  # increase it when a graph changes
_AHEAD = 32  # most runs whose states wait in memory: 0.4 MB each


def converted(path: Path, convert: Callable[[Path], None], *, verify: Callable[[], None] | None = None) -> Path:
    """Return the converted file; convert where it is missing or does not match the checksum beside it.

    `verify` is called before a conversion, and stops it by raising. Raises `ConfigError` where the cache folder cannot
    be written to, `DiskFullError`.
    """
    checksum = path.with_suffix(".sha256")
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if sha256_of_file(path) == checksum.read_text("ascii"):
            return path
    if verify is not None:
        verify()
    folder = path.parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = folder / f".{secrets.token_hex(6)}.onnx"
        try:
            convert(temporary)
            text = sha256_of_file(temporary)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        write_private(checksum, text.encode("ascii"), replace=True)
    except OSError as error:
        failure = ConfigError(
            _("A model cannot be converted in {folder}: {reason}.").format(folder=folder, reason=error.strerror),
            hint=_("Check the folder and its permissions, or choose another with DOCMIND_CACHE_DIR."),
        )
        raise disk_error(error, failure, DiskFullError(_("There is no room to convert a model."))) from error
    return path


def open_session(path: Path) -> onnxruntime.InferenceSession:
    """Open a session with one thread per run; runs may come from several threads at once."""
    onnxruntime = quiet.import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # The optimiser would fuse the layer norms again, into an operator that takes a quarter of the total time.
    return onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=["SkipLayerNormFusion"]
    )


class BertModel(ABC):
    """A model whose graph DocMind writes: a text model, or the passage reader. Loads nothing by itself."""

    def __init__(
        self,
        cache_dir: Path,
        *,
        precision: Literal["auto", "int8", "float32"],
        threads: int,
        activations: Activations,
    ) -> None:
        self._cache_dir = cache_dir
        self._activations = None if precision == "float32" else activations
        self._threads = threads or min(4, os.cpu_count() or 1)
        self._lock = threading.Lock()

    @property
    @abstractmethod
    def fingerprint(self) -> str: ...

    @abstractmethod
    def graph(self, activations: Mapping[str, Activation] | None = None) -> onnx.ModelProto:
        """Return the graph in float32, or with `activations` in int8. Raises where the weights are missing or bad."""

    @property
    def precision(self) -> Literal["float32", "int8"]:
        """The precision, as fingerprints have it: vectors of all forms of int8 are comparable, by a cosine of .99."""
        return "float32" if self._activations is None else "int8"

    @property
    def _form(self) -> str:
        """The precision, and in int8 by which data: part of the names of converted files."""
        return self.precision if self._activations is None else f"int8-{self._activations.fingerprint}"

    def _open_session(self, name: str) -> onnxruntime.InferenceSession:
        """Open the converted file, whose name begins with `name`; convert where there is none."""

        def convert(target: Path) -> None:
            import onnx

            onnx.save(self.graph(None if self._activations is None else self._activations.read()), str(target))

        return open_session(converted(self._cache_dir / f"{name}-{self._form}-{_BUILD}.onnx", convert))


class BertText(BertModel):
    """A text model: what `MiniLM` and `E5` have in common."""

    dim = 384

    def __init__(
        self,
        cache_dir: Path,
        *,
        precision: Literal["auto", "int8", "float32"],
        threads: int,
        activations: Activations,
        projection: Projection,
    ) -> None:
        super().__init__(cache_dir, precision=precision, threads=threads, activations=activations)
        self._projection = projection

    @abstractmethod
    def inputs(self, texts: Sequence[str]) -> Iterator[dict[str, np.ndarray]]:
        """Yield what the graph is given of each text alone."""

    @property
    def token_fingerprint(self) -> str:
        """The text model and the projection of its token states."""
        return f"{self.fingerprint}:{self._projection.fingerprint}"


Run = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Ids and mask `(b, tokens)` int64 in, float32 out: states `(b, tokens, dim)`, or one number a text `(b,)`."""


def runs(
    encoded: Sequence[Sequence[int]], run: Run, *, threads: int, name: ModelName
) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
    """Yield row numbers, what `run` gives, and mask of batches of texts of similar length; tell of them after the last.

    Texts share runs of at most `RUN_TOKENS`.
    """
    started = time.perf_counter()
    grouped = batches([len(ids) for ids in encoded], RUN_TOKENS)

    def one(rows: list[int]) -> tuple[list[int], np.ndarray, np.ndarray]:
        ids, mask = padded([encoded[row] for row in rows])
        return rows, run(ids, mask), mask

    if threads == 1 or len(grouped) == 1:
        yield from map(one, grouped)
    else:  # one thread per run, several runs at once: a sixth faster than several threads in one run
        with ThreadPoolExecutor(threads, thread_name_prefix=name) as pool:
            for at in range(0, len(grouped), _AHEAD):
                yield from pool.map(one, grouped[at : at + _AHEAD])
    if encoded:
        emit(Embedded(name, len(encoded), ms_since(started)))


def scored(encoded: Sequence[Sequence[int]], run: Run, *, threads: int, name: ModelName) -> np.ndarray:
    """Return `(n,)` float32: the one number that `run` gives of each text."""
    found = np.zeros(len(encoded), np.float32)
    for rows, scores, _mask in runs(encoded, run, threads=threads, name=name):
        found[rows] = scores
    return found


def pooled(states: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the mean state of each text's tokens, `(b, dim)`, of length 1."""
    weights = mask[:, :, None].astype(np.float32)
    mean = (states * weights).sum(axis=1) / weights.sum(axis=1)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def sha256_of_file(path: Path) -> str:
    """Return the sha256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def batches(lengths: Sequence[int], tokens: int, *, rows: int | None = None) -> list[list[int]]:
    """Group rows by similar length into runs of at most `tokens`, padding counted, and `rows`; longest first.

    A row of more tokens is a run of its own.
    """
    found: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lambda row: lengths[row]):
        fits = bool(found) and (len(found[-1]) + 1) * lengths[row] <= tokens and (rows is None or len(found[-1]) < rows)
        if fits:
            found[-1].append(row)
        else:
            found.append([row])
    return found[::-1]


def padded(rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return token ids and mask, `(b, tokens)` int64 each."""
    ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
    mask = np.zeros_like(ids)
    for line, row in enumerate(rows):
        ids[line, : len(row)] = row
        mask[line, : len(row)] = 1
    return ids, mask
