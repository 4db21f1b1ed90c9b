"""Pictures as programs of before 2007 keep them: Windows metafiles, and what is drawn in their workbooks."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Sequence

import xlwt
from PIL import Image
from xlwt.CompoundDoc import XlsDoc


def dib(picture: bytes) -> tuple[bytes, bytes]:
    """Return header and pixels of a picture as a bitmap without the head of its file."""
    out = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").save(out, "BMP")
    return out.getvalue()[14:54], out.getvalue()[54:]


def emf(*records: bytes, size: tuple[int, int] = (300, 200)) -> bytes:
    """Return an enhanced metafile of some records."""
    body = b"".join(records) + struct.pack("<5I", 14, 20, 0, 16, 20)
    head = struct.pack("<II4i4i", 1, 88, 0, 0, size[0] - 1, size[1] - 1, 0, 0, 9_000, 6_000)
    return (head + b" EMF" + struct.pack("<III", 0x10000, 88 + len(body), len(records) + 2)).ljust(88, b"\0") + body


def stretched(picture: bytes, place: tuple[int, int, int, int] = (0, 0, 299, 199)) -> bytes:
    """Return the record that draws a bitmap into a place of an enhanced metafile."""
    header, pixels = dib(picture)
    wide, high = struct.unpack_from("<ii", header, 4)
    left, top, right, bottom = place
    said = struct.pack("<4i6i", *place, left, top, 0, 0, wide, high)
    said += struct.pack("<4I", 80, len(header), 80 + len(header), len(pixels))
    said += struct.pack("<IIii", 0, 0xCC0020, right - left + 1, bottom - top + 1)
    return struct.pack("<II", 81, 8 + len(said) + len(header) + len(pixels)) + said + header + pixels


def plus(*records: bytes) -> bytes:
    """Return records of EMF+ in a comment of an enhanced metafile."""
    said = b"EMF+" + b"".join(records)
    return struct.pack("<III", 70, 12 + len(said) + -len(said) % 4, len(said)) + said + bytes(-len(said) % 4)


def plus_image(picture: bytes, parts: int = 1) -> list[bytes]:
    """Return the records of EMF+ that hold a packed picture, in some parts."""
    whole = struct.pack("<II", 0xDBC01002, 1) + struct.pack("<iiiII", 0, 0, 0, 0, 1) + picture
    whole += bytes(-len(whole) % 4)
    step = -(-len(whole) // parts // 4) * 4
    found = []
    for at in range(0, len(whole), step):
        part = whole[at : at + step]
        goes_on = at + step < len(whole)
        total = struct.pack("<I", len(whole)) if goes_on else b""
        flags = 5 << 8 | (0x8000 if goes_on else 0)
        found.append(struct.pack("<HHI", 0x4008, flags, 12 + len(total) + len(part)) + total
                     + struct.pack("<I", len(part)) + part)  # fmt: skip
    return found


def wmf(picture: bytes, *, is_placeable: bool = False, extent: tuple[int, int] = (300, 200)) -> bytes:
    """Return a metafile that draws a bitmap of 300 x 200 pixels into a window of this extent."""
    bitmap = b"".join(dib(picture))
    said = struct.pack("<IH", 0xCC0020, 0) + struct.pack("<8h", 200, 300, 0, 0, 200, 300, 0, 0) + bitmap
    said += bytes(len(said) % 2)
    window = struct.pack("<IHhh", 5, 0x020C, extent[1], extent[0])
    body = window + struct.pack("<IH", 3 + len(said) // 2, 0x0F43) + said + struct.pack("<IH", 3, 0)
    head = struct.pack("<HHHIHIH", 1, 9, 0x300, 9 + len(body) // 2, 0, 0, 0)
    placed = b"\xd7\xcd\xc6\x9a" + struct.pack("<H4hHIH", 0, 0, 0, 300, 200, 96, 0, 0)
    return (placed if is_placeable else b"") + head + body


def art(kind: int, body: bytes, *, version: int = 0, instance: int = 0) -> bytes:
    """Return a record of OfficeArt."""
    return struct.pack("<HHI", version | instance << 4, kind, len(body)) + body


def art_picture(picture: bytes, kind: int = 0xF01E, instance: int = 0x6E0) -> bytes:
    """Return an entry of the store of pictures; a metafile is packed."""
    if kind in (0xF01A, 0xF01B):
        body = bytes(16) + struct.pack("<I", len(picture)) + bytes(28) + b"\0\xfe" + zlib.compress(picture)
    else:
        body = bytes(16 + 16 * (instance & 1)) + b"\xff" + picture
    return art(0xF007, bytes(36) + art(kind, body, instance=instance), version=2, instance=6)


def art_shape(number: int, said: str = "") -> bytes:
    """Return a shape that shows the picture of this number."""
    text = (said + "\0").encode("utf-16-le") if said else b""
    table = struct.pack("<HI", 0x4104, number) + (struct.pack("<HI", 0xC381, len(text)) if said else b"")
    options = art(0xF00B, table + text, version=3, instance=1 + bool(said))
    return art(0xF004, art(0xF00A, bytes(8), version=2, instance=75) + options, version=15)


def drawn_workbook(pictures: Sequence[bytes], shapes: Sequence[bytes], *, cut: int = 8_000) -> bytes:
    """Return a workbook of before 2007 with entries of the store of pictures, and shapes on its sheet."""
    book = xlwt.Workbook(encoding="utf-8")
    sheet = book.add_sheet("Stock")
    for row, (item, count) in enumerate((("Item", "Count"), ("hose", 3), ("valve", 5))):
        sheet.write(row, 0, item)
        sheet.write(row, 1, count)
    data = book.get_biff_data()
    store = art(0xF000, art(0xF001, b"".join(pictures), version=15, instance=len(pictures)), version=15)
    parts = [store[at : at + cut] for at in range(0, len(store), cut)]
    group = b"".join(_record(0x3C if number else 0xEB, part) for number, part in enumerate(parts))
    drawing = b"".join(
        _record(0xEC, shape) + _record(0x5D, struct.pack("<HHHHH", 0x15, 0x12, 8, number, 0) + bytes(12))
        for number, shape in enumerate(shapes, 1)
    )
    end, moved = _records_until_end(data)
    changed = bytearray(data[:end] + group + data[end:])
    for place in moved:
        start = struct.unpack_from("<I", changed, place)[0] + len(group)
        struct.pack_into("<I", changed, place, start)
    last = bytes(changed).rindex(_record(0x0A, b""))
    out = io.BytesIO()
    XlsDoc().save(out, bytes(changed[:last]) + drawing + bytes(changed[last:]))
    return out.getvalue()


def _record(number: int, body: bytes) -> bytes:
    return struct.pack("<HH", number, len(body)) + body


def _records_until_end(data: bytes) -> tuple[int, list[int]]:
    """Return where the records of all sheets end, and the places of the sheets' starts among them."""
    at, places = 0, list[int]()
    while True:
        number, size = struct.unpack_from("<HH", data, at)
        if number == 0x0A:
            return at, places
        places += [at + 4] if number == 0x85 else []
        at += 4 + size
