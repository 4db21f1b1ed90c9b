"""Which spans of the retrieved pages bear the claims of an answer out.

Words find spans, gates throw out those that a number, a name or a "not" speaks against, the text model compares the
few that are left. A sentence may also be borne out in two parts, each by a span of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp

import numpy as np

from docmind.agent.alignment import Claim, Leaf, Library, Span, weakest
from docmind.agent.gates import fault
from docmind.agent.naming import named
from docmind.embed.contract import TextEmbedder
from docmind.errors import DocMindError
from docmind.schema import Degraded

EMBEDDED = 160  # texts at most for one answer: 2-3 ms each on one core
COMPARED = 3  # spans of one claim that the text model looks at
CERTAIN = 0.85  # coverage and order from which the text model has nothing to add
VERBATIM = 0.98  # coverage and order from which what other places say does not count
PARTED = 40  # sentences of one answer that are looked for in parts
LEAST_COVERAGE = 0.15  # of a claim's words, by weight
LEAST_CLAUSE = 0.3  # of the words of each clause: what is tacked on must stand there too
MARGIN = 0.05  # by which a span must be more like a claim than one of the same page that contradicts it
CONTRADICTED = 0.7  # coverage of a contradicting span from which a sentence is not looked for in parts

# A logistic regression on half of the documents, sentences written by hand weighing most. Few false sentences pass the
# gates, so a fit is not stable: `scripts/fit_verify.py` prints laxer weights, and these, the stricter ones, were kept.
INTERCEPT, WEIGHTS = -8.5, np.array([5.9, 3.8, 6.6])
INTERCEPT_ANY, WEIGHTS_ANY = -4.4, np.array([5.5, 6.1, 0.0])  # where there is no cosine


class Evidence:
    """The pages of one answer. Used by one thread.

    `degraded` is filled where the text model failed: then words alone decide. `limit` texts are still embedded.
    """

    def __init__(self, embedder: TextEmbedder, leaves: Sequence[Leaf]) -> None:
        self._embedder, self.limit = embedder, EMBEDDED
        self._library = Library(leaves)
        self._known = {name.key for leaf in leaves for unit in leaf.units for name in named(unit.text) if name.is_sure}
        self._vectors: dict[str, np.ndarray] = {}
        self.degraded: tuple[Degraded, ...] = ()

    def of(self, texts: Sequence[str]) -> list[list[Span]]:
        """For each claim the one or two spans that bear it out, or none."""
        known: dict[str, Claim] = {}  # an answer that repeats itself is checked once
        claims = [known.get(text) or known.setdefault(text, Claim(text)) for text in texts]
        found = self.candidates(claims)
        borne = [_best(spans) for spans, _ in found]
        whole: list[list[Span]] = [[span] if span else [] for span in borne]
        parts = [
            (at, Claim(first), Claim(second))
            for at, (claim, (_, is_contradicted)) in enumerate(zip(claims, found, strict=True))
            if not borne[at] and not is_contradicted
            for first, second in claim.halves()
        ][: 3 * PARTED]
        each = [part for _, first, second in parts for part in (first, second)]
        spans = [_best(one) for one, _ in self.candidates(each)]
        for number, (at, _, _) in enumerate(parts):
            first, second = spans[2 * number : 2 * number + 2]
            if first and second and not whole[at]:
                is_same = first.leaf is second.leaf and first.bounds == second.bounds
                whole[at] = [first] if is_same else [first, second]
        return whole

    def candidates(self, claims: Sequence[Claim]) -> list[tuple[list[Span], bool]]:
        """For each claim the spans that nothing speaks against, with cosines; and whether a page contradicts it."""
        once = {id(claim): self._standing(claim) for claim in {id(claim): claim for claim in claims}.values()}
        found = [once[id(claim)] for claim in claims]
        self._embed([text for claim, (spans, _) in zip(claims, found, strict=True) for text in _unsure(claim, spans)])
        for claim, (spans, _) in zip(claims, found, strict=True):
            vector = self._vectors.get(claim.core)
            for span in spans:
                other = self._vectors.get(_flat(span))
                span.cosine = float(vector @ other) if vector is not None and other is not None else None
        return found

    def _standing(self, claim: Claim) -> tuple[list[Span], bool]:
        """The spans of a claim without fault, and whether one that is much like it contradicts it.

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
        left = [span for span in standing if all(_outweighs(span, other) for other in against)]
        return left[:COMPARED], any(other.coverage >= CONTRADICTED for other in against)

    def _embed(self, texts: Sequence[str]) -> None:
        wanted = [text for text in dict.fromkeys(texts) if text not in self._vectors][: self.limit]
        if not wanted or self.degraded:
            return
        self.limit -= len(wanted)
        try:
            vectors = self._embedder.embed_documents(wanted)
        except (DocMindError, OSError, RuntimeError) as error:
            self.degraded = (Degraded("verify", f"the text model cannot be used: {error}"),)
            return
        self._vectors.update(zip(wanted, vectors, strict=True))


def likelihood(span: Span) -> float:
    """How likely a span without fault bears a claim out, 0..1."""
    z = INTERCEPT_ANY if span.cosine is None else INTERCEPT
    z += float(features(span) @ (WEIGHTS_ANY if span.cosine is None else WEIGHTS))
    return 1 / (1 + exp(-z))


def features(span: Span) -> np.ndarray:
    """What speaks for a span: coverage, order and cosine."""
    return np.array([span.coverage, span.order, span.cosine or 0.0])


def _best(spans: Sequence[Span]) -> Span | None:
    good = [span for span in spans if likelihood(span) >= 0.5 or _is_certain(span)]
    return max(good, key=lambda span: likelihood(span) + span.bonus) if good else None


def _outweighs(span: Span, against: Span) -> bool:
    if span.coverage >= VERBATIM and span.order >= VERBATIM:
        return True
    return span.likeness > against.likeness + (MARGIN if against.leaf is span.leaf else -MARGIN)


def _is_certain(span: Span) -> bool:
    return span.coverage >= CERTAIN and span.order >= CERTAIN


def _unsure(claim: Claim, spans: Sequence[Span]) -> list[str]:
    if not spans or _is_certain(spans[0]):
        return []
    return [claim.core, *(_flat(span) for span in spans)]


def _flat(span: Span) -> str:
    return " ".join(span.text.split())
