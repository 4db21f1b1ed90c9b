"""What the evaluations share: a vault that has the documents of a folder, durations, and files of fitted numbers."""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

sys.path.append(str(Path(__file__).resolve().parents[1]))

from bench.harness import Times
from docmind.application import DocMind
from docmind.config import EmbeddingSettings, KeySettings, RetrieveSettings, Settings
from docmind.records.documents import QueueProgress, Upload

__all__ = ["Times", "add_missing", "at_rank", "json_rows", "opened", "save_arrays", "vault_place"]


@contextmanager
def vault_place(vault: Path | None) -> Iterator[Path]:
    """Yield the folder of the vault: the one that is kept, or a temporary one."""
    with nullcontext(str(vault)) if vault else tempfile.TemporaryDirectory() as place:
        yield Path(place)


@contextmanager
def opened(
    place: Path, retrieve: RetrieveSettings | None = None, embedding: EmbeddingSettings | None = None
) -> Iterator[DocMind]:
    """Open the vault in this folder."""
    told = {"retrieve": retrieve, "embedding": embedding}
    chosen = {name: one for name, one in told.items() if one is not None}
    settings = Settings.model_validate({"data_dir": place / "data", "keys": KeySettings(file=place / "key"), **chosen})
    with DocMind(settings) as docmind:
        yield docmind


def add_missing(docmind: DocMind, folder: Path) -> None:
    """Read the documents of a folder, in `docs` or `files`, that the vault does not have yet, and say how many."""
    docs = next((place for name in ("docs", "files") if (place := folder / name).is_dir()), folder)
    known = {info.document for info in docmind.documents.all() if info.status == "ready"}
    files = [file for file in sorted(docs.iterdir()) if file.is_file() and file.name not in known]
    started = time.monotonic()

    def show(now: QueueProgress) -> None:
        told = f"{now.files_done}/{len(files)} {now.file} {now.pages_done}/{now.pages_total}"
        print(f"\r{told}\x1b[K", end="", flush=True)

    uploads = (Upload(file.name, file.read_bytes()) for file in files)
    for result in docmind.add(uploads, files_total=len(files), progress=show if sys.stdout.isatty() else None):
        if result.status == "refused":
            print(f"refused {result.document}: {result.message}")
    docmind.ingest.later.passages.catch_up()  # as the open app does in the background
    found, seconds = docmind.documents.all(), time.monotonic() - started
    print(f"{len(found)} documents, {sum(info.pages for info in found)} pages; {len(files)} added in {seconds:.0f} s")


def json_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines. Raises `OSError`, `ValueError`."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def save_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a file of safetensors, and print its name and its sha256, by which the module that reads it knows it."""
    save_file(dict(arrays), path)
    print(path.name, hashlib.sha256(path.read_bytes()).hexdigest(), flush=True)


def at_rank(ranks: list[int], most: int) -> float:
    """Return the share of ranks from 1 to `most`; 0 stands for not found."""
    return sum(1 <= rank <= most for rank in ranks) / len(ranks)
