"""What text models of BERT's kind share: converted files, sessions of onnxruntime, runs of texts, and pooling."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from docmind.errors import ConfigError, DiskFullError
from docmind.runtime import quiet
from docmind.storage import disk_error, write_private
from docmind.wording import _

if TYPE_CHECKING:
    import onnx
    import onnxruntime

Precision = Literal["int8", "float32"]

RUN_TOKENS = 256
"""Tokens of a run of several texts, padding counted; a longer text runs alone, because batching gains nothing there."""
_AHEAD = 32  # most runs whose states wait in memory: 0.4 MB each
_PROBES = (
    "The quick brown fox reads 128 pages of the contract signed on 3 May 2021 in Lisbon.",
    "Os dados pessoais serão eliminados após o término de seu tratamento, no âmbito e nos limites técnicos.",
    "Net sales decreased 10.6% to $46.3 billion; gross profit rate was 21.4% of revenue in fiscal 2023.",
)


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
            _("The text model cannot be converted in {folder}: {reason}.").format(folder=folder, reason=error.strerror),
            hint=_("Check the folder and its permissions, or choose another with DOCMIND_CACHE_DIR."),
        )
        raise disk_error(error, failure, DiskFullError(_("There is no room to convert the text model."))) from error
    return path


def save_as(
    model: onnx.ModelProto,
    target: Path,
    precision: Precision,
    embed: Callable[[onnxruntime.InferenceSession, Sequence[str]], np.ndarray],
) -> None:
    """Write the float32 graph `model` in the given precision.

    CPUs without VNNI silently saturate on full-range weights; there, seven-bit weights are more accurate. `embed`
    returns the vectors of texts, which tell the two cases apart.
    """
    import onnx

    from docmind.embedding.bert_onnx import quantize

    exact = target.with_suffix(".float32")
    onnx.save(model, str(target if precision == "float32" else exact))
    if precision == "float32":
        return
    try:
        quantize(model, target)
        vectors = [embed(open_session(path), _PROBES) for path in (exact, target)]
        if (vectors[0] * vectors[1]).sum(axis=1).min() < 0.98:
            quantize(model, target, reduce_range=True)
    finally:
        exact.unlink(missing_ok=True)


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


Run = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Ids and mask `(b, tokens)` int64 in, states `(b, tokens, dim)` float32 out."""


def runs(
    encoded: Sequence[Sequence[int]], run: Run, *, threads: int, name: str
) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
    """Yield row numbers, states and mask of batches of texts of similar length."""
    grouped = batches([len(ids) for ids in encoded], RUN_TOKENS)

    def one(rows: list[int]) -> tuple[list[int], np.ndarray, np.ndarray]:
        ids, mask = _padded([encoded[row] for row in rows])
        return rows, run(ids, mask), mask

    if threads == 1 or len(grouped) == 1:
        yield from map(one, grouped)
        return
    # One thread per run, several runs at once: a sixth faster than several threads in one run.
    with ThreadPoolExecutor(threads, thread_name_prefix=name) as pool:
        for at in range(0, len(grouped), _AHEAD):
            yield from pool.map(one, grouped[at : at + _AHEAD])


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


def _padded(rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Return token ids and mask, `(b, tokens)` int64 each."""
    ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
    mask = np.zeros_like(ids)
    for line, row in enumerate(rows):
        ids[line, : len(row)] = row
        mask[line, : len(row)] = 1
    return ids, mask
