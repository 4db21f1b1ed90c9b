"""The device and precision of a model."""

from __future__ import annotations

import pytest
import torch

from docmind.embedding.device import ERROR, choose_device, choose_precision, measure
from docmind.errors import ConfigError


def test_what_is_not_demanded_runs_somewhere() -> None:
    device = choose_device("auto")
    assert device in ("cuda", "mps", "cpu")
    assert torch.zeros(2, device=device).sum() == 0
    assert choose_device("cpu") == "cpu"


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_a_missing_cuda_device_raises_with_the_install_line() -> None:
    with pytest.raises(ConfigError, match="DOCMIND_VISUAL__DEVICE=cuda") as caught:
        choose_device("cuda")
    assert "pip install" in caught.value.hint


@pytest.mark.skipif(torch.backends.mps.is_available(), reason="Metal can be used")
def test_a_demanded_metal_device_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ConfigError, match="DOCMIND_VISUAL__DEVICE=mps") as caught:
        choose_device("mps")
    assert "Apple silicon" in caught.value.hint


@pytest.mark.slow
def test_bfloat16_is_tried_before_it_is_trusted() -> None:
    gain, error = measure("cpu")
    assert gain > 0
    assert 0 < error < ERROR  # it keeps 8 bits of 24: never exact, never far off


@pytest.mark.slow
def test_a_demanded_precision_is_kept() -> None:
    assert choose_precision("cpu", "float32") == "float32"
    assert choose_precision("cpu", "bfloat16") == "bfloat16"
    assert choose_precision("cpu", "auto") in ("float32", "bfloat16")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_a_cuda_device_is_taken_and_gains_from_bfloat16() -> None:
    assert choose_device("auto") == "cuda"
    assert choose_precision("cuda", "auto") in ("float32", "bfloat16")
    assert measure("cuda")[1] < ERROR
