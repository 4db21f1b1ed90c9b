"""The layout of a data folder: the names of all files in it, and the checks when it is opened.

    vault.json  vault.db (-wal, -shm, -journal)  lock  mark  reserve    the vault, and room for a full disk
    vault.db-new (-journal)                                             the database while it is compacted
    app.json  open.html  app.sock                                       where the app runs now, while it runs
    command.json  command.sock                                          where a command has the library open
    .vault.json.1a2b3c4d.new                                            one of them while it is replaced
    artifacts/<64 hex><suffix>.enc    .new-<16 hex> while it is written   sealed files
    aside/                                                              sealed files that no row knows
    evaluation/<16 hex>/                                                a library that is being measured, of this form
    index/                                                              the embedded index: see `docmind.index`
    late/<16 hex>.i8  <16 hex>.p8                                       vectors of page patches
    staging/<16 hex>.db (-wal, -shm, -journal)                          databases on their way in or out of a bundle
    snapshots/<16 hex>/manifest.jsonl  state-<16 hex>                   snapshots
    snapshots/segments/<64 hex>.segment                                 the documents in them, shared by all snapshots
    snapshots/before-m<3 digits>-<13 digits>/vault.db  mark             the database before its schema changed
    .new-<16 hex>                                                       a file in `snapshots` while it is written

A file with any other name is foreign: it is never removed, changed or read, in any subfolder; and no vault is made in a
folder that holds foreign files.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from docmind.errors import VaultError
from docmind.storage.files import is_folder, is_regular, read_own
from docmind.wording import N_, _

MEASURED = "evaluation"
"""The folder with libraries of sets that are being measured."""

FOLDERS = ("artifacts", "aside", MEASURED, "index", "late", "snapshots", "staging")
FILES = (
    "vault.json", "vault.db", "vault.db-wal", "vault.db-shm", "vault.db-journal", "vault.db-new",
    "vault.db-new-journal", "lock", "mark", "reserve", "app.json", "command.json",
    "open.html",
)  # fmt: skip
SOCKETS = ("app.sock", "command.sock")
REPLACING = re.compile(
    r"\.(?:vault\.json|mark|app\.json|command\.json|open\.html)\.[0-9a-f]{8}\.new|\.(?:app\.json|open\.html)\.[0-9a-f]{16}"
)
"""A file while it is replaced; a killed process leaves one behind. Earlier versions wrote the second form."""
ARTIFACT = re.compile(r"[0-9a-f]{64}(?:\.[a-z0-9]{1,8}){1,2}")
LATE = re.compile(r"[0-9a-f]{16}\.[ip]8")
STAGED = re.compile(r"[0-9a-f]{16}\.db(?:-wal|-shm|-journal)?")
SNAPSHOT = re.compile(r"[0-9a-f]{16}")
MEASURED_LIBRARY = re.compile(r"[0-9a-f]{16}")
SEGMENT = re.compile(r"([0-9a-f]{64})\.segment")
STATE = re.compile(r"state-[0-9a-f]{16}")
SNAPSHOT_FILE = re.compile(rf"manifest\.jsonl|{STATE.pattern}")
KEPT_DATABASE = re.compile(r"before-m(\d{3})-(\d{13})")
UNFINISHED = re.compile(r"\.new-[0-9a-f]{16}")
"""A file of a snapshot, or a kept database, while it is written."""

_FORMS = {
    "artifacts": re.compile(rf"{ARTIFACT.pattern}|\.new-[0-9a-f]{{16}}"),
    "aside": re.compile(rf"[0-9]{{13}}-(?:{ARTIFACT.pattern}|vault\.db-wal)"),
    "late": LATE,
    "staging": STAGED,
}
"""What may lie in which folder; `docmind.index` knows the files of its own."""
_IN_SNAPSHOTS = {
    SNAPSHOT: re.compile(rf"{SNAPSHOT_FILE.pattern}|{UNFINISHED.pattern}"),
    re.compile("segments"): re.compile(rf"{SEGMENT.pattern}|{UNFINISHED.pattern}"),
    KEPT_DATABASE: re.compile(rf"vault\.db|mark|{UNFINISHED.pattern}"),
}
"""The folders that may lie in `snapshots`, and the files in each."""

_STRAY = re.compile(r"\.(?:vault\.json|mark)\.[0-9a-f]{8}\.new|vault\.db-new(?:-journal)?")
_ONLY_OURS = re.compile(
    rf"[0-9a-f]{{64}}(?:\.[a-z0-9]{{1,8}})?\.enc|{LATE.pattern}|vault\.(?:json|db(?:-\w+)?)|index\.sealed"
)
_PROCESS = re.compile(rb"[0-9]{0,20}")  # all that a lock of ours holds
_HARMLESS = ("README.md", ".gitignore", ".gitkeep", ".DS_Store", "desktop.ini", "Thumbs.db", "lost+found")
"""What systems and repositories put into an empty folder; it stays as it is."""
_OF_THE_APP = ("app.json", "open.html", "app.sock")  # it makes them before it makes a vault
_NAMED = 3
_FIXED = (errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOTSUP)
"""What a change of mode meets on a read-only medium, a file system without modes, or in another user's folder."""
_CHOOSE = N_("Choose an empty folder with DOCMIND_DATA_DIR.")


