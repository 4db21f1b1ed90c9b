"""Ranges and outlying channels: arithmetic by hand, and files that are not the shipped ones."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from safetensors.numpy import save_file

from docmind.embedding import e5, minilm
from docmind.embedding.activations import Activation, Activations, packed
from docmind.embedding.bert_onnx import quantised
from docmind.errors import DamagedError

NONE = np.zeros(0, np.int64)


def test_a_range_becomes_255_steps_with_a_whole_one_at_zero() -> None:
    scale, zero = Activation(NONE, -0.5, 2.05).steps()
    assert (scale.dtype, zero.dtype, scale.shape, zero.shape) == (np.float32, np.uint8, (), ())
    assert (float(scale), int(zero)) == (pytest.approx(0.01), 50)
    assert Activation(NONE, 1.0, 2.55).steps()[1] == 0  # 0.0 is always within the range
    assert Activation(NONE, 0.0, 0.0).steps()[0] > 0


def test_weights_are_129_whole_numbers_an_output_channel() -> None:
    numbers, scales, zeros = quantised(np.array([[-1.0, 0.0, 0.0], [0.0, 6.4, 0.0], [1.0, 12.8, 0.0]], np.float32))
    assert numbers.dtype == np.int8
    assert scales == pytest.approx([1 / 64, 0.1, 1])
    assert zeros.tolist() == [0, -64, -64]
    assert numbers.T.tolist() == [[-64, 0, 64], [-64, 0, 64], [-64, -64, -64]]
    assert 2 * 255 * int(np.abs(numbers).max()) < 2**15  # two products fit where processors add them in 16 bits


def test_the_worst_case_of_a_product_is_exact_on_this_processor() -> None:
    """Full-range weights saturate on processors without VNNI; numbers up to 64 do nowhere."""
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    weights = np.full((64, 32), 64, np.int8)
    weights[:, 1::2] = -64
    node = helper.make_node("MatMulInteger", ["x", "w"], ["y"])
    shapes = [("x", TensorProto.UINT8, [4, 64]), ("y", TensorProto.INT32, [4, 32])]
    given, found = (helper.make_tensor_value_info(*shape) for shape in shapes)
    graph = helper.make_graph([node], "product", [given], [found], [numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    x = np.full((4, 64), 255, np.uint8)
    assert np.array_equal(np.asarray(session.run(None, {"x": x})[0]), x.astype(np.int32) @ weights.astype(np.int32))


@pytest.mark.parametrize(
    ("model", "layers"), [(minilm, 6), (e5, 12)], ids=["all-MiniLM-L6-v2", "multilingual-e5-small"]
)
def test_the_shipped_files_name_every_input_of_a_product(model: ModuleType, layers: int) -> None:
    found = Activations(model.ACTIVATIONS, model.ACTIVATIONS_SHA256).read()
    assert set(found) == {f"layer{layer}" for layer in range(layers)} | {
        f"layer{layer}.{part}" for layer in range(1, layers + 1) for part in ("attention", "mid", "gelu")
    }
    for name, one in found.items():
        assert len(one.few) == {"gelu": 64, "attention": 0}.get(name.rpartition(".")[2], 16)
        assert one.low < 0 < one.high


def test_a_file_comes_back(tmp_path: Path) -> None:
    path, one = tmp_path / "a.safetensors", Activation(np.array([3, 300]), -0.25, 4.5)
    save_file(packed({"layer1.gelu": one}), path)
    [(name, found)] = Activations(path, hashlib.sha256(path.read_bytes()).hexdigest()).read().items()
    assert (name, found.few.tolist(), found.low, found.high) == ("layer1.gelu", [3, 300], -0.25, 4.5)


@pytest.mark.parametrize("data", [None, b"", b"other"])
def test_missing_or_changed_data_are_refused(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "a.safetensors"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(DamagedError, match="int8 data of a model"):
        Activations(path, "0" * 64).read()
