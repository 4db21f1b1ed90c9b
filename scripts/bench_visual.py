"""Models that look at pages, of full size and with random weights: what a page and a question cost on this machine.

Random weights take as long as trained ones, and nothing need be fetched. `docmind models bench NAME` measures a model
that is here, from the pictures of real pages.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image

_PAGE = (1240, 1754)  # A4 at 150 dpi


def bench_visual() -> None:
    """SigLIP base and ColModernVBERT in float32 and bfloat16: milliseconds for a page and a question."""
    import torch
    from transformers import SiglipConfig, SiglipImageProcessorPil, SiglipModel

    from docmind.embed.device import measure

    gain, error = measure("cpu")
    print(f"{torch.get_num_threads()} threads; bfloat16 multiplies {gain:.1f} times as fast, error {error:.4f}")
    noise = np.random.default_rng(7).integers(0, 255, (_PAGE[1], _PAGE[0], 3), dtype=np.uint8)
    page = Image.fromarray(noise)
    prepare = SiglipImageProcessorPil(size={"height": 224, "width": 224}, image_mean=[0.5] * 3, image_std=[0.5] * 3)
    seconds = _median(lambda: prepare(images=[page], return_tensors="pt"))
    print(f"SigLIP base, a page made small          {seconds * 1000:8.0f} ms")
    torch.manual_seed(7)
    model = SiglipModel(SiglipConfig()).eval()
    _siglip(model, "float32")
    _siglip(model.bfloat16(), "bfloat16")
    del model
    late = _colmodernvbert()
    _late(late, "float32")
    _late(late.bfloat16(), "bfloat16")


def _siglip(model: Any, precision: str) -> None:
    import torch

    ids = torch.randint(2, 30_000, (1, 64))
    with torch.inference_mode():
        for batch in (1, 4):
            pixels = torch.randn(batch, 3, 224, 224, dtype=model.dtype)
            seconds = _median(lambda pixels=pixels: model.get_image_features(pixel_values=pixels)) / batch
            print(f"SigLIP base, a page, batch of {batch}, {precision:9}{seconds * 1000:8.0f} ms")
        seconds = _median(lambda: model.get_text_features(input_ids=ids))
    print(f"SigLIP base, a question, {precision:15}{seconds * 1000:8.0f} ms")


def _colmodernvbert() -> Any:
    """The sizes that its authors publish: a SigLIP of 512 pixels and ModernBERT with 22 layers."""
    import torch
    from transformers import ColModernVBertConfig, ColModernVBertForRetrieval, ModernVBertConfig

    vision = {"image_size": 512, "patch_size": 16}
    inner = ModernVBertConfig(text_config={"vocab_size": 50_408}, vision_config=vision, image_token_id=50_407)
    torch.manual_seed(7)
    return ColModernVBertForRetrieval(ColModernVBertConfig(vlm_config=inner)).eval()


def _late(model: Any, precision: str) -> None:
    """A page in portrait is twelve tiles and once the whole, 64 tokens each."""
    import torch

    tiles = 13
    ids = torch.tensor([[9, 9, *[50_407] * 64] * tiles + [9] * 14])
    pixels = torch.randn(1, tiles, 3, 512, 512)
    with torch.inference_mode():
        seconds = _median(lambda: model(input_ids=ids, pixel_values=pixels), runs=1)
        print(f"ColModernVBERT, a page, {precision:16}{seconds * 1000:8.0f} ms")
        question = torch.randint(10, 30_000, (1, 24))
        seconds = _median(lambda: model(input_ids=question))
    print(f"ColModernVBERT, a question, {precision:12}{seconds * 1000:8.0f} ms")


def _median(work: Callable[[], object], runs: int = 5) -> float:
    """Seconds of the middle run, after one that is not counted."""
    work()
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)
