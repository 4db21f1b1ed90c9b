"""Presentations: each slide a page, what it shows in reading order, and what is told of the rest."""

from __future__ import annotations

import io
import random
import zipfile

import pytest

from decks import (
    MASTER,
    SlideOf,
    body,
    deck,
    frame,
    level,
    para,
    picture,
    run,
    shape,
    table,
    title,
    xml_of,
)  # fmt: skip
from docmind.blocks import PageBlock, unpack
from docmind.documents import Words
from docmind.errors import CorruptFileError, EmptyFileError, PasswordNeededError, ReadingError
from docmind.reading.file_type import identify
from docmind.reading.formats import Rules, reader
from docmind.reading.formats.typeset import HEIGHT, LaidOut, draw_sheet
from docmind.records.documents import Loss, Upload
from each import each_of
from sampled import tenth_of

R_ID = 'r:id="rId0"'


def opened(data: bytes) -> LaidOut:
    read = reader("pptx")(Upload("a.pptx", data), "pptx", Rules())
    assert isinstance(read, LaidOut)
    return read


def texts_of(data: bytes) -> list[str]:
    read = opened(data)
    return [read.page(number).text for number in range(1, read.pages + 1)]


def blocks_of(data: bytes, page_no: int = 1) -> list[tuple[PageBlock, str]]:
    page = opened(data).page(page_no)
    return [(each, page.text[each.start : each.end]) for each in unpack(page.blocks, len(page.text))]


def said(shapes: str, *, layout: str = "", styles: str = MASTER) -> list[tuple[str, str]]:
    """Return kind and text of each block of one slide."""
    return [(each.kind, text) for each, text in blocks_of(deck([shapes], layout=layout, styles=styles))]


def losses_of(slide: SlideOf | str) -> tuple[Loss, ...]:
    return opened(deck([slide, title("Text")])).losses


# Slides and pages


def test_each_slide_is_a_page_in_the_order_of_the_presentation() -> None:
    data = deck([title("One"), "", title("Three"), title("Four")], order=[3, 1, 2, 4])
    assert texts_of(data) == ["Three", "One", "", "Four"]


def test_a_long_slide_is_one_page_and_the_next_keeps_its_number() -> None:
    read = opened(deck([title("Long") + body(*(f"Item {at}" for at in range(90))), title("Next")]))
    first, second = read.page(1), read.page(2)
    assert (read.pages, second.text) == (2, "Next")
    assert first.text.endswith("Item 89")
    assert first.height > HEIGHT > second.height
    last = Words.unpack(first.words).boxes[-1]
    assert HEIGHT < last[1] < first.height
    assert draw_sheet(first.image).size == (first.width, first.height)


@pytest.mark.slow
def test_a_page_stays_within_what_a_picture_can_be() -> None:
    data = deck([body(*(f"Item {at}" for at in range(200)))])
    read = reader("pptx")(Upload("a.pptx", data), "pptx", Rules(image_side_px=6_000))
    pages = [read.page(number) for number in range(1, read.pages + 1)]
    assert len(pages) > 1
    assert max(page.height for page in pages) <= 16_383
    assert draw_sheet(pages[0].image).height == pages[0].height


def test_a_title_holds_for_its_slide_alone() -> None:
    data = deck([title("Hiring") + body("Budget: 120,000"), shape(para("Nothing above"))])
    assert [each.path for each, text in blocks_of(data) if "Budget" in text] == [("Hiring",)]
    assert [each.path for each, _text in blocks_of(data, 2)] == [()]


def test_a_hidden_slide_is_read_and_says_so() -> None:
    data = deck([SlideOf(title("Plan"), 'show="0"'), SlideOf(shape(para("No title")), 'show="0"')])
    assert texts_of(data) == ["Plan (hidden)", "(hidden)\n\nNo title"]


