"""Windows: where a page is cut, the name of a document, the embedded text."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from docmind.blocks import Block, PageBlock, PageTable, Table
from docmind.embedding.chunking import (
    LABEL,
    OVERLAP,
    WINDOW,
    FigureText,
    embedded_spans,
    embedded_text,
    label_of,
    nodes_of_page,
    whole_words,
    windows,
    without_leaders,
)
from docmind.reading.formats.typeset import flow
from docmind.records.documents import DocumentInfo
from docmind_testkit import FakeEmbedder

FAKE = FakeEmbedder()  # its pieces are words
INFO = DocumentInfo("d" * 32, "fb_ADOBE_2022_10K.pdf", "", "pdf", "ready", 3, 3, 0, "en", 10, 0)


def spans(count: int) -> tuple[str, list[tuple[int, int]]]:
    text = " ".join(f"w{number}" for number in range(count))
    return text, list(windows(text, FAKE.pieces(text)))


def test_a_page_that_fits_is_one_window() -> None:
    text, cut = spans(WINDOW)
    assert cut == [(0, len(text))]


def test_windows_have_equal_steps_and_overlap() -> None:
    text, cut = spans(1_000)
    sizes = [len(text[start:end].split()) for start, end in cut]
    assert max(sizes) <= WINDOW + 1
    assert max(sizes) - min(sizes) <= 2
    assert cut[0][0] == 0
    assert cut[-1][1] == len(text)
    for (_, end), (start, _) in pairwise(cut):
        assert OVERLAP - 2 <= len(text[start:end].split()) <= OVERLAP + 2


def test_every_word_is_in_a_window() -> None:
    text, cut = spans(777)
    covered = {word for start, end in cut for word in text[start:end].split()}
    assert covered == set(text.split())


@pytest.mark.parametrize("text", ["", "   \n\t "])
def test_an_empty_page_has_no_window(text: str) -> None:
    assert list(windows(text, FAKE.pieces(text))) == []


def test_one_endless_word_is_one_window() -> None:
    text = "x" * 5_000
    pieces = FAKE.pieces(" ".join("x" * 1_000))
    assert list(windows(text, pieces)) == [(0, 5_000)]


def test_leaders_vanish_and_offsets_stay() -> None:
    text = "Chapter one ........ 12\nName: ____________ end - - - - -"
    clear = without_leaders(text)
    assert len(clear) == len(text)
    assert "." not in clear
    assert "_" not in clear
    assert clear.split() == ["Chapter", "one", "12", "Name:", "end"]
    assert without_leaders("3.14 and a-b, etc.") == "3.14 and a-b, etc."


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("", "fb ADOBE 2022 10K"),
        ("Annual Report of Adobe", "fb ADOBE 2022 10K. Annual Report of Adobe"),
        ("Adobe 2022", "fb ADOBE 2022 10K"),
        ("untitled1", "fb ADOBE 2022 10K"),
    ],
)
def test_a_document_is_called_by_its_name_and_a_title_that_adds(title: str, expected: str) -> None:
    assert label_of(replace(INFO, title=title), FAKE) == expected


def test_a_label_is_cut_short() -> None:
    label = label_of(replace(INFO, title="word " * 500 + "report"), FAKE)
    assert len(label.split()) == LABEL


def test_nodes_are_the_same_every_time_and_differ_by_document() -> None:
    text = " ".join(f"w{number}" for number in range(400))
    first = list(nodes_of_page(INFO, "label", FAKE, 2, "en", text))
    assert first == list(nodes_of_page(INFO, "label", FAKE, 2, "en", text))
    other = list(nodes_of_page(replace(INFO, doc_id="e" * 32), "label", FAKE, 2, "en", text))
    assert {node.node_id for node, _ in first}.isdisjoint(node.node_id for node, _ in other)
    assert [node.content_hash for node, _ in first] == [node.content_hash for node, _ in other]
    node, embedded = first[0]
    assert embedded == embedded_text("label", text[node.start : node.end])
    assert embedded.startswith("label. w0 w1")


def test_sheets_are_tables() -> None:
    [(node, _)] = nodes_of_page(replace(INFO, kind="xlsx"), "l", FAKE, 1, "", "a b c")
    assert node.modality == "table"


@pytest.mark.parametrize(
    "window", ["Net sales", "  Net \n\n sales\tof 2022 ", "Net ....... 12 sales", "", " ", "Proteção de\u00a0dados"]
)
def test_spans_of_what_is_embedded_lead_back_to_the_window(window: str) -> None:
    label = "Annual report"
    text = embedded_text(label, window)
    pieces = FAKE.pieces(text)
    back = embedded_spans(label, window, pieces)
    assert back.shape == pieces.shape
    for (start, end), (first, last) in zip(pieces, back, strict=True):
        assert (first, last) == (0, 0) if start < len(label) else window[first:last] == text[start:end]
    assert sum(bool(last) for _, last in back) == len(FAKE.pieces(window))


def test_spans_grow_to_whole_words_and_join() -> None:
    text = "the infringement, of course not"
    assert whole_words(text, [(6, 8), (14, 16)]) == [(4, 16)]
    assert whole_words(text, [(4, 16), (16, 17), (18, 20)]) == [(4, 20)]
    assert whole_words(text, [(0, 1), (21, 23)]) == [(0, 3), (21, 27)]
    assert whole_words(text, []) == []


def nodes_from(*blocks: Block | Table) -> list[tuple[str, str, str, str]]:
    """Return modality, text, context and embedded text of each node of a page that is made of these blocks."""
    (sheet,) = flow(blocks, "a.docx", 10)
    made = nodes_of_page(INFO, "label", FAKE, 1, "en", sheet.text, sheet.blocks)
    return [(node.modality, sheet.text[node.start : node.end], node.context, text) for node, text in made]


def test_tables_and_code_become_nodes_of_their_own() -> None:
    found = nodes_from(
        Block(kind="paragraph", text="Before."),
        Block(kind="heading", text="Stock", level=2),
        Table(rows=[["Kind", "Number"], ["Wax", "60"]], header_rows=1),
        Block(kind="paragraph", text="After."),
        Block(kind="code", text="print(1)", language="python"),
        Block(kind="figure", text="A hive in the snow"),
    )
    assert [(modality, text) for modality, text, *_ in found] == [
        ("text", "Before."),
        ("table", "Stock\n\nKind | Number\nWax | 60"),
        ("text", "After."),
        ("code", "print(1)"),
        ("image_caption", "A hive in the snow"),
    ]
    assert [context for *_, context, _text in found] == ["", "", "", "Stock · After.", ""]


def test_code_knows_the_paragraph_above_it() -> None:
    code = Block(kind="code", text="print(1)", language="python")
    assert nodes_from(Block(kind="heading", text="Use", level=1), code)[-1][2] == "Use"
    said = " ".join(f"word{number}" for number in range(80))
    (_prose, found) = nodes_from(Block(kind="paragraph", text=f"{said} load the ledger:"), code)
    assert found[2].startswith("word")
    assert found[2].endswith("load the ledger:")
    assert len(found[2]) <= 160
    assert nodes_from(Block(kind="caption", text="Listing 1"), code)[-1][2] == ""


def test_a_definition_is_a_node_that_knows_where_it_stands() -> None:
    long = "".join(f"    print('{'word ' * 12}{number}')\n" for number in range(22))
    text = f"import os\n\nclass Desk:\n    def ask(self):\n{long}\n    def end(self):\n{long}"
    paths = ((), ("class Desk",), ("class Desk", "def ask"), ("class Desk", "def end"))
    symbols = tuple(zip((0, 2, 3, 27), paths, strict=True))
    found = nodes_from(Block(kind="caption", text="In [3]:"), Block(kind="code", text=text, symbols=symbols))
    assert {modality for modality, *_ in found} == {"code"}
    assert found[0][1].startswith("In [3]:\n\nimport os\n\nclass Desk:\n    def ask(self):")
    assert [context for *_, context, _text in found] == [
        *["class Desk · def ask"] * (len(found) // 2),
        *["class Desk · def end"] * (len(found) // 2),
    ]
    assert all(piece[1].strip().endswith("')") for piece in found), "it is cut between lines"
    assert found[-1][3].startswith("label. class Desk · def end. print(")
    assert sum(piece[1].count("print") for piece in found) == 44


def test_parts_of_a_long_table_end_with_a_row_and_know_its_names() -> None:
    rows = [["Name", "Town"], *([f"Person {number}", f"Town {number} on the hill"] for number in range(38))]
    found = nodes_from(Table(rows=rows, header_rows=1, caption="Members"))
    assert len(found) > 1
    assert [line for _, text, *_ in found for line in text.split("\n") if "Person" in line] == [
        f"Person {number} | Town {number} on the hill" for number in range(38)
    ]
    assert [context for *_, context, _text in found] == ["", *["Members. Name | Town"] * (len(found) - 1)]
    assert found[1][3].startswith("label. Members. Name | Town. Person ")


def test_a_row_longer_than_a_window_is_cut() -> None:
    found = nodes_from(Table(rows=[["a b c", "few"], ["many words " * 150, "few"]]))
    assert len(found) > 1
    assert sum(text.count("many") for _, text, *_ in found) == 150


def test_a_page_of_which_only_the_tables_are_known_is_cut_at_equal_steps() -> None:
    text = "Prose before the table goes on.\nWax 60\nOil 70\nProse after the table goes on as well."
    rows = [PageBlock("row", 32, 38, table=PageTable()), PageBlock("row", 39, 45, table=PageTable())]
    [(node, _)] = nodes_of_page(INFO, "label", FAKE, 1, "en", text, rows)
    assert (node.modality, node.start, node.end) == ("text", 0, len(text))


def test_the_words_of_figures_are_nodes_behind_those_of_the_page() -> None:
    text = "Intro. " * 40 + "Figure 1: The pump. " + "Text. " * 40
    start = text.index("Figure 1")
    end = start + len("Figure 1: The pump.")
    figures = [
        FigureText(start, end, ""),
        FigureText(start, end, ""),  # one caption of two pictures
        FigureText(0, 0, "A red pump"),
        FigureText(0, 0, ""),
    ]
    plain = list(nodes_of_page(INFO, "l", FAKE, 1, "en", text))
    made = list(nodes_of_page(INFO, "l", FAKE, 1, "en", text, figures=figures))
    assert made[: len(plain)] == plain
    told = [(node.modality, text[node.start : node.end], node.context, said) for node, said in made[len(plain) :]]
    assert told == [
        ("image_caption", "Figure 1: The pump.", "", "l. Figure 1: The pump."),
        ("image_caption", "", "A red pump", "l. A red pump. "),
    ]
    assert len({node.node_id for node, _said in made}) == len(made)


def test_a_figure_that_is_a_node_already_is_not_repeated() -> None:
    (sheet,) = flow([Block(kind="figure", text="A hive in the snow")], "a.docx", 10)
    figures = [FigureText(0, len(sheet.text), "")]
    made = nodes_of_page(INFO, "l", FAKE, 1, "en", sheet.text, sheet.blocks, figures)
    assert [node.modality for node, _said in made] == ["image_caption"]
