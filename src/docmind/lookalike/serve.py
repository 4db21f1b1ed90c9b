"""The process that decodes and draws pictures, until the pipe is closed.

in   {do: "page"} + a page image             out  {} + packed marks
in   {do: "look", name, rules} + a picture   out  {width, height} + places, kinds, numbers; it is kept at hand
in   {do: "compare"} + a page image, pairs   out  {likeness, blocks, inliers, quad}
     or {error, message, hint} in place of any of them
"""

from __future__ import annotations

import io
import os
from typing import Any, BinaryIO

import cv2
import numpy as np
from PIL import Image

from docmind import filetype
from docmind.errors import CorruptFileError, ReadingError, TooLargeError, UnsupportedFileError
from docmind.lookalike.detect import marks_of_page, marks_of_query
from docmind.lookalike.verify import Picture
from docmind.readers import Rules
from docmind.readers.image import open_image
from docmind.schema import Upload
from docmind.worker import Frame, read_frame, write_frame


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Answer one frame after another."""
    cv2.setNumThreads(1)
    eye = Eye()
    while (frame := read_frame(incoming)) is not None:
        name = str(frame[0].get("name", "the picture"))
        try:
            answer = eye.answer(*frame)
        except ReadingError as error:
            answer = _refusal(error)
        except MemoryError:
            answer = _refusal(TooLargeError(f"{name} needs more memory than a reading process may use."))
        except Exception as error:  # noqa: BLE001 - whatever a decoder trips over concerns this picture only
            answer = _refusal(CorruptFileError(f"{name} is broken inside ({type(error).__name__})."))
        write_frame(outgoing, *answer)


class Eye:
    """What the process knows between two frames: the picture that is looked for."""

    def __init__(self) -> None:
        self._picture: Picture | None = None
        self._is_behind = False

    def answer(self, header: dict[str, Any], blobs: list[bytes]) -> Frame:
        if header["do"] == "page":
            self._step_back()
            return {}, [marks_of_page(_grey(Image.open(io.BytesIO(blobs[0]), formats=["WEBP"]))).pack()]
        if header["do"] == "look":
            return self._look(header, blobs[0])
        return self._compare(*blobs)

    def _step_back(self) -> None:
        """Pages are looked at when nothing else wants the processor, where the system can do that."""
        if not self._is_behind and hasattr(os, "nice"):
            os.nice(10)
        self._is_behind = True

    def _look(self, header: dict[str, Any], data: bytes) -> Frame:
        self._picture = None
        kind, upload = filetype.identify(Upload(header["name"], data))
        if kind not in filetype.PICTURES:
            raise UnsupportedFileError(
                f"{header['name']} is not a picture.", hint="Look for a page with a PNG, JPEG, WebP, GIF, BMP or TIFF."
            )
        grey = _grey(open_image(upload, kind, Rules(**header["rules"])).upright(1))
        if min(grey.shape) < 2:  # a line shows nothing, and cannot be resized
            raise CorruptFileError(f"{header['name']} is too small to show anything.")
        marks = marks_of_query(grey)
        self._picture = Picture(grey)
        assert marks.numbers is not None
        size = {"width": grey.shape[1], "height": grey.shape[0]}
        parts = marks.places.astype("<f4"), marks.kinds.astype("u1"), marks.numbers.astype("<f4")
        return size, [part.tobytes() for part in parts]

    def _compare(self, image: bytes, pairs: bytes) -> Frame:
        assert self._picture is not None
        page = _grey(Image.open(io.BytesIO(image), formats=["WEBP"]))
        found = self._picture.compare(page, np.frombuffer(pairs, "<f4").reshape(-1, 8))
        told = {"likeness": found.likeness, "blocks": found.blocks, "inliers": found.inliers}
        return {**told, "quad": [list(corner) for corner in found.quad]}, []


def _grey(image: Image.Image) -> np.ndarray:
    return np.asarray(image.convert("L"))


def _refusal(error: ReadingError) -> Frame:
    return {"error": type(error).__name__, "message": str(error), "hint": error.hint}, []
