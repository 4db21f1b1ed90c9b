"""The vector index: Qdrant Edge in a child process, or a Qdrant server.

Nothing heavy is imported here: the child process imports this package too, and a cold search waits for it.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from docmind.errors import ExtraMissingError

if TYPE_CHECKING:
    from docmind.config import Settings
    from docmind.index.engine import IndexEngine
    from docmind.schema import Capability

INSTALL = "pip install qdrant-edge-py"


def open_index(settings: Settings, directory: Path, dim: int) -> IndexEngine:
    """The index that the settings ask for: a server where `qdrant.url` is set, else the embedded engine in `directory`.

    `dim` is the length of the text vectors in use. Raises `ConfigError`, `ExtraMissingError` or `VaultBusyError`.
    """
    if settings.qdrant.url is not None:
        from docmind.index.connection import open_server

        return open_server(settings, dim)
    if find_spec("qdrant_edge") is None:
        raise ExtraMissingError("The embedded vector index is not installed.", hint=INSTALL)
    from docmind.index.edge import EdgeIndex

    return EdgeIndex(
        directory,
        dim,
        database=settings.database,
        min_free_mb=settings.storage.min_free_mb,
        timeout_s=max(30.0, settings.retrieve.timeout_s),
    )


def capabilities(settings: Settings) -> tuple[Capability, ...]:
    """The engines: which are there, and what adds the others. Asks the server, where one is set, for 2 s at most."""
    from importlib.metadata import PackageNotFoundError, version

    from docmind.schema import Capability

    try:
        edge = Capability("qdrant-edge", "present", f"embedded vector index, version {version('qdrant-edge-py')}")
    except PackageNotFoundError:
        edge = Capability("qdrant-edge", "missing", "the embedded vector index", INSTALL)
    if settings.qdrant.url is None:
        return edge, Capability("qdrant-server", "off", "a Qdrant server or cluster", "set DOCMIND_QDRANT__URL")
    from docmind.index.connection import is_reachable

    if is_reachable(settings):
        return edge, Capability("qdrant-server", "present", "the Qdrant server of DOCMIND_QDRANT__URL answers")
    hint = "start the server, or unset DOCMIND_QDRANT__URL to use the embedded index"
    return edge, Capability(
        "qdrant-server", "missing", "the Qdrant server of DOCMIND_QDRANT__URL does not answer", hint
    )
