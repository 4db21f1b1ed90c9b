"""The check of a text that the user wrote: each sentence is searched for, and compared with the pages found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from docmind.documents import Catalog, Version
from docmind.embedding import TextEmbedder
from docmind.errors import ConfigError
from docmind.records.answers import Source, with_days_apart
from docmind.records.drafts import CheckedDraft, CheckedSentence
from docmind.records.query import Query
from docmind.records.search import Degraded, Filters
from docmind.records.values import Draft, check
from docmind.search import MultimodalSearch
from docmind.wording import _, number_text

if TYPE_CHECKING:
    from docmind.answers import DraftSentence, DraftVerifier, Finding, Passage

MOST_SENTENCES = 1_000
"""Sentences of one text: each takes some tenths of a second, mostly to embed passages, so the longest takes minutes."""

_PAGES = 8  # searched for each sentence
_NEIGHBOUR = 3  # pages that a sentence has from the one before it, and from the one after it


class Drafts:
    """Checks texts against the documents, without a language model. Thread-safe: a check has all of its own data."""

    def __init__(self, *, catalog: Catalog, embedder: TextEmbedder, search: MultimodalSearch) -> None:
        self._catalog, self._embedder, self._search = catalog, embedder, search

    def check(
        self, draft: str, filters: Filters = Filters(), *, progress: Callable[[int, int], None] | None = None
    ) -> CheckedDraft:
        """Check every sentence of a text (plain or Markdown) against the documents that `filters` leave.

        Every sentence is there, in its order; what is no claim is not searched for. A sentence is compared with the
        pages found for it and with the first pages of its neighbours, because a text stays with its sources, and "it"
        names what the sentence before names. What a superseded version of a document says is looked for in its newest
        version too, where `filters` allow that.

        `progress` gets the sentences that are done and all of them, after each; what it raises ends the check. Raises
        `ConfigError` where the text is empty or too long, and what the search raises.
        """
        from docmind.answers import NO_CLAIM, DraftVerifier, sentences_of

        check(Draft, draft, "draft")
        text, sentences = sentences_of(draft)
        if len(sentences) > MOST_SENTENCES:
            raise ConfigError(
                _("The text has {number} sentences; {most} are the most.").format(
                    number=number_text(len(sentences)), most=number_text(MOST_SENTENCES)
                ),
                hint=_("Check it in parts."),
            )
        verifier, sources = DraftVerifier(self._embedder), _Sources(self._catalog.epoch())
        found, versions = _Found(self, sentences, filters), _Versions(self._catalog, filters)
        checked: list[CheckedSentence] = []
        for at, sentence in enumerate(sentences):
            finding = self._find(verifier, sentence, found.around(at), versions) if sentence.is_claim else NO_CLAIM
            found.degraded.update(dict.fromkeys(finding.degraded))
            cited = [sources.of(*place) for place in finding.places]
            first, second = (*cited, None, None)[:2]
            checked.append(CheckedSentence(sentence.text, sentence.start, sentence.end, finding.verdict, first, second))
            if progress is not None:
                progress(at + 1, len(sentences))
        return CheckedDraft(text, self._with_provenance(checked), tuple(found.degraded))

    def _find(
        self, verifier: DraftVerifier, sentence: DraftSentence, passages: list[Passage], versions: _Versions
    ) -> Finding:
        """Return what pages say to a sentence, and where these are superseded what the newest versions say."""
        found = verifier.find(sentence, passages)
        if not (newest := versions.newest_of(found.doc_ids)):
            return found
        more, missing = self.search(sentence.text, replace(versions.filters, doc_ids=tuple(set(newest.values()))))
        passages += more
        newest = versions.newest_of({one.hit.doc_id for one in passages})
        found = verifier.find_newest(sentence, passages, newest, found)
        return replace(found, degraded=tuple(dict.fromkeys((*found.degraded, *missing))))

    def _with_provenance(self, checked: Sequence[CheckedSentence]) -> tuple[CheckedSentence, ...]:
        sources = self._catalog.with_provenance(source for one in checked for source in one.sources)
        by_number = {source.n: source for source in with_days_apart(sources)}
        return tuple(
            replace(one, source=one.source and by_number[one.source.n], also=one.also and by_number[one.also.n])
            for one in checked
        )

    def search(self, words: str, filters: Filters) -> tuple[list[Passage], tuple[Degraded, ...]]:
        """Return the passages for the words of a sentence, and what the search went without."""
        from docmind.conversations.retrieval import passages_of

        query = Query(words, k=_PAGES, filters=filters, lists=("text",), dedup_key="page_id")
        result = self._search.search(query)
        return passages_of(self._catalog, result.hits), result.degraded


class _Found:
    """The passages of each sentence, searched for once; those of sentences that are done are let go."""

    def __init__(self, drafts: Drafts, sentences: Sequence[DraftSentence], filters: Filters) -> None:
        self._drafts, self._sentences, self._filters = drafts, sentences, filters
        self._passages: dict[int, list[Passage]] = {}
        self.degraded: dict[Degraded, None] = {}

    def around(self, at: int) -> list[Passage]:
        """Return the passages of a sentence, then the first ones of its neighbours."""
        own = list(self._of(at))
        for other in (at - 1, at + 1):
            if 0 <= other < len(self._sentences) and self._sentences[other].is_claim:
                own += self._of(other)[:_NEIGHBOUR]
        self._passages.pop(at - 1, None)
        return own

    def _of(self, at: int) -> list[Passage]:
        if at not in self._passages:
            self._passages[at], missing = self._drafts.search(self._sentences[at].text, self._filters)
            self.degraded.update(dict.fromkeys(missing))
        return self._passages[at]


class _Versions:
    """The newest versions of documents among those that filters allow, for one check."""

    def __init__(self, catalog: Catalog, filters: Filters) -> None:
        self.filters, self._catalog = filters, catalog
        self._newest: dict[str, Version | None] = {}
        self._allowed: set[str] | None = None

    def newest_of(self, doc_ids: Collection[str]) -> dict[str, str]:
        """Return the newest version of each of these documents that is superseded, by id."""
        newest: dict[str, str] = {}
        for one in self._catalog.versions(doc_ids).values():
            last = self._newest_in(one.series)
            if last is not None and last.is_after(one):
                newest[one.doc_id] = last.doc_id
        return newest

    def _newest_in(self, series: str) -> Version | None:
        if series not in self._newest:
            if self._allowed is None:
                self._allowed = set(self._catalog.allowed(self.filters))
            there = [info.doc_id for info in self._catalog.in_series(series) if info.doc_id in self._allowed]
            versions = list(self._catalog.versions(there).values())
            self._newest[series] = reduce(_newer, versions) if versions else None
        return self._newest[series]


def _newer(one: Version, other: Version) -> Version:
    return other if other.is_after(one) else one


class _Sources:
    """The sources of a check: a passage has one number, however many sentences it supports."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch
        self._sources: dict[tuple[str, tuple[int, int]], Source] = {}

    def of(self, passage: Passage, span: tuple[int, int]) -> Source:
        """Return the source for a span of a page."""
        from docmind.answers import quote_source

        key = passage.page.page_id, span
        if key not in self._sources:
            source = quote_source(len(self._sources) + 1, passage.hit, passage.page, span, self._epoch)
            self._sources[key] = source
        return self._sources[key]
