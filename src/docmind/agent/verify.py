"""Answers of a language model, checked: each sentence is tied to the words of a page that bear it out, or marked.

A sentence is aligned with whole units of the retrieved pages' text. Nothing that a model says about its sources is
believed: its own marks are taken out, and numbers are given anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

import numpy as np

from docmind.agent.alignment import Claim, Leaf, Library, Span, weakest
from docmind.agent.draft import Piece, clean, pieces
from docmind.agent.gates import fault
from docmind.agent.naming import named
from docmind.catalog import PageRecord
from docmind.embed.contract import TextEmbedder
from docmind.errors import DocMindError
from docmind.schema import Degraded, Hit, Sentence, Source
from docmind.windows import name_of
from docmind.words import Words

EMBEDDED = 160  # texts at most for one answer: 2-3 ms each on one core
CHECKED = 400  # sentences of one answer; further ones stay without support
COMPARED = 3  # spans of one claim that the text model looks at
CERTAIN = 0.85  # coverage and order from which the text model has nothing to add
LEAST_COVERAGE = 0.2  # of a claim's words, by weight
LEAST_CLAUSE = 0.3  # of the words of each clause: what is tacked on must stand there too
MARGIN = 0.05  # by which a span must be more like a claim than one of the same page that contradicts it

INTERCEPT, WEIGHTS = -5.0, np.array([5.0, 1.5, 4.0])  # of coverage, order and cosine
INTERCEPT_ANY, WEIGHTS_ANY = -4.6, np.array([6.0, 3.0])  # of coverage and order alone


@dataclass(frozen=True, slots=True)
class Passage:
    """A hit with its page, and the span of the window in `page.text` that was retrieved."""

    hit: Hit
    page: PageRecord
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Verified:
    """An answer with `[n]` marks after its supported sentences, the sentences, and the sources they name.

    Sources count from 1 in the order of their first mention. `degraded` says where the text model could not be used:
    then words alone decide, and less is found to be supported.
    """

    answer: str
    sentences: tuple[Sentence, ...]
    sources: tuple[Source, ...]
    degraded: tuple[Degraded, ...] = ()


@dataclass(frozen=True, slots=True)
class _Place:
    """A span of a page: an index into the passages, and characters of the page's text."""

    page: int
    start: int
    end: int


class Verifier:
    """Holds answers against pages. Safe from any thread."""

    def __init__(self, embedder: TextEmbedder) -> None:
        self._embedder = embedder

    def verify(self, text: str, passages: Sequence[Passage], *, epoch: int = 0) -> Verified:
        """Check every sentence of `text` (plain or Markdown) against the whole pages of `passages`.

        Embeds at most 160 sentences. `epoch` is what the index was when the passages were found. Raises `DamagedError`
        where the words of a cited page are.
        """
        answer = clean(text)
        found = pieces(answer)
        pages = _pages(passages)
        leaves = [_leaf(group) for group in pages]
        check = _Check(self._embedder, leaves)
        claims = [at for at, piece in enumerate(found) if piece.is_claim][:CHECKED]
        borne = check.run([answer[found[at].start : found[at].end] for at in claims])
        places = {
            at: [_Place(leaves.index(span.leaf), *span.bounds) for span in spans]
            for at, spans in zip(claims, borne, strict=True)
            if spans
        }
        return _assemble(answer, found, places, [group[0] for group in pages], epoch, check.degraded)


def quoted(sources: Sequence[Source]) -> Verified:
    """An answer that is made of quotes: one paragraph each, each borne out by itself."""
    sentences, answer = [], ""
    for source in sources:
        start = len(answer) + 2 * bool(answer)
        end = start + len(source.quote)
        sentences.append(Sentence(source.quote, start, end, (source.n,), supported=True))
        answer += f"{chr(10) * 2 if answer else ''}{source.quote} [{source.n}]"
    return Verified(answer, tuple(sentences), tuple(sources))


def likelihood(span: Span) -> float:
    """How likely a span without fault bears a claim out, 0..1."""
    if span.cosine is None:
        z = INTERCEPT_ANY + float(np.array([span.coverage, span.order]) @ WEIGHTS_ANY)
    else:
        z = INTERCEPT + float(np.array([span.coverage, span.order, span.cosine]) @ WEIGHTS)
    return 1 / (1 + exp(-z))


