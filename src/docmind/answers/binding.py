"""Who, what, when and how much of a claim, bound within one statement of a page.

Each number, date and name of a claim is looked for in the statement that the rest of the claim is about. Where another
statement, with another value of the same kind, is nearer to the rest of the claim, the page says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from math import log
from typing import Literal

import numpy as np

from docmind.answers.align import Leaf
from docmind.answers.numbers import agree
from docmind.answers.statements import Point, Statement, clauses_of, keys_of, points_of, without
from docmind.embedding import prefix

Bond = Literal["stands", "differs", "lacks", "open"]
"""All points stand together; another statement has another value; a point is missing; there is no point."""

FORM, CONTAINED, UNDER, PASSED = 0.9, 0.7, 0.7, 0.5
_LONG = 4  # letters of a word that may be a part of another
_FURTHER = 2  # words of a clause that may be an addition
_TELLING = 3  # digits
_ENDING = 2  # letters by which a form of a short word may be longer
CLEARLY = 0.05  # by which another statement must be nearer
ABOUT = 0.5  # nearness to the rest of a claim from which a statement with another value is about the same
COSINE, FOR_UNMET = 0.2, 0.25  # weight of the cosine in a nearness, and what words add that no statement has
TOLD = 0.35  # nearness from which a statement tells of a further clause
OWN = 0.2  # of it, that such a statement has itself
COMPARED = 8  # statements that have a point, and that have another in its place, which the text model compares

Vectors = Callable[[Sequence[str]], Sequence[np.ndarray | None]]
"""Embeds texts; None for each that it may not embed any more."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A statement of a page."""

    leaf: Leaf
    statement: Statement


@dataclass(frozen=True, slots=True)
class Bound:
    """How the points of a claim are bound, and where: by what supports it, or by what says otherwise.

    `nearness` is that of the place to the claim, 0..1.
    """

    bond: Bond
    places: tuple[Place, ...] = ()
    nearness: float = 0.0
    lead: float = 0.0

    @property
    def is_field(self) -> bool:
        """Whether a label with its value, or a row of a table, supports the claim."""
        return any(place.statement.is_field for place in self.places)


@dataclass(frozen=True, slots=True)
class Part:
    """One statement of a claim: its text, its words with their weights, and its points.

    `asked` are points of the question, which only tell what the statement is about. `further` are its clauses without
    points of their own.
    """

    text: str
    words: dict[str, float]
    points: tuple[Point, ...]
    asked: tuple[Point, ...] = ()
    further: tuple[str, ...] = ()


