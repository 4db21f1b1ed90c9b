"""Clients of visual models that run in a child process (`model_client`); its answers are checked.

torch is never imported here. Any thread may send frames to the process, and each gets its own answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from docmind.config import VisualSettings
from docmind.embedding.base import ImageModel, LateModel, PagePatches, QueryPatches
from docmind.embedding.model_client import IDLE_S, ModelProcess, Source, Times, sayable, unit_rows
from docmind.errors import ConfigError, VisualModelError
from docmind.model_files import KINDS, declared_model, read_checkpoint
from docmind.records.models import Description, ModelKind
from docmind.runtime import need_extra
from docmind.wording import _

_ENTRY = "docmind.embedding.visual_process:serve"
LONGEST_TEXT = 2_000
"""Characters of a question; SigLIP reads 64 tokens, and a late model gains nothing from longer questions."""
_BATCH = 4
_CUDA_BATCH = 16  # the most blobs that a frame may hold
_TIMEOUTS_S = {"images": 900.0, "text": 300.0}


def open_image_model(description: Description, settings: VisualSettings) -> ImageModel:
    """Open a model of kind "image", without loading it.

    Raises `VisualModelError` where its files are missing or broken, `ConfigError` for a model of the other kind.
    """
    _check(description, "image")
    if description.directory is None:
        return cast("ImageModel", _declared(description))
    return ImageVision(description, settings)


def open_late_model(description: Description, settings: VisualSettings) -> LateModel:
    """Open a model of kind "late", without loading it.

    Raises `VisualModelError` where its files are missing or broken, `ConfigError` for a model of the other kind, and
    `ExtraMissingError` where it needs colpali-engine.
    """
    _check(description, "late")
    if description.directory is None:
        return cast("LateModel", _declared(description))
    if description.architecture not in KINDS:
        need_extra("colpali")
    return LateVision(description, settings)


class Vision(ModelProcess):
    """A visual model: one that the process opens by its architecture."""

    def __init__(
        self,
        description: Description,
        settings: VisualSettings,
        *,
        idle_s: float = IDLE_S,
        timeouts_s: Times = _TIMEOUTS_S,
    ) -> None:
        assert description.directory is not None
        source = Source(
            description.name,
            description.fingerprint,
            description.directory,
            lambda directory: read_checkpoint(directory).files,
            VisualModelError,
        )
        opening = {"architecture": description.architecture, "device": settings.device}
        opening |= {"precision": settings.precision, "threads": settings.threads}
        super().__init__(_ENTRY, source, opening, timeouts_s=timeouts_s, idle_s=idle_s)
        self.dim = description.dim


class ImageVision(Vision):
    """A model with one vector per page."""

    def embed_images(self, images: Sequence[bytes]) -> np.ndarray:
        """Return `(n, dim)` float32, each row of length 1."""
        found = [np.zeros((0, self.dim), np.float32)]
        at = 0
        while at < len(images):  # in small batches, so that other callers run in between
            batch = images[at : at + (_CUDA_BATCH if self.device == "cuda" else _BATCH)]
            _unused, blobs = self._ask({"do": "images"}, batch)
            found.append(self._rows(blobs, len(batch)))
            at += len(batch)
        return np.concatenate(found)

    def embed_text(self, text: str) -> np.ndarray:
        """Return `(dim,)` float32 of length 1."""
        _unused, blobs = self._ask({"do": "text", "text": sayable(text, LONGEST_TEXT)})
        return self._rows(blobs, 1)[0]

    def _rows(self, blobs: list[bytes], count: int) -> np.ndarray:
        try:
            rows = unit_rows(blobs[0], self.dim)
            if len(rows) != count:
                raise ValueError
            return rows
        except (IndexError, ValueError) as error:
            raise self._nonsense() from error


class LateVision(Vision):
    """A model with one vector per patch."""

    def embed_images(self, images: Sequence[bytes]) -> list[PagePatches]:
        """Return the patches of each page."""
        return [self._page(image) for image in images]

    def embed_query(self, text: str) -> QueryPatches:
        """Return one vector per token, including the tokens that the model adds itself."""
        header, blobs = self._ask({"do": "text", "text": sayable(text, LONGEST_TEXT)})
        try:
            rows = unit_rows(blobs[0], self.dim)
            tokens = tuple("".join(char for char in str(token) if char.isprintable()) for token in header["tokens"])
            if len(rows) != len(tokens) or not tokens:
                raise ValueError
            return QueryPatches(rows, tokens)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise self._nonsense() from error

    def _page(self, image: bytes) -> PagePatches:
        header, blobs = self._ask({"do": "images"}, [image])
        try:
            ((rows, cols),) = header["pages"]
            vectors, patches = unit_rows(blobs[0], self.dim), np.frombuffer(blobs[1], np.int32)
            cells = np.sort(patches[patches >= 0])
            if len(vectors) != len(patches) or not np.array_equal(cells, np.arange(int(rows) * int(cols))):
                raise ValueError
            return PagePatches(vectors, int(rows), int(cols), patches)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise self._nonsense() from error


def _check(description: Description, kind: ModelKind) -> None:
    if description.kind != kind:
        raise ConfigError(
            _("{name} isn't a model of the kind {kind!r}, but {other_kind!r}.").format(
                name=description.name, kind=kind, other_kind=description.kind
            ),
            hint=_("Run `docmind models list` to see which is which."),
        )
    is_here = description.directory is not None or declared_model(description.architecture) is not None
    if description.state != "present" or not is_here:
        raise VisualModelError(
            f"The model {description.name} is {description.state}. {description.reason}".strip(),
            hint=description.hint or VisualModelError.hint,
        )


def _declared(description: Description) -> object:
    """Return a model that an installed package declares under the name of the architecture."""
    declared = declared_model(description.architecture)
    assert declared is not None  # `_check` has found it
    return declared.build(description.dim)
