"""Visual models in their child process: equal answers, and recovery when the process or its files disappear."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from docmind.config import VisualSettings
from docmind.embedding.visual_client import ImageVision, LateVision, open_image_model, open_late_model
from docmind.errors import ConfigError, ExtraMissingError, VisualModelError
from docmind.model_files import Weights
from docmind.records.models import Description
from docmind_testkit import FakeImageModel, FakeLateModel
from tinymodels import tiny_colmodernvbert, tiny_colpali, tiny_colqwen2, tiny_siglip, tiny_siglip2

EXACT = VisualSettings(device="cpu", precision="float32", threads=1)
MAKE = {
    "siglip": tiny_siglip,
    "siglip2": tiny_siglip2,
    "colpali": tiny_colpali,
    "colqwen2": tiny_colqwen2,
    "colmodernvbert": tiny_colmodernvbert,
}


def noise(width: int, height: int, seed: int = 1, kind: str = "WEBP") -> bytes:
    out = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(out, kind)
    return out.getvalue()


PAGES = [noise(210, 297, seed, kind) for seed, kind in enumerate(("WEBP", "PNG", "JPEG", "WEBP", "PNG", "WEBP"))]


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Weights:
    return Weights(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def siglip_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_siglip(tmp_path_factory.mktemp("siglip"))


@pytest.fixture(scope="module")
def siglip(siglip_folder: Path, weights: Weights) -> Iterator[ImageVision]:
    model = open_image_model(weights.describe(str(siglip_folder)), EXACT)
    assert isinstance(model, ImageVision)
    yield model
    model.close()


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[LateVision]:
    folder = tiny_colmodernvbert(tmp_path_factory.mktemp("late"))
    model = open_late_model(weights.describe(str(folder)), EXACT)
    assert isinstance(model, LateVision)
    yield model
    model.close()


# --- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_facts_are_known_before_anything_starts(siglip_folder: Path, weights: Weights) -> None:
    description = weights.describe(str(siglip_folder))
    model = open_image_model(description, EXACT)
    assert (model.dim, model.fingerprint, model.device) == (32, description.fingerprint, "")
    assert isinstance(model, ImageVision)
    assert model.pid is None
    model.close()


@pytest.mark.slow
def test_pages_and_text_come_back_as_unit_vectors(siglip: ImageVision) -> None:
    vectors = siglip.embed_images(PAGES)  # more than one batch
    assert vectors.shape == (6, 32)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(6), abs=1e-5)
    assert siglip.embed_images(PAGES[3:4])[0] == pytest.approx(vectors[3], abs=1e-5)
    assert siglip.embed_images([]).shape == (0, 32)
    assert float(np.linalg.norm(siglip.embed_text("a figure"))) == pytest.approx(1.0, abs=1e-5)
    assert (siglip.device, siglip.precision) == ("cpu", "float32")
    assert siglip.load_s > 0


@pytest.mark.slow
def test_patches_and_tokens_come_back(late: LateVision) -> None:
    first, second = late.embed_images([PAGES[0], noise(400, 200)])
    assert [(page.rows, page.cols) for page in (first, second)] == [(8, 6), (4, 8)]
    assert first.vectors.shape == (len(first.patches), late.dim)
    query = late.embed_query("What is the total revenue?")
    assert "".join(query.tokens) == "Whatisthetotalrevenue?"
    assert query.vectors.shape == (len(query.tokens), late.dim)


@pytest.mark.slow
def test_the_owner_never_imports_torch(siglip_folder: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from docmind.config import VisualSettings; "
        "from docmind.embedding.visual_client import open_image_model; from docmind.model_files import Weights; "
        f"weights = Weights(Path({str(tmp_path)!r})); "
        f"model = open_image_model(weights.describe({str(siglip_folder)!r}), VisualSettings()); "
        "model.embed_text('x'); model.close(); "
        "print(sorted({'torch', 'transformers', 'onnxruntime'} & set(sys.modules)))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


@pytest.mark.slow
def test_a_question_is_answered_while_pages_are_looked_at(late: LateVision) -> None:
    late.warm()
    big, over = noise(1200, 1600), threading.Event()
    looked = [0, 0]

    def look(number: int) -> None:
        while not over.is_set():
            looked[number] += len(late.embed_images([big] * 2))

    pages = [threading.Thread(target=look, args=(number,)) for number in range(2)]
    for thread in pages:
        thread.start()
    try:
        questions = [late.embed_query(f"question {number}").vectors for number in range(20)]
    finally:
        over.set()
        for thread in pages:
            thread.join()
    assert all(looked)
    for number, vectors in enumerate(questions):  # and nobody got another's answer
        assert np.array_equal(vectors, late.embed_query(f"question {number}").vectors)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "told"),
    [(b"no picture", "cannot be read"), (noise(90, 90)[:400], "cannot be read"), (noise(2_000, 12), "too narrow")],
    ids=["no picture", "cut short", "a strip"],
)
def test_a_bad_picture_is_an_error_of_its_own(siglip: ImageVision, data: bytes, told: str) -> None:
    assert siglip.embed_text("half a \ud83d character\x00" * 500).shape == (32,)
    before = siglip.pid
    with pytest.raises(VisualModelError, match=told):
        siglip.embed_images([PAGES[0], data])
    assert siglip.embed_images(PAGES[:1]).shape == (1, 32)
    assert siglip.pid == before


@pytest.mark.slow
def test_a_bomb_is_refused_before_it_is_unpacked(siglip: ImageVision) -> None:
    """The header claims 3,600 million pixels; the rest of it is not read."""
    size = struct.pack(">II5B", 60_000, 60_000, 8, 2, 0, 0, 0)
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + size + struct.pack(">I", zlib.crc32(b"IHDR" + size))
    with pytest.raises(VisualModelError, match="too large"):
        siglip.embed_images([head + noise(9, 9, 1, "PNG")[33:]])


# --- what goes away ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.crash
def test_a_killed_process_is_told_and_started_again(late: LateVision) -> None:
    late.warm()
    first = late.pid
    assert first is not None
    os.kill(first, signal.SIGSTOP)  # so that it is surely asked before it dies
    killer = threading.Timer(0.5, os.kill, (first, signal.SIGKILL))
    killer.start()
    with pytest.raises(VisualModelError, match="broke off"):
        late.embed_images(PAGES[:1])
    killer.join()
    assert late.embed_images(PAGES[:1])[0].rows == 8
    assert late.pid not in (None, first)


@pytest.mark.slow
@pytest.mark.crash
def test_missing_files_are_reported_until_they_are_back(tmp_path: Path, siglip_folder: Path, weights: Weights) -> None:
    folder = shutil.copytree(siglip_folder, tmp_path / "model")
    file, away = folder / "model.safetensors", tmp_path / "away"
    model = open_image_model(weights.describe(str(folder)), EXACT)
    before = model.embed_text("a figure")
    whole = file.read_bytes()

    file.rename(away)
    with pytest.raises(VisualModelError, match=r"It has no model\.safetensors"):
        model.embed_text("a figure")
    with pytest.raises(VisualModelError, match="cannot be used"):
        model.embed_images(PAGES[:1])
    away.rename(file)

    os.truncate(file, len(whole) // 2)
    with pytest.raises(VisualModelError, match="cut short"):
        model.embed_text("a figure")

    changed = bytearray(whole)
    changed[-3] ^= 0x40
    file.write_bytes(changed)
    with pytest.raises(VisualModelError, match="not those that it was chosen with"):
        model.embed_text("a figure")

    file.write_bytes(whole)
    assert np.array_equal(model.embed_text("a figure"), before)
    shutil.rmtree(folder)
    with pytest.raises(VisualModelError, match=r"config\.json is missing"):
        model.embed_text("a figure")
    model.close()


@pytest.mark.slow
def test_what_takes_too_long_is_stopped_and_so_is_what_is_idle(siglip_folder: Path, weights: Weights) -> None:
    times = {"open": 120.0, "images": 0.001, "text": 120.0}
    model = ImageVision(weights.describe(str(siglip_folder)), EXACT, timeouts_s=times, idle_s=1.0)
    with pytest.raises(VisualModelError, match="took longer"):
        model.embed_images(PAGES[:4])
    assert model.embed_text("a figure").shape == (32,)
    deadline = time.monotonic() + 30
    while model.pid is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert model.pid is None
    model.close()


@pytest.mark.slow
def test_a_closed_model_says_so_and_starts_nothing(siglip_folder: Path, weights: Weights) -> None:
    model = open_image_model(weights.describe(str(siglip_folder)), EXACT)
    assert isinstance(model, ImageVision)
    model.close()
    with pytest.raises(VisualModelError, match="switched off"):
        model.embed_text("a figure")
    assert model.pid is None


# --- what cannot be opened --------------------------------------------------------------------------------------------


def test_fakes_open_without_files(weights: Weights) -> None:
    image = open_image_model(weights.describe("fake-image"), EXACT)
    late_model = open_late_model(weights.describe("fake-late"), EXACT)
    assert isinstance(image, FakeImageModel)
    assert isinstance(late_model, FakeLateModel)
    for model in (image, late_model):
        told = weights.describe(model.name)
        assert (model.dim, model.fingerprint) == (told.dim, told.fingerprint)


def test_the_other_kind_is_refused(siglip_folder: Path, weights: Weights) -> None:
    with pytest.raises(ConfigError, match="but 'image'"):
        open_late_model(weights.describe(str(siglip_folder)), EXACT)
    with pytest.raises(ConfigError, match="but 'late'"):
        open_image_model(weights.describe("fake-late"), EXACT)


def test_a_model_that_is_not_here_says_how_to_fetch_it(weights: Weights) -> None:
    with pytest.raises(VisualModelError, match="missing") as caught:
        open_image_model(weights.describe("siglip"), EXACT)
    assert "docmind models pull siglip" in caught.value.hint


def test_only_pickled_weights_are_refused(tmp_path: Path, siglip_folder: Path, weights: Weights) -> None:
    folder = shutil.copytree(siglip_folder, tmp_path / "model")
    description = weights.describe(str(folder))
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(VisualModelError, match="only safetensors are read"):
        open_image_model(description, EXACT)


def test_another_architecture_is_refused(tmp_path: Path, siglip_folder: Path, weights: Weights) -> None:
    folder = shutil.copytree(siglip_folder, tmp_path / "model")
    description = weights.describe(str(folder))
    told = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**told, "model_type": "clip"}))
    with pytest.raises(VisualModelError, match="'clip'"):
        open_image_model(description, EXACT)


@pytest.mark.slow
def test_files_that_load_as_nothing_are_one_sentence(tmp_path: Path, siglip_folder: Path, weights: Weights) -> None:
    folder = shutil.copytree(siglip_folder, tmp_path / "model")
    (folder / "tokenizer.json").write_text('{"model": 7}')
    model = open_image_model(weights.describe(str(folder)), EXACT)
    with pytest.raises(VisualModelError, match="cannot be loaded from its files"):
        model.warm()
    model.close()


def test_the_engines_models_need_the_extra(tmp_path: Path, weights: Weights) -> None:
    described = Description("engine", "late", "", tmp_path, "present", 128, "qwen2_vl", fingerprint="engine:0")
    with pytest.raises(ExtraMissingError) as caught:
        open_late_model(described, EXACT)
    assert "pip install" in caught.value.hint


@pytest.mark.slow
def test_a_demanded_device_that_is_not_there_is_a_config_error(siglip_folder: Path, weights: Weights) -> None:
    import torch

    if torch.backends.mps.is_available():
        pytest.skip("Metal can be used")
    model = open_image_model(weights.describe(str(siglip_folder)), VisualSettings(device="mps"))
    with pytest.raises(ConfigError, match="DOCMIND_VISUAL__DEVICE=mps"):
        model.embed_text("a figure")
    model.close()


# --- a graphics card --------------------------------------------------------------------------------------------------


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["float32", "auto"])
@pytest.mark.parametrize("name", list(MAKE))
def test_on_cuda_every_architecture_says_the_same(name: str, precision: str, tmp_path: Path, weights: Weights) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    described = weights.describe(str(MAKE[name](tmp_path / "model")))
    found = []
    for settings in (EXACT, VisualSettings(device="cuda", precision="float32" if precision == "float32" else "auto")):
        if described.kind == "image":
            image = open_image_model(described, settings)
            found.append(np.concatenate([image.embed_images(PAGES), image.embed_text("a figure")[None]]))
            image.close()
        else:
            late_model = open_late_model(described, settings)
            pages = late_model.embed_images(PAGES[:2])
            found.append(
                np.concatenate([*(page.vectors for page in pages), late_model.embed_query("a figure").vectors])
            )
            late_model.close()
    assert float((found[0] * found[1]).sum(axis=1).min()) > (0.999 if precision == "float32" else 0.9)
