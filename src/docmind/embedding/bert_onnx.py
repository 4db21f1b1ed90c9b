"""Conversion of plain BERT encoders, such as all-MiniLM-L6-v2, to ONNX, without torch.

`build` writes a graph of ONNX Runtime's CPU operators straight from the weights, `build_on_vectors` one that is given
the embeddings of the tokens, `build_of_pairs` one that judges two texts together. The graph of `build`:

    input_ids, attention_mask (batch, tokens) int64  ->  token_states (batch, tokens, hidden) float32

With the `Activations` of the model the matrix products are in int8, else in float32. The embedding table, the layer
norms, the softmax and GELU stay float32. In int8

- the range of what goes into a product is fixed, so a text has one vector whatever texts share its run;
- the few input channels that reach far beyond all others are a small product of their own in float32, because one
  scale for all channels would leave two or three bits to the others;
- a weight is one of the 129 whole numbers from -64 to 64, each output channel with a scale and a zero of its own. Two
  products with an activation of 8 bits then fit 16 bits, where processors without VNNI add them up: they give the sum
  that all others give, so one file is right and fast on all. It is made by elementwise operations in float32 alone,
  and so has the same bytes on every machine.

Pooling is done outside (`docmind.embedding.bert_session`), so that late interaction can use the same run. Rows of
padding hold meaningless values: weight them by the mask. See ADR 0090.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from docmind.embedding.activations import Activation

MS = "com.microsoft"
OPSET, IR_VERSION = 17, 9  # the oldest that have every operator used: read by onnxruntime >= 1.16
_MOST = 64  # of a weight: 2 * 255 * 64 is less than 2**15


class _Quantised(NamedTuple):
    """Outputs of nodes: an activation in uint8, its scale and its zero."""

    values: str
    scale: str
    zero: str


class _Graph:
    """A collection of nodes and weights; methods return the names of outputs.

    Where there are `activations`, products are in int8.
    """

    def __init__(self, weights: Mapping[str, np.ndarray], activations: Mapping[str, Activation] | None) -> None:
        self.weights, self.activations = weights, activations
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self._quantised: dict[str, _Quantised] = {}
        self._few: dict[str, str] = {}

    def const(self, name: str, array: np.ndarray) -> str:
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def weight(self, name: str) -> str:
        return self.const(name, self.weights[name])

    def matrix(self, name: str) -> np.ndarray:
        """Return a matrix as (in, out)."""
        return self.weights[name + ".weight"].T

    def node(self, op: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, domain=domain, **attributes))
        return output

    def product(self, x: str, matrix: np.ndarray, output: str) -> str:
        """Add x @ matrix; the next operator adds the bias."""
        if self.activations is None:
            return self.exact(x, matrix, output)
        few = self.activations[x].few
        if not len(few):
            return self._int8(x, matrix, output)
        most = matrix.copy()
        most[few] = 0
        if x not in self._few:  # several products may have one input
            self._few[x] = self.node("Gather", [x, self.const(x + ".few.channels", few)], x + ".few", axis=-1)
        parts = [self._int8(x, most, output + ".most"), self.exact(self._few[x], matrix[few], output + ".few")]
        return self.node("Add", parts, output)

    def exact(self, x: str, matrix: np.ndarray, output: str) -> str:
        """Add x @ matrix in float32."""
        return self.node("MatMul", [x, self.const(output + ".weight", matrix)], output)

    def _int8(self, x: str, matrix: np.ndarray, output: str) -> str:
        assert self.activations is not None
        if x not in self._quantised:
            scale, zero = self.activations[x].steps()
            inputs = [x, self.const(x + ".scale", scale), self.const(x + ".zero", zero)]
            self._quantised[x] = _Quantised(self.node("QuantizeLinear", inputs, x + ".int8"), *inputs[1:])
        numbers, scales, zeros = quantised(matrix)
        given = self._quantised[x]
        inputs = [
            *(given.values, self.const(output + ".weight", numbers)),
            *(given.scale, self.const(output + ".scales", scales)),
            *(given.zero, self.const(output + ".zeros", zeros)),
        ]
        return self.node("MatMulIntegerToFloat", inputs, output, MS)

    def inner(self, x: str, up: str, down: str, layer: str) -> str:
        """Add gelu(x @ up + bias) @ down, without the bias of `down`.

        In int8 the channels of GELU that reach far are computed apart from `x` on: nothing has to be cut out.
        """
        bias, first, second = self.weights[up + ".bias"], self.matrix(up), self.matrix(down)
        name = layer + ".gelu"
        few = self.activations[name].few if self.activations is not None else np.zeros(0, np.int64)
        most = np.setdiff1d(np.arange(len(bias)), few)
        h = self.product(x, first[:, most], layer + ".up")
        h = self.node("BiasGelu", [h, self.const(layer + ".up.bias", bias[most])], name, MS)
        if self.activations is None:
            return self.exact(h, second, layer + ".down")
        h = self._int8(h, second[most], layer + ".down.most")
        f = self.exact(x, first[:, few], layer + ".up.apart")
        f = self.node("BiasGelu", [f, self.const(layer + ".apart.bias", bias[few])], layer + ".gelu.apart", MS)
        return self.node("Add", [h, self.exact(f, second[few], layer + ".down.apart")], layer + ".down")

    def skip_norm(self, x: str, residual: str, bias: str, norm: str, output: str, eps: float) -> str:
        """Add the layer norm of x + bias + residual, unfused: the fused CPU operator is nine times slower."""
        biased = self.node("Add", [x, self.weight(bias)], output + ".biased")
        summed = self.node("Add", [biased, residual], output + ".summed")
        inputs = [summed, self.weight(norm + ".weight"), self.weight(norm + ".bias")]
        return self.node("LayerNormalization", inputs, output, axis=-1, epsilon=eps)


def quantised(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return int8 numbers (in, out) from -64 to 64, and the scale and the zero of each output channel."""
    low, high = np.minimum(matrix.min(axis=0), 0), np.maximum(matrix.max(axis=0), 0)
    scales = ((high - low) / np.float32(2 * _MOST)).astype(np.float32)
    scales[scales == 0] = 1
    zeros = np.clip(np.rint(-_MOST - low / scales), -_MOST, _MOST)
    numbers = np.clip(np.rint(matrix / scales) + zeros, -_MOST, _MOST)
    return numbers.astype(np.int8), scales, zeros.astype(np.int8)


