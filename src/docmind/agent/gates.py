"""What no likeness makes up for: a number, a name or a "not" of a claim that a page does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from docmind.agent import naming
from docmind.agent.alignment import Claim, Leaf, Span
from docmind.agent.figures import Figure, agree
from docmind.agent.polarity import is_flipped, tokens
from docmind.agent.sentences import is_row
from docmind.embed.bm25 import fold, prefix, words

Fault = Literal["number", "name", "negation"]

HEADINGS = 40  # units back to the years above a table
_AROUND = 3  # words on each side that tell a number's place
_CLEARLY = 2  # words by which another number must fit better


def fault(claim: Claim, span: Span, known: set[str]) -> Fault | None:
    """What of a claim its span does not bear out; None where nothing speaks against it.

    `known` are words that stand with a capital inside sentences of the retrieved pages.
    """
    if not _numbers_stand(claim, span):
        return "number"
    if not _names_stand(claim, span, known):
        return "name"
    if is_flipped(
        claim.tokens, tokens(span.text), claim.language or span.leaf.record.language, span.leaf.record.language
    ):
        return "negation"
    return None


def _numbers_stand(claim: Claim, span: Span) -> bool:
    wanted = [figure for figure in claim.figures if figure.is_required]
    if not wanted:
        return True
    leaf = span.leaf
    held = [figure for unit in leaf.units[span.first : span.last + 1] for figure in unit.figures]
    is_table = all(is_row(unit.text) for unit in leaf.units[span.first : span.last + 1])
    near = [figure for unit in _neighbours(span) for figure in unit.figures] + leaf.label_figures
    heads = _years_above(leaf, span.first) if is_table else []
    spare = [figure for figure in held if not any(agree(one, figure, leaf.scales) for one in claim.figures)]
    for figure in wanted:
        if any(agree(figure, other, leaf.scales) for other in held):
            continue
        if not is_table and any(
            other.is_year == figure.is_year and other.unit == figure.unit and other.is_month == figure.is_month
            for other in spare
        ):
            return False  # the span has another number in its stead
        if not any(agree(figure, other, leaf.scales) for other in [*near, *heads]):
            return False
    return _in_place(claim, span, wanted) and (not heads or _in_column(wanted, held, heads, leaf.scales))


def _neighbours(span: Span) -> list:
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
    """Whether the numbers of a row stand below the year that a claim gives them."""
    asked = [figure for figure in wanted if figure.is_year and not any(agree(figure, other) for other in held)]
    values = [figure for figure in held if not figure.is_month]
    if not asked or len(values) < len(years):
        return True
    below = [
        years[at % len(years)]
        for at, value in enumerate(values)
        if (at < len(years) or len(values) % len(years) == 0) and any(agree(figure, value, scales) for figure in wanted)
    ]
    return not below or all(any(agree(year, head) for head in below) for year in asked)


def _in_place(claim: Claim, span: Span, wanted: Sequence[Figure]) -> bool:
    """Whether no other number of the span fits a number's place in the claim clearly better than itself."""
    text = span.text
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


def _names_stand(claim: Claim, span: Span, known: set[str]) -> bool:
    if not claim.names:
        return True
    leaf = span.leaf
    edits = _edits(claim, leaf)
    units = leaf.units[span.first : span.last + 1]
    near = set().union(*(unit.names for unit in [*units, *_neighbours(span), *leaf.units[:2]])) | leaf.label_names
    is_swapped = naming.is_replaced(claim.core, span.text)
    for at, name in enumerate(claim.names):
        if naming.meets(name.key, near, edits=edits):
            continue
        elsewhere = naming.meets(name.key, leaf.names, edits=edits)
        if not name.is_sure and not _begins_a_name(claim, at, known):
            if is_swapped and not elsewhere:
                return False
            continue
        if not elsewhere or is_swapped or _has_other_names(claim, units):
            return False
    return not is_swapped


def _edits(claim: Claim, leaf: Leaf) -> naming.Edits:
    if leaf.record.text_source == "ocr":
        return naming.ocr_edits
    if claim.language and leaf.record.language and claim.language != leaf.record.language:
        return lambda key: int(len(key) >= 5)  # Brazil, Brasil
    return naming.no_edits


def _begins_a_name(claim: Claim, at: int, known: set[str]) -> bool:
    """Whether a capital at the beginning of a sentence is that of a name."""
    name = claim.names[at]
    following = claim.names[at + 1] if at + 1 < len(claim.names) else None
    goes_on = following is not None and following.is_sure and following.start - name.end <= 1
    return goes_on or claim.text[name.end : name.end + 2] in ("'s", "’s") or name.key in known


def _has_other_names(claim: Claim, units: Sequence) -> bool:
    """Whether the span names what the claim does not."""
    said = naming.words_of(claim.text) | {prefix(word) or word for word in words(fold(claim.text))}
    return any(
        name.is_sure and name.key not in said and (prefix(name.key) or name.key) not in said
        for unit in units
        for name in naming.named(unit.text)
    )