def test_a_slide_that_is_broken_keeps_its_page_and_is_told() -> None:
    data = _changed(deck([title("One"), title("Two"), title("Three")]), "slides/slide2.xml", lambda xml: xml[:200])
    assert texts_of(data) == ["One", "", "Three"]
    assert Loss("part", 1, "slide 2") in opened(data).losses
    again = deck([title("One")], order=[1, 1])
    assert texts_of(again) == ["One", ""]


def test_a_presentation_without_text_or_without_slides() -> None:
    with pytest.raises(EmptyFileError):
        opened(deck(["", ""]))
    with pytest.raises(CorruptFileError, match="PowerPoint"):
        opened(_changed(deck([title("One")]), "ppt/presentation.xml", lambda xml: xml[:100]))
    with pytest.raises(CorruptFileError, match="PowerPoint"):
        opened(_changed(deck([title("One")]), "slides/slide1.xml", lambda xml: b"<x/>"))


def test_facts_are_those_of_the_file_and_not_of_a_template() -> None:
    facts = opened(
        deck(
            [title("One")],
            core="<dc:title>Goals for 2025</dc:title><dc:creator>Ada Heron</dc:creator>"
            "<dcterms:created>2025-01-14T10:00:00Z</dcterms:created>",
        )
    ).facts
    assert (facts["title"], facts["author"], facts["stamped"]) == ("Goals for 2025", "Ada Heron", "2025-01-14")
    core = "<dcterms:created>2013-01-27T09:14:16Z</dcterms:created>"
    assert opened(deck([title("One")], core=core)).facts["stamped"] == ""


# Titles and texts


@each_of(
    "shapes, expected",
    [
        (shape(para("Later")) + title("Goals"), [("heading", "Goals"), ("paragraph", "Later")]),
        (
            shape(para("Goals"), "ctrTitle") + shape(para("For 2025", level(0, "<a:buNone/>")), "subTitle", index=1),
            [("heading", "Goals"), ("paragraph", "For 2025")],
        ),
        (shape("<a:p><a:r><a:t>Goals for</a:t></a:r><a:br/><a:r><a:t>2025</a:t></a:r></a:p>", "title"),
         [("heading", "Goals for 2025")]),
        (title("") + shape(para("Alone")), [("paragraph", "Alone")]),
        (
            shape(para("Small text"), at=(0, 900, 10, 10))
            + shape(para(runs=run("Key numbers", 'sz="3200"')), at=(0, 10, 10, 10)),
            [("heading", "Key numbers"), ("paragraph", "Small text")],
        ),
        (
            shape(para(runs=run("Key numbers", 'sz="3200"')) + para("Users: 4.2M"), at=(0, 10, 10, 10)),
            [("heading", "Key numbers"), ("paragraph", "Users: 4.2M")],
        ),
        (
            shape(para("Small text"), at=(0, 900, 10, 10)) + shape(para("Same size"), at=(0, 10, 10, 10)),
            [("paragraph", "Same size"), ("paragraph", "Small text")],
        ),
    ],
)  # fmt: skip
def test_titles(shapes: str, expected: list[tuple[str, str]]) -> None:
    assert said(shapes) == expected


def test_levels_bullets_and_numbers_are_those_of_the_slide() -> None:
    auto = '<a:buAutoNum type="{}"/>'.format
    paragraphs = (
        para("Bullet") + para("Deeper", level(1)) + para("Plain", level(0, "<a:buNone/>"))
        + para("First", level(0, auto("arabicPeriod"))) + para("Sub", level(1, auto("alphaLcParenR")))
        + para("Sub", level(1, auto("alphaLcParenR"))) + para("Second", level(0, auto("arabicPeriod")))
        + para("Break") + para("Anew", level(0, auto("arabicPeriod")))
        + para("Five", level(0, '<a:buAutoNum type="romanUcParenBoth" startAt="5"/>'))
        + para("") + para("Six", level(0, '<a:buAutoNum type="romanUcParenBoth" startAt="5"/>'))
        + para("Ticked", level(0, '<a:buFont typeface="Wingdings"/><a:buChar char="ü"/>'))
    )  # fmt: skip
    found = blocks_of(deck([shape(paragraphs, "", index=1)]))
    assert [(each.level, text) for each, text in found] == [
        (0, "• Bullet"), (1, "• Deeper"), (0, "Plain"), (0, "1. First"), (1, "a) Sub"), (1, "b) Sub"), (0, "2. Second"),
        (0, "• Break"), (0, "1. Anew"), (0, "(V) Five"), (0, "(VI) Six"), (0, "✓ Ticked"),
    ]  # fmt: skip


