"""The engine that the settings name, and which engines are available.

`IndexChoice` is how the index is stored on disk while the vault is closed. Heavy packages are imported at use only: a
cold search waits for them.
"""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from docmind.config import IndexSettings
from docmind.errors import ConfigError, ExtraMissingError
from docmind.storage import Preferences
from docmind.wording import _

if TYPE_CHECKING:
    from docmind.config import Settings
    from docmind.index.engine import IndexEngine
    from docmind.records.documents import Capability


AtRest = Literal["ephemeral", "blinded"]
DEFAULT: AtRest = "ephemeral"
_NAME = "index.at_rest"


class IndexChoice:
    """The mode of the index at rest: from the setting, else the choice in the app, else `DEFAULT`. Thread-safe."""

    def __init__(self, settings: IndexSettings, preferences: Preferences) -> None:
        self._setting, self._preferences = settings.at_rest, preferences

    @property
    def is_fixed(self) -> bool:
        """Whether `DOCMIND_INDEX__AT_REST` decides."""
        return self._setting != "auto"

    def at_rest(self) -> AtRest:
        """Return the mode that applies from the next opening on."""
        kept = self._setting if self.is_fixed else self._preferences.get(_NAME)
        return "ephemeral" if kept == "ephemeral" else "blinded" if kept == "blinded" else DEFAULT

    def choose(self, at_rest: AtRest) -> None:
        """Store a choice; it applies from the next opening on. Raises `ConfigError`."""
        if self.is_fixed:
            raise ConfigError(_("DOCMIND_INDEX__AT_REST decides how the index is kept."))
        if at_rest not in get_args(AtRest):
            raise ConfigError(
                _("The index at rest is {names}, not {at_rest!r}.").format(
                    names=" or ".join(get_args(AtRest)), at_rest=at_rest
                )
            )
        self._preferences.put(_NAME, at_rest)


INSTALL = "pip install qdrant-edge-py"


def open_index(
    settings: Settings,
    directory: Path,
    dim: int,
    *,
    key: bytes | None = None,
    at_rest: AtRest = "blinded",
    is_writable: bool = True,
) -> IndexEngine:
    """Open the index that the settings name: a server where `qdrant.url` is set, else the embedded engine.

    `directory` is the vault's folder for it. With `at_rest` "ephemeral", or where `is_writable` is False, the index
    is in a private temporary folder and `directory` holds a copy that is encrypted with `key`, the vault's index key;
    an index that is not writable writes nothing there. `dim` is the length of the text vectors in use.

    Raises `ConfigError`, `ExtraMissingError`, `IndexEngineError` or `VaultBusyError`.
    """
    if settings.qdrant.url is not None:
        from docmind.index.server import open_server

        return open_server(settings, dim)
    if find_spec("qdrant_edge") is None:
        raise ExtraMissingError(_("The embedded vector index is not installed."), hint=INSTALL)
    database, min_free_mb = settings.database, settings.storage.min_free_mb
    timeout_s = max(30.0, settings.retrieve.timeout_s)
    if at_rest == "ephemeral" or not is_writable:
        from docmind.index.ephemeral import EphemeralIndex

        if key is None:
            raise ValueError("an ephemeral index needs the vault's index key")
        return EphemeralIndex(
            directory, dim, key=key, is_writable=is_writable, database=database, min_free_mb=min_free_mb,
            timeout_s=timeout_s,
        )  # fmt: skip
    from docmind.index.edge import EdgeIndex

    index = EdgeIndex(directory, dim, database=database, min_free_mb=min_free_mb, timeout_s=timeout_s)
    if key is not None:
        from docmind.index.sealed_copy import SealedCopy

        # The copy of the other mode is not used here. It may stay if it cannot be deleted: it is encrypted.
        with suppress(OSError):
            SealedCopy(directory, key).drop()
    return index


def capabilities(settings: Settings) -> tuple[Capability, ...]:
    """Return which engines are available, and how to add the others. Waits up to 2 s for a server that is set."""
    from importlib.metadata import PackageNotFoundError, version

    from docmind.records.documents import Capability

    try:
        edge = Capability(
            "qdrant-edge",
            "present",
            _("embedded vector index, version {value}").format(value=version("qdrant-edge-py")),
        )
    except PackageNotFoundError:
        edge = Capability("qdrant-edge", "missing", _("the embedded vector index"), INSTALL)
    if settings.qdrant.url is None:
        return edge, Capability("qdrant-server", "off", _("a Qdrant server or cluster"), _("set DOCMIND_QDRANT__URL"))
    from docmind.index.server import is_reachable

    if is_reachable(settings):
        return edge, Capability("qdrant-server", "present", _("the Qdrant server of DOCMIND_QDRANT__URL answers"))
    hint = "start the server, or unset DOCMIND_QDRANT__URL to use the embedded index"
    return edge, Capability(
        "qdrant-server", "missing", _("the Qdrant server of DOCMIND_QDRANT__URL does not answer"), hint
    )
