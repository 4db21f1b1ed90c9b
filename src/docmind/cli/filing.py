"""An exported conversation as a file: whole or not at all, and never over another one unasked."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from docmind.conversation import Exported
from docmind.errors import ConfigError, DiskFullError

FORMATS = {"markdown": "markdown", "md": "markdown", "pdf": "pdf"}
_UNSAFE = re.compile(r"[^\w.()-]+")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)  # devices, on Windows
_LONGEST = 80
_TAKEN = "Choose another name; `docmind threads export --force` writes over a file."


def file_name_of(exported: Exported, title: str) -> str:
    """A name made of the title that every file system takes, with the ending of what was exported."""
    ending = Path(_UNSAFE.sub("_", exported.name)).suffix[:8]
    stem = _UNSAFE.sub(" ", title).strip(" .-")[:_LONGEST].strip(" .-")
    if not stem or _RESERVED.match(stem):
        stem = f"conversation {stem}".strip()
    while len(stem.encode()) > _LONGEST * 2:
        stem = stem[:-1]
    return stem + ending


def write_whole(path: Path, data: bytes, *, over: bool) -> None:
    """Write beside, then rename: what lies there stays as it was until the new file is whole.

    Raises `ConfigError` where there is a file already and `over` is not set, or where it cannot be written;
    `DiskFullError` where there is no room.
    """
    if not over and os.path.lexists(path):
        raise ConfigError(f"{path} is there already.", hint=_TAKEN)
    beside = None
    try:
        number, beside = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)  # readable by its owner only
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if over:
            os.replace(beside, path)
        else:
            _place(beside, path)
    except FileExistsError:
        raise ConfigError(f"{path} is there already.", hint=_TAKEN) from None
    except OSError as error:
        if error.errno in (28, 122):  # no room, no quota
            raise DiskFullError(f"There is no room to write {path}; nothing was written.") from error
        raise ConfigError(f"{path} cannot be written: {error.strerror}.", hint="Choose another file.") from error
    finally:
        if beside is not None and os.path.lexists(beside):
            os.unlink(beside)


def _place(beside: str, path: Path) -> None:
    """Rename, but not over a file that came meanwhile."""
    try:
        os.link(beside, path)  # fails where there is one, unlike a rename
    except FileExistsError:
        raise
    except OSError:  # no hard links here: what is left is to look and rename
        if os.path.lexists(path):
            raise FileExistsError from None
        os.rename(beside, path)
