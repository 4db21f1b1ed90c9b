"""A directory with the files of one model, looked at without loading it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docmind.seeing import ModelKind
from docmind.weights.known import ENGINE, KINDS

CONFIG = "config.json"
INDEX = "model.safetensors.index.json"
WHOLE = "model.safetensors"
ADAPTER = "adapter_config.json"
TOKENIZER = ("tokenizer.json", "tokenizer_config.json")
PROCESSORS = ("preprocessor_config.json", "processor_config.json")
_BESIDE = (
    *TOKENIZER, *PROCESSORS, "video_preprocessor_config.json", "special_tokens_map.json", "added_tokens.json",
    "vocab.json", "vocab.txt", "merges.txt", "spiece.model", "tokenizer.model", "chat_template.json",
)  # fmt: skip
_SHARD = re.compile(r"model-[0-9]{5}-of-[0-9]{5}\.safetensors")
_JSON_BYTES = 32 << 20
_HEADER_BYTES = 16 << 20  # a hundred times what the largest model has


class UnusableError(ValueError):
    """These files are not a model that can be run. `kind` is what it would be, where that can be told."""

    def __init__(self, message: str, kind: ModelKind | None = None) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What its files say of a model. `files` are the names of those that make it what it is, in order."""

    kind: ModelKind
    architecture: str
    dim: int
    files: tuple[str, ...] = field(repr=False)
    bytes: int


def is_wanted(name: str) -> bool:
    """Whether a file of this name belongs to a model: weights as safetensors, and what reads text and pictures."""
    return name in (CONFIG, INDEX, WHOLE, *_BESIDE) or bool(_SHARD.fullmatch(name))


def lacking_beside(names: Iterable[str]) -> str:
    """What a model cannot do without beside its weights, and is not among these; empty where all is."""
    there = set(names)
    for name in TOKENIZER:
        if name not in there:
            return name  # a tokenizer in another form would need a library that DocMind does without
    return "" if there & set(PROCESSORS) else " or ".join(PROCESSORS)


def read_checkpoint(directory: Path) -> Checkpoint:
    """Look at the files of a model: names, sizes, the config and the head of each weights file.

    Raises `UnusableError` with one sentence: no config, an architecture that cannot be run, an adapter, pickled
    weights, a file that is missing or cut short.
    """
    if (directory / ADAPTER).exists() and not (directory / WHOLE).exists() and not (directory / INDEX).exists():
        raise UnusableError("This is an adapter, not a whole model: merge it with its base model first.")
    kind, architecture, dim = _identity(_read_json(directory / CONFIG, "config.json"))
    weights = _weights(directory, kind)
    for name in weights:
        _check_safetensors(directory / name, kind)
    beside = [name for name in (INDEX, *_BESIDE) if (directory / name).is_file()]
    if lacking := lacking_beside(beside):
        raise UnusableError(f"It has no {lacking}.", kind)
    files = (CONFIG, *beside, *weights)
    return Checkpoint(kind, architecture, dim, files, sum((directory / name).stat().st_size for name in files))


def _identity(config: dict[str, Any]) -> tuple[ModelKind, str, int]:
    """Kind, `model_type` and dimension."""
    architecture = config.get("model_type")
    if isinstance(architecture, str) and architecture in KINDS:
        kind = KINDS[architecture]
        if kind == "late":
            return kind, architecture, _dimension(config.get("embedding_dim", 128), kind)
        vision = config.get("vision_config") or {}
        width = vision.get("hidden_size", 768) if isinstance(vision, dict) else None
        return kind, architecture, _dimension(width, kind)
    classes = config.get("architectures")
    for name in classes if isinstance(classes, list) else ():
        if isinstance(name, str) and ENGINE.get(name) == architecture:
            return "late", str(architecture), _dimension(config.get("embedding_dim", 128), "late")
    told = f"{architecture[:60]!r}" if isinstance(architecture, str) else "none"
    there = ", ".join([*KINDS, *(f"{model} of {name}" for name, model in ENGINE.items())])
    raise UnusableError(f"Its architecture is {told}; those that can be run are {there}.")


def _dimension(value: object, kind: ModelKind) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 16_384:
        raise UnusableError("Its config.json states no possible dimension.", kind)
    return value


def _weights(directory: Path, kind: ModelKind) -> list[str]:
    """Names of the files with weights."""
    if (directory / WHOLE).is_file():
        return [WHOLE]
    if not (directory / INDEX).is_file():
        if any(directory.glob("*.bin")) or any(directory.glob("*.pt")):
            raise UnusableError("Its weights are pickled (.bin), which can run code: only safetensors are read.")
        raise UnusableError("It has no model.safetensors.", kind)
    shards = _read_json(directory / INDEX, INDEX).get("weight_map")
    names = sorted(set(map(str, shards.values()))) if isinstance(shards, dict) else []
    if not names or not all(_SHARD.fullmatch(name) for name in names):
        raise UnusableError(f"Its {INDEX} names no files that could be its weights.", kind)
    for name in names:
        if not (directory / name).is_file():
            raise UnusableError(f"{name} is missing.", kind)
    return names


def _check_safetensors(path: Path, kind: ModelKind) -> None:
    """A file that is shorter than its head says kills whoever maps it, so it is measured before."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or not 2 <= length <= min(_HEADER_BYTES, size - 8):
                raise UnusableError(f"{path.name} is cut short, or no safetensors file.", kind)
            header = json.loads(file.read(length))
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        if 8 + length + max(ends, default=0) != size:
            raise UnusableError(f"{path.name} is cut short, or no safetensors file.", kind)
    except OSError as error:
        raise UnusableError(f"{path.name} cannot be read: {error.strerror}.", kind) from error
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        if isinstance(error, UnusableError):
            raise
        raise UnusableError(f"{path.name} is no safetensors file.", kind) from error


def _read_json(path: Path, name: str) -> dict[str, Any]:
    try:
        if not path.is_file():  # a pipe would be waited for
            raise UnusableError(f"{name} is missing.")
        if path.stat().st_size > _JSON_BYTES:
            raise UnusableError(f"{name} is too large to be what it says.")
        read = json.loads(path.read_bytes())
    except OSError as error:
        raise UnusableError(f"{name} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, UnusableError):
            raise
        raise UnusableError(f"{name} is broken.") from error
    if not isinstance(read, dict):
        raise UnusableError(f"{name} is broken.")
    return read
