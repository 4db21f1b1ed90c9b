"""PDF: text, boxes, titles, odd pages.

Whether a text layer is to be trusted.
"""

from __future__ import annotations

import base64
import io
import zlib
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

import papers
from docmind.answers.passages import edges, passages
from docmind.blocks import unpack
from docmind.documents.words import Words
from docmind.errors import CorruptFileError
from docmind.reading.formats import Rules
from docmind.reading.formats.pdf import open_pdf, quality
from docmind.reading.formats.pdf.layer import _clean, _unswap
from docmind.records.documents import Loss, ParsedPage, Upload
from each import each_of

PROSE = "The parties agree that this contract is governed by the laws of the State of New York. " * 3


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        "Net sales $ 1,204.5 (33.5)% — 2021 2022\n" * 5,
        "A presente lei dispõe sobre a proteção de dados, nº 13.709/2018 (art. 1º).",
        "انواع الخطوط العربية",
        "적립 제외 대상 무이자할부",
        "Contents ........ 4 Summary ........ 9",
    ],
)
def test_language_and_figures_are_plausible(text: str) -> None:
    assert quality.plausibility(text) > 0.9


@pytest.mark.parametrize(
    "text", ['"7+%-', "\ue001\ue002\ue003 \ue004\ue005", "#$%& '()* +,-./ :;<=>", "bcdfg hjklm " * 40]
)
def test_garbage_is_not(text: str) -> None:
    assert quality.plausibility(text) < 0.5


def test_what_goes_to_ocr() -> None:
    header = "Case 2:18-cv-12857 ECF No. 1 filed 09/13/18 Page 1 of 16"
    verdicts = {
        "blank": quality.needs_ocr("", 0, 0, 0, is_blank=True),
        "scan": quality.needs_ocr("", 0, 1.0, 0.4, is_blank=False),
        "scan under a header line": quality.needs_ocr(header, 0.02, 1.0, 0.4, is_blank=False),
        "short scan under a header line": quality.needs_ocr(header, 0.02, 1.0, 0.09, is_blank=False),
        "four lines under a header line": quality.needs_ocr(header, 0.03, 1.0, 0.03, is_blank=False),
        "a blank scan under a header line": quality.needs_ocr(header, 0.03, 1.0, 0.008, is_blank=False),
        "prose": quality.needs_ocr(PROSE, 0.3, 0.0, 0.02, is_blank=False),
        "a slide on a picture": quality.needs_ocr(header, 0.3, 1.0, 0.5, is_blank=False),
        "a banner over a short notice": quality.needs_ocr(header * 5, 0.1, 0.53, 0.13, is_blank=False),
        "a page number": quality.needs_ocr("vi", 0.01, 0.0, 0.0, is_blank=False),
        "a figure with a page number": quality.needs_ocr("17", 0.01, 0.3, 0.3, is_blank=False),
        "garbage": quality.needs_ocr('"7+%- (&$#!', 0.3, 0.0, 0.0, is_blank=False),
    }
    assert [name for name, goes in verdicts.items() if goes] == [
        "scan",
        "scan under a header line",
        "short scan under a header line",
        "four lines under a header line",
        "a figure with a page number",
        "garbage",
    ]


def test_shares_by_hand() -> None:
    grey = np.full((80, 80), 255, np.uint8)
    grey[:8, :8] = 0
    grey[40:48, 40:48] = 0
    assert quality.unread_share(grey, np.empty((0, 4))) == pytest.approx(2 / 100)
    assert quality.unread_share(grey, np.array([[0, 0, 8, 8]])) == pytest.approx(1 / 100)
    assert quality.lines_share(np.array([[0, 0, 50, 9], [60, 0, 10, 9]]), 100) == pytest.approx(0.1)


HYPHEN = "\ufffe"


def page_of(data: bytes, page_no: int = 1):
    return open_pdf(Upload("a.pdf", data), "pdf", Rules()).page(page_no)


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
@pytest.mark.parametrize("box", ["", "/CropBox [36 100 500 780]"])
def test_boxes_lie_on_the_ink(rotate: int, box: str) -> None:
    page = page_of(papers.pdf([papers.line("Hamburg HHHHH", x=120, y=400)], rotate=rotate, box=box))
    assert page.text == "Hamburg HHHHH"
    ink = np.asarray(Image.open(io.BytesIO(page.image)).convert("L")) < 128
    inside = np.zeros_like(ink)
    for x, y, w, h in Words.unpack(page.words).boxes.astype(int):
        inside[max(0, y - 2) : y + h + 2, max(0, x - 2) : x + w + 2] = True
        assert ink[y : y + h, x : x + w].any()
    assert ink.any()
    assert not (ink & ~inside).any()


