"""Similarity maps: where on a page the match is, drawn over its image, for a question or some of its words.

They are drawn on the server, so that they look the same in every theme. Strength is shown by colour and by opacity;
dark print stays dark under any colour, so that text can be read through it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageFilter

from docmind.language import STOP_WORDS, folded
from docmind.records.search import HeatMap

_SPECIAL = re.compile(r"<.*>|\[[A-Z]+\]", re.DOTALL)
_NOT_LETTERS = re.compile(r"[\W_]+")
_FLOOR = 0.25  # quantile of a page's patches below which nothing is drawn: a match of the whole page has no place
_COVER = 0.82  # opacity of the colour where the match is strongest
_PRINT, _GROUND = 0.12, 0.5  # share of the colour on black print, and on a background that is black all over
_STEPS = 256
_STRONG = 0.9  # of the strongest
_PATH = ((0.94, 0.09, 98.0), (0.855, 0.13, 74.0), (0.77, 0.15, 47.0), (0.685, 0.18, 20.0), (0.60, 0.20, 355.0))
"""Lightness, chroma and hue in OKLCH: amber to red with falling lightness, so it is readable without colour."""


class Word(NamedTuple):
    """A word of the question and the map's tokens that spell it. `is_telling` is False for words like "of"."""

    text: str
    tokens: tuple[int, ...]
    is_telling: bool


def words_of(heat: HeatMap, question: str) -> tuple[Word, ...]:
    """Return the words of the question that the map has tokens for, in order; () if the tokens spell none of them.

    Tokens may have the markers of WordPiece, SentencePiece or byte-level BPE; tokens added by the model are skipped.
    """
    spelt = [_letters(_plain(token)) for token in heat.tokens]
    words: list[Word] = []
    start = 0
    for text in question.split():
        wanted = _letters(text)
        tokens = _spelling(spelt, wanted, start)
        if tokens:
            start = tokens[-1] + 1
            shown = text.strip("\"'“”‘’«»()[]{}.,;:!?¿¡…")
            words.append(Word(shown or text, tokens, len(wanted) > 1 and wanted not in STOP_WORDS))
    return tuple(words)


def strength(heat: HeatMap, words: Sequence[Word] = ()) -> np.ndarray:
    """Return (rows, cols) float32 in 0..1, the best patch 1: the mean over content words of each one's best token.

    One word is drawn as it is; without words every token counts. All zeros where no patch stands out.
    """
    tokens = np.frombuffer(heat.values, np.uint8).reshape(len(heat.tokens), heat.rows, heat.cols).astype(np.float32)
    chosen = [word for word in words if word.is_telling] or list(words)
    parts = [tokens[list(word.tokens)].max(axis=0) for word in chosen] or list(tokens)
    if not parts:
        return np.zeros((heat.rows, heat.cols), np.float32)
    merged = np.mean(parts, axis=0, dtype=np.float32)
    floor, best = float(np.quantile(merged, _FLOOR)), float(merged.max())
    if best - floor < 1.0:
        return np.zeros_like(merged)
    return np.clip((merged - floor) / (best - floor), 0.0, 1.0)


