"""The ColPali family through transformers' classes: a vector per patch of a page, a vector per query token.

Runs in a child process; see `visual_process`.

The cell of the page that each token covers is derived from the tokens and sizes that a model was given.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from transformers import (
    ColModernVBertForRetrieval,
    ColModernVBertProcessor,
    ColPaliForRetrieval,
    ColPaliProcessor,
    ColQwen2ForRetrieval,
    ColQwen2Processor,
)

from docmind.embedding.base import PagePatches, QueryPatches
from docmind.embedding.pretrained import LOCAL, load_weights, normalised, placed
from docmind.errors import VisualModelError

_TILE = re.compile(r"<row_(\d+)_col_(\d+)>")

Grid = tuple[int, int, np.ndarray]
"""Rows, columns, and `(tokens,)` int32: the token's cell `row * cols + col`, or -1 where it has none."""


def square(is_image: np.ndarray) -> Grid:
    """Return the grid of a page resized to a square: as many rows as columns, row by row (ColPali).

    >>> square(np.array([True, True, True, True, False]))
    (2, 2, array([ 0,  1,  2,  3, -1], dtype=int32))
    """
    side = math.isqrt(int(is_image.sum()))
    return _filled(is_image, side, side)


def oblong(is_image: np.ndarray, patches: tuple[int, int], merge: int) -> Grid:
    """Return the grid of a page that keeps its shape (ColQwen2).

    It is `patches` high and wide, and `merge` x `merge` patches become one token.
    """
    return _filled(is_image, patches[0] // merge, patches[1] // merge)


def tiled(ids: Sequence[int], image_id: int, decode: Callable[[Sequence[int]], str]) -> Grid:
    """Return the grid of a page given in tiles and once more as a whole (ColModernVBERT, ColIdefics3).

    Each run of image tokens follows its name, `<row_2_col_1>` or that of the whole page. The tiles form one grid;
    the tokens of the whole page have no cell, unless the page was not cut at all.
    """
    is_image = np.asarray(ids) == image_id
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_image, [False]])))
    runs = [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]
    tiles: dict[tuple[int, int], int] = {}
    before = 0
    for start, end in runs:
        named = _TILE.findall(decode(ids[before:start]))
        if named:
            row, col = named[-1]
            tiles[int(row) - 1, int(col) - 1] = start
        before = end
    sizes = {end - start for start, end in runs}
    side = math.isqrt(min(sizes, default=0))
    if not tiles and len(runs) == 1:
        return square(is_image)
    rows, cols = (max(numbers) + 1 for numbers in zip(*tiles, strict=True)) if tiles else (0, 0)
    if len(sizes) != 1 or side * side not in sizes or set(tiles) != {(r, c) for r in range(rows) for c in range(cols)}:
        raise _strange()
    patches = np.full(len(ids), -1, np.int32)
    inside_row, inside_col = np.divmod(np.arange(side * side), side)
    for (row, col), start in tiles.items():
        cells = (row * side + inside_row) * cols * side + col * side + inside_col
        patches[start : start + side * side] = cells
    return rows * side, cols * side, patches


def _filled(is_image: np.ndarray, rows: int, cols: int) -> Grid:
    if rows * cols == 0 or rows * cols != int(is_image.sum()):
        raise _strange()
    patches = np.full(len(is_image), -1, np.int32)
    patches[is_image] = np.arange(rows * cols)
    return rows, cols, patches


def _strange() -> VisualModelError:
    return VisualModelError(
        "The model cut a page into patches that make no grid.",
        hint="Its processor files do not fit its weights: fetch it again, or choose another model.",
    )


GridOf = Callable[[Any, Any], Grid]
"""Processor and the inputs it made for one page -> the grid of its tokens."""


def square_grid(processor: Any, inputs: Any) -> Grid:
    return square(inputs["input_ids"][0].numpy() == processor.image_token_id)


def oblong_grid(processor: Any, inputs: Any) -> Grid:
    _, high, wide = inputs["image_grid_thw"][0].tolist()
    is_image = inputs["input_ids"][0].numpy() == processor.image_token_id
    return oblong(is_image, (high, wide), int(processor.image_processor.merge_size))


