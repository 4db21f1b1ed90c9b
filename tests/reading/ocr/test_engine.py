"""Text from pictures, through the real engines where they are installed.

Pages through OCR: in order whatever takes long, as they were where it fails, and what failed is told.

Words on a picture: read whatever the picture is, and the telling ones picked.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image

import papers
from conftest import require
from docmind.blocks import PageBlock, pack, unpack
from docmind.config import ReadingSettings
from docmind.documents.words import Words
from docmind.errors import CancelledError, ReaderFailedError, VaultError
from docmind.observability import Event, OcrFailed, OcrLowConfidence, OcrRead, OcrRetried, add_sink, remove_sink
from docmind.reading.ocr.engine import AS_SET, Ocr, OcrPage, OcrPass, PictureText, telling, turn_of
from docmind.reading.ocr.rapidocr import spaced
from docmind.reading.reader import Reader
from docmind.records.documents import OcrChoice, OcrReading, ParsedPage, Upload
from each import each_of
from papers import line, print_of, scan
from sheets import jpeg, png


class Engine:
    """Reads the number that stands in the image; slow for odd ones, broken for 13, and unsure of 7."""

    mode, min_confidence = "auto", 0.5

    def __init__(self) -> None:
        self.threads: set[str] = set()

    def recognise(self, image: bytes, language: str = "", choice: OcrChoice = AS_SET) -> OcrPage:
        self.threads.add(threading.current_thread().name)
        number = int(image)
        time.sleep(0.05 if number % 2 else 0.0)
        if number == 13:
            raise ReaderFailedError("The engine gave up.")
        confidence, tries = (0.4, 2) if number == 7 else (0.9, 1)
        return OcrPage(f"read {number}" if number else "", b"", confidence, OcrReading("rapidocr", tries=tries))


def page(number: int, *, needs_ocr: bool = True, text: str = "") -> ParsedPage:
    return ParsedPage(
        page_no=number,
        width=10,
        height=10,
        text=text,
        words=b"",
        image=str(number).encode(),
        thumbnail=b"",
        text_source="none",
        confidence=0.0,
        needs_ocr=needs_ocr,
    )


def through(pages: list[ParsedPage], engine: Engine | None = None) -> tuple[list[ParsedPage], str]:
    with OcrPass(engine or Engine(), 2, lambda: None, doc_id="d") as ocr:  # type: ignore[arg-type]
        return list(ocr.through(pages)), ocr.told()


def test_pages_stay_in_order_and_layers_are_left_alone() -> None:
    pages = [page(number, needs_ocr=number % 3 != 0, text=f"layer {number}") for number in range(1, 12)]
    done, told = through(pages)
    assert [one.page_no for one in done] == list(range(1, 12))
    assert [one.text for one in done] == [
        f"read {number}" if number % 3 else f"layer {number}" for number in range(1, 12)
    ]
    assert {one.text_source for one in done if one.page_no % 3} == {"ocr"}
    assert told == ""


def test_two_read_at_a_time() -> None:
    engine = Engine()
    through([page(number) for number in range(1, 12, 2)], engine)
    assert len(engine.threads) == 2


def test_what_failed_stays_as_it_was_and_is_told() -> None:
    done, told = through([page(13, text="poor"), page(2)])
    assert [one.text for one in done] == ["poor", "read 2"]
    assert told == "1 page is a picture whose text was not read: The engine gave up."


def test_events_tell_what_was_read_twice_and_what_failed() -> None:
    events: list[Event] = []
    add_sink(events.append)
    try:
        through([page(7), page(13), page(0), page(2)])
    finally:
        remove_sink(events.append)
    assert events == [
        OcrRetried("d::page::7", 2),
        OcrRead("d::page::7", 0.4),
        OcrLowConfidence("d::page::7", 0.4, 0.5),
        OcrFailed("d::page::13"),
        OcrRead("d::page::2", 0.9),
    ]


def test_a_poor_layer_is_better_than_nothing_read() -> None:
    [done], _ = through([page(0, text="A header line")])
    assert (done.text, done.text_source) == ("A header line", "none")


def test_comments_of_the_file_stay_behind_what_was_read() -> None:
    layer = "poor\nComment: ask Ines"
    words = Words.of([(0, 4), (5, 13), (14, 17), (18, 22)], [(0, 0, 1, 1)] + [(5, 5, 2, 2)] * 3)
    blocks = pack([PageBlock("row", 0, 4), PageBlock("comment", 5, 22)])
    [done], _ = through([replace(page(2, text=layer), words=words.pack(), blocks=blocks)])
    assert done.text == "read 2\nComment: ask Ines"
    assert [(one.kind, done.text[one.start : one.end]) for one in unpack(done.blocks, len(done.text))] == [
        ("comment", "Comment: ask Ines")
    ]
    assert [list(box) for box in Words.unpack(done.words).boxes_of(7, 24)] == [[5, 5, 2, 2]] * 3


class Sight:
    """Sees the given text on every picture, and counts whole pages."""

    engine, mode, min_confidence = "rapidocr", "auto", 0.5

    def __init__(self, text: str) -> None:
        self.text, self.pages = text, 0

    def recognise_strips(self, image: bytes, strips: Any) -> OcrPage:
        assert all(wide > 0 and high > 0 for *_, wide, high in strips)
        return OcrPage(self.text, b"", 0.95, OcrReading("rapidocr"))

    def recognise(self, image: bytes, language: str = "", choice: OcrChoice = AS_SET) -> OcrPage:
        self.pages += 1
        return OcrPage(self.text, b"", 0.95, OcrReading("rapidocr"))


def layered(text: str) -> ParsedPage:
    """Return a page with a text layer, each word 20 pixels wide, that is to be compared with its picture."""
    spans, boxes = [], []
    for found in re.finditer(r"\S+", text):
        row = text.count("\n", 0, found.start())
        spans.append(found.span())
        boxes.append((20 * (found.start() % 40), 100 * row, 19, 10))
    suspect = replace(page(2, needs_ocr=False, text=text), words=Words.of(spans, boxes).pack())
    return replace(suspect, is_layer_suspect=True, text_source="layer")


ON_PICTURE = "The weir was built in 1894\nIts gates are raised by hand by two men of the village"


@each_of(
    "layer, wanted, pages",
    [
        (ON_PICTURE, "layer", 0),
        ("The vveir was bui1t in 1894\nIts gates are raised by hand by two men of the village", "layer", 0),
        ("uce leuv u!! bl1el ic rne\nb! ,h' rue~ler; ~sp:e|v1 ewo nam so vha yillege", "ocr", 1),
        ("There being no other matter the meeting\nThose present thanked the chair for the work", "ocr", 1),
        ("Плотина построена братьями\nЕё ворота поднимают вручную двое", "layer", 0),
    ],
)
def test_a_layer_is_believed_where_it_agrees_with_the_picture(layer: str, wanted: str, pages: int) -> None:
    sight = Sight(ON_PICTURE)
    with OcrPass(sight, 1, lambda: None, doc_id="d") as ocr:  # type: ignore[arg-type]
        [done] = list(ocr.through([layered(layer)]))
    assert (done.text_source, done.text, sight.pages) == (wanted, ON_PICTURE if wanted == "ocr" else layer, pages)


def test_a_layer_is_better_than_little_that_was_read_from_its_picture() -> None:
    with OcrPass(Sight("mmmm"), 1, lambda: None, doc_id="d") as ocr:  # type: ignore[arg-type]
        [done] = list(ocr.through([layered(ON_PICTURE)]))
    assert done.text == ON_PICTURE


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


def test_a_stop_is_heard_while_the_engine_works() -> None:
    def stop() -> None:
        raise CancelledError("Stopped.")

    with pytest.raises(CancelledError), OcrPass(Engine(), 1, stop, doc_id="d") as ocr:  # type: ignore[arg-type]
        list(ocr.through([page(1), page(3)]))


@pytest.mark.parametrize(
    ("layer", "is_over", "wanted"),
    [
        ("3 Tr", True, "ocr"),  # invisible
        ("", False, "ocr"),  # under the picture
        ("", True, "layer"),  # seen on its background
    ],
)
def test_a_layer_of_another_document(layer: str, is_over: bool, wanted: str) -> None:
    image = print_of(["Boats longer than twelve", "metres pay a berth fee", "of 48 crowns"], (900, 1_160))
    rows = ["The minutes of the meeting were read", "Those present thanked the chair", "The meeting was then closed"]
    rows += ["and the members of the board went home"] * 6
    said = " ".join(line(row, y=740 - 40 * number, size=30) for number, row in enumerate(rows))
    settings = ReadingSettings(workers=1)
    ocr = Ocr(settings)
    require(bool(ocr.engine), "no OCR engine")
    data = scan(image, f"q {layer} {said} Q", is_over=is_over)
    with (
        Reader(settings) as reader,
        reader.read(Upload("a.pdf", data)) as reading,
        OcrPass(ocr, 1, lambda: None, doc_id="d") as reads,
    ):
        [done] = list(reads.through(reading))
    ocr.close()
    assert done.text_source == wanted
    assert ("48 crowns" in done.text) == (wanted == "ocr")


LINES = ["Internal rules of the harbour office", "Boats longer than twelve metres pay", "a berth fee of 48 crowns"]


@pytest.fixture(scope="module")
def reader() -> Iterator[PictureText]:
    reader = PictureText(ReadingSettings(workers=1))
    yield reader
    reader.close()


@pytest.mark.slow
def test_a_picture_is_read_as_it_lies_on_its_page(reader: PictureText) -> None:
    exif = print_of(LINES).getexif()
    exif[0x0112] = 3  # stored upside down, with the note that turns it upright
    assert "twelve metres" in reader.read(jpeg(print_of(LINES).rotate(180), exif=exif.tobytes()))
    crooked = print_of(LINES).rotate(30, expand=True, fillcolor="white")  # counter-clockwise
    assert "twelve metres" in reader.read(png(crooked), turn=30.0)


def test_what_is_no_picture_ends_one_reading_and_not_the_next(reader: PictureText) -> None:
    for data in (b"only words", b"%PDF-1.7\n", png(print_of(LINES))[:200], b""):
        with pytest.raises(ReaderFailedError):
            reader.read(data)
    assert "harbour" in reader.read(png(print_of(LINES)))


def test_nothing_is_read_once_it_is_closed() -> None:
    closed = PictureText(ReadingSettings(workers=1))
    closed.close()
    closed.close()
    with pytest.raises(VaultError, match="closed"):
        closed.read(png(print_of(LINES)))


def test_without_an_engine_it_says_why() -> None:
    off = PictureText(ReadingSettings(ocr="off"))
    assert "switched off" in off.missing
    with pytest.raises(ReaderFailedError):
        off.read(png(print_of(LINES)))
    off.close()


@pytest.mark.parametrize(
    ("quad", "turn"),
    [
        (((0, 0), (10, 0), (10, 20), (0, 20)), 0.0),
        (((0, 0), (100, 5), (95, 205), (-5, 200)), 0.0),  # three degrees: read as it is
        (((10, 0), (10, 20), (0, 20), (0, 0)), 90.0),  # its top edge runs down the page: turn it clockwise
        (((10, 20), (0, 20), (0, 0), (10, 0)), 180.0),
        (((0, 20), (0, 0), (10, 0), (10, 20)), -90.0),
        ((), 0.0),
    ],
)
def test_how_a_picture_lies_on_the_page_says_how_to_turn_it(quad: tuple[tuple[float, float], ...], turn: float) -> None:
    assert turn_of(quad) == turn


def test_a_short_text_is_searched_for_as_it_is() -> None:
    assert telling("  a fee \n of 48 crowns ", 6) == "a fee of 48 crowns"
    assert telling("", 6) == ""


def test_rare_words_of_a_long_text_are_taken_once_in_order() -> None:
    text = "the fee of the harbour is the fee in RFC-2119 and by the harbourmaster of the town"
    assert telling(text, 4) == "harbour RFC-2119 harbourmaster town"


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
