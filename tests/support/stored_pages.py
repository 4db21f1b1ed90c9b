"""Stored pages that tests make of a text, and passages that were found on them."""

from __future__ import annotations

import re

from docmind.answers import Passage
from docmind.documents import PageRecord, Words
from docmind.records.documents import ArtifactRef, TextSource
from docmind.records.search import Hit


def page(text: str, language: str = "en", source: TextSource = "layer", name: str = "a") -> PageRecord:
    """Make a stored page of this text, each word ten pixels high on its own text line."""
    spans, boxes = [], []
    for row, line in enumerate(re.finditer(r"[^\n]+", text)):
        for word in re.finditer(r"\S+", line.group()):
            spans.append((line.start() + word.start(), line.start() + word.end()))
            boxes.append((6.0 * word.start(), 12.0 * row, 6.0 * len(word.group()), 10.0))
    image = ArtifactRef("ab" * 32, ".webp.enc")
    doc_id = name * 64
    return PageRecord(
        doc_id=doc_id,
        page_no=1,
        width=900,
        height=600,
        text=text,
        words=Words.of(spans, boxes).pack(),
        text_source=source,
        confidence=1.0,
        language=language,
        image=image,
        thumbnail=image,
    )


def passages(*pages: PageRecord) -> list[Passage]:
    found = []
    for rank, record in enumerate(pages, 1):
        hit = Hit(
            rank=rank, score=1.0, document=f"{record.doc_id[:1]}.pdf", doc_id=record.doc_id, page_no=record.page_no,
            page_id=record.page_id, modality="text", text=record.text[:200], node_id="n", language=record.language,
            page_width=record.width, page_height=record.height,
        )  # fmt: skip
        found.append(Passage(hit, record, 0, 200))
    return found
