"""Models in colpali-engine's form, through that package's classes, where the extra `colpali` is installed.

Runs in a child process; see `visual_process`. Written against colpali-engine 0.3.18.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from docmind.embedding.colpali import ColVision, GridOf, oblong_grid, square_grid, tiled_grid
from docmind.embedding.pretrained import LOCAL, load_weights
from docmind.errors import VisualModelError
from docmind.runtime import need_extra

CLASSES: dict[str, tuple[str, GridOf]] = {
    "ColPali": ("ColPaliProcessor", square_grid),
    "ColQwen2": ("ColQwen2Processor", oblong_grid),
    "ColQwen2_5": ("ColQwen2_5_Processor", oblong_grid),
    "ColIdefics3": ("ColIdefics3Processor", tiled_grid),
}
"""By the class under `architectures` in config.json: its processor in `colpali_engine.models`, and its grid."""


def open_engine(directory: Path, *, device: str, precision: str) -> ColVision:
    """Open a model through colpali-engine's classes.

    Raises `ExtraMissingError`, and `VisualModelError` where config.json names none of `CLASSES`.
    """
    need_extra("colpali")
    engine = importlib.import_module("colpali_engine.models")

    named = json.loads((directory / "config.json").read_text("utf-8")).get("architectures") or []
    name = next((name for name in named if name in CLASSES), None)
    if name is None:
        raise VisualModelError(
            "Its config.json names no class of colpali-engine that DocMind can run.",
            hint=f"Those are: {', '.join(CLASSES)}.",
        )
    processor_name, grid_of = CLASSES[name]
    processor: Any = getattr(engine, processor_name).from_pretrained(directory, **LOCAL)
    model = load_weights(getattr(engine, name), directory, device=device, precision=precision)
    return ColVision(model, processor, grid_of)
