"""What the index on a server asks of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from qdrant_client import QdrantClient

from docmind.index.engine import Query
from docmind.index.server import ServerIndex
from index.points import point


class Counting(QdrantClient):
    """Notes what is asked."""

    asked: list[str]

    def __getattribute__(self, name: str) -> Any:
        if name.startswith(("get_", "query_", "upsert")):
            self.asked.append(name)
        return super().__getattribute__(name)


def test_a_search_is_one_round_trip() -> None:
    Counting.asked = []
    index = ServerIndex(Counting(":memory:"), 4)
    index.rebuild("model-1")
    query = Query("text", "text-dense", np.ones(4, np.float32), 3)
    index.search([query])
    Counting.asked.clear()
    index.search([query, query])
    assert Counting.asked == ["query_batch_points"]
    index.close()


def test_large_points_travel_a_few_at_a_time() -> None:
    Counting.asked = []
    index = ServerIndex(Counting(":memory:"), 4)
    index.rebuild("model-1")
    Counting.asked.clear()
    page = np.full((1030, 128), 128**-0.5, np.float32)
    index.upsert("pages", [point(f"p{n}", {"colpali": page}) for n in range(16)])
    assert Counting.asked.count("upsert") == 3  # 131,840 numbers a page, a million a request
    assert index.count("pages", having="colpali") == 16
    Counting.asked.clear()
    index.upsert("text", [point(f"n{n}") for n in range(257)])
    assert Counting.asked.count("upsert") == 2
    index.close()
