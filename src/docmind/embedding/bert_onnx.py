"""Conversion of plain BERT encoders, such as all-MiniLM-L6-v2, to ONNX, without torch.

`build` writes a graph of ONNX Runtime's fused CPU operators straight from the weights, `build_on_vectors` one that is
given the embeddings of the tokens; `quantize` turns the matrix products into int8 (dynamic, per output channel). The
graph of `build`:

    input_ids, attention_mask (batch, tokens) int64  ->  token_states (batch, tokens, hidden) float32

Pooling is done outside (`docmind.embedding.bert_session`), so that late interaction can use the same run. Rows of
padding hold meaningless values: weight them by the mask.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from docmind.runtime import quiet

MS = "com.microsoft"
OPSET, IR_VERSION = 17, 9  # the oldest that have every operator used: read by onnxruntime >= 1.16


class _Graph:
    """A collection of nodes and weights; every method returns the name of its output."""

    def __init__(self, weights: dict[str, np.ndarray]) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []

    def const(self, name: str, array: np.ndarray) -> str:
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def weight(self, name: str) -> str:
        return self.const(name, self.weights[name])

    def node(self, op: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, domain=domain, **attributes))
        return output

    def matmul(self, x: str, names: list[str], output: str) -> str:
        """Add x @ W with the named (out, in) weights side by side; the next operator adds the bias."""
        stacked = np.concatenate([self.weights[n + ".weight"] for n in names], axis=0).T
        return self.node("MatMul", [x, self.const(output + ".weight", stacked)], output)

    def bias(self, names: list[str], output: str) -> str:
        return self.const(output, np.concatenate([self.weights[n + ".bias"] for n in names]))

    def skip_norm(self, x: str, residual: str, bias: str, norm: str, output: str, eps: float) -> str:
        """Add the layer norm of x + bias + residual, unfused: the fused CPU operator is nine times slower."""
        biased = self.node("Add", [x, self.weight(bias)], output + ".biased")
        summed = self.node("Add", [biased, residual], output + ".summed")
        inputs = [summed, self.weight(norm + ".weight"), self.weight(norm + ".bias")]
        return self.node("LayerNormalization", inputs, output, axis=-1, epsilon=eps)


def build(weights: dict[str, np.ndarray], *, layers: int, heads: int, eps: float) -> onnx.ModelProto:
    """Return the float32 graph of a plain BERT encoder. `weights` have the names of BERT's checkpoints."""
    g = _Graph(weights)
    g.node("Cast", ["input_ids"], "ids32", to=TensorProto.INT32)
    g.node("Cast", ["attention_mask"], "mask32", to=TensorProto.INT32)
    table = "embeddings.word_embeddings.weight"
    # A text is one segment, so its type embedding is the same row everywhere and is added to the positions.
    types = weights["embeddings.token_type_embeddings.weight"][:1]
    places = g.const("positions", weights["embeddings.position_embeddings.weight"] + types)
    norm = "embeddings.LayerNorm"
    g.nodes.append(
        helper.make_node(
            "EmbedLayerNormalization",
            ["ids32", "", g.weight(table), places, "", g.weight(norm + ".weight"), g.weight(norm + ".bias")],
            ["layer0", "embed_mask_index"], name="embed", domain=MS, epsilon=eps,
        )
    )  # fmt: skip
    return _encoder(g, ["input_ids", "attention_mask"], layers, heads, eps)


def build_on_vectors(weights: dict[str, np.ndarray], *, layers: int, heads: int, eps: float) -> onnx.ModelProto:
    """Return the float32 graph of a BERT encoder whose input is the sum of each token's embeddings.

    `embeddings` (batch, tokens, hidden) float32 replaces `input_ids`: a large table of words stays outside the graph,
    where only the rows of a text are read. `weights` have the names of BERT's checkpoints.
    """
    g = _Graph(weights)
    g.node("Cast", ["attention_mask"], "mask32", to=TensorProto.INT32)
    norm = "embeddings.LayerNorm"
    inputs = ["embeddings", g.weight(norm + ".weight"), g.weight(norm + ".bias")]
    g.node("LayerNormalization", inputs, "layer0", axis=-1, epsilon=eps)
    return _encoder(g, ["embeddings", "attention_mask"], layers, heads, eps)


def _encoder(g: _Graph, given: list[str], layers: int, heads: int, eps: float) -> onnx.ModelProto:
    """Add the layers behind `layer0` and `mask32`, and return the model with these inputs."""
    weights, x = g.weights, "layer0"
    hidden = len(weights["embeddings.LayerNorm.bias"])
    for i in range(layers):
        p, o = f"encoder.layer.{i}.", f"layer{i + 1}"
        qkv = [p + f"attention.self.{part}" for part in ("query", "key", "value")]
        packed = np.concatenate([weights[n + ".weight"] for n in qkv], axis=0).T
        inputs = [x, g.const(o + ".qkv.weight", packed), g.bias(qkv, o + ".qkv.bias"), "mask32"]
        a = g.node("Attention", inputs, o + ".attention", MS, num_heads=heads)
        a = g.matmul(a, [p + "attention.output.dense"], o + ".project")
        x = g.skip_norm(a, x, p + "attention.output.dense.bias", p + "attention.output.LayerNorm", o + ".mid", eps)
        h = g.matmul(x, [p + "intermediate.dense"], o + ".up")
        h = g.node("BiasGelu", [h, g.weight(p + "intermediate.dense.bias")], o + ".gelu", MS)
        h = g.matmul(h, [p + "output.dense"], o + ".down")
        last = i == layers - 1
        x = g.skip_norm(h, x, p + "output.dense.bias", p + "output.LayerNorm", "token_states" if last else o, eps)

    def tensor(name: str, *shape: str | int) -> onnx.ValueInfoProto:
        kind = TensorProto.FLOAT if shape else TensorProto.INT64
        return helper.make_tensor_value_info(name, kind, ["batch", "tokens", *shape])

    inputs = [tensor(name, hidden) if name == "embeddings" else tensor(name) for name in given]
    graph = helper.make_graph(g.nodes, "bert", inputs, [tensor("token_states", hidden)], g.initializers)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="docmind")


def quantize(model: onnx.ModelProto, target: Path, *, signed: bool = True, reduce_range: bool = False) -> None:
    """Write the int8 form: weights int8 per output channel, activations quantised at run time.

    The embedding table, the layer norms and the softmax stay float32.
    """
    quiet.import_onnxruntime()
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with TemporaryDirectory() as folder:
        source = Path(folder) / "float32.onnx"
        onnx.save(model, source)
        quantize_dynamic(
            source, target, op_types_to_quantize=["MatMul", "Attention"], per_channel=True,
            weight_type=QuantType.QInt8 if signed else QuantType.QUInt8, reduce_range=reduce_range,
            extra_options={"DefaultTensorType": TensorProto.FLOAT},
        )  # fmt: skip
