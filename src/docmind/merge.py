"""Ranked lists of several kinds to one: reciprocal ranks, normalised scores, in turn, or by page.

Words and pictures are judged on scales that have nothing in common, so by default only ranks count. A list that stands
alone keeps its order and its scores: where nothing looks at pages, a search over everything is the search for words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Literal, get_args

from docmind.errors import ConfigError
from docmind.seeing import ListName, MergeStrategy, MultimodalHit, Origin

DedupKey = Literal["node_id", "page_id", "doc_id"]
Lists = Mapping[ListName, Sequence[MultimodalHit]]
"""What each list gave, best first, `score` its own; `rank`, `source` and `origins` are set here."""

RRF_K = 60
WEIGHTS: Mapping[ListName, float] = {"lookalike": 1.0, "text": 1.0, "code": 0.9, "visual": 1.0, "image": 0.95}
"""How much a rank counts. A page that one list alone puts first stands, with k = 60, where the text list's rank
61 / weight - 60 would: an image model of one vector, which reads no small print, enters behind four pages that words
found, and code, which the text list has ranked already, behind seven."""

_ORDER: tuple[ListName, ...] = ("lookalike", "text", "code", "visual", "image")  # which of two equal ranks is named
_WORDS: frozenset[ListName] = frozenset({"text", "code"})  # one search, asked twice: what both say counts once


@dataclass(slots=True)
class _Unit:
    """A page, or a document where there is one hit a document: what each list says of it."""

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
        """Its page as a list that looks at images has it: with its place first."""
        looks = (hit for name in _ORDER if name not in _WORDS for hit in self.hits.get(name, ()))
        return next((hit for hit in looks if hit.page_id == self.page_id), None)

    @property
    def found_at(self) -> int:
        """The rank of a page that a picture was found to be of; 0 for others."""
        return self.origins["lookalike"].rank if any(hit.found for hit in self.hits.get("lookalike", ())) else 0


def strategy_of(name: str) -> MergeStrategy:
    """The strategy of this name. Raises `ConfigError`, which lists those there are."""
    for strategy in get_args(MergeStrategy):
        if strategy == name:
            return strategy
    raise ConfigError(
        f"There is no way of merging called {name!r}.", hint=f"There are {', '.join(get_args(MergeStrategy))}."
    )


def merged(
    lists: Lists,
    strategy: MergeStrategy = "rrf",
    *,
    dedup_key: DedupKey = "page_id",
    rrf_k: int = RRF_K,
    weights: Mapping[ListName, float] = WEIGHTS,
) -> tuple[MultimodalHit, ...]:
    """All lists as one, best first, with one hit of each of what `dedup_key` names; nothing is cut off.

    `rrf`: the sum of weight / (k + rank) (Cormack et al. 2009). `score`: the sum of weight x score, each list brought
    to 0..1 (CombSUM, Fox & Shaw 1994). `interleaved`: one of each list in turn, 1 / place. `grouped`: pages by `rrf`,
    each with what words found on it and then its image. Equal scores go by id. A page that a picture was found to be
    of stands before all others, whatever the scores are.
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
            unit.score = _sum(unit, strategy, rrf_k, weights)
    ordered = sorted(units.values(), key=lambda unit: (unit.found_at or len(units) + 1, -unit.score, unit.key))
    entries = _by_page if strategy == "grouped" else _as_one
    return _ranked(hit for unit in ordered for hit in entries(unit, dedup_key))


def standing_out(hits: Sequence[MultimodalHit]) -> list[MultimodalHit]:
    """The hits at least one standard deviation above the mean of their list; all of fewer than three.

    A model of one vector a page orders every page for every question: what does not stand out says nothing, and in a
    small vault, where its list names all pages, would turn round what words found.
    """
    if len(hits) < 3:
        return list(hits)
    scores = [hit.score for hit in hits]
    mean = sum(scores) / len(scores)
    spread = sqrt(sum((score - mean) ** 2 for score in scores) / len(scores))
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


def _sum(unit: _Unit, strategy: MergeStrategy, rrf_k: int, weights: Mapping[ListName, float]) -> float:
    def part(name: ListName) -> float:
        origin, weight = unit.origins[name], weights.get(name, 1.0)
        return weight * origin.normalised if strategy == "score" else weight / (rrf_k + origin.rank)

    words = max((part(name) for name in unit.origins if name in _WORDS), default=0.0)
    return words + sum(part(name) for name in unit.origins if name not in _WORDS)


def _in_turn(lists: Lists, units: Mapping[str, _Unit], dedup_key: DedupKey) -> list[_Unit]:
    """One of each list after another; a list whose next one has been taken gives the one after it."""
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
    """What words found on the page, else the page as an image; several passages where each of them is a hit."""
    seen, origins = unit.image(), _sorted(unit.origins)
    for hit in _passages(unit, dedup_key) or [seen]:
        assert hit is not None
        quad, found = (seen.quad, seen.found) if seen else (hit.quad, hit.found)
        yield replace(hit, score=unit.score, origins=origins, quad=quad, found=found)


def _by_page(unit: _Unit, dedup_key: DedupKey) -> Iterator[MultimodalHit]:
    """What words found on the page, then the page as an image, each with the lists that say so."""
    words = _sorted({name: origin for name, origin in unit.origins.items() if name in _WORDS})
    for hit in _passages(unit, dedup_key):
        yield replace(hit, score=unit.score, origins=words)
    if seen := unit.image():
        looks = _sorted({name: origin for name, origin in unit.origins.items() if name not in _WORDS})
        yield replace(seen, score=unit.score, origins=looks)


def _passages(unit: _Unit, dedup_key: DedupKey) -> list[MultimodalHit]:
    """The hits of the text list on the unit's page, then those that the code list adds."""
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
