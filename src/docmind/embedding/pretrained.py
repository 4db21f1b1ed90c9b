"""Loading of weights by exact class from a directory, as safetensors, without running code found beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from docmind.errors import DocMindError, VisualModelError
from docmind.wording import _

LOCAL: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
"""Arguments of a processor's `from_pretrained`; without them, a config that names code prompts on the terminal."""


def load_weights(
    model_class: Any,
    directory: Path,
    *,
    device: str,
    precision: str,
    error: type[DocMindError] = VisualModelError,
    unneeded: str = "",
    **more: Any,
) -> Any:
    """Return the model on its device, in evaluation mode; `more` goes to the class.

    Weights whose name begins with `unneeded` may be missing. Raises `error` where others are missing or of another
    shape: the class would fill them with random numbers and report it only in a log.
    """
    model, told = model_class.from_pretrained(
        directory,
        local_files_only=True,
        use_safetensors=True,
        dtype=torch.bfloat16 if precision == "bfloat16" else torch.float32,
        output_loading_info=True,
        **more,
    )
    lacking = [*told["missing_keys"], *told["mismatched_keys"]]
    if unneeded:
        lacking = [name for name in lacking if not str(name).startswith(unneeded)]
    if lacking:
        raise error(
            _("The files lack {count} of the weights that {kind} needs.").format(
                count=len(lacking), kind=model_class.__name__
            ),
            hint=_("Fetch the model again; or these are the weights of another model."),
        )
    return model.eval().to(device)


def placed(inputs: Any, model: Any) -> dict[str, Any]:
    """Return the inputs on the model's device, pixels in its precision."""
    there = {name: value.to(model.device) for name, value in inputs.items() if isinstance(value, torch.Tensor)}
    return {name: value.to(model.dtype) if value.is_floating_point() else value for name, value in there.items()}


def normalised(vectors: torch.Tensor) -> torch.Tensor:
    """Return rows of length 1 in float32 on the CPU; in bfloat16 alone lengths are up to half a percent off."""
    return torch.nn.functional.normalize(vectors.float(), dim=-1).cpu()