class Bindings:
    """The statements of the retrieved pages. Used by one thread."""

    def __init__(self, leaves: Sequence[Leaf], vectors: Vectors) -> None:
        self._places = [Place(leaf, one) for leaf in leaves for one in leaf.statements if not one.is_whole]
        self._vectors = vectors
        self._known = frozenset[str]().union(*(leaf.only_names for leaf in leaves if leaf.record.language != "de"))
        self._count: dict[str, int] = {}
        for place in self._places:
            for word in place.statement.own:
                self._count[word] = self._count.get(word, 0) + 1

    def bind(self, claim: str, language: str, question: str = "") -> Bound:
        """Return how each part of a claim is bound; the weakest decides."""
        parts = parts_of(claim, language, question, self._known)
        bonds = [self._bind(part) for part in parts]
        told = [one for one in bonds if one.bond != "open"]
        if not told:
            return Bound("open")
        if all(one.bond == "stands" for one in told):
            page = told[0].places[0].leaf
            if any(self._is_added(clause, page) for part in parts for clause in part.further):
                return Bound("lacks")
        for bond in ("differs", "lacks"):
            if (first := next((one for one in told if one.bond == bond), None)) is not None:
                return first
        places = tuple(dict.fromkeys(place for one in told for place in one.places))
        return Bound("stands", places, min(one.nearness for one in told), min(one.lead for one in told))

    def _is_added(self, clause: str, page: Leaf) -> bool:
        """Return whether no statement of a page tells of a clause without numbers and names."""
        weights = {word: self._weight(word) for word in keys_of(clause)}
        total = sum(weights.values())
        if len(weights) < _FURTHER:
            return False
        places = [place for place in self._places if place.leaf is page]
        said = {id(one): sum(w * met(word, one.statement) for word, w in weights.items()) / total for one in places}
        best = sorted(places, key=lambda one: -said[id(one)])[:COMPARED]
        first, *others = self._vectors([clause, *(one.statement.text for one in best)])
        near = [
            0.5 * said[id(one)] + 0.5 * (float(first @ vector) if first is not None and vector is not None else 0.5)
            for one, vector in zip(best, others, strict=True)
        ]
        return max(near, default=0.0) < TOLD

    def _weight(self, word: str) -> float:
        total, count = len(self._places), self._count.get(word, 0)
        return log(1 + (total - count + 0.5) / (count + 0.5)) if count else 0.5 * log(1 + total)

    def _bind(self, part: Part) -> Bound:
        if not part.points or not self._places:
            return Bound("open")
        weights = {word: self._weight(word) * share for word, share in part.words.items()}
        measure = _Measure(part, weights, log(1 + len(self._places)))
        differs: tuple[float, Place] | None = None
        lacks = False
        best: list[tuple[float, Place]] = []
        leads = []
        for at, point in enumerate(part.points):
            holders = measure.best((one for one in self._places if measure.has(point, one)), at)
            rivals = measure.best((one for one in self._places if not measure.has(point, one) and is_rival(point, one)), at)
            near = self._nearness(part, point, holders, rivals, measure.unmet([*holders, *rivals]))
            held = max(((near[id(one)], one) for _unused, one in holders), key=lambda pair: pair[0], default=None)
            other = max(((near[id(one)], one) for _unused, one in rivals), key=lambda pair: pair[0], default=None)
            lead = (held[0] if held else 0.0) - (other[0] if other else 0.0)
            is_about = lead < -CLEARLY and other is not None and measure.own(other[1], at) >= OWN
            if is_about and other is not None and other[0] >= ABOUT:
                if differs is None or other[0] > differs[0]:
                    differs = other
            elif held is None or is_about or (lead < -CLEARLY and not is_telling(point)):
                lacks = True
            if held is not None:
                best.append(held)
                leads.append(lead)
        if differs is not None:
            return Bound("differs", (differs[1],), differs[0])
        if lacks:
            return Bound("lacks")
        pages = {id(place.leaf) for _unused, place in best}
        if len(pages) > 1:
            return Bound("lacks")
        nearest = max(best, key=lambda pair: pair[0])
        return Bound("stands", tuple(dict.fromkeys(place for _unused, place in best)), nearest[0], min(leads))

    def _nearness(
        self,
        part: Part,
        point: Point,
        holders: Sequence[tuple[float, Place]],
        rivals: Sequence[tuple[float, Place]],
        unmet: float,
    ) -> dict[int, float]:
        """Return how near each place is to a part without one of its points, by words and by the text model."""
        rest = without(part.text, [point])
        places = [place for _unused, place in (*holders, *rivals)]
        texts = [without(place.statement.text, [p for p in place.statement.points if may_replace(point, p)]) for place in places]
        first, *others = self._vectors([rest, *texts])
        share = COSINE + FOR_UNMET * unmet
        found = {}
        for (words, place), vector in zip((*holders, *rivals), others, strict=True):
            cosine = float(first @ vector) if first is not None and vector is not None else words
            found[id(place)] = (1 - share) * words + share * cosine
        return found


class _Measure:
    """How near statements are to a part of a claim by their words."""

    def __init__(self, part: Part, weights: dict[str, float], of_point: float) -> None:
        self._part, self._weights, self._of_point = part, weights, of_point
        self._words = sum(weights.values())
        self._near: dict[int, float] = {}
        self._met: dict[tuple[int, int], bool] = {}

    def has(self, point: Point, place: Place) -> bool:
        """Return whether a statement has a point of the claim, in the column that the claim names."""
        key = id(point), id(place)
        if key not in self._met:
            self._met[key] = (
                meets(point, place) and self._is_often(point, place) and not self._is_in_other_column(point, place)
            )
        return self._met[key]

    def best(self, places: Iterable[Place], without: int) -> list[tuple[float, Place]]:
        """Return the statements that have most of a part beside one of its points, best first."""
        found = [(self._likeness(place, without), place) for place in places]
        return sorted(found, key=lambda one: -one[0])[:COMPARED]

    def unmet(self, found: Sequence[tuple[float, Place]]) -> float:
        """Return the share of the part's words, by weight, that none of these statements has."""
        lacking = sum(
            w for word, w in self._weights.items() if all(met(word, place.statement) < UNDER for _unused, place in found)
        )
        return lacking / self._words if self._words else 1.0

    def own(self, place: Place, without: int) -> float:
        """Return the share of a part that a statement has itself, not only by what it stands under."""
        others = [one for at, one in enumerate((*self._part.points, *self._part.asked)) if at != without]
        words = sum(w * _form(word, place.statement.own) for word, w in self._weights.items())
        total = self._words + self._of_point * len(others)
        return (words + self._of_point * sum(meets(one, place) for one in others)) / (total or 1.0)

    def _likeness(self, place: Place, without: int) -> float:
        others = [one for at, one in enumerate((*self._part.points, *self._part.asked)) if at != without]
        near = self._near.get(id(place))
        if near is None:
            near = self._near[id(place)] = sum(w * met(word, place.statement) for word, w in self._weights.items())
        total = self._words + self._of_point * len(others)
        return (near + self._of_point * sum(meets(one, place) for one in others)) / (total or 1.0)

    def _is_often(self, point: Point, place: Place) -> bool:
        """Return whether a statement has a number as often as the claim: `nine of nine` is not `seven of nine`."""
        if not point.figures:
            return True
        scales = place.leaf.scales
        said = sum(other.kind == point.kind and _agrees(point, other, ()) for other in self._part.points)
        return said < 2 or sum(_agrees(point, other, scales) for other in place.statement.points) >= said

    def _is_in_other_column(self, point: Point, place: Place) -> bool:
        one, scales = place.statement, place.leaf.scales
        if not one.heads or point.kind in ("name", "weekday"):
            return False
        said = {*self._part.words, *(key for p in (*self._part.points, *self._part.asked) for key in _years(p))}
        fits = [sum(any(_form(word, frozenset({head})) >= FORM for word in said) for head in heads) for heads in one.heads]
        here = [fit for fit, cell in zip(fits, one.cells, strict=False) if any(_agrees(point, p, scales) for p in cell)]
        there = [
            fit
            for fit, cell in zip(fits, one.cells, strict=False)
            if not any(_agrees(point, p, scales) for p in cell)
            and not any(_agrees(q, p, scales) for q in self._part.points for p in cell)
            and any(may_replace(point, p) for p in cell)
        ]
        return bool(here and there) and max(there) > max(here)


