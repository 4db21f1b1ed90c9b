"""Which pages are read by OCR, by what, and what is told of it."""

from __future__ import annotations

import pytest

from docmind.config import ReadingSettings
from docmind.documents.stored import ocr_of, stored_ocr
from docmind.errors import ConfigError, DamagedError
from docmind.reading.ocr import engine as ocr_engine
from docmind.reading.ocr.engine import Ocr, ocr_text
from docmind.records.documents import OcrChoice, OcrReading


@pytest.fixture
def only_rapidocr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr_engine, "_has_rapidocr", lambda: True)
    monkeypatch.setattr(ocr_engine, "_has_tesseract", lambda: False)


@pytest.mark.usefixtures("only_rapidocr")
def test_an_engine_that_is_missing_is_named_with_the_command_that_adds_it() -> None:
    with pytest.raises(ConfigError, match="Tesseract isn't installed") as error:
        Ocr(ReadingSettings()).check(OcrChoice("tesseract"))
    assert "apt install tesseract-ocr" in (error.value.hint or "")


def test_a_language_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr_engine, "_has_tesseract", lambda: True)
    monkeypatch.setattr(ocr_engine, "languages", lambda: ("eng", "osd"))
    ocr = Ocr(ReadingSettings())
    ocr.check(OcrChoice("tesseract", "eng"))
    with pytest.raises(ConfigError, match="no language por, chi_sim") as error:
        ocr.check(OcrChoice("tesseract", "eng+por+chi_sim"))
    assert "tesseract-ocr-por" in (error.value.hint or "")


def test_never_is_told_as_off() -> None:
    (told,) = Ocr(ReadingSettings(ocr_mode="never")).capabilities()
    assert (told.name, told.state, "OCR_MODE" in told.hint) == ("ocr", "off", True)


@pytest.mark.parametrize(
    ("ocr", "told"),
    [
        (OcrReading("rapidocr", "3.1"), "Read by RapidOCR 3.1, 94 % confidence"),
        (OcrReading("rapidocr", "3.1", tries=2, dpi=150), "Read by RapidOCR 3.1 in 2 tries, 94 % confidence, 150 dpi"),
        (OcrReading("tesseract", "", "por+eng"), "Read by Tesseract (por+eng), 94 % confidence"),
    ],
)
def test_what_is_told_of_a_page(ocr: OcrReading, told: str) -> None:
    assert ocr_text(ocr, 0.94) == told


def test_how_a_page_was_read_is_kept() -> None:
    ocr = OcrReading("tesseract", "5.3.0", "por+eng", 2, 90, 150, 0.25)
    assert ocr_of(stored_ocr(ocr)) == ocr
    assert (stored_ocr(None), ocr_of("")) == ("", None)
    assert ocr_of('{"engine": "rapidocr", "of_later": []}') == OcrReading("rapidocr")


@pytest.mark.parametrize(
    "raw", ["{", "[]", "{}", '{"engine": "<b>"}', '{"engine": "x", "tries": -1}', '{"engine": []}']
)
def test_what_cannot_be_is_damage(raw: str) -> None:
    with pytest.raises(DamagedError):
        ocr_of(raw)
