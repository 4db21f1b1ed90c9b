"""Excel workbooks of before 2007, at the level of the text of pages."""

from __future__ import annotations

import contextlib
import datetime as dt
import random
import struct

import pytest
import xlwt

from docmind.blocks import unpack
from docmind.errors import CorruptFileError, PasswordNeededError, ReadingError, UnsupportedFileError
from docmind.reading.file_type import identify
from docmind.reading.formats import Opened, Rules, reader
from docmind.reading.formats.biff import beside_cells
from docmind.records.documents import Loss, Upload
from each import each_of
from sampled import tenth_of
from sheet_files import saved, xls


def opened(data: bytes, name: str = "a.xls") -> Opened:
    kind, upload = identify(Upload(name, data))
    assert kind == "xls"
    return reader(kind)(upload, kind, Rules())


def text_of(book: xlwt.Workbook) -> str:
    return opened(saved(book)).page(1).text


def test_cells_are_shown_as_their_formats_say() -> None:
    data = xls(
        {
            "Prices": [
                ["Item", "Share", "Net", "On", "Code", "Open"],
                [
                    "rent", (0.335, "0.0%"), (-1234.5, '#,##0.00 "€"'), (dt.date(2003, 4, 1), "DD.MM.YYYY"),
                    (7, "00000"), True,
                ],
            ]
        }
    )  # fmt: skip
    assert opened(data).page(1).text == (
        "Prices\n\nItem | Share | Net | On | Code | Open\nrent | 33.5% | -1,234.50 € | 01.04.2003 | 00007 | TRUE"
    )


def test_days_are_counted_from_1904_where_the_workbook_says_so() -> None:
    book = xlwt.Workbook()
    book.dates_1904 = True
    book.add_sheet("S").write(0, 0, 1.0, xlwt.easyxf(num_format_str="yyyy-mm-dd"))
    assert "1904-01-02" in text_of(book)


def test_what_a_sheet_says_of_its_table() -> None:
    book = xlwt.Workbook()
    sheet = book.add_sheet("S")
    sheet.write_merge(0, 0, 0, 1, "Boats of the club")
    for row, cells in enumerate([("ann", "bo"), ("x", "y"), ("ann", "z")], 2):
        for column, cell in enumerate(cells):
            sheet.write(row, column, cell)
    sheet.panes_frozen, sheet.horz_split_pos = True, 3
    hidden = book.add_sheet("Keys")
    hidden.visibility = 1
    hidden.write(0, 0, "spare key")
    page = opened(saved(book)).page(1)
    assert page.text == "S\n\nBoats of the club\n\nann | bo\nx | y\nann | z\n\nKeys (hidden)\n\nspare key"
    assert [block.kind for block in unpack(page.blocks, len(page.text))].count("header_row") == 1


def test_formulas_without_a_result_are_computed() -> None:
    book = xlwt.Workbook()
    sheet, other = book.add_sheet("S"), book.add_sheet("My sums")
    for row, number in enumerate((2, 3)):
        sheet.write(row, 0, number)
    other.write(0, 0, xlwt.Formula("SUM(S!A1:A2)*2"))
    other.write(1, 0, xlwt.Formula('IF(S!A2=3;"A1:A1 is 2.0";"no")'))
    other.write(2, 0, xlwt.Formula("NOW()"))
    read = opened(saved(book))
    assert read.page(1).text.endswith("10\nA1:A1 is 2.0\n=NOW()")
    assert read.losses == (Loss("formula", 1, "My sums"),)


def test_links_runs_and_margins() -> None:
    book = xlwt.Workbook()
    sheet = book.add_sheet("S")
    sheet.write(0, 0, xlwt.Formula('HYPERLINK("https://heron.example/t";"Terms")'))
    struck, raised = xlwt.easyfont("struck_out on"), xlwt.easyfont("escapement superscript")
    sheet.write_rich_text(1, 0, ["Price ", ("90", struck), " 80 a m", ("2", raised)])
    sheet.header_str, sheet.footer_str = b"&LReport of the && desk", b"&CPage &P of &N"
    assert text_of(book) == "S\n\nReport of the & desk\n\nTerms (https://heron.example/t)\n\nPrice ~~90~~ 80 a m²"


def _record(number: int, body: bytes = b"") -> bytes:
    return struct.pack("<HH", number, len(body)) + body


