"""Fit the data of late interaction: a projection of MiniLM's token states, and a weight for each word piece.

    .venv/bin/python scripts/eval FOLDER fit-late

FOLDER holds one folder a language (`en`, `pt`, `es`, …) with plain text files. The file in the package was fitted on
the Debian Administrator's Handbook in eight languages, manual pages in German, French, Spanish and Portuguese, and the
licence texts that Debian installs: nothing that retrieval is measured on. Writes
`src/docmind/embedding/minilm_tokens.safetensors` and prints its sha256, which `docmind.embedding.minilm` must
name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
from safetensors.numpy import save_file

from docmind.embedding.chunking import windows
from docmind.embedding.minilm import DIM, TOKEN_DIM, WEIGHT_STEP, MiniLM, default_cache_dir

TARGET = Path(__file__).resolve().parents[2] / "src/docmind/embedding/minilm_tokens.safetensors"
WINDOWS = {"en": 500, "pt": 400, "es": 400}
OTHERS = 120  # windows of any other language
LONGEST = 40_000  # characters of one file
_SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")


def fit(folder: Path) -> None:
    """Fit and write."""
    model = MiniLM(default_cache_dir())
    texts = [text for place in sorted(folder.iterdir()) for text in _sample(model, place)]
    print(f"{len(texts)} windows")
    tokenizer = model.tokenizer()
    moments, count = np.zeros((DIM, DIM)), 0
    for _, states, mask in model.token_states(texts):
        for state, line in zip(states, mask, strict=True):
            inner = state[1 : int(line.sum()) - 1]
            inner = inner / np.linalg.norm(inner, axis=1, keepdims=True)
            moments += inner.T @ inner
            count += len(inner)
    spread, axes = np.linalg.eigh(moments / count)
    axes = axes[:, ::-1][:, :TOKEN_DIM]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(TOKEN_DIM)])  # the sign is anybody's choice
    print(f"{count} tokens; {TOKEN_DIM} dimensions hold {spread[::-1][:TOKEN_DIM].sum() / spread.sum():.3f}")
    vocabulary = tokenizer.get_vocab()
    holding = np.zeros(len(vocabulary))
    for encoding in tokenizer.encode_batch(texts):
        holding[sorted(set(encoding.ids))] += 1
    idf = np.log1p((len(texts) - holding + 0.5) / (holding + 0.5))
    weights = np.clip(np.rint(idf / WEIGHT_STEP), 1, 255)
    for piece, number in vocabulary.items():
        if piece in _SPECIAL or not any(char.isalnum() for char in piece):
            weights[number] = 0
    save_file({"projection": axes.astype(np.float16), "weights": weights.astype(np.uint8)}, TARGET)
    print(f"{TARGET.name} {hashlib.sha256(TARGET.read_bytes()).hexdigest()}")


def _sample(model: MiniLM, place: Path) -> list[str]:
    found = list(_windows(model, place))
    Random(0).shuffle(found)  # noqa: S311
    return found[: WINDOWS.get(place.name, OTHERS)]


def _windows(model: MiniLM, place: Path) -> Iterator[str]:
    for path in sorted(place.glob("*.txt")):
        text = path.read_text("utf-8")[:LONGEST]
        yield from (text[start:end] for start, end in windows(text, model.pieces(text)))
