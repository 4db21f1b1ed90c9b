"""Fusion of ranked lists: of words and meaning, and of lists of several kinds.

Words and meaning are fused by a weighted sum of standardised scores, or by reciprocal ranks (RRF). The sum uses the
differences between the scores of a list, which ranks lose; results depend little on its two weights.

Lists of several kinds are fused by reciprocal ranks, normalised scores, interleaved, or by page. Scores of words and
pictures are not comparable, so by default only ranks count. A single list keeps its order and its scores: without
visual models, a search of everything is the text search.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal

from docmind.records.search import DedupKey, ListName, MergeStrategy, MultimodalHit, Origin

Knows = Literal["many languages", "the language", "other languages"]
"""What a text model knows: many languages, as E5 does; of those it was trained on, that of the question, or not."""

SPARSE_WEIGHTS: Mapping[Knows, float] = {"many languages": 0.4, "the language": 0.8, "other languages": 1.6}
"""Weight of the page's BM25, against 1.0 of the text model. The last two are those of MiniLM, which knows English."""

LATE_WEIGHTS: Mapping[Knows, float] = {"many languages": 0.75, "the language": 0.5, "other languages": 0.125}
"""Weight of late interaction, against 1.0 of the whole ranking. MiniLM's tokens do harm in other languages."""

PASSAGE_WEIGHTS: Mapping[Knows, float] = {"many languages": 0.75, "the language": 0.75, "other languages": 0.0}
"""Weight of how near a page's best passage is, against 1.0 of the whole ranking; see ADR 0142.

From 0.5 to 1.5 the pages that are found differ little. What MiniLM makes of other languages does harm.
"""


