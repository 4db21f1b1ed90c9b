"""Answers to single questions, without a language model and outside of any conversation."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from docmind.config import Settings
from docmind.conversations.listings import Listings
from docmind.documents import Catalog, NodeStore, PassageVectors
from docmind.embedding import TextEmbedder
from docmind.errors import DocMindError
from docmind.memory import Memories
from docmind.observability import Answered, emit, traced
from docmind.records.answers import Answer
from docmind.records.query import Query
from docmind.runtime import ms_since
from docmind.search import MultimodalSearch

if TYPE_CHECKING:
    from docmind.answers import Verifier
    from docmind.conversations.direct import DirectAnswers


class Answerer:
    """Answers questions with quotes of documents. Thread-safe. Opening is cheap: `direct` is made at first use.

    `catalog`, `search` and `memories` are what it answers from. Conversations use these too, as well as its `direct`
    answers and its `verifier`.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        catalog: Catalog,
        nodes: NodeStore,
        embedder: TextEmbedder,
        search: MultimodalSearch,
        memories: Memories,
        listings: Listings,
        vectors: PassageVectors | None = None,
    ) -> None:
        self._vectors = vectors
        self.catalog, self.search, self.memories, self._listings = catalog, search, memories, listings
        self._settings, self._nodes, self._embedder = settings, nodes, embedder

    @cached_property
    def direct(self) -> DirectAnswers:
        """The answers that need no ranked passages, and the quotes of all others."""
        from docmind.conversations.direct import DirectAnswers

        return DirectAnswers(
            self._settings,
            catalog=self.catalog,
            nodes=self._nodes,
            embedder=self._embedder,
            search=self.search,
            memories=self.memories,
            listings=self._listings,
            vectors=self._vectors,
        )

    @cached_property
    def verifier(self) -> Verifier:
        """The check of what a language model wrote."""
        from docmind.answers import Verifier

        return Verifier(self._embedder)

    def warm(self) -> None:
        """Load what the first answer needs. What cannot be loaded is told by that answer."""
        with suppress(DocMindError, OSError, RuntimeError):
            self.direct.extractive.warm()

    def drop(self) -> None:
        """Drop what is kept in memory of documents, because one is erased."""
        if "direct" in self.__dict__:  # it was used
            self.direct.drop()

    @traced("answer")
    def ask(self, query: Query) -> Answer:
        """Answer a question with the best quote, with quotes or pages that may answer it, or with "not found".

        `outcome` tells which; every quote is among `sources`, with its page and boxes, and so is every page found by
        its look. Where remembered facts alone answer, they are the answer. A request to remember something searches
        nothing: the facts are stored, and are in `told`; nor does a
        greeting. A question for documents lists them, each with its strongest passage, and a summary of documents has
        their central sentences. A question over tables is answered by a query, which is in `computed`. A question for a
        complete list gets all of its items, counted in `listing`.

        Raises `ConfigError` where the question is empty or too long, and what the search raises.
        """
        answer = self._answered(query)
        emit(Answered(answer.outcome, dict(answer.timings_ms)["total"]))
        return answer.with_source_places({}, self.catalog.provenance_of(answer.doc_ids)) if answer.doc_ids else answer

    def _answered(self, query: Query) -> Answer:
        from docmind.answers import not_found, with_looks
        from docmind.conversations.direct import Reply, Scope, lacking, told_alone

        started = time.perf_counter()
        query.check_for("answer")
        question, search_words = query.question, self.memories.expand(query.question)
        scope = Scope(query, search_words=search_words)
        intent = self.direct.recognise(question, scope)
        if intent.is_direct:
            reply = self.direct.reply(intent, scope)
            return reply.answer(question, ms_since(started))
        found = scope.shared.of(self.search, replace(query, question=search_words))
        at = time.perf_counter()
        quotes = self.direct.extractive.extract(
            search_words, found, filters=query.filters, newest_first=query.newest_first
        )
        now = time.perf_counter()
        facts = self.memories.facts_about(question)
        told = tuple(memory.text for memory in facts.memories)
        if told_alone(question, told, quotes.outcome if quotes.sources else "not found"):
            return Reply.of_facts(told).answer(question, ms_since(started), facts.degraded)
        epoch = self.catalog.epoch()
        quotes = quotes.as_of(epoch)
        checked, outcome = lacking(quotes.quoted(), quotes.outcome, intent.lead)
        checked = with_looks(checked, found.looks, self.catalog, epoch)
        return Answer(
            question=question,
            answer=checked.answer or not_found(found),
            found=bool(checked.sources),
            sources=checked.sources,
            degraded=(*found.degraded, *quotes.degraded, *facts.degraded),
            timings_ms=(*found.timings_ms[:-1], ("answer", (now - at) * 1000), ("total", (now - started) * 1000)),
            sentences=checked.sentences,
            outcome=outcome,
            told=told,
            needs=intent.needs,
            confidence=quotes.confidence,
        )
