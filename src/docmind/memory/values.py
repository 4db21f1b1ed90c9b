"""Values as they are stored: small JSON objects, the texts in them that are searched, and their vectors."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
from langgraph.store.base import get_text_at_path, tokenize_path

from docmind.database import Row
from docmind.errors import StateRefusedError
from docmind.memory.matching import decode
from docmind.memory.nearest import MOST_PARTS

MOST_BYTES = 16 * 1024
_PLAIN = "Keep one fact, in a few sentences."


def facts(row: Row) -> dict[str, Any]:
    """What LangGraph's items are made of; a row begins with item_id, namespace, key, value, and its two times."""
    namespace, key, value, created_at_ms, updated_at_ms = row[1:6]
    return {
        "namespace": decode(namespace),
        "key": key,
        "value": json.loads(value),
        "created_at": datetime.fromtimestamp(created_at_ms / 1000, UTC),
        "updated_at": datetime.fromtimestamp(updated_at_ms / 1000, UTC),
    }


def encoded(value: Mapping[str, Any]) -> str:
    """A value as it is stored. Raises `StateRefusedError`."""
    try:
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:  # a lone surrogate, in UTF-8, is a ValueError
        raise StateRefusedError(f"A memory holds plain text and numbers only: {error}.", hint=_PLAIN) from error
    if size > MOST_BYTES:
        raise StateRefusedError(f"A memory holds at most {MOST_BYTES // 1024} KB, not {size / 1024:,.0f}.", hint=_PLAIN)
    return text


def texts_at(value: dict[str, Any], paths: Iterable[str]) -> list[str]:
    """What is embedded of a value: the text, or the texts, at each path."""
    texts = [text for path in paths for text in get_text_at_path(value, path if path == "$" else tokenize_path(path))]
    if len(texts) > MOST_PARTS:
        raise StateRefusedError(f"A memory has at most {MOST_PARTS:,} texts to search by.", hint=_PLAIN)
    return texts


def packed(vectors: np.ndarray) -> bytes | None:
    """Vectors `(n, dim)` float32 one after another, little-endian; None where there is none."""
    return vectors.astype("<f4").tobytes() if len(vectors) else None
