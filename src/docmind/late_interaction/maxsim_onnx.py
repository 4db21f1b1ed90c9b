"""MaxSim by ONNX Runtime, which the text model loads anyway: exact everywhere, and not the slowest kernel.

Its products of signed by signed bytes are slow (8 times); those of unsigned by signed ones are not. So 128 is added to
the pages, block by block, and given as the zero point.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from docmind.late_interaction.layout import runs
from docmind.runtime import quiet

_BLOCK = 8_192  # tokens: a megabyte


class OrtKernel:
    """The kernel on ONNX Runtime: MatMulInteger and ReduceMax over a few pages at a time."""

    name = "onnxruntime"

    def __init__(self) -> None:
        """Open the session. Raises `ImportError` where ONNX Runtime is not installed."""
        ort = quiet.import_onnxruntime()
        options = ort.SessionOptions()
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = ort.InferenceSession(_graph(), options, providers=["CPUExecutionProvider"])

    def best(self, query: np.ndarray, tokens: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        columns = np.ascontiguousarray(query.T)
        found = np.empty((len(starts), len(query)), np.int32)
        scratch = np.empty((max(_BLOCK, int(lengths.max(initial=0))), tokens.shape[1]), np.uint8)
        raised = np.uint8(128)
        for page, count, start, length in runs(starts, lengths, _BLOCK):
            size = count * length
            block = np.bitwise_xor(tokens[start : start + size].view(np.uint8), raised, out=scratch[:size])
            given = {"pages": block.reshape(count, length, -1), "query": columns}
            found[page : page + count] = self._session.run(None, given)[0]
        return found


def _graph() -> bytes:
    onnx: Any = importlib.import_module("onnx")
    kinds, make = onnx.TensorProto, onnx.helper
    nodes = [
        make.make_node("MatMulInteger", ["pages", "query", "zero"], ["products"]),
        make.make_node("ReduceMax", ["products"], ["best"], axes=[1], keepdims=0),
    ]
    inputs = [
        make.make_tensor_value_info("pages", kinds.UINT8, ["pages", "length", "dim"]),
        make.make_tensor_value_info("query", kinds.INT8, ["dim", "tokens"]),
    ]
    outputs = [make.make_tensor_value_info("best", kinds.INT32, ["pages", "tokens"])]
    zero = make.make_tensor("zero", kinds.UINT8, [], [128])
    graph = make.make_graph(nodes, "maxsim", inputs, outputs, [zero])
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 13)])
    model.ir_version = 8
    return model.SerializeToString()
