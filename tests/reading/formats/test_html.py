"""Web pages: what stands in them, block by block, and what is told of the rest."""

from __future__ import annotations

import time

import pytest

from docmind.blocks import Block, Cell, Losses, Table, shown_in
from docmind.reading.formats import Rules, reader
from docmind.reading.formats.html import blocks_of, parse
from docmind.reading.formats.markup import Page, numbered
from docmind.reading.formats.math_text import words_of_latex
from docmind.records.documents import Loss, Upload
from each import each_of


def blocks(source: str) -> list[Block | Table]:
    return list(blocks_of(parse(source, "a.html")))


def texts(source: str) -> list[tuple[str, str, str]]:
    return [(block.kind, block.marker, block.text) for block in blocks(source) if isinstance(block, Block)]


def items(source: str) -> list[tuple[str, str, int]]:
    return [(block.marker, block.text, block.level) for block in blocks(source) if isinstance(block, Block)]


def rows(source: str) -> list[list[str]]:
    (table,) = (block for block in blocks(source) if isinstance(block, Table))
    return [[shown_in(cell) for cell in row] for row in table.rows]


def text(source: str) -> str:
    (block,) = blocks(source)
    assert isinstance(block, Block)
    return block.text


def lost(source: str) -> dict[str, int]:
    losses = Losses()
    list(blocks_of(parse(source, "a.html", losses), Page(losses)))
    return {loss.kind: loss.count for loss in losses.found()}


def page_text(data: bytes) -> str:
    return reader("html")(Upload("a.html", data), "html", Rules()).page(1).text


@each_of(
    "source, wanted",
    [
        ("<ol start=4><li>a<li>b</ol>", [("4.", "a", 0), ("5.", "b", 0)]),
        ("<ol><li>a<li value=7>b<li>c</ol>", [("1.", "a", 0), ("7.", "b", 0), ("8.", "c", 0)]),
        ("<ol reversed><li>a<li>b</ol>", [("2.", "a", 0), ("1.", "b", 0)]),
        ("<ol reversed start=9><li>a<li>b</ol>", [("9.", "a", 0), ("8.", "b", 0)]),
        ("<ol type=a start=26><li>a<li>b</ol>", [("z.", "a", 0), ("aa.", "b", 0)]),
        ("<ol type=I start=3><li>a<li>b</ol>", [("III.", "a", 0), ("IV.", "b", 0)]),
        ("<ol style='list-style-type: lower-roman'><li>a</ol>", [("i.", "a", 0)]),
        (
            "<ol><li>a<ol><li>b</ol><ul><li>c</ul><li>d</ol>",
            [("1.", "a", 0), ("1.", "b", 1), ("•", "c", 1), ("2.", "d", 0)],
        ),
        ("<ol start=2><li><ol type=a><li>a</ol></ol>", [("2. a.", "a", 1)]),
        ("<ul><li><p>a</p><p>b</p></ul>", [("•", "a", 0), ("", "b", 0)]),
        ("<ul style='list-style:none'><li>a</ul>", [("", "a", 0)]),
        (
            "<dl><dt>A<dt>B<dd>c<dd>d<dt>E?<dd>f<dt>G</dl>",
            [("", "A, B: c", 0), ("", "d", 0), ("", "E? f", 0), ("", "G", 0)],
        ),
        ("<ul><li><input type=checkbox checked>a<li><input type=checkbox>b</ul>", [("☒", "a", 0), ("☐", "b", 0)]),
        ("<ol start=x><li value=>a</ol>", [("1.", "a", 0)]),
    ],
)
def test_items_have_the_marks_that_a_browser_shows(source: str, wanted: list[tuple[str, str, int]]) -> None:
    assert items(source) == wanted


def test_numbers_of_each_type() -> None:
    assert [numbered(number, "i") for number in (1, 4, 9, 1_994, 3_999)] == ["i", "iv", "ix", "mcmxciv", "mmmcmxcix"]
    assert [numbered(number, style) for number, style in ((0, "a"), (-3, "I"), (4_000, "I"))] == ["0", "-3", "4000"]


