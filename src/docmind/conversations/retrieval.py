"""Retrieval for a turn: which pages the model gets to see, and which of a conversation's documents are preferred."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from docmind.answers import Passage
from docmind.conversations.course import Course, Means
from docmind.conversations.state import Question, State, filters_of, query_of
from docmind.documents import PageRecord
from docmind.records.search import Filters, Hit, MultimodalResult, SearchResult

PRIOR = 0.5  # of the best probability of all documents: what those of a conversation need to be preferred


class Retrieval:
    """The search for the pages of a turn. Thread-safe: the data of a run is in its `Course`."""

    def __init__(self, means: Means) -> None:
        self._means = means

    def ensure(self, state: State, course: Course) -> None:
        """Set `course.search` and `course.looks` unless they are set: a run that is resumed has none."""
        if course.search is not None:
            return
        question, asked = state["question"], state["asked"]
        assert asked is not None
        if asked["page"]:
            hit = self.page_hit(*asked["page"])
            if hit is not None:
                course.search = SearchResult(asked["text"], (hit,), timings_ms=(("total", 0.0),))
                course.is_recalled = course.is_pointed_at = True
                return
        filters = filters_of(question["filters"])
        found = self.search(asked["text"], question, filters)
        recall = [doc for doc in asked["recall"] if not filters.doc_ids or doc in filters.doc_ids]
        if recall:
            found = self._preferred(found, recall, state, course)
        course.search, course.looks = found, list(found.looks)

    def _preferred(
        self, found: MultimodalResult, recall: Sequence[str], state: State, course: Course
    ) -> MultimodalResult:
        """Return what the documents of the conversation have, unless others answer the question far better.

        Where no document answers a question without a topic of its own, it is about those of the conversation.
        """
        question, asked = state["question"], state["asked"]
        assert asked is not None
        filters = replace(filters_of(question["filters"]), doc_ids=tuple(recall))
        within = self.search(asked["text"], question, filters)
        extract, threshold = self._means.direct.extractive.extract, self._means.settings.answer.threshold
        of_all, of_these = extract(asked["text"], found), extract(asked["text"], within)
        is_near = of_these.confidence >= max(threshold, PRIOR * of_all.confidence)
        is_lost = not of_all.sources and not asked.get("has_topic", False)
        if not within.hits or not (is_near or is_lost):
            return found
        elsewhere = [source.doc_id for source in of_all.sources[:1] if source.doc_id not in recall]
        course.is_recalled = is_lost or bool(elsewhere)
        course.is_pointed_at = is_lost and asked["is_cited"]
        return within

    def widen(self, course: Course, hits: Sequence[Hit]) -> list[Passage]:
        """Add passages that a tool found and return the new ones; known passages are left out."""
        known = {passage.hit.node_id for passage in course.passages}
        more = [passage for passage in self.passages(hits) if passage.hit.node_id not in known]
        course.passages += more
        return more

    def search(self, text: str, question: Question, filters: Filters) -> MultimodalResult:
        """Search as the question wants it, for a text of its own."""
        return self._means.search(replace(query_of(question), question=text, filters=filters, mode=None, web=False))

    def page_hit(self, doc_id: str, page_no: int) -> Hit | None:
        """Return a whole page as a hit; None where there is no such page."""
        page = self._means.catalog.pages([(doc_id, page_no)]).get((doc_id, page_no))
        named = self._means.catalog.name_and_title(doc_id)
        return whole_page(page, named[0]) if page is not None and named is not None else None

    def passages(self, hits: Sequence[Hit]) -> list[Passage]:
        pages = self._means.catalog.pages((hit.doc_id, hit.page_no) for hit in hits)
        passages = []
        for hit in hits:
            page = pages.get((hit.doc_id, hit.page_no))
            if page is not None and hit.text:  # deleted after the search, or a page without words
                start = max(0, page.text.find(hit.text))
                passages.append(Passage(hit, page, start, min(len(page.text), start + len(hit.text))))
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
