"""SigLIP of a fixed picture size by ONNX Runtime: its two towers as graphs over the numbers in `model.safetensors`.

torch and transformers take 5 seconds of processor time to be imported, ONNX Runtime a third of one. The graphs are
written here from the names and shapes of the weights and hold none of them: ONNX Runtime reads the numbers where they
lie. A tower is read when it is first used, so a question needs no tower of pictures. See ADR 0083.

Runs in a child process; see `visual_process`.
"""

from __future__ import annotations

import json
import os
import re
import string
import sys
import threading
from collections.abc import Sequence
from ctypes.util import find_library
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from docmind.runtime import quiet

_WEIGHTS = "model.safetensors"
_TEXT, _VISION, _HEAD = "text_model", "vision_model", "vision_model.head"
_MS = "com.microsoft"
_OPSET, _IR_VERSION = 18, 9
_TOKENIZERS = ("SiglipTokenizer", "SiglipTokenizerFast", "PreTrainedTokenizerFast")
_TEXT_TOKENS = 64
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_BICUBIC = 3  # as image processors count
_FAST = ("amx_bf16", "avx512_bf16")  # processors on which torch is faster in bfloat16


@dataclass(frozen=True, slots=True)
class Tower:
    """Sizes of one tower: of its vectors, and how many places a text or a picture has."""

    hidden: int
    layers: int
    heads: int
    places: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Plan:
    """The form of a checkpoint whose graphs can be written: where each weight lies, and the sizes of both towers."""

    weights: Path
    entries: dict[str, tuple[tuple[int, ...], int, int]]
    """By name: shape, place and length in the file, in bytes."""
    text: Tower
    vision: Tower
    patch: int
    side: int
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    scale: float


def is_best_here(device: str, precision: str) -> bool:
    """Return whether the processor in float32 is what these settings mean here; tells it without torch."""
    if device not in ("auto", "cpu") or precision == "bfloat16":
        return False
    return (device == "cpu" or not _has_accelerator()) and (precision == "float32" or not _is_fast_in_bfloat16())


