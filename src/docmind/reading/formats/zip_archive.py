"""Zip archives: a table of the files inside, each of which becomes a document of its own.

Programs that pack files disagree about the letters of names: those without the mark of UTF-8 are read in the code page
that gives the likeliest words. What an operating system adds by itself is left out, links are never followed, and
names lead to no place: they are only shown.
"""

from __future__ import annotations

import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from lzma import LZMAError

from docmind.blocks import Block, Cell, Losses, Table
from docmind.errors import CorruptFileError, EmptyFileError, PasswordNeededError, TooLargeError
from docmind.reading.formats import Rules, check_unpacked, facts_of
from docmind.reading.formats.typeset import LaidOut, printable
from docmind.records.documents import Enclosed, Upload
from docmind.wording import N_, _, ngettext, number_text

_MOST_FILES = 5_000
_LOCKED, _UTF8, _AES = 0x1, 0x800, 99  # bits of a member's flags; the method of one that is locked by AES
_UNICODE_PATH = 0x7075  # the extra field with the name in UTF-8
_CODE_PAGES = ("cp850", "cp437", "cp1252")
_LEFT = frozenset(("__macosx", "thumbs.db", "ehthumbs.db", "desktop.ini", "$recycle.bin", "icon"))
_BROKEN = (zipfile.BadZipFile, zlib.error, LZMAError, EOFError, OSError, ValueError, struct.error)
_LINK = N_("It is a link, which is not followed.")
_NEEDS_PASSWORD = N_("It is locked, and its password is needed.")
_LOCKED_BY_AES = N_("It is locked with AES, which DocMind does not open: unpack it with another program.")
_DAMAGED = N_("It is broken inside the archive.")
_UNKNOWN = N_("It is packed in a way that DocMind does not unpack.")


@dataclass(frozen=True, slots=True)
class _Member:
    """A file of the archive, with its name as a person sees it."""

    info: zipfile.ZipInfo
    name: str

    @property
    def is_locked(self) -> bool:
        return bool(self.info.flag_bits & _LOCKED)

    @property
    def is_link(self) -> bool:
        return stat.S_IFMT(self.info.external_attr >> 16) not in (0, stat.S_IFREG)

    @property
    def day(self) -> str:
        year, month, day = self.info.date_time[:3]
        is_set = (year, month, day) > (1980, 1, 1) and 1 <= month <= 12 and 1 <= day <= 31
        return f"{year:04}-{month:02}-{day:02}" if is_set else ""


class OpenedZip(LaidOut):
    """An open archive: its own pages, and the files inside."""

    def __init__(self, upload: Upload, archive: zipfile.ZipFile, members: Sequence[_Member], rules: Rules) -> None:
        self._archive, self._members, self._password = archive, members, (upload.password or "").encode()
        facts = facts_of(upload.name, stamped=max(one.day for one in members))
        super().__init__(_blocks(upload.name, members), facts, upload.name, rules, Losses())

    def enclosed(self) -> Iterator[Enclosed]:
        """Yield the files inside, one in memory at a time; one that cannot be unpacked with the reason."""
        for member in self._members:
            data, error = _unpacked(self._archive, member, self._password)
            yield Enclosed(member.name, data, _(error) if error else "")


def open_zip(upload: Upload, kind: str, rules: Rules) -> OpenedZip:
    """Open an archive.

    Raises `TooLargeError`, `CorruptFileError`, `EmptyFileError`, and `PasswordNeededError` where all files are locked
    and the password opens none.
    """
    archive = check_unpacked(upload, rules, largest_mb=2 * len(upload.data) >> 20)
    members = [_Member(info, _name_of(info)) for info in archive.infolist() if not _is_left(info)]
    if len(members) > _MOST_FILES:
        raise TooLargeError(
            _("{name} holds {n} files; at most {most} are read.").format(
                name=upload.name, n=number_text(len(members)), most=number_text(_MOST_FILES)
            ),
            hint=_("Unpack it, and add the files or the folder."),
        )
    if not members:
        raise EmptyFileError(_("{name} holds no files.").format(name=upload.name))
    _check_apart(upload.name, archive.infolist())
    _check_password(upload, archive, members)
    return OpenedZip(upload, archive, members, rules)


def _check_apart(name: str, infos: Sequence[zipfile.ZipInfo]) -> None:
    """Refuse an archive whose files share bytes: a small one could unpack to any size. Raises `CorruptFileError`."""
    places = sorted((info.header_offset, info.compress_size) for info in infos)
    for (start, size), (following, _size) in pairwise(places):
        if start + size > following or (start == following and size):
            raise CorruptFileError(_("{name} is broken: files inside it lie over one another.").format(name=name))