def check_library(data_dir: Path) -> None:
    """Raise `VaultError` where a folder holds no library, whole or not: what only reads makes none there."""
    named = (data_dir / "vault.json", data_dir / "vault.db")
    if not any(path.exists() for path in named) and not any(own_files(data_dir / "artifacts", ARTIFACT)):
        raise VaultError(
            _("There is no library in {folder} yet.").format(folder=data_dir),
            hint=_(
                "Add documents with `docmind add FILE…`, or start the app with `docmind app`. A library in another "
                "folder is named by DOCMIND_DATA_DIR."
            ),
        )


def check_folder(data_dir: Path, *, repairs: bool = True) -> None:
    """Check an existing data folder, then make it and the files in it owner-only (0700, 0600) where `repairs` is set.

    Nothing is changed where a check fails. Raises `VaultError` where there is no vault and the folder holds foreign
    files, and where one of DocMind's own names is a symbolic link or is not what it must be. The data folder itself may
    be reached through a symbolic link: that is the user's choice.
    """
    try:
        if not os.path.lexists(data_dir / "vault.json"):
            _check_empty(data_dir)
        for name in (*FOLDERS, *FILES):
            _check_kind(data_dir / name, is_dir=name in FOLDERS)
        if repairs:
            _make_private(data_dir)
    except OSError as error:
        raise VaultError(
            _("The data folder {data_dir} can't be read: {strerror}.").format(
                data_dir=data_dir, strerror=error.strerror
            ),
            hint=_(_CHOOSE),
        ) from error


def own_files(folder: Path, form: re.Pattern[str]) -> Iterator[Path]:
    """Yield the regular files in a folder whose whole name matches `form`.

    Yields nothing where the folder is missing.
    """
    if is_folder(folder):
        for entry in os.scandir(folder):
            if form.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                yield folder / entry.name


def foreign_files(data_dir: Path) -> Iterator[str]:
    """Yield the names, relative to the data folder, of what DocMind did not put there; `index` is not looked into.

    What systems and repositories leave in a folder is not named.
    """
    for entry in _sorted(data_dir):
        if entry.name in FOLDERS:
            if entry.is_dir(follow_symlinks=False):
                yield from (f"{entry.name}/{name}" for name in _foreign_inside(entry))
        elif entry.name in SOCKETS:
            if not stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode):
                yield entry.name
        elif entry.name not in FILES and entry.name not in _HARMLESS and not REPLACING.fullmatch(entry.name):
            yield entry.name


def _foreign_inside(folder: os.DirEntry[str]) -> Iterator[str]:
    if folder.name == MEASURED:
        for inner in _sorted(folder):
            if _is_measured(inner):
                yield from (f"{inner.name}/{name}" for name in foreign_files(Path(inner.path)))
            elif inner.name not in _HARMLESS:
                yield inner.name
    elif folder.name == "snapshots":
        for inner in _sorted(folder):
            form = _form_in_snapshots(inner.name)
            if form and inner.is_dir(follow_symlinks=False):
                yield from (f"{inner.name}/{name}" for name in _foreign_to(inner, form))
            elif inner.name not in _HARMLESS:
                yield inner.name
    elif form := _FORMS.get(folder.name):
        yield from _foreign_to(folder, form)


def _is_measured(entry: os.DirEntry[str]) -> bool:
    """Tell whether an entry of `evaluation` is a library that is, or was, measured."""
    return bool(MEASURED_LIBRARY.fullmatch(entry.name)) and entry.is_dir(follow_symlinks=False)


def _foreign_to(folder: os.DirEntry[str], form: re.Pattern[str]) -> Iterator[str]:
    for inner in _sorted(folder):
        is_ours = form.fullmatch(inner.name) and inner.is_file(follow_symlinks=False)
        if not is_ours and inner.name not in _HARMLESS:
            yield inner.name


def _form_in_snapshots(name: str) -> re.Pattern[str] | None:
    """Return the form of the files in a folder of `snapshots`; None where the folder's name is not ours."""
    return next((form for folder, form in _IN_SNAPSHOTS.items() if folder.fullmatch(name)), None)


def _sorted(folder: os.PathLike[str]) -> list[os.DirEntry[str]]:
    return sorted(os.scandir(folder), key=lambda one: one.name)


def outside_files(folder: Path) -> Iterator[str]:
    """Yield the names of files of a library in a folder where none may lie, and in the folders directly in it.

    Those of a folder that is a library, whole or not, lie where they belong.
    """
    if not is_folder(folder):
        return
    is_library = _is_library(folder)
    for entry in _sorted(folder):
        if entry.is_dir(follow_symlinks=False):
            if _is_library(Path(entry.path)) or (is_library and entry.name in FOLDERS):
                continue
            inside = [f"{entry.name}/{inner.name}" for inner in os.scandir(entry.path) if _is_of_a_vault(inner)]
            yield from sorted(inside)
        elif _is_of_a_vault(entry) and not is_library:
            yield entry.name


