"""Summaries without a language model: the central sentences of a document, in its order and under its headings.

Central windows are found by the vectors that the vault has (LexRank, Erkan & Radev 2004: PageRank over the graph of
likeness), with a preference for the beginning. Only sentences of the chosen windows are embedded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from docmind.answers.extractive import source_of
from docmind.answers.passages import Passage, edges, headed_passages, is_heading
from docmind.answers.sentences import leans
from docmind.documents import Catalog, NodeRecord, NodeStore, PageRecord
from docmind.embedding import TextEmbedder, words
from docmind.errors import DamagedError, DocMindError
from docmind.records.answers import Source
from docmind.records.documents import DocumentInfo
from docmind.records.search import Degraded
from docmind.wording import _

SENTENCES = 8  # of a summary at most
SHARE = 3  # one sentence of so many is shown, so that a short document is not repeated
WINDOWS = 400  # compared with each other; of longer documents an even sample
PARTS, OF_PART = 4, 6  # even parts of a document; of each, windows whose sentences are looked at
EMBEDDED = 32  # sentences: 2-4 ms each on one core
SHORTEST, LONGEST = 40, 320  # characters of a sentence
FEWEST = 7  # words of a sentence
BESIDE = (-2, -1, 1, 2)  # pages whose running heads a page is compared with
DAMPING = 0.85  # of PageRank
POSITION = 0.3  # preference for the beginning of a document, against 1 for the most central window
DIVERSITY = 0.6  # cost of likeness to a sentence that was taken
SAME_SECTION = 0.15  # cost of each sentence that was taken under the same heading, half of it for the same part
CENTRAL = 0.3  # weight of the window's centrality in a sentence's score, against its cosine with the whole
LEANING = 0.2  # cost of a sentence that begins by pointing to the one before it

_ENDS = (".", "!", "?", ".”", '."', ".)", "。")


@dataclass(frozen=True, slots=True)
class Summary:
    """Sentences in the order of the document, each with the heading above it on its page; empty where there is none."""

    parts: tuple[tuple[str, Source], ...]
    degraded: tuple[Degraded, ...] = ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    page: PageRecord
    passage: Passage
    heading: str
    window: int
    part: int
    text: str

    def shares(self, other: _Candidate) -> float:
        """Return how much of their place two sentences share: the heading counts 1, the part of the document 1/2."""
        return (bool(self.heading) and self.heading == other.heading) + 0.5 * (self.part == other.part)


class Summarizer:
    """Makes summaries of documents from the vectors of the vault. Thread-safe."""

    def __init__(self, catalog: Catalog, nodes: NodeStore, embedder: TextEmbedder) -> None:
        self._catalog, self._nodes, self._embedder = catalog, nodes, embedder

    def summarize(self, info: DocumentInfo, most: int = SENTENCES) -> Summary:
        """Return at most `most` whole sentences of a document; none where its pages have no words."""
        nodes = [node for node in self._nodes.nodes_of(info.doc_id) if node.modality != "image_caption"]
        nodes = _sample(nodes, WINDOWS)
        vectors, central = self._central(nodes)
        parts = np.array_split(np.arange(len(nodes)), PARTS)
        chosen = [at for part in parts for at in _windows(vectors, central, part)]
        candidates = self._candidates(nodes, chosen)
        if not candidates:
            return Summary(())
        candidates = _in_turn(sorted(candidates, key=lambda one: -central[one.window]))[:EMBEDDED]
        own, whole, degraded = self._embedded(candidates, vectors, central)
        scores = own @ whole + CENTRAL * central[[one.window for one in candidates]]
        scores -= LEANING * np.array([leans(one.text) for one in candidates])
        count = min(most, max(1, round(len(candidates) / SHARE)))
        taken = _take(candidates, own, scores, count)
        taken.sort(key=lambda at: (candidates[at].page.page_no, candidates[at].passage.start))
        return Summary(tuple((one.heading, source_of(1, one.page, info.document, one.passage))
                             for one in (candidates[at] for at in taken)), degraded)  # fmt: skip

    def _central(self, nodes: Sequence[NodeRecord]) -> tuple[np.ndarray, np.ndarray]:
        """Return the windows' vectors `(n, dim)` and their centrality `(n,)`, 1 for the most central.

        A window without a vector has zeros, and the centrality of its place alone.
        """
        kept = self._nodes.vectors(self._embedder.fingerprint, (node.content_hash for node in nodes))
        empty = np.zeros(self._embedder.dim, np.float32)
        vectors = np.array([kept.get(node.content_hash, empty) for node in nodes], np.float32)
        if not len(nodes):
            return vectors.reshape(0, self._embedder.dim), np.zeros(0)
        ranks = _page_rank(vectors @ vectors.T)
        place = 1 / (1 + np.arange(len(nodes)))
        return vectors, ranks / (ranks.max() or 1.0) + POSITION * place

    def _candidates(self, nodes: Sequence[NodeRecord], chosen: Sequence[int]) -> list[_Candidate]:
        """Return the sentences of the chosen windows that can stand alone; others where there are none."""
        places = {(nodes[at].doc_id, nodes[at].page_no) for at in chosen}
        beside = {(doc_id, number + step) for doc_id, number in places for step in (0, *BESIDE)}
        pages = self._catalog.pages(sorted(beside))
        found: list[_Candidate] = []
        seen: set[str] = set()
        for doc_id, number in sorted(places):
            page = pages.get((doc_id, number))
            if page is None:  # damaged, or deleted meanwhile
                continue
            try:
                structure = page.structure()
            except DamagedError:
                self._catalog.note_damage(doc_id, number)
                continue
            around = [pages.get((doc_id, number + step)) for step in BESIDE]
            running = set().union(*(edges(other.text) for other in around if other is not None))
            here = [at for at in chosen if nodes[at].page_no == number]
            for heading, passage in headed_passages(page.text, running, structure):
                window = next((at for at in here if nodes[at].start <= passage.start < nodes[at].end), None)
                text = " ".join(passage.text(page.text).split())
                if window is not None and text.casefold() not in seen:
                    seen.add(text.casefold())
                    found.append(_Candidate(page, passage, heading, window, window * PARTS // len(nodes), text))
        own = [one for one in found if not (one.passage.is_quoted or one.passage.field)] or found
        return [one for one in own if _stands_alone(one)] or own

    def _embedded(
        self, candidates: Sequence[_Candidate], vectors: np.ndarray, central: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, tuple[Degraded, ...]]:
        """Return the sentences' vectors `(n, dim)` and that of the whole `(dim,)`, by words where there is no model."""
        whole = central @ vectors
        try:
            own = self._embedder.embed_documents([one.text for one in candidates])
        except (DocMindError, OSError, RuntimeError) as error:
            own = _by_words([one.text for one in candidates])
            whole, told = (
                own.sum(axis=0),
                (Degraded("dense", _("the text model cannot be used: {error}").format(error=error)),),
            )
        else:
            told = ()
        return own, whole / (float(np.linalg.norm(whole)) or 1.0), told