def build(
    weights: Mapping[str, np.ndarray],
    *,
    layers: int,
    heads: int,
    eps: float,
    activations: Mapping[str, Activation] | None = None,
) -> onnx.ModelProto:
    """Return the graph of a plain BERT encoder. `weights` have the names of BERT's checkpoints."""
    g = _Graph(weights, activations)
    # A text is one segment, so its type embedding is the same row everywhere and is added to the positions.
    places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][:1]
    _embed(g, places, eps)
    _layers(g, layers, heads, eps)
    return _model(g, ["input_ids", "attention_mask"], "token_states", len(weights["embeddings.LayerNorm.bias"]))


def build_of_pairs(
    weights: Mapping[str, np.ndarray],
    *,
    layers: int,
    heads: int,
    eps: float,
    activations: Mapping[str, Activation] | None = None,
) -> onnx.ModelProto:
    """Return the graph of a BERT classifier of pairs of texts with one output, a cross-encoder.

    input_ids, token_type_ids, attention_mask (batch, tokens) int64  ->  scores (batch,) float32

    `weights` have the names of BERT's checkpoints, with `pooler.dense` and `classifier`.
    """
    g = _Graph(weights, activations)
    _embed(g, weights["embeddings.position_embeddings.weight"], eps, has_types=True)
    _layers(g, layers, heads, eps)
    _judge(g)
    return _model(g, ["input_ids", "token_type_ids", "attention_mask"], "scores")


def _judge(g: _Graph) -> None:
    """Add `scores` of the first of `token_states`."""
    first = g.node("Gather", ["token_states", g.const("first", np.array([0]))], "pooled.first", axis=1)
    pooled = g.exact(first, g.matrix("pooler.dense"), "pooled.product")
    pooled = g.node("Tanh", [g.node("Add", [pooled, g.weight("pooler.dense.bias")], "pooled.biased")], "pooled")
    judged = g.exact(pooled, g.matrix("classifier"), "judged")
    judged = g.node("Add", [judged, g.weight("classifier.bias")], "judged.biased")
    g.node("Squeeze", [judged, g.const("last", np.array([1, 2]))], "scores")


