"""Text without pages: decoding, layout, and each kind of file that is laid out."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import papers
from docmind.blocks import Block, Cell, Losses, Table, pack, unpack
from docmind.documents.words import Words
from docmind.errors import CorruptFileError, EmptyFileError, TooLargeError, UnsupportedFileError
from docmind.reading.formats import Rules, reader
from docmind.reading.formats import typeset as sheet
from docmind.reading.formats.markdown import markdown
from docmind.reading.formats.text import encoding_of
from docmind.reading.formats.typeset import CELL_MAX, HEIGHT, MARGIN, WIDTH, draw_sheet, flow
from docmind.reading.sheets import SHEET, is_sheet
from docmind.records.documents import Loss, ParsedPage, Upload
from each import each_of

RULES = Rules()


def pages_of(name: str, kind: str, data: bytes | str, rules: Rules = RULES) -> list[ParsedPage]:
    data = data.encode() if isinstance(data, str) else data
    opened = reader(kind)(Upload(name, data), kind, rules)
    return [opened.page(number) for number in range(1, opened.pages + 1)]


def text_of(name: str, kind: str, data: bytes | str) -> str:
    return "\n\n".join(page.text for page in pages_of(name, kind, data))


def _said(text: str) -> Block:
    return Block(kind="paragraph", text=text)


def test_every_word_has_its_box_on_the_page() -> None:
    (page,) = pages_of("a.md", "markdown", "# A heading\n\nSome words here.\n\n| a | b |\n|---|---|\n| one | two |\n")
    words = Words.unpack(page.words)
    spoken = [page.text[s:e] for s, e in zip(words.starts, words.ends, strict=True)]
    assert spoken == ["A", "heading", "Some", "words", "here.", "a", "b", "one", "two"]
    assert (words.boxes > 0).all()
    assert (words.boxes[:, 0] + words.boxes[:, 2] <= page.width).all()
    assert page.text == "A heading\n\nSome words here.\n\na | b\none | two"


def test_long_text_flows_over_sheets_and_stays_on_them() -> None:
    sheets = flow([_said("word " * 3_000), _said("x" * 5_000)], "a.txt", 100)
    assert len(sheets) > 3
    joined = " ".join(sheet.text for sheet in sheets)
    assert joined.split().count("word") == 3_000
    assert all(MARGIN <= line.y <= HEIGHT - MARGIN for sheet in sheets for line in sheet.lines)
    assert all(sheet.text[line.start :].startswith(line.text) for sheet in sheets for line in sheet.lines)


def test_a_word_longer_than_a_line_stays_one_word() -> None:
    (sheet,) = flow([_said("see " + "a" * 300 + " end")], "a.txt", 10)
    assert sheet.text.replace("\n", " ") == "see " + "a" * 300 + " end"
    assert len(sheet.lines) > 2


def test_cells_stand_in_columns_and_read_in_order() -> None:
    (sheet,) = flow([Table(rows=[["name", "note"], ["a", "many words " * 20], ["b", "few"]])], "a.csv", 10)
    assert sheet.text.startswith("name | note\na | many words many")
    assert sheet.text.endswith("\nb | few")
    columns = {line.x for line in sheet.lines}
    assert len(columns) == 2
    assert max(columns) < WIDTH - MARGIN


def test_a_table_wider_than_a_sheet_becomes_running_text() -> None:
    (sheet,) = flow([Table(rows=[[f"c{number}" for number in range(60)]])], "a.csv", 10)
    assert " ".join(sheet.text.split()) == " | ".join(f"c{number}" for number in range(60))


def test_long_words_are_broken_where_only_they_keep_a_table_from_the_sheet() -> None:
    long = "DBLP:conf/nips/VaswaniSPUJGKP17"
    rows = [["Title", "Author", "Year", "Where", "Type", "Key"], ["Bees", "Ada", "1959", "Hives", long, long]]
    rows[1][0] = rows[1][3] = "Programming-Languages"
    (page,) = flow([Table(rows=rows, header_rows=1)], "a.bib", 10)
    tops = {line.y for line in page.lines if line.text in rows[0]}
    assert len(tops) == 1, "its columns stand side by side"
    assert page.text.count(long) == 2, "in the text a word stays whole"
    assert "1959" in [line.text for line in page.lines]


def test_empty_cells_at_the_start_of_a_row_that_is_running_text_lie_within_it() -> None:
    rows = [["x" * 40] * 8, [*[""] * 7, "y" * 40]]
    (page,) = flow([Table(rows=rows)], "a.csv", 10)
    row = page.blocks[-1]
    assert all(row.start <= start <= end <= row.end for start, end in row.cells)
    assert unpack(pack(page.blocks), len(page.text)) == tuple(page.blocks)


def test_cells_of_a_file_beyond_the_bound_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet, "MOST_CELLS", 7)
    monkeypatch.setattr(sheet, "MOST_COLUMNS", 3)
    losses = Losses()
    wide = Table(rows=[["a", "", "c", "d"], ["e", "", "", ""]], caption="Wide")
    long = Table(rows=[["f"], ["g", "h"], ["i", "j"], ["k"]], sheet="Long")
    (page,) = flow([wide, _said("between"), long, _said("after")], "a.xlsx", 10, losses)
    assert page.text == "Wide\n\na | | c\ne\n\nbetween\n\nf\ng | h\n\nafter"
    assert losses.found() == (Loss("cell", 1, "Wide"), Loss("cell", 3, "Long"))


def test_names_of_columns_that_would_fill_the_sheet_are_not_repeated_on_each() -> None:
    rows = [[f"name {number}" for number in range(250)], *[["1", "2"]] * 100]
    first, *others = flow([Table(rows=rows, header_rows=1)], "a.csv", 10)
    assert "name 249" in first.text
    assert others
    assert not any("name" in page.text for page in others)
    (about,) = {block.table for page in others for block in page.blocks}
    assert about is not None
    assert about.header[:2] == ("name 0", "name 1")


def test_names_of_columns_are_kept_up_to_a_length_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheet, "_NAMES_MAX", 10)
    (page,) = flow([Table(rows=[["name", "town", "more"], ["a", "b", "c"]], header_rows=1)], "a.csv", 10)
    about = page.blocks[-1].table
    assert about is not None
    assert about.header == ("name", "town")


def test_too_many_sheets_are_refused() -> None:
    with pytest.raises(TooLargeError, match="more than 2 pages"):
        flow((_said("line") for _ in range(10_000)), "a.txt", 2)
    with pytest.raises(TooLargeError, match="the limit is 1 MB"):
        pages_of("a.txt", "txt", "x" * (2 << 20), Rules(max_text_mb=1))


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"\xef\xbb\xbfword", "utf-8"),
        ("ação".encode("utf-16"), "utf-16-le"),
        ("plain latin text".encode("utf-16-be"), "utf-16-be"),
        ("ação".encode(), "utf-8"),
        ("ação".encode() + b"\xc3", "utf-8"),
        ("município; acumulação".encode("latin-1"), "cp1252"),
    ],
)
def test_encodings(data: bytes, encoding: str) -> None:
    assert encoding_of(data) == encoding


def test_csv_with_semicolons_in_latin_1() -> None:
    assert text_of("a.csv", "csv", "nome;ação\nJosé;10,5\n".encode("latin-1")) == "nome | ação\nJosé | 10,5"


def test_source_code_keeps_its_lines_and_its_spaces() -> None:
    long = "x" * 40
    source = f"def area(w, h):\n    # {long} {long} {long}\n\treturn w * h\n\n\nprint(area(2, 3))\n"
    text = text_of("a.py", "code", source)
    assert text.replace("\n", "") == source.expandtabs(8).replace("\n", "").rstrip()
    assert text.splitlines()[0] == "def area(w, h):"
    assert "\n        return w * h\n\nprint(area(2, 3))" in text


def test_markdown_without_its_marks() -> None:
    source = "Title\n=====\n\nSome **bold** and `code` with a [link](http://a.b).\n"
    source += "- one\n- two\n\n```\nx = 1\n  y\n```\n> quoted\n"
    assert text_of("a.md", "markdown", source) == (
        "Title\n\nSome bold and code with a link (http://a.b).\n\n• one\n\n• two\n\nx = 1\n  y\n\nquoted"
    )


def test_markdown_nested_escaped_and_fenced() -> None:
    source = "1. one\n   - *two* __three__ ~~four~~\n\n     more\n\n~~~ python\n# no heading\n~~~\n\n"
    source += "## A \\*star\\* &amp; snake_case\n\n![a sketch](b.png) <b>[x][1]</b>\\\nnext\n\n[1]: http://c.d\n"
    opened = reader("markdown")(Upload("a.md", source.encode()), "markdown", RULES)
    assert opened.facts["title"] == "A *star* & snake_case"
    assert opened.page(1).text == (
        "1. one\n\n• two three ~~four~~\n\nmore\n\n# no heading\n\nA *star* & snake_case\n\n"
        "a sketch (b.png) x (http://c.d) next"
    )


def test_markdown_too_deep_to_parse_keeps_its_words() -> None:
    assert "deep" in text_of("a.md", "markdown", "> " * 60 + "deep")


@pytest.mark.slow
def test_markdown_is_parsed_in_pieces_without_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.reading.formats.markdown._PIECE", 20_000)  # the text is ten times as long
    text = "\n\n".join(f"- item {number}" for number in range(12_000))
    texts = [(block.kind, block.marker, block.text) for block in markdown(text) if isinstance(block, Block)]
    assert texts == [("item", "•", f"item {number}") for number in range(12_000)]


@pytest.mark.slow
def test_a_file_of_opening_marks_is_read_in_time_with_its_length() -> None:
    for mark in ("[a](", "**a ", "[", "`a "):
        texts = [block.text for block in markdown("x " + mark * 100_000) if isinstance(block, Block)]
        assert "".join(texts).count("a") == (0 if mark == "[" else 100_000)
        assert "".join(texts).count("[") == (100_000 if "[" in mark else 0)


def test_aligned_text_keeps_its_columns() -> None:
    (page,) = pages_of("a.txt", "txt", "name      size\napple     10\npear      200\n")
    boxes = Words.unpack(page.words).boxes
    assert boxes[1][0] == boxes[3][0] == boxes[5][0]


def test_html_without_scripts_styles_and_hidden_parts() -> None:
    source = (
        "<html><head><title>The Title of It</title><style>p{color:red}</style></head><body><h1>Head</h1>"
        "<script>alert('no')</script><p>One <b>bold</b> word.<p hidden>secret</p><div style='display:none'>gone</div>"
        "<table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1<script>no()</script></td></tr></table>"
        "<ul><li>item</ul><pre>x\n  y</pre><!-- remark --></body></html>"
    )
    opened = reader("html")(Upload("a.html", source.encode()), "html", Rules())
    assert opened.facts["title"] == "The Title of It"
    assert opened.page(1).text == "Head\n\nOne bold word.\n\nk | v\na | 1\n\n• item\n\nx\n  y"


def test_html_with_another_encoding() -> None:
    assert text_of("a.html", "html", "<meta charset=iso-8859-1><p>ação</p>".encode("latin-1")) == "ação"
    assert text_of("a.html", "html", "<meta charset=utf-8><p>ação</p>".encode("latin-1")) == "ação"


def test_a_cell_that_is_cut_off_is_counted_once_in_every_format() -> None:
    long = Cell("x" * (CELL_MAX + 1), columns=2)
    losses = Losses()
    flow([Table(rows=[[long, replace(long, is_filled=True), "y"]], sheet="Stock")], "a.xlsx", 10, losses)
    assert losses.found() == (Loss("part", 1, "Stock"),)
    page = f"<table><tr><th>a<th>b<tr><td>1<td>{'x' * (CELL_MAX + 1)}</table>".encode()
    opened = reader("html")(Upload("a.html", page), "html", Rules(marks=False))
    assert opened.losses == (Loss("part", 1),)


def test_a_deep_page_does_not_overflow() -> None:
    assert "deep" in text_of("a.html", "html", "<div>" * 1_500 + "deep" + "</div>" * 1_500)


def test_word_documents() -> None:
    opened = reader("docx")(Upload("a.docx", papers.word_file()), "docx", Rules())
    assert opened.facts["title"] == "The Orchard Report"
    assert opened.page(1).text == "Apples\n\nOrchards grow apples.\n\nKind | Weight\nRusset | 140 g\n\n• first item"


def test_workbooks_ignore_their_declared_range() -> None:
    data = papers.workbook([["zebra", 1.5, None, True], [], [None, 3]])
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for item in old.infolist():
            body = old.read(item)
            if item.filename.endswith("sheet1.xml"):
                body = body.replace(b'ref="A1:D3"', b'ref="A1:XFD1048576"')
                assert b"XFD" in body
            new.writestr(item, body)
    assert text_of("a.xlsx", "xlsx", out.getvalue()) == "Sheet\n\nzebra | 1.5 | | TRUE\n| 3"


def test_workbooks_show_whole_numbers_and_errors() -> None:
    assert (
        text_of("a.xlsx", "xlsx", papers.workbook([[12345678901234, "#DIV/0!"]])) == "Sheet\n\n12345678901234 | #DIV/0!"
    )


@pytest.mark.slow
def test_workbooks_may_use_their_last_cell() -> None:
    data = papers.workbook([["first"]], {"XFD1048576": "last"})
    text = text_of("a.xlsx", "xlsx", data)
    assert text.startswith("Sheet\n\nfirst")
    assert text.endswith("last")


def test_books_in_the_order_of_their_spine() -> None:
    data = papers.book(["<h1>One</h1><p>oak</p>", "<h1>Two</h1><p>elm &amp; ash</p>"])
    opened = reader("epub")(Upload("a.epub", data), "epub", Rules())
    assert opened.facts["title"] == "The Book of Trees"
    assert opened.page(1).text == "One\n\noak\n\nTwo\n\nelm & ash"
    with pytest.raises(CorruptFileError, match="cannot be found"):
        reader("epub")(Upload("a.epub", papers.book(["<p>x</p>"], container=False)), "epub", Rules())


def test_archives_are_weighed_before_they_are_unpacked() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", bytes(30 << 20))
    with pytest.raises(TooLargeError, match="unpacks to 30 MB"):
        reader("docx")(Upload("a.docx", out.getvalue()), "docx", Rules())


def test_files_without_text_are_empty() -> None:
    for kind, data in (("html", b"<p> </p>"), ("xlsx", papers.workbook([])), ("markdown", b"---\n"), ("csv", b";;\n")):
        with pytest.raises(EmptyFileError, match="holds no text"):
            pages_of("a", kind, data)


def test_an_unknown_kind_names_those_there_are() -> None:
    with pytest.raises(UnsupportedFileError, match="docx, epub"):
        reader("papyrus")


def test_a_cell_holds_all_of_its_text() -> None:
    text = text_of(
        "a.html", "html", "<table><tr><td><p>One</p> and <b>t</b>wo<br>three</td><td>x</td></tr><tr><td/></tr></table>"
    )
    assert text.startswith("One and two three | x")


def test_no_page_is_drawn_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing is nearly all that a page of text costs."""

    def drawn(*_: object) -> Image.Image:
        raise AssertionError("a page was drawn")

    monkeypatch.setattr(sheet, "_draw", drawn)
    made = pages_of("a.txt", "txt", "a" * 20_000)
    assert len(made) > 5
    assert [page.page_no for page in made] == list(range(1, len(made) + 1))
    assert "".join(page.text.replace("\n", "") for page in made) == "a" * 20_000
    assert all(is_sheet(page.image) and (page.thumbnail, page.marks) == (b"", b"") for page in made)


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["txt", "markdown", "code"])
@pytest.mark.parametrize(
    "unit", ["a", "1", "_", ".", ". ", "- ", "中文字", "a中", "a1", "e\u0301", "😀", "\t", "*", "[", "|", "a\u2028"]
)
def test_a_monotonous_file_takes_no_more_than_its_length(unit: str, kind: str) -> None:
    """1 MB of it: what grows with the square of the length would take minutes."""
    text = unit * (1_000_000 // len(unit))
    try:
        opened = reader(kind)(Upload(f"a.{kind}", text.encode()), kind, Rules(image_side_px=200, thumbnail_side_px=64))
    except (EmptyFileError, TooLargeError):
        return
    assert opened.page(1).text


# --- pages are drawn when somebody looks at them ----------------------------------------------------------------------

LONG = "\n".join(f"{number},heron {number},{number * 37}.5,naïve ñandú" for number in range(400))


@each_of("text", [LONG, "a,b\n1,2"])
def test_the_picture_of_a_stored_sheet_has_the_size_of_the_page_and_ink_in_the_box_of_each_word(text: str) -> None:
    for page in pages_of("a.csv", "csv", text, Rules(image_side_px=1_600))[:3]:
        picture = draw_sheet(page.image)
        assert picture.size == (page.width, page.height)
        ink = np.asarray(picture) < 160
        boxes = Words.unpack(page.words).boxes.astype(int)
        for left, top, width, height in boxes:
            assert ink[top : top + height + 1, left : left + width + 1].any()
        below = int((boxes[:, 1] + boxes[:, 3]).max()) + 2
        assert not ink[below:].any()


def test_the_picture_of_a_short_note_ends_with_it() -> None:
    (note,) = pages_of("a.txt", "txt", "A few words.")
    (whole, *_others) = pages_of("a.csv", "csv", LONG)
    assert note.width == whole.width
    assert note.height < whole.height


def test_a_sheet_of_before_is_a_whole_one() -> None:
    told = {"width": 500, "height": 707, "lines": [["body", 40, 60, "Herons nest here."]]}
    whole = draw_sheet(_sheet({**told, "tall": HEIGHT}))
    assert draw_sheet(_sheet(told)).tobytes() == whole.tobytes()


def _sheet(told: object) -> bytes:
    return SHEET + zlib.compress(json.dumps(told).encode())


@each_of(
    "data",
    [
        SHEET + b"no zlib",
        SHEET + zlib.compress(b"no json"),
        SHEET + zlib.compress(b" " * (9 << 20) + b"{}"),
        _sheet([]),
        _sheet({"width": 10**6, "height": 10, "lines": []}),
        _sheet({"width": 10, "height": True, "lines": []}),
        _sheet({"width": 10, "height": 10, "tall": 0, "lines": []}),
        _sheet({"width": 10, "height": 10, "tall": 10**6, "lines": []}),
        _sheet({"width": 10, "height": 10, "tall": "10", "lines": []}),
        _sheet({"width": 10, "height": 10, "lines": [["../font", 1, 1, "text"]]}),
        _sheet({"width": 10, "height": 10, "lines": [["body", "NaN?", 1, "text"]]}),
        _sheet({"width": 10, "height": 10, "lines": [["body", 1]] * 3}),
        _sheet({"width": 10, "height": 10, "lines": [["body", 1, 1, ""]] * 20_001}),
    ],
)
def test_a_sheet_that_cannot_be_one_is_refused(data: bytes) -> None:
    with pytest.raises(CorruptFileError):
        draw_sheet(data)


def test_a_hostile_sheet_is_drawn_within_its_page() -> None:
    far = _sheet({"width": 100, "height": 140, "lines": [["body", 1e300, -1e300, "text"], ["h1", 5, 5, 7]]})
    assert draw_sheet(far).size == (100, 140)
