"""Similarity maps: which tokens spell which word, what is merged, and that a page stays readable under one."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageDraw

from docmind.records.search import HeatMap
from docmind.visual import similarity_map


def heat_map(tokens: tuple[str, ...], values: np.ndarray) -> HeatMap:
    """`values` (tokens, rows, cols), 0..255."""
    return HeatMap("m", "d::page::1", tokens, values.shape[1], values.shape[2], values.astype(np.uint8).tobytes())


def of_tokens(*tokens: str) -> HeatMap:
    return heat_map(tokens, np.zeros((len(tokens), 2, 2)))


@pytest.mark.parametrize(
    ("tokens", "question", "spelt"),
    [
        (
            ("<bos>", "Query", ":", "▁What", "▁is", "▁the", "▁defl", "ator", "?", "<pad>", "<pad>"),
            "What is the “deflator”?",
            [("What", (3,)), ("is", (4,)), ("the", (5,)), ("deflator", (6, 7))],
        ),
        (
            ("[CLS]", "net", "sal", "##es", "18", ".", "2", "%", "[SEP]"),
            "Net sales 18.2%",
            [("Net", (1,)), ("sales", (2, 3)), ("18.2%", (4, 6))],
        ),
        (
            ("em", "iss", "Ã£o", "Ġde", "ĠaÃ§", "Ãµes"),
            "emissão de ações?",
            [("emissão", (0, 1, 2)), ("de", (3,)), ("ações", (4, 5))],
        ),
        (("Sales", "▁sales"), "sales, sales!", [("sales", (0,)), ("sales", (1,))]),
        (("<bos>", "<pad>"), "bos pad", []),
        (("▁other", "▁words"), "none of these", []),
    ],
    ids=["SentencePiece", "WordPiece", "byte-level BPE", "twice", "special tokens", "another question"],
)
def test_words_are_put_together_from_tokens(
    tokens: tuple[str, ...], question: str, spelt: list[tuple[str, tuple[int, ...]]]
) -> None:
    found = [(word.text, word.tokens) for word in similarity_map.words_of(of_tokens(*tokens), question)]
    assert found == spelt


def test_content_words_are_merged_and_one_word_is_drawn_as_it_is() -> None:
    the, sales_one, sales_two, grew = np.zeros((4, 4, 4))
    the[3, 3], sales_one[0, 0], sales_two[0, 1], grew[0, 0] = 255, 255, 255, 255
    shown = heat_map(("▁the", "▁sal", "es", "▁grew"), np.stack([the, sales_one, sales_two, grew]))
    words = similarity_map.words_of(shown, "the sales grew")
    merged = similarity_map.strength(shown, words)
    assert merged[0, 0] == 1.0, "both words"
    assert merged[0, 1] == pytest.approx(0.5), "one of two words"
    assert merged[3, 3] == 0.0, "an article says nothing"
    assert similarity_map.strength(shown, words[:1])[3, 3] == 1.0, "unless it is what was chosen"
    assert similarity_map.strength(shown)[3, 3] > 0, "without words every token counts"


def test_a_page_that_answers_everywhere_alike_has_no_place() -> None:
    assert not similarity_map.strength(heat_map(("a",), np.full((1, 3, 3), 200))).any()
    assert not similarity_map.strength(HeatMap("m", "d::page::1", (), 2, 2, b"")).any()


def paper() -> tuple[bytes, np.ndarray]:
    """Return a page of lines, as PNG and as pixels."""
    page = Image.new("RGB", (400, 600), "white")
    brush = ImageDraw.Draw(page)
    for y in range(20, 580, 24):
        brush.text((20, y), "net sales increased by 18.2 percent in the quarter", fill="black", font_size=14)
    out = io.BytesIO()
    page.save(out, "PNG")
    return out.getvalue(), np.asarray(page, np.float32)


def pixels_of(jpeg: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB"), np.float32)


def luminance(pixels: np.ndarray) -> np.ndarray:
    """Return the relative luminance, after WCAG 2."""
    part = pixels / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return linear @ np.array([0.2126, 0.7152, 0.0722])


def test_text_is_read_through_the_strongest_colour() -> None:
    image, plain = paper()
    hot = pixels_of(similarity_map.drawn(image, np.ones((8, 8), np.float32)))
    light = luminance(hot)
    print_, blank = light[plain.max(axis=2) < 40], light[plain.min(axis=2) > 250]
    contrast = (np.median(blank) + 0.05) / (np.median(print_) + 0.05)
    assert contrast >= 4.5, f"{contrast:.1f}:1"
    assert np.median(hot[..., 0] - hot[..., 1]) > 80, "and the colour is seen"


def test_heat_lies_where_it_belongs_and_nowhere_else() -> None:
    image, plain = paper()
    grid = np.zeros((12, 8), np.float32)
    grid[2, 6] = 1.0  # row 2 of 12, column 6 of 8
    changed = np.abs(pixels_of(similarity_map.drawn(image, grid)) - plain).max(axis=2) > 60
    rows, cols = np.nonzero(changed)
    assert abs(rows.mean() / 600 - 2.5 / 12) < 0.02
    assert abs(cols.mean() / 400 - 6.5 / 8) < 0.02
    assert changed[:, :200].sum() == 0
    assert changed[300:].sum() == 0
    assert pixels_of(similarity_map.drawn(image, grid, width=200)).shape == (300, 200, 3)


def test_a_figure_on_a_dark_ground_shows_its_heat_too() -> None:
    out = io.BytesIO()
    Image.new("RGB", (200, 200), (15, 25, 55)).save(out, "PNG")
    grid = np.zeros((4, 4), np.float32)
    grid[0, 0] = 1.0
    shown = luminance(pixels_of(similarity_map.drawn(out.getvalue(), grid)))
    assert shown[10, 10] > 3 * shown[180, 180]


def test_the_colours_are_even_and_can_be_told_without_colour() -> None:
    colours = similarity_map.colours()
    assert colours.shape == (256, 3)
    assert (np.diff(luminance(colours * 255)) < 0).all(), "darker with every step"
    steps = np.linalg.norm(np.diff(lab(colours), axis=0), axis=1)
    assert steps.max() / steps.min() < 1.35


def lab(colours: np.ndarray) -> np.ndarray:
    """Convert sRGB to CIELAB (D65): an independent perceptual measure from the one used to make the colours."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = linear @ to_xyz.T / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


def test_the_legend_goes_from_weak_to_strong() -> None:
    bar = pixels_of(similarity_map.legend(100, 10))
    assert bar.shape == (10, 100, 3)
    assert bar[5, 2].min() > 235
    assert bar[5, 97, 0] - bar[5, 97, 1] > 100