def strongest_ninth(grid: np.ndarray) -> tuple[int, int] | None:
    """Return row and column, 0..2 each, of the ninth of the page with most of the strong cells; None without any."""
    rows, cols = np.nonzero(grid > _STRONG)
    if not len(rows):
        return None
    ninths = (rows * 3 // grid.shape[0]) * 3 + cols * 3 // grid.shape[1]
    row, col = divmod(int(np.bincount(ninths).argmax()), 3)
    return row, col


def drawn(image: bytes, grid: np.ndarray, *, width: int = 0) -> bytes:
    """Return the page as JPEG under its map: `grid` (rows, cols) in 0..1 spans the page; scaled down to `width`."""
    page = Image.open(io.BytesIO(image)).convert("RGB")
    if 0 < width < page.width:
        page = page.resize((width, max(1, round(page.height * width / page.width))), Image.Resampling.LANCZOS)
    field = Image.fromarray(np.asarray(grid, np.float32)).resize(page.size, Image.Resampling.BICUBIC)
    hot = np.clip(np.asarray(field), 0.0, 1.0)
    pixels = np.asarray(page, np.float32) / 255
    colour = colours()[(hot * (_STEPS - 1)).astype(np.intp)]
    light = pixels @ np.array((0.2126, 0.7152, 0.0722), np.float32)
    least = _GROUND + (_PRINT - _GROUND) * _ground(page)
    inked = colour * (least + (1 - least) * light)[..., None]
    cover = (_COVER * _ease(hot))[..., None]
    return _jpeg(pixels * (1 - cover) + inked * cover)


def legend(width: int = 320, height: int = 20) -> bytes:
    """Return a bar from weak to strong as JPEG, as it looks on white paper."""
    hot = np.linspace(0, 1, width, dtype=np.float32)
    cover = (_COVER * _ease(hot))[:, None]
    row = 1 - cover + colours()[(hot * (_STEPS - 1)).astype(np.intp)] * cover
    return _jpeg(np.repeat(row[None], height, axis=0))


@cache
def colours() -> np.ndarray:
    """Return (256, 3) float32 sRGB in 0..1: equal steps of strength are perceptually equal (distances in OKLab)."""
    lightness, chroma, hue = (np.array(part) for part in zip(*_PATH, strict=True))
    turn = np.unwrap(np.radians(hue))
    at = np.linspace(0, 1, len(_PATH))
    fine = np.linspace(0, 1, 4096)
    lab = _lab(np.interp(fine, at, lightness), np.interp(fine, at, chroma), np.interp(fine, at, turn))
    walked = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(lab, axis=0), axis=1))])
    even = np.linspace(0, walked[-1], _STEPS)
    lab = np.stack([np.interp(even, walked, lab[:, part]) for part in range(3)], axis=1)
    return _srgb(lab).astype(np.float32)


def _ground(page: Image.Image) -> np.ndarray:
    """Return (height, width) in 0..1: the lightness of the paper, as it would be without the print on it."""
    small = page.convert("L").resize((max(1, page.width // 8), max(1, page.height // 8)), Image.Resampling.BOX)
    return np.asarray(small.filter(ImageFilter.MedianFilter(9)).resize(page.size), np.float32) / 255


def _lab(lightness: np.ndarray, chroma: np.ndarray, turn: np.ndarray) -> np.ndarray:
    return np.stack([lightness, chroma * np.cos(turn), chroma * np.sin(turn)], axis=1)


def _srgb(lab: np.ndarray) -> np.ndarray:
    """Convert OKLab to sRGB, after Björn Ottosson, "A perceptual color space for image processing" (2020)."""
    to_cone = np.array(
        [[1, 0.3963377774, 0.2158037573], [1, -0.1055613458, -0.0638541728], [1, -0.0894841775, -1.2914855480]]
    )
    to_light = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    )
    light = np.clip((lab @ to_cone.T) ** 3 @ to_light.T, 0, 1)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def _ease(hot: np.ndarray) -> np.ndarray:
    """Reduce weak matches, so that near-zero values do not tint the whole page."""
    return hot * hot * (3 - 2 * hot)


def _plain(token: str) -> str:
    if _SPECIAL.fullmatch(token):
        return ""
    token = token.removeprefix("##").replace("▁", " ").replace("Ġ", " ").replace("Ċ", " ")
    try:
        return token.encode("latin-1").decode("utf-8")  # byte-level BPE writes each byte as one letter
    except UnicodeError:
        return token


def _letters(text: str) -> str:
    return _NOT_LETTERS.sub("", folded(text))


def _spelling(spelt: Sequence[str], wanted: str, start: int) -> tuple[int, ...]:
    """Return the first run of tokens from `start` on that spells the word, skipping tokens without letters."""
    for first in range(start, len(spelt)) if wanted else ():
        so_far, tokens = "", []
        for index in range(first, len(spelt)):
            if not wanted.startswith(so_far + spelt[index]):
                break
            if spelt[index]:
                so_far += spelt[index]
                tokens.append(index)
            elif not tokens:
                break
            if so_far == wanted:
                return tuple(tokens)
    return ()


def _jpeg(pixels: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray((np.clip(pixels, 0, 1) * 255 + 0.5).astype(np.uint8)).save(out, "JPEG", quality=88)
    return out.getvalue()