def test_charts_pictures_controls_and_texts_of_shapes() -> None:
    def drawn(kind: int) -> bytes:
        return _record(0x5D, struct.pack("<HHHHH", 0x15, 0x12, kind, 1, 0) + bytes(12))

    def text(said: str, at: int = 10) -> bytes:
        size = bytes(at) + struct.pack("<HH", len(said), 16) + bytes(4)
        half = len(said) // 2
        return _record(0x1B6, size) + _record(0x3C, b"\0" + said[:half].encode()) + _record(
            0x3C, b"\1" + said[half:].encode("utf-16-le")
        )  # fmt: skip

    title = _record(0x100D, b"\0\0\x06\0Visits") + _record(0x1027, b"\1\0")
    axis = _record(0x100D, b"\0\0\x05\0Month") + _record(0x1027, b"\2\0")
    data = b"".join((
        _record(0x809, bytes(16)), drawn(5), _record(0x809, bytes(16)), title, axis, _record(0x0A), drawn(8),
        drawn(0x0B), drawn(0x19), text("a comment"), drawn(6), text("In a box\nbelow"), _record(0x0A),
        _record(0x14, b"\1\0\0x"),
    ))  # fmt: skip
    found = beside_cells(data, 0, is_biff8=True, encoding="cp1252")
    assert (found.charts, found.titles, found.pictures, found.controls) == (1, ["Visits"], 1, 1)
    assert (found.texts, found.margins) == (["In a box", "below"], [])


def _entry(name: str) -> bytes:
    """Return the name of a part as the directory of an OLE file has it."""
    said = name.encode("utf-16-le")
    return said.ljust(64, b"\0") + struct.pack("<H", len(said) + 2)


@each_of(
    "part, what",
    [
        ("WordDocument", "a Word document of the kind used before 2007"),
        ("PowerPoint Document", "a PowerPoint presentation of the kind used before 2007"),
        ("Something", "an office file of the kind used before 2007"),
    ],
)
def test_other_old_files_are_named(part: str, what: str) -> None:
    data = xls({"S": [["a"]]}).replace(_entry("Workbook"), _entry(part))
    with pytest.raises(UnsupportedFileError, match=what):
        identify(Upload("a.xls", data))


def test_macros_of_an_old_workbook_are_counted() -> None:
    book = xls({"S": [["a"]]})
    at = book.index(_entry("Workbook"))  # its entry is the second of the directory; the third is the storage of macros
    none = struct.pack("<I", 0xFFFFFFFF)
    storage = _entry("_VBA_PROJECT_CUR") + b"\1\1" + 3 * none + bytes(48)
    beside = book[at + 66 : at + 68] + none + struct.pack("<I", 2)
    data = book[: at + 66] + beside + book[at + 76 : at + 128] + storage + book[at + 256 :]
    assert opened(book).losses == ()
    assert opened(data).losses == (Loss("macro", 1),)


def test_a_locked_word_file_of_before_2007_is_called_locked() -> None:
    base = struct.pack("<HHHHHH", 0xA5EC, 0xC1, 0, 0x409, 0, 0x0100)  # the last field says that it is encrypted
    for flags, told in ((0x0100, "before 2007, locked with a password"), (0, "before 2007, which DocMind does")):
        stream = base[:10] + struct.pack("<H", flags) + bytes(20)
        book = xls({"S": [["a"]]})
        start = book.index(struct.pack("<HH", 0x809, 16))
        data = book[:start] + stream + book[start + len(stream) :]
        with pytest.raises(UnsupportedFileError, match=told) as caught:
            identify(Upload("a.doc", data.replace(_entry("Workbook"), _entry("WordDocument"))))
        assert ("without a password" in caught.value.hint) == bool(flags)


def test_a_locked_workbook_asks_for_its_password() -> None:
    key = bytes(range(16))  # of RC4: the salt and two hashes that no password has
    locked = xls({"S": [["a"]]})
    stream = _record(0x2F, struct.pack("<HHH", 1, 1, 1) + key + key + key)
    bof = locked.index(struct.pack("<HH", 0x809, 16))
    data = locked[: bof + 20] + stream + locked[bof + 20 + len(stream) :]
    for password, sentence in ((None, "A password is needed"), ("heron", "That password does not open")):
        with pytest.raises(PasswordNeededError, match=sentence):
            identify(Upload("a.xls", data, password))


def test_a_page_or_rows_of_text_under_such_a_name_are_read_as_what_they_are() -> None:
    assert identify(Upload("a.xls", b"<html><body><table><tr><td>1</td></tr></table></body></html>"))[0] == "html"
    assert identify(Upload("a.xls", b"kind\tgrams\nrusset\t140\n"))[0] == "csv"


def test_damaged_workbooks_end_in_a_sentence_or_a_loss() -> None:
    good = xls({"S": [["Item", "Net"], ["rent", (1.5, "0.00")]], "T": [["a"]]})
    for number in tenth_of(range(150)):
        chance = random.Random(number)
        bad = bytearray(good)
        for _change in range(chance.choice((1, 4, 16))):
            bad[chance.randrange(512, len(bad))] = chance.randrange(256)
        with contextlib.suppress(ReadingError):
            opened(bytes(bad)).page(1)
    with pytest.raises(CorruptFileError, match="broken"):
        opened(good[: len(good) // 2])
