"""Answers without a language model: the sentences of the found pages that say most of what was asked, verbatim, and an
estimate of whether the documents answer at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from docmind.agent.sentences import units
from docmind.catalog import Catalog, PageRecord
from docmind.config import AnswerSettings
from docmind.embed.bm25 import prefix, reads_as_english, words
from docmind.embed.contract import TextEmbedder
from docmind.schema import Hit, SearchResult, Source
from docmind.windows import label_of
from docmind.words import Words

NOT_FOUND = "Not found in your documents."

PAGES = 8  # pages read
CANDIDATES = 48  # sentences embedded: about 2 ms each on one core
SHORTEST = 12  # characters
IN_WINDOW = 0.15  # preference for sentences of the page's best window when candidates are chosen
COSINE, COVERAGE, PAGE = 0.5, 1.0, 0.4  # weights of a sentence's score
DIVERSITY = 0.5  # of maximal marginal relevance (Carbonell & Goldstein 1998)
PREFIX_MATCH = 0.7  # a word met only by its first letters, against 1 for the word itself

# Logistic regression of "the documents answer this", fitted on labelled questions and on such without
# an answer; `scripts/eval.py` prints how often it is wrong each way.
INTERCEPT, TOP_COSINE, COVERED, NAMES_COVERED, ENGLISH = -17.0, 18.9, 5.1, 2.75, 2.6
UNKNOWN_COSINE = 0.55  # where the text model could not be used: neither for nor against


@dataclass(frozen=True, slots=True)
class Extract:
    """Sources in the order they are cited, and the probability that the documents answer the question."""

    sources: tuple[Source, ...]
    confidence: float


@dataclass(frozen=True, slots=True)
class _Page:
    """A found page with the name of its document and the span of its best window."""

    hit: Hit
    record: PageRecord
    label: str
    window: tuple[int, int]

    @property
    def text(self) -> str:
        return self.record.text


@dataclass(slots=True)
class _Unit:
    page: int
    start: int
    end: int
    text: str
    meets: np.ndarray  # (terms,) how far each word of the question stands in it
    coverage: float = 0.0


class Extractive:
    """Quotes from a search. Safe from any thread."""

    def __init__(self, settings: AnswerSettings, catalog: Catalog, embedder: TextEmbedder) -> None:
        self._settings, self._catalog, self._embedder = settings, catalog, embedder

    def extract(self, question: str, found: SearchResult) -> Extract:
        """Quotes from the first pages of `found`; none where it is less likely than the threshold that they answer.

        Embeds at most 48 sentences. No page: no quotes, confidence 0.
        """
        pages = self._pages(found.hits[:PAGES])
        asked = asked_part(question)
        terms = list(dict.fromkeys(words(asked)))
        candidates = [unit for at, page in enumerate(pages) for unit in _units_of(at, page, terms)]
        if not candidates:
            return Extract((), 0.0)
        weights = _weights(candidates, len(terms))
        total = float(weights.sum()) or 1.0
        for unit in candidates:
            unit.coverage = float(unit.meets @ weights) / total
        on_pages = np.array([_meets(f"{page.label} {page.text}", terms) for page in pages])
        nearest = UNKNOWN_COSINE if found.nearest_cosine is None else found.nearest_cosine
        confidence = _confidence(asked, terms, on_pages[:3], weights / total, nearest)
        if confidence < self._settings.threshold:
            return Extract((), confidence)
        chosen = _choose(candidates, pages)
        vectors = self._embedder.embed_documents([question, *(" ".join(unit.text.split()) for unit in chosen)])
        best = _rank(chosen, pages, vectors[0], vectors[1:], self._settings.quotes)
        return Extract(tuple(_source(n, pages[unit.page], unit) for n, unit in enumerate(best, 1)), confidence)

    def _pages(self, hits: Sequence[Hit]) -> list[_Page]:
        pages = []
        labels: dict[str, str] = {}
        records = self._catalog.pages((hit.doc_id, hit.page_no) for hit in hits)
        for hit in hits:
            record = records.get((hit.doc_id, hit.page_no))
            if record is None:  # deleted since the search
                continue
            if hit.doc_id not in labels:
                labels[hit.doc_id] = label_of(self._catalog.document(hit.doc_id), self._embedder)
            start = record.text.find(hit.text)
            pages.append(_Page(hit, record, labels[hit.doc_id], (start, start + len(hit.text))))
        return pages


def asked_part(question: str) -> str:
    """The sentences that ask, where there are any: what follows ("if it does not apply, say so") is no evidence."""
    sentences = re.findall(r"[^.?!]*(?:[.!](?!\s)[^.?!]*)*[.?!]+|[^.?!]+$", question)
    asking = [s for s in sentences if s.rstrip().endswith("?")]
    return " ".join(s.strip() for s in asking) or question


def names(asked: str) -> set[str]:
    """Words that name something: a capital inside the question, or a digit."""
    tokens = re.findall(r"\w+", asked)
    return {w for t in tokens[1:] if t[0].isupper() or any(c.isdigit() for c in t) for w in words(t)}


def _units_of(index: int, page: _Page, terms: list[str]) -> list[_Unit]:
    spans = [(a, b) for a, b in units(page.text) if b - a >= SHORTEST]
    return [_Unit(index, a, b, page.text[a:b], _meets(page.text[a:b], terms)) for a, b in spans]


def _meets(text: str, terms: list[str]) -> np.ndarray:
    held = set(words(text))
    starts = {prefix(word) for word in held}
    return np.array([1.0 if t in held else PREFIX_MATCH if prefix(t) and prefix(t) in starts else 0.0 for t in terms])


def _weights(found: list[_Unit], terms: int) -> np.ndarray:
    """IDF of the question's words among the sentences at hand: needs no corpus, hence no corpus size."""
    held = np.sum([unit.meets > 0 for unit in found], axis=0) if terms else np.zeros(0)
    return np.array([log(1 + (len(found) - n + 0.5) / (n + 0.5)) for n in held])


