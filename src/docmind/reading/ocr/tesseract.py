"""Tesseract, if the user has installed it: its command, one thread, words and boxes as a table."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence

from PIL import Image

from docmind.reading.ocr.reading_order import Spot, certainty

_CODES = {"en": "eng", "pt": "por", "es": "spa", "fr": "fra", "de": "deu", "it": "ita"}
_TIMEOUT_S = 100
_SURE = 0.8
_SURE_OF_SCRIPT = 2.0  # of Tesseract's confidence in a script; it is above 10 for a page of clean print
OTHER_SCRIPTS = {
    "Arabic": "ara fas urd pus uig snd kur_ara",
    "Armenian": "hye",
    "Bengali": "ben asm",
    "Cyrillic": "rus ukr bel bul mkd srp kaz kir mon tat tgk uzb_cyrl aze_cyrl",
    "Devanagari": "hin mar nep san",
    "Ethiopic": "amh tir",
    "Georgian": "kat kat_old",
    "Greek": "ell grc",
    "Gujarati": "guj",
    "Gurmukhi": "pan",
    "Hangul": "kor",
    "Hebrew": "heb yid",
    "Kannada": "kan",
    "Khmer": "khm",
    "Korean": "kor",
    "Lao": "lao",
    "Malayalam": "mal",
    "Myanmar": "mya",
    "Oriya": "ori",
    "Sinhala": "sin",
    "Syriac": "syr",
    "Tamil": "tam",
    "Telugu": "tel",
    "Thai": "tha",
    "Tibetan": "bod dzo",
}
"""Scripts that RapidOCR's model lacks, by the name that Tesseract detects, and the codes of Tesseract's languages."""


class Tesseract:
    """The installed command and its languages. `wanted` is a list such as `eng+por+spa`."""

    def __init__(self, wanted: str) -> None:
        self._command = program()
        if not self._command:
            raise FileNotFoundError("tesseract is not installed")
        self._has_orientation = "osd" in languages()
        self._wanted = "+".join(code for code in wanted.split("+") if code in languages()) or "eng"

    def rows(self, image: Image.Image, language: str) -> tuple[list[list[Spot]], int]:
        """Turn an image upright.

        Return its lines in Tesseract's order and that turn, counter-clockwise in degrees.
        """
        code = _CODES.get(language, "")
        wanted = code if code in self._wanted.split("+") else self._wanted
        lines, turn = self._read(image, wanted), 0
        # Detecting the rotation of a page costs as much as reading it, so only a page that reads badly is tested.
        if certainty(lines) < _SURE and self._has_orientation and (turn := self._turn(image)):
            lines = self._read(image.rotate(turn, expand=True), wanted)
        return [[line] for line in lines], turn

    def _read(self, image: Image.Image, wanted: str) -> list[Spot]:
        return list(_spots(self._run(_pixels(image), "-l", wanted, "--dpi", "150", "tsv")))

    def _turn(self, image: Image.Image) -> int:
        """Return how far the page is turned; 0 where there is too little text to tell."""
        told = _detected(self._run(_pixels(image), "--psm", "0"))
        if float(told.get("Orientation confidence", 0)) < 2:
            return 0
        return int(told.get("Orientation in degrees", 0)) % 360

    def _run(self, picture: bytes, *arguments: str) -> str:
        return _output(self._command, picture, *arguments)


def _output(command: str, picture: bytes, *arguments: str) -> str:
    done = subprocess.run(  # its own threads make it eight times slower
        [command, "stdin", "stdout", *arguments],
        executable=command,  # named, so that the hook of the process knows it on Windows too
        input=picture,
        capture_output=True,
        timeout=_TIMEOUT_S,
        env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        cwd=os.path.abspath(os.sep),
        check=False,
    )
    return done.stdout.decode("utf-8", "replace")


def _detected(told: str) -> dict[str, str]:
    """Return what Tesseract says of orientation and script, by name."""
    return dict(line.split(":", 1) for line in told.splitlines() if ":" in line)


def script_of(image: Image.Image) -> str:
    """Return the script of an upright page, by its name in Tesseract; "" where that is not installed or not sure."""
    command = program()
    if not command or "osd" not in languages():
        return ""
    told = _detected(_output(command, _pixels(image), "--psm", "0"))
    return told.get("Script", "").strip() if float(told.get("Script confidence", 0)) >= _SURE_OF_SCRIPT else ""


def languages_for(script: str, installed: Sequence[str]) -> tuple[str, ...]:
    """Return the installed languages of a script; of all scripts that RapidOCR lacks where it is not known."""
    codes = OTHER_SCRIPTS.get(script, "") if script else " ".join(OTHER_SCRIPTS.values())
    wanted = (f"script/{script}", *codes.split())
    return tuple(code for code in dict.fromkeys(wanted) if code in installed)


def program() -> str:
    """Return the installed command; "" where there is none."""
    return shutil.which("tesseract") or ""


def languages() -> tuple[str, ...]:
    """Return the languages of the installed Tesseract; none where it is not installed."""
    return tuple(code for code in _told("--list-langs").split("\n")[1:] if code.strip())


def version_of_tesseract() -> str:
    """Return the version of the installed Tesseract; "" where it is not installed."""
    found = re.match(r"tesseract v?([0-9][0-9.]{0,20})", _told("--version"))
    return found[1].rstrip(".") if found else ""


def _told(option: str) -> str:
    command = program()
    if not command:
        return ""
    done = subprocess.run([command, option], executable=command, capture_output=True, timeout=20, check=False)
    return done.stdout.decode("utf-8", "replace")


def _pixels(image: Image.Image) -> bytes:
    target = io.BytesIO()
    image.convert("L").save(target, "PPM")
    return target.getvalue()


def _spots(table: str) -> Iterator[Spot]:
    """Join words to one spot per line, because lines are what is put in reading order."""
    lines: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in csv.DictReader(io.StringIO(table), delimiter="\t", quoting=csv.QUOTE_NONE):
        if row.get("level") == "5" and (row.get("text") or "").strip():
            lines.setdefault((row["block_num"], row["par_num"], row["line_num"]), []).append(row)
    for words in lines.values():
        boxes = tuple((float(w["left"]), float(w["top"]), float(w["width"]), float(w["height"])) for w in words)
        left, top = min(x for x, _, _, _ in boxes), min(y for _, y, _, _ in boxes)
        right, bottom = max(x + wide for x, _, wide, _ in boxes), max(y + tall for _, y, _, tall in boxes)
        text = " ".join("".join(w["text"].split()) for w in words)
        score = sum(float(w["conf"]) * len(w["text"]) for w in words) / sum(len(w["text"]) for w in words) / 100
        yield Spot(text, ((left, top), (right, top), (right, bottom), (left, bottom)), score, boxes)
