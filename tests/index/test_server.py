"""What the index on a server asks of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from qdrant_client import QdrantClient

from docmind.index.engine import Query
from docmind.index.server import ServerIndex


class Counting(QdrantClient):
    """Notes what is asked."""

    asked: list[str]

    def __getattribute__(self, name: str) -> Any:
        if name.startswith(("get_", "query_")):
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
