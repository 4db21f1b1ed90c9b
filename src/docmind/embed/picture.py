"""An encoded picture opened for a model: never more pixels than a page may have, upright, as colours on white."""

from __future__ import annotations

import io
import struct
import warnings

from PIL import Image, ImageOps

from docmind.errors import VisualModelError

MAX_PIXELS = 64_000_000
MAX_RATIO = 100
"""Longer strips than this are refused: a model's patch grid would have one row."""
_FORMATS = ("WEBP", "PNG", "JPEG", "GIF", "BMP", "TIFF")


def open_picture(data: bytes) -> Image.Image:
    """The picture in RGB. Raises `VisualModelError` where it is none, broken, or larger than `MAX_PIXELS`.

    Its size is read from its header before a pixel is unpacked.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # the limit below is the one that counts
            picture = Image.open(io.BytesIO(data), formats=_FORMATS)
        width, height = picture.size
        if width * height > MAX_PIXELS:
            raise Image.DecompressionBombError
        if max(width, height) > MAX_RATIO * min(width, height):
            raise VisualModelError(
                f"A picture of {width:,} x {height:,} pixels is too narrow to be looked at.", hint="Crop it."
            )
        picture = ImageOps.exif_transpose(picture)
        if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
            layer = picture.convert("RGBA")
            picture = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
        return picture.convert("RGB")
    except Image.DecompressionBombError as error:  # Pillow's own, too
        raise VisualModelError(
            "A picture is too large to be looked at.",
            hint=f"The limit is {MAX_PIXELS // 1_000_000} million pixels; save it smaller.",
        ) from error
    except (OSError, SyntaxError, ValueError, EOFError, struct.error) as error:
        raise VisualModelError(
            f"A picture cannot be read ({type(error).__name__}).", hint="Save it again as PNG, JPEG or WebP."
        ) from error
