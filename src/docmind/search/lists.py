"""The lists of one question: how they are asked and what they return, for words, code and page images.

A list that fails is reported and left out, and so is one of page images that takes too long. A list of words has no
time limit, as it has none where it is asked alone: a result without it says nothing of the words of documents.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Protocol

from docmind.config import Settings
from docmind.documents import Catalog
from docmind.errors import DocMindError
from docmind.records.documents import FIGURE, PAGE_IMAGE
from docmind.records.models import ModelKind
from docmind.records.query import Query
from docmind.records.search import (
    MISSING,
    STARTING,
    Degraded,
    Filters,
    Hit,
    ListName,
    ListReport,
    ListState,
    MultimodalHit,
    PageHit,
    PageHits,
    PageScores,
    Sighting,
)
from docmind.runtime import Outcome, TimedCall, TimedCalls, ms_since
from docmind.search.text import TextSearch
from docmind.wording import N_, _

FAILURES = (DocMindError, OSError, RuntimeError, ValueError, MemoryError)
"""Errors of models, engines and files, which end one list and not the search. Bugs of DocMind are not caught."""

NO_MODEL = N_("No model for it is in use; `docmind models list` shows those there are.")

ALONE_S = 120.0
"""The wait for the start of a model where its list is the only one asked: without it there is no result."""

_MERGED = {each.name for each in fields(MultimodalHit)}
_FIELDS = {kind: [each.name for each in fields(kind) if each.name in _MERGED] for kind in (PageHit, Hit, Sighting)}

_KIND: Mapping[ListName, ModelKind] = {"image": "image", "visual": "late"}


class VisualSearch(Protocol):
    """The search of pages by their images."""

    def is_on(self, kind: ModelKind) -> bool: ...

    def is_ready(self, kind: ModelKind) -> bool: ...

    def start(self, kind: ModelKind, limit_s: float) -> bool: ...

    def search_images(
        self, question: str | None = None, *, picture: bytes | None = None, k: int = 20, filters: Filters = Filters()
    ) -> PageHits: ...

    def search_late(self, question: str, *, k: int = 20, filters: Filters = Filters()) -> PageHits: ...

    def score_pages(
        self, kind: ModelKind, places: Sequence[tuple[str, int]], question: str | None, picture: bytes | None = None
    ) -> PageScores: ...


@dataclass(frozen=True, slots=True)
class ListResult:
    """The result of one list, and what was missing. `nothing` says why it is empty, `text` what was read for it.

    `is_starting` means that it was not asked, because its model is being started.

    `nearest_cosine` is that of a search of words, as in its `SearchResult`.
    """

    hits: Sequence[MultimodalHit]
    degraded: tuple[Degraded, ...] = ()
    nothing: str = ""
    text: str = ""
    nearest_cosine: float | None = None
    is_starting: bool = False


@dataclass(slots=True)
class CollectedLists:
    """The lists received so far, and the state of each. For one search, in one thread."""

    lists: dict[ListName, Sequence[MultimodalHit]] = field(default_factory=dict)
    reports: dict[ListName, ListReport] = field(default_factory=dict)
    degraded: list[Degraded] = field(default_factory=list)
    errors: dict[ListName, Exception] = field(default_factory=dict)
    stages: dict[str, float] = field(default_factory=dict)
    """Steps after the lists, with their milliseconds."""
    nearest_cosine: float | None = None
    """Of the list of words."""

    def report(self, name: ListName, state: ListState, ms: float = 0.0, reason: str = "", *, stage: str = "") -> None:
        """Record the state of a list; `stage` names what was missing, where that has another name than the list."""
        self.reports[name] = ListReport(name, state, len(self.lists.get(name, ())), ms, reason)
        if state in MISSING:
            self.degraded.append(Degraded(stage or name, reason, is_starting=state == "starting"))

    def lacks(self, degraded: Iterable[Degraded]) -> None:
        """Record what was missing, each once."""
        self.degraded += [each for each in degraded if each not in self.degraded]

    def take(self, name: ListName, listed: ListResult, ms: float) -> None:
        """Add a list that was received."""
        self.lists[name] = listed.hits
        if name == "text":
            self.nearest_cosine = listed.nearest_cosine
        self.lacks(listed.degraded)
        self.report(name, "ran" if listed.hits else "empty", ms, "" if listed.hits else listed.nothing)

    def settle(self, name: ListName, outcome: Outcome[ListResult], *, stage: str = "") -> ListResult | None:
        """Add a list that was received, or record its timeout or failure and return None."""
        if outcome.late:
            self.report(name, "timed out", outcome.duration_ms, outcome.late, stage=stage)
            return None
        try:
            listed = outcome.result()
        except FAILURES as error:
            self.errors[name] = error
            self.report(name, "failed", outcome.duration_ms, sentence_of(error), stage=stage)
            return None
        if listed.is_starting:
            self.report(name, "starting", outcome.duration_ms, _(STARTING), stage=stage)
            return None
        self.take(name, listed, outcome.duration_ms)
        return listed


def sentence_of(error: Exception) -> str:
    """Return why something is missing, and what can be done about it."""
    if isinstance(error, DocMindError):
        return f"{error} {error.hint}".strip()
    return _("It broke off ({kind}: {error}).").format(kind=type(error).__name__, error=error)


class Lists:
    """The execution of lists. Thread-safe."""

    def __init__(self, settings: Settings, catalog: Catalog, text: TextSearch, eyes: VisualSearch | None) -> None:
        """Set up; `text` searches words, `eyes` page images."""
        self._k = settings.retrieve.k
        self._limit_s, self._start_s = settings.visual.list_timeout_s, settings.retrieve.start_timeout_s
        self._catalog, self._text, self._eyes = catalog, text, eyes
        self._timed_calls = TimedCalls()

    def ask(self, query: Query, depth: Mapping[ListName, int], collected: CollectedLists) -> None:
        """Ask the lists that `depth` names, each to its depth; several lists run in parallel."""
        if list(depth) == ["text"]:  # in this thread: a search of text alone has no extra cost
            at = time.perf_counter()
            listed = self.words(replace(query, k=depth["text"]), "text")
            collected.take("text", listed, ms_since(at))
            return

        def timed_call(name: ListName) -> TimedCall[ListResult]:
            deep = replace(query, k=depth[name])
            if name in _KIND:
                return self.images(name, deep, is_alone=len(depth) == 1)
            return TimedCall(lambda: self.words(deep, name), None)

        outcomes = self._timed_calls.run({name: timed_call(name) for name in depth})
        for name in depth:
            collected.settle(name, outcomes[name])

    def words(self, query: Query, name: ListName) -> ListResult:
        """Search text, or code, which is the same search with a filter."""
        if name == "code":
            query = replace(query, filters=replace(query.filters, modalities=("code",)))
        found = self._text.search(query)
        hits = [listed(hit, name) for hit in found.hits]
        return ListResult(hits, found.degraded, nearest_cosine=found.nearest_cosine)

    def images(
        self,
        name: ListName,
        query: Query,
        *,
        is_alone: bool = False,
    ) -> TimedCall[ListResult]:
        """Return the search of pages by their images: for the picture of a query, else for its words.

        A model that has to be started first has a time limit of its own for that, a longer one if `is_alone`.
        """
        assert self._eyes is not None
        eyes, kind = self._eyes, _KIND[name]
        start_s = max(self._start_s, ALONE_S) if is_alone else self._start_s

        def search() -> ListResult:
            if not eyes.start(kind, start_s):
                return ListResult((), is_starting=True)
            k = query.k or self._k
            if name == "visual":
                found = eyes.search_late(query.words, k=k, filters=query.filters)
            elif query.picture is not None:
                found = eyes.search_images(picture=query.picture, k=k, filters=query.filters)
            else:
                found = eyes.search_images(query.words, k=k, filters=query.filters)
            return ListResult([listed(hit, name) for hit in found.hits], found.degraded)

        return TimedCall(search, self._limit_s + (0.0 if eyes.is_ready(kind) else start_s))

    def why_not(self, name: ListName, filters: Filters) -> tuple[ListState, str] | None:
        """Return why a list is not asked; None where it is."""
        wanted = (FIGURE,) if filters.is_of_some_figures else filters.modalities
        if name == "code" and wanted and "code" not in wanted:
            return "off", _("Code is not among what is asked for.")
        if name == "code" and not self._catalog.holds("code"):
            return "empty", _("No document is source code.")
        by_figures = name == "image" and FIGURE in wanted and self._catalog.figures.are_there()
        if name in _KIND and wanted and PAGE_IMAGE not in wanted and not by_figures:
            return "off", _("Page images are not among what is asked for.")
        if name in _KIND and (self._eyes is None or not self._eyes.is_on(_KIND[name])):
            return "off", _(NO_MODEL)
        return None


def listed(hit: PageHit, source: ListName) -> MultimodalHit:
    """Return a hit of one list as an entry of the merged list; what a kind of hit does not know stays empty."""
    values = {name: getattr(hit, name) for name in _FIELDS[type(hit)]}
    return MultimodalHit(source=source, **values)
