"""The device and precision of a model: as the settings say, or the best choice for this machine.

Runs in the process that holds the model: torch is imported here.
"""

from __future__ import annotations

import time

import torch
from torch.nn.functional import linear

from docmind.errors import ConfigError
from docmind.wording import _

GAIN = 1.3
"""bfloat16 must be this much faster than float32 to be worth its lost digits; where it is emulated it is slower."""
ERROR = 0.02
"""The largest relative error of a product of random matrices; bfloat16 keeps 8 bits, which gives about 0.003."""
_ROWS, _INNER, _OUTER = 196, 768, 3_072  # one picture through a layer of SigLIP


def choose_device(wanted: str, settings: str = "DOCMIND_VISUAL") -> str:
    """Return `cuda`, `mps` or `cpu` for the setting of the group `settings`.

    Raises `ConfigError` where the device it demands is missing.
    """
    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    if wanted == "cuda" and not torch.cuda.is_available():
        built = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "built without CUDA"
        raise ConfigError(
            _("{settings}__DEVICE=cuda, but no CUDA device can be used (torch {version} is {built}).").format(
                settings=settings, version=torch.__version__, built=built
            ),
            hint=_(
                "With an NVIDIA card and its driver, install a build with CUDA (on Linux: pip install "
                "--force-reinstall torch=={value}), or set {settings}__DEVICE=auto."
            ).format(value=torch.__version__.split("+")[0], settings=settings),
        )
    if wanted == "mps" and not torch.backends.mps.is_available():
        raise ConfigError(
            _("{settings}__DEVICE=mps, but Metal cannot be used here.").format(settings=settings),
            hint=_("It needs a Mac with Apple silicon and a recent macOS; set {settings}__DEVICE=auto.").format(
                settings=settings
            ),
        )
    return wanted


def choose_precision(device: str, wanted: str, settings: str = "DOCMIND_VISUAL") -> str:
    """Return `bfloat16` or `float32`: the setting, or the faster one in a matrix product on this device.

    Raises `ConfigError` where bfloat16 is demanded and gives wrong results here.
    """
    if wanted == "float32":
        return wanted
    gain, error = measure(device)
    if wanted == "bfloat16":
        if error > ERROR:
            raise ConfigError(
                _("{settings}__PRECISION=bfloat16, but this computer gets its sums wrong.").format(settings=settings),
                hint=_("Set {settings}__PRECISION=auto.").format(settings=settings),
            )
        return wanted
    return "bfloat16" if gain >= GAIN and error <= ERROR else "float32"


def measure(device: str) -> tuple[float, float]:
    """Return the speed of bfloat16 relative to float32, and its largest error relative to the largest number.

    The error is infinite where the device does not support bfloat16.
    """
    draw = torch.Generator().manual_seed(7)
    left = torch.randn(_ROWS, _INNER, generator=draw).to(device)
    right = torch.randn(_OUTER, _INNER, generator=draw).to(device)
    with torch.inference_mode():
        exact = linear(left, right)
        try:
            rough = linear(left.bfloat16(), right.bfloat16()).float()
        except (RuntimeError, TypeError):
            return 0.0, float("inf")
        error = float((rough - exact).abs().max() / exact.abs().max())
        return _seconds(left, right) / _seconds(left.bfloat16(), right.bfloat16()), error if error == error else 1e9


def _seconds(left: torch.Tensor, right: torch.Tensor) -> float:
    """Return the shortest time of several products: other load on the machine only makes them slower."""
    times = []
    for _unused in range(8):
        started = time.perf_counter()
        product = linear(left, right)
        float(product[0, 0])  # waits for an asynchronous device
        times.append(time.perf_counter() - started)
    return min(times)