def best_per_page(scored: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the score of the best window of each page, by page id."""
    best: dict[str, float] = {}
    for page_id, score in scored:
        if score > best.get(page_id, float("-inf")):
            best[page_id] = score
    return best


def mean_and_spread(scores: Collection[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation; both 0 without scores."""
    if not scores:
        return 0.0, 0.0
    mean = sum(scores) / len(scores)
    return mean, sqrt(sum((score - mean) ** 2 for score in scores) / len(scores))


def standardise(scores: Mapping[str, float]) -> dict[str, float]:
    """Return scores as distances from their mean in standard deviations; all zero where they do not differ."""
    mean, spread = mean_and_spread(scores.values())
    return {page: (s - mean) / spread if spread > 1e-9 else 0.0 for page, s in scores.items()}


def weighted_sum(lists: Sequence[tuple[Mapping[str, float], float]]) -> list[tuple[str, float]]:
    """Return the pages of all lists, best first: the sum of weight x standardised score.

    A page that is not in a list gets the lowest score of that list. Ties are ordered by page id.
    """
    total: dict[str, float] = dict.fromkeys((page for scores, _unused in lists for page in scores), 0.0)
    for scores, weight in lists:
        standard = standardise(scores)
        floor = min(standard.values(), default=0.0)
        for page in total:
            total[page] += weight * standard.get(page, floor)
    return sorted(total.items(), key=lambda item: (-item[1], item[0]))


def rank_pages(
    dense: Iterable[tuple[str, float]], sparse: Mapping[str, float], *, weight: float, awaiting: Collection[str] = ()
) -> list[tuple[str, float]]:
    """Rank pages, best first, from (page id, cosine) of the nearest windows and BM25 scores of pages.

    `weight` is that of BM25, against 1.0 of the cosines. They are standardised, so their scale, which differs between
    text models, does not matter. A page that is `awaiting` its vectors counts as near as its words say, the first by
    its words as the nearest: with the lowest score it would stand behind every page that has vectors.
    """
    near, best = best_per_page(dense), max(sparse.values(), default=0.0)
    if awaiting and near and best > 0:
        low, high = min(near.values()), max(near.values())
        said = {page: low + (high - low) * sparse[page] / best for page in awaiting if page in sparse}
        near = {**said, **near}
    return weighted_sum([(near, 1.0), (sparse, weight)])


def rrf(lists: Sequence[Sequence[str]], k: int = 60) -> list[tuple[str, float]]:
    """Fuse by reciprocal ranks: the sum of 1 / (k + rank), rank from 1 (Cormack et al. 2009)."""
    total: dict[str, float] = {}
    for ranked in lists:
        for rank, page in enumerate(ranked, start=1):
            total[page] = total.get(page, 0.0) + 1 / (k + rank)
    return sorted(total.items(), key=lambda item: (-item[1], item[0]))


def lift(
    ranked: Sequence[tuple[str, float]], lists: Iterable[tuple[Mapping[str, float], float]]
) -> list[tuple[str, float]]:
    """Add scores of some pages to a ranking, on the ranking's scale: those of late interaction and of passages.

    `lists` are scores by page, each with its weight. Each adds weight x standardised score x the spread of the
    ranking's scores over its pages, before anything is added. A page that is not in a list gets nothing of it.
    """
    total = dict(ranked)
    for scores, weight in lists:
        _unused, spread = mean_and_spread([score for page, score in ranked if page in scores])
        for page, score in standardise(scores).items():
            if page in total:
                total[page] += weight * spread * score
    return sorted(total.items(), key=lambda item: (-item[1], item[0]))


def lift_first(
    ranked: Sequence[tuple[str, float]],
    late: Mapping[str, float],
    passages: Mapping[str, float],
    *,
    knows: Knows,
    first: int,
) -> list[tuple[str, float]]:
    """Add late interaction and how near the best passages are to the `first` pages of a ranking, as `lift` does.

    Passages count less the fewer of these pages have vectors of theirs: a few of them say little beside the others.
    """
    of_passages = PASSAGE_WEIGHTS[knows] * len(passages) / max(first, 1)
    return lift(ranked, [(late, LATE_WEIGHTS[knows]), (passages, of_passages)])


_FIGURE_WEIGHT = 1.0  # of the cosine of a figure's words, against 1.0 of the whole ranking


def lift_figures(ranked: Sequence[tuple[str, float]], figures: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Add to a ranking, on its scale, how near the figures of its pages are to a question that asks for a figure.

    `figures` are page ids with cosines. A page whose figures are not nearer than the usual one keeps its score.
    """
    near = {page: max(0.0, score) for page, score in standardise(best_per_page(figures)).items()}
    _unused, spread = mean_and_spread([score for _page, score in ranked])
    total = [(page, score + _FIGURE_WEIGHT * spread * near.get(page, 0.0)) for page, score in ranked]
    return sorted(total, key=lambda item: (-item[1], item[0]))


Lists = Mapping[ListName, Sequence[MultimodalHit]]
"""The result of each list, best first, with its own `score`; `rank`, `source` and `origins` are set here."""

RRF_K = 60
WEIGHTS: Mapping[ListName, float] = {"lookalike": 1.0, "text": 1.0, "code": 0.9, "visual": 1.0, "image": 0.95}
"""The weight of a rank. A page that only one list has, in first place, gets with k = 60 the place of rank
61 / weight - 60 in the text list: a page of an image model of one vector, which reads no small print, follows four
pages that words found, and code, which the text list has ranked already, seven."""

NEUTRAL = "What is on this page?"
"""A question that every page answers: how a model ranks pages for it says how it ranks them for any."""

DEPTH = 20
"""The depth of each list where several are merged: agreement further down has little weight."""

UNSURE_WEIGHTS: Mapping[ListName, float] = {**WEIGHTS, "lookalike": 0.99}
"""The weights where no page is likely to show a picture: the nearest one follows the first that words found."""

_ORDER: tuple[ListName, ...] = ("lookalike", "text", "code", "visual", "image")  # precedence among equal ranks
LONG = 12
"""Pages from which on the gaps of a list of page images say something."""
_SPREADS, _CHANCE = 4.0, 0.05
_SURE_SPREADS, _SURE_CHANCE = 8.0, 0.01
MOST_APART = 3
"""Pages of one list of page images that may change a ranking by words."""
FEW = 4
"""Pages below which nothing stands apart."""
IMAGES: tuple[ListName, ...] = ("visual", "image")
"""The lists of a question that models of page images make."""
WORDS: frozenset[ListName] = frozenset({"text", "code"})
"""One search, asked twice: their agreement counts once."""

UNSURE_ONCE: frozenset[ListName] = WORDS | frozenset[ListName]({"lookalike"})
"""The same where no page is likely to show a picture: that a page is hardly like it confirms no word."""


@dataclass(slots=True)
class _Unit:
    """A page, or a document where there is one hit per document, with the results of each list."""

    key: str
    hits: dict[ListName, list[MultimodalHit]]
    origins: dict[ListName, Origin]
    score: float = 0.0

    @property
    def best(self) -> ListName:
        return min(self.origins, key=lambda name: (self.origins[name].rank, _ORDER.index(name)))

    @property
    def page_id(self) -> str:
        return self.hits[self.best][0].page_id

    def image(self) -> MultimodalHit | None:
        """Return the hit of its page from a list of images, preferably one with a place on the page."""
        looks = (hit for name in _ORDER if name not in WORDS for hit in self.hits.get(name, ()))
        return next((hit for hit in looks if hit.page_id == self.page_id), None)

    @property
    def found_at(self) -> int:
        """The rank of a page that the picture was found to show; 0 for others."""
        return self.origins["lookalike"].rank if any(hit.found for hit in self.hits.get("lookalike", ())) else 0


def merged(
    lists: Lists,
    strategy: MergeStrategy = "rrf",
    *,
    dedup_key: DedupKey = "page_id",
    rrf_k: int = RRF_K,
    weights: Mapping[ListName, float] = WEIGHTS,
    once: frozenset[ListName] = WORDS,
) -> tuple[MultimodalHit, ...]:
    """Merge all lists, best first, with one hit for each value of `dedup_key`; nothing is cut off.

    `rrf`: the sum of weight / (k + rank) (Cormack et al. 2009). `score`: the sum of weight x score, each list scaled
    to 0..1 (CombSUM, Fox & Shaw 1994). `interleaved`: one of each list in turn, 1 / place. `grouped`: pages by `rrf`,
    each with the passages found on it and then its image. Equal scores are ordered by id. A page that the picture was
    found to show is first, whatever the scores are. Of the lists in `once` a page's best place counts, not their sum.
    """
    given: Lists = {name: lists[name] for name in _ORDER if lists.get(name)}
    units = _units(given, dedup_key)
    if len(given) == 1:
        ((name, hits),) = given.items()
        kept = hits if dedup_key == "node_id" else [unit.hits[name][0] for unit in units.values()]
        return _ranked(replace(hit, origins=(units[_key(hit, dedup_key)].origins[name],)) for hit in kept)
    if strategy == "interleaved":
        for place, unit in enumerate(_in_turn(given, units, dedup_key), 1):
            unit.score = 1 / place
    else:
        for unit in units.values():
            unit.score = _sum(unit, strategy, rrf_k, weights, once)
    ordered = sorted(units.values(), key=lambda unit: (unit.found_at or len(units) + 1, -unit.score, unit.key))
    entries = _by_page if strategy == "grouped" else _as_one
    return _ranked(hit for unit in ordered for hit in entries(unit, dedup_key))


def looking_alike(lists: Lists, limit: int) -> tuple[MultimodalHit, ...]:
    """Return at most `limit` pages that stand apart in a list of page images, the lists in turn, each page once."""
    looks: dict[ListName, Sequence[MultimodalHit]] = {}
    for name in IMAGES:
        hits = lists.get(name, ())
        if first := standing_apart(hits, limit):
            looks[name] = first
    units = _units(looks, "page_id")
    chosen = _in_turn(looks, units, "page_id")[:limit]
    return _ranked(replace(unit.hits[unit.best][0], origins=_sorted(unit.origins)) for unit in chosen)


def apart(scores: Sequence[float], limit: int, *, surely: bool = False) -> int:
    """Return how many of the first `limit` scores, best first, stand apart from all below them; 0 for most lists.

    A model of page images ranks pages for every question, so a rank says nothing by itself. In a long list, the gap
    below the last of them is compared with the gaps further down: the k-th gap of the best of many values, times k, is
    exponentially distributed (Renyi 1953), and a ratio of two has an F distribution. In a short list it is the distance
    from the mean of the others, in standard deviations; the fewer there are, the more it takes. In simulated lists of
    noise, 4 to 20,000 pages, 4 to 14% have such a page; one that lies 4 standard deviations above all others is found
    in 33 to 90%. With `surely` both limits are stricter, and at most 2% of such lists have one.
    """
    spreads, chance = (_SURE_SPREADS, _SURE_CHANCE) if surely else (_SPREADS, _CHANCE)
    kept = 0
    for first in range(1, min(limit, len(scores) - FEW + 1) + 1):
        rest = scores[first:]
        if len(scores) < LONG:
            mean, spread = mean_and_spread(rest)
            is_apart = scores[first - 1] - mean > max(spreads * (1 + 2 / len(rest)) * spread, 1e-9)
        else:
            gaps = [k * (scores[k - 1] - scores[k]) for k in range(first, max(first + 4, len(scores) // 2 + 1))]
            below = sum(gaps[1:])
            degrees = len(gaps) - 1
            is_apart = below < 1e-9 < gaps[0] or (below > 0 and (1 + gaps[0] / below) ** -degrees < chance)
        if is_apart:
            kept = first
    return kept


def standing_apart(hits: Sequence[MultimodalHit], limit: int, *, surely: bool = False) -> list[MultimodalHit]:
    """Return at most `limit` hits that stand apart in a list of page images, for this question and not for any.

    Some pages are near every question (hubs: Radovanovic et al. 2010), as those with many patches are in late
    interaction. So a page has to stand apart by its score, and by what is left of the score once that of the question
    `NEUTRAL` is taken out by a regression over the list; where a list has no such scores, by its score alone.
    """
    first = list(hits[:DEPTH])
    kept = first[: apart([hit.score for hit in first], limit, surely=surely)]
    usual = {hit.page_id: hit.usual for hit in first if hit.usual is not None}
    if not kept or len(usual) < len(first):
        return kept
    asked, anyway = standardise({hit.page_id: hit.score for hit in first}), standardise(usual)
    shared = sum(asked[page] * anyway[page] for page in asked) / len(asked)
    left = {page: asked[page] - shared * anyway[page] for page in asked}
    ordered = sorted(left, key=lambda page: -left[page])
    own = ordered[: apart([left[page] for page in ordered], limit, surely=surely)]
    return [hit for hit in kept if hit.page_id in own]


def standing_out(hits: Sequence[MultimodalHit]) -> list[MultimodalHit]:
    """Return the hits at least one standard deviation above the mean of their list; all of fewer than three.

    For pages like a picture: a model of one vector per page ranks every page, and those that do not stand out carry no
    information.
    """
    if len(hits) < 3:
        return list(hits)
    mean, spread = mean_and_spread([hit.score for hit in hits])
    return [hit for hit in hits if spread > 1e-9 and hit.score >= mean + spread]


def _units(lists: Lists, dedup_key: DedupKey) -> dict[str, _Unit]:
    units: dict[str, _Unit] = {}
    for name, hits in lists.items():
        inside: dict[str, list[MultimodalHit]] = {}
        for hit in hits:
            inside.setdefault(_key(hit, dedup_key), []).append(hit)
        scores = [of_unit[0].score for of_unit in inside.values()]
        low, spread = min(scores), max(scores) - min(scores)
        for rank, (key, of_unit) in enumerate(inside.items(), 1):
            score = of_unit[0].score
            unit = units.setdefault(key, _Unit(key, {}, {}))
            unit.hits[name] = of_unit
            unit.origins[name] = Origin(name, rank, score, (score - low) / spread if spread > 0 else 1.0)
    return units


def _sum(
    unit: _Unit,
    strategy: MergeStrategy,
    rrf_k: int,
    weights: Mapping[ListName, float],
    once: frozenset[ListName],
) -> float:
    def part(name: ListName) -> float:
        origin, weight = unit.origins[name], weights.get(name, 1.0)
        return weight * origin.normalised if strategy == "score" else weight / (rrf_k + origin.rank)

    best = max((part(name) for name in unit.origins if name in once), default=0.0)
    return best + sum(part(name) for name in unit.origins if name not in once)


def _in_turn(lists: Lists, units: Mapping[str, _Unit], dedup_key: DedupKey) -> list[_Unit]:
    """Take one of each list in turn; an entry that was taken already is skipped."""
    waiting = [iter(dict.fromkeys(_key(hit, dedup_key) for hit in hits)) for hits in lists.values()]
    taken: dict[str, None] = {}
    while waiting:
        left = []
        for keys in waiting:
            key = next((key for key in keys if key not in taken), None)
            if key is not None:
                taken[key] = None
                left.append(keys)
        waiting = left
    return [units[key] for key in taken]


def _as_one(unit: _Unit, dedup_key: DedupKey) -> Iterator[MultimodalHit]:
    """Yield the passages found on the page, else the page as an image; several where each passage is a hit."""
    seen, origins = unit.image(), _sorted(unit.origins)
    for hit in _passages(unit, dedup_key) or [seen]:
        assert hit is not None
        quad, found = (seen.quad, seen.found) if seen else (hit.quad, hit.found)
        yield replace(hit, score=unit.score, origins=origins, quad=quad, found=found)


def _by_page(unit: _Unit, dedup_key: DedupKey) -> Iterator[MultimodalHit]:
    """Yield the passages found on the page, then the page as an image, each with the lists that found it."""
    words = _sorted({name: origin for name, origin in unit.origins.items() if name in WORDS})
    for hit in _passages(unit, dedup_key):
        yield replace(hit, score=unit.score, origins=words)
    if seen := unit.image():
        looks = _sorted({name: origin for name, origin in unit.origins.items() if name not in WORDS})
        yield replace(seen, score=unit.score, origins=looks)


def _passages(unit: _Unit, dedup_key: DedupKey) -> list[MultimodalHit]:
    """Return the hits of the text list on the unit's page, then those that the code list adds."""
    found: dict[str, MultimodalHit] = {}
    for name in ("text", "code"):
        for hit in unit.hits.get(name, ()):
            if hit.page_id == unit.page_id:
                found.setdefault(hit.node_id, hit)
    return list(found.values())[: None if dedup_key == "node_id" else 1]


def _sorted(origins: Mapping[ListName, Origin]) -> tuple[Origin, ...]:
    return tuple(sorted(origins.values(), key=lambda origin: (origin.rank, _ORDER.index(origin.list))))


def _ranked(hits: Iterable[MultimodalHit]) -> tuple[MultimodalHit, ...]:
    return tuple(replace(hit, rank=rank, source=hit.origins[0].list) for rank, hit in enumerate(hits, 1))


def _key(hit: MultimodalHit, dedup_key: DedupKey) -> str:
    return hit.doc_id if dedup_key == "doc_id" else hit.page_id
