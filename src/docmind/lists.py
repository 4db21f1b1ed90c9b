"""The lists of one question, each as it is asked and as it comes back: words, code, page images by one vector or many.

A list that fails, or takes too long, is told of and left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from docmind.catalog import Catalog
from docmind.config import Settings
from docmind.errands import Errand, Errands, Outcome
from docmind.errors import DocMindError
from docmind.lookalike.sighting import Sighting
from docmind.merge import DedupKey
from docmind.schema import Degraded, Filters, Hit, SearchResult
from docmind.seeing import ListName, ListReport, ListState, ModelKind, MultimodalHit, PageHit, PageHits, PageScores

FAILURES = (DocMindError, OSError, RuntimeError, ValueError, MemoryError)
"""What ends one list and not the search: what models, engines and files fail with. Mistakes of ours go through."""

_KIND: Mapping[ListName, ModelKind] = {"image": "image", "visual": "late"}
_PAGE_IMAGE = "pdf_page_image"


class Words(Protocol):
    """The search for words."""

    def __call__(self, question: str, *, k: int, filters: Filters, dedup_key: DedupKey) -> SearchResult: ...


class Eyes(Protocol):
    """What finds pages by their images."""

    def is_on(self, kind: ModelKind) -> bool: ...

    def search_images(
        self, question: str | None = None, *, picture: bytes | None = None, k: int = 20, filters: Filters = Filters()
    ) -> PageHits: ...

    def search_late(self, question: str, *, k: int = 20, filters: Filters = Filters()) -> PageHits: ...

    def score_pages(
        self, kind: ModelKind, places: Sequence[tuple[str, int]], question: str | None, picture: bytes | None = None
    ) -> PageScores: ...


@dataclass(frozen=True, slots=True)
class Listed:
    """What one list gave, and what it did without. `nothing` says why it gave nothing, `text` what was read for it."""

    hits: Sequence[MultimodalHit]
    degraded: tuple[Degraded, ...] = ()
    nothing: str = ""
    text: str = ""


@dataclass(slots=True)
class Gathered:
    """Lists as they come in, and what became of each. For one search, in one thread."""

    lists: dict[ListName, Sequence[MultimodalHit]] = field(default_factory=dict)
    reports: dict[ListName, ListReport] = field(default_factory=dict)
    degraded: list[Degraded] = field(default_factory=list)
    errors: dict[ListName, Exception] = field(default_factory=dict)
    stages: dict[str, float] = field(default_factory=dict)
    """What came after the lists, with its milliseconds."""

    def report(self, name: ListName, state: ListState, ms: float = 0.0, reason: str = "", *, stage: str = "") -> None:
        """`stage` is what was done without, where that has another name than the list."""
        self.reports[name] = ListReport(name, state, len(self.lists.get(name, ())), ms, reason)
        if state in ("failed", "timed out"):
            self.degraded.append(Degraded(stage or name, reason))

    def lacks(self, degraded: Iterable[Degraded]) -> None:
        """What was done without, each told once."""
        self.degraded += [each for each in degraded if each not in self.degraded]

    def take(self, name: ListName, listed: Listed, ms: float) -> None:
        """A list that came back."""
        self.lists[name] = listed.hits
        self.lacks(listed.degraded)
        self.report(name, "ran" if listed.hits else "empty", ms, "" if listed.hits else listed.nothing)

    def settle(self, name: ListName, outcome: Outcome[Listed], *, stage: str = "") -> Listed | None:
        """A list that came back, or did not, or failed; None in the last two cases."""
        if outcome.late:
            self.report(name, "timed out", outcome.duration_ms, outcome.late, stage=stage)
            return None
        try:
            listed = outcome.result()
        except FAILURES as error:
            self.errors[name] = error
            self.report(name, "failed", outcome.duration_ms, sentence_of(error), stage=stage)
            return None
        self.take(name, listed, outcome.duration_ms)
        return listed


def sentence_of(error: Exception) -> str:
    """Why something is done without, and what can be done about it."""
    if isinstance(error, DocMindError):
        return f"{error} {error.hint}".strip()
    return f"It broke off ({type(error).__name__}: {error})."


class Lists:
    """Asks lists. Safe from any thread."""

    def __init__(self, settings: Settings, catalog: Catalog, words: Words, eyes: Eyes | None) -> None:
        """`words` finds by words, `eyes` by page images."""
        self._limit_s = settings.visual.list_timeout_s
        self._catalog, self._words, self._eyes = catalog, words, eyes
        self._errands = Errands()

    def ask(
        self, question: str, depth: Mapping[ListName, int], filters: Filters, dedup_key: DedupKey, gathered: Gathered
    ) -> None:
        """Ask the lists that `depth` names, so far down each; side by side where there are several."""
        if list(depth) == ["text"]:  # in this thread: who looks for words alone pays for nothing else
            at = time.perf_counter()
            listed = self.words(question, "text", depth["text"], filters, dedup_key)
            gathered.take("text", listed, (time.perf_counter() - at) * 1000)
            return

        def call(name: ListName) -> Callable[[], Listed]:
            if name in _KIND:
                return lambda: self.images(name, question, None, depth[name], filters)
            return lambda: self.words(question, name, depth[name], filters, dedup_key)

        outcomes = self._errands.run({name: Errand(call(name), self._limit_s) for name in depth})
        for name in depth:
            gathered.settle(name, outcomes[name])

    def words(self, question: str, name: ListName, k: int, filters: Filters, dedup_key: DedupKey = "page_id") -> Listed:
        """The list of words; or that of code, which is the same search narrowed."""
        if name == "code":
            filters = replace(filters, modalities=("code",))
        found = self._words(question, k=k, filters=filters, dedup_key=dedup_key)
        return Listed([_of_hit(hit, name) for hit in found.hits], found.degraded)

    def images(self, name: ListName, question: str | None, picture: bytes | None, k: int, filters: Filters) -> Listed:
        """Pages by their images: those that answer a question, or those like a picture."""
        assert self._eyes is not None
        if name == "visual":
            found = self._eyes.search_late(question or "", k=k, filters=filters)
        else:
            found = self._eyes.search_images(question, picture=picture, k=k, filters=filters)
        return Listed([_of_page(hit, name) for hit in found.hits], found.degraded)

    def why_not(self, name: ListName, filters: Filters) -> tuple[ListState, str] | None:
        """Why a list is not asked; None where it is."""
        wanted = filters.modalities
        if name == "code" and wanted and "code" not in wanted:
            return "off", "Code is not among what is asked for."
        if name == "code" and not self._catalog.holds("code"):
            return "empty", "No document is source code."
        if name in _KIND and wanted and _PAGE_IMAGE not in wanted:
            return "off", "Page images are not among what is asked for."
        if name in _KIND and (self._eyes is None or not self._eyes.is_on(_KIND[name])):
            return "off", "No model for it is in use; `docmind models list` shows those there are."
        return None


def seen(hits: Iterable[Sighting]) -> list[MultimodalHit]:
    """The pages that a picture was laid over, as a list."""
    return [replace(_of_page(hit, "lookalike"), quad=hit.quad, found=hit.found) for hit in hits]


def _of_hit(hit: Hit, name: ListName) -> MultimodalHit:
    return MultimodalHit(
        hit.rank, hit.score, name, (), hit.document, hit.doc_id, hit.page_no, hit.page_id, hit.modality, hit.text,
        hit.boxes, hit.node_id, hit.language, hit.page_width, hit.page_height,
    )  # fmt: skip


def _of_page(hit: PageHit | Sighting, name: ListName) -> MultimodalHit:
    return MultimodalHit(
        hit.rank, hit.score, name, (), hit.document, hit.doc_id, hit.page_no, hit.page_id, _PAGE_IMAGE, "", (), "", "",
        hit.page_width, hit.page_height,
    )  # fmt: skip
