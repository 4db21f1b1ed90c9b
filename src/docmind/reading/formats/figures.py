"""Pictures inside files: looked at by their headers while a file is read, decoded when the page they stand on is sent.

A picture of the file never leaves the reading process: what is sent is encoded here, from its pixels.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import re
import struct
from urllib.parse import unquote_to_bytes

from PIL import Image, ImageOps

from docmind.blocks import Picture
from docmind.reading.figures import LARGEST, LONGEST_SIDE
from docmind.reading.formats.image import MAX_PIXELS, MAX_RATIO, shrink, shrink_for, to_rgb
from docmind.reading.formats.metafile import bitmap_in, is_metafile

SMALLEST = 32
"""Pixels of each side below which a picture is an icon or a line."""
_SMALLEST_AREA = 60 * 60
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP")
_FAULTS = (OSError, SyntaxError, ValueError, EOFError, struct.error, MemoryError, ZeroDivisionError, TypeError)
"""What Pillow raises for a picture that is broken."""
_QUALITY, _WORST = 80, 40
_DATA_ADDRESS = re.compile(
    r"\s*data:image/(?:png|jpe?g|gif|bmp|tiff|webp|x-png|pjpeg)((?:;[\w.=-]{1,40})*),", re.IGNORECASE
)


def picture_in(data: bytes) -> Picture | None:
    """Return the picture that a file is; None for one that is no picture, is too large, or is an icon or a line.

    Only its header is read. Of a metafile it is the bitmap that fills most of it.
    """
    if is_metafile(data):
        data = bitmap_in(data)
    try:
        image = Image.open(io.BytesIO(data), formats=_FORMATS)
    except _FAULTS:
        return None
    width, height = image.size
    is_sound = width * height <= MAX_PIXELS and max(width, height) <= MAX_RATIO * min(width, height)
    if not is_sound or min(width, height) < SMALLEST or width * height < _SMALLEST_AREA:
        return None
    return Picture(width, height, data, hashlib.sha256(data).hexdigest())


def picture_at(address: str) -> Picture | None:
    """Return the picture in an address that holds its own data; None for any other one. Nothing is fetched."""
    found = _DATA_ADDRESS.match(address)
    if found is None:
        return None
    said = address[found.end() :]
    return picture_in_base64(said) if found[1].lower().endswith(";base64") else picture_in(unquote_to_bytes(said))


def picture_in_base64(said: str) -> Picture | None:
    """Return the picture in a text of base64."""
    try:
        return picture_in(
            base64.b64decode("".join(said.split()).replace("%2B", "+").replace("%2F", "/").rstrip("=") + "==")
        )
    except (binascii.Error, ValueError):
        return None


def encoded(picture: Picture) -> bytes:
    """Return a picture as WebP, upright on white; b"" where it cannot be decoded."""
    try:
        image = Image.open(io.BytesIO(picture.data), formats=_FORMATS)
        image.draft("RGB", (LONGEST_SIDE, LONGEST_SIDE))
        return encode(to_rgb(shrink_for(ImageOps.exif_transpose(image), LONGEST_SIDE)))
    except _FAULTS:
        return b""


def encode(image: Image.Image) -> bytes:
    """Return an image of mode RGB or L as WebP within the limits of a figure."""
    image = shrink(image, LONGEST_SIDE)
    for quality in (_QUALITY, _WORST):
        target = io.BytesIO()
        image.save(target, "WEBP", quality=quality, method=0)
        if target.tell() <= LARGEST:
            return target.getvalue()
    return encode(image.reduce(2))
