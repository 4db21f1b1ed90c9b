"""The device and precision of a model."""

from __future__ import annotations

from typing import Any

import pytest

from docmind.errors import ConfigError

# Conditions as texts: pytest evaluates them before a test. Imported here, torch would take each worker seconds.
CUDA = "__import__('torch').cuda.is_available()"
METAL = "__import__('torch').backends.mps.is_available()"


@pytest.fixture
def device() -> Any:
    """Return the module under test, which imports torch."""
    from docmind.embedding import device

    return device


def test_what_is_not_demanded_runs_somewhere(device: Any) -> None:
    import torch

    chosen = device.choose_device("auto")
    assert chosen in ("cuda", "mps", "cpu")
    assert torch.zeros(2, device=chosen).sum() == 0
    assert device.choose_device("cpu") == "cpu"


@pytest.mark.skipif(CUDA, reason="there is a CUDA device")
def test_a_missing_cuda_device_raises_with_the_install_line(device: Any) -> None:
    with pytest.raises(ConfigError, match="DOCMIND_VISUAL__DEVICE=cuda") as caught:
        device.choose_device("cuda")
    assert "pip install" in caught.value.hint


@pytest.mark.skipif(METAL, reason="Metal can be used")
def test_a_demanded_metal_device_that_is_not_there_is_an_error(device: Any) -> None:
    with pytest.raises(ConfigError, match="DOCMIND_VISUAL__DEVICE=mps") as caught:
        device.choose_device("mps")
    assert "Apple silicon" in caught.value.hint


@pytest.mark.slow
def test_bfloat16_is_tried_before_it_is_trusted(device: Any) -> None:
    gain, error = device.measure("cpu")
    assert gain > 0
    assert 0 < error < device.ERROR  # it keeps 8 bits of 24: never exact, never far off


@pytest.mark.slow
def test_a_demanded_precision_is_kept(device: Any) -> None:
    assert device.choose_precision("cpu", "float32") == "float32"
    assert device.choose_precision("cpu", "bfloat16") == "bfloat16"
    assert device.choose_precision("cpu", "auto") in ("float32", "bfloat16")


@pytest.mark.gpu
@pytest.mark.skipif(f"not {CUDA}", reason="there is no CUDA device")
def test_a_cuda_device_is_taken_and_gains_from_bfloat16(device: Any) -> None:
    assert device.choose_device("auto") == "cuda"
    assert device.choose_precision("cuda", "auto") in ("float32", "bfloat16")
    assert device.measure("cuda")[1] < device.ERROR
