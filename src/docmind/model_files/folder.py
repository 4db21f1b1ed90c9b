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
from typing import Any, TypeVar

from docmind.config import Settings
from docmind.errors import ConfigError, DiskFullError, DocMindError
from docmind.model_files.checkpoint import MANIFEST, Fingerprints, UnusableError, read_checkpoint
from docmind.model_files.known import KNOWN, KNOWN_TEXT, FileSource, Known, declared_model
from docmind.model_files.own import OwnFolders
from docmind.model_files.sentence_files import read_sentence_files
from docmind.records.models import Description, PullProgress
from docmind.runtime import Background, Check
from docmind.storage import write_private
from docmind.wording import N_, _

T = TypeVar("T")
Progress = Callable[[PullProgress], None]
_Fetch = Callable[[Progress, Check], T]
_OWN = N_("In a folder of your own.")
_Signature = tuple[tuple[str, int, int, int], ...]


class Weights:
    """Models by name: in one folder, and in directories of the user's own anywhere else.

    Thread-safe. A directory of the user's own gets a name when it is described first; no description holds its path.

    `describe` reads small files and, once for each changed file, hashes the weights: seconds for gigabytes. The
    description of a directory in which no file changed is cached in memory.
    """

    def __init__(self, models_dir: Path) -> None:
        self.models_dir = models_dir
        self._told: dict[str, tuple[_Signature, Description]] = {}
        self._fingerprints = Fingerprints(models_dir / "fingerprints.json")
        self.own = OwnFolders(models_dir / "own", lambda name: name in KNOWN or declared_model(name) is not None)

    def all(self) -> tuple[Description, ...]:
        """Return every known model, present or not, in the order of `KNOWN`."""
        return tuple(self._described(name, known) for name, known in KNOWN.items())

    def describe(self, name: str) -> Description:
        """Return one model by its name, by the path of a directory that holds one, or as a package declares it.

        A model that can be run is known by the name of its directory from then on; see `OwnFolders`. Raises
        `ConfigError` for a name that is none of these, and for a directory whose files are no model that can be run.
        """
        if name in KNOWN:
            return self._described(name, KNOWN[name])
        own = self.own.directory(name)
        if own is not None:
            return self._remembered(name, own, lambda: self._in_directory(name, own))
        path = os.path.expanduser(name)  # pathlib's expanduser raises for a name that cannot be a path
        if not os.path.isdir(path):
            declared = declared_model(name)
            if declared is not None:
                kind, dim = declared.kind, declared.dim
                return Description(name, kind, "", None, "present", dim, name, fingerprint=f"{name}:{dim}")
            raise ConfigError(
                _("There is no model {name}, and no such folder.").format(name=_shown(os.path.basename(name) or name)),
                hint=_there_are(),
            )
        directory = Path(path).resolve()
        named = self.own.name_of(directory)
        description = self._remembered(named, directory, lambda: self._in_directory(named, directory))
        with contextlib.suppress(ConfigError, DiskFullError):  # known while this process runs; `keep` raises them
            self.own.keep(named, directory)
        return description

    def name_of(self, name: str) -> str:
        """Return the name under which a model is known: that of its directory where a path is given."""
        path = os.path.expanduser(name)
        try:
            return self.own.name_of(Path(path).resolve()) if os.path.isabs(path) else name
        except (OSError, ValueError):  # no path could be written like that
            return _shown(os.path.basename(path))

    def keep(self, name: str) -> None:
        """Make sure that later processes know this name. Raises `ConfigError`, `DiskFullError`."""
        own = self.own.directory(name)
        if own is not None:
            self.own.keep(name, own)

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
        self._fingerprints.drop(self.models_dir / name)

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
            reason=_("It has not been fetched."),
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
                raise UnusableError(
                    _("These are the files of another model ({architecture}).").format(architecture=read.architecture)
                )
            digest = self._fingerprints.of(directory, read.files)
            manifest = _manifest(directory)
            if changed := self._fingerprints.differing(directory, manifest.get("sha256")):
                raise UnusableError(_("{changed} isn't what was downloaded.").format(changed=changed))
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

    def _in_directory(self, name: str, directory: Path) -> Description:
        """Describe a model in any directory.

        Its fingerprint starts with the architecture, so it reveals no path.
        """
        hint = _("Copy the files of the model again, or choose another with `docmind models enable`.")
        try:
            read = read_checkpoint(directory)
            digest = self._fingerprints.of(directory, read.files)
        except (UnusableError, OSError) as error:
            kind = getattr(error, "kind", None)
            if kind is None:
                raise ConfigError(
                    _("{name} holds no model that can be run. {error}").format(name=_shown(name), error=_reason(error)),
                    hint=hint,
                ) from error
            return Description(name, kind, "", directory, "broken", 0, "", about=_OWN, reason=_reason(error), hint=hint)
        return Description(
            name,
            read.kind,
            "",
            directory,
            "present",
            read.dim,
            read.architecture,
            revision=_revision(_manifest(directory)),
            fingerprint=f"{read.architecture}:{digest}",
            bytes=read.bytes,
            about=_OWN,
        )


