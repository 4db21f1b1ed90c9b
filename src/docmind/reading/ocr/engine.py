"""OCR of page images in worker processes that keep their models loaded.

Two engines. RapidOCR comes with DocMind and reads accents, § and bullets right (0.3% of the characters wrong on a scan
of Portuguese law, 2 s a page on one core). Tesseract is used where the settings name it: three times as fast.

`OcrPass` reads a document's pages in order, a few at a time; `PictureText` reads a query picture and keeps its most
distinctive words.
"""

from __future__ import annotations

import importlib.util
import math
import queue
import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

import numpy as np

from docmind.blocks import pack, unpack
from docmind.config import ReadingSettings
from docmind.documents import Words, language_of, with_ordinals
from docmind.errors import ConfigError, DamagedError, ReaderFailedError, ReadingError, VaultError, WorkerFailedError
from docmind.observability import OcrFailed, OcrLowConfidence, OcrRead, OcrRetried, emit
from docmind.reading.ocr.doubt import AGREEING, Probe, Strip, agreement, is_better, probe_of
from docmind.reading.ocr.pictures import Pictures, read_all, with_pictures
from docmind.reading.ocr.tesseract import languages, version_of_tesseract
from docmind.reading.sheets import is_sheet
from docmind.records.documents import (
    Capability,
    OcrChoice,
    OcrEngine,
    OcrMode,
    OcrReading,
    PageFigure,
    ParsedPage,
    page_id_of,
)
from docmind.records.search import Quad
from docmind.runtime import Client, Limits
from docmind.wording import _, ngettext

_ENTRY = "docmind.reading.ocr.process:serve"
_PICTURE_SIDE = 1_600  # pixels, as a page image has: more says nothing more, and takes longer
AS_SET = OcrChoice()
"""The engine, the languages and the mode of the settings."""
ENGINE_NAMES: dict[OcrEngine, str] = {"rapidocr": "RapidOCR", "tesseract": "Tesseract"}
_MOST_TRIES, _TURNS = 2, (0, 90, 180, 270)
_MODELS = ("PP-OCRv6_det_small.onnx", "PP-OCRv6_rec_small.onnx")


@dataclass(frozen=True, slots=True)
class OcrPage:
    """What was read on one image: text in reading order, packed words with boxes in its pixels, mean confidence.

    `how` tells by which engine; its `dpi` is 0, for the image does not say it. `size` is the image's width and height.
    """

    text: str
    words: bytes = field(repr=False)
    confidence: float
    how: OcrReading
    size: tuple[int, int] = (0, 0)


