"""Pictures: one page, or one per frame of a TIFF. An animation is one page, its first frame.

`encode` makes the stored pictures of any page: the page image and its thumbnail, both WebP. `open_picture` decodes a
picture for a model, and `open_query` one that is searched for: bounded in pixels, upright, RGB on white.
"""

from __future__ import annotations

import io
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from docmind.errors import CorruptFileError, TooLargeError, VisualModelError
from docmind.picture_marks import marks_of_page
from docmind.reading.file_type import PICTURES, identify
from docmind.reading.formats import Rules, facts_of
from docmind.records.documents import Loss, ParsedPage, Upload
from docmind.wording import _, number_text

MAX_PIXELS = 64_000_000
MAX_RATIO = 100
"""Longer strips than this are refused: a model's patch grid would have one row."""
_FORMATS = ("WEBP", "PNG", "JPEG", "GIF", "BMP", "TIFF")


def open_picture(data: bytes) -> Image.Image:
    """Return the picture in RGB.

    Raises `VisualModelError` where it is invalid or larger than `MAX_PIXELS`.

    Its size is read from its header before a pixel is decoded.
    """
    try:
        picture = Image.open(io.BytesIO(data), formats=_FORMATS)
        width, height = picture.size
        if width * height > MAX_PIXELS:
            raise VisualModelError(
                _("A picture is too large to be looked at."),
                hint=_("The limit is {max_pixels} million pixels; save it smaller.").format(
                    max_pixels=MAX_PIXELS // 1000000
                ),
            )
        if max(width, height) > MAX_RATIO * min(width, height):
            raise VisualModelError(
                _("A picture of {width} x {height} pixels is too narrow to be looked at.").format(
                    width=number_text(width), height=number_text(height)
                ),
                hint=_("Crop it."),
            )
        return to_rgb(ImageOps.exif_transpose(picture))
    except (OSError, SyntaxError, ValueError, EOFError, struct.error) as error:
        raise VisualModelError(
            _("A picture cannot be read ({kind}).").format(kind=type(error).__name__),
            hint=_("Save it again as PNG, JPEG or WebP."),
        ) from error


# WebP's own limit on a side.
_LONGEST = 16_383


_LEAST_DPI, _MOST_DPI = 50, 1_200  # cameras and screens write 72 and 96 without a sheet, and no scanner less
_GREY = 12  # levels by which the channels of a grey page differ at most, in the means of 16 pixels
_SMOOTH_STEP, _SMOOTH = 6, 0.12  # neighbours that differ by a few levels; the share of them on a page with photographs
_LEVELS = 24
_FEWER_LEVELS = [round(round(value * (_LEVELS - 1) / 255) * 255 / (_LEVELS - 1)) for value in range(256)]


@dataclass(frozen=True, slots=True)
class Picture:
    """A page image as stored. `marks` are packed, or empty. `is_blank`: every pixel has the same colour."""

    width: int
    height: int
    image: bytes
    thumbnail: bytes
    marks: bytes
    is_blank: bool

    def fields(self) -> dict[str, Any]:
        """Return the fields of a `ParsedPage` that show this picture."""
        names = ("width", "height", "image", "thumbnail", "marks")
        return {name: getattr(self, name) for name in names}


def encode(image: Image.Image, rules: Rules) -> Picture:
    """Encode a page of mode RGB, RGBX or L at its size, with its thumbnail, and make its marks for picture search.

    A printed page is stored without loss in 24 levels a channel, which is sharper than a lossy encoding and half its
    size; a page with photographs, in which levels would show as bands, with loss. A page without colour is grey.
    """
    is_blank = all(low == high for low, high in (image.getchannel(band).getextrema() for band in image.getbands()[:3]))
    grey = image if image.mode == "L" else image.convert("RGB").convert("L")
    pixels = np.asarray(grey)
    stored = grey if image.mode == "L" or _is_grey(image) else image.convert("RGB")
    if _is_smooth(pixels):
        data = _webp(stored, quality=rules.image_quality, method=2)
    else:
        data = _webp(stored.point(_FEWER_LEVELS * len(stored.getbands())), lossless=True, quality=0, method=1)
    thumbnail = _webp(shrink(stored, rules.thumbnail_side_px), quality=rules.image_quality, method=2)
    marks = marks_of_page(pixels).pack() if rules.marks and min(image.size) > 1 else b""
    return Picture(image.width, image.height, data, thumbnail, marks, is_blank)


def _is_grey(image: Image.Image) -> bool:
    """Return whether no part of a page has a colour."""
    red, green, blue = (np.asarray(image.getchannel(band).reduce(4), np.int16) for band in "RGB")
    return max(int(np.abs(red - green).max()), int(np.abs(green - blue).max())) <= _GREY


def _is_smooth(grey: np.ndarray) -> bool:
    """Return whether a page has photographs or is one: neighbours of almost the same level. Print has edges and paper.

    `grey` is uint8 (h, w).
    """
    if grey.shape[1] < 2:
        return False
    rows = grey[::4].astype(np.int16)
    steps = np.abs(rows[:, 1:] - rows[:, :-1])
    return float(((steps > 0) & (steps <= _SMOOTH_STEP)).mean()) > _SMOOTH


def blank(rules: Rules) -> Picture:
    """Return the picture of a page that cannot be drawn: an empty upright sheet."""
    side = rules.image_side_px
    return encode(Image.new("RGB", (round(side / 2**0.5), side), "white"), rules)


