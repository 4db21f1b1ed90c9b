"""The spans of the retrieved pages that support the claims of an answer.

Words find spans, checks of numbers, names and negation exclude some, and the text model compares the few that remain. A
sentence may also be supported in two parts, each by its own span.

`fault` is a check that similarity cannot replace: a number, a name or a negation that a page does not have.
Numbers are compared with a span by presence, position and year. Above 500 lines: the checks of a span and the judgement
that uses them change together.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from math import exp
from typing import Literal, NamedTuple

import numpy as np

from docmind.answers.additions import is_exchanged, says_more
from docmind.answers.align import Claim, Leaf, Library, Span, Unit, neighbours, weakest
from docmind.answers.binding import Bindings, Bound, Place, is_telling
from docmind.answers.names import Edits, compact, is_replaced, meets, named, no_edits, ocr_edits, replacements, words_of
from docmind.answers.negation import is_flipped, tokens
from docmind.answers.sentences import is_row
from docmind.answers.statements import keys_of
from docmind.embedding import TextEmbedder, prefix, words
from docmind.errors import DocMindError
from docmind.language import Figure, agree, fold
from docmind.records.search import Degraded
from docmind.wording import _

Standing = Literal["stand", "lack", "differ"]
"""All there; one missing; one replaced by another."""

HEADINGS = 40  # most units between a row and the years above the table
_RESPECTIVELY = re.compile(r"\b(?:respectively|respectivamente)\b")
_COMPARED, _SWAPPED, _FRAME = 90, 3, 4  # words
_AROUND = 3  # words on each side that identify a number's place
_NEVER_BARE = frozenset({"%", "day", "week", "month", "minute"})  # units that are said with their numbers
_CLEARLY = 2  # words by which another number must match better


def numbers_stand(claim: Claim, span: Span) -> Standing:
    """Return whether every number of a claim is in its span, in the same role.

    A number may also be beside the span, in the file's name, or a year above a table's columns, but only where the span
    has no other number in its place.
    """
    wanted = [figure for figure in claim.figures if figure.is_required]
    if not wanted:
        return "stand"
    leaf = span.leaf
    core = leaf.units[span.core].figures
    if all(is_row(unit.text) for unit in leaf.units[span.first : span.last + 1]):
        standing = _in_row(wanted, core, leaf, span.core)
        return standing if standing != "stand" or _paired(claim, core, span) else "differ"
    held = [figure for unit in leaf.units[span.first : span.last + 1] for figure in unit.figures]
    near = [figure for unit in neighbours(span) for figure in unit.figures] + leaf.label_figures
    spare = [figure for figure in core if not any(agree(one, figure, leaf.scales) for one in claim.figures)]
    measured = [figure.start for figure in claim.figures if figure.unit in _NEVER_BARE]
    for figure in wanted:
        is_bare = not figure.unit and not any(start > figure.start for start in measured)  # no part of `2 to 3%`
        same = [one for one in [*held, *near] if agree(figure, one, leaf.scales)]
        if is_bare and same and all(one.unit in _NEVER_BARE for one in same):
            return "lack"  # a number of things is no percentage and no duration
        if any(agree(figure, other, leaf.scales) for other in core):
            continue
        if any(_is_like(figure, other) for other in spare) and not _fits(claim, figure, span):
            return "differ" if _is_exchanged(claim, span) or not _in_place(claim, span, wanted) else "lack"
        if not same:
            return "differ" if _is_exchanged(claim, span) else "lack"
    stands = not _is_exchanged(claim, span) and _in_place(claim, span, wanted) and _paired(claim, held, span)
    return "stand" if stands else "differ"


def _in_row(wanted: Sequence[Figure], row: Sequence[Figure], leaf: Leaf, at: int) -> Standing:
    """Compare all numbers with one row of a table, and the years with the heads of their columns."""
    heads = _years_above(leaf, at)
    lacking = [figure for figure in wanted if not any(agree(figure, other, leaf.scales) for other in row)]
    if any(not any(agree(figure, other) for other in [*heads, *leaf.label_figures]) for figure in lacking):
        return "lack"
    return "stand" if not heads or _in_column(wanted, row, heads, leaf.scales) else "differ"


def _is_exchanged(claim: Claim, span: Span) -> bool:
    """Return whether the claim has another number where the span has one, with the same words around it."""
    offset = span.bounds[0]
    units = span.leaf.units[span.first : span.last + 1]
    there = [(unit.start - offset + f.start, unit.start - offset + f.end, f) for unit in units for f in unit.figures]
    left = _with_figures(claim.text, [(f.start, f.end, f) for f in claim.figures])[:_COMPARED]
    right = _with_figures(span.text, there)[: 2 * _COMPARED]
    a, b = [key for key, _unused in left], [key for key, _unused in right]
    for (i1, i2, j1, j2), before, after in replacements(a, b, _SWAPPED):
        if not ((before >= 2 or i1 == 0) and (after >= 2 or i2 == len(a)) and before + after >= _FRAME):
            continue
        new = [figure for _unused, figure in left[i1:i2] if figure]
        old = [figure for _unused, figure in right[j1:j2] if figure]
        if new and old and not any(agree(one, other, span.leaf.scales) for one in new for other in old):
            return True
    return False


def _with_figures(text: str, found: Sequence[tuple[int, int, Figure]]) -> list[tuple[str, Figure | None]]:
    """Return words in order, with each number as one of them, by its value."""
    row: list[tuple[str, Figure | None]] = []
    at = 0
    for start, end, figure in sorted(found, key=lambda one: one[:2]):
        if start < at:
            continue
        row += [(word, None) for word in tokens(text[at:start])]
        row.append(("#" + min(map(str, figure.values)) + figure.unit, figure))
        at = end
    return row + [(word, None) for word in tokens(text[at:])]


def _is_like(one: Figure, other: Figure) -> bool:
    return (one.is_year, one.unit, one.is_month) == (other.is_year, other.unit, other.is_month)


def _years_above(leaf: Leaf, first: int) -> list[Figure]:
    """Return the years in the nearest unit above that has several."""
    for unit in reversed(leaf.units[max(0, first - HEADINGS) : first]):
        years = [figure for figure in unit.figures if figure.is_year]
        if len(years) >= 2:
            return years
    return []


def _in_column(
    wanted: Sequence[Figure], held: Sequence[Figure], years: Sequence[Figure], scales: tuple[float, ...]
) -> bool:
    """Return whether the numbers of a row are below the years that a claim gives them."""
    asked = [figure for figure in wanted if figure.is_year and not any(agree(figure, other) for other in held)]
    values = [figure for figure in held if not figure.is_month]
    if not asked:
        return True
    if len(values) < len(years):
        return False
    below = [
        years[at % len(years)]
        for at, value in enumerate(values)
        if (at < len(years) or len(values) % len(years) == 0) and any(agree(figure, value, scales) for figure in wanted)
    ]
    return not below or all(any(agree(year, head) for head in below) for year in asked)


def _paired(claim: Claim, held: Sequence[Figure], span: Span) -> bool:
    """Return whether numbers keep their years.

    Where a page has as many numbers of one kind as years, they are paired in order; `respectively` does the same for
    other numbers.
    """
    scales = span.leaf.scales
    years = [figure for figure in held if figure.is_year]
    said = [figure for figure in claim.figures if figure.is_year]
    is_respective = _RESPECTIVELY.search(fold(span.text.lower())) is not None
    values = [figure for figure in held if not figure.is_year and not figure.is_month]
    for unit in {figure.unit for figure in values}:
        row = [figure for figure in values if figure.unit == unit]
        others = [figure for figure in values if figure.unit != unit][-len(row) :] if is_respective else []
        for heads, asked in ((years, said), (others, claim.figures)):
            if len(row) < 2 or len(heads) != len(row):
                continue
            asked = [one for one in asked if any(agree(one, head) for head in heads)]
            if not asked:
                continue
            own = [f for f in claim.figures if not (f.is_year or f.is_month) and f.unit == unit and f not in asked]
            if not _goes_with(own, asked, row, heads, scales):
                return False
    return True


def _goes_with(
    own: Sequence[Figure],
    asked: Sequence[Figure],
    row: Sequence[Figure],
    heads: Sequence[Figure],
    scales: tuple[float, ...],
) -> bool:
    for at, value in enumerate(own):
        partners = asked[at : at + 1] if len(own) == len(asked) else asked
        stands = [head for one, head in zip(row, heads, strict=True) if agree(value, one, scales)]
        if stands and not any(agree(partner, head) for partner in partners for head in stands):
            return False
    return True


def _in_place(claim: Claim, span: Span, wanted: Sequence[Figure]) -> bool:
    """Return whether no other number of the span matches a number's place in the claim clearly better."""
    text = span.text
    if _RESPECTIVELY.search(fold(text.lower())):
        return True
    offset = span.bounds[0]
    there = [
        (figure, _around(text, unit.start - offset + figure.start, unit.start - offset + figure.end))
        for unit in span.leaf.units[span.first : span.last + 1]
        for figure in unit.figures
    ]
    for figure in wanted:
        around = _around(claim.text, figure.start, figure.end)
        right = wrong = 0
        for other, place in there:
            fit = _fit(around, place)
            if agree(figure, other, span.leaf.scales):
                right = max(right, fit)
            elif other.is_year == figure.is_year:
                wrong = max(wrong, fit)
        if wrong >= _CLEARLY + 1 and wrong >= right + _CLEARLY:
            return False
    return True


