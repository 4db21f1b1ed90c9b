"""Facts of a GGUF file, read from its header with every size checked. Used in the child process only.

    magic "GGUF" | version u32 | tensors u64 | entries u64 | entries (key, type, value) | tensors (name, shape, offset)

All numbers are little-endian. Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import os
import stat
import struct
from dataclasses import dataclass
from io import BufferedReader
from typing import Any

from docmind.errors import ConfigError

_MAGIC, _VERSIONS = b"GGUF", (2, 3)
_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_MOST_ENTRIES, _MOST_TENSORS, _MOST_DIMENSIONS = 65_536, 262_144, 4
_LONGEST_KEY, _LONGEST_KEPT = 65_535, 1 << 20
_MOST_KEPT = 4_096  # numbers of an array: one for each layer
_NO_CHAT = ("bert", "clip", "t5encoder", "wavtokenizer")  # parts of names of architectures that write no answers
_HEADER_BYTES = 256 << 20  # of all entries; vocabularies of 256,000 words take some 10 MB
_CACHE_BYTES = 2  # of a number in the cache of keys and values: float16


@dataclass(frozen=True, slots=True)
class GgufFacts:
    """What the header of a model says. Sizes are bytes; `context` is the longest text in tokens, 0 where unknown."""

    architecture: str
    name: str
    size: int
    context: int
    cache_per_token: int
    """Bytes of keys and values that one token of the context takes."""
    has_tools: bool
    """Whether the model's template of a conversation knows tools."""


class _Reader:
    """A bounded reader of little-endian values. Raises `ValueError` past the end."""

    def __init__(self, file: BufferedReader, size: int) -> None:
        self._file, self._left = file, min(size, _HEADER_BYTES)

    def take(self, count: int) -> bytes:
        self._left -= count
        data = self._file.read(count) if self._left >= 0 else b""
        if len(data) != count:
            raise ValueError("it ends too early")
        return data

    def skip(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise ValueError("it ends too early")
        self._file.seek(count, os.SEEK_CUR)

    def number(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))[0]

    def text(self, longest: int = _LONGEST_KEPT) -> str:
        length = self.number("Q")
        if length > longest:
            self.skip(length)
            return ""
        return self.take(length).decode("utf-8", "replace")

    def value(self, kind: int) -> Any:
        """Return a number, a text, or a short list of numbers; None for what is skipped."""
        if kind == _STRING:
            return self.text()
        if kind == _ARRAY:
            return self._array(self.number("I"), self.number("Q"))
        return self.number(_number_code(kind))

    def _array(self, kind: int, count: int) -> list[Any] | None:
        if kind == _STRING:
            if 8 * count > self._left:
                raise ValueError("it ends too early")
            for _ in range(count):
                self.skip(self.number("Q"))
            return None
        code = _number_code(kind)
        if count > _MOST_KEPT:
            self.skip(struct.calcsize(f"<{code}") * count)
            return None
        return [self.number(code) for _ in range(count)]


def _number_code(kind: int) -> str:
    if kind not in _NUMBERS:
        raise ValueError(f"a value has the unknown type {kind}")
    return _NUMBERS[kind]


def read_gguf(path: str) -> GgufFacts:
    """Return the facts of a model's file.

    Raises `ConfigError`, in one sentence, for what is no file, no whole GGUF file, or no language model.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        raise _unusable(f"it cannot be opened: {getattr(error, 'strerror', None) or 'no such name'}") from error
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise _unusable("it is no file")
    with os.fdopen(descriptor, "rb") as file:
        try:
            entries = _entries(_Reader(file, found.st_size), found.st_size)
        except (ValueError, struct.error, OverflowError) as error:
            raise _unusable(str(error)) from error
        except OSError as error:
            raise _unusable(f"it cannot be read: {error.strerror}") from error
    return _facts(entries, found.st_size)


def _entries(reader: _Reader, size: int) -> dict[str, Any]:
    if size < 24 or reader.take(4) != _MAGIC:
        raise ValueError("it is no GGUF file")
    version = reader.number("I")
    if version not in _VERSIONS:
        raise ValueError(f"it is in version {version} of GGUF, which is not known")
    tensors, count = reader.number("Q"), reader.number("Q")
    if tensors > _MOST_TENSORS or count > _MOST_ENTRIES:
        raise ValueError("its header names more parts than any model has")
    entries = {}
    for _ in range(count):
        key = reader.text(_LONGEST_KEY)
        entries[key] = reader.value(reader.number("I"))
    for _ in range(tensors):
        reader.text(_LONGEST_KEY)
        dimensions = reader.number("I")
        if dimensions > _MOST_DIMENSIONS:
            raise ValueError("one of its tensors has too many dimensions")
        reader.skip(8 * dimensions + 4)
        if reader.number("Q") >= size:
            raise ValueError("it is not whole: it is shorter than its header says")
    if not tensors:
        raise ValueError("it holds no weights")
    return entries


def _facts(entries: dict[str, Any], size: int) -> GgufFacts:
    architecture = entries.get("general.architecture")
    if not isinstance(architecture, str) or not architecture:
        raise _unusable("it does not say which architecture it is of")
    if any(part in architecture for part in _NO_CHAT) or entries.get("general.type", "model") != "model":
        raise _unusable(f"it is no language model ({architecture})")
    if _whole(entries.get("split.count"), 65_535) > 1:
        raise ConfigError(
            "it is one of several parts of a model", hint="Join the parts with `llama-gguf-split --merge`."
        )
    name = entries.get("general.name")
    template = entries.get("tokenizer.chat_template")
    return GgufFacts(
        architecture=architecture,
        name=name if isinstance(name, str) else "",
        size=size,
        context=_whole(entries.get(f"{architecture}.context_length"), 1 << 30),
        cache_per_token=_cache_per_token(entries, architecture),
        has_tools=isinstance(template, str) and "tools" in template,
    )


def _cache_per_token(entries: dict[str, Any], architecture: str) -> int:
    """Return the bytes that a token takes in the cache: keys and values of each layer, in float16."""

    def told(key: str) -> Any:
        return entries.get(f"{architecture}.{key}")

    layers, heads = _whole(told("block_count"), 4_096), _mean(told("attention.head_count"))
    groups = _mean(told("attention.head_count_kv")) or heads
    width = _whole(told("embedding_length"), 1 << 20) / heads if heads else 0.0
    keys = _whole(told("attention.key_length"), 1 << 16) or width
    values = _whole(told("attention.value_length"), 1 << 16) or width
    return int(layers * groups * (keys + values) * _CACHE_BYTES)


def _whole(value: Any, most: int) -> int:
    return value if isinstance(value, int) and 0 <= value <= most else 0


def _mean(value: Any) -> float:
    """Return a number of heads: of all layers alike, or the mean of a list with one for each."""
    numbers = [_whole(one, 65_536) for one in (value if isinstance(value, list) else [value])]
    return sum(numbers) / len(numbers) if numbers else 0.0


def _unusable(why: str) -> ConfigError:
    return ConfigError(why, hint="Fetch the file again, or choose another GGUF file of a language model.")
