"""OpenDocument texts: what they show, in reading order, and what is told of the rest."""

from __future__ import annotations

import contextlib
import io
import random
import zipfile
from collections.abc import Mapping

import pytest

from docmind.blocks import Block, Losses, Table, shown_in
from docmind.errors import CorruptFileError, EmptyFileError, ReadingError, TooLargeError, UnsupportedFileError
from docmind.reading.file_type import identify
from docmind.reading.formats import Rules, reader
from docmind.reading.formats.odf import Document
from docmind.reading.formats.odt.body import blocks_of as read_blocks
from docmind.records.documents import Loss, Upload
from each import each_of
from sampled import tenth_of

SPACES = " ".join(
    f'xmlns:{prefix}="{uri}"'
    for prefix, uri in (
        *((name, f"urn:oasis:names:tc:opendocument:xmlns:{name}:1.0") for name in ("office", "text", "table", "style")),
        ("draw", "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"),
        ("fo", "urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"),
        ("svg", "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0"),
        ("form", "urn:oasis:names:tc:opendocument:xmlns:form:1.0"),
        ("chart", "urn:oasis:names:tc:opendocument:xmlns:chart:1.0"),
        ("meta", "urn:oasis:names:tc:opendocument:xmlns:meta:1.0"),
        ("manifest", "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"),
        ("field", "urn:openoffice:names:experimental:ooo-ms-interop:xmlns:field:1.0"),
        ("dc", "http://purl.org/dc/elements/1.1/"),
        ("xlink", "http://www.w3.org/1999/xlink"),
        ("math", "http://www.w3.org/1998/Math/MathML"),
    )
)
MIME = "application/vnd.oasis.opendocument.text"


def odt(body: str, automatic: str = "", styles: str = "", parts: Mapping[str, str] | None = None) -> bytes:
    """Return an OpenDocument text; `styles` is what stands in the root of styles.xml."""
    content = f"<office:automatic-styles>{automatic}</office:automatic-styles><office:body>"
    found = {
        "mimetype": MIME,
        "content.xml": f"<office:document-content {SPACES}>{content}<office:text>{body}</office:text></office:body>"
        "</office:document-content>",
        "styles.xml": f"<office:document-styles {SPACES}>{styles}</office:document-styles>",
    }
    return packed(found | dict(parts or {}))


