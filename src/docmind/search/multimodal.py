"""Multimodal search: a question or a picture over words, code and page images, in one ranked list.

The list of words is the whole text search. Where no other list has results, its hits are the hits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from docmind.answers import day_in, newest_hits, wishes_newest
from docmind.config import Settings
from docmind.documents import Catalog, NodeStore
from docmind.embedding import VectorCache
from docmind.errors import DamagedError
from docmind.image_match import ImageMatcher
from docmind.observability import ListTimed, Searched, emit, traced
from docmind.reading import PictureText, telling, turn_of
from docmind.records.query import Query
from docmind.records.search import (
    LISTS_OF_PICTURES,
    LISTS_OF_QUESTIONS,
    Degraded,
    Filters,
    ListName,
    MultimodalHit,
    MultimodalResult,
    Sightings,
)
from docmind.records.values import LONGEST_QUESTION
from docmind.runtime import TimedCall, TimedCalls, ms_since
from docmind.search.figures import FIGURE, figure_around
from docmind.search.fusion import (
    DEPTH,
    FEW,
    IMAGES,
    LONG,
    MOST_APART,
    UNSURE_ONCE,
    UNSURE_WEIGHTS,
    WEIGHTS,
    WORDS,
    Lists,
    looking_alike,
    merged,
    standing_apart,
    standing_out,
)
from docmind.search.lists import CollectedLists, ListResult, VisualSearch, listed
from docmind.search.lists import Lists as AskedLists
from docmind.search.text import TextSearch
from docmind.search.visual_rerank import VisualReranker
from docmind.wording import _

_BY_WORDS: tuple[ListName, ...] = ("text", "code")
_SURE = 0.9  # the probability from which a page is found for certain: reading the words would not change it
_LIKELY = 0.1  # pages below this probability are dropped where other lists have results, but for the nearest
_NEAREST = 3
_SHORTEST = 3  # letters and digits of a word that is read on a picture and searched for


class MultimodalSearch:
    """The search over every kind of list. Thread-safe."""

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        nodes: NodeStore,
        text: TextSearch,
        lookalike: ImageMatcher,
        eyes: VisualSearch | None,
        queries: VectorCache,
    ) -> None:
        """Set up; `text` searches words, `eyes` page images; `queries` caches the embeddings of questions."""
        self._settings, self._catalog, self._nodes = settings, catalog, nodes
        self._lookalike, self._queries = lookalike, queries
        self._lists = AskedLists(settings, catalog, text, eyes)
        self._text = PictureText(settings.reading)
        self._second = VisualReranker(settings, eyes)
        self._looking = TimedCalls()  # separate from those of questions, so that a slow picture delays no question

    @traced("search")
    def search(self, query: Query, *, on_first: Callable[[MultimodalResult], None] | None = None) -> MultimodalResult:
        """Return the best hits of all lists, or of those that the query names, for its words or its picture.

        What the query leaves out is as configured. With a picture, `on_first` gets the result of image matching alone,
        in this thread; what it raises ends the search. Raises `ConfigError` as `Query.check_for`, the errors of the
        text search where no list gave an answer, and those of `ImageMatcher.search` for a picture that cannot be
        opened.
        """
        query.check_for("search")
        chosen = self._settings.search
        query = replace(
            query,
            question=query.words,
            k=query.k or self._settings.retrieve.k,
            merge=query.merge or chosen.merge,
            dedup_key=query.dedup_key or self._settings.retrieve.dedup_key,
        )
        if query.picture is not None:
            first = on_first and (lambda found: on_first(self._with_provenance(found)))
            found = self._with_provenance(self._see(query, first))
            emit(_event_of(found))
            return found
        found = self._with_provenance(
            self._ask(replace(query, lists=query.lists or chosen.asked() or (), limits=query.limits or chosen.limits()))
        )
        emit(_event_of(found))
        return _newest_first(found) if query.newest_first or wishes_newest(query.question) else found

    def _with_provenance(self, found: MultimodalResult) -> MultimodalResult:
        told = self._catalog.with_provenance
        return replace(found, hits=told(found.hits), looks=told(found.looks))

    def _ask(self, query: Query) -> MultimodalResult:
        """Return the hits for the words of a query in which nothing is left out."""
        started = time.perf_counter()
        assert query.k is not None
        wanted: list[ListName] = [name for name in LISTS_OF_QUESTIONS if not query.lists or name in query.lists]
        collected = CollectedLists()
        kind = self._second.kind(query.rerank, collected)
        for name in wanted:
            if why := self._lists.why_not(name, query.filters):
                collected.report(name, why[0], reason=why[1])
        asked: list[ListName] = [name for name in wanted if name not in collected.reports]
        if not query.lists and asked == ["text", "code"]:
            asked.remove("code")
            collected.report("code", "off", reason=_("Alone beside the list of words it would say the same twice."))
        deep = query.k if len(asked) == 1 and kind is None else max(query.k, DEPTH)
        depth: dict[ListName, int] = {name: query.limits.get(name, deep) for name in asked}
        self._lists.ask(query, depth, collected)
        if "text" in collected.errors and not collected.lists:
            raise collected.errors["text"]
        at = time.perf_counter()
        ordered = self._merged(self._telling(collected.lists, query.filters), query)
        if kind is not None:
            ordered = self._second.over(ordered, kind, collected, question=query.question)
        hits = self._first(ordered, query.k)
        return replace(
            self._result(query, hits, collected, at, started),
            lists=tuple(collected.reports[name] for name in wanted),
            looks=self._looks(collected, query.filters),
            nearest_cosine=collected.nearest_cosine,
            by_words=_by_words(collected.lists, query.k, hits),
        )

    def _see(self, query: Query, on_first: Callable[[MultimodalResult], None] | None) -> MultimodalResult:
        """Return the pages that the picture of a query may show, or be about, the likeliest first.

        After image matching the words on the picture are read, which takes seconds, and searched for, unless the query
        says otherwise or a page was found for certain; and similar pages are found by an image model, where one is in
        use. A page that the picture was found to show keeps its place. Finally the first pages are reranked.
        """
        started = time.perf_counter()
        assert query.k is not None
        assert query.picture is not None
        wanted: list[ListName] = [name for name in LISTS_OF_PICTURES if not query.lists or name in query.lists]
        depth: dict[ListName, int] = {name: query.limits.get(name, max(query.k, DEPTH)) for name in wanted}
        collected = CollectedLists()
        kind = self._second.kind(query.rerank, collected)
        looked = self._looked(query, depth, collected, started)

        def result(text: str = "", *, is_final: bool = True) -> MultimodalResult:
            at = time.perf_counter()
            assert query.k is not None
            ordered = self._merged(_by_picture(collected.lists), query)
            if is_final and kind is not None:
                question = query.question or telling(_whole_words(text))
                ordered = self._second.over(ordered, kind, collected, question=question, picture=query.picture)
            shown = [self._as_figure(_outlined(hit), query.filters) for hit in self._first(ordered, query.k)]
            hits = [replace(hit, rank=rank) for rank, hit in enumerate((one for one in shown if one), 1)]
            return replace(
                self._result(query, hits, collected, at, started),
                lists=tuple(collected.reports[each] for each in wanted if each in collected.reports),
                found=looked.found,
                is_final=is_final,
                picture_text=text,
            )

        if on_first is not None:
            on_first(result(is_final=False))
        outcomes = self._looking.run(self._slower(query, depth, looked, collected))
        if "image" in outcomes:
            collected.settle("image", outcomes["image"])
        if "text" not in outcomes:
            return result()
        before = collected.reports["text"]
        settled = collected.settle("text", outcomes["text"], stage="ocr")
        if settled is None and collected.lists.get("text"):  # the results of the question stay
            collected.reports["text"] = before
        return result(settled.text if settled else "")

    def _looked(
        self, query: Query, depth: Mapping[ListName, int], collected: CollectedLists, started: float
    ) -> Sightings:
        """Search by the look of the picture, and for the words of the question beside it."""
        assert query.picture is not None
        looked = Sightings((), False)
        if "lookalike" in depth:
            looked = self._lookalike.search(
                query.picture, k=depth["lookalike"], filters=query.filters,
                name=query.picture_name or _("The picture"),
            )  # fmt: skip
            shown = ListResult([listed(hit, "lookalike") for hit in looked.hits], looked.degraded)
            collected.take("lookalike", shown, ms_since(started))
        if "text" in depth:
            collected.report("text", "off", reason=_("There are no words to look for."))
        if "image" in depth and (why := self._lists.why_not("image", query.filters)):
            collected.report("image", why[0], reason=why[1])
        if query.question and "text" in depth:
            asked = replace(query, k=depth["text"])
            words = TimedCall(lambda: self._lists.words(asked, "text"), None)
            collected.settle("text", self._looking.run({"question": words})["question"])
        return looked

    def _slower(
        self, query: Query, depth: Mapping[ListName, int], looked: Sightings, collected: CollectedLists
    ) -> dict[str, TimedCall[ListResult]]:
        """Return the searches that take seconds: by the words on the picture, and by an image model."""
        calls: dict[str, TimedCall[ListResult]] = {}
        is_sure = any(hit.found and hit.score >= _SURE for hit in looked.hits)
        is_read = query.read_picture and "text" in depth
        if is_sure and not query.question and "text" in depth:
            collected.report("text", "off", reason=_("The page was found by its look: its words need not be read."))
        elif is_read and not is_sure and self._text.missing:
            collected.degraded.append(Degraded("ocr", self._text.missing))
        elif is_read and not is_sure:
            best = next((hit for hit in looked.hits if hit.quad and hit.score >= _LIKELY), None)
            turn = turn_of(best.quad) if best else 0.0
            deep = replace(query, k=depth["text"])
            limit_s = self._settings.reading.timeout_s + self._settings.visual.list_timeout_s
            calls["text"] = TimedCall(lambda: self._read(deep, turn), limit_s)
        if "image" in depth and "image" not in collected.reports:
            calls["image"] = self._lists.images("image", replace(query, k=depth["image"]))
        return calls

    def _result(
        self, query: Query, hits: Sequence[MultimodalHit], collected: CollectedLists, merging: float, started: float
    ) -> MultimodalResult:
        """Return what the results for words and for a picture have in common."""
        assert query.merge is not None
        lacks = (*collected.degraded, *self._catalog.lacking(query.filters), *self._catalog.damage())
        return MultimodalResult(
            query=query.question,
            hits=tuple(hits),
            merge=query.merge,
            degraded=tuple(dict.fromkeys(lacks)),
            timings_ms=_timings(collected, merging, started),
            cache_hit_rate=self._queries.hit_rate(),
        )

    def close(self) -> None:
        """End the process that reads pictures. Idempotent."""
        self._text.close()

    def _read(self, query: Query, turn: float) -> ListResult:
        """Search the pages with the words on a picture and the words of the question given with it."""
        assert query.picture is not None
        text = self._text.read(query.picture, turn)
        words = f"{query.question} {telling(_whole_words(text))}".strip()
        if not words:
            return ListResult((), nothing=_("No words were read on the picture."), text=text)
        return replace(self._lists.words(replace(query, question=words[:LONGEST_QUESTION]), "text"), text=text)

    def _merged(self, lists: Lists, query: Query) -> Sequence[MultimodalHit]:
        assert query.merge is not None
        assert query.dedup_key is not None
        is_sure = any(hit.found or hit.score >= _LIKELY for hit in lists.get("lookalike", ()))
        weights, once = (WEIGHTS, WORDS) if is_sure else (UNSURE_WEIGHTS, UNSURE_ONCE)
        return merged(
            lists,
            query.merge,
            dedup_key=query.dedup_key,
            rrf_k=self._settings.retrieve.rrf_k,
            weights=weights,
            once=once,
        )

    def _telling(self, lists: Lists, filters: Filters) -> Lists:
        """Return the lists of a question; beside words, lists of page images only with pages that they tell apart.

        A model of page images ranks every page that it has seen for every question, so a place in its list says
        nothing: the first of four unrelated pages is first too. A page counts where it surely stands apart and has no
        words, or words found it as well and the list is long enough to tell.
        """
        worded = {hit.page_id for name in _BY_WORDS for hit in lists.get(name, ())}
        if not worded:
            return lists
        telling = dict(lists)
        for name in IMAGES:
            hits = lists.get(name, ())
            first = standing_apart(hits, MOST_APART, surely=True)
            is_long = len(hits) >= LONG
            telling[name] = [
                *(hit for hit in first if (is_long and hit.page_id in worded) or self._is_wordless(hit)),
                *self._bound(hits, filters),
            ]
        return telling

    def _bound(self, hits: Sequence[MultimodalHit], filters: Filters) -> list[MultimodalHit]:
        """Return pages without words where filters leave too few for any to stand apart: nothing else finds them."""
        is_narrowed = bool(filters.doc_ids or filters.is_of_documents or filters.wants_figures_alone)
        return [hit for hit in hits if self._is_wordless(hit)] if is_narrowed and len(hits) < FEW else []

    def _is_wordless(self, hit: MultimodalHit) -> bool:
        if hit.figure:
            return not hit.text
        try:
            return not self._nodes.of_page(hit.doc_id, hit.page_no)
        except DamagedError:
            self._catalog.note_damage(hit.doc_id, hit.page_no)
            return False

    def _looks(self, collected: CollectedLists, filters: Filters) -> tuple[MultimodalHit, ...]:
        """Return the pages that stand out by their look, or are few and without words, and are still there."""
        limit = self._settings.search.looks
        looks = {hit.page_id: hit for hit in looking_alike(collected.lists, limit)}
        for name in IMAGES:
            for hit in self._bound(collected.lists.get(name, ()), filters):
                looks.setdefault(hit.page_id, hit)
        return tuple(self._first(list(looks.values())[:limit], limit))

    def _first(self, ordered: Sequence[MultimodalHit], k: int) -> list[MultimodalHit]:
        """Return the first `k` hits; those found only by their images get the beginning of their text."""
        hits: list[MultimodalHit] = []
        for hit in ordered:
            if len(hits) >= k:
                break
            if told := self._told(hit):
                hits.append(replace(told, rank=len(hits) + 1))
        return hits

    def _as_figure(self, hit: MultimodalHit, filters: Filters) -> MultimodalHit | None:
        """Return a hit of a picture as the figure that it was found in, where its outline lies within one.

        Where the filters allow nothing but figures it is None for every other hit.
        """
        if hit.figure:
            return hit
        beside = None if filters.wants_figures_alone else hit
        if not hit.quad:
            return beside
        try:
            figures = self._catalog.figures.of_pages([(hit.doc_id, hit.page_no)])
        except DamagedError:
            self._catalog.note_damage(hit.doc_id, hit.page_no)
            return hit
        shown = figure_around(hit.quad, figures.get((hit.doc_id, hit.page_no), ()))
        if shown is None or not filters.allow_figure(shown):
            return beside
        told = shown.caption or shown.alt
        return replace(hit, modality=FIGURE, figure=shown.number, text=told or hit.text, boxes=(shown.box,))

    def _told(self, hit: MultimodalHit) -> MultimodalHit | None:
        """Add the beginning of its page's text to a hit not found by words; None where the page was deleted.

        A figure that has words of its own keeps those.
        """
        if hit.node_id or (hit.figure and hit.text):
            return hit
        page = self._catalog.pages([(hit.doc_id, hit.page_no)]).get((hit.doc_id, hit.page_no))
        if page is None:
            return None
        try:
            first = next(iter(self._nodes.of_page(hit.doc_id, hit.page_no)), None)
        except DamagedError:
            self._catalog.note_damage(hit.doc_id, hit.page_no)
            return None
        return replace(hit, text=page.text[first.start : first.end] if first else "", language=page.language)


def _by_picture(lists: Lists) -> Lists:
    """Return the lists of a picture that are merged: of many pages that are hardly like it, the best few."""
    lists = {name: hits for name, hits in lists.items() if hits}
    if len(lists) < 2:
        return lists
    alike = lists.get("lookalike", ())
    likely = [hit for hit in alike if hit.found or hit.score >= _LIKELY]
    return {
        **lists,
        "lookalike": likely or alike[:_NEAREST],
        "image": standing_out(lists.get("image", ())),
    }


def _event_of(found: MultimodalResult) -> Searched:
    lists = tuple(ListTimed(one.list, one.state, one.count, one.duration_ms) for one in found.lists)
    return Searched(lists, len(found.hits), dict(found.timings_ms)["total"])


def _newest_first(found: MultimodalResult) -> MultimodalResult:
    """Return the result with the newest first among hits that answer equally well; how sure an answer is stays."""
    worth = [next((one.score for one in hit.ranks if one.ranking == "rerank"), None) for hit in found.hits]
    order = newest_hits(worth, [hit.dated or day_in(hit.document) for hit in found.hits])
    hits = tuple(replace(found.hits[at], rank=rank) for rank, at in enumerate(order, 1))
    return replace(found, hits=hits, by_words=found.by_words or found.hits)


def _by_words(lists: Lists, k: int, hits: Sequence[MultimodalHit]) -> tuple[MultimodalHit, ...]:
    """Return the first hits of the list of words, or of code; empty where `hits` are these."""
    words = tuple(lists.get("text") or lists.get("code") or ())[:k]

    def essence(ranked: Sequence[MultimodalHit]) -> list[tuple[str, str, float]]:
        return [(hit.page_id, hit.node_id, hit.score) for hit in ranked]

    return () if essence(words) == essence(hits) else words


def _outlined(hit: MultimodalHit) -> MultimodalHit:
    """Return a hit of a picture with its outline where the picture was found there; a guess has none."""
    return replace(hit, found=bool(hit.found), quad=hit.quad if hit.found else ())


def _whole_words(text: str) -> str:
    """Return the words read on a picture without those that are mostly specks and rules: of one letter or two."""
    return " ".join(word for word in text.split() if sum(map(str.isalnum, word)) >= _SHORTEST)


def _timings(collected: CollectedLists, merging: float, started: float) -> tuple[tuple[str, float], ...]:
    lists = [(name, report.duration_ms) for name, report in collected.reports.items() if report.duration_ms]
    merge = max(0.0, ms_since(merging) - sum(collected.stages.values()))
    return (*lists, *collected.stages.items(), ("merge", merge), ("total", ms_since(started)))
