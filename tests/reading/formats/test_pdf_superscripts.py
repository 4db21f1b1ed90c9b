"""PDF: raised and lowered digits are told from the digits of a number."""

from __future__ import annotations

import pytest

import papers
from docmind.blocks import unpack
from docmind.documents.words import Words
from docmind.reading.formats import Rules
from docmind.reading.formats.pdf import open_pdf
from docmind.reading.formats.pdf.exponents import index, meaning
from docmind.records.documents import ParsedPage, Upload
from each import each_of

WRITTEN = {"Word": (11, 7.3, 3.7), "TeX": (10, 7, 3.6), "Chromium": (16, 13.3, 5.3), "LibreOffice": (12, 7, 4)}
"""Sizes of letters and of raised ones, and how high these stand, in points."""


def page_of(*contents: str) -> ParsedPage:
    return open_pdf(Upload("a.pdf", papers.pdf([" ".join(contents)])), "pdf", Rules()).page(1)


def script(text: str, *, y: float = 700, x: float = 72, written: str = "Word", mode: int = 0, turn: str = "") -> str:
    """Draw a line in which `^…|` is raised and `_…|` lowered, as in `45,000^2| euros`."""
    size, small, rise = WRITTEN[written]
    out = [f"BT {mode} Tr {turn or f'1 0 0 1 {x} {y} Tm'}"]
    for part in text.split("|"):
        at = next((place for place, char in enumerate(part) if char in "^_"), len(part))
        out.append(f"/F1 {size} Tf 0 Ts ({part[:at].replace('(', chr(92) + '(').replace(')', chr(92) + ')')}) Tj")
        if at < len(part):
            height = rise if part[at] == "^" else -0.15 * size
            out.append(f"/F1 {small} Tf {height} Ts ({part[at + 1 :]}) Tj")
    return " ".join([*out, "ET"])


@pytest.mark.slow
@each_of("written", list(WRITTEN))
def test_raised_digits_are_no_digits_of_the_number_before_them(written: str) -> None:
    lines = {
        "a debt of 45,000^2| euros": "a debt of 45,000[2] euros",
        "1.5 x 10^11| m": "1.5 x 10¹¹ m",
        "in 1987^5|, as told": "in 1987[5], as told",
        "46 m^2| and 3 km^2| at 10^-3| bar": "46 m² and 3 km² at 10⁻³ bar",
        "the club^1,2| of 2021^3|": "the club[1,2] of 2021[3]",
        "5^1|/_2| inches": "5 1/2 inches",
        "CO_2| and (CH_2|)_3| of x_1|^2|": "CO₂ and (CH₂)₃ of x₁²",
        "SO_4|^2-| and Fe^3+| at 25^0|C": "SO₄²⁻ and Fe³⁺ at 25°C",
        "the 1^st| and 2^nd| day": "the 1st and 2nd day",
        "^2|2,000 members": "2 2,000 members",
    }
    page = page_of(*(script(line, y=740 - 30 * row, written=written) for row, line in enumerate(lines)))
    assert page.text.split("\n") == list(lines.values())


def test_a_mark_has_a_place_of_its_own_behind_its_number() -> None:
    page = page_of(script("a debt of 45,000^2| euros"))
    words = Words.unpack(page.words)
    shown = {page.text[s:e]: box for s, e, box in zip(words.starts, words.ends, words.boxes, strict=True)}
    number, mark = shown["45,000"], shown["[2]"]
    assert mark[0] >= number[0] + number[2] - 1
    assert mark[1] + mark[3] < number[1] + number[3]


@pytest.mark.parametrize("turn", ["0 1 -1 0 300 200 Tm", "0 -1 1 0 300 600 Tm"])
def test_text_that_is_turned_has_raised_digits_too(turn: str) -> None:
    assert page_of(script("a debt of 45,000^2| euros", turn=turn)).text == "a debt of 45,000[2] euros"


def test_the_recognized_text_of_a_scan_stays() -> None:
    assert "45,0002" in page_of(script("a debt of 45,000^2| euros", mode=3)).text


@pytest.mark.slow
@each_of(
    "content, text",
    [
        ("BT /F1 40 Tf 72 700 Td (45) Tj /F1 16 Tf 12 Ts ( 12 new homes) Tj ET", "45 12 new homes"),
        ("BT /F1 60 Tf 72 700 Td (R) Tj /F1 11 Tf 30 Ts (1987) Tj ET", "R 1987"),
        ("BT /F1 20 Tf 72 700 Td (45) Tj /F1 12 Tf 0 Ts (67) Tj ET", "4567"),
    ],
)
def test_small_print_beside_large_letters_is_no_mark(content: str, text: str) -> None:
    assert page_of(content).text.replace("\n", " ") == text


