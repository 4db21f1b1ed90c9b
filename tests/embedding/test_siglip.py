"""SigLIP and SigLIP 2, each from a tiny checkpoint through the real `from_pretrained`.

torch and transformers are imported in the tests: collecting them would take each pytest worker seconds.
"""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from docmind.errors import VisualModelError
from each import each_of
from tinymodels import tiny_siglip, tiny_siglip2

if TYPE_CHECKING:
    from docmind.embedding.siglip import Siglip

MAKE = {"siglip": tiny_siglip, "siglip2": tiny_siglip2}


def noise(width: int, height: int, seed: int = 1) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


PAGES = [noise(210, 297), noise(297, 210, 2), noise(40, 31, 3)]


@pytest.fixture(scope="module", params=list(MAKE))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return MAKE[request.param](tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def model(folder: Path) -> Siglip:
    return opened(folder)


def opened(folder: Path, precision: str = "float32") -> Siglip:
    from docmind.embedding.siglip import Siglip

    architecture = json.loads((folder / "config.json").read_text())["model_type"]
    return Siglip(folder, architecture, device="cpu", precision=precision)


def test_batch_in_unit_vectors_out(model: Siglip) -> None:
    vectors = model.images(PAGES)
    assert vectors.shape == (3, model.dim) == (3, 32)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-6)
    assert float(vectors[0] @ vectors[1]) < 0.9999  # different pages differ


def test_a_page_has_one_vector_whatever_stands_beside_it(model: Siglip) -> None:
    together = model.images(PAGES)
    alone = np.concatenate([model.images([page]) for page in PAGES])
    assert together == pytest.approx(alone, abs=1e-5)
    assert np.array_equal(model.images(PAGES), together)


def test_pictures_are_what_the_models_own_class_says(model: Siglip, folder: Path) -> None:
    """The same picture, prepared by hand: resized, scaled to -1..1, through the vision tower."""
    import torch
    from transformers import Siglip2Processor

    if json.loads((folder / "config.json").read_text())["model_type"] == "siglip2":
        processor = Siglip2Processor.from_pretrained(folder, local_files_only=True)
        rules: dict[str, Any] = {"patch_size": 8, "max_num_patches": 16, "return_tensors": "pt"}
        inputs = processor(images=PAGES[:1], text=["the total"], **rules)
        with torch.inference_mode():
            expected = model._model(**inputs)
        texts = torch.nn.functional.normalize(expected.text_embeds, dim=-1)
        assert model.text("the total") == pytest.approx(texts[0].numpy(), abs=1e-5)
        images = torch.nn.functional.normalize(expected.image_embeds, dim=-1)
    else:
        small = np.asarray(PAGES[0].resize((32, 32), Image.Resampling.BICUBIC), np.float32) / 127.5 - 1
        with torch.inference_mode():
            pooled = model._model.vision_model(torch.tensor(small.transpose(2, 0, 1)[None])).pooler_output
        images = torch.nn.functional.normalize(pooled, dim=-1)
    assert model.images(PAGES[:1])[0] == pytest.approx(images[0].numpy(), abs=1e-4)


def test_text_is_filled_up_as_it_was_trained(model: Siglip) -> None:
    """All 64 places are used, whatever the length: otherwise the last place would differ."""
    import torch

    vector = model.text("total revenue")
    assert vector.shape == (32,)
    assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-6)
    names = model._tokenizer
    ids = [*names("total revenue")["input_ids"]]
    ids += [names.pad_token_id] * (64 - len(ids))
    with torch.inference_mode():
        pooled = model._model.get_text_features(input_ids=torch.tensor([ids])).pooler_output
    assert vector == pytest.approx(torch.nn.functional.normalize(pooled, dim=-1)[0].numpy(), abs=1e-5)


@each_of("text", ["", "  ", "word " * 500, "</s><pad><eos>", "\x00\ud83d".encode("utf-8", "ignore").decode()])
def test_odd_text_has_a_vector(model: Siglip, text: str) -> None:
    assert float(np.linalg.norm(model.text(text))) == pytest.approx(1.0, abs=1e-6)


def test_large_letters_mean_what_small_ones_mean(model: Siglip) -> None:
    assert np.array_equal(model.text("Total  REVENUE "), model.text("total revenue"))


def test_bfloat16_says_nearly_the_same(model: Siglip, folder: Path) -> None:
    rough = opened(folder, "bfloat16").images(PAGES)
    assert rough.dtype == np.float32
    assert (rough * model.images(PAGES)).sum(axis=1) == pytest.approx(np.ones(3), abs=0.01)
    assert np.linalg.norm(rough, axis=1) == pytest.approx(np.ones(3), abs=1e-6)


def test_missing_weights_are_not_made_up(folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    copy = shutil.copytree(folder, tmp_path / "copy")
    weights = load_file(copy / "model.safetensors")
    del weights["vision_model.post_layernorm.weight"]
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(VisualModelError, match="lack 1 of the weights"):
        opened(copy)


def test_pickled_weights_are_never_read(folder: Path, tmp_path: Path) -> None:
    import torch
    from safetensors.torch import load_file

    copy = shutil.copytree(folder, tmp_path / "copy")
    torch.save(load_file(copy / "model.safetensors"), copy / "pytorch_model.bin")
    (copy / "model.safetensors").unlink()
    with pytest.raises(OSError, match="safetensors"):
        opened(copy)


def test_code_beside_the_weights_is_not_run(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Evil: pass\n")
    for name, kinds in (
        ("config.json", ["AutoConfig", "AutoModel"]),
        ("tokenizer_config.json", ["AutoTokenizer"]),
        ("preprocessor_config.json", ["AutoImageProcessor", "AutoProcessor"]),
    ):
        told = json.loads((copy / name).read_text())
        told["auto_map"] = {kind: ["evil.Evil", None] if kind == "AutoTokenizer" else "evil.Evil" for kind in kinds}
        (copy / name).write_text(json.dumps(told))
    assert opened(copy).images(PAGES).shape == (3, 32)
    assert not (tmp_path / "ran").exists()
    assert "y/N" not in capsys.readouterr().out


def test_every_picture_format_of_a_page_gives_nearly_the_same(model: Siglip) -> None:
    out = io.BytesIO()
    plain = Image.new("RGB", (210, 297), (200, 40, 40))
    plain.save(out, "WEBP", quality=80)
    assert float(model.images([plain])[0] @ model.images([Image.open(out).convert("RGB")])[0]) > 0.99