def _has_accelerator() -> bool:
    if sys.platform == "darwin":
        return True  # Metal, as far as torch says
    if sys.platform == "win32":
        return find_library("nvcuda") is not None
    return any(os.path.exists(path) for path in ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg"))


def _is_fast_in_bfloat16() -> bool:
    try:
        flags = Path("/proc/cpuinfo").read_text("ascii", "replace")
    except OSError:
        return False
    return any(flag in flags for flag in _FAST)


def open_siglip(directory: Path, threads: int) -> SiglipOnnx | None:
    """Open a checkpoint; None where it has another form, or lacks weights: then torch reads it, or says what it lacks.

    Raises `OSError` and `ValueError` where files are missing or broken.
    """
    try:
        plan = _plan_of(directory)
        return SiglipOnnx(directory, plan, threads) if plan is not None else None
    except KeyError:
        return None


def _plan_of(directory: Path) -> Plan | None:
    """Return the form of a checkpoint; None where no graph can be written for it. Raises `KeyError` too."""
    config, images, names = (
        json.loads((directory / name).read_text("utf-8"))
        for name in ("config.json", "preprocessor_config.json", "tokenizer_config.json")
    )
    text, vision = config.get("text_config") or {}, config.get("vision_config") or {}
    entries = _entries(directory / _WEIGHTS)
    if entries is None or f"{_HEAD}.probe" not in entries or names.get("tokenizer_class") not in _TOKENIZERS:
        return None
    if {part.get("hidden_act", "gelu_pytorch_tanh") for part in (text, vision)} != {"gelu_pytorch_tanh"}:
        return None
    if not all(images.get(f"do_{step}", True) for step in ("resize", "rescale", "normalize")):
        return None
    places = entries[f"{_VISION}.embeddings.position_embedding.weight"][0][0]
    patch = entries[f"{_VISION}.embeddings.patch_embedding.weight"][0][-1]
    side = round(places**0.5) * patch
    size = images.get("size") or {}
    if images.get("resample", _BICUBIC) != _BICUBIC or (size.get("height"), size.get("width")) != (side, side):
        return None
    tower = _tower(entries, _TEXT, text)
    if tower.places > _TEXT_TOKENS:
        return None
    half = (0.5, 0.5, 0.5)
    return Plan(
        directory / _WEIGHTS,
        entries,
        tower,
        _tower(entries, _VISION, vision),
        patch,
        side,
        tuple(images.get("image_mean") or half),
        tuple(images.get("image_std") or half),
        float(images.get("rescale_factor", 1 / 255)),
    )


def _entries(path: Path) -> dict[str, tuple[tuple[int, ...], int, int]] | None:
    """Return where the weights lie in a file; None where there is no such file, or its numbers are not float32."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    if any(entry["dtype"] != "F32" for entry in header.values()):
        return None
    return {
        name: (tuple(entry["shape"]), 8 + length + entry["data_offsets"][0], int(np.diff(entry["data_offsets"])[0]))
        for name, entry in header.items()
    }


def _tower(entries: dict[str, Any], name: str, config: dict[str, Any]) -> Tower:
    places, hidden = entries[f"{name}.embeddings.position_embedding.weight"][0]
    found = (re.match(rf"{name}\.encoder\.layers\.(\d+)\.", entry) for entry in entries)
    layers = 1 + max(int(match[1]) for match in found if match)
    return Tower(
        hidden, layers, int(config.get("num_attention_heads", 12)), places, float(config.get("layer_norm_eps", 1e-6))
    )


class _Graph:
    """Nodes over weights of the file; methods return the names of outputs. Rows of all places are one matrix."""

    def __init__(self, plan: Plan, tower: Tower) -> None:
        self._plan, self.tower = plan, tower
        self._nodes: list[Any] = []
        self._held: dict[str, Any] = {}
        self.flat = self.const("flat", np.array([-1, tower.hidden]))
        self.deep = self.const("deep", np.array([-1, tower.places, tower.hidden]))

    def const(self, name: str, array: np.ndarray) -> str:
        from onnx import numpy_helper

        self._held[name] = numpy_helper.from_array(array, name)
        return name

    def weight(self, name: str) -> str:
        """Return a weight, which stays in the file. Raises `KeyError`."""
        from onnx import TensorProto

        shape, at, length = self._plan.entries[name]
        held = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", self._plan.weights.resolve().name), ("offset", at), ("length", length)):
            held.external_data.add(key=key, value=str(value))
        self._held[name] = held
        return name

    def node(self, op: str, inputs: Sequence[str], domain: str = "", outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; return the name of its output, or a list where it has several."""
        from onnx import helper

        names = [f"{op}.{len(self._nodes)}.{number}" for number in range(outputs)]
        self._nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def linear(self, x: str, name: str) -> str:
        return self.node("Gemm", [x, self.weight(f"{name}.weight"), self.weight(f"{name}.bias")], transB=1)

    def norm(self, x: str, name: str) -> str:
        inputs = [x, self.weight(f"{name}.weight"), self.weight(f"{name}.bias")]
        return self.node("LayerNormalization", inputs, axis=-1, epsilon=self.tower.epsilon)

    def shaped(self, x: str, shape: str) -> str:
        return self.node("Reshape", [x, shape])

    def inner(self, x: str, name: str) -> str:
        h = self.node("Gemm", [x, self.weight(f"{name}.fc1.weight")], transB=1)
        h = self.node("FastGelu", [h, self.weight(f"{name}.fc1.bias")], _MS)
        return self.linear(h, f"{name}.fc2")

    def attention(self, parts: Sequence[str], out: str) -> str:
        a = self.node("MultiHeadAttention", parts, _MS, num_heads=self.tower.heads)
        return self.linear(self.shaped(a, self.flat), out)

    def encoder(self, x: str, name: str) -> str:
        for number in range(self.tower.layers):
            layer = f"{name}.encoder.layers.{number}"
            h = self.norm(x, f"{layer}.layer_norm1")
            parts = [self.shaped(self.linear(h, f"{layer}.self_attn.{one}_proj"), self.deep) for one in "qkv"]
            x = self.node("Add", [x, self.attention(parts, f"{layer}.self_attn.out_proj")])
            x = self.node("Add", [x, self.inner(self.norm(x, f"{layer}.layer_norm2"), f"{layer}.mlp")])
        return x

    def model(self, name: str, kind: int, shape: Sequence[Any], x: str) -> bytes:
        """Return the graph with one input and rows of length 1 as its output."""
        from onnx import TensorProto, helper

        row = self.node("LpNormalization", [x], axis=-1, p=2)
        output = helper.make_tensor_value_info(row, TensorProto.FLOAT, ["n", None])
        given = helper.make_tensor_value_info(name, kind, ["n", *shape])
        graph = helper.make_graph(self._nodes, "siglip", [given], [output], list(self._held.values()))
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_MS, 1)]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="docmind")
        return made.SerializeToString()


def text_graph(plan: Plan) -> bytes:
    """Return the graph from ids of tokens, (n, places) int64, to vectors. Raises `KeyError` for a missing weight."""
    from onnx import TensorProto

    g = _Graph(plan, plan.text)
    x = g.node("Gather", [g.weight(f"{_TEXT}.embeddings.token_embedding.weight"), "ids"])
    x = g.node("Add", [x, g.weight(f"{_TEXT}.embeddings.position_embedding.weight")])
    x = g.norm(g.encoder(g.shaped(x, g.flat), _TEXT), f"{_TEXT}.final_layer_norm")
    x = g.node("Gather", [g.shaped(x, g.deep), g.const("last", np.array(plan.text.places - 1))], axis=1)
    return g.model("ids", TensorProto.INT64, [plan.text.places], g.linear(x, f"{_TEXT}.head"))


