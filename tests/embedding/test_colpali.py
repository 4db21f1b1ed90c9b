"""The ColPali family, each from a tiny checkpoint through the real `from_pretrained`.

torch and transformers are imported in the tests: collecting them would take each pytest worker seconds.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from docmind.errors import ExtraMissingError, VisualModelError
from docmind.runtime import extras
from each import each_of
from tinymodels import tiny_colmodernvbert, tiny_colpali, tiny_colqwen2

if TYPE_CHECKING:
    from docmind.embedding.colpali import ColVision

MAKE = {"colpali": tiny_colpali, "colqwen2": tiny_colqwen2, "colmodernvbert": tiny_colmodernvbert}
SHAPES = [(210, 297), (400, 200), (30, 40), (300, 300), (1000, 20)]
GRIDS = {
    "colpali": [(8, 8)] * 5,
    "colqwen2": [(5, 4), (3, 6), (3, 2), (4, 4), (1, 34)],
    "colmodernvbert": [(8, 6), (4, 8), (8, 6), (8, 8), (2, 8)],
}
"""Rows and columns for `SHAPES`, worked out from each processor's rule."""


def noise(width: int, height: int, seed: int = 1) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8))


@pytest.fixture(scope="module", params=list(MAKE))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return MAKE[request.param](tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def model(folder: Path) -> ColVision:
    return opened(folder)


def architecture_of(folder: Path) -> str:
    return json.loads((folder / "config.json").read_text())["model_type"]


def opened(folder: Path, precision: str = "float32") -> ColVision:
    from docmind.embedding.colpali import open_colpali

    return open_colpali(folder, architecture_of(folder), device="cpu", precision=precision)


@pytest.mark.slow
def test_every_cell_of_the_models_own_grid_has_one_token(model: ColVision, folder: Path) -> None:
    for shape, grid in zip(SHAPES, GRIDS[architecture_of(folder)], strict=True):
        page = model.page(noise(*shape))
        assert (page.rows, page.cols) == grid
        assert np.sort(page.patches[page.patches >= 0]).tolist() == list(range(page.rows * page.cols))
        assert page.patches.dtype == np.int32
        assert page.vectors.shape == (len(page.patches), 128)
        assert page.vectors.dtype == np.float32
        assert np.linalg.norm(page.vectors, axis=1) == pytest.approx(np.ones(len(page.patches)), abs=1e-5)


@pytest.mark.slow
def test_patches_lie_where_the_page_changes(model: ColVision, folder: Path) -> None:
    """A change in one corner moves the vision tower's feature of that corner's cell most."""
    plain = Image.new("RGB", (224, 224), (120, 130, 140))
    marked = plain.copy()
    marked.paste(noise(56, 56), (168, 0))  # upper right
    seen = [patch_features(model, picture) for picture in (plain, marked)]
    page = model.page(plain)
    moved = np.linalg.norm(seen[0] - seen[1], axis=1)
    cells = page.patches[page.patches >= 0]  # in the order in which the tower gives them
    row, col = divmod(int(cells[moved[: len(cells)].argmax()]), page.cols)
    assert row < page.rows / 2 <= col * page.rows / page.cols


def patch_features(model: ColVision, picture: Image.Image) -> np.ndarray:
    """Return the vision tower's feature of each patch before any token is mixed with it."""
    import torch

    inputs = model._processor.process_images(images=[picture])
    inner = model._model.vlm
    with torch.inference_mode():
        if "image_grid_thw" in inputs:
            found = inner.visual(inputs["pixel_values"][0], grid_thw=inputs["image_grid_thw"]).pooler_output
        else:
            found = inner.get_image_features(inputs["pixel_values"]).pooler_output
            found = torch.cat(list(found)) if isinstance(found, list) else found[0]
    return found.numpy()


def test_colqwen2_is_told_rows_and_columns(tmp_path: Path) -> None:
    """With them it gives what colpali-engine's own class gives on the same weights, to the bit (0.3.18)."""
    import torch

    from docmind.embedding import colpali

    model = opened(tiny_colqwen2(tmp_path / "model"))
    page = model.page(noise(400, 200))
    inputs = model._processor.process_images(images=[noise(400, 200)])
    with torch.inference_mode():
        in_a_line = model._model(**inputs).embeddings[0].numpy()
    assert np.abs(page.vectors - in_a_line).max() > 1e-4
    rows_and_columns = colpali._positions(model._model, dict(inputs))["position_ids"]
    patches = rows_and_columns[:, 0, inputs["input_ids"][0] == model._processor.image_token_id]
    assert (patches[1] - patches[1].min()).tolist() == [row for row in range(3) for _ in range(6)]
    assert (patches[2] - patches[2].min()).tolist() == [*range(6)] * 3


@pytest.mark.slow
def test_the_same_page_again_is_the_same(model: ColVision) -> None:
    first, again = model.page(noise(210, 297)), model.page(noise(210, 297))
    assert np.array_equal(first.vectors, again.vectors)
    assert not np.allclose(first.vectors, model.page(noise(210, 297, 2)).vectors)


def test_a_question_has_a_vector_a_token_and_readable_words(model: ColVision) -> None:
    query = model.query("What is the total revenue?")
    assert query.vectors.shape == (len(query.tokens), 128)
    assert np.linalg.norm(query.vectors, axis=1) == pytest.approx(np.ones(len(query.tokens)), abs=1e-5)
    assert "".join(query.tokens) == "Whatisthetotalrevenue?"
    assert query.tokens[-1] == ""  # what the model adds by itself
    assert np.array_equal(query.vectors, model.query("What is the total revenue?").vectors)


@each_of("text", ["", "\n", "<image> <|image_pad|> <pad> <end_of_utterance>", "漢字 naïve ﬁ", "x" * 300])
def test_odd_questions_have_vectors(model: ColVision, text: str) -> None:
    query = model.query(text)
    assert len(query.tokens) == len(query.vectors) > 0
    assert np.isfinite(query.vectors).all()
    assert not any("<pad>" in token or "image_pad" in token for token in query.tokens)


def test_letters_of_several_tokens_are_shown_once(model: ColVision) -> None:
    assert "".join(model.query("a 漢字").tokens) == "a漢字"


@pytest.mark.slow
def test_bfloat16_says_nearly_the_same(model: ColVision, folder: Path) -> None:
    exact, rough = model.page(noise(210, 297)), opened(folder, "bfloat16").page(noise(210, 297))
    assert np.array_equal(exact.patches, rough.patches)
    assert float((exact.vectors * rough.vectors).sum(axis=1).mean()) > 0.99
    assert np.linalg.norm(rough.vectors, axis=1) == pytest.approx(np.ones(len(rough.patches)), abs=1e-5)


def test_code_beside_the_weights_is_not_run(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Evil: pass\n")
    for name in ("config.json", "tokenizer_config.json", "preprocessor_config.json", "processor_config.json"):
        told = json.loads((copy / name).read_text())
        kinds = ("AutoConfig", "AutoModel", "AutoImageProcessor", "AutoProcessor")
        told["auto_map"] = dict.fromkeys(kinds, "evil.Evil") | {"AutoTokenizer": [None, "evil.Evil"]}
        (copy / name).write_text(json.dumps(told))
    with contextlib.suppress(ValueError):  # refused, or not even looked at
        opened(copy)
    assert not (tmp_path / "ran").exists()


# --- colpali-engine ---------------------------------------------------------------------------------------------------


@pytest.mark.skipif(importlib.util.find_spec("colpali_engine") is not None, reason="colpali-engine is installed")
def test_without_the_extra_the_install_line_is_given(tmp_path: Path) -> None:
    from docmind.embedding import colpali_engine

    with pytest.raises(ExtraMissingError, match="colpali_engine") as caught:
        colpali_engine.open_engine(tmp_path, device="cpu", precision="float32")
    assert caught.value.hint.startswith('Run: pip install "docmind[colpali]"')


def test_an_extra_that_is_there_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(extras.EXTRAS, "colpali", ("Models", ("numpy", "PIL")))
    extras.need_extra("colpali")


@pytest.mark.skipif(importlib.util.find_spec("colpali_engine") is None, reason="needs the extra colpali")
def test_the_engine_has_the_classes_that_are_named() -> None:
    from docmind.embedding import colpali_engine

    engine = importlib.import_module("colpali_engine.models")
    for name, (processor, _) in colpali_engine.CLASSES.items():
        assert hasattr(getattr(engine, name), "from_pretrained")
        assert hasattr(getattr(engine, processor), "process_images")
        assert hasattr(getattr(engine, processor), "process_queries")


def test_a_grid_that_does_not_fit_is_an_error(model: ColVision, folder: Path, tmp_path: Path) -> None:
    """The processor of another checkpoint is refused, so that nothing is drawn in the wrong place."""
    copy = shutil.copytree(folder, tmp_path / "copy")
    told = json.loads((copy / "preprocessor_config.json").read_text())
    told |= {"image_seq_length": 60} if architecture_of(folder) == "colpali" else {"merge_size": 1}
    (copy / "preprocessor_config.json").write_text(json.dumps(told))
    if architecture_of(folder) == "colmodernvbert":
        (copy / "processor_config.json").write_text(
            '{"processor_class": "ColModernVBertProcessor", "image_seq_len": 3}'
        )
    with pytest.raises((VisualModelError, ValueError, RuntimeError, IndexError)):
        opened(copy).page(noise(210, 297))
