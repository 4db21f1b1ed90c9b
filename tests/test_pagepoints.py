"""Points of pages: which vectors they get, and how many are made at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from docmind.catalog import PageRecord
from docmind.index.blind import Blind
from docmind.pagepoints import PagePoints, widened
from docmind.schema import ArtifactRef

BLIND = Blind(bytes(range(32)))
TOKENS = np.eye(3, 128, dtype=np.float32)


class Made:
    """What two models made: a vector of the first page's image, many of the second's, and both of the third's."""

    def __init__(self, switched_at: int) -> None:
        self._switched_at = switched_at
        self.asked: list[int] = []

    def at(self, epoch: int) -> str:
        return "new" if epoch >= self._switched_at else ""

    def switched_at(self) -> int:
        return self._switched_at

    def vectors(self, fingerprint: str, images: Sequence[str]) -> dict[str, np.ndarray]:
        return {image: np.ones(2, np.float32) for image in images if image[-1] in "13"}

    def multivectors(self, fingerprint: str, images: Sequence[str]) -> dict[str, dict[str, np.ndarray]]:
        self.asked.append(len(images))
        return {image: {"colpali": TOKENS} for image in images if image[-1] in "23"}


def record(page_no: int) -> PageRecord:
    image = ArtifactRef(f"{page_no:064x}", ".webp.enc")
    return PageRecord("doc", page_no, 10, 10, "", b"", "layer", 1.0, "en", image, image)


def test_a_page_gets_what_each_model_made_of_its_image() -> None:
    points = PagePoints(BLIND, Made(5), Made(3))
    pages = [record(page_no) for page_no in range(1, 5)]
    models = points.models(5)
    assert (models, points.models(4), points.models(0), points.switched_at()) == (
        ("new", "new"),
        ("", "new"),
        ("", ""),
        5,
    )
    ((*made,),) = points.batches(pages, models, lambda page: {"page_no": page.page_no})
    assert [sorted(point.vectors) for point in made] == [["siglip"], ["colpali"], ["colpali", "siglip"], []]
    assert [point.payload["page_no"] for point in made] == [1, 2, 3, 4]
    assert made[0].vectors["siglip"] == pytest.approx(BLIND.dense(widened(np.ones(2, np.float32))))
    assert made[1].vectors["colpali"] is TOKENS, "blinded already"
    (none,) = PagePoints(BLIND).batches(pages, PagePoints(BLIND).models(9), lambda _: {})
    assert [dict(point.vectors) for point in none] == [{}, {}, {}, {}]


def test_pages_with_many_vectors_are_made_a_few_at_a_time() -> None:
    late = Made(0)
    points = PagePoints(BLIND, None, late)
    pages = [record(page_no) for page_no in range(1, 41)]
    assert [len(some) for some in points.batches(pages, points.models(1), lambda _: {})] == [16, 16, 8]
    assert late.asked == [16, 16, 8]
    assert [len(some) for some in points.batches(pages, ("", ""), lambda _: {})] == [40]
    assert list(points.batches([], points.models(1), lambda _: {})) == []