class _Check:
    """One answer's claims against its pages. `degraded` is filled where the text model failed."""

    def __init__(self, embedder: TextEmbedder, leaves: Sequence[Leaf]) -> None:
        self._embedder, self._left = embedder, EMBEDDED
        self._library = Library(leaves)
        self._known = {name.key for leaf in leaves for unit in leaf.units for name in named(unit.text) if name.is_sure}
        self._vectors: dict[str, np.ndarray] = {}
        self.degraded: tuple[Degraded, ...] = ()

    def run(self, texts: Sequence[str]) -> list[list[Span]]:
        """For each claim the one or two spans that bear it out, or none."""
        claims = [Claim(text) for text in texts]
        best = self._best(claims)
        whole: list[list[Span]] = [[span] if span else [] for span in best]
        halves = [(at, parts) for at, claim in enumerate(claims) if not best[at] for parts in claim.halves()]
        spans = self._best([Claim(part) for _, parts in halves for part in parts])
        for number, (at, _) in enumerate(halves):
            first, second = spans[2 * number : 2 * number + 2]
            if first and second and not whole[at]:
                whole[at] = (
                    [first, second] if first.bounds != second.bounds or first.leaf is not second.leaf else [first]
                )
        return whole

    def _best(self, claims: Sequence[Claim]) -> list[Span | None]:
        candidates = [self._standing(claim) for claim in claims]
        self._embed([text for claim, spans in zip(claims, candidates, strict=True) for text in _unsure(claim, spans)])
        best: list[Span | None] = []
        for claim, spans in zip(claims, candidates, strict=True):
            vector = self._vectors.get(claim.core)
            for span in spans:
                other = self._vectors.get(_flat(span))
                span.cosine = float(vector @ other) if vector is not None and other is not None else None
            good = [span for span in spans if likelihood(span) >= 0.5 or _is_certain(span)]
            best.append(max(good, key=lambda span: likelihood(span) + span.bonus) if good else None)
        return best

    def _standing(self, claim: Claim) -> list[Span]:
        """The spans of a claim that nothing speaks against.

        Where a page says the same with another number, name or a "not", what is less alike does not stand for it.
        """
        standing: list[Span] = []
        against: list[Span] = []
        for span in self._library.spans(claim):
            if span.coverage < LEAST_COVERAGE:
                continue
            wrong = fault(claim, span, self._known)
            if wrong is None and weakest(claim, span) >= LEAST_CLAUSE:
                standing.append(span)
            elif wrong is not None and wrong.contradicts:
                against.append(span)
        return [
            span
            for span in standing
            if all(
                span.likeness > other.likeness + (MARGIN if other.leaf is span.leaf else -MARGIN) for other in against
            )
        ][:COMPARED]

    def _embed(self, texts: Sequence[str]) -> None:
        wanted = [text for text in dict.fromkeys(texts) if text not in self._vectors][: self._left]
        if not wanted or self.degraded:
            return
        self._left -= len(wanted)
        try:
            vectors = self._embedder.embed_documents(wanted)
        except (DocMindError, OSError, RuntimeError) as error:
            self.degraded = (Degraded("verify", f"the text model cannot be used: {error}"),)
            return
        self._vectors.update(zip(wanted, vectors, strict=True))


def _is_certain(span: Span) -> bool:
    return span.coverage >= CERTAIN and span.order >= CERTAIN


def _unsure(claim: Claim, spans: Sequence[Span]) -> list[str]:
    if not spans or _is_certain(spans[0]):
        return []
    return [claim.core, *(_flat(span) for span in spans)]


def _flat(span: Span) -> str:
    return " ".join(span.text.split())


def _pages(passages: Sequence[Passage]) -> list[list[Passage]]:
    """The passages of each page, pages in the order of their best passage."""
    groups: dict[tuple[str, int], list[Passage]] = {}
    for passage in passages:
        groups.setdefault((passage.page.doc_id, passage.page.page_no), []).append(passage)
    return list(groups.values())


def _leaf(group: Sequence[Passage]) -> Leaf:
    return Leaf(group[0].page, name_of(group[0].hit.document, ""), [(one.start, one.end) for one in group])


def _assemble(
    answer: str,
    found: Sequence[Piece],
    places: dict[int, list[_Place]],
    pages: Sequence[Passage],
    epoch: int,
    degraded: tuple[Degraded, ...],
) -> Verified:
    merged = _merged([place for group in places.values() for place in group])
    numbers: dict[_Place, int] = {}
    sentences, text, at = [], "", 0
    for index, piece in enumerate(found):
        text += answer[at : piece.start]
        start = len(text)
        said = answer[piece.start : piece.end]
        cited = list(dict.fromkeys(_holder(merged, place) for place in places.get(index, [])))
        of = tuple(numbers.setdefault(place, len(numbers) + 1) for place in cited)
        sentences.append(Sentence(said, start, start + len(said), of, bool(of), piece.is_claim))
        text += said + ("\n" if of and piece.kind == "code" else "") + "".join(f" [{n}]" for n in of)
        at = piece.end
    text += answer[at:]
    sources = tuple(_source(n, pages[place.page], place, epoch) for place, n in numbers.items())
    return Verified(text, tuple(sentences), sources, degraded)


def _merged(places: Sequence[_Place]) -> list[_Place]:
    """Spans of one page that overlap, made one."""
    merged: list[_Place] = []
    for place in sorted(set(places), key=lambda place: (place.page, place.start, place.end)):
        last = merged[-1] if merged else None
        if last and last.page == place.page and place.start < last.end:
            merged[-1] = _Place(last.page, last.start, max(last.end, place.end))
        else:
            merged.append(place)
    return merged


def _holder(merged: Sequence[_Place], place: _Place) -> _Place:
    return next(one for one in merged if one.page == place.page and one.start <= place.start and place.end <= one.end)


def _source(n: int, passage: Passage, place: _Place, epoch: int) -> Source:
    page = passage.page
    return Source(
        n=n,
        document=passage.hit.document,
        doc_id=page.doc_id,
        page_no=page.page_no,
        page_id=page.page_id,
        quote=page.text[place.start : place.end],
        boxes=Words.unpack(page.words).boxes_of(place.start, place.end),
        page_width=page.width,
        page_height=page.height,
        index_epoch=epoch,
        image_artifact_id=page.image.sha256,
        image_artifact_suffix=page.image.suffix,
    )
