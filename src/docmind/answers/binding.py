"""Who, what, when and how much of a claim, bound within one statement of a page.

Each number, date and name of a claim is looked for in the statement that the rest of the claim is about. Where another
statement, with another value of the same kind, is nearer to the rest of the claim, the page says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from math import log
from typing import Literal

import numpy as np

from docmind.answers.align import Leaf
from docmind.answers.kinds import asked_of, function_words
from docmind.answers.names import meets as is_met
from docmind.answers.names import no_edits, ocr_edits
from docmind.answers.negation import language_of_words, tokens
from docmind.answers.sentences import is_row
from docmind.answers.statements import Point, Statement, clauses_of, keys_of, points_of, without
from docmind.embedding import prefix
from docmind.language import agree

Bond = Literal["stands", "differs", "lacks", "open"]
"""All points stand together; another statement has another value; a point is missing; there is no point."""

FORM, CONTAINED, UNDER, PASSED = 0.9, 0.7, 0.7, 0.5
_LONG = 4  # letters of a word that may be a part of another
_SEVERAL = 2  # function words by which the language of a part is told
_FURTHER = 3  # words of a clause that may be an addition
_TELLING = 3  # digits
_ENDING = 2  # letters by which a form of a short word may be longer
CLEARLY, FAR = 0.05, 0.25  # by which another statement must be nearer; FAR for a value that hardly stands twice
ABOUT = 0.5  # nearness to the rest of a claim from which a statement with another value is about the same
COSINE, FOR_UNMET = 0.2, 0.25  # weight of the cosine in a nearness, and what words add that no statement has
TOLD = 0.3  # nearness from which a statement tells of a further clause
OWN = 0.2  # of it, that such a statement has itself
LACKING = 2  # words of a claim, such as its verb, for which a page may have others
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

    `nearness` is that of the place to the claim, 0..1, `unmet` the share of the claim's words that it does not have,
    where it lacks several.
    `said` has each part of the claim with the statement that it rests on.
    """

    bond: Bond
    places: tuple[Place, ...] = ()
    nearness: float = 0.0
    unmet: float = 0.0
    said: tuple[tuple[str, Place], ...] = ()

    points: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """One statement of a claim: its text, its words with their weights, and its points.

    `asked` are points of the question, which only tell what the statement is about. `further` are its clauses without
    points of their own. `text` begins with the question, `own` does not.
    """

    text: str
    words: dict[str, float]
    points: tuple[Point, ...]
    asked: tuple[Point, ...] = ()
    further: tuple[str, ...] = ()
    own: str = ""


