"""Lines of a page, and corrections by hand laid on them: words, blocks, places, and the way back."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from docmind.blocks import PageBlock, PageTable, pack, unpack
from docmind.documents import Words
from docmind.documents.catalog import PageRecord
from docmind.documents.corrections import (
    Correction,
    as_read,
    check_corrections,
    check_uncorrected,
    corrected,
    corrected_spans,
    is_corrected,
)
from docmind.documents.coverage import grade_of, page_lines
from docmind.documents.line_edits import LineEdit, edited_corrections
from docmind.documents.text_lines import text_lines
from docmind.errors import ConfigError, DamagedError, NotFoundError
from docmind.records.documents import ArtifactRef, Box, DocumentInfo, TextSource

IMAGE = ArtifactRef("0" * 64, ".webp.enc")
INFO = DocumentInfo("d" * 32, "scan.pdf", "", "pdf", "ready", 1, 1, 1, "en", 1, 0)
LINES = ("The rent is 9OO euros", "paid to Mr Adlcr", "each month")


def page_of(
    lines: Sequence[str] = LINES,
    *,
    sure: Sequence[float] = (),
    blocks: bytes = b"",
    scale: float = 1.0,
    source: TextSource = "ocr",
) -> PageRecord:
    """Return a page with these lines: ten pixels a letter, twenty a line, as certain as `sure` says."""
    text = "\n".join(lines)
    spans: list[tuple[int, int]] = []
    boxes: list[tuple[float, float, float, float]] = []
    certain: list[float] = []
    at = 0
    for number, line in enumerate(lines):
        start = 0
        for word in line.split():
            start = line.index(word, start)
            spans.append((at + start, at + start + len(word)))
            boxes.append((10 * start * scale, 40 * number * scale, 10 * len(word) * scale, 20 * scale))
            certain.append(sure[number] if sure else 0.95)
            start += len(word)
        at += len(line) + 1
    words = Words.of(spans, boxes, certain if source == "ocr" else None)
    return PageRecord(
        page_no=1, width=round(400 * scale), height=round(400 * scale), text=text, text_source=source, confidence=0.9,
        doc_id=INFO.doc_id, words=words.pack(), language="en", image=IMAGE, thumbnail=IMAGE, blocks=blocks,
    )  # fmt: skip


def changed(
    page: PageRecord, before: Sequence[Correction], edit: LineEdit
) -> tuple[PageRecord, tuple[Correction, ...]]:
    return corrected(page, edited_corrections(page, before, edit))


def test_lines_end_where_the_text_or_the_print_does() -> None:
    text = "a wrapped paragraph\nsecond"
    words = Words.of(
        [(0, 1), (2, 9), (10, 19), (20, 26)], [(0, 0, 9, 10), (12, 1, 60, 10), (0, 30, 80, 10), (0, 60, 50, 10)]
    )
    found = text_lines(text, words)
    assert [text[line.start : line.end] for line in found] == ["a wrapped", "paragraph", "second"]
    assert found[0].box == Box(0, 0, 72, 11)
    without = text_lines("first\n  second \n\n", Words.of([], []))
    assert [("first\n  second \n\n"[line.start : line.end], line.box) for line in without] == [
        ("first", None),
        ("second", None),
    ]


def test_a_corrected_line_has_the_typed_words_in_the_place_of_the_line() -> None:
    page, corrections = changed(page_of(), (), LineEdit(1, text=" The rent is  900 euros "))
    assert page.text == "The rent is 900 euros\npaid to Mr Adlcr\neach month"
    assert corrected_spans(page) == ((0, 21),)
    words = Words.unpack(page.words)
    assert words.boxes_of(12, 15) == (Box(120, 0, 30, 20),)
    assert words.certainty_of(12, 15) == 1.0
    assert words.certainty_of(22, 26) == pytest.approx(0.95, abs=0.01)
    assert words.boxes_of(page.text.index("each"), len(page.text)) == (Box(0, 80, 100, 20),)
    (line, other, _) = page_lines(INFO, page, corrections, least=0.5).lines
    assert (line.text, line.read, line.source, line.is_corrected) == (
        "The rent is 900 euros",
        "The rent is 9OO euros",
        "hand",
        True,
    )
    assert (other.source, other.read, other.grade) == ("ocr", "", "good")
    assert is_corrected(page, words.boxes_of(0, 5))
    assert not is_corrected(page, words.boxes_of(22, 26))


def test_another_number_of_words_shares_the_width_of_the_line() -> None:
    page, _ = changed(page_of(), (), LineEdit(2, text="for Mrs Adler and Sons"))
    words = Words.unpack(page.words)
    begin = page.text.index("for")
    (box,) = words.boxes_of(begin, begin + 22)
    assert (box.x, box.y, box.h) == (0, 40, 20)
    assert box.w == pytest.approx(160, abs=2)


def test_the_line_is_again_what_was_read() -> None:
    before = page_of()
    page, corrections = changed(before, (), LineEdit(1, text="Something else"))
    page, corrections = changed(page, corrections, LineEdit(3, text=""))
    assert page.text == "Something else\npaid to Mr Adlcr\n"
    page, corrections = changed(page, corrections, LineEdit(1))
    assert page.text == "The rent is 9OO euros\npaid to Mr Adlcr\n"
    page, corrections = changed(page, corrections, LineEdit(3, text="each month"))  # what was read: no correction
    assert corrections == ()
    assert page == before


def test_numbers_of_lines_stay_where_a_line_says_nothing() -> None:
    page, corrections = changed(page_of(), (), LineEdit(1, text=""))
    lines = page_lines(INFO, page, corrections, least=0.5).lines
    assert [(line.n, line.text) for line in lines] == [(1, ""), (2, "paid to Mr Adlcr"), (3, "each month")]


def test_a_correction_fits_its_line_read_again_in_another_size_and_with_other_mistakes() -> None:
    _, corrections = changed(page_of(), (), LineEdit(1, text="The rent is 900 euros"))
    again = page_of(("Tne rent is 90O euros", "paid to Mr Adler", "each month"), scale=1.5)
    page, told = corrected(again, corrections)
    assert page.text.startswith("The rent is 900 euros\npaid to Mr Adler")
    assert told[0].fits
    moved = page_of(("A new first line of it", "The rent is 9OO euros", "each month"))
    page, told = corrected(moved, corrections)  # exactly what was read, in another place
    assert page.text.splitlines()[1] == "The rent is 900 euros"


def test_a_correction_that_fits_nothing_is_told_and_kept() -> None:
    _, corrections = changed(page_of(), (), LineEdit(2, text="paid to Mr Adler"))
    lost, told = corrected(page_of(("Quite another page",)), corrections)
    assert [one.fits for one in told] == [False]
    assert (lost.text, lost.uncorrected) == ("Quite another page", b"")
    (unfit,) = page_lines(INFO, lost, told, least=0.5).unfit
    assert (unfit.read, unfit.text) == ("paid to Mr Adlcr", "paid to Mr Adler")
    assert edited_corrections(lost, told, LineEdit(0)) == ()
    back, told = corrected(page_of(), told)
    assert back.text.splitlines()[1] == "paid to Mr Adler"
    assert told[0].fits


def table_page() -> PageRecord:
    lines = ("Month Reading", "Jan 41,22O", "Feb 42,410")
    table = PageTable(header=("Month", "Reading"), number=3)
    spans = [(0, 13), (14, 24), (25, 35)]
    cells = [((0, 5), (6, 13)), ((14, 17), (18, 24)), ((25, 28), (29, 35))]
    blocks = [
        PageBlock("header_row" if n == 0 else "row", *span, table=table, cells=cells[n], raws=((1, 7.0),) if n else ())
        for n, span in enumerate(spans)
    ]
    return page_of(lines, blocks=pack(blocks), source="layer")


def test_cells_of_a_row_follow_its_correction() -> None:
    page, _ = changed(table_page(), (), LineEdit(2, text="January 41,220"))
    row = page.structure()[1]
    assert [page.text[start:end] for start, end in row.cells] == ["January", "41,220"]
    assert row.raws == ()
    last = page.structure()[2]
    assert [page.text[start:end] for start, end in last.cells] == ["Feb", "42,410"]
    assert last.raws == ((1, 7.0),)
    page, _ = changed(table_page(), (), LineEdit(1, text="Month Meter"))
    assert {block.table.header for block in page.structure() if block.table} == {("Month", "Meter")}


def test_another_row_is_the_header_and_back() -> None:
    before = table_page()
    page, corrections = changed(before, (), LineEdit(2, is_header=True))
    assert [block.kind for block in page.structure()] == ["row", "header_row", "row"]
    assert page.structure()[0].table == PageTable(header=("Jan", "41,22O"), number=3)
    lines = page_lines(INFO, page, corrections, least=0.5).lines
    assert [(line.is_header, line.is_header_set, line.source) for line in lines] == [
        (False, True, "layer"),
        (True, True, "layer"),
        (False, True, "layer"),
    ]
    page, corrections = changed(page, corrections, LineEdit(3, is_header=False))
    assert [block.kind for block in page.structure()] == ["row", "row", "row"]
    assert len(corrections) == 1
    page, corrections = changed(page, corrections, LineEdit(1))
    assert (page, corrections) == (before, ())


def test_edits_that_make_no_sense_are_refused() -> None:
    with pytest.raises(NotFoundError, match="3 lines"):
        edited_corrections(page_of(), (), LineEdit(4, text="x"))
    with pytest.raises(NotFoundError, match="Nothing was read"):
        edited_corrections(page_of(()), (), LineEdit(1, text="x"))
    with pytest.raises(ConfigError, match="no row of a table"):
        edited_corrections(page_of(), (), LineEdit(1, is_header=True))


@pytest.mark.parametrize(
    "text", ["\u202e", " \u200e ", "\x00", "\x1b", "\x85", "\u200b\u200d", "\xad", "\ufeff\n", "\ud800"]
)
def test_a_text_of_nothing_but_marks_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^The text for line 2 has no character that can be seen\.$"):
        edited_corrections(page_of(), (), LineEdit(2, text=text))


@pytest.mark.parametrize("text", ["", " \t", "\xa0", "\r\n"])
def test_a_blank_text_says_that_nothing_is_written_there(text: str) -> None:
    (made,) = edited_corrections(page_of(), (), LineEdit(2, text=text))
    assert made.text == ""


def test_marks_within_a_text_are_left_out_of_it() -> None:
    (made,) = edited_corrections(page_of(), (), LineEdit(2, text="\u202eHeron\u200e pond"))
    assert made.text == "Heron pond"


def test_grades_are_by_certainty() -> None:
    page = page_of(sure=(0.95, 0.7, 0.3))
    assert [line.grade for line in page_lines(INFO, page, least=0.5).lines] == ["good", "doubtful", "bad"]
    assert [grade_of(value, 0.0) for value in (0.0, 0.9)] == ["doubtful", "good"]


def test_any_edits_leave_a_sound_page_and_lead_back() -> None:
    rng = random.Random(11)
    texts = ["", "x", "two words", "ein ganz anderer Text mit vielen Wörtern", "9,00 | 1", "  ", "日本語の行"]
    for start in (page_of(), table_page()):
        page, corrections = start, tuple[Correction, ...]()
        for _ in range(60):
            edit = LineEdit(rng.randint(1, 3), text=rng.choice(texts) if rng.random() < 0.8 else None)
            page, corrections = changed(page, corrections, edit)
            words = Words.unpack(page.words)
            assert not len(words) or (words.starts.min() >= 0 and words.ends.max() <= len(page.text))
            unpack(page.blocks, len(page.text))
            check_uncorrected(page.uncorrected, page.text)
            assert as_read(page).text == start.text
        for n in (1, 2, 3):
            page, corrections = changed(page, corrections, LineEdit(n))
        assert page.text == start.text
        assert page.structure() == start.structure()
        assert corrections == ()


def test_damaged_and_foreign_rows_are_refused() -> None:
    page, _ = changed(page_of(), (), LineEdit(1, text="The rent is 900 euros"))
    for packed in (b"\x02", page.uncorrected[:-3], page.uncorrected[:1] + b"x" * 20):
        with pytest.raises(DamagedError):
            check_uncorrected(packed, page.text)
    with pytest.raises(DamagedError):
        as_read(replace(page, uncorrected=b"\x01rubbish"))
    row: dict[str, object] = {
        "page_no": 1, "number": 1, "kind": "line", "x": 0.0, "y": 0.0, "w": 0.5, "h": 0.1, "reading": "a", "text": "b",
        "at_ms": 1, "fits": 1,
    }  # fmt: skip
    check_corrections([row])
    for name, value in (("kind", "other"), ("x", float("nan")), ("number", "1"), ("text", "y" * 3_000), ("text", 5)):
        with pytest.raises((ValueError, TypeError)):
            check_corrections([{**row, name: value}])