def _fits(claim: Claim, wanted: Figure, span: Span) -> bool:
    """Return whether a number is in the span among the words that it has in the claim."""
    text, offset = span.text, span.bounds[0]
    around = _around(claim.text, wanted.start, wanted.end)
    return any(
        agree(wanted, figure, span.leaf.scales)
        and _fit(around, _around(text, unit.start - offset + figure.start, unit.start - offset + figure.end))
        >= _CLEARLY
        for unit in span.leaf.units[span.first : span.last + 1]
        for figure in unit.figures
    )


def _around(text: str, start: int, end: int) -> tuple[list[str], list[str]]:
    before = tokens(text[max(0, start - 40) : start])
    return before[::-1][:_AROUND], tokens(text[end : end + 40])[:_AROUND]


def _fit(one: tuple[list[str], list[str]], other: tuple[list[str], list[str]]) -> int:
    total = 0
    for left, right in zip(one, other, strict=True):
        for a, b in zip(left, right, strict=False):
            if a != b:
                break
            total += 1
    return total


_IN_LABEL = 4  # letters of a name that may be part of a file's name: `Ulta` in `ULTABEAUTY_2023`
_GENERIC = frozenset("company companhia compania empresa corporation group board".split())  # noqa: SIM905


class Fault(NamedTuple):
    """A part of the claim that a span does not support. `contradicts`: the span states otherwise, not just nothing."""

    kind: Literal["number", "name", "negation", "more"]
    contradicts: bool


