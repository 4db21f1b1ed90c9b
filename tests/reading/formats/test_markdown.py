"""Markdown: what stands in it, block by block."""

from __future__ import annotations

import pytest

from docmind.blocks import Block, Losses, Table, shown_in
from docmind.reading.file_type import is_plain
from docmind.reading.formats import Rules, reader
from docmind.reading.formats.markdown import front_matter, markdown
from docmind.records.documents import Loss, Upload
from each import each_of


def texts(source: str) -> list[tuple[str, str, str, int]]:
    return [
        (block.kind, block.marker, block.text, block.level) for block in markdown(source) if isinstance(block, Block)
    ]


def text(source: str) -> str:
    (block,) = markdown(source)
    assert isinstance(block, Block)
    return block.text


@each_of(
    "source, wanted",
    [
        ("3. a\n4. b\n9. c\n", [("3.", "a", 0), ("4.", "b", 0), ("5.", "c", 0)]),
        ("1. a\n1. b\n", [("1.", "a", 0), ("2.", "b", 0)]),
        ("2) a\n3) b\n", [("2)", "a", 0), ("3)", "b", 0)]),
        (
            "- a\n  1. b\n  2. c\n     - d\n- e\n",
            [("•", "a", 0), ("1.", "b", 1), ("2.", "c", 1), ("•", "d", 2), ("•", "e", 0)],
        ),
        ("- [x] a\n- [ ] b\n1. [X] c\n", [("☒", "a", 0), ("☐", "b", 0), ("1. ☒", "c", 0)]),
        ("- [x](y.md) a\n", [("•", "x (y.md) a", 0)]),
    ],
)
def test_items_are_counted_on_from_the_first(source: str, wanted: list[tuple[str, str, int]]) -> None:
    assert texts(source) == [("item", *one) for one in wanted]


@each_of(
    "source, wanted",
    [
        ("[a][x] and [x]\n\n[X]: http://c.d 'Title'\n", "a (http://c.d) and x (http://c.d)"),
        (
            "H<sub>2</sub>O <b>is</b> 5 m<sup>2</sup><br>next <!-- no --> <img src=a alt='A sketch'>",
            "H₂O is 5 m² next A sketch",
        ),
        ("the area $x^2 + \\frac{a}{b}$ holds", "the area x² + a/b holds"),
        ("it costs $5 and $10, or $x", "it costs $5 and $10, or $x"),
        ("a $\\alpha_1 * \\beta_2 * 3$ b", "a α₁ * β₂ * 3 b"),
        ("one\\\ntwo  \nthree\nfour", "one two three four"),
        ("auto <http://c.d> and <ada@c.d>", "auto http://c.d and ada@c.d"),
        ("a < b and 3 > 2 & c", "a < b and 3 > 2 & c"),
    ],
)
def test_a_line_is_as_a_reader_sees_it(source: str, wanted: str) -> None:
    assert text(source) == wanted


def test_formulas_of_their_own_are_equations() -> None:
    source = "Thus\n\n$$\n\\int_0^1 x = \\frac{1}{2}\n$$\n\n```math\na^2\n```\n"
    assert list(markdown(source)) == [
        Block(kind="paragraph", text="Thus"),
        Block(kind="equation", text="∫₀¹ x = 1/2", latex="\\int_0^1 x = \\frac{1}{2}"),
        Block(kind="equation", text="a²", latex="a^2"),
    ]


def test_notes_have_their_marks() -> None:
    source = "Lit[^1] at dusk[^oil].\n\n[^1]: By hand\n    and foot.\n[^oil]: Rape seed.\n\n    Pressed here.\n\nEnd.\n"
    assert texts(source) == [
        ("paragraph", "", "Lit[1] at dusk[oil].", 0),
        ("footnote", "[1]", "By hand and foot.", 0),
        ("footnote", "[oil]", "Rape seed.", 0),
        ("footnote", "", "Pressed here.", 0),
        ("paragraph", "", "End.", 0),
    ]


def test_tables_code_and_headings() -> None:
    source = "| a | b |\n|---|---|\n| H<sub>2</sub> | **c** |\n\n"
    source += "~~~ Python title=x\nx = 1\n~~~\n\nSet\n---\n\n# One {#one}\n"
    table, code, second, first = markdown(source)
    assert isinstance(table, Table)
    assert (table.header_rows, list(table.rows)) == (1, [["a", "b"], ["H₂", "c"]])
    assert code == Block(kind="code", text="x = 1\n", language="python")
    assert second == Block(kind="heading", text="Set", level=2)
    assert first == Block(kind="heading", text="One", level=1)


