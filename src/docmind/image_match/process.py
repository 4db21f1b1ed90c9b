"""The process that decodes and draws pictures, until the pipe is closed.

in   {do: "page"} + a page image             out  {} + packed marks
in   {do: "look", name, rules} + a picture   out  {width, height} + places, kinds, numbers; the picture is kept
in   {do: "compare"} + a page image, pairs   out  {likeness, blocks, inliers, quad}
     or {error, message, hint} in place of any of them
"""

from __future__ import annotations

import os
from typing import Any, BinaryIO

import numpy as np

from docmind.errors import CorruptFileError, TooLargeError, UnsupportedFileError
from docmind.image_match.verify import Picture
from docmind.picture_marks import marks_of_page, marks_of_query
from docmind.reading import Rules, grey_of_page, open_query
from docmind.runtime import Frame, serve_requests
from docmind.wording import _


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Answer frames until the pipe is closed."""
    serve_requests(incoming, outgoing, Eye().answer, _explained)


def _explained(header: dict[str, Any], error: Exception) -> Exception:
    name = str(header.get("name", "the picture"))
    if isinstance(error, MemoryError):
        return TooLargeError(_("{name} needs more memory than a reading process may use.").format(name=name))
    return CorruptFileError(_("{name} is broken inside ({kind}).").format(name=name, kind=type(error).__name__))


class Eye:
    """The state of the process between two frames: the query picture."""

    def __init__(self) -> None:
        self._picture: Picture | None = None
        self._is_behind = False

    def answer(self, header: dict[str, Any], blobs: list[bytes]) -> Frame:
        if header["do"] == "page":
            self._step_back()
            return {}, [marks_of_page(grey_of_page(blobs[0])).pack()]
        if header["do"] == "look":
            return self._look(header, blobs[0])
        return self._compare(*blobs)

    def _step_back(self) -> None:
        """Lower the priority once, where the system supports it, so that pages do not slow other work."""
        if not self._is_behind and hasattr(os, "nice"):
            os.nice(10)
        self._is_behind = True

    def _look(self, header: dict[str, Any], data: bytes) -> Frame:
        self._picture = None
        picture = open_query(header["name"], data, Rules(**header["rules"]))
        if picture is None:
            raise UnsupportedFileError(
                _("{name} is not a picture.").format(name=header["name"]),
                hint=_("Look for a page with a PNG, JPEG, WebP, GIF, BMP or TIFF."),
            )
        grey = np.asarray(picture.convert("L"))
        if min(grey.shape) < 2:  # a picture of one line shows nothing, and cannot be resized
            raise CorruptFileError(_("{name} is too small to show anything.").format(name=header["name"]))
        marks = marks_of_query(grey)
        self._picture = Picture(grey)
        assert marks.numbers is not None
        size = {"width": grey.shape[1], "height": grey.shape[0]}
        parts = marks.places.astype("<f4"), marks.kinds.astype("u1"), marks.numbers.astype("<f4")
        return size, [part.tobytes() for part in parts]

    def _compare(self, image: bytes, pairs: bytes) -> Frame:
        assert self._picture is not None
        found = self._picture.compare(grey_of_page(image), np.frombuffer(pairs, "<f4").reshape(-1, 8))
        told = {"likeness": found.likeness, "blocks": found.blocks, "inliers": found.inliers}
        return {**told, "quad": [list(corner) for corner in found.quad]}, []