def _sample(nodes: Sequence[NodeRecord], most: int) -> list[NodeRecord]:
    """Return at most `most` nodes, evenly from the first to the last; code and prose alike."""
    if len(nodes) <= most:
        return list(nodes)
    return [nodes[round(at)] for at in np.linspace(0, len(nodes) - 1, most)]


def _page_rank(likeness: np.ndarray) -> np.ndarray:
    """Return the stationary probabilities `(n,)` of a walk along likeness above its mean `(n, n)`."""
    n = len(likeness)
    links = np.maximum(likeness - likeness.mean(), 0.0)
    np.fill_diagonal(links, 0.0)
    sums = links.sum(axis=1, keepdims=True)
    steps = np.divide(links, sums, out=np.full_like(links, 1 / n), where=sums > 0)
    ranks = np.full(n, 1 / n)
    for _unused in range(50):
        ranks = (1 - DAMPING) / n + DAMPING * ranks @ steps
    return ranks


def _windows(vectors: np.ndarray, central: np.ndarray, part: np.ndarray) -> list[int]:
    """Return windows of a part that are central and unlike each other."""
    chosen: list[int] = []
    worth = central[part]
    for _unused in range(min(OF_PART, len(part))):
        best = int(np.argmax(worth))
        chosen.append(int(part[best]))
        worth = np.minimum(worth, central[part] - DIVERSITY * (vectors[part] @ vectors[part[best]]))
        worth[[int(at) in chosen for at in part]] = -np.inf
    return chosen


def _in_turn(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Return the candidates, the first of every part before the second of any."""
    numbers: list[tuple[int, int]] = []
    counts: dict[int, int] = {}
    for at, one in enumerate(candidates):
        counts[one.part] = counts.get(one.part, 0) + 1
        numbers.append((counts[one.part], at))
    return [candidates[at] for _unused, at in sorted(numbers)]


def _take(candidates: Sequence[_Candidate], vectors: np.ndarray, scores: np.ndarray, count: int) -> list[int]:
    """Return sentences by maximal marginal relevance, preferring sections that have none yet."""
    taken: list[int] = []
    free = list(range(len(candidates)))
    while free and len(taken) < count:
        cost = np.zeros(len(free))
        if taken:
            again = np.array([sum(candidates[at].shares(candidates[other]) for other in taken) for at in free])
            cost = DIVERSITY * (vectors[free] @ vectors[taken].T).max(axis=1) + SAME_SECTION * again
        best = free[int(np.argmax(scores[free] - cost))]
        taken.append(best)
        free = [at for at in free if at != best and not _overlap(candidates[at], candidates[best])]
    return taken


def _overlap(one: _Candidate, other: _Candidate) -> bool:
    if one.page.page_no != other.page.page_no:
        return False
    return any(a[0] < b[1] and b[0] < a[1] for a in one.passage.spans() for b in other.passage.spans())


def _stands_alone(one: _Candidate) -> bool:
    """Return whether a passage is one whole sentence of prose of a fitting length."""
    text = one.text
    begins = text.lstrip("“\"'(")[:1]
    letters = sum(char.isalpha() or char.isspace() for char in text)
    return (
        one.passage.is_whole
        and one.passage.lead is None
        and SHORTEST <= len(text) <= LONGEST
        and len(text.split()) >= FEWEST
        and (begins.isupper() or begins in "§¿¡")
        and text.endswith(_ENDS)
        and not is_heading(text.rstrip("."))
        and letters >= 0.8 * len(text)
    )


def _by_words(texts: Sequence[str]) -> np.ndarray:
    """Return vectors of word counts `(n, words)`, each of length 1; zeros for a text without words."""
    known: dict[str, int] = {}
    counts = [[known.setdefault(word, len(known)) for word in words(text)] for text in texts]
    vectors = np.zeros((len(texts), max(1, len(known))), np.float32)
    for row, indices in zip(vectors, counts, strict=True):
        np.add.at(row, indices, 1.0)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1.0)