def test_blocks_of_html_give_their_text() -> None:
    losses = Losses()
    source = "<div align=center>\n<!-- no\n\nno -->\n<p>Hello <i>you</i> &amp; me</p><img src=a>\n"
    source += "<script>no()</script></div>\n"
    said = [block.text.split() for block in markdown(source, losses) if isinstance(block, Block)]
    assert said == [["Hello", "you", "&", "me"]]
    assert [(loss.kind, loss.count) for loss in losses.found()] == [("picture", 1)]


def test_facts_at_the_start_are_no_text() -> None:
    data = b"---\ntitle: 'Rules: of the mill'\nauthors:\n  - Ada Heron\n  - Bo Crane\ndate: 2024-03-31\n---\n\nText.\n"
    opened = reader("markdown")(Upload("a.md", data), "markdown", Rules())
    assert dict(opened.facts) == {"title": "Rules: of the mill", "author": "Ada Heron, Bo Crane", "dated": "2024-03-31"}
    assert opened.page(1).text == "Text."


def test_a_rule_at_the_start_begins_no_facts() -> None:
    opened = reader("markdown")(Upload("a.md", b"---\nFirst words.\nMore of it.\n---\n\nText.\n"), "markdown", Rules())
    assert opened.page(1).text == "First words. More of it.\n\nText."


def test_html_keeps_its_tables_lists_and_what_it_hides() -> None:
    losses = Losses()
    source = "<table>\n<tr><th>Kind</th><th>Price</th></tr>\n\n<tr><td>Oar</td><td>5</td></tr>\n</table>\n\nText\n\n"
    source += '<ol start="4">\n<li>a</li>\n<li>b</li>\n</ol>\n\n<p>Fee <del>300</del> 450</p>\n\n<p hidden>no</p>\n'
    table, *blocks = markdown(source, losses)
    assert isinstance(table, Table)
    assert [[*map(shown_in, row)] for row in table.rows] == [["Kind", "Price"], ["Oar", "5"]]
    assert [(block.marker, block.text) for block in blocks if isinstance(block, Block)] == [
        ("", "Text"), ("4.", "a"), ("5.", "b"), ("", "Fee 450"),
    ]  # fmt: skip
    assert losses.found() == (Loss("hidden_text", 2),)


def test_definitions_stand_behind_their_terms() -> None:
    source = "Fee\n: 90 *euros*\n: or 95\n\nTax\nDuty\n: 9\n\nSee\nthis: 9\n"
    assert [said for _kind, _marker, said, _level in texts(source)] == [
        "Fee: 90 euros", "Fee: or 95", "Tax, Duty: 9", "See this: 9",
    ]  # fmt: skip


def test_struck_out_text_is_marked() -> None:
    assert text("Price ~~90~~ 80") == "Price ~~90~~ 80"


def test_facts_at_the_start_may_be_toml() -> None:
    said, body = front_matter('+++\ntitle = "Plan"\n[extra]\ndraft = true\n+++\nText')
    assert (said["title"], body) == ("Plan", "Text")


def test_code_of_a_known_language_knows_its_parts() -> None:
    source = "Text.\n\n```py title=a\nimport os\n\ndef ask():\n    pass\n```\n"
    source += "\n```c++\nclass A {\n};\n```\n\n```none\nx\ny\n```\n"
    code = [block for block in markdown(source, Losses()) if isinstance(block, Block) and block.kind == "code"]
    assert [(block.language, block.symbols) for block in code] == [
        ("python", ((0, ("import os",)), (2, ("def ask",)))),
        ("cpp", ((0, ("class A",)),)),
        ("none", ()),
    ]


@pytest.mark.parametrize(
    ("text", "is_short"),
    [("# Title\n\n```\ncode\n```\n", True), ("> ~~~ python\n> x\n", False), ("- ```{.py}\n", False), ("a\n", True)],
)
def test_code_of_a_known_language_is_not_parsed_beside_other_files(text: str, is_short: bool) -> None:
    assert is_plain(Upload("a.md", text.encode())) is is_short
