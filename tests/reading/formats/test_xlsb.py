"""Binary Excel workbooks, from their records to the text of pages."""

from __future__ import annotations

import contextlib
import random
import struct

import pytest

from docmind.blocks import unpack
from docmind.errors import CorruptFileError, ReadingError
from docmind.reading.file_type import identify
from docmind.reading.formats import Opened, Rules, reader
from docmind.records.documents import Loss, Upload
from each import each_of
from sampled import tenth_of
from sheet_files import record, wide, xlsb

PERCENT, DAYS = 1, 2
STYLES = b"".join((
    record(44, struct.pack("<H", 164) + wide("0.0%")),
    record(43, struct.pack("<HHHH", 200, 0, 400, 0)), record(43, struct.pack("<HHHH", 200, 8, 400, 0)),
    record(43, struct.pack("<HHHH", 200, 0, 400, 1)),
    record(47, struct.pack("<HHH", 0, 164, 0)),  # of a named style: not of cells
    record(617), *(record(47, struct.pack("<HHH", 0, code, 0)) for code in (0, 164, 14)), record(618),
))  # fmt: skip


def row(number: int, *cells: bytes) -> bytes:
    return record(0, struct.pack("<I", number)) + b"".join(cells)


def cell(kind: int, column: int, value: bytes, style: int = 0) -> bytes:
    return record(kind, struct.pack("<II", column, style) + value)


def text(column: int, said: str) -> bytes:
    return cell(6, column, wide(said))


def real(column: int, number: float, style: int = 0) -> bytes:
    return cell(5, column, struct.pack("<d", number), style)


def opened(data: bytes) -> Opened:
    kind, upload = identify(Upload("a.xlsb", data))
    assert kind == "xlsb"
    return reader(kind)(upload, kind, Rules())


def text_of(*records: bytes, strings: bytes = b"", is_1904: bool = False) -> str:
    read = opened(xlsb(b"".join(records), styles=STYLES, strings=strings, is_1904=is_1904)).page(1).text
    return read.removeprefix("Prices\n\n")


def test_cells_are_shown_as_their_formats_say() -> None:
    read = text_of(
        row(0, *(text(at, name) for at, name in enumerate(("Item", "Share", "On", "Open")))),
        row(1, text(0, "rent"), real(1, 0.335, PERCENT), real(2, 45_000.0, DAYS), cell(4, 3, b"\1")),
        row(2, text(0, "gas"), cell(9, 1, struct.pack("<dH", 0.5, 0), PERCENT), real(2, 45_001.0, DAYS)),
        row(3, text(0, "sum"), cell(11, 1, b"\x07"), cell(8, 2, wide("later"))),
    )
    assert read == (
        "Item | Share | On | Open\nrent | 33.5% | 2023-03-15 | TRUE\ngas | 50.0% | 2023-03-16\nsum | #DIV/0! | later"
    )


@each_of(
    "packed, shown",
    [
        (12 << 2 | 2, "12"),
        (1_234 << 2 | 3, "12.34"),
        ((-5 << 2 | 2) & 0xFFFFFFFF, "-5"),
        (struct.unpack("<Q", struct.pack("<d", 1.5))[0] >> 32 & 0xFFFFFFFC, "1.5"),
    ],
)
def test_packed_numbers(packed: int, shown: str) -> None:
    assert text_of(row(0, text(0, "n"), cell(2, 1, struct.pack("<I", packed)))) == f"n | {shown}"


def test_shared_texts_with_runs_and_days_from_1904() -> None:
    rich = b"\1" + wide("was 90 m2") + struct.pack("<I", 4)
    rich += struct.pack("<8H", 4, 1, 6, 0, 8, 2, 9, 0)
    strings = record(19, b"\0" + wide("plain")) + record(19, rich)
    read = text_of(
        row(0, *(cell(7, at, struct.pack("<I", at)) for at in range(2)), real(2, 1.0, DAYS)),
        strings=strings,
        is_1904=True,
    )
    assert read == "plain | was ~~90~~ m² | 1904-01-02"


def test_what_a_sheet_says_of_its_table_and_its_comments() -> None:
    comments = record(632, wide("Ana")) + record(635, struct.pack("<5I", 0, 2, 2, 1, 1) + bytes(16))
    comments += record(637, b"\0" + wide("Ana:\nCheck this"))
    names = [("ann", "bo"), ("x", "y"), ("ann", "z")]
    sheet = b"".join((
        record(151, struct.pack("<ddIII", 0.0, 2.0, 2, 0, 2) + b"\1"),
        row(0, text(0, "Boats"), cell(1, 1, b"")),
        *(row(at, text(0, one), text(1, two)) for at, (one, two) in enumerate(names, 1)),
        record(176, struct.pack("<4I", 0, 0, 0, 1)),
        record(479, b"\0\0" + wide("&LList of the club") + struct.pack("<I", 0xFFFFFFFF)),
    ))  # fmt: skip
    page = opened(xlsb(sheet, styles=STYLES, comments=comments)).page(1)
    assert page.text == (
        "Prices\n\nList of the club\n\nBoats\n\nann | bo\nx | y\nann | z\n\nComment by Ana on “B3: y”: Check this"
    )
    assert [block.kind for block in unpack(page.blocks, len(page.text))].count("header_row") == 1


def test_a_sheet_that_breaks_off_is_read_as_far_as_it_goes() -> None:
    sheet = row(0, text(0, "first")) + row(1, text(0, "second"))
    read = opened(xlsb(sheet[:-3]))
    assert (read.page(1).text, read.losses) == ("Prices\n\nfirst", (Loss("part", 1, "Prices"),))


def test_cells_of_a_sheet_beyond_the_bound_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.reading.formats.sheet_cells.MOST_CELLS", 5)
    read = opened(xlsb(row(0, *(real(at, 1.0) for at in range(3))) + row(1, *(real(at, 2.0) for at in range(4)))))
    assert (read.page(1).text, read.losses) == ("Prices\n\n1 | 1 | 1\n2 | 2", (Loss("cell", 2, "Prices"),))


def test_damaged_workbooks_end_in_a_sentence_or_a_loss() -> None:
    sheet = row(0, text(0, "Item"), text(1, "Net")) + row(1, text(0, "rent"), real(1, 1.5, PERCENT))
    strings = record(19, b"\0" + wide("plain"))
    for number in tenth_of(range(200)):
        chance = random.Random(number)
        parts = [bytearray(part) for part in (sheet, STYLES, strings)]
        for _change in range(chance.choice((1, 4, 16))):
            part = chance.choice(parts)
            part[chance.randrange(len(part))] = chance.randrange(256)
        with contextlib.suppress(ReadingError):
            opened(xlsb(bytes(parts[0]), styles=bytes(parts[1]), strings=bytes(parts[2]))).page(1)
    with pytest.raises(CorruptFileError, match="is an Excel workbook that is broken"):
        opened(xlsb(b"\xff\xff\xff\xff\xff\xff"))
