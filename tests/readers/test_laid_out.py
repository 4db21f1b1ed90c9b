"""Text without pages: decoding, layout, and each kind of file that is laid out."""

from __future__ import annotations

import io
import zipfile

import pytest

import papers
from docmind.errors import CorruptFileError, EmptyFileError, TooLargeError, UnsupportedFileError
from docmind.readers import Rules, reader
from docmind.readers.decode import encoding_of
from docmind.readers.layout import HEIGHT, MARGIN, WIDTH, Table, Text, flow
from docmind.readers.text import markdown
from docmind.schema import ParsedPage, Upload
from docmind.words import Words

RULES = Rules()


def pages_of(name: str, kind: str, data: bytes | str, rules: Rules = RULES) -> list[ParsedPage]:
    data = data.encode() if isinstance(data, str) else data
    opened = reader(kind)(Upload(name, data), kind, rules)
    return [opened.page(number) for number in range(1, opened.pages + 1)]


def text_of(name: str, kind: str, data: bytes | str) -> str:
    return "\n\n".join(page.text for page in pages_of(name, kind, data))


def test_every_word_has_its_box_on_the_page() -> None:
    (page,) = pages_of("a.md", "markdown", "# A heading\n\nSome words here.\n\n| a | b |\n|---|---|\n| one | two |\n")
    words = Words.unpack(page.words)
    spoken = [page.text[s:e] for s, e in zip(words.starts, words.ends, strict=True)]
    assert spoken == ["A", "heading", "Some", "words", "here.", "a", "b", "one", "two"]
    assert (words.boxes > 0).all()
    assert (words.boxes[:, 0] + words.boxes[:, 2] <= page.width).all()
    assert page.text == "A heading\n\nSome words here.\n\na | b\none | two"


def test_long_text_flows_over_sheets_and_stays_on_them() -> None:
    sheets = flow([Text("word " * 3_000), Text("x" * 5_000)], "a.txt", 100)
    assert len(sheets) > 3
    joined = " ".join(sheet.text for sheet in sheets)
    assert joined.split().count("word") == 3_000
    assert all(MARGIN <= line.y <= HEIGHT - MARGIN for sheet in sheets for line in sheet.lines)
    assert all(sheet.text[line.start :].startswith(line.text) for sheet in sheets for line in sheet.lines)


def test_a_word_longer_than_a_line_stays_one_word() -> None:
    (sheet,) = flow([Text("see " + "a" * 300 + " end")], "a.txt", 10)
    assert sheet.text.replace("\n", " ") == "see " + "a" * 300 + " end"
    assert len(sheet.lines) > 2


def test_cells_stand_in_columns_and_read_in_order() -> None:
    (sheet,) = flow([Table([["name", "note"], ["a", "many words " * 20], ["b", "few"]])], "a.csv", 10)
    assert sheet.text.startswith("name | note\na | many words many")
    assert sheet.text.endswith("\nb | few")
    columns = {line.x for line in sheet.lines}
    assert len(columns) == 2
    assert max(columns) < WIDTH - MARGIN


def test_a_table_wider_than_a_sheet_becomes_running_text() -> None:
    (sheet,) = flow([Table([[f"c{number}" for number in range(60)]])], "a.csv", 10)
    assert " ".join(sheet.text.split()) == " | ".join(f"c{number}" for number in range(60))


def test_too_many_sheets_are_refused() -> None:
    with pytest.raises(TooLargeError, match="more than 2 pages"):
        flow((Text("line") for _ in range(10_000)), "a.txt", 2)
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


def test_a_file_of_opening_marks_is_read_in_time_with_its_length() -> None:
    for mark in ("[a](", "**a ", "[", "`a "):
        assert len(list(markdown("x " + mark * 500_000))) == 1


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
    assert opened.title == "The Title of It"
    assert opened.page(1).text == "Head\n\nOne bold word.\n\nk | v\na | 1\n\n• item\n\nx\n  y"


def test_html_with_another_encoding() -> None:
    assert text_of("a.html", "html", "<meta charset=iso-8859-1><p>ação</p>".encode("latin-1")) == "ação"
    assert text_of("a.html", "html", "<meta charset=utf-8><p>ação</p>".encode("latin-1")) == "ação"


def test_a_deep_page_does_not_overflow() -> None:
    assert "deep" in text_of("a.html", "html", "<div>" * 1_500 + "deep" + "</div>" * 1_500)


def test_word_documents() -> None:
    opened = reader("docx")(Upload("a.docx", papers.word_file()), "docx", Rules())
    assert opened.title == "The Orchard Report"
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
    assert text_of("a.xlsx", "xlsx", out.getvalue()) == "Sheet\n\nzebra | 1.5 | TRUE\n3"


def test_books_in_the_order_of_their_spine() -> None:
    data = papers.book(["<h1>One</h1><p>oak</p>", "<h1>Two</h1><p>elm &amp; ash</p>"])
    opened = reader("epub")(Upload("a.epub", data), "epub", Rules())
    assert opened.title == "The Book of Trees"
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