def _years(point: Point) -> list[str]:
    return [f"#{min(map(str, one.values))}" for one in point.figures if one.is_year]


def meets(point: Point, place: Place) -> bool:
    """Return whether a statement has a point."""
    one, scales = place.statement, place.leaf.scales
    if point.kind == "name":
        return all(key in one.names for key in point.keys)
    if point.kind == "weekday":
        return any(point.keys == other.keys for other in one.points)
    return any(_agrees(point, other, scales) for other in one.points if other.figures)


def is_telling(point: Point) -> bool:
    """Return whether a point hardly stands twice on a page by chance: a name, a day, a number of three digits."""
    if point.kind == "date":
        return len(point.figures) > 1
    return point.kind == "name" or any(sum(map(str.isdigit, written)) >= _TELLING for written in point.spans)


def is_rival(point: Point, place: Place) -> bool:
    """Return whether a statement has another point of the kind of one."""
    return not place.statement.is_title and any(may_replace(point, other) for other in place.statement.points)


def _agrees(point: Point, other: Point, scales: tuple[float, ...]) -> bool:
    if point.kind == "date" and other.kind != "date" and len(point.figures) > 1:
        return False
    return all(any(agree(figure, one, scales) for one in other.figures) for figure in point.figures)


def may_replace(point: Point, other: Point) -> bool:
    """Return whether one point may stand where the other one does."""
    if point.kind == other.kind:
        return point.kind != "date" or any(one.is_month or one.is_year for one in other.figures)
    kinds = {point.kind, other.kind}
    return "number" in kinds and kinds.isdisjoint({"name", "date", "weekday"})


def met(word: str, one: Statement) -> float:
    """Return how surely a word stands in a statement, or above it, 0..1."""
    best = _form(word, one.own)
    return best if best >= UNDER else max(best, UNDER * _form(word, one.under))


def _form(word: str, others: frozenset[str]) -> float:
    if word in others:
        return 1.0
    start = prefix(word)
    best = 0.0
    for other in others:
        if start is not None and prefix(other) == start:
            return FORM
        if other.startswith(word) or word.startswith(other):
            if min(len(word), len(other)) > 2 and abs(len(word) - len(other)) <= _ENDING:
                return FORM
        if min(len(word), len(other)) >= _LONG and (word in other or other in word):
            best = CONTAINED
    return best


def parts_of(claim: str, language: str, question: str, known: Set[str]) -> list[Part]:
    """Return the statements of a claim that have a point each; later ones are about what earlier ones are about."""
    asked = tuple(points_of(question, language)) if question else ()
    passed = {word: PASSED for word in keys_of(without(question, asked))}
    points = points_of(claim, language, known)
    merged: list[list[int]] = []
    clauses = clauses_of(claim)
    for a, b in clauses:
        has_point = any(a <= point.start < b for point in points)
        if merged and not (has_point and any(merged[-1][0] <= p.start < merged[-1][1] for p in points)):
            merged[-1][1] = b
        else:
            merged.append([a, b])
    found = []
    said = question
    for a, b in merged:
        mine = tuple(point for point in points if a <= point.start < b)
        own = dict.fromkeys(keys_of(without(claim[:b], points)[a:]), 1.0)
        further = tuple(claim[x:y] for x, y in clauses if a <= x < b and not any(x <= p.start < y for p in points))
        found.append(Part(f"{said} {claim[a:b]}".strip(), {**passed, **own}, mine, asked, further))
        passed = {**passed, **dict.fromkeys(own, PASSED)}
    return found
