"""The vector index: Qdrant Edge in a child process, or a Qdrant server.

Nothing heavy is imported here: the child process imports this package too, and a cold search waits for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docmind.config import Settings
    from docmind.index.engine import IndexEngine


def open_index(settings: Settings, directory: Path, dim: int) -> IndexEngine:
    """The index that the settings ask for: a server where `qdrant.url` is set, else the embedded engine in `directory`.

    `dim` is the length of the text vectors in use. Raises `ConfigError`, `ExtraMissingError` or `VaultBusyError`.
    """
    if settings.qdrant.url is not None:
        from docmind.index.server import open_server

        return open_server(settings, dim)
    from docmind.index.edge import EdgeIndex

    return EdgeIndex(
        directory,
        dim,
        database=settings.database,
        min_free_mb=settings.storage.min_free_mb,
        timeout_s=max(30.0, settings.retrieve.timeout_s),
    )
