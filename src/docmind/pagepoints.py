"""The points of pages: what the models in use made of their images, and what they can be filtered by."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from docmind.catalog import PageRecord
from docmind.index.blind import Blind
from docmind.index.collection import SIGLIP_DIM
from docmind.index.engine import BATCH, JSON, Point, Vector

_PAGES = uuid.UUID("6c1f1f7e-6f0e-5d0b-9d2b-0d5c3a5d9a10")
_LARGE = 16  # pages with multivectors are half a megabyte each, and not held all at once


class PageModel(Protocol):
    """Which model of one kind an index of some epoch has."""

    def at(self, epoch: int) -> str:
        """The fingerprint of the model whose vectors an index of this epoch holds; "" where it holds none."""
        ...

    def switched_at(self) -> int:
        """The epoch from which on the index holds another model's vectors than before; 0 where there was one only."""
        ...


class PageImages(PageModel, Protocol):
    """What a model made of page images: one vector each."""

    def vectors(self, fingerprint: str, images: Sequence[str]) -> Mapping[str, np.ndarray]:
        """`(dim,)` float32 of those images that have one, by the image's id; dim is at most 768."""
        ...


class PageMultivectors(PageModel, Protocol):
    """What a model made of page images: many vectors each."""

    def multivectors(self, fingerprint: str, images: Sequence[str]) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Of those images that have them, by the image's id: `(tokens, 128)` float32 by named vector, blinded."""
        ...


Models = tuple[str, str]
"""Fingerprints: of the model that gives a page one vector, and of the one that gives it many."""


class PagePoints:
    """Makes them. Without `images` and `late` pages have no vectors."""

    def __init__(self, blind: Blind, images: PageImages | None = None, late: PageMultivectors | None = None) -> None:
        self._blind, self._images, self._late = blind, images, late

    def models(self, epoch: int) -> Models:
        """The models whose vectors an index of this epoch holds; "" for a kind of which it holds none."""
        return (
            self._images.at(epoch) if self._images is not None else "",
            self._late.at(epoch) if self._late is not None else "",
        )

    def switched_at(self) -> int:
        """The epoch from which on the index holds another model's vectors than before, of either kind."""
        return max((kind.switched_at() for kind in (self._images, self._late) if kind is not None), default=0)

    def batches(
        self, pages: Sequence[PageRecord], models: Models, payload: Callable[[PageRecord], Mapping[str, JSON]]
    ) -> Iterator[list[Point]]:
        """A point a page, with what these models made of it."""
        together = _LARGE if models[1] else BATCH
        for start in range(0, len(pages), together):
            some = pages[start : start + together]
            found = self._vectors([page.image.sha256 for page in some], models)
            yield [
                Point(str(uuid.uuid5(_PAGES, page.page_id)), found.get(page.image.sha256, {}), payload(page))
                for page in some
            ]

    def _vectors(self, images: Sequence[str], models: Models) -> dict[str, dict[str, Vector]]:
        """Named vectors by image."""
        made: dict[str, dict[str, Vector]] = {}
        one = self._images.vectors(models[0], images) if self._images is not None and models[0] else {}
        if one:
            blinded = self._blind.dense(np.stack([widened(vector) for vector in one.values()]))
            made = {image: {"siglip": vector} for image, vector in zip(one, blinded, strict=True)}
        if self._late is not None and models[1]:
            for image, named in self._late.multivectors(models[1], images).items():
                made.setdefault(image, {}).update(named)
        return made


def widened(vector: np.ndarray) -> np.ndarray:
    """`(dim,)` as the index takes it: zeros behind it change no product and no length."""
    return np.pad(vector, (0, SIGLIP_DIM - len(vector)))
