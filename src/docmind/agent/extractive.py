"""Answers without a language model: the sentences of the found pages that say most of what was asked, verbatim, and an
estimate of whether the documents answer at all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from docmind.agent.sentences import units
from docmind.catalog import Catalog, PageRecord
from docmind.config import AnswerSettings
from docmind.embed.bm25 import prefix, reads_as_english, words
from docmind.embed.contract import TextEmbedder
from docmind.schema import Hit, SearchResult, Source
from docmind.windows import name_of
from docmind.words import Words

NOT_FOUND = "Not found in your documents."

PAGES, WEIGHED = 8, 3  # pages read for quotes; of them, how many weigh in whether there is an answer
CANDIDATES = 24  # sentences embedded: 2-3 ms each on one core
SHORTEST = 12  # characters
IN_WINDOW = 0.15  # preference for sentences of the page's best window when candidates are chosen
COSINE, COVERAGE, PAGE = 0.5, 1.0, 0.3  # weights of a sentence's score
DIVERSITY = 0.5  # of maximal marginal relevance (Carbonell & Goldstein 1998)
KEPT_FROM = 0.5  # of the best quote's score; below it a quote would only pad
SAME_PAGE = 0.1  # what each quote already taken from a page costs its next
_SHORT, _ENDINGS = 4, ("s", "ed", "es", "d", "ing", "er")
PREFIX_MATCH = 0.7  # a word met only by its first letters, against 1 for the word itself

# `How long` asks for a number: no page has to say `long`.
_MEASURE = re.compile(r"\bhow (?:long|much|many|often|far|old|big|large|high|tall|soon)\b", re.IGNORECASE)

# Logistic regression of "the documents answer this" on `evidence`, fitted for MiniLM and labelled windows on 101
# answerable and 165 unanswerable questions. Cross-validated by document at 0.35: 5% of the answerable are called not
# found, 18% of the unanswerable found, all of them near the documents' topics (none of those far off).
INTERCEPT, WEIGHTS = -14.25, np.array([15.0, 4.25, 3.9, 1.7])
# The same without the cosine, where the text model could not be used: area under the curve 0.88 instead of 0.95.
INTERCEPT_ANY, WEIGHTS_ANY = -4.9, np.array([0.0, 5.4, 3.2, 0.0])


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

    def extract(self, question: str, found: SearchResult, besides: Collection[str] = ()) -> Extract:
        """Quotes from the first pages of `found`; none where it is less likely than the threshold that they answer.

        Embeds at most 24 sentences. No page: no quotes, confidence 0. Quotes in `besides` are not given again where
        there are others.
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
        on_pages = np.array([_meets(f"{page.label} {page.text}", terms) for page in pages[:WEIGHED]])
        confidence = _confidence(asked, terms, on_pages, weights / total, found.nearest_cosine)
        if confidence < self._settings.threshold:
            return Extract((), confidence)
        chosen = _choose([unit for unit in candidates if unit.text not in besides] or candidates, pages)
        vectors = self._vectors([question, *(" ".join(unit.text.split()) for unit in chosen)], found)
        best = _rank(chosen, pages, vectors[0], vectors[1:], self._settings.quotes)
        return Extract(tuple(_source(n, pages[unit.page], unit) for n, unit in enumerate(best, 1)), confidence)

    def _vectors(self, texts: list[str], found: SearchResult) -> np.ndarray:
        """Unit vectors, or zeros where the search did without the text model: then words alone decide."""
        if found.nearest_cosine is None:
            return np.zeros((len(texts), self._embedder.dim), np.float32)
        return self._embedder.embed_documents(texts)

    def _pages(self, hits: Sequence[Hit]) -> list[_Page]:
        pages = []
        labels: dict[str, str] = {}
        records = self._catalog.pages((hit.doc_id, hit.page_no) for hit in hits)
        for hit in hits:
            record = records.get((hit.doc_id, hit.page_no))
            named = self._catalog.name_and_title(hit.doc_id) if hit.doc_id not in labels else None
            if named is not None:
                labels[hit.doc_id] = name_of(*named)
            if record is None or hit.doc_id not in labels:  # deleted since the search
                continue
            start = record.text.find(hit.text)
            pages.append(_Page(hit, record, labels[hit.doc_id], (start, start + len(hit.text))))
        return pages


def asked_part(question: str) -> str:
    """The sentences that ask, where there are any: what follows ("if it does not apply, say so") is no evidence."""
    sentences = re.findall(r"[^.?!]*(?:[.!](?!\s)[^.?!]*)*[.?!]+|[^.?!]+$", question)
    asking = [s for s in sentences if s.rstrip().endswith("?")]
    asked = " ".join(s.strip() for s in asking) or question
    return _MEASURE.sub("how", asked)


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
    return np.array([1.0 if t in held else PREFIX_MATCH if _is_akin(t, held, starts) else 0.0 for t in terms])


def _is_akin(term: str, held: set[str], starts: set[str | None]) -> bool:
    """Whether a form of the word is there: the same first letters, or for short words an ending (`last`, `lasts`)."""
    start = prefix(term)
    if start is not None:
        return start in starts
    return len(term) == _SHORT and not term[0].isdigit() and any(term + end in held for end in _ENDINGS)


def _weights(found: list[_Unit], terms: int) -> np.ndarray:
    """IDF of the question's words among the sentences at hand: needs no corpus, hence no corpus size."""
    held = np.sum([unit.meets > 0 for unit in found], axis=0) if terms else np.zeros(0)
    return np.array([log(1 + (len(found) - n + 0.5) / (n + 0.5)) for n in held])


def _confidence(
    asked: str, terms: list[str], on_pages: np.ndarray, weights: np.ndarray, nearest_cosine: float | None
) -> float:
    named = names(asked)
    at = [i for i, term in enumerate(terms) if term in named]
    x = evidence(on_pages, weights, at, nearest_cosine or 0.0, reads_as_english(asked))
    z = INTERCEPT_ANY + x @ WEIGHTS_ANY if nearest_cosine is None else INTERCEPT + x @ WEIGHTS
    return 1 / (1 + exp(-float(z)))


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
    likeness = DIVERSITY * vectors @ vectors.T
    page_of = np.array([unit.page for unit in chosen])
    says = [" ".join(unit.text.split()).casefold() for unit in chosen]
    taken: list[int] = []
    free = list(range(len(chosen)))
    while free and len(taken) < quotes:
        cost = np.zeros(len(free))
        if taken:
            again = (page_of[free][:, None] == page_of[taken]).sum(axis=1)
            cost = likeness[np.ix_(free, taken)].max(axis=1) + SAME_PAGE * again
        best = free[int(np.argmax(worth[free] - cost))]
        taken.append(best)
        free = [at for at in free if says[at] != says[best]]  # the same words on another page say nothing more
    return [chosen[at] for at in taken if worth[at] >= KEPT_FROM * worth[taken[0]]]


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
        image_artifact_id=page.record.image.sha256,
        image_artifact_suffix=page.record.image.suffix,
    )
