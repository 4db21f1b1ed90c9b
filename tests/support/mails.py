"""Mails as files: ones that travel, and ones that Outlook saves, made byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

Streams = Mapping[str, Any]
"""Streams as bytes and storages as mappings, by name."""

_SECTOR, _SMALL = 512, 64
_END, _FREE, _FAT, _NONE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD, 0xFFFFFFFF


def mail(body: str, headers: Mapping[str, str] | None = None, kind: str = "text/plain; charset=utf-8") -> bytes:
    """Return a mail with the usual header, other lines of it in place of those."""
    said = {
        "From": "Jo Lind <jo@lind.example>",
        "To": "Mara Vale <mara@vale.example>",
        "Subject": "Boiler inspection",
        "Date": "Mon, 02 Jun 2025 09:12:00 +0100",
        "MIME-Version": "1.0",
        "Content-Type": kind,
    } | dict(headers or {})
    return ("".join(f"{name}: {value}\n" for name, value in said.items() if value) + "\n" + body).encode()


def ole(streams: Streams) -> bytes:
    """Return an OLE file of these streams; storages are mappings."""
    entries: list[list[Any]] = []  # name, type, right sibling, child, data

    def place(held: Streams) -> int:
        """Add the entries of a storage, and return the first; each has the next one to its right."""
        first = before = _NONE
        for name, data in sorted(held.items(), key=lambda item: (len(item[0]), item[0].upper())):
            at = len(entries)
            is_storage = isinstance(data, Mapping)
            entries.append([name, 1 if is_storage else 2, _NONE, _NONE, b"" if is_storage else data])
            if before == _NONE:
                first = at
            else:
                entries[before][2] = at
            before = at
            if is_storage:
                entries[at][3] = place(data)
        return first

    entries.append(["Root Entry", 5, _NONE, _NONE, b""])
    entries[0][3] = place(streams)
    sectors: list[bytes] = []
    chain: list[int] = []

    def store(data: bytes, size: int = _SECTOR, into: list[bytes] = sectors, links: list[int] = chain) -> int:
        if not data:
            return _END
        start, count = len(into), -(-len(data) // size)
        into.extend(data[at * size : (at + 1) * size].ljust(size, b"\0") for at in range(count))
        links.extend([*range(start + 1, start + count), _END])
        return start

    small: list[bytes] = []  # streams of less than 4,096 bytes lie in one stream of their own
    small_chain: list[int] = []
    starts = [
        (store(data, _SMALL, small, small_chain) if len(data) < 4_096 else store(data)) if kind == 2 else 0
        for _name, kind, _right, _child, data in entries
    ]
    entries[0][4] = b"".join(small)
    starts[0] = store(entries[0][4])
    small_fat = store(struct.pack(f"<{len(small_chain)}I", *small_chain).ljust(_SECTOR, b"\xff"))

    listed = b""
    for (name, kind, right, child, data), start in zip(entries, starts, strict=True):
        raw = (name + "\0").encode("utf-16-le")
        listed += raw.ljust(64, b"\0") + struct.pack("<HBBIII", len(raw), kind, 1, _NONE, right, child) + bytes(36)
        listed += struct.pack("<IQ", start, len(data))
    listed += bytes(-len(listed) % _SECTOR)
    directory = store(listed)
    fat_count = 1
    while (len(sectors) + fat_count) * 4 > fat_count * _SECTOR:
        fat_count += 1
    fat_at = len(sectors)
    chain += [_FAT] * fat_count
    fat = struct.pack(f"<{len(chain)}I", *chain).ljust(fat_count * _SECTOR, b"\xff")
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<HHHHH6x", 0x3E, 3, 0xFFFE, 9, 6)
    head += struct.pack("<IIIIIIIII", 0, fat_count, directory, 0, 4_096, small_fat, 1, _END, 0)
    places = [fat_at + at for at in range(fat_count)]
    head += struct.pack("<109I", *places, *[_FREE] * (109 - fat_count))
    return head + b"".join(sectors) + fat


def outlook(
    texts: Mapping[int, str | bytes],
    fixed: Mapping[int, bytes] | None = None,
    storages: Streams | None = None,
    *,
    is_inner: bool = False,
) -> Any:
    """Return a mail of Outlook: its texts (in Unicode) and bytes by number, values of eight bytes by tag.

    `is_inner` returns its streams, to lie in a storage of another one.
    """
    streams: dict[str, Any] = {}
    for number, value in texts.items():
        kind, data = (0x1F, value.encode("utf-16-le")) if isinstance(value, str) else (0x102, value)
        streams[f"__substg1.0_{number:04X}{kind:04X}"] = data
    streams["__properties_version1.0"] = properties(fixed or {}, 24 if is_inner else 32)
    streams |= dict(storages or {})
    return streams if is_inner else ole(streams)


def properties(fixed: Mapping[int, bytes], head: int) -> bytes:
    """Return a list of properties behind a head of so many bytes."""
    return bytes(head) + b"".join(struct.pack("<II", tag, 6) + value.ljust(8, b"\0") for tag, value in fixed.items())
