"""One question, or one picture, asked of everything: words, code and page images in one ranked list.

The list of words is the whole search for words. Where nothing else has anything to say, its hits are the hits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from docmind.catalog import Catalog
from docmind.config import Settings
from docmind.errands import Errand, Errands
from docmind.errors import ConfigError
from docmind.lists import Eyes, Gathered, Listed, Lists, Words, seen
from docmind.lookalike.search import Lookalike
from docmind.merge import DedupKey, merged, standing_out, strategy_of
from docmind.nodestore import NodeStore
from docmind.picturetext import PictureText, telling, turn_of
from docmind.querycache import QueryCache
from docmind.schema import Degraded, Filters
from docmind.secondlook import SecondLook
from docmind.seeing import ListName, MergeStrategy, MultimodalHit, MultimodalResult, Rerank

DEPTH = 20
"""How far down each list is looked at where several are merged: two that agree deep down say little."""

_BY_QUESTION: tuple[ListName, ...] = ("text", "code", "image", "visual")
_BY_PICTURE: tuple[ListName, ...] = ("lookalike", "text", "image")
_LIKELY = 0.1  # what is less likely to be the page of a picture says nothing beside lists that say something


class Modalities:
    """Searches over every kind of list. Safe from any thread."""

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        nodes: NodeStore,
        words: Words,
        lookalike: Lookalike,
        eyes: Eyes | None,
        queries: QueryCache,
    ) -> None:
        """`words` finds by words, `eyes` by page images; `queries` keeps what models made of questions."""
        self._settings, self._catalog, self._nodes = settings, catalog, nodes
        self._lookalike, self._queries = lookalike, queries
        self._lists = Lists(settings, catalog, words, eyes)
        self._text = PictureText(settings.reading)
        self._second = SecondLook(settings.visual, eyes)
        self._looking = Errands()  # apart from those of questions: a picture that hangs holds up no question

    def search(
        self,
        question: str,
        *,
        k: int | None = None,
        filters: Filters = Filters(),
        merge: MergeStrategy = "rrf",
        lists: Sequence[ListName] | None = None,
        limits: Mapping[ListName, int] | None = None,
        dedup_key: DedupKey = "page_id",
        rerank: Rerank | None = None,
    ) -> MultimodalResult:
        """The best `k` hits of all lists, or of `lists` where any are named; `limits` says how deep to look.

        `rerank` says which kind of model looks at the first pages again; None: as it is set. Raises `ConfigError` for a
        list or a way of merging that does not exist, and what the search for words raises where no list gave an answer.
        """
        started = time.perf_counter()
        strategy_of(merge)
        limits = limits or {}
        wanted = _checked(lists, limits)
        k = k or self._settings.retrieve.k
        gathered = Gathered()
        kind = self._second.kind(rerank, gathered)
        for name in wanted:
            if why := self._lists.why_not(name, filters):
                gathered.report(name, why[0], reason=why[1])
        asked: list[ListName] = [name for name in wanted if name not in gathered.reports]
        if not lists and asked == ["text", "code"]:
            asked.remove("code")
            gathered.report("code", "off", reason="Alone beside the list of words it would say the same twice.")
        deep = k if len(asked) == 1 and kind is None else max(k, DEPTH)
        depth: dict[ListName, int] = {name: limits.get(name, deep) for name in asked}
        self._lists.ask(question, depth, filters, dedup_key, gathered)
        if "text" in gathered.errors and not gathered.lists:
            raise gathered.errors["text"]
        at = time.perf_counter()
        ordered = self._merged(gathered, merge, dedup_key)
        if kind is not None:
            ordered = self._second.over(ordered, kind, gathered, question=question)
        hits = self._first(ordered, k)
        return MultimodalResult(
            query=question,
            hits=tuple(hits),
            lists=tuple(gathered.reports[name] for name in wanted),
            merge=merge,
            degraded=tuple(gathered.degraded),
            timings_ms=_timings(gathered, at, started),
            cache_hit_rate=self._queries.hit_rate(),
        )

    def see(
        self,
        picture: bytes,
        *,
        question: str = "",
        k: int = 8,
        filters: Filters = Filters(),
        merge: MergeStrategy = "rrf",
        name: str = "The picture",
        read: bool = True,
        on_first: Callable[[MultimodalResult], None] | None = None,
        rerank: Rerank | None = None,
    ) -> MultimodalResult:
        """The pages that `picture` may be of, or be about, the likeliest first; `question` is searched for with it.

        `on_first` gets what the picture's look alone found, in this thread; what it raises ends the search. Then the
        words on the picture are read, which takes seconds, unless `read` is False, and searched for; and pages like it
        are found by an image model, where one is in use. A page that the picture was found to be of keeps its place.
        At last the kind of model that `rerank` names, or that is set, looks at the first pages again.
        Raises what `lookalike.search` raises, where `picture` is no picture that can be opened, and `ConfigError`.
        """
        started = time.perf_counter()
        strategy_of(merge)
        depth = max(k, DEPTH)
        looked = self._lookalike.search(picture, k=depth, filters=filters, name=name)
        gathered = Gathered()
        kind = self._second.kind(rerank, gathered)
        gathered.take("lookalike", Listed(seen(looked.hits), looked.degraded), _ms(started))
        gathered.report("text", "off", reason="There are no words to look for.")
        if why := self._lists.why_not("image", filters):
            gathered.report("image", why[0], reason=why[1])
        limit_s = self._settings.visual.list_timeout_s
        if question:
            words = Errand(lambda: self._lists.words(question, "text", depth, filters), limit_s)
            gathered.settle("text", self._looking.run({"question": words})["question"])

        def result(text: str = "", *, is_final: bool = True) -> MultimodalResult:
            at = time.perf_counter()
            ordered = self._merged(gathered, merge)
            if is_final and kind is not None:
                ordered = self._second.over(
                    ordered, kind, gathered, question=question or telling(text), picture=picture
                )
            hits = [replace(hit, found=bool(hit.found)) for hit in self._first(ordered, k)]
            return MultimodalResult(
                query=question,
                hits=tuple(hits),
                lists=tuple(gathered.reports[each] for each in _BY_PICTURE if each in gathered.reports),
                merge=merge,
                found=looked.found,
                is_final=is_final,
                picture_text=text,
                degraded=tuple(gathered.degraded),
                timings_ms=_timings(gathered, at, started),
                cache_hit_rate=self._queries.hit_rate(),
            )

        if on_first is not None:
            on_first(result(is_final=False))
        errands: dict[str, Errand[Listed]] = {}
        if read and self._text.missing:
            gathered.degraded.append(Degraded("ocr", self._text.missing))
        elif read:
            best = next((hit for hit in looked.hits if hit.quad and hit.score >= _LIKELY), None)
            turn = turn_of(best.quad) if best else 0.0
            reading = Errand(
                lambda: self._read(picture, turn, question, depth, filters), self._settings.reading.timeout_s + limit_s
            )
            errands["text"] = reading
        if not why:
            errands["image"] = Errand(lambda: self._lists.images("image", None, picture, depth, filters), limit_s)
        outcomes = self._looking.run(errands)
        if "image" in outcomes:
            gathered.settle("image", outcomes["image"])
        if "text" not in outcomes:
            return result()
        before = gathered.reports["text"]
        listed = gathered.settle("text", outcomes["text"], stage="ocr")
        if listed is None and gathered.lists.get("text"):  # what the question found stays
            gathered.reports["text"] = before
        return result(listed.text if listed else "")

    def close(self) -> None:
        """End the process that reads pictures. Harmless twice."""
        self._text.close()

    def _read(self, picture: bytes, turn: float, question: str, k: int, filters: Filters) -> Listed:
        """The pages that hold the words on a picture, and those of the question that came with it."""
        text = self._text.read(picture, turn)
        words = f"{question} {telling(text)}".strip()
        if not words:
            return Listed((), nothing="No words were read on the picture.")
        return replace(self._lists.words(words, "text", k, filters), text=text)

    def _merged(
        self, gathered: Gathered, strategy: MergeStrategy, dedup_key: DedupKey = "page_id"
    ) -> Sequence[MultimodalHit]:
        """All lists as one."""
        lists: dict[ListName, Sequence[MultimodalHit]] = {n: hits for n, hits in gathered.lists.items() if hits}
        if len(lists) > 1 and "image" in lists:
            lists["image"] = standing_out(lists["image"])
        if len(lists) > 1 and "lookalike" in lists:
            lists["lookalike"] = [hit for hit in lists["lookalike"] if hit.found or hit.score >= _LIKELY]
        return merged(lists, strategy, dedup_key=dedup_key, rrf_k=self._settings.retrieve.rrf_k)

    def _first(self, ordered: Sequence[MultimodalHit], k: int) -> list[MultimodalHit]:
        """The first `k` hits, those that only their images named with the beginning of their text."""
        hits: list[MultimodalHit] = []
        for hit in ordered:
            if len(hits) >= k:
                break
            if told := self._told(hit):
                hits.append(replace(told, rank=len(hits) + 1))
        return hits

    def _told(self, hit: MultimodalHit) -> MultimodalHit | None:
        """A hit with the beginning of its page's text where words did not find it; None where it was deleted."""
        if hit.node_id:
            return hit
        page = self._catalog.pages([(hit.doc_id, hit.page_no)]).get((hit.doc_id, hit.page_no))
        if page is None:
            return None
        first = next(iter(self._nodes.of_page(hit.doc_id, hit.page_no)), None)
        return replace(hit, text=page.text[first.start : first.end] if first else "", language=page.language)


def _checked(lists: Sequence[ListName] | None, limits: Mapping[ListName, int]) -> tuple[ListName, ...]:
    """The lists to ask, each once, in the order in which they are told of."""
    for name in (*(lists or ()), *limits):
        if name not in _BY_QUESTION:
            there = f"There are {', '.join(_BY_QUESTION)}."
            hint = "It is one of pictures, not of questions. " if name in get_args(ListName) else ""
            raise ConfigError(f"A question cannot be asked of a list called {name!r}.", hint=hint + there)
    if any(limit < 1 for limit in limits.values()):
        raise ConfigError("The limit of a list is at least 1.", hint="Leave a list out by naming the others.")
    return tuple(name for name in _BY_QUESTION if not lists or name in lists)


def _timings(gathered: Gathered, merging: float, started: float) -> tuple[tuple[str, float], ...]:
    lists = [(name, report.duration_ms) for name, report in gathered.reports.items() if report.duration_ms]
    merge = max(0.0, _ms(merging) - sum(gathered.stages.values()))
    return (*lists, *gathered.stages.items(), ("merge", merge), ("total", _ms(started)))


def _ms(since: float) -> float:
    return (time.perf_counter() - since) * 1000
