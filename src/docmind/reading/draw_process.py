"""The process that draws pages of which the sheet is stored in place of a picture.

in   {quality, thumbnail_side, images: [length, ...]} + a sheet + the pictures of its figures, one behind the other
out  {} + the picture and its thumbnail as WebP, or {error, message, hint}
"""

from __future__ import annotations

import io
from typing import Any, BinaryIO

import numpy as np
from PIL import Image

from docmind.reading.formats import Rules
from docmind.reading.formats.image import encode
from docmind.reading.formats.typeset import draw_sheet
from docmind.reading.sheets import is_sheet
from docmind.runtime import Frame, serve_requests


def serve(incoming: BinaryIO, outgoing: BinaryIO) -> None:
    """Draw sheets until the pipe is closed."""
    serve_requests(incoming, outgoing, _drawn)


def _drawn(header: dict[str, Any], blobs: list[bytes]) -> Frame:
    rules = Rules(image_quality=header["quality"], thumbnail_side_px=header["thumbnail_side"], marks=False)
    sheet, joined = blobs
    images, at = list[bytes](), 0
    for length in header["images"]:
        images.append(joined[at : at + length])
        at += length
    picture = encode(draw_sheet(sheet, images), rules)
    return {}, [picture.image, picture.thumbnail]


def grey_of_page(data: bytes) -> np.ndarray:
    """Return the pixels of a stored page, uint8 `(h, w)`. Call it in a child process. Raises `CorruptFileError`."""
    if is_sheet(data):
        return np.asarray(draw_sheet(data))
    return np.asarray(Image.open(io.BytesIO(data), formats=["WEBP"]).convert("L"))