@each_of(
    "source, wanted",
    [
        (
            "<table><tr><th>a<th>b<tr><td rowspan=2>x<td>1<tr><td>2</table>",
            [["a", "b"], ["x", "1"], ["x", "2"]],
        ),
        (
            "<table><tr><th colspan=2>a<th>b<tr><td>1<td rowspan=0>2<td>3<tr><td>4<td>5</table>",
            [["a", "a", "b"], ["1", "2", "3"], ["4", "2", "5"]],
        ),
        ("<table><tfoot><tr><td>f</tfoot><tr><th>a<tr><td>1</table>", [["a"], ["1"], ["f"]]),
        ("<table><tr><th>a<th>b<tr><td>1</table>", [["a", "b"], ["1"]]),
        ("<table><tr><th>a<tr hidden><td>x<tr><td>1</table>", [["a"], ["1"]]),
        ("<table><tr><th>a<tr><td><ul><li>x<li>y</ul>z<br>w</table>", [["a"], ["• x • y z w"]]),
        ("<table><tr><th>a<th>b<tr><td rowspan=9>1<td>2<tr><td>3</table>", [["a", "b"], ["1", "2"], ["1", "3"]]),
    ],
)
def test_spans_are_filled_in(source: str, wanted: list[list[str]]) -> None:
    assert rows(source) == wanted


def test_a_filled_cell_is_known_as_such() -> None:
    (table,) = blocks("<table><tr><th>a<th>b<tr><td rowspan=2>x<td>1<tr><td>2</table>")
    assert isinstance(table, Table)
    kept = [(cell.rows, cell.is_filled) for row in table.rows for cell in row if isinstance(cell, Cell)]
    assert kept == [(2, False), (1, True)]


@each_of(
    "source, wanted",
    [
        ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", (1, 0, "")),
        ("<table><thead><tr><td>a<tr><td>b</thead><tr><td>1</table>", (2, 0, "")),
        ("<table><tr><th rowspan=2>p<th colspan=2>q<tr><th>r<th>s<tr><th>x<td>1<td>2</table>", (2, 1, "")),
        ("<table><caption>Tides  of <b>May</b></caption><tr><td>1<td>2</table>", (0, 0, "Tides of May")),
        ("<table><tr><th>only<th>names</table>", (1, 0, "")),
        ("<table><tr><td>1<tr><td>2</table>", (0, 0, "")),
    ],
)
def test_what_names_rows_and_columns(source: str, wanted: tuple[int, int, str]) -> None:
    (table,) = blocks(source)
    assert isinstance(table, Table)
    assert (table.header_rows, table.header_columns, table.caption) == wanted


def test_a_table_in_a_cell_follows_the_outer_one() -> None:
    outer, inner = blocks("<table><tr><th>a<tr><td>x<table><tr><th>in<tr><td>y</table>z</table>")
    assert isinstance(outer, Table)
    assert isinstance(inner, Table)
    assert [[[shown_in(cell) for cell in row] for row in table.rows] for table in (outer, inner)] == [
        [["a"], ["x z"]],
        [["in"], ["y"]],
    ]


def test_a_table_that_lays_out_a_page_is_text() -> None:
    source = "<table role=presentation><tr><td><p>left</p><td><p>right</p><tr><td>foot</table>"
    assert texts(source) == [("paragraph", "", "left"), ("paragraph", "", "right"), ("paragraph", "", "foot")]