def test_cells_have_their_numbers_without_marks() -> None:
    rows = [("Rowers", "1,204^3|", "88"), ("Sailors", "956", "71"), ("Guests", "310^1|", "12")]
    drawn = [
        script(cell, x=x, y=700 - 18 * number)
        for number, row in enumerate(rows)
        for cell, x in zip(row, (72, 220, 320), strict=True)
    ]
    page = page_of(*drawn, script("The club owes 45,000^2| euros.", y=600))
    cells = [[page.text[s:e] for s, e in one.cells] for one in unpack(page.blocks, len(page.text)) if one.table]
    assert cells == [["Rowers", "1,204", "88"], ["Sailors", "956", "71"], ["Guests", "310", "12"]]
    assert "Rowers 1,204[3] 88" in page.text


@pytest.mark.slow
def test_a_note_below_tells_a_mark_from_a_power() -> None:
    foot = "BT /F1 8 Tf 72 80 Td (2 Without the boats.) Tj ET"
    assert page_of(script("The club has 10^2| boats.")).text == "The club has 10² boats."
    assert page_of(script("The club has 10^2| boats."), foot).text.startswith("The club has 10[2] boats.")


def test_raised_digits_behind_letters_of_two_units_have_their_boxes() -> None:
    """PDFium counts letters of formulas as two characters: what follows them had the boxes of its neighbours."""
    content = "BT /F1 12 Tf 72 700 Td (x) Tj 200 0 Td (Hamburg) Tj ET"
    data = papers.pdf([content]).replace(
        b"/Subtype /Type1 /BaseFont /Helvetica >>", b"/Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>"
    )
    table = (
        "/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange "
        "1 beginbfchar <78> <D835DC64> endbfchar 1 beginbfrange <41> <77> <0041> endbfrange endcmap end"
    )
    stream = f"6 0 obj\n<< /Length {len(table)} >>\nstream\n{table}\nendstream\nendobj\nxref\n".encode()
    page = open_pdf(Upload("a.pdf", data.replace(b"xref\n", stream, 1)), "pdf", Rules()).page(1)
    assert page.text == "𝑤 Hamburg"
    [[left, *_]] = Words.unpack(page.words).boxes_of(2, 9)
    assert left == pytest.approx(272 * page.width / 612, abs=4)


@each_of(
    "before, mark, after, noted, shown",
    [
        ("a debt of 45,000", "2", " euros", False, "[2]"),
        ("a debt of 45,000 ", "2", " euros", False, "[2]"),
        ("1.5 × 10", "11", " m", True, "¹¹"),
        ("about 10", "3", " bar", False, "³"),
        ("about 10", "3", " bar", True, "[3]"),
        ("at 10", "−0.5", "", True, "^(−0.5)"),
        ("x", "2.5", "", True, "^2.5"),
        ("2", "8", " = 256", False, "⁸"),
        ("n = 2021", "5", "", False, "[5]"),
        ("46 m", "2", "", True, "²"),
        ("5 km", "2", "", True, "²"),
        ("5 km", "17", "", False, "[17]"),
        ("sin", "2", " x", False, "²"),
        ("the club’s", "2", "", False, "[2]"),
        ("(a + b)", "2", "", False, "²"),
        ("(a + b)", "2", "", True, "[2]"),
        ("(in May)", "2", "", False, "[2]"),
        ("|x|", "2", "", False, "²"),
        ("Smith.", "1–3", "", False, "[1–3]"),
        ("45,000", "2)", "", False, "[2]"),
        ("45,000", "b", "", True, "[b]"),
        ("45,000", "b", "", False, None),
        ("the 2", "nd", "", True, None),
        ("45,000", "(1)", "", True, None),
        ("Fe", "3+", "", False, "³⁺"),
        ("25", "0", "C", False, "°"),
        ("", "2", "Without", True, None),
    ],
)
def test_what_a_raised_text_means(before: str, mark: str, after: str, noted: bool, shown: str | None) -> None:
    found = meaning(before, mark, after, lambda _mark: noted)
    assert (found.shown if found is not None else None) == shown


@each_of("before, mark, shown", [("CO", "2", "₂"), ("log", "10", "₁₀"), ("x", "ij", None), (", ", "2", None)])
def test_what_a_lowered_text_means(before: str, mark: str, shown: str | None) -> None:
    assert index(before, mark) == shown
