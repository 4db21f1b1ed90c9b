"""Pictures: one page, or one per frame of a TIFF. An animation is one page, its first frame."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from docmind.errors import CorruptFileError, TooLargeError
from docmind.readers import Rules
from docmind.readers.picture import encode, shrink
from docmind.schema import ParsedPage, Upload

# The limit is ours and is checked before a pixel is decoded; Pillow's own would say less.
Image.MAX_IMAGE_PIXELS = None


def open_image(upload: Upload, kind: str, rules: Rules) -> ImageFile:
    """Open a picture. Raises `TooLargeError` by its declared size, `CorruptFileError` where it cannot be decoded."""
    try:
        image = Image.open(io.BytesIO(upload.data), formats=[kind.upper()])
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise CorruptFileError(f"{upload.name} is a picture that is broken or was cut off.") from error
    return ImageFile(image, upload.name, kind, rules)


class ImageFile:
    """An open picture."""

    title = ""
    if_blank = None  # a picture in one colour is a picture

    def __init__(self, image: Image.Image, name: str, kind: str, rules: Rules) -> None:
        self._image = image
        self._name = name
        self._rules = rules
        self._weigh()
        self.pages = getattr(image, "n_frames", 1) if kind == "tiff" else 1
        if self.pages > rules.max_pages:
            raise TooLargeError(f"{name} has {self.pages:,} pages; the limit is {rules.max_pages:,}.")

    def page(self, page_no: int) -> ParsedPage:
        """One frame, upright, over white, as eight-bit RGB."""
        picture = encode(self.upright(page_no), self._rules)
        return ParsedPage(
            page_no=page_no,
            width=picture.width,
            height=picture.height,
            text="",
            words=b"",
            image=picture.image,
            thumbnail=picture.thumbnail,
            text_source="none",
            confidence=0.0,
            needs_ocr=not picture.is_blank,
        )

    def upright(self, page_no: int) -> Image.Image:
        """One frame as its page shows it, no larger than a page image."""
        try:
            self._image.seek(page_no - 1)
            self._weigh()
            self._image.load()
            upright = ImageOps.exif_transpose(self._image)
        except (OSError, ValueError, EOFError, SyntaxError) as error:
            raise CorruptFileError(f"{self._name} is a picture that is broken or was cut off.") from error
        return to_rgb(shrink_for(upright, self._rules.image_side_px))

    def _weigh(self) -> None:
        width, height = self._image.size
        limit = self._rules.max_page_megapixels
        if width * height > limit * 1e6:
            raise TooLargeError(
                f"{self._name} is {width:,} by {height:,} pixels; the limit is {limit:,.0f} megapixels.",
                hint="Save it smaller, or raise DOCMIND_READING__MAX_PAGE_MEGAPIXELS.",
            )


def shrink_for(image: Image.Image, side: int) -> Image.Image:
    """Shrink where the mode allows averaging; modes that do not are brought to RGB first."""
    if max(image.size) <= side:
        return image
    return shrink(image if image.mode in ("RGB", "RGBX", "L", "CMYK") else to_rgb(image), side)


def to_rgb(image: Image.Image) -> Image.Image:
    """Any mode to RGB: 16-bit and float greys are scaled to their own range, transparency is laid over white.

    Pillow turns the inverted CMYK of Adobe's JPEG files round by itself while it decodes.
    """
    if image.mode.startswith("I") or image.mode == "F":
        return _grey(np.asarray(image, dtype=np.float64)).convert("RGB")
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        layer = image.convert("RGBA")
        sheet = Image.new("RGBA", layer.size, "white")
        sheet.alpha_composite(layer)
        return sheet.convert("RGB")
    return image.convert("RGB")


def _grey(values: np.ndarray) -> Image.Image:
    """Full 16-bit range where it is used; a narrower one is stretched, or a 12-bit scan would be black."""
    values = np.nan_to_num(values)
    low, high = float(values.min()), float(values.max())
    if low >= 0 and 32_768 <= high <= 65_535:
        low, high = 0.0, 65_535.0
    elif low >= 0 and high <= 255:
        low, high = 0.0, 255.0
    scaled = (values - low) * (255.0 / max(high - low, 1e-9))
    return Image.fromarray(np.clip(np.rint(scaled), 0, 255).astype(np.uint8))
