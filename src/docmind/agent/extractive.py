"""Answers without a language model: the best sentences of the best pages, quoted and cited."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from docmind.catalog import Catalog
from docmind.config import AnswerSettings
from docmind.embed.contract import TextEmbedder
from docmind.schema import Hit, Source
from docmind.words import Words

NOT_FOUND = "Not found in your documents."
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?]+|\n|$)")


@dataclass(frozen=True, slots=True)
class Quotes:
    """What the answerer found: sources in the order they are cited, and how sure it is (0..1)."""

    sources: tuple[Source, ...]
    confidence: float


class Extractive:
    """Quotes from hits. Safe from any thread."""

    def __init__(self, settings: AnswerSettings, catalog: Catalog, embedder: TextEmbedder) -> None:
        self._settings, self._catalog, self._embedder = settings, catalog, embedder

    def quotes(self, question: str, hits: Sequence[Hit]) -> Quotes:
        """The best sentences over the pages of `hits`."""
        found: list[tuple[float, Hit, int, int]] = []
        target = self._embedder.embed_query(question)
        for hit in hits:
            page = self._catalog.page(hit.doc_id, hit.page_no)
            start = page.text.find(hit.text)
            spans = [(start + m.start(), start + m.end()) for m in _SENTENCE.finditer(hit.text) if len(m.group()) > 20]
            if not spans:
                continue
            vectors = self._embedder.embed_documents([page.text[a:b] for a, b in spans])
            found += [(float(score), hit, *span) for score, span in zip(vectors @ target, spans, strict=True)]
        found.sort(key=lambda item: -item[0])
        best = found[: self._settings.quotes]
        if not best or best[0][0] < self._settings.threshold:
            return Quotes((), best[0][0] if best else 0.0)
        return Quotes(tuple(self._source(n, *item) for n, item in enumerate(best, 1)), best[0][0])

    def _source(self, n: int, _score: float, hit: Hit, start: int, end: int) -> Source:
        page = self._catalog.page(hit.doc_id, hit.page_no)
        return Source(
            n=n,
            document=hit.document,
            doc_id=hit.doc_id,
            page_no=hit.page_no,
            page_id=hit.page_id,
            quote=page.text[start:end].strip(),
            boxes=Words.unpack(page.words).boxes_of(start, end),
            page_width=page.width,
            page_height=page.height,
        )
