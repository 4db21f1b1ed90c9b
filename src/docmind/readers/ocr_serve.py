"""The OCR process: images in, text with boxes out, until the pipe is closed. Models are loaded once.

in   {engine, languages, language} + a page image; or {..., picture: rules, turn} + a picture from anywhere
out  {confidence} + text, words; or {error}
"""

from __future__ import annotations

import io
from typing import Any, BinaryIO, Protocol

import numpy as np
from PIL import Image

from docmind.errors import UnsupportedFileError
from docmind.filetype import PICTURES, identify
from docmind.readers import Rules
from docmind.readers.image import open_image
from docmind.readers.reading_order import Spot, page_of
from docmind.readers.turned import turn_back
from docmind.schema import Upload
from docmind.words import Words
from docmind.worker import read_frame, write_frame


class Engine(Protocol):
    """Finds rows of text on an image that it may turn; the turn is counter-clockwise in degrees."""

    def rows(self, image: Image.Image, language: str) -> tuple[list[list[Spot]], int]: ...


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Read images until there are no more."""
    engines: dict[str, Engine] = {}
    while (frame := read_frame(incoming)) is not None:
        header, blobs = frame
        try:
            name = header["engine"]
            if name not in engines:
                engines[name] = _load(name, header["languages"])
            image = _picture(blobs[0], header) if "picture" in header else Image.open(io.BytesIO(blobs[0]))
            text, words, confidence = recognise(engines[name], image.convert("RGB"), header["language"])
        except Exception as error:  # noqa: BLE001 - whatever a model trips over concerns this image only
            write_frame(outgoing, {"error": f"{type(error).__name__}: {error}"})
            continue
        write_frame(outgoing, {"confidence": confidence}, [text.encode("utf-8", "replace"), words.pack()])


def recognise(engine: Engine, image: Image.Image, language: str) -> tuple[str, Words, float]:
    """Text, words with boxes in the image's own pixels, and certainty."""
    rows, turn = engine.rows(image, language)
    text, words, confidence = page_of(rows)
    boxes = turn_back(words.boxes, turn, *image.size)
    low = np.clip(boxes[:, :2], 0, image.size)
    high = np.clip(boxes[:, :2] + boxes[:, 2:], 0, image.size)
    return text, Words(words.starts, words.ends, np.hstack([low, high - low])), round(float(confidence), 4)


def _picture(data: bytes, header: dict[str, Any]) -> Image.Image:
    """A picture that nobody has looked at yet: of a kind we know, within its limits, upright as its EXIF notes say."""
    kind, upload = identify(Upload("the picture", data))
    if kind not in PICTURES:
        raise UnsupportedFileError("it is not a picture")
    image = open_image(upload, kind, Rules(**header["picture"])).upright(1)
    return image.rotate(-header["turn"], Image.Resampling.BICUBIC, expand=True, fillcolor="white")


def _load(name: str, languages: str) -> Engine:
    if name == "tesseract":
        from docmind.readers.tesseract import Tesseract

        return Tesseract(languages)
    from docmind.readers.rapid import Rapid

    return Rapid()