@each_of(
    "source, wanted",
    [
        ("H<sub>2</sub>O, 5 m<sup>2</sup>, 10<sup>-3</sup>", "H₂O, 5 m², 10⁻³"),
        ("the 2<sup>nd</sup> of M<sup>lle</sup> X", "the 2nd of Mlle X"),
        ("x<sub>i</sub> and e<sup>-kt</sup>", "x_i and e^(-kt)"),
        ("a <picture><source srcset=a><img src=b alt=boat></picture> on <x-y>a</x-y> lake", "a boat on a lake"),
        ("a&nbsp;b co&shy;op z&#8203;w &eacute; e&#769; &lt;b&gt;", "a b coop zw é é <b>"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢(kan)"),
        ("say <q>yes</q>", "say “yes”"),
        ("Name <input value=Ada> <input type=password value=p> <input type=hidden value=h>", "Name Ada"),
        ("<select><option>a<option selected>b</select> <select><option>c<option>d</select>", "b c"),
        ("<label><input type=radio checked> Yes</label> <label><input type=radio> No</label>", "☒ Yes ☐ No"),
        ("note <textarea>two\nlines</textarea> end", "note two lines end"),
        ("It is <math><mi>d</mi><mo>=</mo><mn>40</mn><mo>+</mo><mi>x</mi></math> long", "It is d=40+x long"),
        ("<math><mfrac><msup><mi>v</mi><mn>2</mn></msup><mrow><mn>2</mn><mi>a</mi></mrow></mfrac></math>", "v²/(2a)"),
        ("<math><msqrt><mi>x</mi></msqrt><mo>&#x2062;</mo><msub><mi>a</mi><mn>1</mn></msub></math>", "√xa₁"),
        ("so <math alttext='E = mc^2'></math> holds", "so E = mc² holds"),
        ("an <img src=a alt=anchor> icon", "an anchor icon"),
        ("x <script type='math/tex'>a \\le \\frac{1}{n}</script> y", "x a ≤ 1/n y"),
        (
            "<span class=katex><span class=katex-mathml><math><mi>q</mi></math></span>"
            "<span class=katex-html aria-hidden=true>q q</span></span> once",
            "q once",
        ),
        (
            "<span class=mwe-math-mathml-inline style='display: none'><math><mi>q</mi></math></span>"
            "<img aria-hidden=true alt='{\\displaystyle q}'> once",
            "q once",
        ),
    ],
)
def test_a_line_is_as_a_reader_sees_it(source: str, wanted: str) -> None:
    assert text(f"<p>{source}</p>") == wanted


def test_formulas_in_latex_in_words() -> None:
    assert words_of_latex(r"\sum_{i=1}^{n} \alpha_i \cdot x^2 \le \sqrt[3]{2y}") == "∑_(i=1)ⁿ α_i · x² ≤ ³√(2y)"
    assert words_of_latex("{" * 500) == "{" * 500
    assert words_of_latex("x^{" * 500) == "x^{" * 500


def test_a_formula_of_its_own_keeps_its_latex() -> None:
    tex = "<annotation encoding='application/x-tex'>\\frac{a}{b}</annotation>"
    source = f"<p>Thus<math display=block><semantics><mfrac><mi>a</mi><mi>b</mi></mfrac>{tex}</semantics></math></p>"
    _paragraph, equation = blocks(source)
    assert equation == Block(kind="equation", text="a/b", latex="\\frac{a}{b}")


def test_code_has_its_language_and_its_spaces() -> None:
    source = "<pre><code class='hljs language-python'>def f():\n&nbsp;   return <b>1</b></code></pre>"
    parts = ((0, ("def f",)),)
    assert blocks(source) == [Block(kind="code", text="def f():\n    return 1", language="python", symbols=parts)]
    assert blocks("<div class=highlight-source-shell><pre>a<br>b</pre></div>") == [
        Block(kind="code", text="a\nb", language="bash")
    ]


def test_pictures_are_told_by_their_words() -> None:
    source = "<figure><img src=a alt='A red boat'><figcaption>Fig. 1</figcaption></figure>"
    source += "<svg><title>Yield</title><text>North 40</text></svg>"
    assert texts(source) == [
        ("figure", "", "A red boat"),
        ("caption", "", "Fig. 1"),
        ("figure", "", "Yield. North 40"),
    ]


def test_parts_of_the_page_around_the_text_are_known() -> None:
    source = (
        "<header><h1>Site</h1><p>Slogan</p></header><nav><ul><li>Home<li>About</ul></nav>"
        "<main><article><header><p>By Ada</p></header><h2>News</h2><aside><h3>Ad</h3>Buy</aside></article></main>"
        "<footer>Imprint</footer>"
    )
    assert texts(source) == [
        ("heading", "", "Site"),
        ("header", "", "Slogan"),
        ("paragraph", "", "By Ada"),
        ("heading", "", "News"),
        ("note", "", "Ad"),
        ("note", "", "Buy"),
        ("footer", "", "Imprint"),
        ("footer", "", "Home | About"),
    ]


@each_of(
    "mark, note",
    [
        ("<sup><a href='#n'>1</a></sup>", "<ol><li id=n>Oil. <a href='#r'>↩</a></ol>"),
        ("<a href='#n' role=doc-noteref>1</a>", "<aside id=n hidden><p>Oil.</p></aside>"),
        ("<a href='#n' epub:type=noteref>1</a>", "<section hidden epub:type=footnotes><p id=n>1. Oil.</p></section>"),
        ("<a id=r href='#n'><sup>1</sup></a>", "<p><a id=n href='#r'><sup>1</sup></a> Oil.</p>"),
        ("<sup id=r><a href='#n'>[1]</a></sup>", "<ol><li id=n><a href='#r'>^</a> <span>Oil.</span></ol>"),
    ],
)
def test_a_note_has_its_mark_and_its_place(mark: str, note: str) -> None:
    first, second = blocks(f"<p>The lamp was lit{mark} at dusk.</p>{note}")
    assert first == Block(kind="paragraph", text="The lamp was lit[1] at dusk.")
    assert second == Block(kind="footnote", text="Oil.", marker="[1]", anchor="The lamp was lit")


def test_links_that_are_no_notes_stay_as_they_are() -> None:
    source = "<p><a href='#c2'>2</a> <a href='#top'>Top</a></p><p id=c2>Two</p>"
    assert texts(source) == [("paragraph", "", "2 Top"), ("paragraph", "", "Two")]


@each_of(
    "source, wanted",
    [
        ("<img src=a><p>x", {"picture": 1}),
        ("<img src=a alt=''><img src=b width=1 height=1><img src=c alt=c><p>x", {"picture": 1}),
        ("<iframe src=a></iframe><embed src=b><object>c</object>", {"embedded_object": 3}),
        ("<video>no</video><audio></audio>", {"media": 2}),
        ("<p hidden>a<p style='visibility: hidden'>b<p hidden> ", {"hidden_text": 2}),
        ("<svg width=16 height=16></svg><svg><path/></svg>", {"picture": 1}),
        ("<dialog>a</dialog>", {"hidden_text": 1}),
        ("<div>" * 3_000 + "x", {"part": 1}),
        ("<script>a</script><style>b</style><template>c</template>", {}),
    ],
)
def test_what_is_not_read_is_counted(source: str, wanted: dict[str, int]) -> None:
    assert lost(source + "<p>words</p>") == wanted


@each_of(
    "data, wanted",
    [
        ("<meta charset=iso-8859-1><p>“naïve” – €".encode("cp1252"), "“naïve” – €"),
        ("<meta charset=iso-8859-1><p>“naïve” – €".encode(), "“naïve” – €"),
        ("<?xml version='1.0' encoding='iso-8859-2'?><html><p>żółw".encode("iso-8859-2"), "żółw"),
        ("<meta charset=shift_jis><p>①灯台".encode("cp932"), "①灯台"),
        ("<meta charset=utf-16><p>é".encode(), "é"),
        ("<meta charset=idna><p>été là</p>".encode("latin-1"), "été là"),
        ("<meta charset=utf-8><p>Die Tür schließt".encode().decode("cp1252").encode(), "Die Tür schließt"),
    ],
)
def test_an_encoding_declared_wrongly_costs_no_letter(data: bytes, wanted: str) -> None:
    assert page_text(data) == wanted


@pytest.mark.slow
@pytest.mark.timeout(60)
@each_of(
    "source",
    [
        "<table><tr><th colspan=1000000 rowspan=1000000>a" + "<tr><td colspan=1000000 rowspan=1000000>b" * 3_000,
        "<table><tr>" + "<td rowspan=65534 colspan=1000>x" * 500 + "<tr><td>y" * 2_000,
        "<ul><li>a" * 10_000,
        "<ol><li>" * 10_000 + "a",
        "<table><tr><th>a<td>" * 1_000,
        "<nav><p>a" * 1_000,
        "<math>" + "<mrow>" * 1_500 + "<mi>a",
        "<dl><dt>a" * 2_000,
        "<p><sup>" * 2_000 + "a",
        "<p>x<a href='#n1'><sup>1</sup></a></p>" * 5_000 + "<p id=n1>note</p>" * 5_000,
        "<div hidden>" * 2_000 + "a",
        "<section>" * 2_000 + "<aside>a" * 40,
    ],
)
def test_hostile_pages_end_soon(source: str) -> None:
    began = time.process_time()
    found = blocks(source + "<p>word")
    for block in found:
        if isinstance(block, Table):
            list(block.rows)
    assert time.process_time() - began < 5


@each_of(
    "source, wanted",
    [
        ("<p>The fee is <del>300</del><ins>450</ins> euros.</p>", "The fee is 450 euros."),
        ("<p>Price <s>90</s> 80</p>", "Price ~~90~~ 80"),
        ("<p>Price <strike>90 </strike>80</p>", "Price ~~90~~ 80"),
        ("<p>Price <span style='text-decoration: line-through red'>90</span> 80</p>", "Price ~~90~~ 80"),
        ("<p>Price <span style='text-decoration: underline'>90</span> 80</p>", "Price 90 80"),
    ],
)
def test_deleted_text_is_left_and_struck_out_text_is_marked(source: str, wanted: str) -> None:
    assert text(source) == wanted


def test_deleted_text_is_told() -> None:
    losses = Losses()
    list(blocks_of(parse("<p>a <del>b</del></p><del> </del>", "a.html"), Page(losses)))
    assert losses.found() == (Loss("hidden_text", 1),)


@each_of(
    "style, wanted",
    [
        ("lower-greek", ["α.", "β."]),
        ("decimal-leading-zero", ["01.", "02."]),
        ("square", ["•", "•"]),
        ("upper-latin", ["A.", "B."]),
    ],
)
def test_styles_of_lists_are_counted_as_shown(style: str, wanted: list[str]) -> None:
    found = items(f"<ol style='list-style-type: {style}'><li>a<li>b</ol>")
    assert [marker for marker, _text, _level in found] == wanted