def _confidence(asked: str, terms: list[str], on_pages: np.ndarray, weights: np.ndarray, top_cosine: float) -> float:
    named = names(asked)
    at = [i for i, term in enumerate(terms) if term in named]
    x = evidence(on_pages, weights, at, top_cosine, reads_as_english(asked))
    return 1 / (1 + exp(-(INTERCEPT + x @ np.array([TOP_COSINE, COVERED, NAMES_COVERED, ENGLISH]))))


def evidence(on_pages: np.ndarray, weights: np.ndarray, at: list[int], top_cosine: float, english: bool) -> np.ndarray:
    """What speaks for an answer: nearest cosine; share of the question, by weight, on the best of the first three
    pages; share of its names there; whether it is English (MiniLM's cosines run higher in other languages)."""
    covered = float((on_pages @ weights).max()) if weights.size else 0.0
    named = float(on_pages[:, at].mean(axis=1).max()) if at else 1.0
    return np.array([top_cosine, covered, named, float(english)])


def _choose(found: list[_Unit], pages: Sequence[_Page]) -> list[_Unit]:
    def worth(unit: _Unit) -> tuple[float, int, int]:
        window = pages[unit.page].window
        inside = unit.start < window[1] and unit.end > window[0]
        return (-(unit.coverage + IN_WINDOW * inside), unit.page, unit.start)

    return sorted(found, key=worth)[:CANDIDATES]


def _rank(
    chosen: list[_Unit], pages: Sequence[_Page], query: np.ndarray, vectors: np.ndarray, quotes: int
) -> list[_Unit]:
    """The best sentences, each as unlike the ones before it as it is good."""
    scores = np.array([page.hit.score for page in pages])
    spread = float(scores.max() - scores.min()) or 1.0
    of_page = (scores - scores.min()) / spread
    worth = np.array([COVERAGE * u.coverage + PAGE * of_page[u.page] for u in chosen]) + COSINE * (vectors @ query)
    likeness = vectors @ vectors.T
    taken: list[int] = []
    free = list(range(len(chosen)))
    while free and len(taken) < quotes:
        cost = likeness[np.ix_(free, taken)].max(axis=1) if taken else np.zeros(len(free))
        best = free[int(np.argmax(worth[free] - DIVERSITY * cost))]
        taken.append(best)
        free.remove(best)
    return [chosen[at] for at in taken]


def _source(n: int, page: _Page, unit: _Unit) -> Source:
    hit = page.hit
    return Source(
        n=n,
        document=hit.document,
        doc_id=hit.doc_id,
        page_no=hit.page_no,
        page_id=hit.page_id,
        quote=unit.text,
        boxes=Words.unpack(page.record.words).boxes_of(unit.start, unit.end),
        page_width=page.record.width,
        page_height=page.record.height,
    )
