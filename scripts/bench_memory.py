"""Searching memories: with sqlite-vec and by brute force, the real text model. Prints milliseconds, median of 15.

.venv/bin/python scripts/bench_memory.py [HOW_MANY]
"""

from __future__ import annotations

import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Literal

import numpy as np
from langgraph.store.base import PutOp

from docmind.config import MemorySettings, Settings
from docmind.database import Database
from docmind.embed.registry import open_text_model
from docmind.memories import Memories
from docmind.memory.store import MemoryStore

QUESTION = "When does the contract with the harbour authority end?"


class Quick:
    """The real model for questions; for the many texts to be stored, random directions, which cost no time."""

    def __init__(self, model: Any) -> None:
        self._model, self._rng = model, np.random.default_rng(0)

    def __getattr__(self, name: str) -> object:
        return getattr(self._model, name)

    def embed_documents(self, texts: list[str]) -> np.ndarray:
        vectors = self._rng.standard_normal((len(texts), self._model.dim)).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def timed(work: Callable[[], object]) -> float:
    work()
    took = []
    for _ in range(15):
        at = time.perf_counter()
        work()
        took.append((time.perf_counter() - at) * 1000)
    return median(took)


def measure(many: int, vectors: Literal["auto", "off"], model: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "vault.db", bytes(32))
        store = MemoryStore(database, model, vectors=vectors == "auto")
        rest = {"same": "", "kind": "fact"}
        texts = (f"fact {n} " + "about a page " * 8 for n in range(many))
        puts = [PutOp(("vault",), uuid.uuid4().hex, {"text": text, **rest}) for text in texts]
        at = time.perf_counter()
        store.batch(puts)
        print(f"{many:,} memories, sqlite-vec {'on' if vectors == 'auto' else 'off'}")
        print(f"  put in one batch           {(time.perf_counter() - at) * 1000:8.0f} (without embedding)")
        memories = Memories(MemorySettings(vectors=vectors), database, model)
        at = time.perf_counter()
        memories.list(limit=1)
        print(f"  opening                    {(time.perf_counter() - at) * 1000:8.1f}")
        print(f"  embedding the question     {timed(lambda: model.embed_query(QUESTION)):8.1f}")
        print(f"  nearest 10 of the vault    {timed(lambda: store.search(('vault',), query=QUESTION)):8.1f}")
        print(f"  recall                     {timed(lambda: memories.recall(QUESTION, thread_id='t')):8.1f}")
        print(f"  the newest 200             {timed(memories.list):8.1f}")
        print(f"  adding one                 {timed(lambda: memories.add(str(time.time_ns()))):8.1f}")
        database.close()


def main(many: int) -> None:
    model = Quick(open_text_model(Settings()))
    measure(many, "auto", model)
    measure(many, "off", model)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
