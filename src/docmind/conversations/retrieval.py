"""Retrieval for a turn: which pages the model gets to see, and which of a conversation's documents are preferred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from docmind.answers import Extract, Passage
from docmind.conversations.direct import DirectAnswers
from docmind.conversations.run_context import RunContext
from docmind.conversations.state import Question, State, filters_of, query_of, search_words_of
from docmind.documents import Catalog, PageRecord
from docmind.records.query import Query
from docmind.records.search import Filters, Hit, MultimodalResult, SearchResult
from docmind.search import MultimodalSearch

_AROUND_FIGURE = 600  # characters before and behind the words of a figure that a model reads with them
PRIOR = 0.5  # of the best probability of all documents: what those of a conversation need to be preferred


class Retrieval:
    """The search for the pages of a turn. Thread-safe: the data of a run is in its `RunContext`."""

    def __init__(self, *, catalog: Catalog, search: MultimodalSearch, direct: DirectAnswers) -> None:
        self._catalog, self._search, self._direct = catalog, search, direct

    def ensure(self, state: State, context: RunContext) -> None:
        """Set `context.search` and `context.looks` unless they are set: a run that is resumed has none."""
        if context.search is not None:
            return
        question, resolved = state["question"], state["asked"]
        assert resolved is not None
        search_words = search_words_of(state)
        if resolved["page"]:
            hit = self.page_hit(*resolved["page"])
            if hit is not None:
                context.search = SearchResult(search_words, (hit,), timings_ms=(("total", 0.0),))
                context.is_recalled = context.is_pointed_at = True
                return
        found = self._found(search_words, question, context)
        filters = self._catalog.enclosed.widened(filters_of(question["filters"]))
        recall = self._with_versions(resolved["recall"])
        recall = [doc for doc in recall if not filters.doc_ids or doc in filters.doc_ids]
        if recall:
            found = self._preferred(found, recall, state, context)
        context.search, context.looks = found, list(found.looks)

    def extract(self, search_words: str, question: Question, context: RunContext) -> Extract:
        """Return the quotes for these words among all documents that the question is asked of."""
        found, query = self._found(search_words, question, context), query_of(question)
        extract = self._direct.extractive.extract
        return extract(search_words, found, filters=query.filters, newest_first=query.newest_first)

    def _found(self, search_words: str, question: Question, context: RunContext) -> MultimodalResult:
        filters = self._catalog.enclosed.widened(filters_of(question["filters"]))
        return context.shared.of(self._search, self._query(search_words, question, filters))

    def _with_versions(self, doc_ids: Sequence[str]) -> list[str]:
        """Return documents with the other versions of each: the newest of them answers, whichever was cited before."""
        series = dict.fromkeys(one.series for one in self._catalog.versions(doc_ids).values())
        versions = (info.doc_id for name in series for info in self._catalog.in_series(name))
        return list(dict.fromkeys((*doc_ids, *versions)))

    def _preferred(
        self, found: MultimodalResult, recall: Sequence[str], state: State, context: RunContext
    ) -> MultimodalResult:
        """Return what the documents of the conversation have, unless others answer the question far better.

        Where no document answers a question without a topic of its own, it is about those of the conversation.
        """
        question, resolved = state["question"], state["asked"]
        assert resolved is not None
        filters = replace(filters_of(question["filters"]), doc_ids=tuple(recall))
        search_words = search_words_of(state)
        within = self.search(search_words, question, filters)
        extract = self._direct.extractive.extract
        of_all, of_these = extract(search_words, found), extract(search_words, within)
        is_near = bool(of_these.sources) and of_these.confidence >= PRIOR * of_all.confidence
        is_lost = not of_all.sources and not resolved.get("has_topic", False)
        if not within.hits or not (is_near or is_lost):
            return found
        elsewhere = [source.doc_id for source in of_all.sources[:1] if source.doc_id not in recall]
        context.is_recalled = is_lost or bool(elsewhere)
        context.is_pointed_at = is_lost and resolved["is_cited"]
        return within

    def widen(self, context: RunContext, hits: Sequence[Hit]) -> list[Passage]:
        """Add passages that a tool found and return the new ones; known passages are left out."""
        known = {passage.hit.node_id for passage in context.passages}
        more = [passage for passage in self.passages(hits) if passage.hit.node_id not in known]
        context.passages += more
        return more

    def search(self, search_words: str, question: Question, filters: Filters) -> MultimodalResult:
        """Search as the question wants it, for words of their own."""
        return self._search.search(self._query(search_words, question, filters))

    def _query(self, search_words: str, question: Question, filters: Filters) -> Query:
        return replace(query_of(question), question=search_words, filters=filters, mode=None, web=False)

    def page_hit(self, doc_id: str, page_no: int) -> Hit | None:
        """Return a whole page as a hit; None where there is no such page."""
        page = self._catalog.pages([(doc_id, page_no)]).get((doc_id, page_no))
        named = self._catalog.name_and_title(doc_id)
        return whole_page(page, named[0]) if page is not None and named is not None else None

    def passages(self, hits: Sequence[Hit]) -> list[Passage]:
        return passages_of(self._catalog, hits)


def passages_of(catalog: Catalog, hits: Sequence[Hit]) -> list[Passage]:
    """Return hits with their pages, without those of pages that have no words, or were deleted after the search."""
    pages = catalog.pages((hit.doc_id, hit.page_no) for hit in hits)
    passages = []
    for hit in hits:
        page = pages.get((hit.doc_id, hit.page_no))
        if page is not None and hit.text:
            start, around = max(0, page.text.find(hit.text)), _AROUND_FIGURE if hit.figure else 0
            end = min(len(page.text), start + len(hit.text) + around)
            passages.append(Passage(hit, page, max(0, start - around), end))
    return passages


def whole_page(page: PageRecord, document: str) -> Hit:
    return Hit(
        rank=1,
        score=1.0,
        document=document,
        doc_id=page.doc_id,
        page_no=page.page_no,
        page_id=page.page_id,
        modality="text",
        text=page.text,
        boxes=(),
        node_id=page.page_id,
        language=page.language,
        page_width=page.width,
        page_height=page.height,
        image=page.image,
        thumbnail=page.thumbnail,
    )