def fault(claim: Claim, span: Span, known: set[str]) -> Fault | None:
    """Return the part of a claim that its span does not support; None where no check fails.

    `known` are words with a capital inside sentences of the retrieved pages.
    """
    numbers = numbers_stand(claim, span)
    if numbers != "stand":
        return Fault("number", numbers == "differ")
    names = _names_stand(claim, span, known)
    if names != "stand":
        return Fault("name", names == "differ")
    page_language = span.leaf.record.language
    if is_flipped(claim.tokens, tokens(span.text), claim.language or page_language, page_language):
        return Fault("negation", True)
    return None


def _names_stand(claim: Claim, span: Span, known: set[str]) -> Standing:
    leaf = span.leaf
    core = leaf.units[span.core].text
    edits = edits_of(claim, leaf)
    is_swapped = any(is_replaced(claim.core, text, edits=edits) for text in (span.text, core))
    if not claim.names:
        return "differ" if is_swapped else "stand"
    label = compact(leaf.label)
    units = leaf.units[span.first : span.last + 1]
    near = set().union(*(unit.names for unit in [*units, *neighbours(span), *leaf.units[:2]])) | leaf.label_names
    for at, name in enumerate(claim.names):
        if meets(name.key, near, edits=edits) or (len(name.key) >= _IN_LABEL and name.key in label):
            continue
        elsewhere = meets(name.key, leaf.names, edits=edits)
        if not name.is_sure and not _begins_a_name(claim, at, known):
            if is_swapped and not elsewhere:
                return "differ"
            continue
        if not elsewhere or is_swapped or _has_other_names(claim, units):
            return "differ" if is_swapped else "lack"
    return "differ" if is_swapped else "stand"


def edits_of(claim: Claim, leaf: Leaf) -> Edits:
    """Return how many wrong letters names of a page may have: those of OCR, or of another language."""
    if leaf.record.text_source == "ocr":
        return ocr_edits
    if claim.language and leaf.record.language and claim.language != leaf.record.language:
        return lambda key: int(len(key) >= 5)  # Brazil, Brasil
    return no_edits