@each_of(
    "box, text",
    [
        ("/CropBox [0 0 306 792]", "The rent is 900 euros.\nof the left page"),
        ("/CropBox [306 0 612 792]", "The deposit is 1800 euros."),
        ("/CropBox [0 0 380 792]", "The rent is 900 euros. The deposit\nof the left page"),
    ],
)
def test_text_outside_the_crop_box_is_not_of_the_page(box: str, text: str) -> None:
    """A spread of two pages is often stored twice, each time with another half of it shown."""
    drawn = [("The rent is 900 euros.", 60, 400), ("The deposit is 1800 euros.", 320, 400)]
    drawn.append(("of the left page", 60, 380))
    page = page_of(papers.pdf([" ".join(papers.line(said, x=x, y=y, size=12) for said, x, y in drawn)], box=box))
    assert page.text == text
    words = Words.unpack(page.words)
    assert [page.text[s:e] for s, e in zip(words.starts, words.ends, strict=True)] == text.split()
    assert (words.boxes[:, 2:] > 0).all()


def test_a_word_over_two_lines_is_one_word_with_two_boxes() -> None:
    content = papers.line("a collabora-", y=700) + " " + papers.line("tion ends", y=670)
    page = page_of(papers.pdf([content]))
    assert page.text == "a collaboration ends"
    words = Words.unpack(page.words)
    assert [page.text[s:e] for s, e in zip(words.starts, words.ends, strict=True)] == ["a", "collabora", "tion", "ends"]
    assert len(words.boxes_of(2, 15)) == 2


@each_of(
    "raw, clean",
    [
        (f"informa{HYPHEN}tion", "information"),
        (f"fine{HYPHEN}tuning of fine-tuning", "fine-tuning of fine-tuning"),
        (f"pre{HYPHEN}trained and pretrained", "pretrained and pretrained"),
        (f"time-and{HYPHEN}materials", "time-and-materials"),
        (f"Anglo{HYPHEN}Saxon", "Anglo-Saxon"),
        (f"4D{HYPHEN}tensor", "4D-tensor"),
        (f"low{HYPHEN}pressure self{HYPHEN}cleaning", "low-pressure self-cleaning"),
        (f"two{HYPHEN}stage all{HYPHEN}weather cloud{HYPHEN}based", "two-stage all-weather cloud-based"),
        (f"high{HYPHEN}light four{HYPHEN}teen inter{HYPHEN}related", "highlight fourteen interrelated"),
        (f"vendor{HYPHEN}focused the vendor focused", "vendor-focused the vendor focused"),
        (f"frame{HYPHEN}works other{HYPHEN}wise", "frameworks otherwise"),
        (
            f"Stoke{HYPHEN}on-Trent out{HYPHEN}of-date depart{HYPHEN}ment-based",
            "Stoke-on-Trent out-of-date department-based",
        ),
        (f"an X{HYPHEN}ray of twenty{HYPHEN}one", "an X-ray of twenty-one"),
        ("from 2019-\r\n2021 on page 12-\r\n14 of 5-\r\nten", "from 2019-2021 on page 12-14 of 5-\nten"),
        (f"vendor{HYPHEN}focused the vendor", "vendorfocused the vendor"),
        ("a\x00b \x01 c\x02", "ab c"),
        ("one\r\ntwo  three", "one\ntwo three"),
        ("e\u0301t\u00e9 o\ufb03ce", "été office"),
        ("\ufee3\ufe9a", "\u0645\u062b"),
        ("m² of 1½ …", "m² of 1½ …"),
        ("", ""),
    ],
)
def test_cleaning(raw: str, clean: str) -> None:
    pieces, text = _clean(raw, set())
    assert text == clean
    assert all(text[start:end].strip() == text[start:end] != "" for start, end, _, _ in pieces)
    assert "".join(text[start:end] for start, end, _, _ in pieces) == "".join(text.split())


def test_swapped_bytes_are_put_right() -> None:
    assert _unswap("䴀甀氀\r\n琀椀") == "Mul\r\nti"
    assert _unswap("적립 제외 대상") == "적립 제외 대상"


@pytest.mark.slow
def test_a_page_that_cannot_be_loaded_costs_no_other_page() -> None:
    data = papers.pdf([papers.line("first"), papers.line("second"), papers.line("third")])
    broken = data.replace(b"5 0 obj\n<< /Type /Page ", b"5 0 obj\n<< /Type /Nope ").replace(
        b"5 0 R 7 0 R", b"99 0 R 7 0 R"
    )
    opened = open_pdf(Upload("a.pdf", broken), "pdf", Rules())
    pages = [opened.page(number) for number in range(1, opened.pages + 1)]
    assert {"first", "third"} <= {page.text for page in pages}
    assert all(page.image for page in pages)


def lost(data: bytes) -> list[tuple[str, str, str]]:
    """Return the text of each page, and what was not read and where."""
    opened = open_pdf(Upload("a.pdf", data), "pdf", Rules())
    texts = [opened.page(number).text for number in range(1, opened.pages + 1)]
    kinds = {one.place: one.kind for one in opened.losses}
    places = [place if place in kinds else "" for place in (f"page {number}" for number in range(1, len(texts) + 1))]
    return [(text, kinds.get(place, ""), place) for text, place in zip(texts, places, strict=True)]


