"""Fit the data of late interaction: a projection of a text model's token states, and a weight for each word piece.

    .venv/bin/python scripts/eval FOLDER fit-late

FOLDER holds one folder a language (`en`, `pt`, `es`, …) with plain text files. MiniLM's file in the package was fitted
on the Debian Administrator's Handbook in eight languages, manual pages in German, French, Spanish and Portuguese, and
the licence texts that Debian installs; that of multilingual-e5-small on the texts of `fit-e5`: nothing that retrieval
is measured on. Writes `minilm_tokens.safetensors` and `e5_tokens.safetensors` into the working folder and prints their
sha256, which `docmind.embedding.minilm` and `e5` must name.

E5's states share a direction, and others say which language they are in: the mean is subtracted, and the directions of
language (`fit-e5`) are left out of the axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
from harness import save_arrays

from docmind.embedding import e5, minilm
from docmind.embedding.chunking import windows
from docmind.embedding.e5 import E5, Centre
from docmind.embedding.minilm import MiniLM, default_cache_dir
from docmind.embedding.token_vectors import WEIGHT_STEP

WINDOWS = {"en": 300, "pt": 200, "es": 200}
OTHERS = 40  # windows of any other language
LONGEST = 40_000  # characters of one file

States = Iterator[tuple[Sequence[int], np.ndarray]]
"""Of each text, in any order: its own word pieces, and their states `(pieces, dim)` float32."""


def fit(folder: Path) -> None:
    """Fit and write the files of both models."""
    english = MiniLM(default_cache_dir())
    texts = [text for place in sorted(folder.iterdir()) for text in _sample(english, place)]
    print(f"{len(texts)} windows")
    vocabulary = english.tokenizer().get_vocab()
    pieces = sorted(vocabulary, key=lambda piece: vocabulary[piece])
    _write(
        "minilm_tokens.safetensors", minilm.TOKEN_DIM, pieces, _minilm_states(english, texts), np.zeros((0, minilm.DIM))
    )
    model = E5(default_cache_dir())
    states = model.piece_states(texts)
    _write("e5_tokens.safetensors", e5.TOKEN_DIM, model.vocabulary(), states, Centre().languages, centred=True)


def _write(
    name: str, dim: int, pieces: Sequence[str], found: States, without: np.ndarray, *, centred: bool = False
) -> None:
    """Fit `dim` axes outside the directions `without` `(k, model dim)`, and the weights of all pieces."""
    holding, states = np.zeros(len(pieces)), []
    texts = 0
    for ids, of_text in found:
        holding[sorted(set(ids))] += 1
        states.append(of_text.astype(np.float16))
        texts += 1
    rows = np.concatenate(states).astype(np.float32)
    mean = rows.mean(axis=0) if centred else np.zeros(rows.shape[1], np.float32)
    rows -= mean
    rows -= (rows @ without.T) @ without
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    spread, axes = np.linalg.eigh(rows.T @ rows / len(rows))
    axes = axes[:, ::-1][:, :dim]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(dim)])  # the sign is anybody's choice
    share = spread[::-1][:dim].sum() / spread.sum()
    print(f"{len(rows)} tokens; {dim} dimensions hold {share:.3f}")
    idf = np.log1p((texts - holding + 0.5) / (holding + 0.5))
    weights = np.clip(np.rint(idf / WEIGHT_STEP), 1, 255)
    for number, piece in enumerate(pieces):
        if (piece[:1] in "[<" and piece[-1:] in "]>") or not any(char.isalnum() for char in piece):
            weights[number] = 0
    data = {"projection": axes.astype(np.float16), "weights": weights.astype(np.uint8)}
    save_arrays(Path(name), {**data, "mean": mean.astype(np.float16)} if centred else data)


def _minilm_states(model: MiniLM, texts: Sequence[str]) -> States:
    encoded = [encoding.ids for encoding in model.tokenizer().encode_batch(list(texts))]
    for rows, states, mask in model.token_states(texts):
        for row, state, line in zip(rows, states, mask, strict=True):
            yield encoded[row][1:-1], state[1 : int(line.sum()) - 1]


def _sample(model: MiniLM, place: Path) -> list[str]:
    found = list(_windows(model, place))
    Random(0).shuffle(found)  # noqa: S311
    return found[: WINDOWS.get(place.name, OTHERS)]


def _windows(model: MiniLM, place: Path) -> Iterator[str]:
    for path in sorted(place.glob("*.txt")):
        text = path.read_text("utf-8")[:LONGEST]
        yield from (text[start:end] for start, end in windows(text, model.pieces(text)))