def shrink(image: Image.Image, side: int) -> Image.Image:
    """Return the image with its longest side at most `side`; itself where it is small enough."""
    longest = max(image.size)
    if longest <= side:
        return image
    # Whole-number reduction first: averaging is cheap, and the rest for the filter is small.
    if longest >= 2 * side:
        image = image.reduce(longest // side)
    scale = side / max(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image if size == image.size else image.resize(size, Image.Resampling.BILINEAR)


def _webp(image: Image.Image, **options: int) -> bytes:
    target = io.BytesIO()
    shrink(image, _LONGEST).save(target, "WEBP", **options)
    return target.getvalue()


# The limit is ours and is checked before a pixel is decoded; Pillow's own would say less.
Image.MAX_IMAGE_PIXELS = None


def open_image(upload: Upload, kind: str, rules: Rules) -> ImageFile:
    """Open a picture. Raises `TooLargeError` by its declared size, `CorruptFileError` where it cannot be decoded."""
    try:
        image = Image.open(io.BytesIO(upload.data), formats=[kind.upper()])
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise CorruptFileError(
            _("{name} is a picture that is broken or was cut off.").format(name=upload.name)
        ) from error
    return ImageFile(image, upload.name, kind, rules)


def open_query(name: str, data: bytes, rules: Rules) -> Image.Image | None:
    """Return an untrusted picture upright as RGB; None where it is none. Raises `ReadingError` as `ImageFile` does."""
    kind, upload = identify(Upload(name, data))
    return open_image(upload, kind, rules).upright(1) if kind in PICTURES else None


class ImageFile:
    """An open picture."""

    losses: tuple[Loss, ...] = ()
    if_blank = None  # a picture in one colour is a picture

    def __init__(self, image: Image.Image, name: str, kind: str, rules: Rules) -> None:
        self._image = image
        self._name = name
        self.facts = facts_of(name)
        self._rules = rules
        self._weigh()
        self.pages = getattr(image, "n_frames", 1) if kind == "tiff" else 1
        if self.pages > rules.max_pages:
            raise TooLargeError(
                _("{name} has {pages} pages; the limit is {max_pages}.").format(
                    name=name, pages=number_text(self.pages), max_pages=number_text(rules.max_pages)
                )
            )

    def page(self, page_no: int) -> ParsedPage:
        """Return one frame as a page: upright, on white, as eight-bit RGB."""
        picture = encode(self.upright(page_no), self._rules)
        return ParsedPage(
            **picture.fields(),
            page_no=page_no,
            text="",
            words=b"",
            text_source="none",
            confidence=0.0,
            needs_ocr=not picture.is_blank,
            dpi=self._dpi(max(picture.width, picture.height)),
        )

    def _dpi(self, side: int) -> int:
        """Return the resolution of a page image with so long a side; 0 where the picture has no likely one."""
        try:
            told = float(self._image.info.get("dpi", (0,))[0])
        except (TypeError, ValueError, IndexError, KeyError, ZeroDivisionError):  # a rational without a divisor
            return 0
        return round(told * side / max(self._image.size)) if _LEAST_DPI <= told <= _MOST_DPI else 0

    def upright(self, page_no: int) -> Image.Image:
        """Return one frame upright as RGB, no larger than a page image."""
        try:
            self._image.seek(page_no - 1)
            self._weigh()
            self._image.load()
            upright = ImageOps.exif_transpose(self._image)
        except (OSError, ValueError, EOFError, SyntaxError) as error:
            raise CorruptFileError(
                _("{name} is a picture that is broken or was cut off.").format(name=self._name)
            ) from error
        return to_rgb(shrink_for(upright, self._rules.image_side_px))

    def _weigh(self) -> None:
        width, height = self._image.size
        limit = self._rules.max_page_megapixels
        if width * height > limit * 1e6:
            raise TooLargeError(
                _("{name} is {width} by {height} pixels; the limit is {limit} megapixels.").format(
                    name=self._name, width=number_text(width), height=number_text(height), limit=number_text(limit, 0)
                ),
                hint=_("Save it smaller, or raise DOCMIND_READING__MAX_PAGE_MEGAPIXELS."),
            )


def shrink_for(image: Image.Image, side: int) -> Image.Image:
    """Shrink an image; modes that do not allow averaging are converted to RGB first."""
    if max(image.size) <= side:
        return image
    return shrink(image if image.mode in ("RGB", "RGBX", "L", "CMYK") else to_rgb(image), side)


def to_rgb(image: Image.Image) -> Image.Image:
    """Convert any mode to RGB: 16-bit and float greys are scaled to their range, transparency is put on white.

    Pillow itself reverses the inverted CMYK of Adobe's JPEG files while decoding.
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
    """Scale 16-bit grey: a narrower range than 16 bits is stretched, or a 12-bit scan would be black."""
    values = np.nan_to_num(values)
    low, high = float(values.min()), float(values.max())
    if low >= 0 and 32_768 <= high <= 65_535:
        low, high = 0.0, 65_535.0
    elif low >= 0 and high <= 255:
        low, high = 0.0, 255.0
    scaled = (values - low) * (255.0 / max(high - low, 1e-9))
    return Image.fromarray(np.clip(np.rint(scaled), 0, 255).astype(np.uint8))
