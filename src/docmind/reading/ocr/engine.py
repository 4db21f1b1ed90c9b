"""OCR of page images in worker processes that keep their models loaded.

Two engines. RapidOCR comes with DocMind and reads accents, § and bullets right (0.3% of the characters wrong on a scan
of Portuguese law, 2 s a page on one core). Tesseract is used where the settings name it: three times as fast.
"""

from __future__ import annotations

import importlib.util
import os
import queue
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

from docmind.config import ReadingSettings
from docmind.documents import Words
from docmind.errors import ConfigError, DamagedError, ReaderFailedError, WorkerFailedError
from docmind.reading.ocr.doubt import Strip
from docmind.reading.ocr.tesseract import languages, program, version_of_tesseract
from docmind.records.documents import (
    Capability,
    OcrChoice,
    OcrEngine,
    OcrMode,
    OcrReading,
)
from docmind.runtime import Client, Limits
from docmind.wording import _, ngettext

_ENTRY = "docmind.reading.ocr.process:serve"
_PICTURE_SIDE = 1_600  # pixels, as a page image has: more says nothing more, and takes longer
AS_SET = OcrChoice()
"""The engine, the languages and the mode of the settings."""
ENGINE_NAMES: dict[OcrEngine, str] = {"rapidocr": "RapidOCR", "tesseract": "Tesseract"}
_MOST_TRIES, _TURNS = 3, (0, 90, 180, 270)
_LANGUAGES = re.compile(r"[A-Za-z_/+]{0,200}")
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
        self._clients = [Client(_ENTRY, self._limits, idle_s=idle_s) for _ in range(settings.workers)]
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

    def recognise(
        self,
        image: bytes,
        language: str = "",
        choice: OcrChoice = AS_SET,
        pictures: Sequence[Strip] = (),
    ) -> OcrPage:
        """Read one encoded page image; `language` is an ISO 639-1 code where it is known.

        A page that the engine is unsure of is read a second time, and the better reading kept
        (`docmind.reading.ocr.second_look`). One in letters that RapidOCR lacks is read by Tesseract where that has a
        language of them, and no engine was chosen. Print outside of what was read is looked for beside the `pictures`,
        x, y, w, h in pixels of the image (`docmind.reading.ocr.unread`); where most of it is, the confidence is less.

        Raises `ReaderFailedError` where there is no engine or the engine failed: the page stays without text.
        """
        places = [list(box) for box in pictures]
        return self._read(image, {"language": language, "tries": self._settings.ocr_tries, "pictures": places}, choice)

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

    def _limits(self) -> Limits:
        """Return the limits of a process that reads images; Tesseract may have been installed meanwhile."""
        tesseract, models = program(), os.environ.get("TESSDATA_PREFIX", "")
        return Limits(
            memory_mb=self._settings.memory_mb,
            file_mb=0,
            is_confined=True,
            reads=(models,) if tesseract and os.path.isabs(models) else (),
            starts=(tesseract,) if tesseract else (),
        )

    def _read(self, image: bytes, header: dict[str, Any], choice: OcrChoice = AS_SET) -> OcrPage:
        engine = choice.engine or self.engine
        if not engine:
            raise ReaderFailedError(_("No OCR engine is installed."), hint=self.capabilities()[0].hint)
        wanted = choice.languages or self._settings.ocr_languages
        may_switch = self._settings.ocr == "auto" and not choice.engine
        header = {
            "engine": engine, "languages": wanted, "tries": 0, "doubt": self._settings.ocr_doubt,
            "may_switch": may_switch, "pictures": [], **header,
        }  # fmt: skip
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
            how = _how(answer)
            sure = float(answer["confidence"]) * (1 - how.unread if how.is_unread else 1)
            return OcrPage(text.decode(), words, round(sure, 4), how, _size_in(answer))
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


def _how(answer: dict[str, Any]) -> OcrReading:
    """Return how a page was read, as its process says. Raises `KeyError`, `TypeError`, `ValueError`."""
    engine, tries, turn, used = (answer[name] for name in ("engine", "tries", "turn", "languages"))
    if engine not in ENGINE_NAMES or type(tries) is not int or not 1 <= tries <= _MOST_TRIES or turn not in _TURNS:
        raise ValueError("not a way to read a page")
    if not _LANGUAGES.fullmatch(used):
        raise ValueError("not languages of Tesseract")
    shares = {name: round(float(answer[name]), 3) for name in ("doubt", "lost", "unread")}
    if not all(0 <= share <= 1 for share in shares.values()):
        raise ValueError("not a share")
    return OcrReading(engine, engine_version(engine), used, tries, turn, 0, **shares)


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
    return bool(program())


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
