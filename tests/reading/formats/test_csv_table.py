"""Separated values, at the level of blocks and of the text and blocks of pages."""

from __future__ import annotations

import random
import time

import pytest

from docmind.blocks import Block, Losses, Table, shown_in, unpack
from docmind.errors import ReadingError, TooLargeError
from docmind.reading.formats import Rules, reader
from docmind.reading.formats.csv_table import blocks, separator_of
from docmind.reading.formats.typeset import CELL_MAX
from docmind.records.documents import Loss, Upload


def read(text: str) -> tuple[list[str], Table, list[list[str]], tuple[Loss, ...]]:
    """Return the paragraphs above the table, the table, its rows as texts, and what was lost."""
    losses = Losses()
    *above, table = blocks(text, losses)
    assert isinstance(table, Table)
    rows = [[" ".join(shown_in(cell).split()) for cell in row] for row in table.rows]
    return [block.text for block in above if isinstance(block, Block)], table, rows, losses.found()


def rows_of(text: str) -> list[list[str]]:
    return read(text)[2]


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n3,25;4,0\n", ";"),
        ("a\tb\n1,5\t2;5\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ('"a";"b, c, d"\n"1,5";"2"\n', ";"),
        ('name,note\nAda,"one; two; three"\nBo,"four; five; six"\n', ","),
        ("Report; of a kind\nname,n\nAda,1\nBo,2\nCy,3\n", ","),
    ],
)
def test_the_separator_is_found(text: str, separator: str) -> None:
    assert separator_of(text) == separator


def test_a_line_may_say_the_separator() -> None:
    _above, table, rows, _losses = read("sep=;\nname;n\nAda, Heron;1\n")
    assert (table.header_rows, rows) == (1, [["name", "n"], ["Ada, Heron", "1"]])


def test_numbers_with_decimal_commas_in_one_column_stay_whole() -> None:
    assert rows_of("value\n1,5\n2,25\n") == [["value"], ["1,5"], ["2,25"]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_within_a_quoted_cell_stay_apart(end: str) -> None:
    text = end.join(["Name,Note,Weeks", 'Tilda,"Came by boat.', 'Left a ""small"" parcel.",3', "Orm,none,5", ""])
    assert rows_of(text) == [
        ["Name", "Note", "Weeks"], ["Tilda", 'Came by boat. Left a "small" parcel.', "3"], ["Orm", "none", "5"],
    ]  # fmt: skip


def test_a_line_separator_of_unicode_is_no_end_of_a_row() -> None:
    assert rows_of("a,b\none\u2028more,2\nx\x85y,3\n") == [["a", "b"], ["one more", "2"], ["x y", "3"]]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Name,Number\nAda,1\nBo,2\n", 1),
        ("Name,Town\nAda,Porto\nBo,Braga\n", 1),
        ("1,2\n3,4\n", 0),
        ("2024-01-01,5\n2024-01-02,6\n", 0),
        ("Ada,5\nBo,6\n", 0),
        ("Ada,Porto\nBo,Porto\nCy,Porto\n", 0),
        ("Name,Name\nx,y\nz,w\n", 0),
        ("Country,2020,2021\nPT,10,12\nES,11,13\n", 1),
        ("id,share,price\na,5%,3 €\nb,6%,4 €\n", 1),
        ("only,one,row\n", 0),
    ],
)
def test_the_first_row_names_the_columns_or_is_data(text: str, wanted: int) -> None:
    assert read(text)[1].header_rows == wanted


def test_lines_above_the_table_are_paragraphs() -> None:
    above, table, rows, _losses = read(
        "Trees of the parish,,\nas counted\n\nKind,Town,Height\nOak,Porto,12\nElm,Braga,9\n"
    )
    assert above == ["Trees of the parish", "as counted"]
    assert (table.header_rows, rows[0]) == (1, ["Kind", "Town", "Height"])
    above, _table, rows, _losses = read("Name\nAda\nBo\n")
    assert (above, rows) == ([], [["Name"], ["Ada"], ["Bo"]]), "the control: a list of one column"


def test_rows_of_another_length_keep_their_cells() -> None:
    rows = [f"p{n},t{n},{n}" for n in range(10)]
    found = rows_of("\n".join(["name,town,n", *rows, "short", "Smith, John, Jr, 3", ""]))
    assert found[-2:] == [["short"], ["Smith", "John", "Jr, 3"]]
    assert rows_of("a,b\n1,2,3\n4,5,6\n") == [["a", "b"], ["1", "2", "3"], ["4", "5", "6"]]


def test_a_broken_row_costs_itself() -> None:
    _above, _table, rows, losses = read('a,b\n1,"x\n2,y\n3,"z"\n4,k\n')
    assert rows == [["a", "b"], ["1", "x"], ["2", "y"], ["3", "z"], ["4", "k"]]
    assert losses == (Loss("part", 1),)
    lines = [f"{n},y" for n in range(5_000)]
    _above, _table, rows, losses = read("\n".join(["a,b", '1,"x', *lines, ""]))
    assert (len(rows), losses) == (5_002, (Loss("part", 1),))
    assert rows_of('size,n\n5" pipe,3\n6" pipe,4\n')[1:] == [['5" pipe', "3"], ['6" pipe', "4"]]


