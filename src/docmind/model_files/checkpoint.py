"""Inspection of a directory with the files of one model, without loading it.

Its fingerprint is of the contents of the files: equal for equal files, wherever they lie. Reading gigabytes takes
seconds, so the sha256 of each file is cached beside the models with its size and time. A file that was touched is read
again. The cache contains no paths, and losing it costs only time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from docmind.model_files.known import ENGINE, KINDS
from docmind.records.models import ModelKind
from docmind.storage import read_own, replacing

MANIFEST = "docmind.json"
"""Beside a model that was fetched: repository, commit and the sha256 of each file."""

_DIGITS = 16
_Notes = dict[str, dict[str, list[Any]]]
"""Directory (hashed) -> file -> size, time in ns, sha256."""


class Fingerprints:
    """Checksums of files, cached in one JSON file.

    Thread-safe. Several processes overwrite each other's entries, which are then computed again.
    """

    def __init__(self, notes: Path) -> None:
        self._path = notes
        self._lock = threading.Lock()

    def of(self, directory: Path, files: Iterable[str]) -> str:
        """Return 16 hexadecimal digits over names and contents of these files. Raises `OSError`."""
        return combined(self._sums(directory, files))

    def differing(self, directory: Path, told: object) -> str:
        """Return the first existing file whose sha256 differs from `told`; empty where none does."""
        if not isinstance(told, dict):
            return ""
        there = {name: digest for name, digest in told.items() if (directory / str(name)).is_file()}
        sums = self._sums(directory, there)
        return next((name for name, digest in there.items() if sums[name] != digest), "")

    def note(self, directory: Path, sums: Mapping[str, str]) -> None:
        """Cache known checksums of files that were just written."""
        with self._lock:
            notes = self._read()
            kept = notes.setdefault(_key(directory), {})
            for name, digest in sums.items():
                stat = (directory / name).stat()
                kept[name] = [stat.st_size, stat.st_mtime_ns, digest]
            self._write(notes)

    def drop(self, directory: Path) -> None:
        with self._lock:
            notes = self._read()
            if notes.pop(_key(directory), None) is not None:
                self._write(notes)

    def _sums(self, directory: Path, files: Iterable[str]) -> dict[str, str]:
        with self._lock:
            notes = self._read()
            kept = notes.get(_key(directory), {})
            sums, fresh = {}, False
            for name in files:
                stat = (directory / name).stat()
                now = [stat.st_size, stat.st_mtime_ns]
                if not _is_note(kept.get(name)) or kept[name][:2] != now:
                    kept[name], fresh = [*now, sha256_of(directory / name)], True
                sums[name] = kept[name][2]
            if fresh:
                notes[_key(directory)] = kept
                self._write(notes)
        return sums

    def _read(self) -> _Notes:
        try:
            read = json.loads(read_own(self._path))
        except (OSError, ValueError, RecursionError):
            return {}
        if not isinstance(read, dict):
            return {}
        return {key: value for key, value in read.items() if isinstance(value, dict)}

    def _write(self, notes: _Notes) -> None:
        with contextlib.suppress(OSError):  # a read-only folder only costs time
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with replacing(self._path) as file:
                file.write(json.dumps(notes).encode())


def combined(sums: Mapping[str, str]) -> str:
    """Return one short checksum over the names and sha256 of files."""
    whole = hashlib.sha256()
    for name, digest in sorted(sums.items()):
        whole.update(f"{name}\0{digest}\n".encode())
    return whole.hexdigest()[:_DIGITS]


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _key(directory: Path) -> str:
    return hashlib.sha256(os.fsencode(os.path.realpath(directory))).hexdigest()[:32]


def _is_note(noted: object) -> bool:
    return isinstance(noted, list) and len(noted) == 3 and isinstance(noted[2], str) and len(noted[2]) == 64


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
J = TypeVar("J", dict[str, Any], list[Any])
_HEADER_BYTES = 16 << 20  # a hundred times that of the largest model


class UnusableError(ValueError):
    """These files are not a model that can be run.

    `kind` is the kind of model, where it is known.
    """

    def __init__(self, message: str, kind: ModelKind | None = None) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Facts about a model from its files.

    `files` are the names of those that identify it, in order.
    """

    kind: ModelKind
    architecture: str
    dim: int
    files: tuple[str, ...] = field(repr=False)
    bytes: int


def is_wanted(name: str) -> bool:
    """Return whether a file of this name belongs to a model: safetensors, tokenizer and image processor files."""
    return name in (CONFIG, INDEX, WHOLE, *_BESIDE) or bool(_SHARD.fullmatch(name))


def lacking_beside(names: Iterable[str]) -> str:
    """Return the name of a required file, besides the weights, that is not among these.

    The result is empty where none is missing.
    """
    there = set(names)
    for name in TOKENIZER:
        if name not in there:
            return name  # a tokenizer in another form would need a library that DocMind does without
    return "" if there & set(PROCESSORS) else " or ".join(PROCESSORS)


def read_checkpoint(directory: Path) -> Checkpoint:
    """Inspect the files of a model: names, sizes, the config and the header of each weights file.

    Raises `UnusableError` with one sentence: no config, an architecture that cannot be run, an adapter, pickled
    weights, a file that is missing or cut short.
    """
    if (directory / ADAPTER).exists() and not (directory / WHOLE).exists() and not (directory / INDEX).exists():
        raise UnusableError("This is an adapter, not a whole model: merge it with its base model first.")
    kind, architecture, dim = _identity(read_json(directory / CONFIG, "config.json"))
    weights = weights_of(directory, kind)
    for name in weights:
        check_safetensors(directory / name, kind)
    beside = [name for name in (INDEX, *_BESIDE) if (directory / name).is_file()]
    if lacking := lacking_beside(beside):
        raise UnusableError(f"It has no {lacking}.", kind)
    files = (CONFIG, *beside, *weights)
    return Checkpoint(kind, architecture, dim, files, sum((directory / name).stat().st_size for name in files))


def _identity(config: dict[str, Any]) -> tuple[ModelKind, str, int]:
    """Return kind, `model_type` and dimension."""
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


def weights_of(directory: Path, kind: ModelKind | None = None) -> list[str]:
    """Return the names of the files with weights. Raises `UnusableError` where there are none that may be read."""
    if (directory / WHOLE).is_file():
        return [WHOLE]
    if not (directory / INDEX).is_file():
        if any(directory.glob("*.bin")) or any(directory.glob("*.pt")):
            raise UnusableError("Its weights are pickled (.bin), which can run code: only safetensors are read.")
        raise UnusableError("It has no model.safetensors.", kind)
    shards = read_json(directory / INDEX, INDEX).get("weight_map")
    names = sorted(set(map(str, shards.values()))) if isinstance(shards, dict) else []
    if not names or not all(_SHARD.fullmatch(name) for name in names):
        raise UnusableError(f"Its {INDEX} names no files that could be its weights.", kind)
    for name in names:
        if not (directory / name).is_file():
            raise UnusableError(f"{name} is missing.", kind)
    return names


def check_safetensors(path: Path, kind: ModelKind | None = None) -> None:
    """Check a file's size against its header: mapping a file that is too short would kill the process."""
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


def read_json(path: Path, name: str, kind: type[J] = dict) -> J:
    """Return what a JSON file holds, an object or a list; `name` is what an error calls it. Raises `UnusableError`."""
    try:
        if not path.is_file():  # opening a pipe would block
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
    if not isinstance(read, kind):
        raise UnusableError(f"{name} is broken.")
    return read
