"""The folder in which models lie, one directory each, and what can be said of them without loading one."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from docmind.config import Settings
from docmind.errors import ConfigError
from docmind.seeing import PullProgress
from docmind.weights.checkpoint import UnusableError, read_checkpoint
from docmind.weights.description import Description
from docmind.weights.fingerprint import Fingerprints
from docmind.weights.known import FAKE, FAKES, KNOWN, Known

MANIFEST = "docmind.json"
"""Beside a model that was fetched: repository, commit and the sha256 of each file."""


_Signature = tuple[tuple[str, int, int, int], ...]


class Weights:
    """Models by name in one folder, and anywhere else by the path of their directory. Safe from any thread.

    Describing reads small files and, once for each file that changed, sums the weights: seconds for gigabytes. A
    directory in which no file changed is described from memory.
    """

    def __init__(self, models_dir: Path) -> None:
        self.models_dir = models_dir
        self._told: dict[str, tuple[_Signature, Description]] = {}
        self._fingerprints = Fingerprints(models_dir / "fingerprints.json")

    def all(self) -> tuple[Description, ...]:
        """Every known model, present or not, in the order of `KNOWN`."""
        return tuple(self._described(name, known) for name, known in KNOWN.items())

    def describe(self, name: str) -> Description:
        """One model by its name, or by the path of a directory that holds one.

        Raises `ConfigError` for a name that is neither, and for a directory whose files are no model that can be run.
        """
        if name in KNOWN:
            return self._described(name, KNOWN[name])
        if name in FAKES:
            kind, dim = FAKES[name]
            return Description(name, kind, "", None, "present", dim, FAKE, fingerprint=f"{name}:{dim}")
        path = os.path.expanduser(name)  # of pathlib's own, what cannot be a path raises
        if not os.path.isdir(path):
            raise ConfigError(f"There is no model {_shown(name)}, and no such directory.", hint=_there_are())
        directory = Path(path).resolve()
        return self._remembered(str(directory), directory, lambda: self._in_directory(directory))

    def pull(
        self,
        name: str,
        *,
        hub_url: str,
        progress: Callable[[PullProgress], None],
        check: Callable[[], None],
    ) -> Description:
        """Fetch a known model; one that is here and whole is left as it is, without asking anybody.

        `check` is called often, while a server is silent from a thread of its own, and stops the download by raising a
        `DocMindError`; what has arrived is kept for the next time. Raises `ConfigError` for an unknown name or a hub
        that may not be asked, `DownloadError`, `DiskFullError`.
        """
        from docmind.weights.hub import Hub
        from docmind.weights.pull import Pull

        known = _known(name)
        before = self._described(name, known)
        if before.state == "present":
            progress(PullProgress(name, bytes_done=before.bytes, bytes_total=before.bytes, is_over=True))
            return before
        sums = Pull(name, known, self.models_dir, Hub(hub_url, check), progress, check).run()
        self._fingerprints.note(self.models_dir / name, sums)
        return self._described(name, known)

    def remove(self, name: str) -> None:
        """Delete the files of a known model, and what was fetched of it. Raises `ConfigError`, `DownloadError`."""
        from docmind.weights.pull import remove

        _known(name)
        remove(self.models_dir / name)
        self._fingerprints.forget(self.models_dir / name)

    def _described(self, name: str, known: Known) -> Description:
        directory = self.models_dir / name
        told = Description(
            name=name,
            kind=known.kind,
            repository=known.repository,
            directory=None,
            state="missing",
            dim=known.dim,
            architecture=known.architecture,
            bytes=known.megabytes * 1_000_000,
            licence=known.licence,
            about=known.about,
            reason="It has not been fetched.",
            hint=_fetching(name),
        )
        if not os.path.isdir(directory):
            return told
        return self._remembered(name, directory, lambda: self._looked_at(told, directory))

    def _remembered(self, name: str, directory: Path, look: Callable[[], Description]) -> Description:
        signature = _signature(directory)
        kept = self._told.get(name)
        if kept is None or kept[0] != signature:
            self._told[name] = kept = signature, look()
        return kept[1]

    def _looked_at(self, told: Description, directory: Path) -> Description:
        """The same with what its files say."""
        try:
            read = read_checkpoint(directory)
            if read.kind != told.kind:
                raise UnusableError(f"These are the files of another model ({read.architecture}).")
            digest = self._fingerprints.of(directory, read.files)
            manifest = _manifest(directory)
            if changed := self._fingerprints.differing(directory, manifest.get("sha256")):
                raise UnusableError(f"{changed} is not what was fetched.")
        except (UnusableError, OSError) as error:
            return replace(told, directory=directory, state="broken", reason=_reason(error))
        return replace(
            told,
            directory=directory,
            state="present",
            dim=read.dim,
            architecture=read.architecture,
            revision=_revision(manifest),
            fingerprint=f"{told.name}:{digest}",
            bytes=read.bytes,
            reason="",
            hint="",
        )

    def _in_directory(self, directory: Path) -> Description:
        """Its fingerprint starts with the architecture: where the directory lies is nobody's business."""
        hint = "Copy the files of the model again, or choose another with `docmind models enable`."
        try:
            read = read_checkpoint(directory)
            digest = self._fingerprints.of(directory, read.files)
        except (UnusableError, OSError) as error:
            kind = getattr(error, "kind", None)
            if kind is None:
                raise ConfigError(
                    f"{_shown(str(directory))} holds no model that can be run. {_reason(error)}", hint=hint
                ) from error
            return Description(
                str(directory), kind, "", directory, "broken", 0, "", reason=_reason(error), hint=hint
            )  # fmt: skip
        return Description(
            str(directory),
            read.kind,
            "",
            directory,
            "present",
            read.dim,
            read.architecture,
            revision=_revision(_manifest(directory)),
            fingerprint=f"{read.architecture}:{digest}",
            bytes=read.bytes,
        )


def models_dir_of(settings: Settings) -> Path:
    """Where models lie: the setting, or `models` in the cache folder."""
    return settings.visual.models_dir or (settings.cache_dir or default_cache_dir()) / "models"


def default_cache_dir() -> Path:
    """The user's cache folder for converted and fetched models."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "docmind"


def _known(name: str) -> Known:
    if name not in KNOWN:
        raise ConfigError(f"There is no model {_shown(name)} that could be fetched.", hint=_there_are())
    return KNOWN[name]


def _there_are() -> str:
    return f"There are: {', '.join(KNOWN)}."


def _fetching(name: str) -> str:
    return f"Run: docmind models pull {name}"


def _shown(name: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in name[:200])


def _reason(error: Exception) -> str:
    return f"It cannot be read: {error.strerror}." if isinstance(error, OSError) else str(error)


def _signature(directory: Path) -> _Signature:
    """Names, sizes and times (of contents and of rights) of its files, as far as they can be told."""
    told = []
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            try:
                stat = entry.stat()
                told.append((entry.name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
            except OSError:  # a link that leads nowhere
                told.append((entry.name, -1, -1, -1))
    return tuple(sorted(told))


def _manifest(directory: Path) -> dict[str, Any]:
    """What was written when the model was fetched; empty where the files came another way."""
    path = directory / MANIFEST
    try:
        read = json.loads(path.read_bytes()) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _revision(manifest: dict[str, Any]) -> str:
    revision = manifest.get("revision")
    return revision if isinstance(revision, str) and revision.isalnum() and len(revision) <= 64 else ""
