"""What is known of a model without loading it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from docmind.seeing import ModelKind, WeightsState


@dataclass(frozen=True, slots=True)
class Description:
    """A model by its files. `name` can be described again: one of `KNOWN`, or the path of a directory.

    `directory` is None where the model is not here (and of fakes). `architecture` is `model_type` of its config.json.
    `fingerprint` is empty unless the state is `present`; it names no path. `reason` and `hint` say what is wrong and
    what to do, where the state is not `present`. `revision` is the commit that was fetched, where one is known.
    """

    name: str
    kind: ModelKind
    repository: str
    directory: Path | None
    state: WeightsState
    dim: int
    architecture: str
    revision: str = ""
    fingerprint: str = ""
    bytes: int = 0
    licence: str = ""
    about: str = ""
    reason: str = ""
    hint: str = ""
