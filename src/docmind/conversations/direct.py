"""Answers that need neither a language model nor passages ranked for the question.

A request to remember is stored, a greeting returned, documents are listed with their strongest passage, or
summarized by their central sentences; a query over tables answers what is asked of rows; a complete list has all items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from docmind.answers import (
    PASSAGES,
    Extractive,
    Intent,
    Language,
    Summarizer,
    Verified,
    first_passage,
    is_all,
    is_listing,
    is_named,
    is_this,
    language_of_question,
    parts_of,
    quoted,
    recognise,
)
from docmind.config import Settings
from docmind.conversations.changes import changes_told, versions_meant
from docmind.conversations.list_telling import CITED, told_list
from docmind.conversations.listings import Listings
from docmind.conversations.mails import Mails
from docmind.conversations.shared_result import SharedResult
from docmind.documents import Catalog, NodeStore, PassageVectors
from docmind.embedding import Meanings, TextEmbedder, name_of, open_readers, words
from docmind.errors import DocMindError
from docmind.language import fold
from docmind.memory import Memories
from docmind.records.answers import NOTED, TOLD, Answer, Computed, Outcome, Sentence, Source
from docmind.records.documents import DocumentInfo
from docmind.records.listed import Listed
from docmind.records.listings import Listing
from docmind.records.query import Query
from docmind.records.search import Degraded, Filters, Hit, MultimodalHit, MultimodalResult
from docmind.rich_text import clip, one_line
from docmind.search import MultimodalSearch
from docmind.tables import TableAnswer, TableAnswers, scores_of
from docmind.wording import A_, _, number_text, say, say_many

LISTED = 12  # documents of a list
SUMMARIZED = 3  # documents of a summary
SENTENCES = 8  # of a summary of all of them
FEWEST = 3  # sentences of each
HEADING = 90  # characters of a heading
CANDIDATES = 6  # passages of a document that are embedded to find its strongest
_NONE_YET = A_("There are no documents yet: add some first.")

DocumentSearch = Callable[[Query], MultimodalResult]
"""The search of everything."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a question is asked of: its `Query`, its conversation, and the documents talked about there.

    `search_words` are what is searched for; `shared` keeps the result for those who answer.
    """

    query: Query = field(default_factory=Query)
    thread_id: str | None = None
    talked_about: tuple[str, ...] = ()
    search_words: str = ""
    shared: SharedResult = field(default_factory=SharedResult)

    @property
    def filters(self) -> Filters:
        """The filters of the query."""
        return self.query.filters


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer without its question and timings."""

    checked: Verified
    outcome: Outcome
    told: tuple[str, ...] = ()
    computed: Computed | None = None
    listing: Listing | None = None

    @classmethod
    def of_facts(cls, facts: tuple[str, ...]) -> Reply:
        """Return the reply of remembered facts alone."""
        return cls(_said("\n".join(f"{_(TOLD)}: “{one_line(fact)}”" for fact in facts)), "told", facts)

    def answer(self, question: str, total_ms: float, degraded: tuple[Degraded, ...] = ()) -> Answer:
        """Return the answer to a question that took `total_ms`; `degraded` comes before its own."""
        return Answer(
            question=question,
            answer=self.checked.answer,
            found=bool(self.checked.sources),
            sources=self.checked.sources,
            degraded=tuple(dict.fromkeys((*degraded, *self.checked.degraded))),
            timings_ms=(("total", total_ms),),
            sentences=self.checked.sentences,
            outcome=self.outcome,
            told=self.told,
            computed=self.computed,
            listing=self.listing,
        )