def test_bullets_and_titles_come_from_the_layout_where_it_says_them() -> None:
    numbered = '<a:lvl1pPr><a:buAutoNum type="arabicPeriod"/></a:lvl1pPr>'
    layout = shape(para("Click here"), "body", index=13, style=numbered) + shape(para("Click"), "title")
    shapes = title("Steps") + shape(para("Pack") + para("Move"), "", index=13)
    assert said(shapes, layout=layout) == [("heading", "Steps"), ("item", "1. Pack"), ("item", "2. Move")]
    assert said(shape(para("Typed by index"), "", index=0), layout=shape("", "title"))[0][0] == "heading"


@each_of(
    "runs, text",
    [
        (run("10") + run("6", 'baseline="30000"'), "10⁶"),
        (run("H") + run("2", 'baseline="-25000"') + run("O"), "H₂O"),
        (run("90", 'strike="sngStrike"') + run(" 80"), "~~90~~ 80"),
        (run("9", 'strike="dblStrike" b="1"') + run("0 ", 'strike="dblStrike"') + run("80"), "~~90~~ 80"),
        (run("Goals", 'cap="all"'), "GOALS"),
        (run("one") + "<a:br/>" + run("two"), "one\ntwo"),
        ('<a:fld id="{1}" type="datetime1"><a:t>14 May</a:t></a:fld>' + run(" on"), "14 May on"),
        (run("see ") + '<a:r><a:rPr><a:hlinkClick r:id="rId9"/></a:rPr><a:t>the site</a:t></a:r>', "see the site"),
        (run("so\u00adft\u200b e\u0301"), "soft é"),
        ('<a:r><a:rPr><a:sym typeface="Wingdings"/></a:rPr><a:t>\uf0e0</a:t></a:r>' + run(" next"), "→ next"),
        (run("a ") + "<a14:m><m:oMath><m:r><m:t>x</m:t></m:r></m:oMath></a14:m>" + run(" b"), "a x b"),
    ],
)
def test_what_a_paragraph_shows(runs: str, text: str) -> None:
    assert texts_of(deck([shape(para(runs=runs))])) == [text]


def test_capitals_come_from_the_master() -> None:
    styles = '<p:txStyles><p:titleStyle><a:lvl1pPr><a:defRPr cap="all"/></a:lvl1pPr></p:titleStyle></p:txStyles>'
    assert said(title("Goals"), styles=styles) == [("heading", "GOALS")]


def test_an_equation_of_its_own_is_one() -> None:
    half = "<m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>"
    math = f"<a14:m><m:oMathPara><m:oMath>{half}</m:oMath></m:oMathPara></a14:m>"
    shapes = (
        f'<mc:AlternateContent><mc:Choice Requires="a14">{shape(para(runs=math))}</mc:Choice>'
        f"<mc:Fallback>{shape(para('no'))}</mc:Fallback></mc:AlternateContent>"
    )
    assert said(shapes) == [("equation", "1/2")]


# Order and groups


@each_of(
    "shapes, texts",
    [
        # A comparison that was drawn column by column, and one that was drawn row by row.
        ([("L", 0, 0), ("l", 0, 20), ("R", 50, 0), ("r", 50, 20)], "L l R r"),
        ([("L", 0, 0), ("R", 50, 0), ("l", 0, 20), ("r", 50, 20)], "L R l r"),
        # A heading that was added last.
        ([("b", 0, 30), ("c", 0, 60), ("a", 0, 0)], "a b c"),
        # Shapes that overlap keep the order of the drawing.
        ([("under", 0, 5), ("over", 2, 0)], "under over"),
    ],
)
def test_shapes_are_read_as_they_stand(shapes: list[tuple[str, int, int]], texts: str) -> None:
    slide = "".join(shape(para(text), at=(x, y, 40, 12)) for text, x, y in shapes)
    assert texts_of(deck([slide]))[0].split() == texts.split()