def _check_password(upload: Upload, archive: zipfile.ZipFile, members: Sequence[_Member]) -> None:
    """Raise `PasswordNeededError` where all files are locked and the password opens not even the first of them."""
    locked = [one for one in members if one.is_locked and not one.is_link and one.info.compress_type != _AES]
    if not locked or len(locked) < len(members):
        return
    if not upload.password:
        raise PasswordNeededError(_("A password is needed to open {name}.").format(name=upload.name))
    smallest = min(locked, key=lambda one: one.info.compress_size)
    if _unpacked(archive, smallest, upload.password.encode())[1] == _NEEDS_PASSWORD:
        raise PasswordNeededError(_("That password does not open {name}.").format(name=upload.name))


def _unpacked(archive: zipfile.ZipFile, member: _Member, password: bytes) -> tuple[bytes, str]:
    """Return the bytes of a file, or none and why."""
    if member.is_link:
        return b"", _LINK
    if member.is_locked and member.info.compress_type == _AES:
        return b"", _LOCKED_BY_AES
    if member.is_locked and not password:
        return b"", _NEEDS_PASSWORD
    try:
        with archive.open(member.info, pwd=password or None) as file:
            data = file.read(member.info.file_size + 1)
    except NotImplementedError:
        return b"", _UNKNOWN
    except RuntimeError:  # a wrong password
        return b"", _NEEDS_PASSWORD
    except _BROKEN:
        return b"", _NEEDS_PASSWORD if member.is_locked else _DAMAGED
    return (data, "") if len(data) == member.info.file_size else (b"", _DAMAGED)


def _is_left(info: zipfile.ZipInfo) -> bool:
    """Return whether a member is a folder, hidden, or was added by an operating system."""
    parts = [part.strip("\r").casefold() for part in info.filename.replace("\\", "/").split("/")]
    return info.is_dir() or not parts[-1] or any(one.startswith(".") or one in _LEFT for one in parts if one != "..")


def _name_of(info: zipfile.ZipInfo) -> str:
    """Return the name of a member with its folders, as the program that packed it showed it."""
    name = _unicode_path(info.extra)
    if not name and info.flag_bits & _UTF8:
        name = info.filename
    elif not name:
        raw = info.orig_filename.encode("cp437", "replace")
        try:
            name = raw.decode("utf-8")
        except UnicodeDecodeError:
            name = min((raw.decode(page, "replace") for page in _CODE_PAGES), key=_oddness)
    parts = printable(unicodedata.normalize("NFC", name)).replace("\\", "/").split("/")
    return "/".join(part for part in parts if part not in ("", ".", "..")) or "?"


def _unicode_path(extra: bytes) -> str:
    """Return the name in the extra field that holds it in UTF-8; empty where there is none."""
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, at)
        field = extra[at + 4 : at + 4 + size]
        if kind == _UNICODE_PATH and field[:1] == b"\x01":
            return field[5:].decode("utf-8", "ignore").partition("\0")[0]
        at += 4 + size
    return ""


def _oddness(name: str) -> int:
    """Return how unlikely a name is: signs that are no letters of Latin, and capitals within words."""
    odd = 0
    for before, char in zip(" " + name, name, strict=False):
        if char.isascii():
            continue
        odd += 0 if unicodedata.name(char, "").startswith("LATIN") else 1 if char in "–—“”‘’º°€·" else 3
        odd += before.islower() and char.isupper()
    return odd


def _blocks(name: str, members: Sequence[_Member]) -> Iterator[Block | Table]:
    yield Block(kind="heading", text=printable(name), level=1)
    total = sum(one.info.file_size for one in members)
    counted = ngettext("{n} file, {size}", "{n} files, {size} together", len(members))
    yield Block(kind="paragraph", text=counted.format(n=number_text(len(members)), size=_size(total)))
    header = [_("File"), _("Size"), _("Date"), _("Folder")]
    yield Table(rows=_rows(header, members), header_rows=1)


def _rows(header: Sequence[str], members: Sequence[_Member]) -> Iterator[Sequence[Cell | str]]:
    yield header
    for one in members:
        folder, _slash, file = one.name.rpartition("/")
        size = Cell(_size(one.info.file_size), raw=str(one.info.file_size), type="number")
        yield [file, size, Cell(one.day, type="date" if one.day else "empty"), folder]


def _size(count: int) -> str:
    """Return a number of bytes in words."""
    if count < 1_000:
        return _("{n} bytes").format(n=number_text(count))
    if count < 1_000_000:
        return _("{n} KB").format(n=number_text(count / 1_000))
    return _("{n} MB").format(n=number_text(count / 1_000_000, 1))
