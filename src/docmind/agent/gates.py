"""What no likeness makes up for: a number, a name or a "not" of a claim that a page does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from docmind.agent import naming
from docmind.agent.alignment import Claim, Leaf, Span, Unit
from docmind.agent.polarity import is_flipped, tokens
from docmind.agent.quantities import Standing, neighbours, numbers_stand
from docmind.embed.bm25 import fold, prefix, words

_IN_LABEL = 4  # letters of a name that may be part of a file's name: `Ulta` in `ULTABEAUTY_2023`
_GENERIC = frozenset("company companhia compania empresa corporation group board".split())  # noqa: SIM905


class Fault(NamedTuple):
    """What a span does not bear out. `contradicts`: it says something else, and is not only silent."""

    kind: Literal["number", "name", "negation"]
    contradicts: bool


def fault(claim: Claim, span: Span, known: set[str]) -> Fault | None:
    """What of a claim its span does not bear out; None where nothing speaks against it.

    `known` are words that stand with a capital inside sentences of the retrieved pages.
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
    edits = _edits(claim, leaf)
    is_swapped = any(naming.is_replaced(claim.core, text, edits=edits) for text in (span.text, core))
    if not claim.names:
        return "differ" if is_swapped else "stand"
    label = naming.compact(leaf.label)
    units = leaf.units[span.first : span.last + 1]
    near = set().union(*(unit.names for unit in [*units, *neighbours(span), *leaf.units[:2]])) | leaf.label_names
    for at, name in enumerate(claim.names):
        if naming.meets(name.key, near, edits=edits) or (len(name.key) >= _IN_LABEL and name.key in label):
            continue
        elsewhere = naming.meets(name.key, leaf.names, edits=edits)
        if not name.is_sure and not _begins_a_name(claim, at, known):
            if is_swapped and not elsewhere:
                return "differ"
            continue
        if not elsewhere or is_swapped or _has_other_names(claim, units):
            return "differ" if is_swapped else "lack"
    return "differ" if is_swapped else "stand"


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


def _has_other_names(claim: Claim, units: Sequence[Unit]) -> bool:
    """Whether the span names what the claim does not."""
    said = naming.words_of(claim.text) | {prefix(word) or word for word in words(fold(claim.text))}
    return any(
        name.is_sure
        and name.key not in said
        and name.key not in _GENERIC
        and (prefix(name.key) or name.key) not in said
        for unit in units
        for name in naming.named(unit.text)
    )
