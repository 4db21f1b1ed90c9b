"""How child processes are started while a test runs: by a fork, or each in a fresh interpreter."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from docmind.runtime import can_fork, start_children


@contextmanager
def started_by(way: Literal["fork", "spawn"]) -> Iterator[None]:
    """Start the children of the block in this way; those of "fork" need Linux."""
    from conftest import require  # children that import entry functions from a file of tests do not load pytest

    require(way == "spawn" or can_fork(), "only Linux can fork child processes safely")
    start_children("auto" if way == "fork" else "spawn")
    try:
        yield
    finally:
        start_children("auto")
