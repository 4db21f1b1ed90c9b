"""Workbooks, at the level of blocks and of the text of pages."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import openpyxl
import pytest
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.drawing.image import Image as SheetImage
from openpyxl.styles import Font
from openpyxl.workbook.defined_name import DefinedName
from openpyxl.worksheet.table import Table as ExcelTable

import papers
from docmind.blocks import Block, Losses, Table, shown_in
from docmind.errors import CorruptFileError, EmptyFileError
from docmind.reading.formats import Rules, reader
from docmind.reading.formats.xlsx import blocks_of
from docmind.records.documents import Loss, Upload
from each import each_of

Make = Callable[[Any], None]


def made(make: Callable[[openpyxl.Workbook], None]) -> bytes:
    book = openpyxl.Workbook()
    make(book)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def sheet_of(rows: list[list[Any]], then: Make = lambda sheet: None) -> bytes:
    def make(book: openpyxl.Workbook) -> None:
        sheet = book.worksheets[0]
        for row in rows:
            sheet.append(row)
        then(sheet)

    return made(make)


def changed(data: bytes, parts: Mapping[str, Callable[[bytes], bytes]]) -> bytes:
    """Return a workbook with parts rewritten, by the end of their names."""
    out, done = io.BytesIO(), set[str]()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            body = old.read(name)
            for end, change in parts.items():
                if name.endswith(end):
                    before, body = body, change(body)
                    assert before != body, f"nothing to change in {name}"
                    done.add(end)
            new.writestr(name, body)
    assert done == set(parts)
    return out.getvalue()


def raw(sheet: str, *, styles: str = "", more: Mapping[str, str] | None = None, rels: str = "") -> bytes:
    """Return a workbook of one sheet, from the XML within its `worksheet`."""
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    parts = {
        "_rels/.rels": f'<Relationships xmlns="{package}"><Relationship Id="a" Type="{kinds}/officeDocument" '
        f'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {main} xmlns:r="{kinds}"><sheets><sheet name="S" sheetId="1" r:id="b"/>'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}"><Relationship Id="b" Type="{kinds}/worksheet" '
        f'Target="worksheets/one.xml"/><Relationship Id="c" Type="{kinds}/styles" Target="styles.xml"/>{rels}'
        "</Relationships>",
        "xl/styles.xml": f"<styleSheet {main}>{styles}</styleSheet>",
        "xl/worksheets/one.xml": f"<worksheet {main}>{sheet}</worksheet>",
        **(more or {}),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in parts.items():
            archive.writestr(name, body)
    return out.getvalue()


def read(data: bytes) -> tuple[list[Block | Table], tuple[Loss, ...]]:
    losses = Losses()
    found: list[Block | Table] = []
    for block in blocks_of(Upload("a.xlsx", data), Rules(), losses):
        if isinstance(block, Table):  # its rows are read now, as the layout does
            block = Table(
                rows=[list(row) for row in block.rows], header_rows=block.header_rows, caption=block.caption,
                header_columns=block.header_columns, sheet=block.sheet, is_hidden=block.is_hidden,
            )  # fmt: skip
        found.append(block)
    return found, losses.found()


def tables(data: bytes) -> list[Table]:
    return [block for block in read(data)[0] if isinstance(block, Table)]


def grid(table: Table) -> list[list[str]]:
    return [[shown_in(cell) for cell in row] for row in table.rows]


def text_of(data: bytes) -> str:
    opened = reader("xlsx")(Upload("a.xlsx", data), "xlsx", Rules(marks=False))
    return "\n".join(opened.page(number).text for number in range(1, opened.pages + 1))


PEOPLE = [["Name", "Number"], ["Ada", 12], ["Bo", 7]]


def test_cells_are_shown_as_their_formats_say() -> None:
    def formats(sheet: Any) -> None:
        for place, code in {"B2": "0.0%", "B3": "#,##0.00", "B4": "[h]:mm", "B5": '0.00 "EUR"', "B6": "000000"}.items():
            sheet[place].number_format = code
        sheet["B7"], sheet["B7"].number_format = dt.datetime.fromisoformat("2024-03-31T14:05"), "dd/mm/yyyy hh:mm"

    rows = [
        ["Item", "Value"],
        ["share", 0.125],
        ["cost", 12345678901.25],
        ["time", 27.5 / 24],
        ["price", 18.5],
        ["no", 42],
    ]
    (table,) = tables(sheet_of([*rows, ["day", None]], formats))
    assert grid(table) == [
        ["Item", "Value"], ["share", "12.5%"], ["cost", "12,345,678,901.25"], ["time", "27:30"], ["price", "18.50 EUR"],
        ["no", "000042"], ["day", "31/03/2024 14:05"],
    ]  # fmt: skip
    cells = [row[1] for row in table.rows][1:]
    assert [cell.type for cell in cells if not isinstance(cell, str)] == [
        "percent", "number", "duration", "amount", "number", "date",
    ]  # fmt: skip
    assert [cell.raw for cell in cells if not isinstance(cell, str)] == [
        "0.125", "12345678901.25", "1.145833333", "18.5", "42", "2024-03-31T14:05:00",
    ]  # fmt: skip
    assert table.header_rows == 1


def test_formulas_without_a_result_are_computed() -> None:
    def second(book: openpyxl.Workbook) -> None:
        one, two = book.worksheets[0], book.create_sheet("Other sheet")
        two["A1"], two["A2"] = 5, "=A1*2"
        for row in [
            ["Name", "Pieces", "Price", "Sum"], ["Spade", 3, 19, "=B2*C2"], ["Rake", 2, 14, "=B3*C3"],
            ["Total", None, None, "=SUM(D2:D3)"], ["Mean", None, None, "=AVERAGE(D2:D3)"],
            ["Least", None, None, "=MIN(D2:D3,100)"], ["Most", None, None, "=-MAX($D$2:$D$3)^2"],
            ["Number", None, None, "=COUNT(A2:D3)"], ["Elsewhere", None, None, "='Other sheet'!A2+1.5%"],
            ["Nothing", None, None, "=D2/Z9"], ["Words", None, None, '=A2&" & "&A3'],
            ["If", None, None, '=IF(D2>D3,"more","less")'], ["Rounded", None, None, "=ROUND(D2/7,1)"],
        ]:  # fmt: skip
            one.append(row)

    found, losses = read(made(second))
    table = next(block for block in found if isinstance(block, Table))
    wanted = ["57", "28", "85", "42.5", "28", "3249", "6", "10.015", "#DIV/0!", "Spade & Rake", "more", "8.1"]
    assert [row[3] for row in grid(table)][1:] == wanted
    assert losses == ()


def test_formulas_that_cannot_be_computed_are_shown_and_counted() -> None:
    rows = [
        ["Name", "Value"],
        ["a", "=VLOOKUP(A2,A:B,2)"],
        ["b", "=B4"],
        ["c", "=B3"],
        ["d", "=_xlfn.UNIQUE(A:A)"],
    ]
    found, losses = read(sheet_of(rows))
    table = next(block for block in found if isinstance(block, Table))
    assert [row[1] for row in grid(table)][1:] == ["=VLOOKUP(A2,A:B,2)", "=B4", "=B3", "=UNIQUE(A:A)"]
    assert losses == (Loss("formula", 4, "Sheet"),)


STOCK = [
    ["Item", "Pieces", "Price", "Kind"],
    ["Oar", 3, 10.5, "wood"],
    ["Mast", 2, 80, "wood"],
    ["Sail", 5, 40, "cloth"],
]


@each_of(
    "formula, wanted",
    [
        ('SUMIF(D2:D4,"wood",B2:B4)', "5"),
        ('SUMIF(B2:B4,">2")', "8"),
        ('SUMIF(D:D,"WOOD",B:B)', "5"),
        ('SUMIFS(B2:B4,D2:D4,"wood",A2:A4,"Oar")', "3"),
        ('AVERAGEIF(D2:D4,"wood",B2:B4)', "2.5"),
        ('COUNTIF(A2:A4,"*a*")', "3"),
        ('COUNTIF(A2:A4,"?a?")', "1"),
        ('COUNTIF(D2:D4,"<>wood")', "1"),
        ('COUNTIFS(D2:D4,"wood",B2:B4,">2")', "1"),
        ('VLOOKUP("mast",A2:C4,3,FALSE)', "80"),
        ('VLOOKUP("Mast",A:C,3,0)', "80"),
        ('VLOOKUP("Keel",A:C,3,0)', "#N/A"),
        ('VLOOKUP("Mast",A:C,9,0)', "#REF!"),
        ('IFERROR(VLOOKUP("Keel",A:C,3,0),"none")', "none"),
        ('HLOOKUP("Price",A1:D4,2,FALSE)', "10.5"),
        ('INDEX(C2:C4,MATCH("Sail",A2:A4,0))', "40"),
        ("INDEX(A1:D4,3,2)", "2"),
        ("MATCH(4,B5:B9,1)", "2"),
        ('_xlfn.XLOOKUP("Mast",A2:A4,C2:C4)', "80"),
        ("SUMPRODUCT(B2:B4,C2:C4)", "391.5"),
        ('_xlfn.IFS(B2>9,"a",TRUE,"b")', "b"),
        ("AND(B2>1,B3>1)", "TRUE"),
        ("OR(B2>9,NOT(TRUE))", "FALSE"),
        ('CONCATENATE(LEFT(A3,2),"-",MID(A3,2,2),"-",RIGHT(A3,1),"-",UPPER(A2))', "Ma-as-t-OAR"),
        ('LEN(TRIM("  a  b "))', "3"),
        ('TEXT(0.256,"0.0%")', "25.6%"),
        ("DATE(2026,14,5)-DATE(2027,2,1)", "4"),
        ("DAY(EOMONTH(DATE(2026,1,31),1))", "28"),
        ("ROUNDUP(2.1,0)+ROUNDDOWN(2.9,0)+MOD(-7,3)+MEDIAN(B2:B4)", "10"),
        ("SUBTOTAL(109,B2:B4)", "10"),
    ],
)
def test_functions_that_look_up_and_choose_are_computed(formula: str, wanted: str) -> None:
    def then(sheet: Any) -> None:
        sheet["B5"], sheet["B6"], sheet["B7"] = 1, 3, 7
        sheet["F1"], sheet["G1"], sheet["F2"], sheet["G2"] = "Result", "Value", "It is", f"={formula}"

    assert f"It is | {wanted}" in text_of(sheet_of(STOCK, then))


@each_of(
    "formula", ["VLOOKUP(4,B2:C4,2)", 'COUNTIF(A:A,"<>Oar")', 'COUNTIF(A2:A4,"<Oar")', "INDEX(A1:D4,0,2)", "B2:B4*2"]
)
def test_what_is_not_certain_is_shown_as_a_formula(formula: str) -> None:
    def then(sheet: Any) -> None:
        sheet["F1"], sheet["G1"], sheet["F2"], sheet["G2"] = "Result", "Value", "It is", f"={formula}"

    assert f"It is | ={formula}" in text_of(sheet_of(STOCK, then))


def test_names_and_columns_of_tables_in_formulas() -> None:
    def make(book: Any) -> None:
        sheet = book.worksheets[0]
        for row in [
            ["Item", "Net", "Tax"], ["Oar", 100, "=[@Net]*Rate"], ["Mast", 50, "=Sales[[#This Row],[Net]]*Rate"],
            ["Total", "=SUBTOTAL(109,Sales[Net])", "=SUM(Sales[Tax])"],
        ]:  # fmt: skip
            sheet.append(row)
        sheet["E1"], sheet["F1"], sheet["E2"], sheet["F2"] = "Key", "Value", "All", "=SUM(Nets)+Sales[[#Totals],[Net]]"
        sheet["E3"], sheet["F3"] = "Circle", "=Round"
        sheet.add_table(ExcelTable(displayName="Sales", ref="A1:C4", totalsRowCount=1))
        for name, text in {"Rate": "0.1", "Nets": "Sheet!$B$2:$B$3", "Round": "Round+1"}.items():
            book.defined_names[name] = DefinedName(name, attr_text=text)

    found, losses = read(made(make))
    one, other = (block for block in found if isinstance(block, Table))
    assert grid(one)[1:] == [["Oar", "100", "10"], ["Mast", "50", "5"], ["Total", "150", "15"]]
    assert grid(other)[1:] == [["All", "300"], ["Circle", "=Round"]]
    assert losses == (Loss("formula", 1, "Sheet"),)


@pytest.mark.slow
def test_many_look_ups_end_soon() -> None:
    rows = [[f"k{n}", n, f'=VLOOKUP("k{n}",A:B,2,FALSE)'] for n in range(3_000)]
    (table,) = tables(sheet_of([["Key", "Value", "Again"], *rows]))
    assert grid(table)[-1] == ["k2999", "2999", "2999"]


def test_raised_lowered_and_struck_runs_are_told_apart() -> None:
    def rich(*runs: tuple[str, str]) -> str:
        said = "".join(f"<r><rPr>{look}</rPr><t xml:space='preserve'>{text}</t></r>" for text, look in runs)
        return f'<c t="inlineStr"><is>{said}</is></c>'

    up = '<vertAlign val="superscript"/>'
    cells = rich(("40 m", ""), ("2", up)) + rich(("10", ""), ("6", up), (" people", ""))
    cells += rich(("CO", ""), ("2", '<vertAlign val="subscript"/>')) + rich(("90", "<strike/>"), (" 80", ""))
    (table,) = tables(raw(f'<sheetData><row r="1">{cells}</row></sheetData>'))
    assert grid(table) == [["40 m²", "10⁶ people", "CO₂", "~~90~~ 80"]]


def test_stored_results_are_believed_but_not_those_of_a_program_that_computes_nothing() -> None:
    cells = '<row r="1"><c r="A1"><v>5</v></c><c r="B1"><f>A1*2</f><v>{}</v></c></row>'
    sheet = "<sheetData>{}</sheetData>"
    (table,) = tables(raw(sheet.format(cells.format(99))))
    assert grid(table) == [["5", "99"]]
    uncalculated = changed(
        raw(sheet.format(cells.format(0))),
        {"xl/workbook.xml": lambda body: body.replace(b"</workbook>", b'<calcPr fullCalcOnLoad="1"/></workbook>')},
    )
    assert grid(tables(uncalculated)[0]) == [["5", "10"]]
    assert grid(tables(raw(sheet.format(cells.format(0))))[0]) == [["5", "0"]], "the control"


def test_shared_formulas_move_with_their_cells() -> None:
    rows = "".join(
        f'<row r="{n}"><c r="A{n}"><v>{n}</v></c><c r="B{n}"><f t="shared" si="0"/></c></row>' for n in (2, 3)
    )
    first = '<row r="1"><c r="A1"><v>1</v></c><c r="B1"><f t="shared" ref="B1:B3" si="0">A1*$A$1+10</f></c></row>'
    (table,) = tables(raw(f"<sheetData>{first}{rows}</sheetData>"))
    assert [row[1] for row in grid(table)] == ["11", "12", "13"]


@pytest.mark.slow
def test_long_chains_and_circles_of_formulas_end() -> None:
    (down,) = tables(sheet_of([["n"], [1], *([f"=A{row}+1"] for row in range(2, 500))]))
    assert grid(down)[-1] == ["499"]
    found, losses = read(sheet_of([["n"], *([f"=A{row + 1}+1"] for row in range(2, 500)), [1]]))
    assert grid(next(block for block in found if isinstance(block, Table)))[1] == ["499"]
    assert losses == ()
    deep = "=" + "(" * 500 + "1" + ")" * 500
    assert text_of(sheet_of([["a", deep], ["b", "=B2"]])).count("=") == 2


def test_merged_cells_are_filled_in_and_keep_their_span() -> None:
    def merge(sheet: Any) -> None:
        sheet.merge_cells("A2:A3")

    (table,) = tables(sheet_of([["Group", "Kind", "Number"], ["North", "Honey", 310], [None, "Wax", 45]], merge))
    assert grid(table)[1:] == [["North", "Honey", "310"], ["North", "Wax", "45"]]
    first, second = (row[0] for row in list(table.rows)[1:])
    assert not isinstance(first, str)
    assert not isinstance(second, str)
    assert (first.rows, first.columns, first.is_filled, second.is_filled) == (2, 1, False, True)


def test_names_of_columns_in_two_rows() -> None:
    def merge(sheet: Any) -> None:
        sheet.merge_cells("A1:A2")
        sheet.merge_cells("B1:C1")

    (table,) = tables(
        sheet_of([["Town", "2023", None], [None, "Men", "Women"], ["Porto", 5, 6], ["Braga", 7, 8]], merge)
    )
    assert table.header_rows == 2
    assert grid(table)[:2] == [["Town", "2023", "2023"], ["Town", "Men", "Women"]]


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        (PEOPLE, 1),
        ([[1, 2], [3, 4]], 0),
        ([["Country", 2020, 2021], ["PT", 10.5, 12], ["ES", 11, 13]], 1),
        ([["Ada", "Porto"], ["Bo", "Porto"], ["Cy", "Porto"]], 0),
        ([["Name", "Town"], ["Ada", "Porto"], ["Bo", "Braga"]], 1),
        ([["Name:", "Ada"], ["Town:", "Porto"]], 0),
    ],
)
def test_the_row_that_names_the_columns_is_found(rows: list[list[Any]], wanted: int) -> None:
    (table,) = tables(sheet_of(rows))
    assert table.header_rows == wanted


def test_what_the_sheet_itself_says_of_names_of_columns() -> None:
    rows = [["x", "x"], ["y", "y"], ["x", "y"]]

    def bold(sheet: Any) -> None:
        for cell in sheet[1]:
            cell.font = Font(bold=True)

    def frozen(sheet: Any) -> None:
        sheet.freeze_panes = "B3"

    def filtered(sheet: Any) -> None:
        sheet.auto_filter.ref = "A1:B3"

    def excel(sheet: Any) -> None:
        sheet.add_table(ExcelTable(displayName="T", ref="A1:B3"))

    found = [tables(sheet_of(rows, then))[0] for then in (lambda sheet: None, bold, frozen, filtered, excel)]
    assert [table.header_rows for table in found] == [0, 1, 2, 1, 1]
    assert found[2].header_columns == 1


def test_titles_notes_and_several_tables_of_a_sheet() -> None:
    def merge(sheet: Any) -> None:
        sheet.merge_cells("A1:B1")

    note = "Source: the count of the parish, as it was written down in the spring of that year."
    rows = [
        ["People of the parish"],
        ["as counted"],
        *PEOPLE,
        [note],
        [],
        ["Trees"],
        [],
        ["Kind", "Height"],
        ["Oak", 12],
        ["Elm", 9],
    ]
    found, _losses = read(sheet_of(rows, merge))
    assert [
        (block.kind, block.text) if isinstance(block, Block) else (block.caption, grid(block)) for block in found
    ] == [
        ("heading", "Sheet"),
        ("paragraph", "People of the parish"),
        ("as counted", [["Name", "Number"], ["Ada", "12"], ["Bo", "7"]]),
        ("paragraph", note),
        ("Trees", [["Kind", "Height"], ["Oak", "12"], ["Elm", "9"]]),
    ]


def test_tables_side_by_side_and_gaps_within_one() -> None:
    beside = [["Name", "Number", None, "Kind", "Height"], ["Ada", 12, None, "Oak", 9], ["Bo", 7, None, "Elm", 5]]
    assert [grid(table)[1] for table in tables(sheet_of(beside))] == [["Ada", "12"], ["Oak", "9"]]
    apart = [["Name", None, "Number"], ["Ada", None, 12], [], ["Bo", None, 7]]
    (table,) = tables(sheet_of(apart))
    assert grid(table) == [["Name", "", "Number"], ["Ada", "", "12"], ["Bo", "", "7"]]


def test_empty_rows_and_columns_before_a_table_are_left_out() -> None:
    (table,) = tables(papers.workbook([], {"D7": "Name", "E7": "Number", "D8": "Ada", "E8": 4}))
    assert grid(table) == [["Name", "Number"], ["Ada", "4"]]


def test_hidden_sheets_rows_and_columns_are_read_and_told() -> None:
    def hide(book: openpyxl.Workbook) -> None:
        book.worksheets[0].append(["seen", 1])
        for name, state in (("Costs", "hidden"), ("Deep", "veryHidden")):
            sheet = book.create_sheet(name)
            sheet.append(["kept", 2])
            sheet.sheet_state = state
        book.worksheets[0].row_dimensions[1].hidden = True
        book.worksheets[0].column_dimensions["B"].hidden = True

    found, losses = read(made(hide))
    assert [block.text for block in found if isinstance(block, Block)] == ["Sheet", "Costs (hidden)", "Deep (hidden)"]
    assert [table.is_hidden for table in found if isinstance(table, Table)] == [False, True, True]
    assert losses == ()


def test_comments_stand_below_their_table() -> None:
    def comment(sheet: Any) -> None:
        sheet["B2"].comment = Comment("Ada Heron:\nchecked twice", "Ada Heron")
        sheet["F9"].comment = Comment("a free cell", "")

    found, losses = read(sheet_of(PEOPLE, comment))
    notes = [block for block in found if isinstance(block, Block) and block.kind == "comment"]
    assert [(note.author, note.anchor, note.text) for note in notes] == [
        ("Ada Heron", "B2: 12", "checked twice"), ("", "F9", "a free cell"),
    ]  # fmt: skip
    assert losses == ()


def test_threads_take_the_place_of_the_notes_that_repeat_them() -> None:
    kinds, package = "http://schemas.openxmlformats.org/officeDocument/2006/relationships", "x"
    more = {
        "xl/worksheets/_rels/one.xml.rels": f'<Relationships xmlns="{package}"><Relationship Id="t" '
        'Type="http://schemas.microsoft.com/office/2017/10/relationships/threadedComment" Target="../t.xml"/>'
        f'<Relationship Id="u" Type="{kinds}/comments" Target="../c.xml"/></Relationships>',
        "xl/t.xml": '<ThreadedComments xmlns="y"><threadedComment ref="A1" personId="{1}"><text>Why?</text>'
        '</threadedComment><threadedComment ref="A1" personId="{2}"><text>Because.</text></threadedComment>'
        "</ThreadedComments>",
        "xl/c.xml": '<comments xmlns="z"><authors><author>tc</author></authors><commentList><comment ref="A1" '
        'authorId="0"><text><t>[Threaded comment] Why?</t></text></comment></commentList></comments>',
        "xl/people.xml": '<personList xmlns="p"><person displayName="Ada" id="{1}"/><person displayName="Bo" id="{2}"/>'
        "</personList>",
    }
    person = f'<Relationship Id="p" Type="{kinds}/person" Target="people.xml"/>'
    found, _losses = read(raw('<sheetData><row r="1"><c r="A1"><v>5</v></c></row></sheetData>', more=more, rels=person))
    notes = [(block.author, block.text) for block in found if isinstance(block, Block) and block.kind == "comment"]
    assert notes == [("Ada", "Why?"), ("Bo", "Because.")]


def test_links_show_their_address_where_it_says_more() -> None:
    def link(sheet: Any) -> None:
        sheet["A2"].hyperlink = "https://ada.example/page"
        sheet["A3"].hyperlink = "mailto:bo@b.example"
        sheet["A3"] = "bo@b.example"

    (table,) = tables(
        sheet_of([["Name", "Number"], ["Ada", 1], ["", 2], ['=HYPERLINK("http://c.example","Cy")', 3]], link)
    )
    shown = [row[0] for row in grid(table)][1:]
    assert shown == ["Ada (https://ada.example/page)", "bo@b.example", "Cy (http://c.example)"]


def test_headers_and_footers_are_given_once() -> None:
    def margins(book: openpyxl.Workbook) -> None:
        sheets: list[Any] = [book.worksheets[0], book.create_sheet("Two")]
        for sheet in sheets:
            sheet.append(["a", 1])
            sheet.oddHeader.left.text = "Parish &amp; Co".replace("&amp;", "&&")
            sheet.oddFooter.center.text = "Page &P of &N"
            sheet.oddFooter.right.text = "Confidential"

    found, _losses = read(made(margins))
    said = [(block.kind, block.text) for block in found if isinstance(block, Block) and block.kind != "heading"]
    assert said == [("header", "Parish & Co"), ("footer", "Confidential")]


def test_charts_and_macros_are_counted_and_pictures_are_figures() -> None:
    def draw(sheet: Any) -> None:
        chart = BarChart()
        chart.title = "Trees by height"
        chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
        sheet.add_chart(chart, "E2")
        sheet.add_image(SheetImage(io.BytesIO(papers.picture())), "E9")

    data = changed(
        sheet_of(PEOPLE, draw),
        {
            "workbook.xml.rels": lambda body: body.replace(
                b"</Relationships>",
                b'<Relationship Id="v" Type="http://schemas.microsoft.com/office/2006/relationships/vbaProject" '
                b'Target="vbaProject.bin"/></Relationships>',
            )
        },
    )
    found, losses = read(data)
    assert set(losses) == {Loss("chart", 1, "Sheet"), Loss("macro", 1)}
    figures = [block for block in found if isinstance(block, Block) and block.kind == "figure"]
    assert sorted(block.text for block in figures) == ["", "Trees by height"]
    assert [block.picture.width for block in figures if block.picture is not None] == [120]


def test_rich_text_without_phonetic_runs_and_with_escaped_characters() -> None:
    cells = (
        '<row r="1"><c r="A1" t="inlineStr"><is><r><t>red </t></r><r><rPr><b/></rPr><t>apple</t></r>'
        '<rPh sb="0" eb="1"><t>sound</t></rPh></is></c><c r="B1" t="inlineStr"><is><t>a_x000A_b_x0041_</t></is></c>'
        '<c r="C1" t="e"><v>#N/A</v></c><c r="D1" t="b"><v>1</v></c><c r="E1" t="str"><f>A1</f><v>red</v></c></row>'
    )
    (table,) = tables(raw(f"<sheetData>{cells}</sheetData>"))
    assert grid(table) == [["red apple", "a\nbA", "#N/A", "TRUE", "red"]]


def test_strict_workbooks_and_days_from_1904() -> None:
    strict = b"http://purl.oclc.org/ooxml/spreadsheetml/main"
    styles = '<numFmts><numFmt numFmtId="170" formatCode="d.m.yyyy"/></numFmts>'
    styles += '<cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs>'
    cells = '<c r="A1" t="d" s="1"><v>2024-03-31</v></c><c r="B1" s="1"><v>43538</v></c>'
    plain = raw(f'<sheetData><row r="1">{cells}</row></sheetData>', styles=styles)
    assert grid(tables(plain)[0]) == [["31.3.2024", "14.3.2019"]]
    main = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    changes = {name: lambda body: body.replace(main, strict) for name in ("one.xml", "styles.xml")}
    changes["xl/workbook.xml"] = lambda body: body.replace(main, strict).replace(
        b"<sheets>", b'<workbookPr date1904="1"/><sheets>'
    )
    assert grid(tables(changed(plain, changes))[0]) == [["31.3.2024", "15.3.2023"]]


def test_a_value_that_its_format_hides_is_counted() -> None:
    def hide(sheet: Any) -> None:
        sheet["B2"].number_format = ";;;"

    assert read(sheet_of(PEOPLE, hide))[1] == (Loss("hidden_text", 1, "Sheet"),)


def test_a_sheet_that_breaks_off_is_read_as_far_as_it_goes() -> None:
    found, losses = read(changed(sheet_of(PEOPLE), {"sheet1.xml": lambda body: body[: body.index(b'r="3"') + 3]}))
    assert grid(next(block for block in found if isinstance(block, Table))) == [["Name", "Number"], ["Ada", "12"]]
    assert losses == (Loss("part", 1, "Sheet"),)


def test_strings_that_break_off_cost_the_cells_that_need_them() -> None:
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings"
    data = raw(
        '<sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1"><v>3</v></c></row>'
        "</sheetData>",
        more={"xl/s.xml": '<sst xmlns="s"><si><t>kept</t></si><si><t>lo'},
        rels=f'<Relationship Id="s" Type="{kind}" Target="s.xml"/>',
    )
    found, losses = read(data)
    assert [grid(block) for block in found if isinstance(block, Table)] == [[["kept", "", "3"]]]
    assert losses == (Loss("part", 1, "xl/s.xml"), Loss("part", 1, "S"))


def test_a_broken_workbook_is_refused_with_its_sentence() -> None:
    for end in ("xl/workbook.xml", "sheet1.xml"):
        with pytest.raises(CorruptFileError, match="broken"):
            text_of(changed(sheet_of(PEOPLE), {end: lambda body: body[:40]}))
    with pytest.raises(EmptyFileError):
        text_of(sheet_of([]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        '<dimension ref="A1:XFD1048576"/>',
        '<mergeCells><mergeCell ref="A1:A1048576"/></mergeCells>',
        '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>',
        "<mergeCells>" + '<mergeCell ref="A1:XFD1048576"/>' * 5_000 + "</mergeCells>",
        '<hyperlinks><hyperlink ref="A1:XFD1048576" r:id="x" xmlns:r="r"/></hyperlinks>',
        '<autoFilter ref="A1:XFD1048576"/>',
    ],
)
def test_ranges_of_many_millions_of_cells_end(more: str) -> None:
    cells = '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
    order = (f"<sheetData>{cells}</sheetData>", more)
    found, _losses = read(raw("".join(order if "dimension" not in more else reversed(order))))
    assert len(found) >= 2


def test_a_sum_over_whole_columns_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.reading.formats.formulas._VISITS", 50_000)
    cells = "".join(
        f'<row r="{n}"><c r="A{n}"><v>1</v></c><c r="B{n}"><f>SUM(A:A)</f></c></row>' for n in range(1, 601)
    )
    found, losses = read(raw(f"<sheetData>{cells}</sheetData>"))
    table = next(block for block in found if isinstance(block, Table))
    assert grid(table)[0] == ["1", "600"]
    assert losses[0].kind == "formula", "the rest of 360,000 cells is not looked at"


def test_cells_of_a_sheet_beyond_the_bound_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.reading.formats.sheet_cells.MOST_CELLS", 5)
    found, losses = read(sheet_of([["Name", "Town"], ["Ada", "Porto"], ["Bo", "Faro"]]))
    (table,) = (block for block in found if isinstance(block, Table))
    assert grid(table) == [["Name", "Town"], ["Ada", "Porto"], ["Bo"]]
    assert losses == (Loss("cell", 1, "Sheet"),)


def test_a_header_is_repeated_on_each_page() -> None:
    data = sheet_of([["Name", "Town", "Number"], *([f"Person {n}", f"Town {n % 7}", n] for n in range(180))])
    opened = reader("xlsx")(Upload("a.xlsx", data), "xlsx", Rules(marks=False))
    assert opened.pages > 3
    for number in range(2, opened.pages + 1):
        assert opened.page(number).text.startswith("Name | Town | Number\nPerson ")
