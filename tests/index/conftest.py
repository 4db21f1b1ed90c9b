"""All engines behind one fixture, each with a first generation to write to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from docmind.index.edge import EdgeIndex
from docmind.index.engine import IndexEngine
from docmind.index.ephemeral import EphemeralIndex

DIM = 4

Open = Callable[..., IndexEngine]


@pytest.fixture(params=["edge", "ephemeral", "server"])
def open_engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Return a function that opens an index; a second call opens the same one again, after closing the first."""
    opened: list[IndexEngine] = []
    if request.param == "edge":

        def open_it(dim: int = DIM) -> IndexEngine:
            for index in opened:
                index.close()
            opened.append(EdgeIndex(tmp_path / "index", dim, min_free_mb=1))
            return opened[-1]
    elif request.param == "ephemeral":

        def open_it(dim: int = DIM) -> IndexEngine:
            for index in opened:
                index.close()
            opened.append(EphemeralIndex(tmp_path / "index", dim, key=bytes(32), min_free_mb=1))
            return opened[-1]
    else:
        from qdrant_client import QdrantClient

        from docmind.index.server import ServerIndex

        client = QdrantClient(":memory:")

        def open_it(dim: int = DIM) -> IndexEngine:
            opened.append(ServerIndex(client, dim))
            return opened[-1]

    yield open_it
    for index in opened:
        index.close()


@pytest.fixture
def index(open_engine: Open) -> IndexEngine:
    engine = open_engine()
    engine.rebuild("model-1")
    return engine
