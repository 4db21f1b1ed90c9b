"""Whether the numbers of a claim stand in a span of a page: there at all, in the same place, with the same year."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal

from docmind.agent.alignment import Claim, Leaf, Span, Unit
from docmind.agent.figures import Figure, agree
from docmind.agent.polarity import tokens
from docmind.agent.sentences import is_row
from docmind.embed.bm25 import fold

Standing = Literal["stand", "lack", "differ"]
"""All there; one missing; one that is another there."""

HEADINGS = 40  # units back to the years above a table
_RESPECTIVELY = re.compile(r"\b(?:respectively|respectivamente)\b")
_COMPARED, _SWAPPED, _FRAME = 90, 3, 4  # words
_AROUND = 3  # words on each side that tell a number's place
_CLEARLY = 2  # words by which another number must fit better


def numbers_stand(claim: Claim, span: Span) -> Standing:
    """Whether every number of a claim stands in its span, in the same role.

    A number may be found beside the span, in the file's name, or as a year above a table's columns, but only where the
    span has no other number in its stead.
    """
    wanted = [figure for figure in claim.figures if figure.is_required]
    if not wanted:
        return "stand"
    leaf = span.leaf
    core = leaf.units[span.core].figures
    if all(is_row(unit.text) for unit in leaf.units[span.first : span.last + 1]):
        return _in_row(wanted, core, leaf, span.core)
    held = [figure for unit in leaf.units[span.first : span.last + 1] for figure in unit.figures]
    near = [figure for unit in neighbours(span) for figure in unit.figures] + leaf.label_figures
    spare = [figure for figure in core if not any(agree(one, figure, leaf.scales) for one in claim.figures)]
    for figure in wanted:
        if any(agree(figure, other, leaf.scales) for other in core):
            continue
        if any(_is_like(figure, other) for other in spare) and not _fits(claim, figure, span):
            return "differ" if _is_exchanged(claim, span) or not _in_place(claim, span, wanted) else "lack"
        if not any(agree(figure, other, leaf.scales) for other in [*held, *near]):
            return "differ" if _is_exchanged(claim, span) else "lack"
    same = not _is_exchanged(claim, span) and _in_place(claim, span, wanted) and _paired(claim, held, span)
    return "stand" if same else "differ"


def _in_row(wanted: Sequence[Figure], row: Sequence[Figure], leaf: Leaf, at: int) -> Standing:
    """Whether all numbers stand in one row of a table, and the years in the head of their columns."""
    heads = _years_above(leaf, at)
    lacking = [figure for figure in wanted if not any(agree(figure, other, leaf.scales) for other in row)]
    if any(not any(agree(figure, other) for other in [*heads, *leaf.label_figures]) for figure in lacking):
        return "lack"
    return "stand" if not heads or _in_column(wanted, row, heads, leaf.scales) else "differ"


def _is_exchanged(claim: Claim, span: Span) -> bool:
    """Whether the claim has another number where the span has one, and the same words around it."""
    offset = span.bounds[0]
    units = span.leaf.units[span.first : span.last + 1]
    there = [(unit.start - offset + f.start, unit.start - offset + f.end, f) for unit in units for f in unit.figures]
    left = _with_figures(claim.text, [(f.start, f.end, f) for f in claim.figures])[:_COMPARED]
    right = _with_figures(span.text, there)[: 2 * _COMPARED]
    a, b = [key for key, _ in left], [key for key, _ in right]
    steps = SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    for at, (step, i1, i2, j1, j2) in enumerate(steps):
        if step != "replace" or i2 - i1 > _SWAPPED or j2 - j1 > _SWAPPED:
            continue
        before = steps[at - 1][2] - steps[at - 1][1] if at else 0
        after = steps[at + 1][2] - steps[at + 1][1] if at + 1 < len(steps) else 0
        if not ((before >= 2 or i1 == 0) and (after >= 2 or i2 == len(a)) and before + after >= _FRAME):
            continue
        new = [figure for _, figure in left[i1:i2] if figure]
        old = [figure for _, figure in right[j1:j2] if figure]
        if new and old and not any(agree(one, other, span.leaf.scales) for one in new for other in old):
            return True
    return False


def _with_figures(text: str, found: Sequence[tuple[int, int, Figure]]) -> list[tuple[str, Figure | None]]:
    """Words in order, each number as one of them, by its value."""
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


def neighbours(span: Span) -> list[Unit]:
    """The unit before a span and the one after it."""
    units = span.leaf.units
    return [*units[max(0, span.first - 1) : span.first], *units[span.last + 1 : span.last + 2]]


def _years_above(leaf: Leaf, first: int) -> list[Figure]:
    """The years in the nearest unit above that has several."""
    for unit in reversed(leaf.units[max(0, first - HEADINGS) : first]):
        years = [figure for figure in unit.figures if figure.is_year]
        if len(years) >= 2:
            return years
    return []


def _in_column(
    wanted: Sequence[Figure], held: Sequence[Figure], years: Sequence[Figure], scales: tuple[float, ...]
) -> bool:
    """Whether the numbers of a row stand below the years that a claim gives them."""
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
    """Whether numbers keep their years: where a page has as many of one kind as it has years, the first goes with the
    first. `Respectively` does the same for other numbers."""
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
            own = [f for f in claim.figures if not f.is_year and f.unit == unit and f not in asked]
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
    """Whether no other number of the span fits a number's place in the claim clearly better than itself."""
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
    """Whether a number stands in the span among the words that it has in the claim."""
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