def _embed(g: _Graph, places: np.ndarray, eps: float, *, has_types: bool = False) -> None:
    """Add the embeddings of `input_ids` and `places` (positions, hidden), with `token_type_ids` where it has types."""
    table, norm = "embeddings.word_embeddings.weight", "embeddings.LayerNorm"
    g.node("Cast", ["input_ids"], "ids32", to=TensorProto.INT32)
    g.node("Cast", ["attention_mask"], "mask32", to=TensorProto.INT32)
    types = ["", ""]
    if has_types:
        types = [
            g.node("Cast", ["token_type_ids"], "types32", to=TensorProto.INT32),
            g.weight("embeddings.token_type_embeddings.weight"),
        ]
    at = g.const("positions", places)
    inputs = ["ids32", types[0], g.weight(table), at, types[1], g.weight(norm + ".weight"), g.weight(norm + ".bias")]
    outputs = ["layer0", "embed_mask_index"]
    g.nodes.append(helper.make_node("EmbedLayerNormalization", inputs, outputs, name="embed", domain=MS, epsilon=eps))


def build_on_vectors(
    weights: Mapping[str, np.ndarray],
    *,
    layers: int,
    heads: int,
    eps: float,
    activations: Mapping[str, Activation] | None = None,
    is_of_pairs: bool = False,
) -> onnx.ModelProto:
    """Return the graph of a BERT encoder whose input is the sum of each token's embeddings.

    `embeddings` (batch, tokens, hidden) float32 replaces `input_ids`: a large table of words stays outside the graph,
    where only the rows of a text are read. `weights` have the names of BERT's checkpoints. One that is of pairs gives
    the `scores` of `build_of_pairs`.
    """
    g = _Graph(weights, activations)
    g.node("Cast", ["attention_mask"], "mask32", to=TensorProto.INT32)
    norm = "embeddings.LayerNorm"
    inputs = ["embeddings", g.weight(norm + ".weight"), g.weight(norm + ".bias")]
    g.node("LayerNormalization", inputs, "layer0", axis=-1, epsilon=eps)
    _layers(g, layers, heads, eps)
    if is_of_pairs:
        _judge(g)
    output = "scores" if is_of_pairs else "token_states"
    return _model(g, ["embeddings", "attention_mask"], output, len(weights[norm + ".bias"]))


def _layers(g: _Graph, layers: int, heads: int, eps: float) -> None:
    """Add the layers between `layer0` with `mask32` and `token_states`."""
    weights, x = g.weights, "layer0"
    for i in range(layers):
        p, o = f"encoder.layer.{i}.", f"layer{i + 1}"
        qkv = {part: f"{p}attention.self.{part}" for part in ("query", "key", "value")}
        a = [g.product(x, g.matrix(name), f"{o}.{part}") for part, name in qkv.items()]
        bias = g.const(o + ".qkv.bias", np.concatenate([weights[name + ".bias"] for name in qkv.values()]))
        a = g.node("MultiHeadAttention", [*a, bias, "mask32"], o + ".attention", MS, num_heads=heads)
        a = g.product(a, g.matrix(p + "attention.output.dense"), o + ".project")
        x = g.skip_norm(a, x, p + "attention.output.dense.bias", p + "attention.output.LayerNorm", o + ".mid", eps)
        h = g.inner(x, p + "intermediate.dense", p + "output.dense", o)
        last = i == layers - 1
        x = g.skip_norm(h, x, p + "output.dense.bias", p + "output.LayerNorm", "token_states" if last else o, eps)


def _model(g: _Graph, given: list[str], output: str, hidden: int = 0) -> onnx.ModelProto:
    """Return the model with these inputs and this output: the states of tokens have `hidden` numbers, scores one."""

    def tensor(name: str, *shape: str | int) -> onnx.ValueInfoProto:
        is_float = name in (output, "embeddings")
        return helper.make_tensor_value_info(name, TensorProto.FLOAT if is_float else TensorProto.INT64, shape)

    inputs = [tensor(name, "batch", "tokens", *([hidden] if name == "embeddings" else [])) for name in given]
    outputs = [tensor(output, "batch", *(["tokens", hidden] if output == "token_states" else []))]
    graph = helper.make_graph(g.nodes, "bert", inputs, outputs, g.initializers)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="docmind")


def watched(model: onnx.ModelProto) -> tuple[onnx.ModelProto, list[str]]:
    """Return a float32 graph that also gives what goes into its products with weights, and the names of these."""
    held = {one.name for one in model.graph.initializer}
    names = sorted({n.input[0] for n in model.graph.node if n.op_type == "MatMul" and n.input[1] in held})
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names)
    return copy, names
