"""The ColPali family by transformers' own classes: a page as a vector a patch, a question as a vector a token.

Runs in a child process; see `vision_serve`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
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

from docmind.embed.grid import Grid, oblong, square, tiled
from docmind.embed.pretrained import LOCAL, load_weights, normalised, placed
from docmind.embed.visual import PagePatches, QueryPatches

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
    """A late model, its processor and how its patches lie. Safe from any thread; a question overtakes a page."""

    def __init__(self, model: Any, processor: Any, grid_of: GridOf) -> None:
        self._model, self._processor, self._grid_of = model, processor, grid_of
        self._preparing = threading.Lock()  # two threads in one tokenizer make it fail

    def page(self, picture: Image.Image) -> PagePatches:
        """One page; pages are not put together, because padding would cost more than a batch gains."""
        with self._preparing:
            inputs = self._processor.process_images(images=[picture])
            rows, cols, patches = self._grid_of(self._processor, inputs)
        return PagePatches(self._vectors(inputs), rows, cols, patches)

    def query(self, text: str) -> QueryPatches:
        """One question with the prefix and the padding that the model was trained with; each has a vector."""
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
        # transformers gives a record, colpali-engine the tensor itself
        return normalised((output if isinstance(output, torch.Tensor) else output.embeddings)[0]).numpy()


def open_colpali(directory: Path, architecture: str, *, device: str, precision: str) -> ColVision:
    """A model of transformers' own classes."""
    model_class, processor_class, grid_of = CLASSES[architecture]
    processor = processor_class.from_pretrained(directory, **LOCAL)
    return ColVision(load_weights(model_class, directory, device=device, precision=precision), processor, grid_of)


def _positions(model: Any, given: dict[str, Any]) -> dict[str, Any]:
    """ColQwen2 was trained with rows and columns as positions; left to itself, this class counts patches in one line.

    colpali-engine's class works them out by itself.
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
    """What each token shows of the question; empty for the model's own words before and after it.

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