class Bindings:
    """The statements of the retrieved pages. Used by one thread."""

    def __init__(self, leaves: Sequence[Leaf], vectors: Vectors) -> None:
        self._vectors = vectors
        self._places = [Place(leaf, one) for leaf in leaves for one in leaf.statements if not one.is_whole]
        self._known = frozenset[str]().union(*(leaf.only_names for leaf in leaves if leaf.record.language != "de"))
        self._is_loose = [_is_loose(place.statement) for place in self._places]
        self._own, self._under = (_Words(each) for each in self._said())
        self._met: dict[str, tuple[np.ndarray, np.ndarray]] = {}

    def _said(self) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
        return [place.statement.own for place in self._places], [place.statement.under for place in self._places]

    def bind(self, claim: str, language: str, question: str = "") -> Bound:
        """Return how each part of a claim is bound; the weakest decides."""
        if not self._places:
            return Bound("open")
        parts = parts_of(claim, language, question, self._known)
        bonds = [self._bind(part) for part in parts if part.points]
        if not bonds:
            return Bound("open")
        for bond in ("differs", "lacks"):
            if (first := next((one for one in bonds if one.bond == bond), None)) is not None:
                return first
        page = bonds[0].places[0].leaf
        further = [self._told(clause, page) for part in parts for clause in part.further]
        if any(one is None for one in further):
            return Bound("lacks")
        said = (*(pair for one in bonds for pair in one.said), *(pair for pair in further if pair is not None))
        places = tuple(dict.fromkeys(place for one in bonds for place in one.places))
        points = tuple(point for part in parts for point in part.points if point.figures)
        return Bound(
            "stands", places, min(one.nearness for one in bonds), max(one.unmet for one in bonds), said, points
        )

    def _told(self, clause: str, page: Leaf) -> tuple[str, Place] | None:
        """Return a clause without numbers and names with the statement of a page that tells of it; None where none."""
        part = Part(clause, dict.fromkeys(keys_of(clause), 1.0), ())
        measure = _Measure(self, part)
        found = measure.best([at for at, place in enumerate(self._places) if place.leaf is page], -1)
        first, *others = self._vectors([clause, *(self._places[at].statement.text for _unused, at in found)])
        near = [
            (0.5 * said + 0.5 * (float(first @ vector) if first is not None and vector is not None else said), at)
            for (said, at), vector in zip(found, others, strict=True)
        ]
        nearness, at = max(near)
        return (clause, self._places[at]) if nearness >= TOLD or len(part.words) < _FURTHER else None

    def weight(self, word: str) -> float:
        """Return how much a word tells: one of few statements more, one of none little."""
        total, count = len(self._places), self._own.count(word)
        return log(1 + (total - count + 0.5) / (count + 0.5)) if count else 0.5 * log(1 + total)

    def met(self, word: str) -> tuple[np.ndarray, np.ndarray]:
        """Return how surely a word stands in each statement, and in it or above it, 0..1."""
        if word not in self._met:
            own = self._own.forms(word)
            self._met[word] = own, np.maximum(own, np.where(own < UNDER, UNDER * self._under.forms(word), 0.0))
        return self._met[word]

    @property
    def total(self) -> int:
        """How many statements there are."""
        return len(self._places)

    def having(self, point: Point) -> np.ndarray:
        """Return which statements have a point."""
        return np.array([meets(point, place) for place in self._places])

    def _bind(self, part: Part) -> Bound:
        measure = _Measure(self, part)
        differs: tuple[float, int] | None = None
        lacks = False
        best: list[tuple[float, int]] = []
        for at, point in _different(part.points):
            often = _times(part, point)
            has = [is_met and self._has(part, point, one, often) for one, is_met in enumerate(measure.points[at])]
            holders = measure.best([one for one, is_one in enumerate(has) if is_one], at)
            others = [
                one
                for one, is_one in enumerate(has)
                if not is_one and self._is_rival(point, one) and not self._has_name(part, point, one)
            ]
            rivals = measure.best(others, at)
            cosines = self._cosines(part, point, [one for _unused, one in (*holders, *rivals)])
            share = COSINE + FOR_UNMET * measure.unmet([one for _unused, one in (*holders, *rivals)])
            held, other = (_nearest(found, cosines, share) for found in (holders, rivals))
            lead = held[0] if held is not None else 0.0
            if held is not None and other is not None:
                apart = cosines[held[1]] - cosines[other[1]]
                lead = (1 - share) * measure.lead(held[1], other[1], at) + share * apart
            elif other is not None:
                lead = -other[0]
            is_about = lead < -CLEARLY and other is not None and measure.own(other[1], at) >= OWN
            if is_about and other is not None and other[0] >= ABOUT:
                if differs is None or other[0] > differs[0]:
                    differs = other
            elif held is None or is_about or lead < -(FAR if is_telling(point) else CLEARLY):
                lacks = True
            if held is not None:
                best.append(held)
        if differs is not None:
            return Bound("differs", (self._places[differs[1]],), differs[0])
        if lacks or len({id(self._places[one].leaf) for _unused, one in best}) > 1:
            return Bound("lacks")
        places = (self._places[one] for _unused, one in sorted(best, key=lambda pair: -pair[0]))
        nearest = max(best)[1]
        unmet = measure.unmet([nearest]) if measure.lacking([nearest]) > LACKING else 0.0
        said = ((part.own or part.text, self._places[nearest]),)
        return Bound("stands", tuple(dict.fromkeys(places)), max(best)[0], unmet, said)

    def _has_name(self, part: Part, point: Point, at: int) -> bool:
        """Return whether a statement has another name of the claim: then it has none in place of this one."""
        names = [other for other in part.points if other.kind == "name" and other is not point]
        return point.kind == "name" and any(meets(other, self._places[at]) for other in names)

    def _has(self, part: Part, point: Point, at: int, often: int) -> bool:
        """Return whether a statement that has a point has it as often as the claim, and in the column it names."""
        place = self._places[at]
        return _is_often(point, place, often) and not _is_in_other_column(part, point, place)

    def _is_rival(self, point: Point, at: int) -> bool:
        """Return whether a statement has a point of the kind of another; one without unit only where units may lack."""
        one, is_loose = self._places[at].statement, self._is_loose[at]
        return not one.is_title and any(
            point.kind == other.kind or is_loose for other in one.points if may_replace(point, other)
        )

    def _cosines(self, part: Part, point: Point, found: Sequence[int]) -> dict[int, float]:
        """Return how alike a part without one of its points and each statement without such points are."""
        said = [self._places[at].statement for at in found]
        texts = [without(one.text, [other for other in one.points if may_replace(point, other)]) for one in said]
        first, *others = self._vectors([without(part.text, [point]), *texts])
        return {
            at: float(first @ vector) if first is not None and vector is not None else 0.0
            for at, vector in zip(found, others, strict=True)
        }


