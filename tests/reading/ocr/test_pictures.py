"""Words on the pictures of Office files: read by the real engine, placed where the picture is shown."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import docx
import pytest
from docx.shared import Cm
from PIL import Image

from conftest import require
from desks import opened, read
from docmind.blocks import unpack
from docmind.config import ReadingSettings
from docmind.documents.words import Words
from docmind.errors import EmptyFileError
from docmind.reading.ocr.document_pass import OcrPass
from docmind.reading.ocr.engine import Ocr
from docmind.reading.reader import Reader
from docmind.records.documents import OcrChoice, ParsedPage, Upload
from papers import print_of
from sheets import figure, png

NOTE = ("The pallet came on 14 May 2025.", "Received by Martin Oakley.", "Twelve crates, two damaged.")


@pytest.fixture(scope="module")
def engine() -> Iterator[Ocr]:
    ocr = Ocr(ReadingSettings())
    require(ocr.engine, "no engine is installed")
    yield ocr
    ocr.close()


def word_file(*parts: str | Image.Image) -> bytes:
    """Return a Word document of paragraphs and pictures."""
    document = docx.Document()
    for part in parts:
        if isinstance(part, str):
            document.add_paragraph(part)
        else:
            document.add_picture(io.BytesIO(png(part)), width=Cm(14))
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def pages_of(data: bytes, ocr: Ocr, choice: OcrChoice | None = None) -> list[ParsedPage]:
    through = OcrPass(ocr, 1, lambda: None, choice or OcrChoice(), doc_id="note")
    with Reader(ReadingSettings()) as reader, reader.read(Upload("note.docx", data)) as reading, through:
        return list(through.through(reading))


@pytest.mark.slow
def test_words_on_a_picture_stand_behind_the_text_and_lie_on_the_picture(engine: Ocr) -> None:
    (page,) = pages_of(word_file("Delivery of May:", print_of(NOTE), "Filed by Ana."), engine)
    assert page.text.startswith("Delivery of May:")
    assert page.text.index("Filed by Ana.") < page.text.index("Received by Martin Oakley.")
    assert page.text_source == "layer"
    assert page.ocr is not None
    assert page.ocr.engine == engine.engine
    (shown,) = page.figures
    words = Words.unpack(page.words)
    for said in NOTE:
        start = page.text.index(said)
        (box,) = words.boxes_of(start, start + len(said))
        assert shown.box[0] <= box.x
        assert box.x + box.w <= shown.box[0] + shown.box[2] + 1
        assert shown.box[1] <= box.y
        assert box.y + box.h <= shown.box[1] + shown.box[3] + 1
    assert words.certainty_of(0, 10) == 1.0
    assert 0.5 < words.certainty_of(page.text.index("Martin"), page.text.index("Oakley")) < 1.0
    last = unpack(page.blocks, len(page.text))[-1]
    assert page.text[last.start : last.end].splitlines()[0] == NOTE[0]


@pytest.mark.slow
def test_the_lines_of_a_picture_lie_below_each_other_at_its_scale(engine: Ocr) -> None:
    (page,) = pages_of(word_file("Before.", print_of(NOTE)), engine)
    (shown,) = page.figures
    words, scale = Words.unpack(page.words), shown.box[2] / 1_000
    tops = [words.boxes_of(at, at + 4)[0].y for at in (page.text.index(said) for said in NOTE)]
    assert all(abs(after - before - 60 * scale) < 6 for before, after in pairwise(tops))


@pytest.mark.slow
def test_a_document_of_pictures_only_is_read_by_ocr(engine: Ocr) -> None:
    (page,) = pages_of(word_file(print_of(NOTE)), engine)
    assert page.text.splitlines() == list(NOTE)
    assert page.text_source == "ocr"
    assert 0.5 < page.confidence <= 1.0


@pytest.mark.slow
def test_equal_pictures_are_read_once(engine: Ocr) -> None:
    brand = print_of(("Brass and Sons Ltd",))
    text = "\n".join(page.text for page in pages_of(word_file(brand, *["A line."] * 90, brand), engine))
    assert text.count("Brass and Sons Ltd") == 1


def test_pictures_are_left_alone_where_nothing_is_to_be_read(engine: Ocr) -> None:
    (page,) = pages_of(word_file("Only this.", print_of(NOTE)), engine, OcrChoice(mode="never"))
    assert page.text == "Only this."
    assert page.ocr is None


@pytest.mark.slow
def test_icons_and_drawings_add_nothing(engine: Ocr) -> None:
    (page,) = pages_of(word_file("Only this.", figure(3).resize((600, 800)), print_of(("Small",), (90, 90))), engine)
    assert page.text == "Only this."


def test_a_document_of_nothing_is_refused(engine: Ocr) -> None:
    with pytest.raises(EmptyFileError, match="holds no text"):
        pages_of(word_file(""), engine)


@pytest.mark.slow
def test_words_on_a_picture_are_not_what_the_document_around_it_is_called(engine: Ocr, tmp_path: Path) -> None:
    plate = print_of(("Serial number ZK-4471", "Issued on 12 March 2019", "for the company of the mill by the river"))
    with opened(tmp_path, reading=ReadingSettings(workers=1)) as desk:
        read(desk, Upload("caldeira.docx", word_file("A caldeira da casa foi vista em casa do proprietário.", plate)))
        read(desk, Upload("plate.docx", word_file(plate)))
        read(desk, Upload("plate.png", png(plate)))
        told = {one.document: (one.heading, one.dated, one.language) for one in desk.documents.all()}
        assert told == {
            "caldeira.docx": ("", "", "pt"),
            "plate.docx": ("", "", ""),
            "plate.png": ("", "2019-03-12", "en"),
        }
        assert {hit.document for hit in desk.search("serial number ZK-4471").hits} == set(told)
