"""Faults of sentences that a person wrote, beside those of a model's: counts, joined names, subjects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from docmind.answers.align import Claim, Span
from docmind.answers.compound import PRONOUN
from docmind.answers.names import Edits, Name, meets, named
from docmind.answers.passages import has_verb
from docmind.embedding import prefix, words
from docmind.language import Figure, agree

_THE = r"(?:(?:the|a|o|os|as|la|las|los|le|les|den|der)\s+)?"
_NOUN = re.compile(r"\s+([^\W\d_]{3,})")
_ALL = re.compile(rf"\b(?:all|every|todos|todas|alle[nr]?|s[äa]mtliche[nr]?|tous|toutes)\s+{_THE}$", re.IGNORECASE)
_OF = re.compile(rf"\s+(?:out\s+)?(?:of|de|d[oa]s|von|sur|sobre)\s+{_THE}", re.IGNORECASE)
_JOINED = re.compile(rf"\s*\(?(?:of|from|at|with|de|d[aeo]|del|von|vom|du)\s+{_THE}", re.IGNORECASE)
FORM = 4  # letters that the forms of a word share
_REST = 0.6  # of a claim's words but its subject, from which a sentence says the same of another one
_FURTHER = 2  # words that a claim must have beside its subject
_SUBJECT = re.compile(rf"[^\w]*{_THE}([^\W\d_]+)", re.IGNORECASE)
_WE = re.compile(
    r"\b(?:i|we|you|our|my|wir|ich|unsere?|nous|notre|je|nós|nosso|nossa|eu|nosotros|nuestr[oa]|yo)\b", re.IGNORECASE
)
_BEHIND = 2  # words of names right behind a name
_BEFORE = 24  # characters before a number in which `all` is looked for
_ENDED = re.compile(r"[.!?…;:][\"”’»)\]*_]{0,6}$")


def counts_otherwise(claim: Claim, span: Span) -> bool:
    """Return whether a span counts another number of what a claim counts, or says `7 of 8` where it says `all 8`."""
    held = _placed(span)
    for figure in claim.figures:
        if not figure.is_required or figure.is_year or figure.is_month:
            continue
        noun = _noun_behind(claim.text, figure)
        same = [one for one in held if noun and _noun_behind(span.text, one) == noun]
        if same and not any(agree(figure, one, span.leaf.scales) for one in same):
            return True
        is_all = _ALL.search(claim.text[max(0, figure.start - _BEFORE) : figure.start]) is not None
        if is_all and any(_is_some(span, one, held, figure) for one in held):
            return True
    return False


def _placed(span: Span) -> list[Figure]:
    """Return the numbers of a span at their places in its text."""
    begin = span.bounds[0]
    return [
        replace(one, start=one.start + unit.start - begin, end=one.end + unit.start - begin)
        for unit in span.leaf.units[span.first : span.last + 1]
        for one in unit.figures
    ]


def _noun_behind(text: str, figure: Figure) -> str:
    """Return the beginning of the word right behind a number; empty where none is."""
    found = _NOUN.match(text, figure.end)
    keys = words(found[1]) if found is not None else []
    return (prefix(keys[0]) or keys[0].rstrip("s")) if keys else ""


def _is_some(span: Span, one: Figure, held: Sequence[Figure], whole: Figure) -> bool:
    """Return whether a number is a part of the whole: `7 out of 8`."""
    behind = next((other for other in held if other.start > one.start), None)
    if behind is None or not agree(whole, behind, span.leaf.scales) or agree(one, behind, span.leaf.scales):
        return False
    return _OF.fullmatch(span.text, one.end, behind.start) is not None


def names_apart(claim: Claim, span: Span, edits: Edits) -> bool:
    """Return whether a span does not say of whom it speaks, or has another name right behind a name of the claim.

    A line without a verb takes no name from the lines beside it; `Ana Ruiz of Acme` is not told by `Ana Ruiz, Beta`.
    """
    there = [name for name in named(span.text) if not name.is_code]
    own = set().union(*(unit.names for unit in span.leaf.units[span.first : span.last + 1]))
    is_line = not _ENDED.search(span.text.rstrip()) and not has_verb(span.text)
    said = [name for name in claim.names if name.start] if is_line else []
    if any(not meets(name.key, own | span.leaf.label_names, edits=edits) for name in said):
        return True
    return any(_is_with_another(first, second, there, edits) for first, second in _joined_names(claim))


def _joined_names(claim: Claim) -> list[tuple[Name, list[Name]]]:
    """Return the last word of each name that another name is joined to, with the words of that other name."""
    found: list[tuple[Name, list[Name]]] = []
    for at, name in enumerate(claim.names[:-1]):
        if not _JOINED.fullmatch(claim.text, name.end, claim.names[at + 1].start):
            continue
        others = [claim.names[at + 1]]
        for one in claim.names[at + 2 :]:
            gap = claim.text[others[-1].end : one.start]
            if len(gap.split()) > 2 or "," in gap:
                break
            others.append(one)
        found.append((name, others))
    return found


def _is_with_another(first: Name, second: Sequence[Name], there: Sequence[Name], edits: Edits) -> bool:
    """Return whether other names than the second follow the first one wherever it stands."""
    at = [at for at, name in enumerate(there) if meets(first.key, {name.key}, edits=edits)]
    behind = [there[one + 1 : one + 1 + _BEHIND] for one in at if there[one + 1 :]]
    own = {name.key for name in second}
    return bool(behind) and not any(meets(name.key, own, edits=edits) for names in behind for name in names)


def said_of_another(claim: Claim, span: Span) -> float:
    """Return the share of a claim's words that a page says of another subject, while the claim's own stands elsewhere.

    "The tenant insures the house" is not told by "The tenant keeps the garden. The landlord insures the house." A
    subject that the page does not have may be another word for the same one. It is 0 below 60% of the words.
    """
    leaf, unit = span.leaf, span.leaf.units[span.core]
    own, other, core = _subject(claim.core, claim.words), _subject(unit.text, unit.content), unit.content
    if not own or not other or _is_in(own, core) or _is_in(other, claim.words):
        return 0.0
    said = sum(_is_in(word, core) for word in claim.words[1:])
    share = said / max(_FURTHER, len(claim.words) - 1)
    return share if share >= _REST and any(_is_in(own, one.content) for one in leaf.units) else 0.0


def _subject(text: str, content: Sequence[str]) -> str:
    """Return the first word of content; empty for a pronoun, and behind other words than an article."""
    first = _SUBJECT.match(text)
    if first is None or not content or words(first[1])[:1] != content[:1]:
        return ""
    return "" if _WE.fullmatch(first[1]) or PRONOUN.fullmatch(first[1].lower()) else content[0]


def _is_in(word: str, others: Sequence[str]) -> bool:
    """Return whether a word or another form of it is among others."""
    return word in others or any(word[:FORM] == one[:FORM] for one in others if len(word) >= FORM <= len(one))