class DirectAnswers:
    """Recognises what a question asks for, and answers what needs no ranked passages. Thread-safe.

    `extractive` quotes as configured, `lenient` without a threshold, for pages that a question itself points to.
    `tables` answers questions over tables.
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
        self._catalog, self._nodes, self._embedder, self._listings = catalog, nodes, embedder, listings
        self._threshold, self._search, self._memories = settings.answer.threshold, search, memories
        self.extractive = Extractive(
            settings.answer,
            catalog,
            embedder,
            least_certainty=settings.reading.ocr_min_confidence,
            vectors=vectors,
            readers=open_readers(settings),
        )
        self.lenient = self.extractive.without_threshold()
        self.summarizer = Summarizer(catalog, nodes, embedder)
        self.tables = TableAnswers(catalog, Meanings(embedder))
        self._mails = Mails(catalog)

    def drop(self) -> None:
        """Drop what is kept in memory of passages and tables, because a document is erased."""
        self.extractive.drop()
        self.tables.drop()
        self._mails.drop()

    def recognise(self, question: str, scope: Scope) -> Intent:
        """Return what a question asks for.

        The headers of mails answer who wrote what and when. A query over tables answers a question of which every word
        stands for something there, before passages are searched. A summary asks for passages where no document is meant
        by what is to be summarized; where more than three are, their list is asked for.
        """
        intent = recognise(question, self._memories.requested(question))
        if intent.kind in ("passages", "sum") and self._mails.answer(question, scope.filters) is not None:
            return Intent("mails", language_of_question(question), topic=question)
        if intent.kind in ("passages", "sum") and self._is_of_tables(question, scope):
            return Intent("table", intent.language, topic=question)
        if intent.kind in ("passages", "documents"):
            found = self._list_of(question, scope)
            if found is not None and (found.items or intent.kind == "passages"):
                return Intent("list", language_of_question(question), topic=question)
        if intent.kind == "changes":
            return self._changes_meant(intent, scope)
        if intent.kind != "summary":
            return intent
        meant = self._meant(self._memories.expand(intent.topic, thread_id=scope.thread_id), scope)
        if len(meant) > SUMMARIZED:
            return replace(intent, kind="documents", topic="" if is_all(intent.topic) else intent.topic)
        return replace(intent, doc_ids=meant) if meant else PASSAGES

    def _is_of_tables(self, question: str, scope: Scope) -> bool:
        """Return whether a query over tables answers a question, with all of its rows where it lists them.

        A list of a table without names of columns is made by its lines, and so is one whose rows are told in part.
        """
        if parts_of(question) is not None:  # each is answered by itself
            return False
        found = self._computed_by_tables(question, scope)
        if found is None or not is_listing(question):
            return found is not None
        rows = found.computed.rows_total
        if all(name.isdigit() for name in found.computed.columns) or rows > CITED:
            return False
        if rows == len(found.checked.sources):
            return True
        listed = self._list_of(question, scope)
        return listed is None or listed.listing.total != rows

    def is_sure(self, intent: Intent, scope: Scope) -> bool:
        """Return whether an intent answers without passages, and not by a query that is one of several."""
        found = self._computed_by_tables(intent.topic, scope) if intent.kind == "table" else None
        return intent.is_direct if intent.kind != "table" else found is not None and found.outcome == "answer"

    def _computed_by_tables(self, question: str, scope: Scope) -> TableAnswer | None:
        """Return the answer of a query over tables, of which the search tells where they may be."""

        def found() -> dict[str, float]:
            return scores_of(self._found(question, scope).hits)

        return self.tables.answer(question, scope.filters, found, scope.search_words)

    def _found(self, question: str, scope: Scope) -> MultimodalResult:
        """Return what the search finds for a question; raises what the search does."""
        return scope.shared.of(self._search, replace(scope.query, question=scope.search_words or question))

    def _list_of(self, question: str, scope: Scope) -> Listed | None:
        """Return the complete list that a question asks for, if it asks for one."""

        def found_pages() -> set[tuple[str, int]]:
            found = self._found(question, scope)
            return {(hit.doc_id, hit.page_no) for hit in (*found.hits, *found.ranked_by_words)}

        return self._listings.answer(question, scope.filters, scope.talked_about, found_pages)

    def _changes_meant(self, intent: Intent, scope: Scope) -> Intent:
        """Return the intent with the two versions that it compares, or passages where no such two are meant."""
        topic = self._memories.expand(intent.topic, thread_id=scope.thread_id)
        meant = self._meant(topic, scope) if topic else ()
        if topic and not meant:
            return PASSAGES
        documents = self._catalog.matching(scope.filters)
        pair = versions_meant(documents, meant or scope.talked_about, intent.version)
        pair = pair or versions_meant(documents, meant, intent.version)
        return replace(intent, doc_ids=pair) if pair else PASSAGES

    def alike(self, phrase: str, others: Sequence[str]) -> np.ndarray:
        """Return how alike in meaning a phrase is with each of others: their cosines `(n,)` by the text model.

        They are 0 where the model fails, as the search then says.
        """
        try:
            vectors = self._embedder.embed_documents([phrase, *others])
        except (DocMindError, OSError, RuntimeError):
            return np.zeros(len(others))
        return vectors[1:] @ vectors[0]

    def is_greeting(self, question: str) -> bool:
        """Return whether a message is a greeting and nothing else."""
        return recognise(question, self._memories.requested(question)).kind == "greeting"

    def reply(self, intent: Intent, scope: Scope) -> Reply:
        """Answer a direct intent.

        Raises `ValueError` for one that needs passages, and what the search raises.
        """
        if intent.kind == "remember":
            for fact in intent.facts:
                self._memories.add(fact)  # returns the memory that is there where the reply is made again
            return Reply(_said(NOTED), "noted", intent.facts)
        if intent.kind == "greeting":
            return Reply(_said(self._greeted(intent.language)), "greeting")
        if intent.kind == "documents":
            return self._about(intent, scope) if intent.topic else self._all(intent.language, scope)
        if intent.kind == "summary":
            return self._summary(intent)
        if intent.kind == "changes":
            told = self._listed(*changes_told(self._catalog, intent.doc_ids, intent.language))
            return Reply(replace(told, degraded=self._catalog.damage()), "summary")
        if intent.kind == "table":
            return self._computed(intent, scope)
        if intent.kind == "list":
            return self._list(intent, scope)
        if intent.kind == "mails":
            return self._of_mails(intent, scope)
        raise ValueError(f"{intent.kind!r} is answered with passages.")

    def _computed(self, intent: Intent, scope: Scope) -> Reply:
        """Answer by a query over tables; nothing is found where they were erased since it was recognised."""
        found = self._computed_by_tables(intent.topic, scope)
        if found is None:
            return Reply(Verified("", (), ()), "not found")
        recalled = self._memories.facts_about(intent.topic, thread_id=scope.thread_id)
        told = tuple(memory.text for memory in recalled.memories)
        checked = replace(found.checked, degraded=(*found.checked.degraded, *recalled.degraded))
        return Reply(checked, found.outcome, told, found.computed)

    def _list(self, intent: Intent, scope: Scope) -> Reply:
        """Tell a complete list with its first items; nothing is found where it was erased since it was recognised."""
        found = self._list_of(intent.topic, scope)
        if found is None:
            return Reply(Verified("", (), ()), "not found")
        lead, parts, more = told_list(found, intent.language)
        listed = self._listed(lead, parts, more, is_named=False)
        return Reply(replace(listed, degraded=self._catalog.damage()), "list", listing=found.listing)

    def _of_mails(self, intent: Intent, scope: Scope) -> Reply:
        """Tell the mails that are asked for; nothing is found where they were erased since it was recognised."""
        found = self._mails.answer(intent.topic, scope.filters)
        if found is None:
            return Reply(Verified("", (), ()), "not found")
        lead, parts, more = self._mails.told(found, intent.language)
        listed = self._listed(lead, parts, more, is_named=False)
        return Reply(replace(listed, degraded=self._catalog.damage()), "documents")

    def _greeted(self, language: Language) -> str:
        hello = say(language, "Hello! I answer questions from your documents, and every answer shows its page.")
        documents = self._catalog.counts()[0]
        if not documents:
            return f"{hello} {say(language, _NONE_YET)}"
        invited = say(language, "{count} to ask; what would you like to know?")
        return f"{hello} {invited.format(count=_counted(documents, language))}"

    def _about(self, intent: Intent, scope: Scope) -> Reply:
        """List the documents that have something about the topic, each with its strongest passage."""
        topic = one_line(intent.topic)
        meant = self._memories.expand(intent.topic, thread_id=scope.thread_id)
        found = self._search.search(replace(scope.query, question=meant, k=LISTED, dedup_key="doc_id"))
        vector = self._embedder.embed_query(meant) if found.nearest_cosine is not None else None
        strongest = (self._strongest(meant, vector, hit, found) for hit in found.hits)
        sources = [source for source in strongest if source is not None]
        some = A_("Your documents with something about “{topic}”, the best first:")
        none = A_("None of your documents has a passage about “{topic}”.")
        lead = say(intent.language, some if sources else none).format(topic=topic)
        listed = self._listed(lead, sources)
        return Reply(replace(listed, degraded=found.degraded), "documents")

    def _strongest(
        self, topic: str, vector: np.ndarray | None, hit: MultimodalHit, found: MultimodalResult
    ) -> Source | None:
        """Return the best passage of a hit; None where its page has nothing about the topic.

        `vector` `(dim,)` is the topic's, None where the search did without the text model.
        """
        alone = replace(found, hits=(hit,), by_words=(), nearest_cosine=self._cosine(vector, hit))
        ranked = self.extractive.rank(topic, alone, candidates=CANDIDATES)
        if ranked is None or ranked.confidence() < self._threshold:
            return None
        return ranked.sources()[0]

    def _cosine(self, vector: np.ndarray | None, hit: Hit) -> float | None:
        """Return the cosine of the topic and the hit's window; 0 where the window has no vector of this model."""
        if vector is None:
            return None
        node = self._nodes.nodes([hit.node_id]).get(hit.node_id)
        kept = self._nodes.vectors(self._embedder.fingerprint, [node.content_hash]) if node is not None else {}
        return float(kept[node.content_hash] @ vector) if node is not None and kept else 0.0

    def _all(self, language: Language, scope: Scope) -> Reply:
        """List the newest documents, each with its first passage."""
        documents = self._catalog.asked(scope.filters.snapshots)
        if not documents:
            return Reply(_said(say(language, _NONE_YET)), "documents")
        within = [info for info in self._catalog.matching(scope.filters) if info.status == "ready"]
        shown = [(info, first_passage(self._catalog, info)) for info in within[:LISTED]]
        lead = say(language, "{count}, the newest first:").format(count=_counted(len(within), language))
        more = len(within) - LISTED
        rest = say(language, "And {n} more.").format(n=number_text(more, code=language)) if more > 0 else ""
        return Reply(self._listed(lead, [source or info.label for info, source in shown], rest), "documents")

    def _meant(self, topic: str, scope: Scope) -> tuple[str, ...]:
        """Return the documents that are to be summarized: those talked about, all, or those with a name of these words.

        What is talked about are the documents of the latest answer, those of the filter, or the only one.
        """
        documents = self._catalog.asked(scope.filters.snapshots)
        within = [info.doc_id for info in self._catalog.matching(scope.filters) if info.status == "ready"]
        if is_this(topic):
            narrowed = within if len(within) == 1 or scope.filters.doc_ids else []
            return tuple([doc_id for doc_id in scope.talked_about if doc_id in within][:SUMMARIZED] or narrowed)
        if is_all(topic):
            return tuple(within)
        exact = [info.doc_id for info in documents if topic.casefold() in _called(info)]
        named = exact or [
            info.doc_id for info in documents if is_named(topic, name_of(info.document, info.shown_title))
        ]
        return tuple(doc_id for doc_id in named if doc_id in within)

    def _summary(self, intent: Intent) -> Reply:
        """Quote the central sentences of documents, in their order and below their headings."""
        note = say(intent.language, "Quoted, not summarised. A language model writes a summary.")
        most = max(FEWEST, SENTENCES // len(intent.doc_ids))
        parts: list[Source | str] = []
        degraded: list[Degraded] = []
        for doc_id in intent.doc_ids:
            info = self._catalog.readable(doc_id)
            summary = self.summarizer.summarize(info, most)
            lead = A_("Key sentences from {name}") if summary.parts else A_("{name} has no sentences to show.")
            parts.append(say(intent.language, lead).format(name=one_line(info.label)))
            if summary.parts and note not in parts:
                parts.append(note)
            degraded += summary.degraded
            last = ""
            for heading, source in summary.parts:
                parts += [clip(heading, HEADING)] if heading not in ("", last) else []
                last = heading or last
                parts.append(source)
        first, *rest = parts
        assert isinstance(first, str)
        told = self._listed(first, rest, is_named=False)
        return Reply(replace(told, degraded=(*degraded, *self._catalog.damage())), "summary")

    def _listed(self, lead: str, parts: Sequence[Source | str], more: str = "", *, is_named: bool = True) -> Verified:
        """Return a paragraph for each text and each quote, which its document's title begins if `is_named`."""
        epoch = self._catalog.epoch()
        text = lead
        sentences = [Sentence(lead, 0, len(lead), is_claim=False)]
        sources: list[Source] = []
        for part in parts:
            if isinstance(part, str):
                text += f"\n\n{one_line(part)}"
                continue
            sources.append(replace(part, n=len(sources) + 1, index_epoch=epoch))
            text += f"\n\n{one_line(self._catalog.label(part.doc_id, part.document))}: " if is_named else "\n\n"
            quote = f"“{part.quote}”"
            sentences.append(Sentence(quote, len(text), len(text) + len(quote), (len(sources),), supported=True))
            text += f"{quote} [{len(sources)}]"
        if more:
            sentences.append(Sentence(more, len(text) + 2, len(text) + 2 + len(more), is_claim=False))
            text += f"\n\n{more}"
        return Verified(text, tuple(sentences), tuple(sources))


def lacking(checked: Verified, outcome: Outcome, lead: str) -> tuple[Verified, Outcome]:
    """Return quotes as passages that may help, below a `lead` that says what an answer needs.

    They are left as they are where there are none, or the lead is empty.
    """
    if not lead or not checked.sources:
        return checked, outcome
    listed = quoted([source for source in checked.sources if source.kind == "quote"], "maybe", lead)
    return replace(checked, answer=listed.answer, sentences=listed.sentences), "maybe"


def told_alone(question: str, facts: Sequence[str], outcome: Outcome) -> bool:
    """Return whether remembered facts alone answer a question.

    They do where no document answers, or one only may and a fact has every word of the question.
    """
    return bool(facts) and (outcome == "not found" or (outcome == "maybe" and is_told(question, facts)))


def is_told(question: str, facts: Sequence[str]) -> bool:
    """Return whether a fact has every word of a question that is no stop word."""
    asked = _words(question)
    return bool(asked) and any(asked <= _words(fact) for fact in facts)


def _words(text: str) -> set[str]:
    return {fold(word.lower()) for word in words(text)}


def _counted(documents: int, language: Language) -> str:
    counted = say_many(language, "There is {n} document", "There are {n} documents", documents)
    return counted.format(n=number_text(documents, code=language))


def _called(info: DocumentInfo) -> set[str]:
    """Return what a document is called, by its file name and its title, in lower case."""
    return {info.document.casefold(), info.label.casefold()}


def _said(text: str) -> Verified:
    """Return a text that says nothing about the documents."""
    return Verified(text, (Sentence(text, 0, len(text), is_claim=False),), ())