class Ocr:
    """OCR of page images. Thread-safe: each call takes an idle process or waits for one.

    There are as many processes as reading workers, each with one thread; they start with the first image, and end after
    `idle_s` seconds without one. `close` ends them, also from another thread, and the next call starts them again.
    """

    def __init__(self, settings: ReadingSettings, *, idle_s: float = 0.0) -> None:
        self._settings = settings
        limits = Limits(memory_mb=settings.memory_mb, file_mb=0)
        self._clients = [Client(_ENTRY, limits, idle_s=idle_s) for _ in range(settings.workers)]
        self._free: queue.LifoQueue[Client] = queue.LifoQueue()  # the last one used has its models loaded
        for client in self._clients:
            self._free.put(client)

    @cached_property
    def engine(self) -> str:
        """Return the engine in use: "rapidocr", "tesseract", or "" where the wanted one is missing."""
        wanted = self._settings.ocr
        installed = engines()
        return next((name for name in installed if wanted in ("auto", name)), "")

    @property
    def mode(self) -> OcrMode:
        """Return which pages are read."""
        return self._settings.ocr_mode

    @property
    def min_confidence(self) -> float:
        """Return the confidence, 0..1, below which a line is not quoted."""
        return self._settings.ocr_min_confidence

    def check(self, choice: OcrChoice) -> None:
        """Raise `ConfigError` where the engine or a language of a choice is not installed."""
        if choice.engine and choice.engine not in engines():
            raise ConfigError(
                _("{engine} isn't installed.").format(engine=ENGINE_NAMES[choice.engine]), hint=_hint_of(choice.engine)
            )
        missing = [code for code in choice.languages.split("+") if code and code not in languages()]
        if missing and (choice.engine or self.engine) == "tesseract":
            raise ConfigError(
                _("Tesseract has no language {codes}.").format(codes=", ".join(missing)),
                hint=_("Install it, for example tesseract-ocr-{code}.").format(code=missing[0].replace("_", "-")),
            )

    def recognise(self, image: bytes, language: str = "", choice: OcrChoice = AS_SET) -> OcrPage:
        """Read one encoded page image; `language` is an ISO 639-1 code where it is known.

        A page that the engine is unsure of is read a second time, and the better reading kept
        (`docmind.reading.ocr.second_look`).

        Raises `ReaderFailedError` where there is no engine or the engine failed: the page stays without text.
        """
        return self._read(image, {"language": language, "tries": self._settings.ocr_tries}, choice)

    def recognise_strips(self, image: bytes, strips: Sequence[Strip]) -> OcrPage:
        """Read parts of one encoded page image, x, y, w, h in its pixels; the boxes of the words mean nothing."""
        return self._read(image, {"language": "", "strips": [list(strip) for strip in strips]})

    def recognise_picture(self, picture: bytes, turn: float = 0.0) -> OcrPage:
        """Read an untrusted picture of any kind, turned clockwise by `turn` degrees.

        The process decodes it.

        Boxes are pixels of the turned picture. Raises `ReaderFailedError`, also where it is no picture.
        """
        rules = {"max_page_megapixels": self._settings.max_page_megapixels, "image_side_px": _PICTURE_SIDE}
        return self._read(picture, {"language": "", "picture": rules, "turn": turn})

    def _read(self, image: bytes, header: dict[str, Any], choice: OcrChoice = AS_SET) -> OcrPage:
        engine = choice.engine or self.engine
        if not engine:
            raise ReaderFailedError(_("No OCR engine is installed."), hint=self.capabilities()[0].hint)
        wanted = choice.languages or self._settings.ocr_languages
        header = {"engine": engine, "languages": wanted, "tries": 0, "doubt": self._settings.ocr_doubt, **header}
        client = self._free.get()
        try:
            answer, blobs = client.call(header, [image], timeout_s=self._settings.timeout_s, is_repeatable=True)
        except WorkerFailedError as error:
            raise ReaderFailedError(_("Reading a picture broke off: {error}.").format(error=error)) from error
        finally:
            self._free.put(client)
        if "error" in answer:
            raise ReaderFailedError(
                _("A picture could not be read: {error}: {name}.").format(
                    error=answer["error"], name=answer.get("message")
                )
            )
        try:
            text, words = blobs
            Words.unpack(words)
            return OcrPage(text.decode(), words, float(answer["confidence"]), _how(answer, wanted), _size_in(answer))
        except (KeyError, TypeError, ValueError, DamagedError) as error:  # the picture may have taken the process over
            raise ReaderFailedError(_("Reading a picture gave no text that can be read.")) from error

    def capabilities(self) -> tuple[Capability, ...]:
        """Return which engines are installed, without loading one."""
        settings = self._settings.ocr
        if settings == "off" or self._settings.ocr_mode == "never":
            hint = (
                _("Set DOCMIND_READING__OCR=auto.") if settings == "off" else _("Set DOCMIND_READING__OCR_MODE=auto.")
            )
            return (Capability("ocr", "off", _("scans stay without text"), hint),)
        rapid, tesseract = (name in engines() for name in ("rapidocr", "tesseract"))
        return (
            Capability(
                "ocr",
                "present" if self.engine else "missing",
                _("text from scans and pictures, by {engine}").format(engine=self.engine)
                if self.engine
                else _("scans stay without text"),
                "" if self.engine else _("Run `pip install rapidocr`, or install Tesseract."),
            ),
            Capability(
                "rapidocr",
                "present" if rapid else "missing",
                _("PP-OCR models, in the package itself"),
                "" if rapid else _hint_of("rapidocr"),
            ),
            Capability(
                "tesseract",
                "present" if tesseract else "missing",
                _("faster, less exact with signs; used with DOCMIND_READING__OCR=tesseract"),
                "" if tesseract else _hint_of("tesseract"),
            ),
        )

    def close(self) -> None:
        """End the processes; reading of a current picture is aborted."""
        for client in self._clients:
            client.end()