def test_groups_and_alternatives_are_read_once() -> None:
    group = (
        f'<p:grpSp><p:nvGrpSpPr><p:cNvPr id="3" name="G"/></p:nvGrpSpPr><p:grpSpPr/>{shape(para("Inside"))}</p:grpSp>'
    )
    newer = (
        '<mc:AlternateContent xmlns:z="urn:unknown"><mc:Choice Requires="z">' + shape(para("New"))
        + "</mc:Choice><mc:Fallback>" + shape(para("Old")) + "</mc:Fallback></mc:AlternateContent>"
    )  # fmt: skip
    assert texts_of(deck([group + newer])) == ["Inside\n\nOld"]


def test_a_deep_group_is_told() -> None:
    inner = shape(para("Deep"))
    for _each in range(80):
        inner = f"<p:grpSp><p:nvGrpSpPr/><p:grpSpPr/>{inner}</p:grpSp>"
    assert Loss("part", 1, "slide 1") in losses_of(inner)


def test_the_names_of_two_lists_that_are_compared_are_headings() -> None:
    plain = level(0, "<a:buNone/>")
    names = [shape(para(text, plain), "body", index=at) for text, at in (("Pros", 1), ("Cons", 3))]
    lists = [shape(para(text), "", index=at) for text, at in (("Central", 2), ("Loud", 4))]
    slide = title("The house") + names[0] + lists[0] + names[1] + lists[1]
    found = blocks_of(deck([slide], layout_type="twoTxTwoObj"))
    assert [(each.path, text) for each, text in found if each.kind == "item"] == [
        (("The house", "Pros"), "• Central"), (("The house", "Cons"), "• Loud"),
    ]  # fmt: skip


# Tables, charts, diagrams


def test_a_table_has_its_names_and_merged_cells() -> None:
    rows = [
        ["Role", "Budget", "When"],
        ["Engineer", ("90,000", 'gridSpan="2"'), ("", 'hMerge="1"')],
        [("Designer", 'rowSpan="2"'), "70,000", "May"],
        [("", 'vMerge="1"'), "20,000", "June"],
    ]
    found = blocks_of(deck([title("Hiring") + table(rows)]))
    assert [(each.kind, text) for each, text in found[1:]] == [
        ("header_row", "Role | Budget | When"), ("row", "Engineer | 90,000 | 90,000"),
        ("row", "Designer | 70,000 | May"), ("row", "Designer | 20,000 | June"),
    ]  # fmt: skip
    about = found[3][0].table
    assert about is not None
    assert about.header == ("Role", "Budget", "When")


def test_a_first_row_of_values_names_nothing() -> None:
    assert [kind for kind, _text in said(table([["Budget", "31,000"], ["Desks", "24"]]))] == ["row", "row"]
    years = table([["", "2024", "2025"], ["Sales", "10", "12"]])
    assert [kind for kind, _text in said(years)] == ["header_row", "row"]


CHART = xml_of(
    "c:chartSpace",
    "<c:chart><c:title><a:t>Turnover</a:t></c:title><c:plotArea><c:barChart><c:ser><c:tx><c:strRef><c:strCache>"
    '<c:pt idx="0"><c:v>North</c:v></c:pt></c:strCache></c:strRef></c:tx><c:cat><c:strRef><c:strCache>'
    '<c:pt idx="0"><c:v>Q1</c:v></c:pt><c:pt idx="1"><c:v>Q2</c:v></c:pt></c:strCache></c:strRef></c:cat>'
    '<c:val><c:numRef><c:numCache><c:formatCode>0%</c:formatCode><c:pt idx="0"><c:v>0.125</c:v></c:pt>'
    '<c:pt idx="1"><c:v>0.5</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser></c:barChart>'
    "<c:catAx><c:title><a:t>Quarter</a:t></c:title></c:catAx>"
    "<c:valAx><c:title><a:t>share</a:t></c:title></c:valAx></c:plotArea></c:chart>",
)