def _nearest(
    found: Sequence[tuple[float, int]], cosines: Mapping[int, float], share: float
) -> tuple[float, int] | None:
    """Return the statement that is nearest by words and by the text model, with its nearness."""
    near = [((1 - share) * words + share * cosines[at], at) for words, at in found]
    return max(near, key=lambda one: one[0], default=None)


class _Words:
    """Which statements have a word, and which a form of it."""

    def __init__(self, said: Sequence[frozenset[str]]) -> None:
        self._total = len(said)
        self._held: dict[str, list[int]] = {}
        for at, words in enumerate(said):
            for word in words:
                self._held.setdefault(word, []).append(at)

    def count(self, word: str) -> int:
        """Return how many statements have a word."""
        return len(self._held.get(word, ()))

    def forms(self, word: str) -> np.ndarray:
        """Return how surely each statement has a word or a form of it, 0..1."""
        found = np.zeros(self._total)
        for other, places in self._held.items():
            if (likeness := form(word, other)) > 0:
                found[places] = np.maximum(found[places], likeness)
        return found


class _Measure:
    """How near statements are to a part of a claim by their words and points."""

    def __init__(self, bindings: Bindings, part: Part) -> None:
        weights = [bindings.weight(word) * share for word, share in part.words.items()]
        of_point = log(1 + bindings.total)
        of_asked = PASSED * of_point
        points = [bindings.having(point) for point in (*part.points, *part.asked)]
        self.points = points[: len(part.points)]
        met = [bindings.met(word) for word in part.words]
        self._weights = np.array([*weights, *([of_point] * len(part.points)), *([of_asked] * len(part.asked))])
        self._words = len(weights)
        self._said = np.array([share == 1.0 for share in part.words.values()], bool)
        self._near = np.array([*(both for _own, both in met), *points], float)
        self._own = np.array([*(own for own, _both in met), *points], float)

    def best(self, places: Sequence[int], without: int) -> list[tuple[float, int]]:
        """Return the statements that have most of a part beside one of its points, best first."""
        near = self._share(self._near, without)
        found = [(float(near[at]), at) for at in places]
        return sorted(found, key=lambda one: -one[0])[:COMPARED]

    def unmet(self, places: Sequence[int]) -> float:
        """Return the share of the part's words, by weight, that none of these statements has."""
        weights = self._weights[: self._words]
        return float(weights[self._lacking(places)].sum() / weights.sum()) if weights.sum() else 1.0

    def lacking(self, places: Sequence[int]) -> int:
        """Return how many words of the part itself none of these statements has."""
        return int((self._lacking(places) & self._said).sum())

    def _lacking(self, places: Sequence[int]) -> np.ndarray:
        return np.asarray((self._near[: self._words][:, list(places)] < UNDER).all(axis=1))

    def lead(self, held: int, other: int, without: int) -> float:
        """Return by how much one statement is nearer than another, -1..1, by what either has of a part."""
        weights = self._weights.copy()
        weights[self._words + without] = 0.0
        one, two = self._near[:, held], self._near[:, other]
        total = float(weights @ np.maximum(one, two))
        return float(weights @ (one - two)) / total if total else 0.0

    def own(self, place: int, without: int) -> float:
        """Return the share of a part that a statement has itself, not only by what it stands under."""
        return float(self._share(self._own, without)[place])

    def _share(self, held: np.ndarray, without: int) -> np.ndarray:
        weights = self._weights.copy()
        if without >= 0:
            weights[self._words + without] = 0.0
        total = weights.sum()
        return weights @ held / total if total else np.zeros(held.shape[1:])


def _different(points: Sequence[Point]) -> Iterator[tuple[int, Point]]:
    """Yield the points that say different things, with their numbers: a claim may repeat one a hundred times."""
    seen = set[tuple[object, ...]]()
    for at, point in enumerate(points):
        said = point.kind, point.keys, tuple(replace(one, start=0, end=0) for one in point.figures)
        if said not in seen:
            seen.add(said)
            yield at, point


def _times(part: Part, point: Point) -> int:
    """Return how often a claim says a number, 0 of what is none."""
    return sum(other.kind == point.kind and _agrees(point, other, ()) for other in part.points) if point.figures else 0


def _is_often(point: Point, place: Place, often: int) -> bool:
    """Return whether a statement has a number as often as the claim: `nine of nine` is not `seven of nine`."""
    return often < 2 or sum(_agrees(point, other, place.leaf.scales) for other in place.statement.points) >= often