def engines() -> tuple[OcrEngine, ...]:
    """Return the installed engines, the one that reads best first."""
    found: list[OcrEngine] = []
    if _has_rapidocr():
        found.append("rapidocr")
    if _has_tesseract():
        found.append("tesseract")
    return tuple(found)


def _hint_of(engine: OcrEngine) -> str:
    if engine == "rapidocr":
        return _("Run `pip install rapidocr`.")
    return _(
        "Run `apt install tesseract-ocr tesseract-ocr-por` with your languages, or on macOS "
        "`brew install tesseract tesseract-lang`."
    )


def _size_in(answer: dict[str, Any]) -> tuple[int, int]:
    """Return the size of an image, as its process says. Raises `KeyError`, `TypeError`, `ValueError`."""
    width, height = answer["size"]
    if not (type(width) is int and type(height) is int and min(width, height) > 0):
        raise ValueError("not a size")
    return width, height


def _how(answer: dict[str, Any], wanted: str) -> OcrReading:
    """Return how a page was read, as its process says. Raises `KeyError`, `TypeError`, `ValueError`."""
    engine, tries, turn, doubt = (answer[name] for name in ("engine", "tries", "turn", "doubt"))
    if engine not in ENGINE_NAMES or type(tries) is not int or not 1 <= tries <= _MOST_TRIES or turn not in _TURNS:
        raise ValueError("not a way to read a page")
    if not 0 <= float(doubt) <= 1:
        raise ValueError("not a share")
    used = wanted if engine == "tesseract" else ""
    return OcrReading(engine, engine_version(engine), used, tries, turn, doubt=round(float(doubt), 3))


@cache
def engine_version(engine: OcrEngine) -> str:
    """Return the version of an installed engine; "" where it does not tell."""
    if engine == "tesseract":
        return version_of_tesseract()
    try:
        return version(engine)
    except PackageNotFoundError:
        return ""


def _has_rapidocr() -> bool:
    """Return whether the package is installed with its models: without them it would try to download them."""
    found = importlib.util.find_spec("rapidocr")
    if found is None or found.origin is None or importlib.util.find_spec("onnxruntime") is None:
        return False
    return all((Path(found.origin).parent / "models" / name).exists() for name in _MODELS)


def _has_tesseract() -> bool:
    return shutil.which("tesseract") is not None


_Waiting = tuple[ParsedPage, Future[OcrPage | ParsedPage | None] | None]


def ocr_text(ocr: OcrReading, confidence: float) -> str:
    """Tell a person how OCR read a page: by what, in how many tries, how sure in the mean, at which resolution."""
    engine = " ".join(filter(None, (ENGINE_NAMES.get(cast("OcrEngine", ocr.engine), ocr.engine), ocr.version)))
    told = ngettext(
        "Read by {engine}, {percent} % confidence", "Read by {engine} in {n} tries, {percent} % confidence", ocr.tries
    )
    told = told.format(
        engine=f"{engine} ({ocr.languages})" if ocr.languages else engine, n=ocr.tries, percent=round(100 * confidence)
    )
    return f"{told}, {ocr.dpi} dpi" if ocr.dpi else told