def _begins_a_name(claim: Claim, at: int, known: set[str]) -> bool:
    """Return whether a capital at the beginning of a sentence is that of a name."""
    name = claim.names[at]
    following = claim.names[at + 1] if at + 1 < len(claim.names) else None
    goes_on = following is not None and following.is_sure and following.start - name.end <= 1
    return goes_on or claim.text[name.end : name.end + 2] in ("'s", "’s") or name.key in known


def _has_other_names(claim: Claim, units: Sequence[Unit]) -> bool:
    """Return whether the span has names that the claim does not."""
    said = words_of(claim.text) | {prefix(word) or word for word in words(fold(claim.text))}
    return any(
        name.is_sure
        and name.key not in said
        and name.key not in _GENERIC
        and (prefix(name.key) or name.key) not in said
        for unit in units
        for name in named(unit.text)
    )


EMBEDDED = 400  # texts at most for one answer: 2-3 ms each on one core
OWN_WORDS = 2  # of a claim that says itself what it is about
UNMET, UNMET_BY_NUMBER = 0.35, 0.6  # share of a claim's words that may lack; where a number hardly stands by chance
COMPARABLE = frozenset({"en", "es", "pt"})  # languages whose words `docmind.answers.additions` knows
NEAR = 0.25  # nearness to a claim from which a statement with its numbers and names supports it
COMPARED = 3  # spans of one claim that the text model compares
CERTAIN = 0.85  # coverage and order from which the text model is not needed
VERBATIM = 0.98  # coverage and order from which contradicting spans do not count
PARTED = 40  # sentences of one answer that are checked in parts
LEAST_COVERAGE = 0.15  # of a claim's words, by weight
LEAST_CLAUSE = 0.3  # of the words of each clause: an added clause must be supported too
MARGIN = 0.05  # by which a span must be more similar to a claim than a contradicting one of the same page
CONTRADICTED = 0.7  # coverage of a contradicting span from which a sentence is not checked in parts

# A logistic regression on half of the documents, with the highest weight on hand-written sentences. Few false sentences
# pass the checks, so a fit is unstable: `scripts/eval FOLDER fit-verify` prints laxer weights; stricter ones were kept,
# with an intercept that is laxer by 0.5 since claims that say more than their span are refused before.
INTERCEPT, WEIGHTS = -8.0, np.array([5.9, 3.8, 6.6])
INTERCEPT_ANY, WEIGHTS_ANY = -4.4, np.array([5.5, 6.1, 0.0])  # without a cosine


class Judgement(NamedTuple):
    """What pages say to a claim: the spans that support it, or the one that contradicts it."""

    spans: list[Span]
    against: Span | None