def packed(pages: list[bytes], *, filters: str = "/FlateDecode") -> bytes:
    """Write a PDF of pages with these content streams, which are packed already."""
    data = papers.pdf([f"<{number}>" for number in range(len(pages))])
    for number, content in enumerate(pages):
        old = f"<< /Length {len(f'<{number}>')} >>\nstream\n<{number}>\n".encode()
        new = f"<< /Length {len(content)} /Filter {filters} >>\nstream\n".encode() + content + b"\n"
        assert old in data
        data = data.replace(old, new)
    return data


MINUTES = "of the minutes " * 4
SHEETS = [zlib.compress(papers.line(f"sheet {number} {MINUTES}", size=9).encode()) for number in range(3)]


@pytest.mark.slow
@each_of(
    "damage, kind",
    [
        (lambda sheet: sheet, ""),
        (lambda sheet: sheet[:-4], ""),
        (lambda sheet: sheet[: len(sheet) // 2], "page"),
        (lambda sheet: sheet[:9] + bytes(len(sheet) - 9), "page"),
        (lambda sheet: b"nothing that is packed", "page"),
    ],
)
def test_a_page_whose_stream_breaks_off_is_told(damage: Callable[[bytes], bytes], kind: str) -> None:
    found = lost(packed([SHEETS[0], damage(SHEETS[1]), SHEETS[2]]))
    assert [one[1:] for one in found] == [("", ""), (kind, "page 2" if kind else ""), ("", "")]
    assert [text[:7] for text, _kind, _place in found[::2]] == ["sheet 0", "sheet 2"]


@pytest.mark.slow
def test_streams_in_letters_are_looked_at_too() -> None:
    sheets = [base64.a85encode(sheet) + b"~>" for sheet in SHEETS]
    found = lost(packed([sheets[0], sheets[1][:30] + b"~>", sheets[2]], filters="[/ASCII85Decode /FlateDecode]"))
    assert [one[1:] for one in found] == [("", ""), ("page", "page 2"), ("", "")]


@pytest.mark.slow
def test_a_page_that_is_missing_is_told() -> None:
    data = papers.pdf([papers.line("first"), papers.line("second"), papers.line("third")])
    gone = data.replace(b"5 0 R 7 0 R", b"99 0 R 7 0 R")
    assert lost(gone) == [("first", "", ""), ("", "page", "page 2"), ("third", "", "")]
    empty = data.replace(b"/Contents 6 0 R", b"/Contents 96 0 R")
    assert lost(empty) == [("first", "", ""), ("", "page", "page 2"), ("third", "", "")]


def test_a_pdf_that_was_cut_off() -> None:
    with pytest.raises(CorruptFileError, match="broken or was cut off"):
        open_pdf(Upload("a.pdf", b"%PDF-1.7\n%%EOF"), "pdf", Rules())


@pytest.mark.slow
def test_characters_of_a_page_beyond_the_bound_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docmind.reading.formats.pdf.layer.MOST_CHARACTERS", 11)
    opened = open_pdf(
        Upload("a.pdf", papers.pdf([papers.line("herons wait by the pond"), papers.line("owls")])), "pdf", Rules()
    )
    first, second = opened.page(1), opened.page(2)
    assert (first.text, len(Words.unpack(first.words)), second.text) == ("herons wait", 2, "owls")
    assert opened.losses == (Loss("character", 12, "page 1"),)


def test_a_very_large_page_is_drawn_within_limits() -> None:
    page = page_of(papers.pdf([papers.line("x")]).replace(b"[0 0 612 792]", b"[0 0 14000 99]"))
    assert page.width == 1_600
    assert page.height >= 1


def marked(kind: str, rect: str, said: str = "", more: str = "") -> str:
    contents = f"/Contents ({said})" if said else ""
    return f"<< /Type /Annot /Subtype /{kind} /Rect [{rect}] {contents} {more} >>"


def noted(*annotations: str, page: str = "", rotate: int = 0) -> bytes:
    content = page or papers.line("the boathouse key hangs by the door", size=12)
    return papers.pdf([content], box=f"/Annots [{' '.join(annotations)}]", rotate=rotate)


def comments(page: ParsedPage) -> list[str]:
    return [page.text[one.start : one.end] for one in unpack(page.blocks, len(page.text)) if one.kind == "comment"]


def test_what_people_wrote_onto_a_page_is_read() -> None:
    under = "/QuadPoints [90 712 182 712 90 698 182 698]"
    page = page_of(
        noted(
            marked("Text", "300 700 320 720", "Ask Ines first", "/T (Bo)"),
            marked("FreeText", "70 560 330 590", "shelf 9F"),
            marked("Highlight", "90 698 182 712", "the new one?", f"/T (Ana) {under}"),
            marked("Highlight", "90 698 182 712", "", under),
            marked("Highlight", "90 698 182 712", "boathouse key", under),
            marked("Stamp", "70 500 160 540", "", "/Name /Approved"),
            marked("Popup", "70 500 160 540", "Ask Ines first"),
            marked("Text", "300 700 320 720", "Accepted set by Bo", "/State (Accepted) /StateModel (Review)"),
            marked("Link", "70 500 160 540", "a link"),
        )
    )
    said = ["Comment by Bo: Ask Ines first", "shelf 9F", "Comment by Ana on “boathouse key”: the new one?", "Approved"]
    assert page.text.split("\n") == ["the boathouse key hangs by the door", *said]
    assert comments(page) == said


@pytest.mark.parametrize("rotate", [0, 90])
def test_the_words_of_a_comment_stand_where_it_is(rotate: int) -> None:
    page = page_of(noted(marked("FreeText", "306 396 459 594", "shelf 9F"), rotate=rotate))
    start = page.text.index("shelf")
    boxes = Words.unpack(page.words).boxes_of(start, start + 8)
    across, down = (0.5, 0.25) if rotate == 0 else (0.5, 0.5)
    wide, high = (0.25, 0.25)
    wanted = [across * page.width, down * page.height, wide * page.width, high * page.height]
    assert {tuple(box) for box in np.rint(boxes).tolist()} == {tuple(np.rint(wanted).tolist())}


def test_annotations_that_are_not_read_are_counted() -> None:
    opened = open_pdf(
        Upload(
            "a.pdf",
            noted(
                marked("Ink", "70 500 160 540", more="/InkList [[70 500 160 540]]"),
                marked("Text", "70 500 160 540", "not shown", "/F 2"),
                marked("FileAttachment", "70 500 160 540", "the plan"),
                marked("Sound", "70 500 160 540"),
                marked("Highlight", "70 500 160 540"),
            ),
        ),
        "pdf",
        Rules(),
    )
    assert "the plan" in opened.page(1).text
    assert "not shown" not in opened.page(1).text
    assert {(loss.kind, loss.place) for loss in opened.losses} == {
        ("annotation", "page 1"),
        ("embedded_object", "page 1"),
        ("media", "page 1"),
    }


def test_files_within_a_pdf_are_counted() -> None:
    opened = open_pdf(Upload("a.pdf", papers.devset("bad/attachment.pdf")), "pdf", Rules())
    assert [loss.kind for loss in opened.losses] == ["embedded_object"]


@pytest.mark.slow
def test_a_page_with_thousands_of_annotations_ends() -> None:
    opened = open_pdf(Upload("a.pdf", noted(*[marked("Text", "1 1 9 9", "x")] * 3_000)), "pdf", Rules())
    assert len(comments(opened.page(1))) == 2_000
    assert [(loss.kind, loss.count) for loss in opened.losses] == [("annotation", 1_000)]


def across(columns: list[list[str]], *, wide: int, top: int = 700, size: int = 10) -> str:
    """Draw columns line by line across all of them."""
    return " ".join(
        papers.line(text, x=60 + number * wide, y=top - 13 * row, size=size)
        for row in range(max(map(len, columns)))
        for number, column in enumerate(columns)
        if row < len(column)
        for text in [column[row]]
    )


FIRST = [
    "The society was founded by",
    "eleven keepers of bees who",
    "met in the room of an old-",
    "er inn and agreed on a fee,",
]
FIRST += [
    "which was paid in honey un-",
    "til the war; it then had a",
    "low reserve of wax and two",
    "hundred members in towns.",
]
SECOND = [
    "The first show was held in a",
    "barn that was lent by a self-",
    "made man of the next village",
    "and drew visitors by train.",
]
SECOND += [
    "A prize of one guinea went",
    "to the widow for the clearest",
    "heather honey, as the papers",
    "of the county wrote in June.",
]
THIRD = [
    "In later years the society",
    "published a paper, of which",
    "no copy is left; it is known",
    "from letters only, which lie",
]
THIRD += [
    "in the archive of the county",
    "with the list of members and",
    "a drawing of the badge that",
    "nobody wears any more.",
]


@pytest.mark.parametrize("columns", [[FIRST, SECOND], [FIRST, SECOND, THIRD], [FIRST, SECOND[:6], THIRD[:7]]])
def test_columns_that_are_drawn_across_are_read_one_after_the_other(columns: list[list[str]]) -> None:
    wide = 500 // len(columns)
    head = papers.line("Notes on the long history of the society of the keepers of bees in the county", y=730, size=13)
    foot = papers.line("1 The letters of the society were kept in a barn, and they were found by chance", y=580, size=9)
    foot += " " + papers.line("in the year after the war.", y=570, size=9)
    page = page_of(papers.pdf([f"{head} {across(columns, wide=wide)} {foot}"]))
    lines = [line for column in columns for line in column]
    wanted = (
        "\n".join(lines).replace("old-\ner", "older").replace("un-\ntil", "until").replace("self-\nmade", "self-made")
    )
    assert page.text.split("\n")[0].startswith("Notes on the long")
    assert wanted in page.text
    assert page.text.endswith("found by chance\nin the year after the war.")
    words = Words.unpack(page.words)
    start = page.text.index("hundred members")
    [[left, top, *_]] = words.boxes_of(start, start + 7)
    assert left == pytest.approx(60 * page.width / 612, abs=3)
    assert top > words.boxes_of(page.text.index("The first"), page.text.index("The first") + 3)[0][1]


NAMES = ["Keeper of the bees", "Member of the board", "County of the show", "Payer of the fee", "Owner of the inn"]
MEANT = ["Whoever has a hive", "Somebody of the town", "Place of the barn", "Any of the members", "Who has an inn"]


@pytest.mark.slow
@each_of(
    "columns",
    [
        [["Wax", "Honey", "Smoke", "Skep", "Comb", "Bees", "Inn", "Fee"], THIRD],
        [[*NAMES, "Rent of a barn"], ["120.00 or 130.00"] * 6],
        [NAMES * 2, MEANT * 2],
    ],
)
def test_rows_of_a_table_are_not_torn(columns: list[list[str]]) -> None:
    page = page_of(papers.pdf([across(columns, wide=200)]))
    assert page.text.split("\n") == [" ".join(row) for row in zip(*columns, strict=True)]


def test_columns_that_are_drawn_one_after_the_other_stay() -> None:
    drawn = " ".join(across([[""] * 0] * number + [column], wide=180) for number, column in enumerate([FIRST, SECOND]))
    text = page_of(papers.pdf([drawn])).text
    assert text.index("hundred members in towns.") < text.index("The first show")
    assert "older inn" in text


def grid(rows: list[list[str]], places: list[int], *, top: int = 700, step: int = 16) -> str:
    """Draw rows of cells at the given places, line by line; an empty cell is not drawn."""
    return " ".join(
        papers.line(text, x=place, y=top - step * number, size=10)
        for number, row in enumerate(rows)
        for text, place in zip(row, places, strict=True)
        if text
    )


def rows_of(page: ParsedPage) -> list[tuple[str, tuple[str, ...], list[str]]]:
    """Return kind, header and cells of all rows of tables on a page."""
    return [
        (one.kind, one.table.header, [page.text[start:end] for start, end in one.cells])
        for one in unpack(page.blocks, len(page.text))
        if one.table is not None
    ]


SALES = [["Group", "2022", "2023"], ["Wax", "1,204.5", "900"], ["Honey in jars", "88", "\\(12\\)"], ["Skeps", "", "60"]]


def test_the_rows_of_a_table_are_found() -> None:
    prose = papers.line("The sales of the year are told here in one line of prose.", y=740, size=10)
    caption = papers.line("Table 3: Sales by group", y=718, size=10)
    page = page_of(papers.pdf([f"{prose} {caption} {grid(SALES, [72, 250, 350])}"]))
    header = ("Group", "2022", "2023")
    assert rows_of(page) == [
        ("header_row", header, ["Group", "2022", "2023"]),
        ("row", header, ["Wax", "1,204.5", "900"]),
        ("row", header, ["Honey in jars", "88", "(12)"]),
        ("row", header, ["Skeps", "", "60"]),
    ]
    tables = {one.table for one in unpack(page.blocks, len(page.text)) if one.table is not None}
    assert [table.caption for table in tables] == ["Table 3: Sales by group"]


def test_the_title_of_a_section_and_a_label_of_two_lines_belong_to_their_table() -> None:
    rows = [["", "Paid in", ""], ["", "May", "June"], ["Income", "", ""], ["Fees of the members who", "", ""]]
    rows += [["live in the county", "$ 12", "14"], ["Gifts", "$ 3", "5"], ["Total", "$ 15", "19"]]
    page = page_of(papers.pdf([grid(rows, [72, 250, 350])]))
    assert [(kind[:3], cells) for kind, _header, cells in rows_of(page)] == [
        ("hea", ["", "Paid in", ""]),
        ("hea", ["", "May", "June"]),
        ("row", ["Income", "", ""]),
        ("row", ["Fees of the members who\nlive in the county", "$ 12", "14"]),
        ("row", ["Gifts", "$ 3", "5"]),
        ("row", ["Total", "$ 15", "19"]),
    ]
    assert rows_of(page)[0][1] == ("", "Paid in May", "June")


def test_a_row_of_several_lines_is_one_row() -> None:
    rows = [
        ["Product", "Used for", "2022", "2023"],
        ["Wax", "candles of the church and", "", ""],
        ["", "of the town", "1", "22"],
    ]
    rows += [["Honey", "bread", "33", "44"], ["Mead", "feasts in the barn by the", "", ""], ["", "river", "55", "66"]]
    found = rows_of(page_of(papers.pdf([grid(rows, [72, 150, 350, 420])])))
    assert [cells for _kind, _header, cells in found] == [
        ["Product", "Used for", "2022", "2023"],
        ["Wax", "candles of the church and\nof the town", "1", "22"],
        ["Honey", "bread", "33", "44"],
        ["Mead", "feasts in the barn by the\nriver", "55", "66"],
    ]


@pytest.mark.slow
def test_a_table_goes_on_over_pages_with_its_header() -> None:
    more = [[f"Kind {number}", f"{number}.5", f"{number}0"] for number in range(10, 20)]
    other = [["Keeper", "Hives", "Sheds", "Barns"], *[[f"Bo {number}", "1", "2", "3"] for number in range(5)]]
    data = papers.pdf(
        [
            grid(SALES + more, [72, 250, 350]),
            grid(more, [72, 250, 350]),
            grid(other, [72, 200, 300, 400]),
            grid(more, [72, 250, 350]),
        ]
    )
    opened = open_pdf(Upload("a.pdf", data), "pdf", Rules())
    tables = []
    for number in range(1, 5):
        page = opened.page(number)
        [table] = {one.table for one in unpack(page.blocks, len(page.text))}
        assert table is not None
        tables.append((table.number, table.header))
    sales, hives = ("Group", "2022", "2023"), ("Keeper", "Hives", "Sheds", "Barns")
    assert tables == [(0, sales), (0, sales), (2_000, hives), (3_000, ())]


RAIN = [["Region", "2019", "2020", "2021"], ["North", "-", "38.91", "35.15"], ["South", "34.98", "34.95", "23.36"]]
RAIN += [["East", "19.79", "-", "24.16"], ["West", "22.77", "27.12", "-"]]


@pytest.mark.slow
@each_of("places", [[72, 200, 300, 400], [72, 150, 200, 250], [72, 250, 350, 450]])
@each_of("shift", [0, 30])
def test_a_sign_for_nothing_stays_in_its_column(places: list[int], shift: int) -> None:
    """It stands flush left, or behind the last figure of the column, as where negative numbers have brackets."""
    dash = "-"
    content = " ".join(
        papers.line(cell, x=place + (shift if cell == dash else 0), y=700 - 16 * number, size=10)
        for number, row in enumerate(RAIN)
        for cell, place in zip(row, places, strict=True)
    )
    assert [cells for _kind, _header, cells in rows_of(page_of(papers.pdf([content])))] == RAIN


def test_a_minus_sign_that_is_set_apart_belongs_to_its_number() -> None:
    rows = [["Group", "", "2022", "", "2023"], ["Wax", "-", "1,204.5", "", "900"], ["Honey", "", "88", "-", "12"]]
    rows += [["Skeps", "-", "60", "", "41"], ["Mead", "", "71", "", "33"]]
    found = rows_of(page_of(papers.pdf([grid(rows, [72, 235, 250, 385, 400])])))
    assert [cells for _kind, _header, cells in found] == [
        ["Group", "2022", "2023"],
        ["Wax", "- 1,204.5", "900"],
        ["Honey", "88", "- 12"],
        ["Skeps", "- 60", "41"],
        ["Mead", "71", "33"],
    ]


YEARS = [[str(1967 + row), f"{4_999 + 112 * row}", f"{126_762 + 531 * row}", f"2{row}.4"] for row in range(6)]


@pytest.mark.slow
@each_of("header", [[["Year", "Population", "Deaths", "Rate"]], [["", "Population", "Deaths", "Rate"]], []])
def test_years_and_numbers_are_a_table(header: list[list[str]]) -> None:
    found = rows_of(page_of(papers.pdf([grid([*header, *YEARS], [72, 170, 270, 370])])))
    assert [cells for _kind, _header, cells in found] == [*header, *YEARS]
    assert {names for _kind, names, _cells in found} == {tuple(header[0]) if header else ()}


@pytest.mark.slow
@each_of(
    "content",
    [
        across([FIRST, SECOND], wide=180),
        grid([[f"Chapter {number} ..........................", str(number)] for number in range(8)], [72, 400]),
        grid([[f"\\({number}\\)", "the keeper of the bees of the county pays"] for number in range(8)], [72, 110]),
        grid([[f"x{number} =", "Verify \\(fact_1\\)", str(number)] for number in range(8)], [72, 130, 300]),
        grid([[str(row * 7), f"{row}.5", f"{row * row}"] for row in range(8)], [72, 170, 270]),
        grid([["the keeper", "of the", "bees"]] * 2 + [["pays in", "", "May"]] * 4, [72, 150, 200]),
        " ".join(papers.line(text, y=700 - 14 * number, size=11) for number, text in enumerate(THIRD)),
    ],
)
def test_what_is_no_table(content: str) -> None:
    assert rows_of(page_of(papers.pdf([content]))) == []


BODY = [
    "The court first considered whether the clerk of the county had any duty to keep",
    "the petition open after the hour that was set in the notice of the board, and it",
    "went on to acknowledge that the law provides an alternative way to access the",
]
FEE = [
    "4 The party does not argue that the notice was defective, and the court",
    "does not reach it. The fee was $ 40.",
]
LAMP = ["5 The lamp of the hall was out in the week of the hearing."]


def set_down(lines: list[str], *, top: int, step: int, size: int, x: int = 72) -> str:
    """Draw lines one below the other."""
    return " ".join(papers.line(text, x=x, y=top - step * row, size=size) for row, text in enumerate(lines))


def parts(page: ParsedPage) -> list[tuple[str, str]]:
    """Return kind and text of the blocks of a page that are no rows."""
    blocks = unpack(page.blocks, len(page.text))
    return [(one.kind, page.text[one.start : one.end]) for one in blocks if one.table is None]


@pytest.mark.slow
@each_of(
    "notes",
    [
        set_down([*FEE, *LAMP], top=120, step=10, size=8),
        set_down([*FEE, *LAMP], top=560, step=10, size=8),
        f"{papers.line('4', y=123, size=5)} {papers.line(FEE[0][2:], x=78, y=120, size=8)} "
        + set_down([FEE[1], *LAMP], top=110, step=10, size=8),
        set_down([*FEE, *LAMP], top=300, step=14, size=11),
        set_down([*FEE, *LAMP], top=240, step=12, size=11),
    ],
)
def test_a_sentence_of_the_body_does_not_run_into_a_footnote(notes: str) -> None:
    body = set_down(BODY * 3, top=720, step=16, size=11)
    page = page_of(papers.pdf([f"{body} {notes}"]))
    [(one, first), (other, second)] = [(kind, said.replace("\n", " ")) for kind, said in parts(page)]
    assert (one, other) == ("footnote", "footnote")
    assert (first, second) == (" ".join(FEE), *LAMP)
    quotes = [passage.text(page.text) for passage in passages(page.text, (), unpack(page.blocks, len(page.text)))]
    assert any("The fee was $ 40" in quote for quote in quotes)
    assert not any("to access the" in quote and "defective" in quote for quote in quotes)


def test_each_column_has_its_own_footnotes() -> None:
    note, other = ["1 The fee was two pounds of", "honey for each hive."], ["2 The key hangs by the door."]
    columns = [
        set_down(FIRST, top=700, step=12, size=10, x=60),
        set_down(note, top=590, step=9, size=7, x=60),
        set_down(SECOND, top=700, step=12, size=10, x=320),
        set_down(other, top=590, step=9, size=7, x=320),
    ]
    page = page_of(papers.pdf([" ".join(columns)]))
    assert parts(page) == [("footnote", "\n".join(note)), ("footnote", other[0])]


@pytest.mark.slow
@each_of(
    "lines",
    [
        [*BODY, "", "4. The party pays the fee of the notice within ten days."],
        [*BODY[:2], "access the board.", "", "4 The party pays the fee of the notice within ten days."],
        [*BODY[:2], "access the", "1904 The party paid the fee of the notice within ten days."],
    ],
)
def test_what_is_no_footnote(lines: list[str]) -> None:
    assert parts(page_of(papers.pdf([set_down(lines, top=500, step=16, size=11)]))) == []


@pytest.mark.slow
def test_heads_and_feet_that_repeat_stand_apart_and_are_not_quoted() -> None:
    bodies = iter([BODY, FIRST, SECOND])

    def sheet(left: str, right: str, foot: str) -> str:
        heads = f"{papers.line(left, x=72, y=760, size=9)} {papers.line(right, x=480, y=760, size=9)}"
        return f"{heads} {set_down(next(bodies), top=740, step=16, size=11)} {papers.line(foot, x=280, y=30, size=9)}"

    sheets = [
        sheet("Rivers and their mills", f"May {number}", f"Page {number} of 40")
        if number % 2
        else sheet("The keeper of the bees", f"May {number}", "ii")
        for number in range(1, 4)
    ]
    opened = open_pdf(Upload("a.pdf", papers.pdf(sheets)), "pdf", Rules())
    pages = [opened.page(number) for number in range(1, 4)]
    assert [parts(page) for page in pages] == [
        [("footer", "Page 1 of 40")],
        [("footer", "ii")],
        [("header", "Rivers and their mills May 3"), ("footer", "Page 3 of 40")],
    ]
    page = pages[2]
    running = edges(pages[0].text) & edges(page.text)
    quotes = [passage.text(page.text) for passage in passages(page.text, running, unpack(page.blocks, len(page.text)))]
    assert quotes[0].startswith("The first show was held")
    assert not any("Rivers" in quote or "Page" in quote for quote in quotes)


def test_captions_end_where_the_body_goes_on() -> None:
    figure = ["Figure 3: The iron bridge over the Stour, seen", "from the mill in winter."]
    table = ["Table 2. Tolls of the bridge and of", "the ferry"]
    content = [
        set_down(BODY, top=720, step=14, size=11),
        set_down(figure, top=600, step=11, size=9),
        set_down(
            ["ballot. Figure 3 shows the bridge. It was", "Table 2. That is told by the clerk."],
            top=560,
            step=14,
            size=11,
        ),
        set_down(table, top=500, step=11, size=9),
        grid(SALES, [72, 250, 350], top=470),
    ]
    page = page_of(papers.pdf([" ".join(content)]))
    assert parts(page) == [("caption", "\n".join(figure)), ("caption", "\n".join(table))]
    [table_of] = {one.table for one in unpack(page.blocks, len(page.text)) if one.table is not None}
    assert table_of.caption == " ".join(table)


@pytest.mark.slow
def test_a_list_of_figures_has_no_captions() -> None:
    lines = [f"Figure {number}: The bridge in the year {1900 + number}" for number in range(1, 9)]
    assert parts(page_of(papers.pdf([set_down(lines, top=700, step=14, size=11)]))) == []


@pytest.mark.slow
def test_a_repeated_header_with_merged_cells_is_that_of_one_table() -> None:
    heads = [["Station", "", "Rain", ""], ["", "2021", "2022", "2023"]]
    rows = [[f"Station {number}", f"{number}.5", f"{number}", f"({number})"] for number in range(10, 16)]
    places = [72, 250, 350, 450]
    caption = papers.line("Table 2: Rain", y=720, size=10)
    safe = [[cell.replace("(", "\\(").replace(")", "\\)") for cell in row] for row in heads + rows]
    other = [["Station", "Wind", "", ""], *safe[1:]]
    pages = [
        f"{caption} {grid(safe, places)}",
        grid(safe, places),
        f"{caption.replace('2', '3')} {grid(other, places)}",
    ]
    opened = open_pdf(Upload("a.pdf", papers.pdf(pages)), "pdf", Rules())
    tables = []
    for number in range(1, 4):
        page = opened.page(number)
        [table] = {one.table for one in unpack(page.blocks, len(page.text)) if one.table is not None}
        tables.append((table.number, table.header[1:3]))
    assert tables == [(0, ("Rain 2021", "Rain 2022"))] * 2 + [(2_000, ("Wind 2021", "2022"))]


def test_accents_that_are_drawn_beside_their_letter_are_composed() -> None:
    # Octal codes of the standard encoding: 310 dieresis, 302 acute, 313 cedilla; the letters after them go back.
    letters = "(Br) -110 (\\310) 444 (odinger and the caf) -110 (\\302) 444 (e) 0 ( of Gon) -80 (\\313) 413 (calo)"
    page = page_of(papers.pdf([f"BT /F1 20 Tf 72 700 Td [{letters}] TJ ET"]))
    assert page.text == "Brödinger and the café of Gonçalo"
    words = Words.unpack(page.words)
    assert page.text[words.starts[0] : words.ends[0]] == "Brödinger"


def test_accents_that_stand_for_themselves_stay() -> None:
    assert page_of(papers.pdf([papers.line("the sign \\310 and o \\310 o")])).text == "the sign ¨ and o ¨ o"


def test_values_of_a_form_stand_behind_their_labels_and_boxes_tell_their_state() -> None:
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(612, 792), invariant=1)
    for x, y, label in (
        (72, 700, "Name of the tenant:"),
        (72, 660, "Has a dog:"),
        (72, 620, "Pays"),
        (160, 620, "monthly"),
        (260, 620, "yearly"),
        (72, 580, "Notes below"),
        (72, 500, "Signed in May."),
    ):
        canvas.drawString(x, y, label)
    form = canvas.acroForm
    form.textfield(name="notes", value="two keys", x=72, y=545, width=200, height=20)
    form.textfield(name="tenant", value="Marta Quiroga", x=220, y=692, width=200, height=20)
    form.textfield(name="empty", value="", x=430, y=692, width=90, height=20)
    form.checkbox(name="dog", checked=True, x=220, y=652, size=16)
    form.checkbox(name="monthly", checked=False, x=140, y=616, size=16)
    form.checkbox(name="yearly", checked=True, x=240, y=616, size=16)
    canvas.save()
    page = page_of(out.getvalue())
    assert page.text.split("\n") == [
        "Name of the tenant: Marta Quiroga",
        "Has a dog: ☒",
        "Pays ☐ monthly ☒ yearly",
        "Notes below two keys",
        "Signed in May.",
    ]
    words = Words.unpack(page.words)
    start = page.text.index("Quiroga")
    [[left, top, *_]] = words.boxes_of(start, start + 7)
    assert left > 220 * page.width / 612
    assert top == pytest.approx((792 - 706) * page.height / 792, abs=12)
