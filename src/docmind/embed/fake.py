"""Models without weights: deterministic, instant, and good enough to find words and colours. For tests and demos."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np
from PIL import Image

from docmind.embed.contract import QueryTokens
from docmind.embed.picture import open_picture
from docmind.embed.visual import PagePatches, QueryPatches

TOKEN_DIM = 32
COLOURS = {
    "white": (255, 255, 255), "black": (0, 0, 0), "grey": (128, 128, 128), "red": (220, 30, 30),
    "green": (30, 160, 60), "blue": (40, 70, 220), "yellow": (250, 220, 40), "orange": (250, 140, 20),
    "purple": (140, 50, 170), "brown": (120, 70, 30),
}  # fmt: skip
_WORD = re.compile(r"\w+")


class FakeEmbedder:
    """Each word is a fixed random direction; a text is the sum of its words. Equal words, equal directions."""

    name = "fake"

    def __init__(self, dim: int = 384) -> None:
        self._dim = dim

    @property
    def dim(self) -> int:
        return self._dim

    @property
    def fingerprint(self) -> str:
        return f"fake:{self._dim}"

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        """`(n, dim)` float32, each row of length 1."""
        return np.stack([self.embed_query(text) for text in texts]) if texts else np.zeros((0, self._dim), np.float32)

    def embed_query(self, text: str) -> np.ndarray:
        """`(dim,)` float32 of length 1."""
        total = np.full(self._dim, 1e-3, np.float32)
        for word in _WORD.findall(text.lower()):
            total += _direction(word, self._dim)
        return total / np.linalg.norm(total)

    @property
    def token_fingerprint(self) -> str:
        return f"{self.fingerprint}:words"

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        """`(n, dim)` float32, and of each text its words' directions `(words, 32)` int8, unit length times 127."""
        return self.embed_documents(texts), [self._tokens(text) for text in texts]

    def embed_query_with_tokens(self, text: str) -> tuple[np.ndarray, QueryTokens]:
        """`(dim,)` float32, and the question's words, each of weight 1."""
        tokens = self._tokens(text)
        return self.embed_query(text), QueryTokens(tokens, np.ones(len(tokens), np.float32))

    def token_spans(self, text: str) -> np.ndarray:
        """`(words, 2)` int64 character offsets."""
        return self.pieces(text)

    def _tokens(self, text: str) -> np.ndarray:
        found = [_direction(word, TOKEN_DIM) for word in _WORD.findall(text.lower())]
        rows = np.array(found, np.float32).reshape(-1, TOKEN_DIM)
        return np.rint(rows / np.linalg.norm(rows, axis=1, keepdims=True) * 127).astype(np.int8)

    def pieces(self, text: str) -> np.ndarray:
        """`(n, 2)` int64 character offsets: here, the words."""
        return np.array([match.span() for match in _WORD.finditer(text)], np.int64).reshape(-1, 2)

    def warm(self) -> None:
        """Nothing to load."""


def _direction(word: str, dim: int) -> np.ndarray:
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(dim).astype(np.float32)


class FakeImageModel:
    """A page is the colours on it, by how much of it they cover; a text is its words. So "red" finds red pages."""

    name = "fake-image"
    device = "cpu"
    precision = "float32"

    def __init__(self, dim: int = 64) -> None:
        self.dim = dim
        self.fingerprint = f"fake-image:{dim}"

    def embed_images(self, images: Sequence[bytes]) -> np.ndarray:
        """`(n, dim)` float32, each row of length 1."""
        if not images:
            return np.zeros((0, self.dim), np.float32)
        directions = np.stack([_unit(_direction(colour, self.dim)) for colour in COLOURS])
        shares = np.stack([np.bincount(_colours(image)[0], minlength=len(COLOURS)) for image in images])
        totals = np.sqrt(shares / shares.sum(axis=1, keepdims=True)).astype(np.float32) @ directions
        return totals / np.linalg.norm(totals, axis=1, keepdims=True)

    def embed_text(self, text: str) -> np.ndarray:
        """`(dim,)` float32 of length 1."""
        return FakeEmbedder(self.dim).embed_query(text)

    def warm(self) -> None:
        """Nothing to load."""

    def close(self) -> None:
        """Nothing to give back."""


class FakeLateModel:
    """A page is the main colour of each of its patches, eight along its longer side; a question is its words."""

    name = "fake-late"
    device = "cpu"
    precision = "float32"

    def __init__(self, dim: int = 128) -> None:
        self.dim = dim
        self.fingerprint = f"fake-late:{dim}"

    def embed_images(self, images: Sequence[bytes]) -> list[PagePatches]:
        """A token a patch, and one more that stands for the page."""
        directions = np.stack([_unit(_direction(word, self.dim)) for word in (*COLOURS, "page")])
        found = []
        for image in images:
            colours, rows, cols = _colours(image)
            vectors = directions[[*colours, len(COLOURS)]]
            patches = np.array([*range(rows * cols), -1], np.int32)
            found.append(PagePatches(vectors, rows, cols, patches))
        return found

    def embed_query(self, text: str) -> QueryPatches:
        """A token a word; one empty token where there are no words."""
        words = tuple(_WORD.findall(text.lower())) or ("",)
        return QueryPatches(np.stack([_unit(_direction(word, self.dim)) for word in words]), words)

    def warm(self) -> None:
        """Nothing to load."""

    def close(self) -> None:
        """Nothing to give back."""


def _colours(image: bytes) -> tuple[np.ndarray, int, int]:
    """The nearest colour's number for each patch, row by row, and the grid: eight patches along the longer side."""
    picture = open_picture(image)
    side = max(picture.size)
    cols, rows = (max(1, round(8 * length / side)) for length in picture.size)
    pixels = np.asarray(picture.resize((cols, rows), Image.Resampling.NEAREST), np.int32).reshape(-1, 1, 3)
    palette = np.array(list(COLOURS.values()), np.int32)
    return ((pixels - palette) ** 2).sum(axis=2).argmin(axis=1), rows, cols


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)
