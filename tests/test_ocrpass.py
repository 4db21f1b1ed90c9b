"""Pages through OCR: in order whatever takes long, as they were where it fails, and what failed is told."""

from __future__ import annotations

import threading
import time

import pytest

from docmind.errors import CancelledError, ReaderFailedError
from docmind.ocr import OcrPage
from docmind.ocrpass import OcrPass
from docmind.schema import ParsedPage


class Engine:
    """Reads the number that stands in the image; slow for odd ones, broken for 13."""

    def __init__(self) -> None:
        self.threads: set[str] = set()

    def recognise(self, image: bytes, language: str = "") -> OcrPage:
        self.threads.add(threading.current_thread().name)
        number = int(image)
        time.sleep(0.05 if number % 2 else 0.0)
        if number == 13:
            raise ReaderFailedError("The engine gave up.")
        return OcrPage(f"read {number}" if number else "", b"", 0.9)


def page(number: int, *, needs_ocr: bool = True, text: str = "") -> ParsedPage:
    return ParsedPage(number, 10, 10, text, b"", str(number).encode(), b"", "none", 0.0, needs_ocr)


def through(pages: list[ParsedPage], engine: Engine | None = None) -> tuple[list[ParsedPage], str]:
    with OcrPass(engine or Engine(), 2, lambda: None) as ocr:  # type: ignore[arg-type]
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
    assert told == "One page is a picture whose text was not read: The engine gave up."


def test_a_poor_layer_is_better_than_nothing_read() -> None:
    [done], _ = through([page(0, text="A header line")])
    assert (done.text, done.text_source) == ("A header line", "none")


def test_a_stop_is_heard_while_the_engine_works() -> None:
    def stop() -> None:
        raise CancelledError("Stopped.")

    with pytest.raises(CancelledError), OcrPass(Engine(), 1, stop) as ocr:  # type: ignore[arg-type]
        list(ocr.through([page(1), page(3)]))
