"""Pages through OCR: in order whatever takes long, as they were where it fails, and what failed is told."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import replace
from typing import Any

import pytest

from conftest import require
from docmind.blocks import PageBlock, pack, unpack
from docmind.config import ReadingSettings
from docmind.documents.words import Words
from docmind.errors import CancelledError, ReaderFailedError
from docmind.observability import Event, OcrFailed, OcrLowConfidence, OcrRead, OcrRetried, add_sink, remove_sink
from docmind.reading.ocr.document_pass import OcrPass
from docmind.reading.ocr.engine import AS_SET, Ocr, OcrPage
from docmind.reading.reader import Reader
from docmind.records.documents import OcrChoice, OcrReading, ParsedPage, Upload
from each import each_of
from papers import line, print_of, scan


class Engine:
    """Reads the number that stands in the image; slow for odd ones, broken for 13, and unsure of 7."""

    mode, min_confidence = "auto", 0.5

    def __init__(self) -> None:
        self.threads: set[str] = set()

    def recognise(self, image: bytes, language: str = "", choice: OcrChoice = AS_SET, **more: object) -> OcrPage:
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

    def recognise(self, image: bytes, language: str = "", choice: OcrChoice = AS_SET, **more: object) -> OcrPage:
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


def test_a_stop_is_heard_while_the_engine_works() -> None:
    def stop() -> None:
        raise CancelledError("Stopped.")

    with pytest.raises(CancelledError), OcrPass(Engine(), 1, stop, doc_id="d") as ocr:  # type: ignore[arg-type]
        list(ocr.through([page(1), page(3)]))


@pytest.mark.slow
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
