"""Word documents: what they show, in reading order, and what is told of the rest."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Mapping

import pytest

from docmind.blocks import Block, Losses, Table, shown_in
from docmind.errors import CorruptFileError, EmptyFileError
from docmind.reading.formats import Rules, open_archive, reader
from docmind.reading.formats.ooxml import Package
from docmind.records.documents import Loss, Upload
from each import each_of
from papers import para, word_table, word_xml

NUMBER = '<w:numPr><w:ilvl w:val="{}"/><w:numId w:val="{}"/></w:numPr>'


def page_text(data: bytes) -> str:
    opened = reader("docx")(Upload("a.docx", data), "docx", Rules())
    return "\n\n".join(opened.page(number).text for number in range(1, opened.pages + 1))


def text_of(body: str, parts: Mapping[str, str] | None = None) -> str:
    return page_text(word_xml(body, parts))


def losses_of(body: str, parts: Mapping[str, str] | None = None) -> tuple[Loss, ...]:
    data = word_xml(body + para("Text."), parts)
    return reader("docx")(Upload("a.docx", data), "docx", Rules()).losses


def blocks_of(body: str, parts: Mapping[str, str] | None = None) -> list[Block | Table]:
    from docmind.reading.formats.docx.body import blocks_of as read
    from docmind.reading.formats.docx.package import Package as WordPackage

    losses = Losses()
    with open_archive(Upload("a.docx", word_xml(body, parts)), Rules()) as archive:
        return list(read(WordPackage(archive, losses), losses))


def said(body: str, parts: Mapping[str, str] | None = None) -> list[tuple[str, str]]:
    """Return kind and text of each block, with its marker before it."""
    blocks = [block for block in blocks_of(body, parts) if isinstance(block, Block)]
    return [(block.kind, f"{block.marker} {block.text}".strip()) for block in blocks]


def table_of(body: str, parts: Mapping[str, str] | None = None) -> tuple[Table, list[list[str]]]:
    (table,) = (block for block in blocks_of(body, parts) if isinstance(block, Table))
    return table, [[shown_in(cell) for cell in row] for row in table.rows]


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def field(instruction: str, result: str, data: str = "") -> str:
    shown = f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{run(result)}' if result else ""
    return (
        f'<w:r><w:fldChar w:fldCharType="begin">{data}</w:fldChar></w:r>'
        f"<w:r><w:instrText>{instruction}</w:instrText></w:r>{shown}"
        '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
    )


def level(rank: int, text: str, kind: str = "decimal", more: str = "", start: int = 1) -> str:
    return (
        f'<w:lvl w:ilvl="{rank}"><w:start w:val="{start}"/><w:numFmt w:val="{kind}"/>{more}<w:lvlText w:val="{text}"/>'
        "</w:lvl>"
    )


def lists(*abstract: str, nums: str = "") -> dict[str, str]:
    """Return the part of lists: number N uses the Nth of them, and further ones as they stand."""
    said = "".join(f'<w:abstractNum w:abstractNumId="{at}">{xml}</w:abstractNum>' for at, xml in enumerate(abstract, 1))
    own = "".join(
        f'<w:num w:numId="{at}"><w:abstractNumId w:val="{at}"/></w:num>' for at in range(1, len(abstract) + 1)
    )
    return {"numbering": said + own + nums}


def markers(items: list[tuple[int, int]], parts: Mapping[str, str]) -> list[str]:
    """Return the markers of items, each of a level and a list."""
    body = "".join(para("x", NUMBER.format(rank, number)) for rank, number in items)
    return [block.marker for block in blocks_of(body, parts) if isinstance(block, Block)]


UP, DOWN = '<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>'


def style(name: str, look: str, kind: str = "character") -> dict[str, str]:
    return {
        "styles": f'<w:style w:type="{kind}" w:styleId="{name}"><w:name w:val="{name}"/><w:rPr>{look}</w:rPr></w:style>'
    }


@each_of(
    "runs, parts, wanted",
    [
        (run("10") + run("6", UP) + run(" people"), {}, "10⁶ people"),
        (run("10") + run("-", UP) + run("6", UP) + run(" m, 40 m") + run("2", UP), {}, "10⁻⁶ m, 40 m²"),
        (run("CO") + run("2", DOWN) + run(" in H") + run("2", DOWN) + run("O"), {}, "CO₂ in H₂O"),
        (run("10") + run("6", '<w:rStyle w:val="Up"/>'), style("Up", UP), "10⁶"),
        (run("the 2") + run("nd", UP) + run(" day"), {}, "the 2nd day"),
        (run("Price ") + run("9", "<w:strike/>") + run("0 ", "<w:dstrike/>") + run("80"), {}, "Price ~~90~~ 80"),
        (run("Price ") + run("90", '<w:strike w:val="0"/>'), {}, "Price 90"),
        (run("Old", '<w:rStyle w:val="Out"/>') + run(" new"), style("Out", "<w:strike/>"), "~~Old~~ new"),
    ],
)
def test_raised_lowered_and_struck_text_is_told_apart(runs: str, parts: dict[str, str], wanted: str) -> None:
    assert said(para("", "", runs), parts) == [("paragraph", wanted)]


def test_a_drop_cap_begins_its_paragraph() -> None:
    assert said(para("O", '<w:framePr w:dropCap="drop"/>') + para("nce upon a time.")) == [
        ("paragraph", "Once upon a time.")
    ]


def test_rows_that_a_list_numbers_show_their_numbers() -> None:
    number = para("", NUMBER.format(0, 1))
    rows = "".join(f"<w:tr><w:tc>{number}</w:tc><w:tc>{para(text)}</w:tc></w:tr>" for text in ("Oars", "Masts"))
    _table, grid = table_of(f"<w:tbl>{rows}</w:tbl>", lists(level(0, "%1.")))
    assert grid == [["1.", "Oars"], ["2.", "Masts"]]


def test_headers_that_no_page_shows_are_told_and_left() -> None:
    parts = {"header": para("First"), "header2": para("Even"), "header3": para("All")}
    names = {"first": "header", "even": "header2", "default": "header3"}
    links = "".join(f'<w:headerReference w:type="{kind}" r:id="{name}"/>' for kind, name in names.items())
    assert said(para("Text") + f"<w:sectPr>{links}</w:sectPr>", parts) == [("header", "All"), ("paragraph", "Text")]
    assert losses_of(f"<w:sectPr>{links}</w:sectPr>", parts) == (Loss("hidden_text", 2, "header"),)
    shown = said(
        para("Text") + f"<w:sectPr>{links}<w:titlePg/></w:sectPr>", {**parts, "settings": "<w:evenAndOddHeaders/>"}
    )
    assert [text for kind, text in shown if kind == "header"] == ["First", "All", "Even"]
    later = para("One", f"<w:sectPr>{links}</w:sectPr>") + para("Two") + "<w:sectPr><w:titlePg/></w:sectPr>"
    assert [text for _kind, text in said(later, parts) if text] == ["All", "One", "First", "Two"]


@each_of(
    "rows, wanted",
    [
        ([["Kind", "Weight"], ["Russet", "140 g"], ["Pippin", "90 g"]], 1),
        ([["Site", "North"], ["Owner", "Ada"]], 0),
        ([["Name:", "Ada"], ["Age:", "41"]], 0),
        ([["Town", "2023", "2024"], ["Porto", "5", "6"], ["Braga", "7", "8"]], 1),
        ([["Ada", "41"], ["Bo", "7"]], 0),
    ],
)
def test_rows_that_name_columns_are_known_as_in_a_sheet(rows: list[list[str]], wanted: int) -> None:
    assert table_of(word_table(rows))[0].header_rows == wanted


def test_a_part_whose_name_has_a_space_is_found_however_its_target_writes_it() -> None:
    for name, target in (("a b.part", "a%20b.part"), ("a%20b.part", "a%20b.part"), ("a b.part", "a b.part")):
        out = io.BytesIO()
        data = word_xml(para("x"), {"footnotes": "<w:footnote/>"})
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
            for part in old.namelist():
                body = old.read(part).replace(b'"footnotes.part"', f'"{target}"'.encode())
                new.writestr(part.replace("footnotes.part", name), body)
        with zipfile.ZipFile(out) as archive:
            package = Package(archive)
            assert package.has(package.links("word/document.xml")["footnotes"].target), (name, target)


# Tracked changes, controls and fields


def test_inserted_text_is_text_and_deleted_text_is_not() -> None:
    body = (
        para("The fee is ", runs=f"<w:del><w:r><w:delText>350</w:delText></w:r></w:del><w:ins>{run('480')}</w:ins>")
        + para(runs=f"<w:moveFrom>{run('Old place.')}</w:moveFrom><w:moveTo>{run('New place.')}</w:moveTo>")
        + para("Joined ", "<w:rPr><w:del/></w:rPr>")
        + para("again.")
        + word_table([["kept", "row"], ["next", "row"]]).replace(
            "</w:tbl>",
            f"<w:tr><w:trPr><w:del/></w:trPr><w:tc>{para('gone')}</w:tc></w:tr></w:tbl>",
        )
    )
    assert text_of(body) == "The fee is 480\n\nNew place.\n\nJoined again.\n\nkept | row\nnext | row"


def test_content_controls_are_read_in_lines_blocks_and_cells() -> None:
    control = "<w:sdt><w:sdtPr/><w:sdtContent>{}</w:sdtContent></w:sdt>"
    box = (
        '<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="{}"/></w14:checkbox></w:sdtPr>'
        f"<w:sdtContent>{run('þ')}</w:sdtContent></w:sdt>"
    )
    row = "<w:tr><w:tc>{}</w:tc>{}</w:tr>".format(para("a"), control.format(f"<w:tc>{para('b')}</w:tc>"))
    chosen = (
        '<w:sdt><w:sdtPr><w:dropDownList w:lastValue="2"><w:listItem w:value="2" w:displayText="Oak"/>'
        "</w:dropDownList></w:sdtPr><w:sdtContent/></w:sdt>"
    )
    body = (
        para("Day: ", runs=control.format(run("3 May")))
        + control.format(control.format(para("A block.")))
        + para(runs=box.format(1) + run(" tent") + box.format(0) + run(" stove"))
        + para("Wood: ", runs=chosen)
        + f"<w:tbl>{row}{control.format(row)}</w:tbl>"
    )
    assert text_of(body) == "Day: 3 May\n\nA block.\n\n☒ tent☐ stove\n\nWood: Oak\n\na | b\na | b"


def test_a_field_shows_its_result_and_a_form_field_its_value() -> None:
    nested = field("IF ", "yes").replace("IF ", f"IF </w:instrText></w:r>{field('PAGE', '7')}<w:r><w:instrText>")
    box = '<w:ffData><w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox></w:ffData>'
    entries = '<w:listEntry w:val="Elm"/><w:listEntry w:val="Ash"/>'
    listed = f'<w:ffData><w:ddList><w:result w:val="1"/>{entries}</w:ddList></w:ffData>'
    body = (
        para("See ", runs=field("REF x", "chapter 2") + f'<w:fldSimple w:instr="DATE">{run(" today")}</w:fldSimple>')
        + para(runs=nested)
        + para(runs=field("FORMCHECKBOX", "", box) + run(" agreed, ") + field("FORMDROPDOWN", "", listed))
        + para(
            runs=f'<w:hyperlink r:id="x">{run("A link")}</w:hyperlink><w:smartTag>{run(" and a place")}</w:smartTag>'
        )
    )
    assert text_of(body) == "See chapter 2 today\n\nyes\n\n☒ agreed, Ash\n\nA link and a place"
    separated = '</w:fldChar></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>'
    begun = field("FORMCHECKBOX", "", box).replace("</w:fldChar></w:r>", separated)
    assert text_of(para("Sent ", runs=begun)) == "Sent ☒"
    unended = para(runs='<w:r><w:fldChar w:fldCharType="begin"/></w:r>' + run("still here"))
    assert text_of(unended) == "still here", "an instruction without an end hides nothing"


def test_characters_that_word_stores_as_elements() -> None:
    body = para(
        runs="<w:r><w:t>co</w:t><w:softHyphen/><w:t>op</w:t><w:noBreakHyphen/><w:t>shop</w:t><w:tab/><w:t>a</w:t>"
        '<w:br/><w:t>b</w:t><w:sym w:font="Wingdings" w:char="F0FE"/><w:sym w:font="Symbol" w:char="F061"/></w:r>'
        + run("e\u0301", '<w:rFonts w:ascii="Arial"/>')
        + "<w:r><w:ruby><w:rubyPr/><w:rt><w:r><w:t>kan</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r>"
        "</w:rubyBase></w:ruby></w:r>"
    )
    assert text_of(body) == "coop-shop a\nb☑αé漢(kan)"
    assert text_of(para(runs=run("\uf0a8", '<w:rFonts w:ascii="Wingdings"/>') + run(" open"))) == "☐ open"


def test_hidden_text_is_not_shown_and_is_counted() -> None:
    body = para("Seen", runs=run(" unseen", "<w:vanish/>") + run(".", '<w:vanish w:val="0"/>'))
    assert text_of(body) == "Seen."
    assert losses_of(body) == (Loss("hidden_text", 1, ""),)
    style = '<w:style w:type="character" w:styleId="h"><w:rPr><w:vanish/></w:rPr></w:style>'
    assert text_of(para("Seen", runs=run(" unseen", '<w:rStyle w:val="h"/>')), {"styles": style}) == "Seen"


def test_a_text_box_is_read_once_beside_its_paragraph() -> None:
    inner = f"<w:txbxContent>{para('In a box.')}</w:txbxContent>"
    drawn = (
        f'<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wps:txbx>{inner}</wps:txbx></w:drawing>'
        f"</mc:Choice><mc:Fallback><w:pict><v:textbox>{inner}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )
    assert text_of(para("Before.", runs=drawn) + para("After.")) == "Before.\n\nIn a box.\n\nAfter."
    new = drawn.replace('Requires="wps"', 'xmlns:new="urn:new" Requires="new"').replace("In a box.", "In a new box.", 1)
    assert text_of(para("Before.", runs=new)) == "Before.\n\nIn a box.", "the other choice where one is not understood"


# Headings and lists


def test_headings_by_style_in_any_language_and_by_outline_level() -> None:
    styles = (
        '<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Mine"><w:name w:val="Mine"/><w:basedOn w:val="berschrift2"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Toc"><w:name w:val="TOC Heading"/><w:basedOn w:val="berschrift2"/>'
        '<w:pPr><w:outlineLvl w:val="9"/></w:pPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Loop"><w:name w:val="x"/><w:basedOn w:val="Loop"/></w:style>'
    )
    styled = '<w:pStyle w:val="{}"/>'
    body = (
        para("Top", styled.format("T"))
        + para("Own", styled.format("Mine"))
        + para("Contents", styled.format("Toc"))
        + para("Loop", styled.format("Loop"))
        + para("Outline", '<w:outlineLvl w:val="2"/>')
        + para("Unknown", styled.format("Heading4"))
        + para("clause " * 60, styled.format("Mine"))
    )
    kinds = [(block.kind, block.level) for block in blocks_of(body, {"styles": styles}) if isinstance(block, Block)]
    assert kinds == [
        ("heading", 1), ("heading", 2), ("paragraph", 0), ("paragraph", 0), ("heading", 3), ("heading", 4),
        ("paragraph", 0),
    ]  # fmt: skip


def test_lists_count_as_word_counts() -> None:
    parts = lists(
        level(0, "%1.") + level(1, "%1.%2", "lowerLetter") + level(2, "(%3)", "lowerRoman"),
        nums='<w:num w:numId="7"><w:abstractNumId w:val="1"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/>'
        "</w:lvlOverride></w:num>",
    )
    assert markers([(0, 1), (1, 1), (1, 1), (2, 1), (0, 1), (1, 1)], parts) == ["1.", "1.a", "1.b", "(i)", "2.", "2.a"]
    assert markers([(0, 1), (0, 1), (0, 7), (0, 7), (0, 1)], parts) == ["1.", "2.", "1.", "2.", "3."]
    assert markers([(1, 1), (0, 1)], parts) == ["1.a", "2."], "a level that was skipped counts as begun"


def test_levels_restart_as_they_say() -> None:
    parts = lists(level(0, "%1") + level(1, "%2", more='<w:lvlRestart w:val="0"/>') + level(2, "%3", start=5))
    assert markers([(0, 1), (1, 1), (0, 1), (1, 1), (2, 1), (1, 1), (2, 1)], parts) == [
        "1",
        "1",
        "2",
        "2",
        "5",
        "3",
        "5",
    ]


@pytest.mark.parametrize(
    ("kind", "start", "shown"),
    [
        ("upperRoman", 4, "IV"), ("lowerLetter", 27, "aa"), ("upperLetter", 2, "B"), ("decimalZero", 7, "07"),
        ("ordinal", 2, "2nd"), ("none", 1, ""), ("cardinalText", 21, "Twenty-one"), ("ordinalText", 3, "Third"),
        ("bullet", 1, "•"), ("lowerRoman", 999_999, "999999"), ("madeUp", 3, "3"),
    ],
)  # fmt: skip
def test_each_format_of_numbers(kind: str, start: int, shown: str) -> None:
    text = "\uf0b7" if kind == "bullet" else "%1"
    assert markers([(0, 1)], lists(level(0, text, kind, start=start))) == [shown]


def test_legal_numbers_are_decimal_and_custom_ones_have_zeros() -> None:
    custom = '<w:lvl w:ilvl="0"><w:numFmt w:val="custom" w:format="001, 002, 003"/><w:lvlText w:val="%1"/></w:lvl>'
    parts = lists(level(0, "%1", "upperRoman") + level(1, "%1.%2", more="<w:isLgl/>"), custom)
    assert markers([(0, 1), (1, 1), (0, 2)], parts) == ["I", "1.1", "001"]


def test_numbers_come_from_styles_and_list_styles() -> None:
    styles = (
        '<w:style w:type="paragraph" w:styleId="H2"><w:name w:val="heading 2"/><w:pPr><w:numPr><w:numId w:val="1"/>'
        "</w:numPr></w:pPr></w:style>"
        '<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/><w:pPr><w:numPr><w:numId w:val="1"/>'
        "</w:numPr></w:pPr></w:style>"
        '<w:style w:type="numbering" w:styleId="L"><w:pPr><w:numPr><w:numId w:val="2"/></w:numPr></w:pPr></w:style>'
    )
    parts = lists(
        level(0, "%1", more='<w:pStyle w:val="H1"/>') + level(1, "%1.%2", more='<w:pStyle w:val="H2"/>'),
        '<w:styleLink w:val="L"/>' + level(0, "§%1"),
        '<w:numStyleLink w:val="L"/>',
    ) | {"styles": styles}
    styled = '<w:pStyle w:val="{}"/>'
    body = (
        para("One", styled.format("H1"))
        + para("Two", styled.format("H2"))
        + para("Plain", styled.format("H2") + '<w:numPr><w:numId w:val="0"/></w:numPr>')
        + para("", styled.format("H2"))
        + para("Three", styled.format("H2"))
        + para("Law", NUMBER.format(0, 3))
    )
    assert said(body, parts) == [
        ("heading", "1 One"), ("heading", "1.1 Two"), ("heading", "Plain"), ("heading", "1.3 Three"),
        ("item", "§1 Law"),
    ]  # fmt: skip


# Notes, comments, headers


def test_notes_follow_their_paragraph_and_end_notes_the_text() -> None:
    mark = '<w:r><w:{}Reference w:id="{}"/></w:r>'
    note = '<w:{} w:id="{}">{}</w:{}>'
    parts = {
        "footnotes": '<w:footnote w:type="separator" w:id="0"><w:p/></w:footnote>'
        + note.format("footnote", 4, para("By the mill.") + para("Second part."), "footnote")
        + note.format("footnote", 5, para("In a cell."), "footnote"),
        "endnotes": note.format("endnote", 1, para("See the map."), "endnote"),
    }
    body = para("First. The lock", runs=mark.format("footnote", 4) + run(" is old.")) + para(
        "It leaks.", runs=mark.format("endnote", 1)
    )
    body += word_table([["cell", "b"], ["c", "d"]]).replace(
        "cell</w:t></w:r>", "cell</w:t></w:r>" + mark.format("footnote", 5)
    )
    assert said(body, parts) == [
        ("paragraph", "First. The lock[1] is old."), ("footnote", "[1] By the mill.\u2028Second part."),
        ("paragraph", "It leaks.[i]"), ("footnote", "[2] In a cell."),
        ("footnote", "[i] See the map."),
    ]  # fmt: skip
    notes = [block for block in blocks_of(body, parts) if isinstance(block, Block) and block.kind == "footnote"]
    assert [note.anchor for note in notes] == ["The lock", "cell", "It leaks."]


def test_comments_know_their_author_and_words_and_answers_follow() -> None:
    comment = '<w:comment w:id="{}" w:author="{}"><w:p w14:paraId="{}"><w:r><w:t>{}</w:t></w:r></w:p></w:comment>'
    parts = {
        "comments": comment.format(0, "Ada", "A", "Which one?")
        + comment.format(1, "Ben", "B", "The red one.")
        + comment.format(2, "Cy", "C", "Nowhere."),
        "commentsExtended": '<w15:x xmlns:w15="http://schemas.microsoft.com/office/word/2012/wordml">'
        '<w15:commentEx w15:paraId="A"/><w15:commentEx w15:paraId="B" w15:paraIdParent="A"/></w15:x>',
    }
    body = (
        para("We take ", runs='<w:commentRangeStart w:id="0"/>' + run("the") + run(" boat"))
        + para("and oars", runs='<w:commentRangeEnd w:id="0"/><w:r><w:commentReference w:id="0"/></w:r>' + run("."))
        + para("Later.")
    )
    found = [
        (block.author, block.anchor, block.text)
        for block in blocks_of(body, parts)
        if isinstance(block, Block) and block.kind == "comment"
    ]
    assert found == [
        ("Ada", "the boat and oars", "Which one?"), ("Ben", "the boat and oars", "The red one."),
        ("Cy", "", "Nowhere."),
    ]  # fmt: skip
    assert [kind for kind, _text in said(body, parts)] == [
        "paragraph",
        "paragraph",
        "comment",
        "comment",
        "paragraph",
        "comment",
    ]


def test_each_header_once_without_its_page_number() -> None:
    refs = '<w:headerReference w:type="default" r:id="header"/><w:footerReference w:type="default" r:id="footer"/>'
    parts = {
        "header": para("Ref BW-7731  Page ", runs=field("PAGE", "1") + run(" of ") + field("NUMPAGES", "9")),
        "header2": para("Annex"),
        "footer": para("Page ", runs=f'<w:fldSimple w:instr="PAGE">{run("1")}</w:fldSimple>'),
        "footer2": para("Valid until June"),
    }
    second = '<w:headerReference w:type="default" r:id="header2"/><w:headerReference w:type="even" r:id="header"/>'
    body = (
        para("One.", f"<w:sectPr>{refs}</w:sectPr>")
        + para("Two.", f'<w:sectPr>{second}<w:type w:val="continuous"/></w:sectPr>')
        + para("Three.")
        + '<w:sectPr><w:footerReference w:type="default" r:id="footer2"/></w:sectPr>'
    )
    assert said(body, parts) == [
        ("header", "Ref BW-7731"), ("paragraph", "One."), ("header", "Annex"), ("paragraph", "Two."),
        ("page_break", ""), ("paragraph", "Three."), ("footer", "Valid until June"),
    ]  # fmt: skip


def test_pages_break_where_the_author_breaks_them() -> None:
    body = (
        para("One", runs='<w:r><w:br w:type="page"/><w:lastRenderedPageBreak/><w:t>Two</w:t></w:r>')
        + para("Still two", runs="<w:r><w:lastRenderedPageBreak/></w:r>")
        + para("Three", "<w:pageBreakBefore/>")
        + para("Four", '<w:pageBreakBefore w:val="0"/>')
    )
    opened = reader("docx")(Upload("a.docx", word_xml(body)), "docx", Rules())
    assert [opened.page(number).text for number in range(1, opened.pages + 1)] == [
        "One",
        "Two\n\nStill two",
        "Three\n\nFour",
    ]


# Equations


def math(xml: str) -> str:
    return f"<m:oMath>{xml}</m:oMath>"


def mr(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def test_equations_stand_in_their_sentence_or_as_a_block() -> None:
    half = f"<m:f><m:num>{mr('a+b')}</m:num><m:den>{mr('2')}</m:den></m:f>"
    assert text_of(para("It is ", runs=math(mr("d=40+") + half) + run(" long."))) == "It is d=40+(a+b)/2 long."
    (block,) = blocks_of(para(runs=f"<m:oMathPara>{math(mr('x=') + half)}</m:oMathPara>" + run(" (3)")))
    assert isinstance(block, Block)
    assert (block.kind, block.text, block.latex) == ("equation", "x=(a+b)/2 (3)", r"x=\frac{a+b}{2}")


@pytest.mark.parametrize(
    ("xml", "text", "latex"),
    [
        (f"<m:sSup><m:e>{mr('x')}</m:e><m:sup>{mr('2')}</m:sup></m:sSup>", "x^2", "x^{2}"),
        (f"<m:sSubSup><m:e>{mr('α')}</m:e><m:sub>{mr('i')}</m:sub><m:sup>{mr('n+1')}</m:sup></m:sSubSup>",
         "α_i^(n+1)", r"{\alpha}_{i}^{n+1}"),
        (f"<m:rad><m:deg/><m:e>{mr('x+1')}</m:e></m:rad>", "√(x+1)", r"\sqrt{x+1}"),
        (f"<m:rad><m:deg>{mr('3')}</m:deg><m:e>{mr('8')}</m:e></m:rad>", "∛8", r"\sqrt[3]{8}"),
        (
            f'<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>{mr("i=1")}</m:sub><m:sup>{mr("n")}</m:sup>'
            f"<m:e>{mr('i')}</m:e></m:nary>", "∑_(i=1)^n i", r"\sum_{i=1}^{n} i",
        ),
        (
            f'<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr><m:e><m:m><m:mr><m:e>{mr("1")}</m:e>'
            f"<m:e>{mr('2')}</m:e></m:mr><m:mr><m:e>{mr('3')}</m:e><m:e>{mr('4')}</m:e></m:mr></m:m></m:e></m:d>",
            "[[1, 2; 3, 4]]", r"\left[ \begin{matrix} 1 & 2 \\ 3 & 4 \end{matrix} \right]",
        ),
        (f'<m:acc><m:accPr><m:chr m:val="&#x20d7;"/></m:accPr><m:e>{mr("v")}</m:e></m:acc>', "v\u20d7", r"\vec{v}"),
        (f"<m:func><m:fName>{mr('sin')}</m:fName><m:e>{mr('x')}</m:e></m:func>", "sin x", r"\sin x"),
    ],
)  # fmt: skip
def test_each_part_of_an_equation(xml: str, text: str, latex: str) -> None:
    (block,) = blocks_of(para(runs=math(xml)))
    assert isinstance(block, Block)
    assert (block.text, block.latex) == (text, latex)


# Tables


def test_spans_are_kept_and_filled_in() -> None:
    merge, goes_on = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    table, rows = table_of(
        word_table(
            [
                ["Region", ("2024", '<w:gridSpan w:val="2"/>')],
                [("South", merge), "wax", "60"],
                [("", goes_on), "oil", "7"],
            ],
            header=1,
        )
    )
    assert rows == [["Region", "2024", "2024"], ["South", "wax", "60"], ["South", "oil", "7"]]
    cells = list(table.rows)
    assert table.header_rows == 1
    assert (cells[0][1].columns, cells[0][2].is_filled) == (2, True)  # pyright: ignore[reportAttributeAccessIssue]
    assert (cells[1][0].rows, cells[2][0].is_filled) == (2, True)  # pyright: ignore[reportAttributeAccessIssue]


def test_rows_that_begin_later_keep_their_columns() -> None:
    xml = word_table([["a", "b", "c"], ["y", "z"]]).replace(
        '<w:trPr></w:trPr><w:tc><w:tcPr></w:tcPr><w:p><w:pPr></w:pPr><w:r><w:t xml:space="preserve">y',
        '<w:trPr><w:gridBefore w:val="1"/></w:trPr><w:tc><w:tcPr></w:tcPr><w:p><w:pPr></w:pPr><w:r>'
        '<w:t xml:space="preserve">y',
    )
    assert table_of(xml)[1] == [["a", "b", "c"], ["", "y", "z"]]


def test_columns_in_which_no_cell_begins_are_none() -> None:
    wide = '<w:gridSpan w:val="30"/>'
    assert table_of(word_table([[("a", wide), ("b", wide)], [("c", wide), ("d", wide)]]))[1] == [["a", "b"], ["c", "d"]]


def test_rows_of_names_are_found_by_look_and_by_numbers_below() -> None:
    bold = word_table([["Kind", "Tree"], ["ash", "tall"]])
    for name in ("Kind", "Tree"):
        bold = bold.replace(f'<w:r><w:t xml:space="preserve">{name}', f"<w:r><w:rPr><w:b/></w:rPr><w:t>{name}")
    assert table_of(bold)[0].header_rows == 1
    assert table_of(word_table([["Kind", "Weight"], ["ash", "140 g"]]))[0].header_rows == 1
    assert table_of(word_table([["ash", "tall"], ["elm", "small"]]))[0].header_rows == 0
    assert table_of(word_table([["ash", "12"], ["elm", "13"]]))[0].header_rows == 0
    styles = '<w:style w:type="table" w:styleId="G"><w:name w:val="Grid 4"/><w:tblStylePr w:type="firstRow"/></w:style>'
    look = '<w:tblStyle w:val="G"/><w:tblLook w:val="{}"/>'
    for said_of, rows in (("0020", 1), ("0000", 0)):
        xml = word_table([["Kind", "Tree"], ["ash", "tall"]], look.format(said_of))
        assert table_of(xml, {"styles": styles})[0].header_rows == rows


def test_rows_of_names_over_groups_and_tables_of_names_only() -> None:
    first = [("Place", '<w:vMerge w:val="restart"/>'), ("2024", '<w:gridSpan w:val="2"/>')]
    table, rows = table_of(word_table([first, [("", "<w:vMerge/>"), "May", "June"], ["South", "1", "2"]]))
    assert (table.header_rows, rows[1]) == (2, ["Place", "May", "June"])
    assert table_of(word_table([["a", "b"], ["c", "d"]], header=2))[0].header_rows == 0


def test_marks_of_notes_have_the_format_that_the_document_says() -> None:
    parts = {"settings": '<w:footnotePr><w:numFmt w:val="lowerLetter"/><w:numStart w:val="3"/></w:footnotePr>'}
    assert text_of(para("Old", runs='<w:r><w:footnoteReference w:id="1"/></w:r>'), parts) == "Old[c]"


def test_captions_belong_to_their_tables() -> None:
    styles = '<w:style w:type="paragraph" w:styleId="C"><w:name w:val="caption"/></w:style>'
    caption = '<w:pStyle w:val="C"/>'
    grid = word_table([["a", "b"], ["c", "d"]])
    above = para("Boats of the club", caption) + grid + para("Text.")
    below = grid + para("Table 2. Oars", caption) + para("Text.")
    figure = para("Figure 1. A boat", caption) + grid
    assert table_of(above, {"styles": styles})[0].caption == "Boats of the club"
    assert table_of(below, {"styles": styles})[0].caption == "Table 2. Oars"
    assert table_of(figure, {"styles": styles})[0].caption == ""
    assert table_of(para("Table 3: Sails") + grid)[0].caption == "Table 3: Sails"
    assert table_of(para("Table 3 shows the sails of the club.") + grid)[0].caption == ""
    assert said(figure, {"styles": styles}) == [("caption", "Figure 1. A boat")]


def test_tables_in_cells_and_tables_that_are_layout() -> None:
    inner = word_table([["k", "v"], ["l", "w"]])
    nested = word_table([["name", "HERE"], ["other", "x"]]).replace(para("HERE"), inner + para())
    assert table_of(nested)[1] == [["name", "k, v; l, w"], ["other", "x"]]
    assert said(word_table([["Boxed text."]])) == [("paragraph", "Boxed text.")]
    long = "word " * 400
    assert said(word_table([[long, "b"]])) == [("paragraph", long.strip()), ("paragraph", "b")]


# Pictures, charts, diagrams


def drawing(inner: str, about: str = "") -> str:
    said_of = f'<wp:docPr id="1" name="Picture 1" {about}/>'
    return f"<w:r><w:drawing><wp:inline>{said_of}<a:graphic>{inner}</a:graphic></wp:inline></w:drawing></w:r>"


def test_a_picture_is_its_words_or_a_loss() -> None:
    picture = '<a:blip r:embed="image"/>'
    assert said(para("See:", runs=drawing(picture, 'descr="A heron in reeds"'))) == [
        ("paragraph", "See:"),
        ("figure", "A heron in reeds"),
    ]
    assert losses_of(para(runs=drawing(picture, 'descr="C:\\pics\\img1.png"'))) == (Loss("picture", 1, ""),)
    assert losses_of(para(runs="<w:r><w:object><o:OLEObject ProgID='Excel.Sheet'/></w:object></w:r>")) == (
        Loss("embedded_object", 1, ""),
    )
    assert losses_of("", {"vbaProject": "macros"}) == (Loss("macro", 1, ""),)
    assert losses_of(para(runs="<w:r><w:object><w:control/></w:object></w:r>")) == (Loss("form_field", 1, ""),)
    box = f"<w:txbxContent>{para(runs=drawing(picture))}</w:txbxContent>"
    boxed = f"<w:r><w:pict><v:textbox>{box}</v:textbox></w:pict></w:r>"
    assert losses_of(para(runs=boxed)) == (Loss("picture", 1, ""),), "once, though it stands in a text box"
    assert losses_of(para(runs=drawing('<c:chart r:id="nothing"/>'))) == (Loss("chart", 1, ""),)


def test_charts_and_diagrams_are_read() -> None:
    names = (
        'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    )
    points = "<c:pt idx='0'><c:v>{}</c:v></c:pt><c:pt idx='1'><c:v>{}</c:v></c:pt>"
    chart = (
        f"<c:chartSpace {names}><c:chart><c:title><a:t>Catch</a:t></c:title><c:ser><c:tx><c:v>Trout</c:v></c:tx>"
        f"<c:cat>{points.format('May', 'June')}</c:cat><c:val>{points.format(12, 15)}</c:val></c:ser></c:chart>"
        "</c:chartSpace>"
    )
    table, rows = table_of(para(runs=drawing('<c:chart r:id="chart"/>')), {"chart": chart})
    assert (table.caption, rows) == ("Catch", [["", "Trout"], ["May", "12"], ["June", "15"]])
    dgm = 'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    data = f"<dgm:dataModel {dgm}><dgm:pt><dgm:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:dataModel>"
    assert said(para(runs=drawing('<dgm:relIds r:dm="diagramData"/>')), {"diagramData": data}) == [("item", "• Plan")]


# Packages, whole and broken


def test_renamed_parts_and_strict_documents_are_read() -> None:
    body = para("Body.", NUMBER.format(0, 1), runs='<w:r><w:footnoteReference w:id="1"/></w:r>')
    parts = lists(level(0, "%1)")) | {"footnotes": f'<w:footnote w:id="1">{para("Note.")}</w:footnote>'}
    wanted = "1) Body.[1]\n\n[1] Note."
    assert page_text(word_xml(body, parts, main="content/text.xml")) == wanted
    assert page_text(word_xml(body, parts, is_strict=True)) == wanted


def test_a_broken_part_costs_itself_alone() -> None:
    body = para("Body.", runs='<w:r><w:footnoteReference w:id="1"/></w:r>')
    parts = {"footnotes": "<broken", "styles": "<broken"}
    assert text_of(body, parts) == "Body.[1]"
    assert sorted(losses_of(body, parts), key=lambda loss: loss.place) == [
        Loss("part", 1, "word/footnotes.part"),
        Loss("part", 1, "word/styles.part"),
    ]


@pytest.mark.parametrize("main", ["<w:x", "<x/>", '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'])
def test_a_document_that_is_none_is_corrupt(main: str) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("word/document.xml", main)
    with pytest.raises(CorruptFileError, match="broken"):
        page_text(out.getvalue())
    with pytest.raises(EmptyFileError):
        text_of(para())


@pytest.mark.slow
def test_deep_and_wide_documents_end() -> None:
    tables = para("deep")
    for _depth in range(75):
        tables = f"<w:tbl><w:tr><w:tc>{tables}</w:tc><w:tc>{para('x')}</w:tc></w:tr></w:tbl>"
    assert "deep" in text_of(tables)
    controls = run("deep")
    for _depth in range(120):
        controls = f"<w:sdt><w:sdtContent>{controls}</w:sdtContent></w:sdt>"
    assert text_of(f"<w:p>{controls}</w:p>") == "deep"
    fraction = mr("deep")
    for _depth in range(80):
        fraction = f"<m:f><m:num>{fraction}</m:num><m:den>{mr('2')}</m:den></m:f>"
    assert "deep" in text_of(para(runs=math(fraction)))
    wide = word_table([[("a", '<w:gridSpan w:val="1000000000"/>'), "b"]] * 3)
    assert text_of(wide) == "a | b\na | b\na | b"
    many = word_table([["x"] * 3_000, *[["y", "z"]] * 3_000])
    table, rows = table_of(many)
    assert (len(rows), table.header_rows, sum(map(len, rows))) == (3_001, 0, 9_000)


@pytest.mark.parametrize(
    "body",
    [
        para("Once", runs='<w:r><w:footnoteReference w:id="1"/></w:r>' * 3_000),
        para(runs=math(mr("x")) + run("." * 100_000 + "a")),
        para("Alt", runs=drawing('<a:blip r:embed="x"/>', f'descr="{"a/" * 20_000}"')),
        para("Head", '<w:sectPr><w:headerReference r:id="header"/></w:sectPr>') * 500,
    ],
)
def test_what_would_take_long_ends_soon(body: str) -> None:
    parts = {
        "footnotes": f'<w:footnote w:id="1">{para("long " * 20_000)}</w:footnote>',
        "header": para(runs=field("PAGE", "1") + run(" x" + "-" * 50_000 + " " * 50_000 + "x")),
    }
    began = time.process_time()
    text_of(body, parts)
    assert time.process_time() - began < 5
