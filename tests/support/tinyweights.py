"""The files of a model that can be described and fetched, but not run: made in a millisecond, without torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

SIGLIP = "google/siglip-base-patch16-224"
COLPALI = "vidore/colpali-v1.3-hf"


def tiny_files(architecture: str = "siglip", *, numbers: int = 50_000, **config: Any) -> dict[str, bytes]:
    """Return a complete checkpoint by file name; `numbers` float32 values are its weights."""
    told = {"model_type": architecture, "vision_config": {"hidden_size": 24}, "embedding_dim": 48, **config}
    values = np.random.default_rng(numbers).standard_normal(numbers).astype(np.float32)
    return {
        "config.json": json.dumps(told).encode(),
        "model.safetensors": save({"weight": values}),
        "preprocessor_config.json": b'{"size": 32}',
        "tokenizer.json": b'{"version": "1.0"}',
        "tokenizer_config.json": b"{}",
    }


def sharded(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the same files with the weights in two files and an index."""
    names = [f"model-0000{part}-of-00002.safetensors" for part in (1, 2)]
    parts = {name: save({f"weight{at}": np.full(1_000, at, np.float32)}) for at, name in enumerate(names)}
    index = {"metadata": {}, "weight_map": {f"weight{at}": name for at, name in enumerate(names)}}
    kept = {name: data for name, data in files.items() if name != "model.safetensors"}
    return {**kept, **parts, "model.safetensors.index.json": json.dumps(index).encode()}


def written(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder
