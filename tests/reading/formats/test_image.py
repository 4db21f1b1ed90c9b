"""Pictures as pages."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

import papers
from docmind.errors import CorruptFileError, TooLargeError
from docmind.reading.formats import Rules
from docmind.reading.formats.image import open_image, to_rgb
from docmind.records.documents import Upload

RULES = Rules()


def page_of(data: bytes, kind: str, page_no: int = 1, rules: Rules = RULES):
    return open_image(Upload(f"a.{kind}", data), kind, rules).page(page_no)


def seen(page) -> Image.Image:
    return Image.open(io.BytesIO(page.image)).convert("RGB")


@pytest.mark.parametrize(
    ("kind", "mode"), [("PNG", "1"), ("PNG", "L"), ("PNG", "P"), ("PNG", "RGBA"), ("PNG", "LA"), ("JPEG", "CMYK")]
)
def test_every_mode_keeps_dark_dark_and_light_light(kind: str, mode: str) -> None:
    if mode == "CMYK":
        image = Image.new("CMYK", (120, 80), (0, 0, 0, 0))
        image.paste((0, 0, 0, 255), (0, 0, 60, 80))
        out = io.BytesIO()
        image.save(out, "JPEG")
        data = out.getvalue()
    else:
        data = papers.picture(kind, mode)
    page = page_of(data, kind.lower())
    left, right = seen(page).getpixel((10, 40)), seen(page).getpixel((110, 40))
    assert max(left) < 40  # type: ignore[arg-type]
    assert min(right) > 215  # type: ignore[arg-type]
    assert page.needs_ocr


def test_transparent_is_white() -> None:
    assert to_rgb(Image.new("RGBA", (4, 4), (0, 0, 0, 0))).getpixel((1, 1)) == (255, 255, 255)


def test_sixteen_bits_are_scaled_not_clipped() -> None:
    full = Image.fromarray(np.array([[0, 32_768, 65_535]], dtype=np.uint16))
    assert [to_rgb(full).getpixel((x, 0))[0] for x in range(3)] == [0, 128, 255]  # type: ignore[index]
    twelve = Image.fromarray(np.array([[0, 2_048, 4_095]], dtype=np.uint16))
    assert [to_rgb(twelve).getpixel((x, 0))[0] for x in range(3)] == [0, 128, 255]  # type: ignore[index]


def test_exif_orientation_is_applied() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    page = page_of(papers.picture("JPEG", exif=exif), "jpeg")
    assert (page.width, page.height) == (80, 120)
    assert max(seen(page).getpixel((40, 10))) < 40  # type: ignore[arg-type]


def test_frames_of_a_tiff_are_pages_those_of_a_gif_are_not() -> None:
    frames = [Image.new("RGB", (20, 10), colour) for colour in ("red", "green", "blue")]
    for kind, pages in (("TIFF", 3), ("GIF", 1), ("WEBP", 1)):
        out = io.BytesIO()
        frames[0].save(out, kind, save_all=True, append_images=frames[1:])
        opened = open_image(Upload("a", out.getvalue()), kind.lower(), Rules())
        assert opened.pages == pages
        assert opened.page(pages).width == 20


def test_large_pictures_shrink_and_declared_bombs_are_refused() -> None:
    assert page_of(papers.picture("PNG", "L", (4_000, 100)), "png").width == 1_600
    with pytest.raises(TooLargeError, match="4,000 by 100"):
        page_of(papers.picture("PNG", "L", (4_000, 100)), "png", rules=Rules(max_page_megapixels=0.1))


def test_a_picture_that_was_cut_off() -> None:
    with pytest.raises(CorruptFileError):
        page_of(papers.picture("PNG", "RGB", (500, 500))[:300], "png")
