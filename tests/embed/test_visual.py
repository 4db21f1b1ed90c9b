"""What every visual model offers, shown on the fakes; and how patches lie on a page, by hand."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from docmind.embed.fake import FakeImageModel, FakeLateModel
from docmind.embed.grid import oblong, square, tiled
from docmind.embed.picture import open_picture
from docmind.embed.visual import ImageModel, LateModel
from docmind.errors import VisualModelError


def picture(colour: str | tuple[int, ...], size: tuple[int, int] = (210, 297), kind: str = "WEBP") -> bytes:
    out = io.BytesIO()
    Image.new("RGBA" if len(colour) == 4 else "RGB", size, colour).save(out, kind)
    return out.getvalue()


def test_the_fake_image_model_finds_pages_by_colour() -> None:
    model: ImageModel = FakeImageModel()
    pages = model.embed_images([picture("red"), picture("blue"), picture("white")])
    assert pages.shape == (3, model.dim)
    assert pages.dtype == np.float32
    assert np.linalg.norm(pages, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    assert int((pages @ model.embed_text("a red one")).argmax()) == 0
    assert int((pages @ model.embed_images([picture((30, 60, 210))])[0]).argmax()) == 1
    assert model.embed_images([]).shape == (0, model.dim)


def test_the_fake_late_model_finds_the_place_on_the_page() -> None:
    model: LateModel = FakeLateModel()
    page = Image.new("RGB", (400, 200), "white")
    page.paste("red", (300, 100, 400, 200))
    out = io.BytesIO()
    page.save(out, "PNG")
    (patches,) = model.embed_images([out.getvalue()])
    assert (patches.rows, patches.cols) == (4, 8)
    query = model.embed_query("Red!")
    assert query.tokens == ("red",)
    best = patches.patches[(patches.vectors @ query.vectors[0]).argsort()[-4:]]
    assert sorted(best.tolist()) == [22, 23, 30, 31]  # the lower right corner: rows 2 and 3, columns 6 and 7
    assert model.embed_query("").vectors.shape == (1, model.dim)


# --- grids ------------------------------------------------------------------------------------------------------------


def test_a_square_page_stands_row_by_row() -> None:
    rows, cols, patches = square(np.array([1, 1, 1, 1, 0, 0], bool))
    assert (rows, cols, patches.tolist()) == (2, 2, [0, 1, 2, 3, -1, -1])


def test_an_oblong_page_has_the_shape_that_its_patches_merge_to() -> None:
    rows, cols, patches = oblong(np.array([0, *[1] * 6, 0], bool), (4, 6), 2)
    assert (rows, cols, patches.tolist()) == (2, 3, [-1, 0, 1, 2, 3, 4, 5, -1])


def test_tiles_make_one_grid_and_the_whole_page_none() -> None:
    """Two tiles side by side, each 2 x 2: the second row of the grid begins with the second row of the first tile."""
    names = {90: "<row_1_col_1>", 91: "<row_1_col_2>", 92: "\n<global-img>"}
    ids = [7, 90, *[5] * 4, 91, *[5] * 4, 92, *[5] * 4, 8]
    rows, cols, patches = tiled(ids, 5, lambda few: "".join(names.get(one, "") for one in few))
    assert (rows, cols) == (2, 4)
    assert patches.tolist() == [-1, -1, 0, 1, 4, 5, -1, 2, 3, 6, 7, *[-1] * 6]


def test_a_page_that_was_not_cut_is_its_own_grid() -> None:
    assert tiled([92, 5, 5, 5, 5], 5, lambda _few: "<global-img>")[:2] == (2, 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: square(np.array([1, 1, 1], bool)),
        lambda: square(np.array([0, 0], bool)),
        lambda: oblong(np.array([1] * 5, bool), (4, 6), 2),
        lambda: tiled([90, 5, 5, 5, 5, 92, 5], 5, lambda few: "<row_1_col_1>" if 90 in few else ""),
        lambda: tiled([91, 5, 92, 5], 5, lambda few: "<row_1_col_2>" if 91 in few else ""),
        lambda: tiled([1, 2], 5, lambda _few: ""),
    ],
    ids=["three", "none", "too few", "runs of two lengths", "a tile is missing", "no image at all"],
)
def test_what_makes_no_grid_is_refused(make) -> None:
    with pytest.raises(VisualModelError, match="no grid"):
        make()


# --- pictures ---------------------------------------------------------------------------------------------------------


def test_a_picture_is_turned_upright_and_laid_on_white() -> None:
    out = io.BytesIO()
    tag = Image.Exif()
    tag[0x0112] = 6
    Image.new("RGB", (40, 20), "red").save(out, "JPEG", exif=tag)
    assert open_picture(out.getvalue()).size == (20, 40)
    assert open_picture(picture((0, 0, 0, 0), kind="PNG")).getpixel((0, 0)) == (255, 255, 255)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "cannot be read"),
        (b"%PDF-1.7", "cannot be read"),
        (picture("red", kind="PNG")[:80], "cannot be read"),
        (picture("red", (9_000, 9_000), "PNG"), "too large"),
        (picture("red", (2_000, 10), "PNG"), "too narrow"),
    ],
    ids=["nothing", "no picture", "cut short", "a bomb", "a strip"],
)
def test_what_is_no_picture_is_refused(data: bytes, told: str) -> None:
    with pytest.raises(VisualModelError, match=told):
        open_picture(data)