class OcrPass:
    """The OCR pass of one document.

    Use it from one thread, as a context manager; `unread` counts pages by error.
    """

    def __init__(
        self, ocr: Ocr, workers: int, waiting: Callable[[], None], choice: OcrChoice = AS_SET, *, doc_id: str
    ) -> None:
        """Start the threads; `waiting` is called periodically during OCR, and what it raises ends the pass."""
        self._ocr, self._ahead, self._waiting, self._choice = ocr, 2 * workers, waiting, choice
        self._doc_id = doc_id
        self._mode = choice.mode or ocr.mode
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="ocr")
        self._pictures = Pictures()
        self.unread: dict[str, int] = {}
        self.failed: set[int] = set()
        """The numbers of the pages that could not be read."""

    def __enter__(self) -> OcrPass:
        return self

    def __exit__(self, *error: object) -> None:
        """Cancel pending pages and end the threads."""
        self._pool.shutdown(wait=error[0] is None, cancel_futures=True)

    def through(self, pages: Iterable[ParsedPage]) -> Iterator[ParsedPage]:
        """Yield the pages in order.

        Those without a usable text layer get the OCR text, or stay as they were. So do those whose layer does not agree
        with their picture. Those that DocMind lays out get the words on their pictures
        (`docmind.reading.ocr.pictures`).
        """
        waiting: deque[_Waiting] = deque()
        for page in pages:
            waiting.append((page, self._begun(page)))
            while waiting and (waiting[0][1] is None or len(waiting) > self._ahead):
                yield self._settled(*waiting.popleft())
        while waiting:
            yield self._settled(*waiting.popleft())

    def _begun(self, page: ParsedPage) -> Future[OcrPage | ParsedPage | None] | None:
        if self._mode == "never":
            return None
        if is_sheet(page.image):
            figures = self._pictures.of(page) if self._ocr.engine or page.needs_ocr else ()
            return self._pool.submit(self._with_pictures, page, figures) if figures else None
        if page.needs_ocr or self._mode == "always":
            return self._pool.submit(self._ocr.recognise, page.image, choice=self._choice)
        if page.is_layer_suspect and self._ocr.engine and (probe := probe_of(page)) is not None:
            return self._pool.submit(self._instead, page, probe)
        return None

    def _with_pictures(self, page: ParsedPage, figures: Sequence[PageFigure]) -> ParsedPage:
        def recognise(image: bytes) -> OcrPage:
            seen = self._ocr.recognise(image, choice=self._choice)
            self._report(page_id_of(self._doc_id, page.page_no), seen)
            return seen

        return with_pictures(page, read_all(figures, recognise))

    def _instead(self, page: ParsedPage, probe: Probe) -> OcrPage | None:
        """Return what the picture of a page says where its layer does not say the same."""
        strips = self._ocr.recognise_strips(page.image, probe.strips)
        if agreement(probe.text, strips.text) >= AGREEING:
            return None
        seen = self._ocr.recognise(page.image, choice=self._choice)
        return seen if is_better(page.text, seen.text, seen.confidence) else None

    def told(self) -> str:
        """Return one sentence on pages that could not be read; empty where all could."""
        if not self.unread:
            return ""
        count, reason = sum(self.unread.values()), next(iter(self.unread))
        told = ngettext(
            "{n} page is a picture whose text was not read: {reason}",
            "{n} pages are pictures whose text was not read: {reason}",
            count,
        )
        return told.format(n=count, reason=reason)

    def _settled(self, page: ParsedPage, reading: Future[OcrPage | ParsedPage | None] | None) -> ParsedPage:
        if reading is None:
            return page
        while not reading.done():
            self._waiting()
            time.sleep(0.02)
        try:
            seen = reading.result()
        except ReadingError as error:
            self.unread[str(error)] = self.unread.get(str(error), 0) + 1
            self.failed.add(page.page_no)
            emit(OcrFailed(page_id_of(self._doc_id, page.page_no)))
            return page
        if isinstance(seen, ParsedPage):
            return seen
        if seen is None or (not seen.text.strip() and page.text.strip()):
            return page
        self._report(page_id_of(self._doc_id, page.page_no), seen)
        text = with_ordinals(seen.text, language_of(seen.text))
        figures = tuple(_found_again(figure, text) for figure in page.figures)
        read = replace(
            page, text=text, words=seen.words, text_source="ocr", confidence=seen.confidence, blocks=b"",
            figures=figures,
        )  # fmt: skip
        read = replace(read, ocr=replace(seen.how, dpi=page.dpi))
        return _with_comments(read, page) if page.blocks else read

    def _report(self, page_id: str, seen: OcrPage) -> None:
        """Tell of a page that was read."""
        if seen.how.tries > 1:
            emit(OcrRetried(page_id, seen.how.tries))
        if not seen.text.strip():  # a blank page: no word to be sure of
            return
        emit(OcrRead(page_id, seen.confidence))
        if seen.confidence < self._ocr.min_confidence:
            emit(OcrLowConfidence(page_id, seen.confidence, self._ocr.min_confidence))


