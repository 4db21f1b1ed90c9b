"""Fit what the int8 form of the text models must know of its activations: ranges and outlying channels.

    .venv/bin/python scripts/eval FOLDER fit-int8

FOLDER holds one folder a language (`en`, `pt`, `ja`, …) with plain text files. The files in the package were fitted on
the Debian Administrator's Handbook, GNOME's user guide and the licences that Debian installs, in 42 languages: nothing
that retrieval is measured on. Writes `minilm_activations.safetensors` and `e5_activations.safetensors` into the working
folder and prints their sha256, which `docmind.embedding.minilm` and `e5` must name.

The models run in float32 on windows and on short parts of them, such as questions are. Of each input of a product the
channels whose largest magnitude is the highest are the outlying ones; the range is what all others reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
import onnx
from harness import save_arrays

from docmind.embedding.activations import Activation, packed
from docmind.embedding.bert_onnx import watched
from docmind.embedding.bert_session import BertText, open_session
from docmind.embedding.chunking import windows
from docmind.embedding.e5 import E5
from docmind.embedding.minilm import MiniLM, default_cache_dir

WINDOWS = {"en": 160}
OTHERS = 8  # windows of any other language
LONGEST, PER_FILE = 6_000, 2  # characters and windows of one file
SHORT = 40  # characters of a short text
FEW = {"attention": 0, "gelu": 64}
STREAM = 16  # outlying channels between the layers, where the same few reach far in all of them


def fit(folder: Path) -> None:
    """Fit and write the files of both models."""
    cache = default_cache_dir()
    texts = [text for place in sorted(folder.iterdir()) for text in _sample(MiniLM(cache), place)]
    texts += [text[:SHORT] for text in texts]
    print(f"{len(texts)} texts")
    for name, model in (("minilm", MiniLM(cache, precision="float32")), ("e5", E5(cache, precision="float32"))):
        save_arrays(Path(f"{name}_activations.safetensors"), packed(fitted(model, texts)))


def fitted(model: BertText, texts: Sequence[str]) -> dict[str, Activation]:
    """Return the activations of a model, measured on texts."""
    return measured(model.graph(), model.inputs(texts))


def measured(model: onnx.ModelProto, inputs: Iterable[dict[str, np.ndarray]]) -> dict[str, Activation]:
    """Return what goes into the products of a graph in float32, for all inputs."""
    graph, names = watched(model)
    path = Path("float32.onnx")
    onnx.save(graph, str(path))
    try:
        session = open_session(path)
    finally:
        path.unlink()
    low, high = ({name: np.zeros(1, np.float32) for name in names} for _unused in range(2))
    for given in inputs:
        for name, found in zip(names, session.run(names, given), strict=True):
            rows = np.asarray(found).reshape(-1, np.asarray(found).shape[-1])
            low[name], high[name] = np.minimum(low[name], rows.min(axis=0)), np.maximum(high[name], rows.max(axis=0))
    return {name: _activation(name, low[name], high[name]) for name in names}


def _activation(name: str, low: np.ndarray, high: np.ndarray) -> Activation:
    order = np.argsort(-np.maximum(high, -low), kind="stable")
    count = FEW.get(name.rpartition(".")[2], STREAM)
    few, others = np.sort(order[:count]), order[count:]
    return Activation(few, float(low[others].min()), float(high[others].max()))


def _sample(model: MiniLM, place: Path) -> list[str]:
    return list(islice(_windows(model, place), WINDOWS.get(place.name, OTHERS)))


def _windows(model: MiniLM, place: Path) -> Iterator[str]:
    files = sorted(place.glob("*.txt"))
    Random(0).shuffle(files)  # noqa: S311
    for path in files:
        text = path.read_text("utf-8")[:LONGEST]
        yield from (text[start:end] for start, end in islice(windows(text, model.pieces(text)), PER_FILE))