def test_a_chart_is_a_table_of_its_values_as_their_format_shows_them() -> None:
    slide = SlideOf(title("Sales") + frame(f"<c:chart {R_ID}/>"), parts=[("chart", "chart.xml", CHART)])
    found = blocks_of(deck([slide]))
    assert [(each.kind, text) for each, text in found[1:]] == [
        ("caption", "Turnover (share)"), ("header_row", "Quarter | North"), ("row", "Q1 | 13%"), ("row", "Q2 | 50%"),
    ]  # fmt: skip
    assert found[3][0].raws == ((1, 0.125),)


def test_a_chart_of_the_newer_kinds_is_a_table() -> None:
    names = 'xmlns:cx="http://schemas.microsoft.com/office/drawing/2014/chartex"'
    chart = (
        f'<cx:chartSpace {names}><cx:chartData><cx:data id="0"><cx:strDim type="cat"><cx:lvl><cx:pt idx="0">Won</cx:pt>'
        '<cx:pt idx="1">Lost</cx:pt></cx:lvl></cx:strDim><cx:numDim type="val"><cx:lvl formatCode="General">'
        '<cx:pt idx="0">12</cx:pt><cx:pt idx="1">-3</cx:pt></cx:lvl></cx:numDim></cx:data></cx:chartData>'
        "<cx:chart><cx:plotArea><cx:plotAreaRegion><cx:series><cx:tx><cx:txData><cx:v>Deals</cx:v></cx:txData></cx:tx>"
        "</cx:series></cx:plotAreaRegion></cx:plotArea></cx:chart></cx:chartSpace>"
    )
    content = f'<cx:chart {names} r:id="rId0"/>'
    inner = frame(content)
    alternatives = (
        '<mc:AlternateContent xmlns:cx1="http://schemas.microsoft.com/office/drawing/2015/9/8/chartex">'
        f'<mc:Choice Requires="cx1">{inner}</mc:Choice><mc:Fallback>{picture()}</mc:Fallback></mc:AlternateContent>'
    )
    slide = SlideOf(alternatives, parts=[("chartEx", "chartEx1.xml", chart)])
    assert texts_of(deck([slide])) == ["| Deals\nWon | 12\nLost | -3"]
    assert losses_of(slide) == ()


def test_a_diagram_is_its_texts_by_level() -> None:
    def point(key: str, text: str, kind: str = "node") -> str:
        return f'<dgm:pt modelId="{key}" type="{kind}"><dgm:t><a:p>{run(text)}</a:p></dgm:t></dgm:pt>'

    def under(above: str, below: str, order: int) -> str:
        return f'<dgm:cxn modelId="c{below}" srcId="{above}" destId="{below}" srcOrd="{order}" destOrd="0"/>'

    data = xml_of(
        "dgm:dataModel",
        "<dgm:ptLst>" + point("0", "", "doc") + point("2", "Engineer") + point("1", "Head") + point("3", "Later")
        + point("9", "arrow", "sibTrans") + "</dgm:ptLst><dgm:cxnLst>" + under("0", "1", 0) + under("1", "2", 0)
        + under("0", "3", 1) + "</dgm:cxnLst>",
    )  # fmt: skip
    slide = SlideOf(frame('<dgm:relIds r:dm="rId0"/>'), parts=[("diagramData", "data1.xml", data)])
    assert [(each.level, text) for each, text in blocks_of(deck([slide]))] == [
        (0, "• Head"), (1, "• Engineer"), (0, "• Later"),
    ]  # fmt: skip


# Beside the slide


