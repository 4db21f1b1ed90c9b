"""The folder of models, one directory each: descriptions without loading a model, and downloads in the background."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from docmind.config import Settings
from docmind.errors import ConfigError, DocMindError
from docmind.model_files.checkpoint import MANIFEST, Fingerprints, UnusableError, read_checkpoint
from docmind.model_files.known import KNOWN, KNOWN_TEXT, Known, declared_model
from docmind.model_files.sentence_files import read_sentence_files
from docmind.records.models import Description, PullProgress
from docmind.runtime import Background

Progress = Callable[[PullProgress], None]
_Signature = tuple[tuple[str, int, int, int], ...]


class Weights:
    """Models by name in one folder, and anywhere else by the path of their directory.

    Thread-safe.

    `describe` reads small files and, once for each changed file, hashes the weights: seconds for gigabytes. The
    description of a directory in which no file changed is cached in memory.
    """

    def __init__(self, models_dir: Path) -> None:
        self.models_dir = models_dir
        self._told: dict[str, tuple[_Signature, Description]] = {}
        self._fingerprints = Fingerprints(models_dir / "fingerprints.json")

    def all(self) -> tuple[Description, ...]:
        """Return every known model, present or not, in the order of `KNOWN`."""
        return tuple(self._described(name, known) for name, known in KNOWN.items())

    def describe(self, name: str) -> Description:
        """Return one model by its name, by the path of a directory that holds one, or as a package declares it.

        Raises `ConfigError` for a name that is neither, and for a directory whose files are no model that can be run.
        """
        if name in KNOWN:
            return self._described(name, KNOWN[name])
        path = os.path.expanduser(name)  # pathlib's expanduser raises for a name that cannot be a path
        if not os.path.isdir(path):
            declared = declared_model(name)
            if declared is not None:
                kind, dim = declared.kind, declared.dim
                return Description(name, kind, "", None, "present", dim, name, fingerprint=f"{name}:{dim}")
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
        """Fetch a known model; a complete one is left as it is, without any request.

        `check` is called often, from another thread while a server is silent, and stops the download by raising a
        `DocMindError`; received bytes are kept for the next time. Raises `ConfigError` for an unknown name or a hub
        that may not be reached, `DownloadError`, `DiskFullError`.
        """
        from docmind.model_files.download import Pull
        from docmind.model_files.hub import Hub

        known = _known(name)
        before = self._described(name, known)
        if before.state == "present":
            progress(PullProgress(name, bytes_done=before.bytes, bytes_total=before.bytes, is_over=True))
            return before
        sums = Pull(name, known, self.models_dir, Hub(hub_url, check), progress, check).run()
        self._fingerprints.note(self.models_dir / name, sums)
        return self._described(name, known)

    def remove(self, name: str) -> None:
        """Delete the files of a known model and its partial downloads.

        Raises `ConfigError`, `DownloadError`.
        """
        from docmind.model_files.download import remove

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
        """Complete a description by the facts from the model's files."""
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
        """Describe a model in any directory.

        Its fingerprint starts with the architecture, so it reveals no path.
        """
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