def test_a_cell_that_is_too_long_is_cut_and_counted() -> None:
    _above, _table, rows, losses = read(f'a,b\n1,"{"x" * 1_500_000}"\n2,ok\n')
    assert [len(rows), rows[2]] == [3, ["2", "ok"]]
    assert losses == ()
    opened = reader("csv")(Upload("a.csv", f"a,b\n1,{'x' * 1_500_000}\n2,ok\n".encode()), "csv", Rules(marks=False))
    assert sum(opened.page(number).text.count("x") for number in range(1, opened.pages + 1)) == CELL_MAX
    assert opened.losses == (Loss("part", 1),)


def test_nul_bytes_are_left_out() -> None:
    opened = reader("csv")(Upload("a.csv", b"name,n\nA\x00da,1\x00\n\x00Bo,2\n"), "csv", Rules(marks=False))
    assert opened.page(1).text == "name | n\nAda | 1\nBo | 2"


def test_empty_cells_at_the_end_of_a_wide_row_are_left_out() -> None:
    names = [f"Name of column {n}" for n in range(9)]
    rows = [[f"value {n}" for n in range(9)], [*(f"last value {n}" for n in range(8)), ""], ["", "one", *[""] * 7]]
    data = "\n".join(",".join(row) for row in (names, *rows)).encode()
    page = reader("csv")(Upload("a.csv", data), "csv", Rules(marks=False)).page(1)
    _head, *found = unpack(page.blocks, len(page.text))
    cells = [[" ".join(page.text[start:end].split()) for start, end in row.cells] for row in found]
    assert cells == [rows[0], rows[1][:-1], ["", "one"]]
    assert page.text.endswith("last value 7\n| one")


@pytest.mark.slow
def test_a_file_of_few_long_rows_above_short_ones_has_the_cells_that_are_there() -> None:
    long = [",".join(f"n{n}" for n in range(400)), *[",".join(["7"] * 400)] * 40]
    data = "\n".join([*long, *["5,6"] * 3_400]).encode()
    opened = reader("csv")(Upload("a.csv", data), "csv", Rules(marks=False))
    pages = [opened.page(number) for number in range(1, opened.pages + 1)]
    assert sum(len(page.text) for page in pages) < 3 * len(data)
    cells = sum(len(block.cells) for page in pages for block in unpack(page.blocks, len(page.text)))
    assert 6_800 < cells < 41 * 400 + 6_801


def test_columns_of_which_there_are_far_too_many_are_named() -> None:
    start = time.monotonic()
    row = ",".join(["1"] * 300_000)
    with pytest.raises(TooLargeError, match=r"The table has 300,000 columns; 16,384 are the most\.") as refused:
        reader("csv")(Upload("a.csv", f"{row}\n{row}\n".encode()), "csv", Rules())
    assert refused.value.hint == "Write its columns as rows, or split it into files of fewer columns, and add those."
    assert time.monotonic() - start < 10, "a second of one core; it took minutes"


def test_every_page_begins_with_the_names_of_the_columns_and_no_row_is_torn() -> None:
    dice = random.Random(3)
    towns = ["Porto", "Vila Nova de Gaia", "Braga", "Ponte de Lima"]
    people = [
        [f"Person {n}", dice.choice(towns), str(n * 37), f"{n * 1.25:.2f}", "word " * (n % 9) + "end"]
        for n in range(180)
    ]
    names = ["Name", "Town", "Number", "Amount", "Remark"]
    data = "\n".join(",".join(row) for row in [names, *people]).encode()
    opened = reader("csv")(Upload("people.csv", data), "csv", Rules(marks=False))
    assert opened.pages > 3
    seen = list[list[str]]()
    for number in range(1, opened.pages + 1):
        page = opened.page(number)
        first, *rest = unpack(page.blocks, len(page.text))
        assert (first.kind, first.start) == ("header_row", 0)
        assert page.text.startswith("Name | Town | Number | Amount | Remark\n")
        for row in rest:
            assert row.kind == "row"
            assert row.table is not None
            assert row.table.header == tuple(names)
            seen.append([" ".join(page.text[start:end].split()) for start, end in row.cells])
    assert seen == people


@pytest.mark.slow
def test_mutants_are_read_or_refused() -> None:
    dice = random.Random(5)
    seed = b'sep=;\nname;note\nAda;"two\nlines"\nBo;1,5\n"q""x";2024-01-01\n'
    texts = 0
    for _number in range(1_000):
        data = bytearray(seed * dice.randint(1, 5))
        for _edit in range(dice.randint(1, 8)):
            at = dice.randrange(len(data))
            data[at : at + dice.randint(0, 3)] = bytes(
                dice.choice(b'";,\n\r\0\xff\tx') for _ in range(dice.randint(0, 4))
            )
        try:
            texts += bool(reader("csv")(Upload("a.csv", bytes(data)), "csv", Rules()).page(1).text)
        except ReadingError:
            continue
    assert texts > 900