def test_notes_follow_their_slide_and_are_told_apart() -> None:
    notes = (
        shape(para("Say hello.") + para("Then wait."), "body", index=1) + shape(para("7"), "sldNum", index=2)
        + shape(para("Handout"), "hdr", index=3) + shape("", "sldImg", index=4)
    )  # fmt: skip
    found = blocks_of(deck([SlideOf(title("Goals") + body("Grow"), notes=notes)]))
    assert [(each.kind, text) for each, text in found] == [
        ("heading", "Goals"), ("item", "• Grow"), ("note", "Notes: Say hello."), ("note", "Then wait."),
    ]  # fmt: skip


def test_comments_of_both_kinds_have_their_authors() -> None:
    older = xml_of("p:cmLst", '<p:cm authorId="0" idx="1"><p:text>Too short</p:text></p:cm>')
    newer = (
        '<p188:cmLst xmlns:p188="http://schemas.microsoft.com/office/powerpoint/2018/8/main" '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
        '<p188:cm id="{A}" authorId="{B}"><p188:replyLst><p188:reply authorId="{C}"><p188:txBody>'
        f"{para('Done')}</p188:txBody></p188:reply></p188:replyLst><p188:txBody>{para('Please round')}</p188:txBody>"
        "</p188:cm></p188:cmLst>"
    )
    authors = {
        "commentAuthors": xml_of("p:cmAuthorLst", '<p:cmAuthor id="0" name="Ada"/>'),
        "authors": '<x:list xmlns:x="urn:x"><x:author id="{B}" name="Bo"/><x:author id="{C}" name="Cy"/></x:list>',
    }
    slide = SlideOf(title("Goals"), parts=[("comments", "c1.xml", older), ("comments", "c2.xml", newer)])
    assert [text for _each, text in blocks_of(deck([slide], authors=authors))[1:]] == [
        "Comment by Ada: Too short", "Comment by Bo: Please round", "Comment by Cy: Done",
    ]  # fmt: skip


def test_footers_are_told_apart_and_numbers_are_left() -> None:
    shapes = title("Goals") + shape(para("Herons Ltd"), "ftr", index=11) + shape(para("3"), "sldNum", index=12)
    assert said(shapes) == [("heading", "Goals"), ("footer", "Herons Ltd")]
    data = deck([title("One"), title("Two")], master=shape(para("Confidential")) + shape(para("Click"), "body"))
    assert texts_of(data) == ["One\n\nConfidential", "Two"]
    alone = deck([SlideOf(title("One"), 'showMasterSp="0"')], master=shape(para("Confidential")))
    assert texts_of(alone) == ["One"]


@each_of(
    "shapes, losses",
    [
        (picture("A cartoon duck"), ()),
        (picture(), (Loss("picture", 1, "slide 1"),)),
        (picture("duck.png"), (Loss("picture", 1, "slide 1"),)),
        (picture(blip='r:link="rId0"'), (Loss("linked_picture", 1, "slide 1"),)),
        (picture(extra='<a:x><d:decorative xmlns:d="urn:d" val="1"/></a:x>'), ()),
        (picture("A film", '<a:videoFile r:link="rId1"/>'), (Loss("media", 1, "slide 1"),)),
        (frame('<c:chart r:id="rId7"/>'), (Loss("chart", 1, "slide 1"),)),
        (frame('<c:chart r:id="rId7"/>', "Sales grew"), ()),
        (frame('<p:oleObj progId="Excel.Sheet.12"/>'), (Loss("embedded_object", 1, "slide 1"),)),
        (frame('<p:oleObj progId="Equation.3"/>'), (Loss("equation", 1, "slide 1"),)),
        (shape("", described="An arrow to the right"), ()),
        (shape(para("Secret")).replace("<p:cNvPr", '<p:cNvPr hidden="1"'), (Loss("hidden_text", 1, "slide 1"),)),
    ],
)
def test_what_is_not_read_is_told(shapes: str, losses: tuple[Loss, ...]) -> None:
    assert losses_of(SlideOf(shapes, parts=[("image", "http://x.example/a.png", "")])) == losses