def _found_again(figure: PageFigure, text: str) -> PageFigure:
    """Return a figure with the place of its words in the text that OCR read; with none where they are not there."""
    said = figure.caption or figure.text
    start = max(0, text.find(said)) if said else 0
    return replace(figure, start=start, end=start + len(said) if said and text.startswith(said, start) else start)


def _with_comments(read: ParsedPage, page: ParsedPage) -> ParsedPage:
    """Return the page as OCR read it, with the comments of its file at the end: they are not on the picture."""
    seen, own = Words.unpack(read.words), Words.unpack(page.words)
    sure = np.ones(len(seen)) if seen.certainties is None else seen.certainties
    text, blocks = read.text, []
    for block in unpack(page.blocks, len(page.text)):
        if block.kind != "comment":
            continue
        text += "\n" if text else ""
        moved = len(text) - block.start
        inside = (own.starts >= block.start) & (own.ends <= block.end)
        seen = Words(
            np.concatenate([seen.starts, own.starts[inside] + moved]),
            np.concatenate([seen.ends, own.ends[inside] + moved]),
            np.concatenate([seen.boxes, own.boxes[inside]]),
        )
        sure = np.concatenate([sure, np.ones(int(inside.sum()))])
        text += page.text[block.start : block.end]
        blocks.append(replace(block, start=block.start + moved, end=block.end + moved))
    return replace(read, text=text, words=replace(seen, certainties=sure).pack(), blocks=pack(blocks))


WORDS = 120
"""Words of a longer text that are searched for: far fewer than 500 identify a page."""
_IDLE_S = 120.0  # the process holds some 300 MB, and pictures come in bursts
_CROOKED = 8.0  # degrees: the engine reads smaller angles as they are


class PictureText:
    """OCR of one query picture at a time, separate from that of documents, so that it never waits for them.

    Thread-safe. The process starts with the first picture, ends after two idle minutes, and restarts when needed.
    """

    def __init__(self, settings: ReadingSettings) -> None:
        self._ocr = Ocr(settings.model_copy(update={"workers": 1}), idle_s=_IDLE_S)
        self._turn = threading.Lock()
        self._is_closed = False

    @property
    def missing(self) -> str:
        """Return why no picture can be read; empty where it is possible."""
        if self._ocr.engine:
            return ""
        why = self._ocr.capabilities()[0]
        state = _("switched off") if why.state == "off" else _("not installed")
        return _("what reads text from pictures is {state}. {hint}").format(state=state, hint=why.hint)

    def read(self, picture: bytes, turn: float = 0.0) -> str:
        """Return the text on a picture of any kind, turned clockwise by `turn` degrees before it is read.

        Raises `ReaderFailedError`, also where there is no engine, and `VaultError` once `close` was called.
        """
        with self._turn:
            if self._is_closed:  # a caller that waited for the lock would start a process that is never ended
                raise VaultError(_("The library is closed."))
            return self._ocr.recognise_picture(picture, turn).text

    def close(self) -> None:
        """End the process, also in the middle of a picture. Idempotent."""
        self._is_closed = True
        self._ocr.close()


def turn_of(quad: Quad) -> float:
    """Return by how many degrees clockwise a picture has to be turned to match its page.

    Returns 0 for small angles.

    `quad` are the picture's corners on the page, clockwise from its top left.
    """
    if len(quad) != 4:
        return 0.0
    (x0, y0), (x1, y1) = quad[:2]
    turn = math.degrees(math.atan2(y1 - y0, x1 - x0))
    return turn if abs(turn) > _CROOKED else 0.0


def telling(text: str, count: int = WORDS) -> str:
    """Return a short text as it is, else its `count` most distinctive words in their order.

    Long words and those with digits are rare in any language; each is taken once.
    """
    words = text.split()
    if len(words) <= count:
        return " ".join(words)
    first = {word.lower(): at for at, word in reversed(list(enumerate(words)))}
    ranked = sorted(first.values(), key=lambda at: (-_weight(words[at]), at))
    return " ".join(words[at] for at in sorted(ranked[:count]))


def _weight(word: str) -> int:
    letters = sum(char.isalnum() for char in word)
    return min(letters, 12) + 4 * any(char.isdigit() for char in word) if letters > 2 else 0