class Pulls:
    """Running and finished downloads. Thread-safe; one download of a model at a time."""

    def __init__(self, weights: Weights, hub_url: str, arrived: Callable[[Description], None]) -> None:
        self._weights, self._hub_url, self._arrived = weights, hub_url, arrived
        self._lock = threading.Lock()
        self._progress: dict[str, PullProgress] = {}
        self._pulls: dict[str, Background] = {}
        self._running: set[str] = set()

    def pull(self, name: str, progress: Progress | None = None, check: Callable[[], None] | None = None) -> Description:
        """Fetch a model synchronously.

        Raises `ConfigError`, `DownloadError`, `DiskFullError`, and what `check` raises.
        """
        return self._pull(name, self._begin(name), progress, check)

    def submit(self, name: str) -> None:
        """Fetch a model in the background; `all` includes it from now on.

        Raises `ConfigError` for a name that is not known, and while that model is being fetched.
        """
        if name not in KNOWN:
            raise ConfigError(f"There is no model {name!r}.", hint=f"There are: {', '.join(KNOWN)}.")

        pull = self._begin(name)

        def work() -> None:
            try:
                self._pull(name, pull, None, None)
            except DocMindError:
                return  # its record shows the error

        pull.start(work)

    def all(self) -> tuple[PullProgress, ...]:
        """Return the last download of each model since the start."""
        with self._lock:
            return tuple(self._progress.values())

    def cancel(self, name: str) -> None:
        """Stop a download; received bytes are kept for the next try.

        Does nothing where there is none.
        """
        with self._lock:
            pull = self._pulls.get(name)
        if pull is not None:
            pull.close()

    def close(self) -> None:
        """Stop every download and wait for its end."""
        with self._lock:
            pulls = list(self._pulls.values())
        for pull in pulls:
            pull.close()
        for pull in pulls:
            pull.join()

    def _pull(
        self, name: str, pull: Background, progress: Progress | None, check: Callable[[], None] | None
    ) -> Description:
        def note(now: PullProgress) -> None:
            with self._lock:
                self._progress[name] = now
            if progress is not None:
                progress(now)

        def goes_on() -> None:
            pull.check()
            if check is not None:
                check()

        try:
            description = self._weights.pull(name, hub_url=self._hub_url, progress=note, check=goes_on)
        except DocMindError as error:
            self._end(name, str(error), error.hint)
            raise
        except BaseException as error:
            self._end(name, f"It broke off ({type(error).__name__}).", "")
            raise
        self._end(name)
        self._arrived(description)
        return description

    def _begin(self, name: str) -> Background:
        with self._lock:
            if name in self._running:
                raise ConfigError(f"{name} is being fetched already.", hint="Wait for it, or cancel it.")
            self._running.add(name)
            self._pulls[name] = pull = Background("pull", "The download was stopped.")
            self._progress[name] = PullProgress(name)
            return pull

    def _end(self, name: str, error: str = "", hint: str = "") -> None:
        with self._lock:
            now = self._progress[name]
            self._progress[name] = PullProgress(
                name, now.file, now.bytes_done, now.bytes_total, is_over=True, error=error, hint=hint
            )
            self._running.discard(name)


def pull_text_model(settings: Settings, name: str, progress: Progress, check: Callable[[], None]) -> Path:
    """Fetch a known text model into the models folder and return its directory; see `Weights.pull`.

    A complete one is left as it is, without any request. Raises `ConfigError`, `DownloadError`, `DiskFullError`.
    """
    from docmind.model_files.download import Pull
    from docmind.model_files.hub import Hub

    folder, known = models_dir_of(settings), KNOWN_TEXT[name]
    directory, sums = folder / name, Fingerprints(folder / "fingerprints.json")
    if (directory / MANIFEST).is_file():
        with contextlib.suppress(UnusableError, OSError):
            size = read_sentence_files(directory).bytes
            if not sums.differing(directory, _manifest(directory).get("sha256")):
                progress(PullProgress(name, bytes_done=size, bytes_total=size, is_over=True))
                return directory
    sums.note(directory, Pull(name, known, folder, Hub(settings.visual.hub_url, check), progress, check).run())
    return directory


def models_dir_of(settings: Settings) -> Path:
    """Return the folder of models: the setting, or `models` in the cache folder."""
    return settings.visual.models_dir or (settings.cache_dir or default_cache_dir()) / "models"


def default_cache_dir() -> Path:
    """Return the user's cache folder for converted and fetched models."""
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
    """Return names, sizes and times (of contents and metadata) of its files, as far as they can be read."""
    told = []
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            try:
                stat = entry.stat()
                told.append((entry.name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns))
            except OSError:  # a dangling link
                told.append((entry.name, -1, -1, -1))
    return tuple(sorted(told))


def _manifest(directory: Path) -> dict[str, Any]:
    """Return what was recorded when the model was fetched.

    The result is empty where the files came another way.
    """
    path = directory / MANIFEST
    try:
        read = json.loads(path.read_bytes()) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _revision(manifest: dict[str, Any]) -> str:
    revision = manifest.get("revision")
    return revision if isinstance(revision, str) and revision.isalnum() and len(revision) <= 64 else ""