def test_alternative_texts_are_figures() -> None:
    shapes = picture("A duck. AI-generated content may be incorrect.") + shape("", described="An arrow to May")
    assert said(shapes) == [("figure", "A duck."), ("figure", "An arrow to May")]


# Hostile files


def _changed(data: bytes, end: str, change) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name.endswith(end) else old.read(name))
    return out.getvalue()


def full_deck() -> bytes:
    """Return a presentation with every feature."""
    chart = SlideOf(
        title("Sales") + frame(f"<c:chart {R_ID}/>") + picture("A duck") + table([["A", "B"], ["1", "2"]]),
        notes=shape(para("Say it"), "body", index=1), parts=[("chart", "chart.xml", CHART)],
    )  # fmt: skip
    numbered = para("x", level(0, '<a:buAutoNum type="arabicPeriod" startAt="3"/>'))
    comments = xml_of("p:cmLst", '<p:cm authorId="0" idx="1"><p:text>Too short</p:text></p:cm>')
    return deck(
        [chart, SlideOf(title("Goals") + body("Grow") + shape(numbered), parts=[("comments", "c.xml", comments)])],
        layout=shape("", "title"), master=shape(para("Fixed")), authors={"commentAuthors": xml_of("p:cmAuthorLst", "")},
    )  # fmt: skip


def mutants(data: bytes, count: int, seed: int = 7) -> list[bytes]:
    """Return copies of a packed file with bytes of its parts flipped, cut, doubled or swapped."""
    chance = random.Random(seed)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    found = list[bytes]()
    for _each in range(count):
        changed = dict(parts)
        name, other = chance.choice(list(parts)), chance.choice(list(parts))
        raw = bytearray(changed[name])
        match chance.randrange(6):
            case 0:
                changed[name], changed[other] = changed[other], changed[name]
            case 1:
                raw = raw[: chance.randrange(len(raw) + 1)]
                changed[name] = bytes(raw)
            case 2:
                del changed[name]
            case 3:
                start = chance.randrange(len(raw))
                changed[name] = bytes(raw[:start] + raw[start // 2 :])
            case 4:
                number = chance.choice([b"-1", b"99999999999999999999", b"", b"x", b"1e400", b"\xff"])
                quoted = bytes(raw).split(b'"')
                at = chance.randrange(len(quoted))
                quoted[at] = number
                changed[name] = b'"'.join(quoted)
            case _:
                for _flip in range(chance.randrange(1, 12)):
                    raw[chance.randrange(len(raw))] = chance.randrange(256)
                changed[name] = bytes(raw)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for key, value in changed.items():
                archive.writestr(key, value)
        found.append(out.getvalue())
    return found


def test_mutants_are_read_or_refused() -> None:
    for mutant in tenth_of(mutants(full_deck(), 300)):
        try:
            read = opened(mutant)
            for number in range(1, read.pages + 1):
                read.page(number)
        except ReadingError:
            continue
    cut = full_deck()
    for end in range(0, len(cut), 97):
        with pytest.raises(ReadingError):
            opened(cut[:end])


@pytest.mark.slow
def test_a_locked_presentation_opens_with_its_password() -> None:
    from msoffcrypto.format.ooxml import OOXMLFile

    locked = io.BytesIO()
    packed = _changed(deck([title("Secret goals")]), "core.xml", lambda xml: xml)  # not compressed: of several blocks
    OOXMLFile(io.BytesIO(packed)).encrypt("hush", locked)
    with pytest.raises(PasswordNeededError):
        identify(Upload("a.pptx", locked.getvalue()))
    kind, unlocked = identify(Upload("a.pptx", locked.getvalue(), "hush"))
    assert kind == "pptx"
    assert texts_of(unlocked.data) == ["Secret goals"]


def test_entities_are_not_expanded() -> None:
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/hostname">]>'
    data = _changed(
        deck([title("One"), title("Two")]), "slides/slide1.xml", lambda xml: bomb + xml.replace(b"One", b"x&b;&f;y")
    )
    first, second = texts_of(data)
    assert second == "Two"
    assert "aaaa" not in first