def tiled_grid(processor: Any, inputs: Any) -> Grid:
    return tiled(inputs["input_ids"][0].tolist(), processor.image_token_id, processor.tokenizer.decode)


CLASSES: dict[str, tuple[Any, Any, GridOf]] = {
    "colpali": (ColPaliForRetrieval, ColPaliProcessor, square_grid),
    "colqwen2": (ColQwen2ForRetrieval, ColQwen2Processor, oblong_grid),
    "colmodernvbert": (ColModernVBertForRetrieval, ColModernVBertProcessor, tiled_grid),
}
"""By `model_type`."""


class ColVision:
    """A late interaction model, its processor and its patch grid. Thread-safe; a question runs before waiting pages."""

    def __init__(self, model: Any, processor: Any, grid_of: GridOf) -> None:
        self._model, self._processor, self._grid_of = model, processor, grid_of
        self._preparing = threading.Lock()  # two threads in one tokenizer make it fail

    def page(self, picture: Image.Image) -> PagePatches:
        """Embed one page; pages are not batched, because padding would cost more than a batch gains."""
        with self._preparing:
            inputs = self._processor.process_images(images=[picture])
            rows, cols, patches = self._grid_of(self._processor, inputs)
        return PagePatches(self._vectors(inputs), rows, cols, patches)

    def query(self, text: str) -> QueryPatches:
        """Embed one question with the prefix and padding of the model's training; each of these has a vector."""
        tokenizer = self._processor.tokenizer
        for token in (*tokenizer.all_special_tokens, self._processor.image_token):
            text = text.replace(token, " ")
        prefix = getattr(self._processor, "query_prefix", None) or ""
        with self._preparing:
            inputs = self._processor.process_queries([text])
            tokens = readable(tokenizer, inputs["input_ids"][0].tolist(), prefix)
        return QueryPatches(self._vectors(inputs), tokens)

    def _vectors(self, inputs: Any) -> np.ndarray:
        with torch.inference_mode():
            given = {name: value for name, value in placed(inputs, self._model).items() if name != "labels"}
            output = self._model(**given, **_positions(self._model, given))
        # transformers returns a record, colpali-engine the tensor itself
        return normalised((output if isinstance(output, torch.Tensor) else output.embeddings)[0]).numpy()


def open_colpali(directory: Path, architecture: str, *, device: str, precision: str) -> ColVision:
    """Open a model through transformers' own classes."""
    model_class, processor_class, grid_of = CLASSES[architecture]
    processor = processor_class.from_pretrained(directory, **LOCAL)
    return ColVision(load_weights(model_class, directory, device=device, precision=precision), processor, grid_of)


def _positions(model: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return rows and columns as positions for ColQwen2, as in its training; this class would count in one line.

    colpali-engine's class computes them itself.
    """
    if "image_grid_thw" not in given or not isinstance(model, ColQwen2ForRetrieval):
        return {}
    vlm: Any = model.vlm
    is_image = (given["input_ids"] == vlm.config.image_token_id).int()
    positions, _ = vlm.get_rope_index(
        given["input_ids"],
        mm_token_type_ids=is_image,
        image_grid_thw=given["image_grid_thw"],
        attention_mask=given["attention_mask"],
    )
    return {"position_ids": positions}


def readable(tokenizer: Any, ids: list[int], prefix: str) -> tuple[str, ...]:
    """Return the part of the question that each token shows; empty for the model's own words before and after it.

    A letter that is spread over several tokens is shown by the last of them.
    """
    special = set(tokenizer.all_special_ids)
    lead = tokenizer(prefix.strip(), add_special_tokens=False)["input_ids"] if prefix.strip() else []
    shown: list[str] = []
    held: list[int] = []
    for number in ids:
        if number in special:
            shown.append("")
            held = []
        elif lead and number == lead[0]:
            shown.append("")
            lead = lead[1:]
        else:
            lead = []
            held.append(number)
            piece = str(tokenizer.decode(held)).strip()
            is_whole = "�" not in piece
            shown.append(piece if is_whole else "")
            held = [] if is_whole else held
    return tuple(shown)
