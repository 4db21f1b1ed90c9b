"""The client of the image matching process: pictures in, marks and comparisons out. Its answers are checked."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from docmind.config import ReadingSettings
from docmind.errors import DamagedError, ReaderFailedError, ReadingError, TooLargeError, WorkerFailedError
from docmind.picture_marks import BITS, KINDS, PictureMarks, packed
from docmind.records.search import Comparison
from docmind.runtime import Client, Frame, Limits, error_named
from docmind.wording import _, number_text

_ENTRY = "docmind.image_match.process:serve"
_PICTURE_SIDE = 1_600  # pixels: a larger picture gives no more information about its page
_MOST_MARKS = 200_000


class Sight:
    """One process. Thread-safe; a search for a picture holds `lock` until its last comparison.

    It starts with the first picture and again after a failure; `close` ends it, also from another thread.
    """

    def __init__(self, settings: ReadingSettings) -> None:
        self._rules = {"max_page_megapixels": settings.max_page_megapixels, "image_side_px": _PICTURE_SIDE}
        self._max_mb = settings.max_file_mb
        self._client = Client(_ENTRY, Limits(memory_mb=settings.memory_mb, file_mb=0, is_confined=True))
        self._timeout_s = settings.timeout_s
        self.lock = threading.RLock()

    def warm(self) -> None:
        """Start the process now, where there is none."""
        self._client.start()

    def page(self, image: bytes) -> bytes:
        """Return the packed marks of a stored page image. Raises `ReadingError`."""
        _, blobs = self._call({"do": "page"}, [image])
        try:
            PictureMarks.unpack(blobs[0])
        except (IndexError, DamagedError) as error:
            raise self._nonsense() from error
        return blobs[0]

    def look(self, picture: bytes, name: str) -> tuple[PictureMarks, tuple[int, int]]:
        """Return the marks of a picture of any kind, and its width and height when upright.

        Raises `UnsupportedFileError`, `CorruptFileError`, `TooLargeError`, `EmptyFileError`, `ReaderFailedError`.
        """
        if len(picture) > self._max_mb << 20:
            raise TooLargeError(
                _("{name} has {size} MB; the limit is {max_mb} MB.").format(
                    name=name, size=number_text(len(picture) / 2**20, 0), max_mb=number_text(self._max_mb)
                ),
                hint=_("Save it smaller, or raise DOCMIND_READING__MAX_FILE_MB."),
            )
        header, blobs = self._call({"do": "look", "name": name, "rules": self._rules}, [picture])
        try:
            width, height = header["width"], header["height"]
            places, kinds, numbers = blobs
            count = len(kinds)
            ends = np.frombuffer(places, "<f4").reshape(count, 4)
            values = np.frombuffer(numbers, "<f4").reshape(count, BITS)
            marks = PictureMarks(packed(values), ends, np.frombuffer(kinds, "u1"), values)
            is_sane = count <= _MOST_MARKS and all(type(side) is int and 0 < side < 65_536 for side in (width, height))
            if not is_sane or not np.isfinite(marks.places).all() or (count and marks.kinds.max() >= KINDS):
                raise ValueError
            return marks, (width, height)
        except (KeyError, TypeError, ValueError) as error:
            raise self._nonsense() from error

    def compare(self, image: bytes, pairs: np.ndarray) -> Comparison:
        """Compare the picture of the last `look` with a stored page image by matching marks. Raises `ReadingError`."""
        header, _ = self._call({"do": "compare"}, [image, pairs.astype("<f4").tobytes()])
        try:
            likeness, blocks, inliers = float(header["likeness"]), int(header["blocks"]), int(header["inliers"])
            quad = tuple((float(x), float(y)) for x, y in header["quad"])
            if len(quad) not in (0, 4) or not all(math.isfinite(value) for value in (likeness, *sum(quad, ()))):
                raise ValueError
            return Comparison(min(max(likeness, 0.0), 1.0), blocks, inliers, quad)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise self._nonsense() from error

    def close(self) -> None:
        """End the process; a running call fails."""
        self._client.end()

    def _call(self, header: dict[str, Any], blobs: Sequence[bytes]) -> Frame:
        with self.lock:
            try:
                answer = self._client.call(header, blobs, timeout_s=self._timeout_s)
            except WorkerFailedError as error:
                raise ReaderFailedError(_("Looking at a picture broke off: {error}.").format(error=error)) from error
        if "error" in answer[0]:
            raise error_named(answer[0], ReadingError)
        return answer

    def _nonsense(self) -> ReaderFailedError:
        self.close()
        return ReaderFailedError(_("Looking at a picture gave nothing that can be read."))