def _is_library(folder: Path) -> bool:
    """Return whether a folder holds the description or the database of a library."""
    return any(os.path.lexists(folder / name) for name in ("vault.json", "vault.db"))


def _is_of_a_vault(entry: os.DirEntry[str]) -> bool:
    return bool(_ONLY_OURS.fullmatch(entry.name)) and entry.is_file(follow_symlinks=False)


def remove_strays(data_dir: Path) -> None:
    """Remove what a killed process left half-written.

    That is `vault.json`, `mark`, a compacted `vault.db`, staged databases, files of snapshots, and libraries that were
    measured.

    Only for the holder of the lock.
    """
    snapshots = data_dir / "snapshots"
    names = [entry.name for entry in os.scandir(snapshots)] if is_folder(snapshots) else []
    folders = [snapshots / name for name in names if _form_in_snapshots(name)]
    unfinished = [path for folder in folders for path in own_files(folder, UNFINISHED)]
    for stray in (*own_files(data_dir, _STRAY), *own_files(data_dir / "staging", STAGED), *unfinished):
        with contextlib.suppress(OSError):  # a read-only vault keeps them; they hold nothing in clear
            stray.unlink(missing_ok=True)
    measured = os.scandir(data_dir / MEASURED) if is_folder(data_dir / MEASURED) else ()
    for library in [Path(entry.path) for entry in measured if _is_measured(entry)]:
        with contextlib.suppress(OSError):
            if not any(foreign_files(library)):
                shutil.rmtree(library)


def _check_empty(data_dir: Path) -> None:
    """Raise where a new vault would be made among foreign files.

    A vault without its vault.json is reported elsewhere.
    """
    if is_regular(data_dir / "vault.db") or any(own_files(data_dir / "artifacts", ARTIFACT)):
        return
    foreign = sorted(entry.name for entry in os.scandir(data_dir) if not _is_of_no_vault(entry))
    if foreign and not os.path.lexists(data_dir / "vault.json"):  # another process may have made a vault meanwhile
        more = len(foreign) - _NAMED
        named = ", ".join(foreign[:_NAMED]) + (f" and {more:,} more" if more > 0 else "")
        raise VaultError(
            _("{data_dir} has files that aren't DocMind's ({named}), so no library is created there.").format(
                data_dir=data_dir, named=named
            ),
            hint=_(_CHOOSE),
        )


def _is_of_no_vault(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry may lie in a folder where a vault is made.

    Such entries are left by an interrupted start, or hold nothing of value.
    """
    if entry.name in _HARMLESS:
        return True
    if entry.name in FOLDERS and entry.is_dir(follow_symlinks=False):
        return not any(os.scandir(entry.path))
    if entry.name == "lock":
        try:
            return entry.is_file(follow_symlinks=False) and bool(_PROCESS.fullmatch(read_own(Path(entry.path))))
        except PermissionError:  # Windows refuses to read what another process has locked: a DocMind that starts now
            return True
    return entry.name in _OF_THE_APP or bool(REPLACING.fullmatch(entry.name))


def _check_kind(path: Path, *, is_dir: bool) -> None:
    """Raise unless the name is unused, or is a folder or regular file as required."""
    if not os.path.lexists(path) or (is_folder(path) if is_dir else is_regular(path)):
        return
    wanted = "a folder" if is_dir else "a file"
    found = "a symbolic link, which DocMind does not follow" if path.is_symlink() else f"not {wanted}"
    raise VaultError(
        _("{path} is {found}.").format(path=path, found=found),
        hint=_("Move it away, or choose another folder with DOCMIND_DATA_DIR; it must be {wanted}.").format(
            wanted=wanted
        ),
    )


def _make_private(data_dir: Path) -> None:
    """Remove all permissions of group and others, the folder's first, so that nobody can replace a name by a link.

    Only the folder and its direct entries are changed: nothing below a folder of mode 0700 can be reached. The process
    that holds the library may remove one of its files meanwhile. Windows has no such modes.
    """
    if os.name != "posix":
        return
    _restrict(data_dir, data_dir.stat().st_mode)
    for entry in os.scandir(data_dir):
        is_own = entry.name in FOLDERS or entry.name in FILES or REPLACING.fullmatch(entry.name)
        if is_own and not entry.is_symlink():
            with contextlib.suppress(FileNotFoundError):
                _restrict(data_dir / entry.name, entry.stat(follow_symlinks=False).st_mode)


def _restrict(path: Path, mode: int) -> None:
    kept = 0o700 if stat.S_ISDIR(mode) else 0o600
    if stat.S_IMODE(mode) & ~kept:
        try:
            os.chmod(path, mode & kept)
        except OSError as error:
            if error.errno not in _FIXED:
                raise
