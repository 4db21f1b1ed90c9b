"""Text from page images, in worker processes that keep their models loaded.

Two engines. RapidOCR comes with DocMind and reads accents, § and bullets right (0.3% of the characters wrong on a scan
of Portuguese law, 2 s a page on one core). Tesseract is used where the settings name it: three times as fast.
"""

from __future__ import annotations

import importlib.util
import shutil
import threading
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from docmind.config import ReadingSettings
from docmind.errors import DamagedError, ReaderFailedError, WorkerFailedError
from docmind.schema import Capability
from docmind.words import Words
from docmind.worker import Limits, Worker

_ENTRY = "docmind.readers.ocr_serve:serve"
_PICTURE_SIDE = 1_600  # pixels, as a page image has: more says nothing more, and takes longer
_MODELS = ("PP-OCRv6_det_small.onnx", "PP-OCRv6_rec_small.onnx")


@dataclass(frozen=True, slots=True)
class OcrPage:
    """What was read on one image: text in reading order, packed words with boxes in its pixels, mean confidence."""

    text: str
    words: bytes = field(repr=False)
    confidence: float


class Ocr:
    """Reads page images. Threads may share one: each call takes an idle process or waits for one.

    There are as many processes as reading workers, each with one thread; they start with the first image. `close`
    ends them, also from another thread, and the next call starts them again.
    """

    def __init__(self, settings: ReadingSettings) -> None:
        self._settings = settings
        self._limits = Limits(memory_mb=settings.memory_mb, file_mb=0)
        self._free = threading.Semaphore(settings.workers)
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()

    @cached_property
    def engine(self) -> str:
        """The engine in use: "rapidocr", "tesseract", or "" where the wanted one is not there."""
        wanted = self._settings.ocr
        if wanted in ("auto", "rapidocr") and _has_rapidocr():
            return "rapidocr"
        if wanted in ("auto", "tesseract") and _has_tesseract():
            return "tesseract"
        return ""

    def recognise(self, image: bytes, language: str = "") -> OcrPage:
        """Read one encoded image; `language` is an ISO 639-1 code where it is known.

        Raises `ReaderFailedError` where no engine is there or the engine failed: the page stays without text.
        """
        return self._read(image, {"language": language})

    def recognise_picture(self, picture: bytes, turn: float = 0.0) -> OcrPage:
        """Read a picture of any kind, from anywhere, turned clockwise by `turn` degrees: it is decoded in the process.

        Boxes are pixels of the picture as it was read. Raises `ReaderFailedError`, also where it is no picture.
        """
        rules = {"max_page_megapixels": self._settings.max_page_megapixels, "image_side_px": _PICTURE_SIDE}
        return self._read(picture, {"language": "", "picture": rules, "turn": turn})

    def _read(self, image: bytes, header: dict[str, Any]) -> OcrPage:
        if not self.engine:
            raise ReaderFailedError(
                "There is no engine that reads text from pictures.", hint=self.capabilities()[0].hint
            )
        header = {"engine": self.engine, "languages": self._settings.ocr_languages, **header}
        with self._free:
            worker = self._take()
            try:
                answer, blobs = worker.call(header, [image], timeout_s=self._settings.timeout_s)
            except WorkerFailedError as error:
                worker.kill()
                raise ReaderFailedError(f"Reading a picture broke off: {error}.") from error
            finally:
                self._give_back(worker)
        if "error" in answer:
            raise ReaderFailedError(f"A picture could not be read: {answer['error']}.")
        try:
            text, words = blobs
            Words.unpack(words)
            return OcrPage(text.decode(), words, float(answer["confidence"]))
        except (KeyError, TypeError, ValueError, DamagedError) as error:  # the picture may have taken the process over
            raise ReaderFailedError("Reading a picture gave no text that can be read.") from error

    def capabilities(self) -> tuple[Capability, ...]:
        """Which engines are there, without loading one."""
        settings = self._settings.ocr
        if settings == "off":
            return (Capability("ocr", "off", "scans stay without text", "Set DOCMIND_READING__OCR=auto."),)
        rapid, tesseract = _has_rapidocr(), _has_tesseract()
        return (
            Capability(
                "ocr",
                "present" if self.engine else "missing",
                f"text from scans and pictures, by {self.engine}" if self.engine else "scans stay without text",
                "" if self.engine else "Run `pip install rapidocr`, or install Tesseract.",
            ),
            Capability(
                "rapidocr",
                "present" if rapid else "missing",
                "PP-OCR models, in the package itself",
                "" if rapid else "Run `pip install rapidocr`.",
            ),
            Capability(
                "tesseract",
                "present" if tesseract else "missing",
                "faster, less exact with signs; used with DOCMIND_READING__OCR=tesseract",
                "" if tesseract else "Install Tesseract with its languages, for example tesseract-ocr-por.",
            ),
        )

    def close(self) -> None:
        """End the processes; a picture that is being read is given up."""
        with self._lock:
            workers, self._idle = [*self._idle, *self._busy], []
        for worker in workers:
            worker.kill()

    def _take(self) -> Worker:
        with self._lock:
            worker = self._idle.pop() if self._idle else None
            if worker is None or not worker.is_alive:
                worker = Worker(_ENTRY, self._limits)
            self._busy.add(worker)
            return worker

    def _give_back(self, worker: Worker) -> None:
        with self._lock:
            self._busy.discard(worker)
            if worker.is_alive:
                self._idle.append(worker)


def _has_rapidocr() -> bool:
    """The package with its models beside it: without them it would want to fetch them, which nobody allowed."""
    found = importlib.util.find_spec("rapidocr")
    if found is None or found.origin is None or importlib.util.find_spec("onnxruntime") is None:
        return False
    return all((Path(found.origin).parent / "models" / name).exists() for name in _MODELS)


def _has_tesseract() -> bool:
    return shutil.which("tesseract") is not None