class Downloads:
    """Running and finished downloads by name. Thread-safe; one download of a name at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._progress: dict[str, PullProgress] = {}
        self._pulls: dict[str, Background] = {}
        self._running: set[str] = set()

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

    def _run(self, name: str, fetch: _Fetch[T], progress: Progress | None, check: Check | None) -> T:
        """Fetch synchronously. Raises what `fetch` and `check` raise."""
        return self._fetched(name, self._begin(name), fetch, progress, check)

    def _submit(self, name: str, fetch: _Fetch[Any]) -> None:
        """Fetch in the background. Raises `ConfigError` while it is being fetched."""
        pull = self._begin(name)

        def work() -> None:
            try:
                self._fetched(name, pull, fetch, None, None)
            except DocMindError:
                return  # its record shows the error

        pull.start(work)

    def _fetched(
        self, name: str, pull: Background, fetch: _Fetch[T], progress: Progress | None, check: Check | None
    ) -> T:
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
            fetched = fetch(note, goes_on)
        except DocMindError as error:
            self._end(name, str(error), error.hint)
            raise
        except BaseException as error:
            self._end(name, _("It broke off ({kind}).").format(kind=type(error).__name__), "")
            raise
        self._end(name)
        return fetched

    def _begin(self, name: str) -> Background:
        with self._lock:
            if name in self._running:
                raise ConfigError(
                    _("{name} is being downloaded already.").format(name=name), hint=_("Wait for it, or cancel it.")
                )
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


class Pulls(Downloads):
    """Downloads of models that look at pages. Thread-safe."""

    def __init__(self, weights: Weights, hub_url: str, arrived: Callable[[Description], None]) -> None:
        super().__init__()
        self._weights, self._hub_url, self._arrived = weights, hub_url, arrived

    def pull(self, name: str, progress: Progress | None = None, check: Check | None = None) -> Description:
        """Fetch a model synchronously.

        Raises `ConfigError`, `DownloadError`, `DiskFullError`, and what `check` raises.
        """
        description = self._run(name, self._fetch(name), progress, check)
        self._arrived(description)
        return description

    def submit(self, name: str) -> None:
        """Fetch a model in the background; `all` includes it from now on.

        Raises `ConfigError` for a name that is not known, and while that model is being fetched.
        """
        if name not in KNOWN:
            raise ConfigError(
                _("There is no model {name!r}.").format(name=name),
                hint=_("Available: {names}.").format(names=", ".join(KNOWN)),
            )

        def fetch(progress: Progress, check: Check) -> None:
            self._arrived(self._fetch(name)(progress, check))

        self._submit(name, fetch)

    def _fetch(self, name: str) -> _Fetch[Description]:
        return lambda progress, check: self._weights.pull(name, hub_url=self._hub_url, progress=progress, check=check)


class LanguageFiles(Downloads):
    """Downloads of language models, GGUF files, by the names that they get here. Thread-safe."""

    def __init__(self, folder: Path, hub_url: str, take: Callable[[Path], object]) -> None:
        """`take` moves a fetched file into `folder`, or raises `ConfigError` where it is no language model."""
        super().__init__()
        self._folder, self._hub_url, self._take = folder, hub_url, take

    def pull(self, source: FileSource, progress: Progress | None = None, check: Check | None = None) -> str:
        """Fetch a file synchronously and return the name of the model; one that is here is left as it is.

        Raises `ConfigError`, `DownloadError`, `DiskFullError`, and what `check` raises.
        """
        self._run(source.name, self._fetch(source), progress, check)
        return source.name

    def submit(self, source: FileSource) -> None:
        """Fetch a file in the background. Raises `ConfigError` while it is being fetched."""
        self._submit(source.name, self._fetch(source))

    def drop_part(self, name: str) -> bool:
        """Delete what a download that was stopped has left, and return whether there was any.

        Raises `DownloadError` while it is being fetched, and `ConfigError`.
        """
        from docmind.model_files.download import drop_download

        return drop_download(self._folder, name)

    def _fetch(self, source: FileSource) -> _Fetch[None]:
        from docmind.model_files.download import PullFile, note_of
        from docmind.model_files.hub import Address, Hub

        def fetch(progress: Progress, check: Check) -> None:
            hub = Address(source.url, check) if source.url else Hub(self._hub_url, check)
            pull = PullFile(source, self._folder, hub, progress, check)
            (digest,) = pull.run().values()
            if not pull.is_there:
                try:
                    self._take(pull.path)
                finally:
                    pull.clear()
            write_private(
                note_of(self._folder, source.name),
                json.dumps(
                    {"repository": source.repository, "host": hub.host, "revision": pull.commit, "sha256": digest},
                    indent=1,
                ).encode(),
                replace=True,
            )

        return fetch


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
        raise ConfigError(_("There is no model {name} to download.").format(name=_shown(name)), hint=_there_are())
    return KNOWN[name]


def _there_are() -> str:
    return f"There are: {', '.join(KNOWN)}."


def _fetching(name: str) -> str:
    return _("Run: docmind models pull {name}").format(name=name)


def _shown(name: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in name[:200])


def _reason(error: Exception) -> str:
    return _("It cannot be read: {reason}.").format(reason=error.strerror) if isinstance(error, OSError) else str(error)


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
