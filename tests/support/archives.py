"""Zip archives for tests."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping

from docmind.records.documents import Upload


def packed(files: Mapping[str, bytes | str]) -> bytes:
    """Return an archive of these files by name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def archive(name: str, files: Mapping[str, bytes | str], **more: object) -> Upload:
    """Return an archive of these files as it is handed in."""
    return Upload(name, packed(files), **more)  # type: ignore[arg-type]


def quine() -> bytes:
    """Return an archive whose only file is the archive itself, of 440 bytes, as `r.zip` of Russ Cox (2010) is.

    Its deflate stream says each of its own parts twice: as literals, and by the instructions that repeat them.
    """

    def literal(size: int) -> bytes:
        return struct.pack("<BHH", 0, size, size ^ 0xFFFF)

    name, about = b"r/r.zip", struct.pack("<HHHHIII", 0, 8, 0x0308, 0x3C64, 0x6489F4F9, 328, 440)
    head = b"PK\x03\x04\x14\0" + about + struct.pack("<HH", len(name), 0) + name
    central = b"PK\x01\x02\x14\0\x14\0" + about + struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, 0) + name
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), 365, 0)
    first, few, whole = (bytes.fromhex(one) for one in ("c2548e5739", "428821c400", "42e8215e0f"))  # what repeats
    rest = bytes.fromhex("0af066641261c015dce8a048bf48af2ab320c09b950dc46704425306060640000600f9ff")
    five, twenty, none = literal(5), literal(20), literal(0)
    ends = whole + none + rest + struct.pack("<IH", 365, 0)
    body = b"".join(
        (
            literal(37), head, literal(47), literal(37), head, literal(47), first, five, first, five, five, twenty,
            first, five, five, twenty, few, twenty, few, twenty, few, twenty, few, twenty, few, none, none,
            literal(52), few, none, none, literal(52), ends, ends,
        )
    )  # fmt: skip
    return head + body + central + end
