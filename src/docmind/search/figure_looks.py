"""Figures in the list of an image model: found by their own look, for a picture or where a figure is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from docmind.documents import Catalog
from docmind.records.documents import FIGURE, PAGE_IMAGE
from docmind.records.models import Description
from docmind.records.search import Filters, Hit, PageHit
from docmind.search.figures import wants_figures
from docmind.visual import Visual


def may_show_figures(question: str | None, filters: Filters) -> bool:
    """Return whether figures may be among the hits: for a picture, and for a question that asks for one."""
    if filters.modalities and FIGURE not in filters.modalities:
        return False
    return question is None or wants_figures(question, filters)


def may_show_pages(filters: Filters) -> bool:
    """Return whether pages as a whole may be among the hits."""
    return not filters.figure_sizes and (not filters.modalities or PAGE_IMAGE in filters.modalities)


def figures_alike(
    visual: Visual,
    catalog: Catalog,
    model: Description,
    wanted: tuple[np.ndarray, np.ndarray | None],
    names: Mapping[str, str],
    filters: Filters,
    k: int,
) -> list[Hit]:
    """Return at most `k` figures by the cosine of their look, the best of each page.

    `wanted` are the vector of the question or picture, and that of a question that every picture answers, or None;
    `names` are the documents that the filters allow.
    """
    scores = visual.figure_looks.cosines(model.fingerprint, wanted[0])
    usual = visual.figure_looks.cosines(model.fingerprint, wanted[1]) if wanted[1] is not None else {}
    hits: dict[str, Hit] = {}
    for image in sorted(scores, key=lambda one: -scores[one]):
        if len(hits) >= k:
            break
        for figure in catalog.figures.showing(image):
            if figure.doc_id not in names or not filters.allow_figure(figure):
                continue
            place = figure.doc_id, figure.page_no
            page = catalog.pages([place]).get(place)
            if page is None or page.page_id in hits or (filters.languages and page.language not in filters.languages):
                continue
            hits[page.page_id] = Hit(
                rank=len(hits) + 1, score=scores[image], usual=usual.get(image), document=names[page.doc_id],
                doc_id=page.doc_id, page_no=page.page_no, page_id=page.page_id, page_width=page.width,
                page_height=page.height, image=page.image, thumbnail=page.thumbnail, modality=FIGURE,
                text=figure.caption or figure.alt, boxes=(figure.box,), figure=figure.number, language=page.language,
            )  # fmt: skip
    return list(hits.values())[:k]


def with_figures(pages: tuple[PageHit, ...], figures: list[Hit], k: int) -> tuple[PageHit, ...]:
    """Return pages and figures in one list by their cosines, each page once: as the figure where that is nearer."""
    best: dict[str, PageHit] = {}
    for hit in sorted((*pages, *figures), key=lambda one: -one.score):
        best.setdefault(hit.page_id, hit)
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(list(best.values())[:k], 1))
