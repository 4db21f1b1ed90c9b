"""Folders of models of the user's own, each under a name: a vault stores the name, and never the path.

<models folder>/own/NAME.path    the path of the folder; readable by its owner only
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path

from docmind.errors import ConfigError, DiskFullError, VaultError
from docmind.storage import is_folder, read_own, write_private
from docmind.wording import _

_ENDING = ".path"
_FORM = re.compile(r"\w[\w.-]{0,63}")
_OTHERS = re.compile(r"[^\w.-]+")
_RESERVED = ("auto", "off", "none")  # values of settings and commands


class OwnFolders:
    """Names of folders outside the models folder. Thread-safe; several processes may add names.

    A name that could not be written is kept in memory, so that a models folder that is read-only still serves.
    """

    def __init__(self, folder: Path, is_taken: Callable[[str], bool]) -> None:
        """`folder` need not exist; `is_taken` says which names other models have."""
        self._folder, self._is_taken = folder, is_taken
        self._lock = threading.Lock()
        self._here: dict[str, Path] = {}

    def directory(self, name: str) -> Path | None:
        """Return the folder of a name, which may be gone; None where there is no such name."""
        if not _FORM.fullmatch(name):
            return None
        with self._lock:
            return self._here.get(name) or self._read(name)

    def name_of(self, directory: Path) -> str:
        """Return the name of a folder, or the one that `keep` would give it. `directory` is absolute."""
        with self._lock:
            for name, known in self._here.items():
                if known == directory:
                    return name
            names = sorted(entry[: -len(_ENDING)] for entry in self._entries())
            for name in names:
                if self._read(name) == directory:
                    return name
            base = _OTHERS.sub("-", directory.name)[:48].strip("-.") or "model"
            folded = {name.casefold() for name in (*names, *self._here)}  # a file system may know no case
            number, name = 1, base
            while name.casefold() in folded or name.casefold() in _RESERVED or self._is_taken(name):
                number += 1
                name = f"{base}-{number}"
            return name

    def keep(self, name: str, directory: Path) -> None:
        """Write the name down. Raises `ConfigError` where the models folder cannot be written to, `DiskFullError`."""
        with self._lock:
            self._here[name] = directory
            if self._read(name) == directory:
                return
            place = self._folder / f"{name}{_ENDING}"
            try:
                write_private(place, os.fsencode(directory), replace=True)
            except DiskFullError:
                raise
            except (VaultError, FileExistsError) as error:  # the second where a file lies in the place of the folder
                raise ConfigError(
                    _("The folder of {name} cannot be remembered: {folder} cannot be written to.").format(
                        name=name, folder=self._folder
                    ),
                    hint=_("Check that folder and its permissions, or choose another with DOCMIND_VISUAL__MODELS_DIR."),
                ) from error

    def _read(self, name: str) -> Path | None:
        try:
            path = Path(os.fsdecode(read_own(self._folder / f"{name}{_ENDING}")))
        except (OSError, ValueError):  # there is none, or no path was ever written in such bytes
            return None
        return path if path.is_absolute() else None

    def _entries(self) -> list[str]:
        if not is_folder(self._folder):
            return []
        names = [entry for entry in os.listdir(self._folder) if entry.endswith(_ENDING)]
        return [name for name in names if _FORM.fullmatch(name[: -len(_ENDING)])]
