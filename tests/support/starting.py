"""How child processes are started while a test runs (a fork, or a fresh interpreter), and whether one has ended."""

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


def is_gone(pid: int) -> bool:
    """Return whether a process has ended; its parent may not have waited for it yet."""
    import psutil

    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
