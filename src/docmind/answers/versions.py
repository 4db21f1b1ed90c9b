"""Versions of a document in answers: which of those found are superseded, and what an earlier one says instead."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import SequenceMatcher

from docmind.documents import Version
from docmind.embedding import words
from docmind.records.answers import Source
from docmind.records.search import SearchResult
from docmind.wording import _, date

_ALIKE = 0.6  # share of words in common, from which on a passage is the same statement in another version


@dataclass(frozen=True, slots=True)
class Earlier:
    """A statement of an earlier version that differs from the one that is quoted; `lead` says whose it is."""

    lead: str
    source: Source


def superseded(found: Mapping[str, Version]) -> set[str]:
    """Return those of the documents found of which a newer version was found too."""
    return {
        one.doc_id
        for one in found.values()
        if any(other.series == one.series and other.is_after(one) for other in found.values())
    }


def without(found: SearchResult, doc_ids: Collection[str]) -> SearchResult:
    """Return the text search without the hits of these documents."""
    hits = tuple(hit for hit in found.ranked_by_words if hit.doc_id not in doc_ids)
    return SearchResult(found.query, hits, found.degraded, found.timings_ms, found.nearest_cosine)


def most_alike(quote: str, passages: Iterable[str]) -> int | None:
    """Return the place of the passage that states the same as the quote; None where none is alike, or one is equal."""
    said = words(quote)
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(said)
    best, likeness = None, _ALIKE
    for at, passage in enumerate(passages):
        matcher.set_seq1(words(passage))
        if matcher.real_quick_ratio() < likeness or matcher.quick_ratio() < likeness:
            continue
        alike = matcher.ratio()
        if alike == 1.0:
            return None
        if alike >= likeness:
            best, likeness = at, alike
    return best


def lead_of(version: Version) -> str:
    """Return the words before what an earlier version says."""
    added = datetime.fromtimestamp(version.added_at_ms / 1000, UTC).astimezone()
    day = datetime.fromisoformat(version.dated) if version.dated else added
    return _("An earlier version, {document} of {date}, says:").format(document=version.document, date=date(day))
