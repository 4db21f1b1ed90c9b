"""The OCR process: images in, text with boxes out, until the pipe is closed.

Models are loaded once. The text of a rotated page is put in order while it is upright; its boxes are mapped back.

in   {engine, languages, language, tries, doubt, may_switch, pictures} + a page image, of whose pictures, as boxes, no
     text is missed; or {..., strips: boxes} + a page image of which only strips are read; or {..., picture: rules,
     turn} + a picture from anywhere
out  {confidence, size, engine, languages, tries, turn, doubt, lost, unread} + text, words; or {error, message}
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
from PIL import Image

from docmind.documents import Words
from docmind.errors import UnsupportedFileError
from docmind.reading.formats import Rules
from docmind.reading.formats.image import open_query
from docmind.reading.ocr.reading_order import page_of
from docmind.reading.ocr.second_look import Engine, Look, look, look_again
from docmind.reading.ocr.unread import unread_share
from docmind.records.documents import MISSED
from docmind.runtime import Frame, serve_requests

PRELOAD = ("rapidocr.main",)
"""What RapidOCR loads before its models: 0.8 of the 1.1 seconds of its start, and no part of ONNX Runtime."""


def turn_back(boxes: np.ndarray, turn: int, width: int, height: int) -> np.ndarray:
    """Map boxes x, y, w, h (n, 4) from an image turned counter-clockwise by `turn` back to the image of that size."""
    x, y, w, h = boxes.reshape(-1, 4).T
    if turn == 90:  # the left edge of the turned image was the top edge
        return np.stack([width - y - h, x, h, w], axis=1)
    if turn == 180:
        return np.stack([width - x - w, height - y - h, w, h], axis=1)
    if turn == 270:
        return np.stack([y, height - x - w, h, w], axis=1)
    return boxes.reshape(-1, 4)


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Read images until there are no more."""
    engines: dict[tuple[str, str], Engine] = {}

    def answer(header: dict[str, Any], blobs: list[bytes]) -> Frame:
        def engine(name: str, languages: str = header["languages"]) -> Engine:
            key = name, languages if name == "tesseract" else ""
            if key not in engines:
                engines[key] = _load(*key)
            return engines[key]

        image = _picture(blobs[0], header) if "picture" in header else Image.open(io.BytesIO(blobs[0]))
        if "strips" in header:
            image = strips_of(image.convert("RGB"), header["strips"])
        image, name, language = image.convert("RGB"), header["engine"], header["language"]
        seen, tries = look(engine(name), name, image, language), 1
        if header["tries"] and seen.doubt >= header["doubt"]:
            seen, tries = look_again(seen, engine(name), image, language), 2
        languages = header["languages"]
        if header["may_switch"] and (codes := _other_languages(seen, image)):
            other = look(engine("tesseract", codes), "tesseract", image, "")
            if other.weight > seen.weight and (seen.lost >= MISSED or other.doubt < MISSED):
                seen, tries, languages = other, tries + 1, codes
        text, words, confidence = page_of(seen.rows)
        how = {"engine": seen.engine, "tries": tries, "turn": seen.turn, "doubt": seen.doubt, "lost": seen.lost}
        how |= {"languages": languages if seen.engine == "tesseract" else "", "unread": _unread(seen, image, header)}
        body = [text.encode("utf-8", "replace"), _placed(words, seen, image).pack()]
        return {"confidence": round(float(confidence), 4), "size": list(image.size), **how}, body

    serve_requests(incoming, outgoing, answer)


def _other_languages(seen: Look, image: Image.Image) -> str:
    """Return the installed languages of Tesseract for a page in a script that its engine lacks; "" where none are.

    A page whose letters were not read is in such a script, by whatever name Tesseract detects; one that was read in
    doubt may be, as Hebrew is, which comes out as Latin letters.
    """
    from docmind.reading.ocr import tesseract

    is_lost = seen.lost >= MISSED
    if seen.engine == "tesseract" or not (is_lost or seen.doubt >= MISSED):
        return ""
    installed = tesseract.languages()
    if not tesseract.languages_for("", installed):
        return ""
    script = tesseract.script_of(image.rotate(seen.turn, expand=True))
    codes = tesseract.languages_for(script, installed) if script else ()
    return "+".join(codes or (tesseract.languages_for("", installed) if is_lost else ()))


def _unread(seen: Look, image: Image.Image, header: dict[str, Any]) -> float:
    """Return the share of the print on an image outside of the lines that were read; its pictures are left out."""
    if "strips" in header or "picture" in header:
        return 0.0
    boxes = np.asarray(header["pictures"], float).reshape(-1, 4)
    pictures = turn_back(boxes, -seen.turn % 360, *_turned_size(image, seen.turn))
    grey = np.asarray(image.rotate(seen.turn, expand=True).convert("L"))
    return unread_share(grey, [spot for row in seen.rows for spot in row], pictures.tolist())


def _turned_size(image: Image.Image, turn: int) -> tuple[int, int]:
    return (image.height, image.width) if turn in (90, 270) else image.size


def _placed(words: Words, seen: Look, image: Image.Image) -> Words:
    """Return words with boxes in pixels of the image as it is, which was turned for reading."""
    boxes = turn_back(words.boxes, seen.turn, *image.size)
    low = np.clip(boxes[:, :2], 0, image.size)
    high = np.clip(boxes[:, :2] + boxes[:, 2:], 0, image.size)
    return replace(words, boxes=np.hstack([low, high - low]))


def strips_of(image: Image.Image, boxes: Sequence[Sequence[float]]) -> Image.Image:
    """Return parts of an image one below the other on white; `boxes` as x, y, w, h in its pixels."""
    parts = [image.crop((int(x), int(y), int(x + w) + 1, int(y + h) + 1)) for x, y, w, h in boxes]
    edge = 20
    size = max(part.width for part in parts) + 2 * edge, sum(part.height + edge for part in parts) + edge
    out = Image.new("RGB", size, "white")
    top = edge
    for part in parts:
        out.paste(part, (edge, top))
        top += part.height + edge
    return out


def _picture(data: bytes, header: dict[str, Any]) -> Image.Image:
    """Open an untrusted picture: of a known kind, within its limits, upright by its EXIF orientation."""
    image = open_query("the picture", data, Rules(**header["picture"]))
    if image is None:
        raise UnsupportedFileError("it is not a picture")
    return image.rotate(-header["turn"], Image.Resampling.BICUBIC, expand=True, fillcolor="white")


def _load(name: str, languages: str) -> Engine:
    if name == "tesseract":
        from docmind.reading.ocr.tesseract import Tesseract

        return Tesseract(languages)
    from docmind.reading.ocr.rapidocr import Rapid

    return Rapid()