class Evidence:
    """The evidence for one answer in its pages. Used by one thread.

    `degraded` is set where the text model failed: then words alone decide. `limit` is how many texts may still be
    embedded.
    """

    compared = COMPARED

    def __init__(self, embedder: TextEmbedder, leaves: Sequence[Leaf]) -> None:
        self._embedder, self.limit = embedder, EMBEDDED
        self.library = Library(leaves)
        self._known = set[str]().union(*(leaf.sure_names for leaf in leaves))
        self._vectors: dict[str, np.ndarray] = {}
        self._bindings = Bindings(leaves, self._embedded)
        self.degraded: tuple[Degraded, ...] = ()

    def judge(self, texts: Sequence[str], question: str = "") -> list[Judgement]:
        """Return for each claim the spans that support it; without any, the span that contradicts it.

        What stands with the numbers, dates and names of a claim is looked for first; words and the text model judge a
        claim without any. `question` is what the claims answer: "Five years." is about what it asks for.
        """
        judged = self._by_words(texts)
        for at, text in enumerate(texts):
            claim = self.claim(text)
            bound = self._bindings.bind(claim.core, self._language(claim), question)
            judged[at] = self._joined(claim, judged[at], bound)
        return judged

    def _language(self, claim: Claim) -> str:
        return claim.language or next((leaf.record.language for leaf in self.library.leaves), "")

    def _joined(self, claim: Claim, judged: Judgement, bound: Bound) -> Judgement:
        """Return what pages say to a claim, of which words say one thing, and its numbers and names another."""
        if (own := self._verbatim(claim)) is not None:
            return Judgement([own], None)
        if bound.bond == "open":
            return judged
        if bound.bond == "lacks":
            return Judgement([], None)
        spans = [self._span(place) for place in bound.places]
        if bound.bond == "differs":
            return Judgement([], spans[0])
        if bound.nearness < NEAR and not judged.spans:
            return Judgement([], None)
        if bound.unmet > (UNMET_BY_NUMBER if any(map(is_telling, bound.points)) else UNMET):
            return judged  # what stands there does not support what else is said
        for text, place in bound.said:
            part, span = Claim(text), self._span(place)
            if (other := self._differing(part, span, place)) == "denied" or (
                other and not (judged.spans and len(bound.said) > 1)
            ):
                return Judgement([], span if other == "denied" else None)
        return Judgement(spans[:2], None)

    def _differing(self, part: Claim, span: Span, place: Place) -> Literal["denied", "more"] | None:
        """Return whether a statement denies a part of a claim, or says less than it."""
        language = span.leaf.record.language
        near = [place.statement.text, *(unit.text for unit in neighbours(span))]
        if is_flipped(part.tokens, tokens(" ".join(near)), part.language or language, language):
            return "denied"
        if is_row(place.statement.text) and not place.statement.heads and numbers_stand(part, span) == "differ":
            return "denied"  # below another year
        if place.statement.is_field or language not in COMPARABLE:
            return None
        return "more" if says_more(part, span) or is_exchanged(part, span) else None

    def _verbatim(self, claim: Claim) -> Span | None:
        """Return the units that have all words of a claim as they are, in their order; those of a window first."""
        if len(set(keys_of(claim.core))) < OWN_WORDS:
            return None  # "In March." is on many pages
        said = f" {' '.join(claim.tokens)} "
        found: Span | None = None
        for leaf in self.library.leaves:
            text, starts = leaf.said
            at = text.find(said)
            while at >= 0:
                first, last = bisect_right(starts, at) - 1, bisect_right(starts, at + len(said) - 2) - 1
                span = Span(leaf, first, first, last, 1.0, 1.0, 1.0)
                if any(map(leaf.is_retrieved, leaf.units[first : last + 1])):
                    return span if not says_more(claim, span) else None
                found, at = found or span, text.find(said, at + len(said) - 1)
        return found if found is not None and not says_more(claim, found) else None

    def _span(self, place: Place) -> Span:
        """Return the units of a page in which a statement stands."""
        leaf, one = place.leaf, place.statement
        held = [at for at, unit in enumerate(leaf.units) if unit.start < one.end and one.start < unit.end]
        return Span(leaf, held[0], held[0], held[-1], 1.0, 1.0, 1.0)

    def _embedded(self, texts: Sequence[str]) -> list[np.ndarray | None]:
        flat = [" ".join(text.split()) for text in texts]
        self._embed([text for text in flat if text])
        return [self._vectors.get(text) for text in flat]

    def _by_words(self, texts: Sequence[str]) -> list[Judgement]:
        """Return what pages say to claims by their words and the text model."""
        known: dict[str, Claim] = {}  # repeated sentences are checked once
        claims = [known.get(text) or known.setdefault(text, self.claim(text)) for text in texts]
        found = self.candidates(claims)
        borne = [self.best(claim, spans) for claim, (spans, _unused) in zip(claims, found, strict=True)]
        whole: list[list[Span]] = [[span] if span else [] for span in borne]
        parts = [
            (at, self.claim(first), self.claim(second))
            for at, (claim, (_unused, against)) in enumerate(zip(claims, found, strict=True))
            if not borne[at] and against is None
            for first, second in claim.halves()
        ][: 3 * PARTED]
        each = [part for _unused, first, second in parts for part in (first, second)]
        spans = [self.best(part, one) for part, (one, _unused) in zip(each, self.candidates(each), strict=True)]
        for number, (at, _unused, _unused) in enumerate(parts):
            first, second = spans[2 * number : 2 * number + 2]
            if first and second and not whole[at]:
                is_same = first.leaf is second.leaf and first.bounds == second.bounds
                whole[at] = [first] if is_same else [first, second]
        return [Judgement(spans, None if spans else found[at][1]) for at, spans in enumerate(whole)]

    def claim(self, text: str) -> Claim:
        """Return a sentence, prepared for comparison."""
        return Claim(text)

    def fault(self, claim: Claim, span: Span) -> Fault | None:
        """Return the part of a claim that a span does not support; None where no check fails."""
        if (found := self.contradiction(claim, span)) is not None:
            return found
        return Fault("more", False) if says_more(claim, span) or is_exchanged(claim, span) else None

    def contradiction(self, claim: Claim, span: Span) -> Fault | None:
        """Return the number, name or negation of a claim that a span does not support."""
        return fault(claim, span, self._known)

    def spans(self, claim: Claim) -> list[Span]:
        """Return the spans of the pages that may support a claim or contradict it."""
        return self.library.spans(claim)

    def best(self, _claim: Claim, spans: Sequence[Span]) -> Span | None:
        """Return the span without fault that supports a claim best; None where none does."""
        good = [span for span in spans if likelihood(span) >= 0.5 or is_certain(span)]
        return max(good, key=lambda span: likelihood(span) + span.bonus) if good else None

    def outweighs(self, span: Span, against: Span) -> bool:
        """Return whether a span without fault supports a claim although another span contradicts it."""
        if span.coverage >= VERBATIM and span.order >= VERBATIM:
            return True
        return span.likeness > against.likeness + (MARGIN if against.leaf is span.leaf else -MARGIN)

    def candidates(self, claims: Sequence[Claim]) -> list[tuple[list[Span], Span | None]]:
        """Return for each claim the spans that pass all checks, with cosines; and the span that contradicts it."""
        once = {id(claim): self._standing(claim) for claim in {id(claim): claim for claim in claims}.values()}
        found = [once[id(claim)] for claim in claims]
        self._embed(
            [text for claim, (spans, _unused) in zip(claims, found, strict=True) for text in _unsure(claim, spans)]
        )
        for claim, (spans, _unused) in zip(claims, found, strict=True):
            vector = self._vectors.get(claim.core)
            for span in spans:
                other = self._vectors.get(_flat(span))
                span.cosine = float(vector @ other) if vector is not None and other is not None else None
        return found

    def _standing(self, claim: Claim) -> tuple[list[Span], Span | None]:
        """Return the spans of a claim without fault, and a very similar one that contradicts it.

        Where a page states the same with another number, name or a negation, less similar spans do not support the
        claim.
        """
        standing: list[Span] = []
        against: list[Span] = []
        for span in self.spans(claim):
            if span.coverage < LEAST_COVERAGE:
                continue
            wrong = self.fault(claim, span)
            if wrong is None and weakest(claim, span) >= LEAST_CLAUSE:
                standing.append(span)
            elif wrong is not None and wrong.contradicts:
                against.append(span)
        left = [span for span in standing if all(self.outweighs(span, other) for other in against)]
        return left[: self.compared], next((other for other in against if other.coverage >= CONTRADICTED), None)

    def _embed(self, texts: Sequence[str]) -> None:
        wanted = [text for text in dict.fromkeys(texts) if text not in self._vectors][: self.limit]
        if not wanted or self.degraded:
            return
        self.limit -= len(wanted)
        try:
            vectors = self._embedder.embed_documents(wanted)
        except (DocMindError, OSError, RuntimeError) as error:
            self.degraded = (Degraded("verify", _("the text model cannot be used: {error}").format(error=error)),)
            return
        self._vectors.update(zip(wanted, vectors, strict=True))


def likelihood(span: Span) -> float:
    """Return the probability that a span without fault supports a claim, 0..1."""
    return likelihood_of(span, 0.0)


def likelihood_of(span: Span, more: float) -> float:
    """Return that probability where something else adds `more` to the weight of the span."""
    z = more + (INTERCEPT_ANY if span.cosine is None else INTERCEPT)
    z += float(features(span) @ (WEIGHTS_ANY if span.cosine is None else WEIGHTS))
    return 1 / (1 + exp(-z))


def features(span: Span) -> np.ndarray:
    """Return the features of a span: coverage, order and cosine."""
    return np.array([span.coverage, span.order, span.cosine or 0.0])


def is_certain(span: Span) -> bool:
    """Return whether a span states a claim in its own words, so that the text model is not needed."""
    return span.coverage >= CERTAIN and span.order >= CERTAIN


def _unsure(claim: Claim, spans: Sequence[Span]) -> list[str]:
    if not spans or (is_certain(spans[0]) and spans[0].first == spans[0].last):
        return []
    return [claim.core, *(_flat(span) for span in spans)]


def _flat(span: Span) -> str:
    return " ".join(span.text.split())
