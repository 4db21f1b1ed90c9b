"""Models for tests: no weights, no server, deterministic, instant.

`docmind_testkit-1.dist-info` beside this file declares the text model `fake` and the image models `fake-image` and
`fake-late` as entry points, so settings can choose them in processes that have this folder on their path, and in no
other. `FakeChatModel` is passed in by the tests themselves.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np
from PIL import Image

from docmind.config import Settings
from docmind.embedding.base import PagePatches, QueryPatches, QueryTokens
from docmind.llm.base import Message, Stop, Tool, ToolCall
from docmind.model_files import Declared
from docmind.reading import open_picture
from docmind.records.conversations import ModelInfo

COLOURS = {
    "white": (255, 255, 255), "black": (0, 0, 0), "grey": (128, 128, 128), "red": (220, 30, 30),
    "green": (30, 160, 60), "blue": (40, 70, 220), "yellow": (250, 220, 40), "orange": (250, 140, 20),
    "purple": (140, 50, 170), "brown": (120, 70, 30),
}  # fmt: skip
WORD = re.compile(r"\w+")


def direction(word: str, dim: int) -> np.ndarray:
    """Return the fixed random direction of a word: `(dim,)` float32, not normalized."""
    seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(dim).astype(np.float32)


def sum_of_words(text: str, dim: int) -> np.ndarray:
    """Return the sum of the directions of the words of `text`: `(dim,)` float32 of length 1."""
    total = np.full(dim, 1e-3, np.float32)
    for word in WORD.findall(text.lower()):
        total += direction(word, dim)
    return total / np.linalg.norm(total)


TOKEN_DIM = 32


class FakeEmbedder:
    """A text model in which each word is a fixed random direction and a text is the sum of its words."""

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
        """Return `(n, dim)` float32, each row of length 1."""
        return np.stack([self.embed_query(text) for text in texts]) if texts else np.zeros((0, self._dim), np.float32)

    def embed_query(self, text: str) -> np.ndarray:
        """Return `(dim,)` float32 of length 1."""
        return sum_of_words(text, self._dim)

    @property
    def token_fingerprint(self) -> str:
        return f"{self.fingerprint}:words"

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return `(n, dim)` float32, and per text its words' directions `(words, 32)` int8, unit length times 127."""
        return self.embed_documents(texts), [self._tokens(text) for text in texts]

    def embed_query_with_tokens(self, text: str) -> tuple[np.ndarray, QueryTokens]:
        """Return `(dim,)` float32, and the question's words, each of weight 1."""
        tokens = self._tokens(text)
        return self.embed_query(text), QueryTokens(tokens, np.ones(len(tokens), np.float32))

    def token_spans(self, text: str) -> np.ndarray:
        """Return `(words, 2)` int64 character offsets."""
        return self.pieces(text)

    def _tokens(self, text: str) -> np.ndarray:
        found = [direction(word, TOKEN_DIM) for word in WORD.findall(text.lower())]
        rows = np.array(found, np.float32).reshape(-1, TOKEN_DIM)
        return np.rint(rows / np.linalg.norm(rows, axis=1, keepdims=True) * 127).astype(np.int8)

    def pieces(self, text: str) -> np.ndarray:
        """Return `(n, 2)` int64 character offsets: here, those of the words."""
        return np.array([match.span() for match in WORD.finditer(text)], np.int64).reshape(-1, 2)

    def warm(self) -> None:
        """Do nothing: there is nothing to load."""


class FakeImageModel:
    """An image model that maps a page to its colours by area and a text to its words, so "red" finds red pages."""

    name = "fake-image"
    device = "cpu"
    precision = "float32"

    def __init__(self, dim: int = 64) -> None:
        self.dim = dim
        self.fingerprint = f"fake-image:{dim}"

    def embed_images(self, images: Sequence[bytes]) -> np.ndarray:
        """Return `(n, dim)` float32, each row of length 1."""
        if not images:
            return np.zeros((0, self.dim), np.float32)
        directions = np.stack([_unit(direction(colour, self.dim)) for colour in COLOURS])
        shares = np.stack([np.bincount(_colours(image)[0], minlength=len(COLOURS)) for image in images])
        totals = np.sqrt(shares / shares.sum(axis=1, keepdims=True)).astype(np.float32) @ directions
        return totals / np.linalg.norm(totals, axis=1, keepdims=True)

    def embed_text(self, text: str) -> np.ndarray:
        """Return `(dim,)` float32 of length 1."""
        return sum_of_words(text, self.dim)

    def warm(self) -> None:
        """Do nothing: there is nothing to load."""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


