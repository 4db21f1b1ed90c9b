"""SigLIP by ONNX Runtime says what transformers' own classes say, from the same files, without torch.

torch and transformers are imported in the tests: collecting them would take each pytest worker seconds.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from docmind.config import VisualSettings
from docmind.embedding import siglip_onnx
from docmind.embedding.siglip_onnx import SiglipOnnx, is_best_here, open_siglip
from docmind.embedding.visual_client import open_image_model
from docmind.errors import VisualModelError
from docmind.model_files import Weights
from each import each_of
from starting import started_by
from tinymodels import tiny_siglip

if TYPE_CHECKING:
    from docmind.embedding.siglip import Siglip


def noise(width: int, height: int, seed: int = 1) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


PAGES = [noise(210, 297), noise(297, 210, 2), noise(31, 40, 3)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_siglip(tmp_path_factory.mktemp("siglip"))


@pytest.fixture(scope="module")
def model(folder: Path) -> SiglipOnnx:
    opened = open_siglip(folder, 1)
    assert opened is not None
    return opened


@pytest.fixture(scope="module")
def by_torch(folder: Path) -> Siglip:
    from docmind.embedding.siglip import Siglip

    return Siglip(folder, "siglip", device="cpu", precision="float32")


@pytest.mark.slow
def test_pictures_have_the_same_vectors(model: SiglipOnnx, by_torch: Siglip) -> None:
    pictures = [*PAGES, PAGES[0].convert("L"), PAGES[1].convert("RGBA")]
    found = model.images(pictures)
    assert (found.shape, found.dtype, model.dim) == ((5, 32), np.float32, by_torch.dim)
    assert found == pytest.approx(by_torch.images(pictures), abs=2e-6)
    assert float(found[0] @ found[1]) < 0.9999
    assert model.images(PAGES[:1])[0] == pytest.approx(found[0], abs=1e-6)


@pytest.mark.slow
@each_of(
    "text",
    [
        *("", "  ", "total revenue", "Total  REVENUE, of the page!", "word " * 500, "</s><pad><eos> figure <unk>"),
        *("Ünïcode ß ﬁ 漢字", "\x00\ud83d".encode("utf-8", "ignore").decode(), "it's a 'table'\n\nof (figures)"),
    ],
)
def test_texts_have_the_same_vectors(model: SiglipOnnx, by_torch: Siglip, text: str) -> None:
    assert model.text(text) == pytest.approx(by_torch.text(text), abs=2e-6)


def changed(name: str, **values: Any) -> Callable[[Path], None]:
    """Return a change of a configuration file; a name with two underscores stands for a part of a part."""

    def change(folder: Path) -> None:
        told = json.loads((folder / name).read_text())
        for key, value in values.items():
            *parts, last = key.split("__")
            part = told
            for one in parts:
                part = part[one]
            part[last] = value
        (folder / name).write_text(json.dumps(told))

    return change


def rewritten(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    """Return a change of the weights, which are numpy's."""

    def rewrite(folder: Path) -> None:
        from safetensors.numpy import load_file, save_file

        weights = load_file(folder / "model.safetensors")
        change(weights)
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

    return rewrite


def half(weights: dict[str, Any]) -> None:
    weights["logit_scale"] = weights["logit_scale"].astype(np.float16)


@each_of(
    "change",
    [
        changed("config.json", vision_config__hidden_act="gelu"),
        changed("preprocessor_config.json", resample=2),
        changed("preprocessor_config.json", size={"height": 48, "width": 48}),
        changed("preprocessor_config.json", do_normalize=False),
        changed("tokenizer_config.json", tokenizer_class="GemmaTokenizer"),
        rewritten(lambda weights: weights.pop("vision_model.post_layernorm.weight")),
        rewritten(lambda weights: weights.pop("text_model.encoder.layers.0.mlp.fc2.bias")),
        rewritten(half),
    ],
)
def test_files_of_another_form_are_left_to_torch(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, change: Callable[[Path], None]
) -> None:
    copy = shutil.copytree(folder, tmp_path_factory.mktemp("changed") / "copy")
    assert open_siglip(copy, 1) is not None
    change(copy)
    assert open_siglip(copy, 1) is None


def test_weights_behind_a_link_are_read(folder: Path, tmp_path: Path, model: SiglipOnnx) -> None:
    """As the cache of the hub keeps them."""
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "model.safetensors").rename(tmp_path / "blob")
    (copy / "model.safetensors").symlink_to(tmp_path / "blob")
    linked = open_siglip(copy, 1)
    assert linked is not None
    assert np.array_equal(linked.text("a figure"), model.text("a figure"))


def test_torch_stays_where_it_is_better(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = {"card": False, "bfloat16": False}
    monkeypatch.setattr(siglip_onnx, "_has_accelerator", lambda: flags["card"])
    monkeypatch.setattr(siglip_onnx, "_is_fast_in_bfloat16", lambda: flags["bfloat16"])
    assert is_best_here("auto", "auto")
    assert not is_best_here("cuda", "auto")
    assert not is_best_here("auto", "bfloat16")
    flags["card"] = True
    assert (is_best_here("auto", "auto"), is_best_here("cpu", "auto")) == (False, True)
    flags["bfloat16"] = True
    assert (is_best_here("cpu", "auto"), is_best_here("cpu", "float32")) == (False, True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_its_process_loads_no_torch(folder: Path, tmp_path: Path) -> None:
    settings = VisualSettings(device="cpu", precision="float32", threads=1)
    weights = Weights(tmp_path / "models")
    seeing = open_image_model(weights.describe(str(folder)), settings)
    try:
        with started_by("spawn"):
            seeing.embed_text("a figure")
        maps = Path(f"/proc/{seeing.pid}/maps").read_text()  # type: ignore[attr-defined]
        assert ("libtorch" in maps, "onnxruntime" in maps) == (False, True)
    finally:
        seeing.close()  # type: ignore[attr-defined]
    lacking = shutil.copytree(folder, tmp_path / "lacking")
    rewritten(lambda weights: weights.pop("vision_model.post_layernorm.weight"))(lacking)
    broken = open_image_model(weights.describe(str(lacking)), settings)
    try:
        with pytest.raises(VisualModelError, match="lack 1 of the weights"):
            broken.embed_text("a figure")
    finally:
        broken.close()  # type: ignore[attr-defined]
