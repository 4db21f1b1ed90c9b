"""Pictures of pages, highlighted and cached in memory.

Only pages of the app import it, not its addresses: Streamlit's cache needs the running server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from docmind.records.answers import Source
from docmind.records.documents import Box
from docmind.records.search import Quad
from docmind.rich_text import highlight

if TYPE_CHECKING:
    from docmind.application import DocMind


@st.cache_data(max_entries=96, show_spinner=False)
def page_jpeg(_docmind: DocMind, doc_id: str, page_no: int, boxes: tuple[Box, ...] = (), width: int = 0) -> bytes:
    """Return the page image, highlighted; cached in memory for a while, never on the disk."""
    page = _docmind.documents.page(doc_id, page_no)
    return highlight.marked(
        _docmind.documents.page_image(doc_id, page_no), boxes, (page.width, page.height), width=width
    )


@st.cache_data(max_entries=96, show_spinner=False)
def strip_jpeg(_docmind: DocMind, doc_id: str, page_no: int, boxes: tuple[Box, ...]) -> bytes | None:
    """Return the part of the page that holds the boxes."""
    page = _docmind.documents.page(doc_id, page_no)
    return highlight.strip(_docmind.documents.page_image(doc_id, page_no), boxes, (page.width, page.height))


@st.cache_data(max_entries=96, show_spinner=False)
def outlined_jpeg(_docmind: DocMind, doc_id: str, page_no: int, quad: Quad, width: int = 0) -> bytes:
    """Return the page image, the region that a picture matches outlined.

    Raises `NotFoundError` if gone.
    """
    page = _docmind.documents.page(doc_id, page_no)
    return highlight.outlined(
        _docmind.documents.page_image(doc_id, page_no), quad, (page.width, page.height), width=width
    )


@st.cache_data(max_entries=96, show_spinner=False)
def compared_jpeg(
    _docmind: DocMind, doc_id: str, page_no: int, marks: tuple[tuple[str, int, bool, tuple[Box, ...]], ...]
) -> bytes:
    """Return the page image with the changes on it, each by its kind, number, whether it stands out, and boxes."""
    page = _docmind.documents.page(doc_id, page_no)
    return highlight.compared(_docmind.documents.page_image(doc_id, page_no), marks, (page.width, page.height))


@st.cache_data(max_entries=96, show_spinner=False)
def figure_jpeg(_docmind: DocMind, image: str, doc_id: str, page_no: int, number: int, width: int = 0) -> bytes:
    """Return a figure, scaled down to `width`; `image` is the id of its artifact."""
    return highlight.marked(_docmind.documents.figure_image(doc_id, page_no, number), (), (1, 1), width=width)


def source_jpeg(docmind: DocMind, source: Source, width: int = 0) -> bytes:
    """Return the page as it was when cited, quotes highlighted.

    Raises `NotFoundError` where it is gone.
    """
    return _source_jpeg(docmind, source, _key(source), docmind.reader.cited_quads(source), width)


def source_strip(docmind: DocMind, source: Source) -> bytes | None:
    """Return the part of the cited page with the quoted words.

    Raises `NotFoundError` where it is gone.
    """
    return _source_strip(docmind, source, _key(source), docmind.reader.cited_quads(source))


def _key(source: Source) -> str:
    """Return the cache key of a cited page: the picture itself, not where it was last seen."""
    return source.image_artifact_id or source.page_id


@st.cache_data(max_entries=160, show_spinner=False)
def _source_jpeg(_docmind: DocMind, _source: Source, key: str, quads: tuple[Quad, ...], width: int) -> bytes:
    size = (_source.page_width, _source.page_height)
    return highlight.marked(_docmind.conversations.source_image(_source), quads, size, width=width)


@st.cache_data(max_entries=160, show_spinner=False)
def _source_strip(_docmind: DocMind, _source: Source, key: str, quads: tuple[Quad, ...]) -> bytes | None:
    size = (_source.page_width, _source.page_height)
    return highlight.strip(_docmind.conversations.source_image(_source), quads, size)


def drop_images() -> None:
    """Drop every cached page image, after a deletion."""
    for kept in (page_jpeg, figure_jpeg, outlined_jpeg, strip_jpeg, compared_jpeg, _source_jpeg, _source_strip):
        kept.clear()
