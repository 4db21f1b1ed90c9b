"""Zip archives: the table of what is inside, names in any code page, what is left out, refused or locked."""

from __future__ import annotations

import io
import random
import stat
import struct
import zipfile
import zlib
from contextlib import suppress
from typing import Any

import pytest

from archives import packed
from docmind import errors
from docmind.reading.file_type import identify
from docmind.reading.formats import Rules
from docmind.reading.formats.zip_archive import OpenedZip, open_zip
from docmind.records.documents import Enclosed, Upload
from each import each_of
from sampled import tenth_of


def opened(data: bytes, name: str = "a.zip", password: str | None = None, **rules: Any) -> OpenedZip:
    return open_zip(Upload(name, data, password), "zip", Rules(**rules))


def inside(data: bytes, password: str | None = None) -> dict[str, Enclosed]:
    return {one.name: one for one in opened(data, password=password).enclosed()}


def with_raw_name(raw: bytes) -> bytes:
    """Return an archive of one file whose name has these bytes and no mark of UTF-8."""
    data = packed({"x" * len(raw): "Hello"})
    return data.replace(b"x" * len(raw), raw)


def locked(files: dict[str, bytes], password: bytes) -> bytes:
    """Return an archive of stored files, each locked by the old cipher of zip archives."""

    def step(keys: list[int], byte: int) -> None:
        keys[0] = zlib_step(keys[0], byte)
        keys[1] = (keys[1] + (keys[0] & 0xFF)) & 0xFFFFFFFF
        keys[1] = (keys[1] * 134775813 + 1) & 0xFFFFFFFF
        keys[2] = zlib_step(keys[2], keys[1] >> 24)

    plain = io.BytesIO()
    with zipfile.ZipFile(plain, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data + bytes(12))  # room for the header of the cipher
    raw = bytearray(plain.getvalue())
    with zipfile.ZipFile(plain) as archive:
        infos = archive.infolist()
    central = raw.index(b"PK\x01\x02")
    for info, data in zip(infos, files.values(), strict=True):
        crc = zlib.crc32(data)
        keys = [0x12345678, 0x23456789, 0x34567890]
        for byte in password:
            step(keys, byte)
        sealed = bytearray()
        for byte in bytes(11) + bytes([crc >> 24]) + data:
            t = keys[2] | 2
            sealed.append(byte ^ (((t * (t ^ 1)) >> 8) & 0xFF))
            step(keys, byte)
        at = info.header_offset
        start = at + 30 + len(info.filename)
        raw[start : start + len(sealed)] = sealed
        for head, flags, sums in ((at, 6, 14), (central, 8, 16)):
            struct.pack_into("<H", raw, head + flags, 1)
            struct.pack_into("<III", raw, head + sums, crc, len(sealed), len(data))
        central += 46 + len(info.filename)
    return bytes(raw)


def zlib_step(crc: int, byte: int) -> int:
    crc ^= byte & 0xFF
    for _ in range(8):
        crc = (crc >> 1) ^ (0xEDB88320 if crc & 1 else 0)
    return crc


def test_a_table_tells_what_is_inside() -> None:
    page = opened(packed({"2025/lease.txt": "Lease", "prices.csv": "a,b\n"})).page(1)
    assert page.text.splitlines()[:3] == ["a.zip", "", "2 files, 9 bytes together"]
    assert "lease.txt" in page.text
    assert "2025" in page.text
    assert "5 bytes" in page.text


@each_of(
    "raw, name",
    [
        ("relatório.txt".encode(), "relatório.txt"),
        ("relatório.txt".encode("cp850"), "relatório.txt"),
        ("anulação e opções.txt".encode("cp850"), "anulação e opções.txt"),
        ("anulação e opções.txt".encode("cp1252"), "anulação e opções.txt"),
        ("año y niño.txt".encode("cp437"), "año y niño.txt"),
        ("e\u0301tude.txt".encode(), "étude.txt"),
        (b"..\\..\\evil.txt", "evil.txt"),
        (b"/etc/passwd", "etc/passwd"),
        (b"C:\\x\\y.txt", "C:/x/y.txt"),
    ],
)
def test_names_are_those_that_a_person_sees(raw: bytes, name: str) -> None:
    assert list(inside(with_raw_name(raw))) == [name]


def test_what_systems_add_is_left_out() -> None:
    junk = ("__MACOSX/._a.txt", ".DS_Store", "x/Thumbs.db", ".git/config", "desktop.ini", "empty folder/")
    found = inside(packed({**dict.fromkeys(junk, "x"), "a.txt": "Hello"}))
    assert {name: one.data for name, one in found.items()} == {"a.txt": b"Hello"}


def test_links_are_not_followed() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        link = zipfile.ZipInfo("link.txt")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    (one,) = inside(out.getvalue()).values()
    assert (one.data, one.error) == (b"", "It is a link, which is not followed.")


def test_locked_files_open_by_the_password() -> None:
    data = locked({"a.txt": b"Hello", "b.txt": b"There"}, b"heron")
    with pytest.raises(errors.PasswordNeededError, match="is needed"):
        opened(data)
    with pytest.raises(errors.PasswordNeededError, match="does not open"):
        opened(data, password="stork")
    assert {name: one.data for name, one in inside(data, "heron").items()} == {"a.txt": b"Hello", "b.txt": b"There"}


@each_of(
    "data, error, told",
    [
        (packed({}), errors.EmptyFileError, "holds no files"),
        (packed({".DS_Store": "x"}), errors.EmptyFileError, "holds no files"),
        (packed({"a.txt": bytes(30 << 20)}), errors.TooLargeError, "more than can be sound"),
        (packed({f"{n}.txt": "" for n in range(5_001)}), errors.TooLargeError, "at most 5,000"),
    ],
)
def test_an_archive_that_cannot_be_sound_is_refused(data: bytes, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        opened(data)


def test_files_that_share_bytes_are_refused() -> None:
    """The second entry of the directory points at the first file."""
    data = bytearray(packed({"a.txt": "Hello" * 50, "b.txt": "There"}))
    second = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 1)
    struct.pack_into("<I", data, second + 42, 0)
    with pytest.raises(errors.CorruptFileError, match="lie over one another"):
        opened(bytes(data))


def test_a_damaged_file_costs_itself_alone() -> None:
    data = bytearray(packed({"a.txt": "Hello" * 50, "b.txt": "There"}))
    at = 30 + len("a.txt")
    data[at : at + 4] = b"\xff\xff\xff\xff"
    found = inside(bytes(data))
    assert found["a.txt"].error == "It is broken inside the archive."
    assert found["b.txt"].data == b"There"


def test_mutants_end_in_an_archive_or_an_error() -> None:
    whole = packed({"2025/lease.txt": "Lease " * 40, "prices.csv": "a,b\n1,2\n", "inner.zip": packed({"x.txt": "x"})})
    for number in tenth_of(range(400)):
        chance = random.Random(number)
        data = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if number % 4 == 0:
            del data[chance.randrange(len(data)) :]
        upload = Upload("a.zip", bytes(data))
        with suppress(errors.ReadingError):
            kind, upload = identify(upload)
            if kind == "zip":
                made = open_zip(upload, kind, Rules())
                made.page(1)
                list(made.enclosed())
