"""Text from pictures, through the real engines where they are installed."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from PIL import Image

import papers
from conftest import require
from docmind.config import ReadingSettings
from docmind.documents.words import Words
from docmind.errors import ReaderFailedError
from docmind.reading.ocr.engine import Ocr, OcrPage
from docmind.reading.ocr.rapidocr import spaced
from docmind.reading.reader import Reader
from docmind.records.documents import Upload
from each import each_of

LINES_OF_A_SCAN = ("Regimento Interno da Assembleia", "É dever do cidadão: atenção à lei.", "§ 4º – Sessão de 1999")


@pytest.fixture(scope="module", params=["rapidocr", "tesseract"])
def ocr(request: pytest.FixtureRequest):
    ocr = Ocr(ReadingSettings(ocr=request.param))
    require(ocr.engine, f"{request.param} is not installed")
    yield ocr
    ocr.close()


def words_of(page: OcrPage) -> dict[str, list[float]]:
    words = Words.unpack(page.words)
    return {page.text[s:e]: box for s, e, box in zip(words.starts, words.ends, words.boxes.tolist(), strict=True)}


@pytest.mark.slow
def test_print_is_read(ocr: Ocr) -> None:
    check_print(ocr, 0)


@pytest.mark.slow
@pytest.mark.parametrize("turn", [90, 270])
def test_print_is_read_whichever_way_it_lies(turn: int) -> None:
    """By RapidOCR: Tesseract tells the turn of a page only from much text."""
    ocr = Ocr(ReadingSettings(ocr="rapidocr"))
    try:
        check_print(ocr, turn)
    finally:
        ocr.close()


def check_print(ocr: Ocr, turn: int) -> None:
    image = papers.print_of(LINES_OF_A_SCAN).rotate(turn, expand=True)
    page = ocr.recognise(papers.webp(image), "pt")
    assert "atenção" in page.text
    assert page.text.split()[:2] == ["Regimento", "Interno"]
    assert page.confidence > 0.8
    x, y, w, h = words_of(page)["Assembleia"]
    assert (w > h) == (turn == 0)
    ink = image.convert("L").point(lambda value: 255 if value < 128 else 0).crop((x, y, x + w, y + h))  # type: ignore[arg-type]
    assert ink.getbbox()


@pytest.mark.slow
def test_a_blank_picture_has_no_text(ocr: Ocr) -> None:
    page = ocr.recognise(papers.webp(Image.new("RGB", (300, 300), "white")))
    assert (page.text, len(Words.unpack(page.words)), page.confidence) == ("", 0, 0.0)


@pytest.mark.slow
def test_what_is_no_picture_fails_and_the_next_one_is_read(ocr: Ocr) -> None:
    with pytest.raises(ReaderFailedError, match="could not be read"):
        ocr.recognise(b"not a picture")
    assert "Interno" in ocr.recognise(papers.webp(papers.print_of(LINES_OF_A_SCAN))).text


@pytest.mark.slow
def test_threads_share_the_processes(ocr: Ocr) -> None:
    picture = papers.webp(papers.print_of(["one line of words"]))
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda _: ocr.recognise(picture).text, range(6)))
    assert set(texts) == {"one line of words"}
    assert 1 <= sum(client.pid is not None for client in ocr._clients) <= 2


@pytest.mark.slow
def test_closing_aborts_reading_and_the_next_call_starts_again(ocr: Ocr) -> None:
    ocr.close()
    threading.Timer(0.3, ocr.close).start()
    big = papers.webp(papers.print_of(["words and words and words"] * 20, (1_200, 1_600)))
    with pytest.raises(ReaderFailedError, match="broke off"):  # noqa: PT012 - closed at an unknown moment
        while True:
            ocr.recognise(big)
    assert "Interno" in ocr.recognise(papers.webp(papers.print_of(LINES_OF_A_SCAN))).text


def test_switched_off_it_says_so_and_loads_nothing() -> None:
    ocr = Ocr(ReadingSettings(ocr="off"))
    assert [(part.name, part.state) for part in ocr.capabilities()] == [("ocr", "off")]
    with pytest.raises(ReaderFailedError, match="No OCR engine") as caught:
        ocr.recognise(b"")
    assert "DOCMIND_READING__OCR" in caught.value.hint


def test_capabilities_are_told_without_starting_a_process() -> None:
    ocr = Ocr(ReadingSettings())
    assert [part.name for part in ocr.capabilities()] == ["ocr", "rapidocr", "tesseract"]
    assert all(part.detail for part in ocr.capabilities())
    assert not any(client.pid for client in ocr._clients)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "probes"),
    [
        ("rotated_skew.pdf", ("LinnSequencer", "32 Track MIDI")),
        ("phototest.tif", ("lazy fox", "12 point text")),
        ("bad_font_nomapping.pdf", ("Phone",)),
        ("hugemono_jbig2.pdf", ("very big image",)),
    ],
)
def test_the_odd_scans(name: str, probes: tuple[str, ...]) -> None:
    data = papers.devset(f"bad/{name}")
    with Reader(ReadingSettings()) as reader, reader.read(Upload(name, data)) as reading:
        (page,) = reading
    assert page.needs_ocr
    ocr = Ocr(ReadingSettings())
    try:
        text = ocr.recognise(page.image).text
    finally:
        ocr.close()
    assert all(probe in text for probe in probes)


@pytest.mark.slow
def test_a_scan_of_portuguese_law_is_read_with_few_errors() -> None:
    truth: list[dict[str, Any]] = papers.scan_truth()[:2]
    require(truth, "no measuring set beside the repository")
    name = truth[0]["doc"]
    ocr = Ocr(ReadingSettings())
    try:
        with Reader(ReadingSettings()) as reader, reader.read(Upload(name, papers.devset(name))) as reading:
            pages = dict(zip(range(1, 3), reading, strict=False))
        for row in truth:
            wanted = set(row["text"].split())
            got = set(ocr.recognise(pages[row["page"]].image, "pt").text.split())
            assert len(wanted & got) / len(wanted) > 0.93
    finally:
        ocr.close()


@pytest.mark.slow
@pytest.mark.parametrize("how", [b"blobs", b"words", b"letters", b"confidence", b"nothing"])
def test_an_ocr_process_that_lies_is_one_sentence(how: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    require(Ocr(ReadingSettings()).engine, "no engine is installed")
    monkeypatch.setattr("docmind.reading.ocr.engine._ENTRY", "children:lie_about_a_picture")
    ocr = Ocr(ReadingSettings())
    try:
        with pytest.raises(ReaderFailedError, match="can be read"):
            ocr.recognise(how)
    finally:
        ocr.close()


@each_of(
    "seen, text",
    [
        ("It now stands14metres further", "It now stands 14 metres further"),
        ("14metres.", "14 metres."),
        ("a1b2 sha256sum 4th abc123 x86 B12abcd", "a1b2 sha256sum 4th abc123 x86 B12abcd"),
    ],
)
def test_numbers_between_words(seen: str, text: str) -> None:
    assert spaced(seen) == text
