"""all-MiniLM-L6-v2 on the CPU through onnxruntime: no torch, no network, half a second for a cold start.

The weights come from an installed package (`minilm_weights`). They are converted once (`docmind.embedding.bert_onnx`)
into the user's cache folder, with the sha256 of the converted file beside it; a file that does not match is converted
again.

Token vectors for late interaction are small projections of MiniLM's token states (see `token_vectors`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from docmind.embedding.activations import Activation, Activations
from docmind.embedding.base import QueryTokens
from docmind.embedding.bert_session import BertText, pooled, runs
from docmind.embedding.minilm_weights import EPS, HEADS, LAYERS, SOURCES, Source, installed, missing, tokenizer
from docmind.embedding.token_vectors import Projection
from docmind.model_files import default_cache_dir

if TYPE_CHECKING:
    import onnx
    import onnxruntime

__all__ = ["DIM", "MAX_TOKENS", "MiniLM", "default_cache_dir"]

TOKEN_DIM = 32
TOKENS_SHA256 = "9be5bc66394d3299e42d73dbef6502c9208cb47f131423dcfc681b3de8ab7bca"
TOKENS = Path(__file__).with_name("minilm_tokens.safetensors")
ACTIVATIONS_SHA256 = "177cc6a90224ec2ab841e6812ab96e071c8e78b43e784e86f27008ea676d4bf6"
ACTIVATIONS = Path(__file__).with_name("minilm_activations.safetensors")
DIM = 384
MAX_TOKENS = 256


class MiniLM(BertText):
    """The default text model. Loaded at first use; thread-safe, as onnxruntime sessions are."""

    name = "all-MiniLM-L6-v2"
    is_measured = True

    def __init__(
        self,
        cache_dir: Path,
        *,
        precision: Literal["auto", "int8", "float32"] = "auto",
        threads: int = 0,
        source: Source | None = None,
    ) -> None:
        """Load nothing; without a `source` the weights are those that are installed."""
        super().__init__(
            cache_dir, precision=precision, threads=threads,
            activations=Activations(ACTIVATIONS, ACTIVATIONS_SHA256),
            projection=Projection(TOKENS, TOKENS_SHA256, TOKEN_DIM),
        )  # fmt: skip
        self._source = source or installed() or SOURCES[0]  # where none is installed, the first use says so
        self._measure: Any = None  # a second tokenizer, for cutting short is a setting of the whole object
        self._loaded: tuple[Any, onnxruntime.InferenceSession] | None = None

    @property
    def fingerprint(self) -> str:
        """Model, weights, precision and pooling: must be equal for two vectors to be comparable."""
        return f"minilm:{self._source.sha256[:16]}:{self.precision}:mean:{MAX_TOKENS}"

    def graph(self, activations: Mapping[str, Activation] | None = None) -> onnx.ModelProto:
        """Return the graph in float32, or with `activations` in int8. Raises as `Source.weights` does."""
        from docmind.embedding.bert_onnx import build

        return build(self._source.weights(), layers=LAYERS, heads=HEADS, eps=EPS, activations=activations)

    def inputs(self, texts: Sequence[str]) -> Iterator[dict[str, np.ndarray]]:
        """Yield what the graph is given of each text alone."""
        for encoding in _truncating().encode_batch(list(texts)):
            ids = np.array([encoding.ids], np.int64)
            yield {"input_ids": ids, "attention_mask": np.ones_like(ids)}

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        """Return `(n, 384)` float32, each row of length 1. Texts are truncated after 256 tokens."""
        vectors = np.zeros((len(texts), DIM), np.float32)
        for rows, states, mask in self.token_states(texts):
            vectors[rows] = pooled(states, mask)
        return vectors

    def embed_query(self, text: str) -> np.ndarray:
        """Return `(384,)` float32 of length 1."""
        return self.embed_documents([text])[0]

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the vectors of `embed_documents`, and per text its token vectors `(kept, 32)` int8, in one run."""
        vectors = np.zeros((len(texts), DIM), np.float32)
        tokens = [np.zeros((0, TOKEN_DIM), np.int8)] * len(texts)
        ids = self._ids(texts)
        for rows, states, mask in self._runs(ids):
            vectors[rows] = pooled(states, mask)
            for row, state in zip(rows, states, strict=True):
                tokens[row] = self._projection.vectors(ids[row], state)
        return vectors, tokens

    def embed_query_with_tokens(self, text: str) -> tuple[np.ndarray, QueryTokens]:
        """Return the vector of `embed_query`, and the question's token vectors with their weights, in one run."""
        vectors, [tokens] = self.embed_with_tokens([text])
        return vectors[0], QueryTokens(tokens, self._projection.weights(self._ids([text])[0]))

    def token_spans(self, text: str) -> np.ndarray:
        """Return the offsets `(kept, 2)` int64 in `text` of the tokens of which `embed_with_tokens` keeps a vector."""
        encoding = self._load()[0].encode(text)
        return np.array(encoding.offsets, np.int64).reshape(-1, 2)[self._projection.kept(encoding.ids)]

    def token_states(self, texts: Sequence[str]) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
        """Yield batches of texts of similar length.

        Each is row numbers, states `(b, tokens, 384)` float32 and mask `(b, tokens)` int64.

        Short texts share a run of at most 256 tokens in all; a long text runs alone, because batching gains nothing
        there.
        """
        return self._runs(self._ids(texts))

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the word pieces of each text with the special ones around them, at most 256."""
        return [encoding.ids for encoding in self._load()[0].encode_batch(list(texts))]

    def _runs(self, encoded: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
        session = self._load()[1]
        return runs(encoded, lambda ids, mask: _states(session, ids, mask), threads=self._threads, name="minilm")

    def pieces(self, text: str) -> np.ndarray:
        """Return `(n, 2)` int64 character offsets of the word pieces of `text`, without special ones, not truncated."""
        with self._lock:
            if self._measure is None:  # a search does not need it
                self._measure = tokenizer()
        offsets = self._measure.encode(text, add_special_tokens=False).offsets
        return np.array(offsets, np.int64).reshape(-1, 2)

    def tokenizer(self) -> Any:
        """Return the tokenizer as the model uses it, truncating after 256 tokens; for reading only."""
        return self._load()[0]

    def warm(self) -> None:
        """Load tokenizer and session now."""
        self._load()

    def _load(self) -> tuple[Any, onnxruntime.InferenceSession]:
        with self._lock:
            if self._loaded is None:
                if self._source.place is None:
                    raise missing()
                session = self._open_session(f"minilm-{self._source.sha256[:16]}")
                self._loaded = _truncating(), session
            return self._loaded


def _states(session: onnxruntime.InferenceSession, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.asarray(session.run(["token_states"], {"input_ids": ids, "attention_mask": mask})[0])


def _truncating() -> Any:
    made = tokenizer()
    made.enable_truncation(MAX_TOKENS)
    return made
