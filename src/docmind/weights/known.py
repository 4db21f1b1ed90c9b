"""The models that DocMind knows by name, and the architectures that it can run.

Names, licences and sizes are those of the repositories' own pages; what a page did not say is left out here.
"""

from __future__ import annotations

from dataclasses import dataclass

from docmind.seeing import ModelKind

FAKE = "fake"


@dataclass(frozen=True, slots=True)
class Known:
    """A model as it is offered. `megabytes` is what must be fetched, about; 0 where only the hub can tell."""

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

KINDS: dict[str, ModelKind] = {
    "siglip": "image",
    "siglip2": "image",
    "colpali": "late",
    "colqwen2": "late",
    "colmodernvbert": "late",
}
"""What `model_type` in a config.json can be run by transformers itself."""

ENGINE: dict[str, str] = {
    "ColPali": "paligemma",
    "ColQwen2": "qwen2_vl",
    "ColQwen2_5": "qwen2_5_vl",
    "ColIdefics3": "idefics3",
}
"""What needs the extra `colpali`: the class under `architectures` in a config.json, and its `model_type`."""

FAKES: dict[str, tuple[ModelKind, int]] = {"fake-image": ("image", 64), "fake-late": ("late", 128)}
"""Kind and dimension of models without weights, for tests and demonstrations; never listed."""