def vision_graph(plan: Plan) -> bytes:
    """Return the graph from pixels, (n, 3, side, side), to vectors. Raises `KeyError` for a missing weight."""
    from onnx import TensorProto

    g, hidden = _Graph(plan, plan.vision), plan.vision.hidden
    patches = f"{_VISION}.embeddings.patch_embedding"
    x = g.node("Conv", ["pixels", g.weight(f"{patches}.weight"), g.weight(f"{patches}.bias")], strides=[plan.patch] * 2)
    x = g.shaped(x, g.const("columns", np.array([0, hidden, plan.vision.places])))
    x = g.node("Transpose", [x], perm=[0, 2, 1])
    x = g.node("Add", [x, g.weight(f"{_VISION}.embeddings.position_embedding.weight")])
    x = g.norm(g.encoder(g.shaped(x, g.flat), _VISION), f"{_VISION}.post_layernorm")
    # the head: a learned probe looks at all places
    weights = g.node("Split", [g.weight(f"{_HEAD}.attention.in_proj_weight")], outputs=3, axis=0, num_outputs=3)
    biases = g.node("Split", [g.weight(f"{_HEAD}.attention.in_proj_bias")], outputs=3, axis=0, num_outputs=3)
    probe = g.node("Gemm", [g.shaped(g.weight(f"{_HEAD}.probe"), g.flat), weights[0], biases[0]], transB=1)
    keys, values = (
        g.shaped(g.node("Gemm", [x, weight, bias], transB=1), g.deep)
        for weight, bias in zip(weights[1:], biases[1:], strict=True)
    )
    pages = g.node("Shape", [keys], start=0, end=1)
    shape = g.node("Concat", [pages, g.const("one", np.array([1, hidden]))], axis=0)
    probes = g.node("Expand", [g.shaped(probe, g.const("probe", np.array([1, 1, hidden]))), shape])
    x = g.attention([probes, keys, values], f"{_HEAD}.attention.out_proj")
    x = g.node("Add", [x, g.inner(g.norm(x, f"{_HEAD}.layernorm"), f"{_HEAD}.mlp")])
    return g.model("pixels", TensorProto.FLOAT, [3, plan.side, plan.side], x)


class SiglipOnnx:
    """The image and the text tower. One thread may embed pictures while another embeds text."""

    def __init__(self, directory: Path, plan: Plan, threads: int) -> None:
        """Open the tower of texts; that of pictures is written now, so that a missing weight is found, and read later.

        Raises `KeyError` for a missing weight.
        """
        from tokenizers import Tokenizer

        self._plan, self._threads, self._lock = plan, threads, threading.Lock()
        self._vision: Any = vision_graph(plan)
        self._text = self._session(text_graph(plan))
        names = json.loads((directory / "tokenizer_config.json").read_text("utf-8"))
        special = {key: _content(value) for key, value in names.items() if key.endswith("_token")}
        self._special = [token for token in special.values() if token]
        self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self._tokenizer.enable_truncation(plan.text.places)
        self._tokenizer.no_padding()
        self._filler = self._tokenizer.token_to_id(special["pad_token"])

    @property
    def dim(self) -> int:
        return self._plan.vision.hidden

    def images(self, pictures: Sequence[Image.Image]) -> np.ndarray:
        """Return `(n, dim)` float32, each row of length 1."""
        with self._lock:
            if isinstance(self._vision, bytes):
                self._vision = self._session(self._vision)
        (rows,) = self._vision.run(None, {"pixels": np.stack([self._pixels(picture) for picture in pictures])})
        return rows

    def text(self, text: str) -> np.ndarray:
        """Return `(dim,)` float32 of length 1. Text after 64 tokens is cut off."""
        ids = self._tokenizer.encode(self._plain(text)).ids
        ids += [self._filler] * (self._plan.text.places - len(ids))  # as in training, where there was no mask
        (rows,) = self._text.run(None, {"ids": np.array([ids], np.int64)})
        return rows[0]

    def _pixels(self, picture: Image.Image) -> np.ndarray:
        plan = self._plan
        small = picture.convert("RGB").resize((plan.side, plan.side), Image.Resampling.BICUBIC)
        values = np.asarray(small, np.float32) * np.float32(plan.scale)
        values = (values - np.array(plan.mean, np.float32)) / np.array(plan.deviation, np.float32)
        return values.transpose(2, 0, 1)

    def _plain(self, text: str) -> str:
        """Lower-case the text and drop its punctuation, as in training, without control tokens."""
        for token in self._special:
            text = text.replace(token, " ")
        return re.sub(r"\s+", " ", text.lower().translate(_PUNCTUATION)).strip()

    def _session(self, graph: bytes) -> Any:
        library = quiet.import_onnxruntime()
        options = library.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = self._threads, 1
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        folder = str(self._plan.weights.resolve().parent)
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
        return library.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def _content(token: object) -> str:
    """Return a token of a tokenizer's configuration, which is a text, or an object with one, or nothing."""
    return str(token.get("content", "")) if isinstance(token, dict) else str(token or "")