def packed(parts: Mapping[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return out.getvalue()


def flat(body: str) -> bytes:
    meta = "<office:meta><dc:title>The pond book</dc:title></office:meta>"
    inner = f"{meta}<office:body><office:text>{body}</office:text></office:body>"
    return (
        f'<?xml version="1.0"?>\n<office:document {SPACES} office:mimetype="{MIME}">{inner}</office:document>'
    ).encode()


def read(data: bytes) -> tuple[list[Block | Table], tuple[Loss, ...]]:
    losses = Losses()
    document = Document(Upload("a.odt", data), Rules())
    return list(read_blocks(document, losses)), losses.found()


def said(body: str, automatic: str = "", styles: str = "", parts: Mapping[str, str] | None = None) -> list[str]:
    """Return kind and text of each block, with its marker before it."""
    blocks, _losses = read(odt(body, automatic, styles, parts))
    return [
        f"{block.kind}: {block.marker} {block.text}".replace(":  ", ": ").replace("\u2028", "/")
        for block in blocks
        if isinstance(block, Block)
    ]


def grid(body: str, automatic: str = "") -> tuple[Table, list[list[str]]]:
    (table,) = (block for block in read(odt(body, automatic))[0] if isinstance(block, Table))
    return table, [[shown_in(cell) for cell in row] for row in table.rows]


def p(text: str, style: str = "") -> str:
    return f'<text:p text:style-name="{style}">{text}</text:p>'


def span(text: str, style: str) -> str:
    return f'<text:span text:style-name="{style}">{text}</text:span>'


def style(name: str, properties: str = "", parent: str = "", family: str = "text", more: str = "") -> str:
    return (
        f'<style:style style:name="{name}" style:family="{family}" style:parent-style-name="{parent}" {more}>'
        f"{properties}</style:style>"
    )


LOOKS = (
    style("up", '<style:text-properties style:text-position="super 58%"/>')
    + style("down", '<style:text-properties style:text-position="-33% 58%"/>')
    + style("out", '<style:text-properties style:text-line-through-style="solid"/>')
    + style("inner", "", "out")
    + style("gone", '<style:text-properties text:display="none"/>')
    + style("b", '<style:text-properties fo:font-weight="bold"/>')
    + style("page", '<style:paragraph-properties fo:break-before="page"/>', family="paragraph")
)


@each_of(
    "body, wanted",
    [
        ("  two\n   <text:s text:c='3'/>words<text:tab/>h<text:line-break/>there", "paragraph: two    words\th/there"),
        (f"10{span('6', 'up')} H{span('2', 'down')}O", "paragraph: 10⁶ H₂O"),
        (f"{span('90', 'inner')}{span(' euros', 'out')} 80", "paragraph: ~~90 euros~~ 80"),
        ("<text:ruby><text:ruby-base>東</text:ruby-base><text:ruby-text>ひ</text:ruby-text></text:ruby>",
         "paragraph: 東(ひ)"),
        ("a<text:bookmark-start text:name='x'/>b<text:date>May</text:date>c", "paragraph: abMayc"),
        ("<field:fieldmark field:type='x.FORMCHECKBOX'><field:param field:name='Checkbox_Checked' field:value='true'/>"
         "</field:fieldmark> yes", "paragraph: ☒ yes"),
        ("<text:conditional-text>shown</text:conditional-text><text:script>x()</text:script>", "paragraph: shown"),
        ("<text:variable-set text:display='none'>5</text:variable-set>kept", "paragraph: kept"),
    ],
)  # fmt: skip
def test_paragraphs(body: str, wanted: str) -> None:
    assert said(p(body), LOOKS) == [wanted]


def test_headings_have_the_numbers_of_the_outline() -> None:
    outline = (
        '<office:styles><text:outline-style style:name="Outline">'
        '<text:outline-level-style text:level="1" style:num-format="I" style:num-suffix="."/>'
        '<text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/>'
        "</text:outline-style></office:styles>"
    )
    heads = [(1, "One"), (2, "One a"), (2, "One b"), (1, "Two"), (2, "Two a")]
    body = "".join(f'<text:h text:outline-level="{level}">{text}</text:h>' for level, text in heads)
    body += '<text:h text:outline-level="1" text:is-list-header="true">Bare</text:h>'
    assert [each.removeprefix("heading: ") for each in said(body, styles=outline)] == [
        "I. One", "I.1 One a", "I.2 One b", "II. Two", "II.1 Two a", "Bare",
    ]  # fmt: skip


def test_styles_that_are_headings_and_captions() -> None:
    styles = "<office:styles>" + style("Heading_20_2", family="paragraph", more='style:default-outline-level="2"')
    styles += style("Title", family="paragraph") + "</office:styles>"
    automatic = style("P1", parent="Heading_20_2", family="paragraph")
    blocks, _ = read(odt(p("A", "P1") + p("B", "Title") + p("C", "Caption"), automatic, styles))
    assert [(block.kind, block.level) for block in blocks if isinstance(block, Block)] == [
        ("heading", 2), ("heading", 1), ("caption", 0),
    ]  # fmt: skip


LISTS = (
    '<text:list-style style:name="L1">'
    '<text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix=")" style:num-prefix="§"/>'
    '<text:list-level-style-number text:level="2" style:num-format="a" text:display-levels="2" style:num-suffix="."/>'
    '<text:list-level-style-bullet text:level="3" text:bullet-char="–"/></text:list-style>'
    '<text:list-style style:name="L2"><text:list-level-style-number text:level="1" style:num-format="a" '
    'text:start-value="25" style:num-list-format="(%1%)"/></text:list-style>'
)


def items(*texts: str, more: str = "") -> str:
    return "".join(f"<text:list-item {more}>{text}</text:list-item>" for text in texts)


def test_lists_show_their_labels() -> None:
    deep = f"<text:list>{items(p('aa') + '<text:list>' + items(p('dash')) + '</text:list>', p('ab'))}</text:list>"
    body = f'<text:list xml:id="x" text:style-name="L1">{items(p("a") + deep, p("b") + p("more"))}</text:list>'
    body += p("between") + f'<text:list text:continue-list="x" text:style-name="L1">{items(p("c"))}'
    body += items(p("d"), more='text:start-value="9"') + "</text:list>"
    body += f'<text:list text:style-name="L1">{items(p("again"))}</text:list>'
    body += f'<text:list text:style-name="L2">{items(p("y"), p("z"), p("aa"))}</text:list>'
    assert said(body, LISTS) == [
        "item: §1) a", "item: 1.a. aa", "item: – dash", "item: 1.b. ab", "item: §2) b", "paragraph: more",
        "paragraph: between", "item: §3) c", "item: §9) d", "item: §1) again",
        "item: (y) y", "item: (z) z", "item: (aa) aa",
    ]  # fmt: skip


def cell(text: str, more: str = "") -> str:
    return f"<table:table-cell {more}>{p(text)}</table:table-cell>"


def row(*cells: str) -> str:
    return f"<table:table-row>{''.join(cells)}</table:table-row>"


COVERED = "<table:covered-table-cell/>"


def test_tables_with_spans_headers_and_repeats() -> None:
    head = f"<table:table-header-rows>{row(cell('Tree'), cell('Height'), cell('Age'))}</table:table-header-rows>"
    body = row(cell("Oak", 'table:number-rows-spanned="2"'), cell("12", 'table:number-columns-repeated="2"'))
    body += row(COVERED, cell("wide", 'table:number-columns-spanned="2"'), COVERED)
    table, rows = grid(p("Table 1: Trees", "Caption") + f"<table:table>{head}{body}</table:table>")
    assert rows == [["Tree", "Height", "Age"], ["Oak", "12", "12"], ["Oak", "wide", "wide"]]
    assert (table.header_rows, table.caption) == (1, "Table 1: Trees")


def test_cells_beyond_the_bound_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.reading.formats.odt.tables.MOST_CELLS", 5)
    repeated = f'<table:table-row table:number-rows-repeated="4">{cell("Oak")}{cell("12")}</table:table-row>'
    (table,), losses = read(odt(f"<table:table>{repeated}</table:table>"))
    assert isinstance(table, Table)
    assert [[shown_in(cell) for cell in row] for row in table.rows] == [["Oak", "12"]] * 2
    assert [(loss.kind, loss.count) for loss in losses] == [("cell", 4)]


def test_a_table_in_a_cell_is_part_of_its_text() -> None:
    inner = f"<table:table>{row(cell('1'), cell('2'))}</table:table>"
    outer = f"<table:table-cell>{p('b')}{inner}</table:table-cell>"
    table = f"<table:table>{row(cell('a'), outer)}</table:table>"
    assert grid(table)[1] == [["a", "b 1, 2"]]


def note(kind: str, mark: str, text: str) -> str:
    return (
        f'<text:note text:note-class="{kind}"><text:note-citation>{mark}</text:note-citation>'
        f"<text:note-body>{p(text)}</text:note-body></text:note>"
    )


def test_notes_and_comments_stand_behind_their_paragraph() -> None:
    comment = f"<office:annotation {{}}><dc:creator>Bo</dc:creator>{p('Sure?')}</office:annotation>"
    ranged = comment.format('office:name="1"') + "these words" + '<office:annotation-end office:name="1"/>'
    body = p("Said" + note("footnote", "1", "A foot.") + note("endnote", "i", "An end.") + ".")
    body += p("On " + ranged + " and more." + comment.format("")) + p("Last.")
    blocks, _ = read(odt(body))
    assert [(b.kind, b.marker, b.text, b.anchor, b.author) for b in blocks if isinstance(b, Block)] == [
        ("paragraph", "", "Said[1][i].", "", ""), ("footnote", "[1]", "A foot.", "Said", ""),
        ("paragraph", "", "On these words and more.", "", ""), ("comment", "", "Sure?", "these words", "Bo"),
        ("comment", "", "Sure?", "On these words and more.", "Bo"), ("paragraph", "", "Last.", "", ""),
        ("footnote", "[i]", "An end.", "Said[1]", ""),
    ]  # fmt: skip


def test_tracked_deletions_are_not_read_and_hidden_text_is_told() -> None:
    changes = f"<text:tracked-changes><text:changed-region>{p('deleted')}</text:changed-region></text:tracked-changes>"
    hidden = f"<text:section text:display='none'>{p('secret')}</text:section>"
    body = changes + p(f"<text:change-start text:change-id='c'/>new<text:change-end/>{span('gone', 'gone')}") + hidden
    blocks, losses = read(odt(body, LOOKS))
    assert [block.text for block in blocks if isinstance(block, Block)] == ["new"]
    assert losses == (Loss("hidden_text", 2, ""),)


def frame(inside: str, told: str = "") -> str:
    return f"<draw:frame>{inside}{told}</draw:frame>"


def test_frames_shapes_and_pictures() -> None:
    image = '<draw:image xlink:href="Pictures/1.png"/>'
    box = frame(
        f"<draw:text-box>{p(frame(image, '<svg:desc>A red boat</svg:desc>') + 'Figure 1: the boat')}</draw:text-box>"
    )
    shape = f"<draw:custom-shape>{p('in a star')}</draw:custom-shape>"
    blocks, losses = read(odt(p("Text" + box + shape + frame(image))))
    assert [(block.kind, block.text) for block in blocks if isinstance(block, Block)] == [
        ("paragraph", "Text"), ("paragraph", "Figure 1: the boat"), ("figure", "A red boat"),
        ("paragraph", "in a star"),
    ]  # fmt: skip
    assert losses == (Loss("picture", 1, ""),)


def test_embedded_formulas_and_charts_are_read() -> None:
    formula = "<math:math><math:mfrac><math:mi>a</math:mi><math:mn>2</math:mn></math:mfrac></math:math>"
    value = cell("7", 'office:value="7"')
    table = f"<table:table>{row(cell(''), cell('Sales'))}{row(cell('May'), value)}</table:table>"
    chart = f"<chart:chart><chart:title>{p('By month')}</chart:title>{table}</chart:chart>"
    root = f"<office:document-content {SPACES}><office:body><office:chart>{chart}</office:chart></office:body>"
    parts = {
        "Object 1/content.xml": formula.replace("<math:math>", f"<math:math {SPACES}>"),
        "Object 2/content.xml": f"{root}</office:document-content>",
    }
    body = p("It is " + frame('<draw:object xlink:href="./Object 1"/>') + " wide.")
    body += p(frame('<draw:object xlink:href="./Object 1"/>')) + p(frame('<draw:object xlink:href="./Object 2"/>'))
    blocks, losses = read(odt(body + p(frame('<draw:object xlink:href="./Object 3"/>')), parts=parts))
    sentence, alone, made = blocks
    assert isinstance(sentence, Block)
    assert isinstance(alone, Block)
    assert isinstance(made, Table)
    assert (sentence.text, alone.kind, alone.text) == ("It is a/2 wide.", "equation", "a/2")
    assert made.caption == "By month"
    assert [[shown_in(cell) for cell in row] for row in made.rows] == [["", "Sales"], ["May", "7"]]
    assert losses == (Loss("embedded_object", 1, ""),)


MASTERS = (
    "<office:master-styles><style:master-page style:name='Standard'><style:header><text:p>Pond club, page "
    "<text:page-number>1</text:page-number></text:p></style:header><style:footer><text:p>Foot</text:p></style:footer>"
    "</style:master-page><style:master-page style:name='Other'><style:header><text:p>Annex</text:p></style:header>"
    "<style:footer-left style:display='false'><text:p>Off</text:p></style:footer-left></style:master-page>"
    "<style:master-page style:name='Unused'><style:header><text:p>Never</text:p></style:header></style:master-page>"
    "</office:master-styles>"
)


def test_pages_have_headers_footers_and_breaks() -> None:
    automatic = LOOKS + style("P9", family="paragraph", more='style:master-page-name="Other"')
    blocks, losses = read(odt(p("One") + p("Two", "page") + p("Three", "P9"), automatic, MASTERS))
    assert [block.text or block.kind for block in blocks if isinstance(block, Block)] == [
        "Pond club,", "One", "page_break", "Two", "Foot", "page_break", "Annex", "Three",
    ]  # fmt: skip
    assert losses == (Loss("hidden_text", 1, "header"),)


def test_controls_of_forms_show_what_is_chosen() -> None:
    forms = (
        "<office:forms><form:form><form:checkbox form:id='c1' form:label='Dogs' form:current-state='checked'/>"
        "<form:listbox form:id='c2'><form:option/><form:option form:label='Blue' form:selected='true'/>"
        "</form:listbox><form:text form:id='c3' form:current-value='Ada'/></form:form></office:forms>"
    )
    controls = " ".join(f"<draw:control draw:control='c{number}'/>" for number in (1, 2, 3))
    assert said(forms + p(controls)) == ["paragraph: ☒ Dogs Blue Ada"]


def test_an_index_is_read_as_it_stands() -> None:
    body = f"<text:table-of-content><text:index-body>{p('Ponds<text:tab/>3')}</text:index-body></text:table-of-content>"
    assert said(body) == ["paragraph: Ponds\t3"]


def test_flat_files_templates_and_facts() -> None:
    data = flat(p("Flat <office:binary-data>QUJD</office:binary-data> text"))
    kind, upload = identify(Upload("a.xml", data))
    opened = reader(kind)(upload, kind, Rules())
    assert (kind, opened.page(1).text) == ("odt", "Flat text")
    assert opened.facts["title"] == "The pond book"
    made = {"mimetype": f"{MIME}-template", "content.xml": "<x/>"}
    assert identify(Upload("a.ott", packed(made)))[0] == "odt"
    manifest = f'<m:manifest><m:file-entry m:media-type="{MIME}" m:full-path="/"/></m:manifest>'
    assert identify(Upload("a.bin", packed({"content.xml": "<x/>", "META-INF/manifest.xml": manifest})))[0] == "odt"
    meta = f"<office:document-meta {SPACES}><office:meta><dc:title>The long pond</dc:title>"
    meta += (
        "<meta:initial-creator>Ada</meta:initial-creator><meta:creation-date>2024-05-04T10:00:00</meta:creation-date>"
    )
    facts = Document(
        Upload("a.odt", odt(p("x"), parts={"meta.xml": f"{meta}</office:meta></office:document-meta>"})), Rules()
    ).facts()
    assert facts == {"title": "The long pond", "author": "Ada", "dated": "", "stamped": "2024-05-04"}


def test_files_that_are_refused() -> None:
    locked = f"<manifest:manifest {SPACES}><manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"
    with pytest.raises(UnsupportedFileError, match="locked with a password"):
        read(odt(p("x"), parts={"META-INF/manifest.xml": f"{locked}</manifest:manifest>"}))
    with pytest.raises(UnsupportedFileError, match="of a kind that DocMind does not read"):
        identify(Upload("a.odg", packed({"mimetype": MIME.replace("text", "graphics"), "content.xml": "<x/>"})))
    for content in ("<broken", f"<office:document-content {SPACES}/>", "<!DOCTYPE x [<!ENTITY e 'x'>]><x>&e;</x>"):
        with pytest.raises(CorruptFileError, match="OpenDocument file that is broken"):
            read(odt("", parts={"content.xml": content}))
    with pytest.raises(EmptyFileError):
        reader("odt")(Upload("a.odt", odt("")), "odt", Rules())
    with pytest.raises(TooLargeError):
        reader("odt")(Upload("a.odt", odt(p("x" * 2_000_000))), "odt", Rules(max_unpacked_mb=1))


def test_a_damaged_part_beside_the_text_is_told() -> None:
    _blocks, losses = read(odt(p("x"), parts={"styles.xml": "<broken"}))
    assert losses == (Loss("part", 1, "styles.xml"),)


@pytest.mark.slow
def test_traps_of_the_format_end_soon() -> None:
    many = 'table:number-columns-repeated="999999999"'
    table = f"<table:table><table:table-row table:number-rows-repeated='999999999'>{cell('x', many)}</table:table-row>"
    outer = f"<table:table-cell {many}>{table}</table:table></table:table-cell>"
    nested = f"<table:table>{row(outer)}</table:table>"
    circle = style("A", parent="B", family="paragraph") + style("B", parent="A", family="paragraph")
    deep = "<text:list><text:list-item>" * 100 + p("deep") + "</text:list-item></text:list>" * 100
    for body in (f"{table}</table:table>", nested, p("x", "A"), deep + p("x"), p("<text:s text:c='99999999999'/>x")):
        blocks, _losses = read(odt(body, circle))
        for each in blocks:
            assert not isinstance(each, Table) or len([*each.rows]) <= 1_000


@pytest.mark.parametrize("seed", tenth_of(range(150)))
def test_mutants_are_read_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    body = p("a" + note("footnote", "1", "n")) + f'<text:list text:style-name="L1">{items(p("b"))}</text:list>'
    oak = cell("Oak", 'table:number-rows-spanned="2"')
    body += f"<table:table>{row(oak, cell('12'))}{row(COVERED, cell('1'))}</table:table>"
    with zipfile.ZipFile(io.BytesIO(odt(body, LOOKS + LISTS, MASTERS))) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    name = chance.choice(["content.xml", "styles.xml"])
    text = parts[name]
    for _time in range(3):
        one, other = sorted(chance.randrange(len(text)) for _end in range(2))
        text = chance.choice(
            [text[:one] + text[other:], text[:other] + text[one:], text.replace("1", "-9"), text[:other]]
        )
    with contextlib.suppress(ReadingError):
        reader("odt")(Upload("a.odt", packed(parts | {name: text})), "odt", Rules())