def _is_in_other_column(part: Part, point: Point, place: Place) -> bool:
    """Return whether a row has a point, but below another head than the claim names."""
    one, scales = place.statement, place.leaf.scales
    if not one.heads or not point.figures:
        return False
    numbers = {year for other in (*part.points, *part.asked) for year in _numbers(other)}
    own = {word for word, share in part.words.items() if share == 1.0} | numbers
    fits = _fits(one, own)
    if not any(fits):  # the words of an earlier clause
        fits = _fits(one, set(part.words))
    here, there = [], []
    for fit, cell in zip(fits, one.cells, strict=False):
        if any(_agrees(point, other, scales) for other in cell if other.figures):
            here.append(fit)
        elif any(may_replace(point, other) for other in cell) and not any(
            _agrees(asked, other, scales) for asked in part.points if asked.figures for other in cell
        ):
            there.append(fit)
    return bool(here and there) and max(there) > max(here)


def _fits(one: Statement, said: Set[str]) -> list[int]:
    """Return how many words of each head of a table are said."""
    return [sum(any(form(word, head) >= FORM for word in said) for head in heads) for heads in one.heads]


def _numbers(point: Point) -> list[str]:
    return [f"#{min(map(str, one.values))}" for one in point.figures]


def meets(point: Point, place: Place) -> bool:
    """Return whether a statement has a point."""
    one, scales = place.statement, place.leaf.scales
    if point.kind == "name":
        edits = ocr_edits if place.leaf.record.text_source == "ocr" else no_edits
        return all(is_met(key, one.names, edits=edits) for key in point.keys)
    if point.kind == "weekday":
        return any(point.keys == other.keys for other in one.points)
    return any(_agrees(point, other, scales) for other in one.points if other.figures)


def is_telling(point: Point) -> bool:
    """Return whether a point hardly stands twice on a page by chance: a name, a day, a number of three digits."""
    if point.kind == "date":
        return len(point.figures) > 1
    return point.kind == "name" or any(sum(map(str.isdigit, written)) >= _TELLING for written in point.spans)


def _is_loose(one: Statement) -> bool:
    """Return whether a statement may leave out units."""
    return bool(one.cells) or one.is_elliptic or is_row(one.text)


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


def form(word: str, other: str) -> float:
    """Return how surely two words are one: forms of it, or one a part of the other, as in a German compound; 0..1."""
    if word == other:
        return 1.0
    start = prefix(word)
    if start is not None and prefix(other) == start:
        return FORM
    shorter, longer = sorted((word, other), key=len)
    if len(shorter) > 2 and longer.startswith(shorter) and len(longer) - len(shorter) <= _ENDING:
        return FORM
    return CONTAINED if len(shorter) >= _LONG and shorter in longer else 0.0


def _language_of(text: str, language: str) -> str:
    """Return the language of a part: another one where it has several function words, and more, of that."""
    said = tokens(text)
    other = language_of_words(said)
    own, theirs = (function_words(one).intersection(said) if one else () for one in (language, other))
    is_other = len(theirs) >= _SEVERAL and len(theirs) > len(own)
    return other if is_other else language


def parts_of(claim: str, language: str, question: str, known: Set[str]) -> list[Part]:
    """Return the statements of a claim that have a point each; later ones are about what earlier ones are about."""
    asked = tuple(points_of(question, language)) if question else ()
    passed = dict.fromkeys(keys_of(without(question, asked)), PASSED)
    if asked_of(question).kind in ("person", "organisation", "place"):
        known |= frozenset(keys_of(claim)[:1])  # "Ruth did." names somebody
    points = points_of(claim, language, known)
    clauses = clauses_of(claim, points)
    pointed = [any(a <= point.start < b for point in points) for a, b in clauses]
    found: list[Part] = []
    said, further = question, list[str]()
    for (a, b), has_point in zip(clauses, pointed, strict=True):
        own = dict.fromkeys(keys_of(without(claim[:b], points)[a:]), 1.0)
        if not has_point:
            further.append(claim[a:b])
            if not found:  # "For members, the fee is ..."
                passed = {**passed, **dict.fromkeys(own, PASSED)}
            continue
        mine = tuple(point for point in points if a <= point.start < b)
        if (other := _language_of(claim[a:b], language)) != language:
            mine = tuple(points_of(claim[a:b], other, known))  # a sentence may quote in another language
        share = PASSED if len(own) < 2 else min(PASSED, PASSED * len(own) / max(1, len(passed)))
        before = dict.fromkeys(passed, share)
        found.append(Part(f"{said} {claim[a:b]}".strip(), {**before, **own}, mine, asked, own=claim[a:b]))
        passed = {**passed, **dict.fromkeys(own, PASSED)}
    if found and further:
        found[-1] = replace(found[-1], further=tuple(further))
    return found
