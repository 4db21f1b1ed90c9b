"""What OCR leaves unread is seen on the image: letters that its model lacks, and print beside all of its lines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFilter

from conftest import require
from desks import opened, read
from docmind.config import ReadingSettings
from docmind.documents import coverage_text
from docmind.reading.formats import typeset
from docmind.reading.ocr.engine import Ocr, engines
from docmind.reading.ocr.reading_order import Spot
from docmind.reading.ocr.tesseract import languages, languages_for
from docmind.reading.ocr.unread import unread_share, weighed
from docmind.records.documents import Loss, Upload
from docmind.records.reader import Coverage, PageCoverage
from each import each_of
from papers import print_of, webp
from sheets import png

RUSSIAN = (
    "Арендодатель передаёт, а арендатор принимает",
    "во временное пользование помещение, 46,3 кв. м.",
    "Ежемесячная плата составляет 38 500 рублей.",
    "Срок действия: одиннадцать месяцев.",
)
ENGLISH = (
    "The lessor hands over, and the lessee accepts,",
    "the rooms of 46.3 square metres for a time.",
    "The rent is 38,500 a month, to be paid by the tenth.",
    "It ends after eleven months.",
    "Signed in two copies, one for each of them.",
    "The keys are handed over on the first day.",
)


def spots(shown: tuple[str, ...], said: tuple[str, ...] | None = None) -> list[Spot]:
    """Return the lines that `print_of` draws, and what was read in each of them."""
    font = typeset.font("h2")
    found = []
    for number, (line, text) in enumerate(zip(shown, said or shown, strict=True)):
        left, top, right, bottom = font.getbbox(line)
        x, y, to, low = 40 + left, 37 + 60 * number + top, 40 + right, 43 + 60 * number + bottom
        found.append(Spot(text, ((x, y), (to, y), (to, low), (x, low)), 0.95))
    return found


def grey(image: Image.Image) -> np.ndarray:
    return np.asarray(image.convert("L"))


def texture() -> Image.Image:
    """Return a picture of leaves, as it were: grain of all sizes and no print."""
    chance = np.random.default_rng(3)
    grains = [
        Image.fromarray(chance.integers(0, 255, (400, 1_000), np.uint8)).filter(ImageFilter.GaussianBlur(at))
        for at in (2, 5, 9)
    ]
    mixed = sum((np.asarray(one, float) - 127) * 8 for one in grains) + 127
    return Image.fromarray(np.clip(mixed, 0, 255).astype(np.uint8))


def test_lines_that_are_read_are_as_sure_as_before() -> None:
    for shown in (
        ENGLISH,
        ("1,204   38.91   35.15   2019", "(3.2)   -   14.0%   88,120"),
        ("Total ......... 3", "|x| <= 3; y = -4"),
    ):
        for image in (print_of(shown), Image.eval(print_of(shown), lambda value: 255 - value)):
            seen = weighed([[spot] for spot in spots(shown)], grey(image))
            assert [spot.score for row in seen.rows for spot in row] == [0.95] * len(shown)
            assert seen.lost == 0


def test_a_line_whose_letters_were_dropped_is_no_surer_than_what_is_left_of_it() -> None:
    said = (",", ", 46,3 . .", "38 500 .", "")
    seen = weighed([[spot] for spot in spots(RUSSIAN, said)], grey(print_of(RUSSIAN)))
    assert [spot.text for row in seen.rows for spot in row] == list(said[:3]), "a line without text is none"
    assert all(spot.score < 0.4 for row in seen.rows for spot in row)
    assert seen.lost == seen.ink > 50


def test_print_beside_the_lines_that_were_read_is_a_share_of_the_page() -> None:
    lines, page = spots(ENGLISH), grey(print_of(ENGLISH))
    assert unread_share(page, lines) == 0
    assert unread_share(page, lines[:2]) == pytest.approx(0.62, abs=0.1)
    assert unread_share(page, []) == 1
    askew = grey(print_of(ENGLISH).rotate(2, fillcolor="white"))
    assert unread_share(askew, []) == 1
    assert unread_share(page, lines[:2], [(0, 150, 1_000, 250)]) == 0, "print on a picture that the page knows"


def test_rules_frames_stamps_and_textures_are_no_print() -> None:
    sheet = print_of(ENGLISH)
    pen = ImageDraw.Draw(sheet)
    pen.rectangle((20, 20, 980, 390), outline="black", width=3)
    for at in range(20, 980, 60):
        pen.line((at, 20, at, 390), fill="black", width=2)
    pen.ellipse((800, 300, 950, 390), fill="black")
    pen.text((820, 330), "PAID 4", fill="white", font=typeset.font("h2"))
    assert unread_share(grey(sheet), spots(ENGLISH)) == 0
    assert unread_share(grey(texture()), []) == 0


@each_of(
    "script, installed, found",
    [
        ("Cyrillic", ("eng", "osd", "rus", "ukr"), ("rus", "ukr")),
        ("Cyrillic", ("eng", "script/Cyrillic"), ("script/Cyrillic",)),
        ("Hebrew", ("eng", "rus"), ()),
        ("", ("eng", "heb", "rus"), ("rus", "heb")),
        ("Latin", ("eng", "por"), ()),
    ],
)
def test_languages_of_a_script_that_rapidocr_lacks(
    script: str, installed: tuple[str, ...], found: tuple[str, ...]
) -> None:
    assert set(languages_for(script, installed)) == set(found)


@pytest.mark.slow
def test_a_scan_in_letters_that_ocr_lacks_says_so_and_none_of_its_lines_is_sure(tmp_path: Path) -> None:
    require("rapidocr" in engines(), "RapidOCR")
    with opened(tmp_path, reading=ReadingSettings(ocr="rapidocr", workers=1)) as desk:
        added = read(desk, Upload("lease.png", png(print_of(RUSSIAN))))
        read(desk, Upload("lease-en.png", png(print_of(ENGLISH))))
        assert added.doc_id is not None
        assert added.losses == (Loss("script", 1, "page 1"),)
        assert added.message.startswith("1 page is in letters that OCR does not know")
        coverage = desk.documents.coverage(added.doc_id)
        ((page_no, told),) = [one for one in coverage_text(coverage) if "letters" in one[1]]
        assert (page_no, "Install Tesseract" in told) == (1, True)
        assert {line.grade for line in desk.documents.page_lines(added.doc_id, 1).lines} == {"bad"}
        english = desk.documents.coverage(desk.documents.find("lease-en.png").doc_id)
        assert not [one for one in english.noted if one.is_lost or one.unread]


@pytest.mark.slow
def test_a_scan_in_letters_that_rapidocr_lacks_is_read_by_tesseract() -> None:
    require("rapidocr" in engines() and "rus" in languages(), "RapidOCR, and Tesseract with Russian")
    ocr = Ocr(ReadingSettings(workers=1))
    try:
        seen = ocr.recognise(webp(print_of(RUSSIAN)))
    finally:
        ocr.close()
    assert seen.text.splitlines() == list(RUSSIAN)
    assert (seen.how.engine, seen.how.languages, seen.how.is_lost) == ("tesseract", "rus", False)
    assert seen.confidence > 0.8


def test_a_page_to_look_at_has_what_was_not_read() -> None:

    noted = (PageCoverage(3, 2, unread=0.667), PageCoverage(4, 0, is_lost=True))
    assert [told for _page, told in coverage_text(Coverage("d", 4, noted=noted))] == [
        "Page 3: about 67 % of its print was not read",
        "Page 4: letters that OCR does not know. Install Tesseract with their language, and read it again",
    ]