class FakeLateModel:
    """A late model: a page is the main colour of each patch (8 on the longer side), a question is its words."""

    name = "fake-late"
    device = "cpu"
    precision = "float32"

    def __init__(self, dim: int = 128) -> None:
        self.dim = dim
        self.fingerprint = f"fake-late:{dim}"

    def embed_images(self, images: Sequence[bytes]) -> list[PagePatches]:
        """Return one token per patch, and one more that stands for the page."""
        directions = np.stack([_unit(direction(word, self.dim)) for word in (*COLOURS, "page")])
        found = []
        for image in images:
            colours, rows, cols = _colours(image)
            vectors = directions[[*colours, len(COLOURS)]]
            patches = np.array([*range(rows * cols), -1], np.int32)
            found.append(PagePatches(vectors, rows, cols, patches))
        return found

    def embed_query(self, text: str) -> QueryPatches:
        """Return one token per word; one empty token where there are no words."""
        words = tuple(WORD.findall(text.lower())) or ("",)
        return QueryPatches(np.stack([_unit(direction(word, self.dim)) for word in words]), words)

    def warm(self) -> None:
        """Do nothing: there is nothing to load."""

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


def _colours(image: bytes) -> tuple[np.ndarray, int, int]:
    """Return the nearest colour's number for each patch, row by row, and the grid: eight patches on the longer side."""
    picture = open_picture(image)
    side = max(picture.size)
    cols, rows = (max(1, round(8 * length / side)) for length in picture.size)
    pixels = np.asarray(picture.resize((cols, rows), Image.Resampling.NEAREST), np.int32).reshape(-1, 1, 3)
    palette = np.array(list(COLOURS.values()), np.int32)
    return ((pixels - palette) ** 2).sum(axis=2).argmin(axis=1), rows, cols


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def open_fake(_settings: Settings) -> FakeEmbedder:
    """Return the text model; an entry point."""
    return FakeEmbedder()


FAKE_IMAGE = Declared("image", 64, FakeImageModel)
FAKE_LATE = Declared("late", 128, FakeLateModel)


Part = str | ToolCall | Exception
Reply = Part | Sequence[Part]
"""A text (sent word by word), a call, an error to raise, or a sequence of these, whose strings are sent whole."""

_LOOK_S = 0.02
"""How long it sleeps between checks of `stop`."""


class FakeChatModel:
    """A model that gives queued replies in order; `delay_s` passes before each part. `loop` repeats the last one.

    Thread-safe: each call takes one reply. `received` has the messages of every call, `offered` its tools.
    """

    def __init__(
        self, *replies: Reply, delay_s: float = 0.0, loop: bool = False, info: ModelInfo | None = None
    ) -> None:
        self.info = info or ModelInfo("ollama", "http://127.0.0.1:11434", "fake", is_tool_calling=True)
        self.received: list[tuple[Message, ...]] = []
        self.offered: list[tuple[Tool, ...]] = []
        self._replies = deque(replies)
        self._delay_s = delay_s
        self._loop = loop
        self._lock = threading.Lock()

    def queue(self, *replies: Reply) -> None:
        """Add replies to the end of the queue."""
        with self._lock:
            self._replies.extend(replies)

    def stream(self, messages: Sequence[Message], stop: Stop) -> Iterator[str]:
        """Yield pieces of the next reply without its calls, like a model without tools."""
        return (part for part in self._play(messages, (), stop) if isinstance(part, str))

    def step(self, messages: Sequence[Message], tools: Sequence[Tool], stop: Stop) -> Iterator[str | ToolCall]:
        """Yield pieces and calls of the next reply."""
        return self._play(messages, tools, stop)

    def _play(self, messages: Sequence[Message], tools: Sequence[Tool], stop: Stop) -> Iterator[str | ToolCall]:
        for part in self._next(tuple(messages), tuple(tools)):
            until = time.monotonic() + self._delay_s
            while not stop() and (left := until - time.monotonic()) > 0:
                time.sleep(min(_LOOK_S, left))
            if stop():
                return
            if isinstance(part, Exception):
                raise part
            if part:
                yield part

    def _next(self, messages: tuple[Message, ...], tools: tuple[Tool, ...]) -> Sequence[Part]:
        with self._lock:
            self.received.append(messages)
            self.offered.append(tools)
            if not self._replies:
                raise LookupError("the fake model was asked more often than it has replies")
            reply = self._replies[0] if self._loop and len(self._replies) == 1 else self._replies.popleft()
        if isinstance(reply, str):
            words = reply.split(" ")
            return [f"{word} " for word in words[:-1]] + words[-1:]
        return [reply] if isinstance(reply, ToolCall | Exception) else reply
