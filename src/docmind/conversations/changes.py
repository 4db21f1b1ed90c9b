"""The answer to what changed between the versions of a document: by their comparison, with quotes of both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from docmind.answers import Language, page_source
from docmind.documents import Catalog, Words, compare_documents, versions_in
from docmind.errors import DamagedError
from docmind.records.answers import Source
from docmind.records.comparison import Change, ChangeSide, ComparedDocument
from docmind.records.documents import DocumentInfo
from docmind.rich_text import clip, one_line
from docmind.wording import A_, date, number_text, say

TOLD = 8  # changes of an answer
MOST_PAGES = 400  # of either version: more take longer than an answer may
_TEXT = 160  # characters of a text beside its quote
_KINDS = {
    "added": A_("Added: {words}"),
    "removed": A_("Removed: {words}"),
    "changed": A_("Changed: {words}"),
    "moved": A_("Moved: {words}"),
}


def versions_meant(documents: Sequence[DocumentInfo], meant: Sequence[str], version: int) -> tuple[str, ...]:
    """Return the earlier and the later version that a question compares; nothing where it is not one series.

    `meant` are the documents that were named, all where there are none. `version` is the number of the later one,
    counted from 1, and 0 for the newest.
    """
    series = {info.series for info in documents if info.series and (not meant or info.doc_id in meant)}
    if len(series) != 1:
        return ()
    (one,) = series
    versions = versions_in(info for info in documents if info.series == one).get(one, [])[::-1]
    at = (version or len(versions)) - 1
    if len(versions) < 2 or not 1 <= at < len(versions) or max(info.pages for info in versions) > MOST_PAGES:
        return ()
    return versions[at - 1].doc_id, versions[at].doc_id


def changes_told(catalog: Catalog, doc_ids: tuple[str, ...], language: Language) -> tuple[str, list[Source | str], str]:
    """Return the words before the changes of two versions, the changes with their quotes, and what is left out.

    Raises `NotFoundError`, `DamagedError`.
    """
    before, after = doc_ids
    comparison = compare_documents(catalog, before, after)
    names = {"before": _named(comparison.before, language), "after": _named(comparison.after, language)}
    changes = comparison.changes
    if not changes:
        return say(language, "{before} and {after} say the same.").format(**names), [], ""
    parts: list[Source | str] = []
    for change in changes[:TOLD]:
        parts.append(_told(change, language))
        for document, side in ((comparison.before, change.before), (comparison.after, change.after)):
            if side.text and not (change.kind == "moved" and side is change.before):
                parts.append(_source(catalog, document, side))
    lead, left = say(language, "From {before} to {after}, this changed:").format(**names), len(changes) - TOLD
    more = say(language, "And {n} more changes.").format(n=number_text(left, code=language)) if left > 0 else ""
    return lead, parts, more


def _named(document: ComparedDocument, language: Language) -> str:
    added = datetime.fromtimestamp(document.added_at_ms / 1000, UTC).astimezone()
    day = datetime.fromisoformat(document.dated) if document.dated else added
    return f"{one_line(document.document)} ({date(day, language)})"


def _told(change: Change, language: Language) -> str:
    texts = [clip(side.text, _TEXT) for side in (change.before, change.after) if side.text]
    if change.kind == "moved":
        del texts[1:]
    return say(language, _KINDS[change.kind]).format(words=" → ".join(texts))


def _source(catalog: Catalog, document: ComparedDocument, side: ChangeSide) -> Source:
    """Return the statement around a change as a quote of its page; the words alone where they stand on two pages."""
    place = side.places[0]
    page = catalog.page(document.doc_id, place.page_no)
    start, end = place.start, place.end
    around = re.compile(r"\s+".join(map(re.escape, side.statement.split())))
    found = next((one for one in around.finditer(page.text) if one.start() <= start and end <= one.end()), None)
    if found is not None:
        start, end = found.span()
    try:
        boxes = Words.unpack(page.words).boxes_of(start, end)
    except DamagedError:
        boxes = place.boxes
    return page_source(0, document.document, page, quote=page.text[start:end], boxes=boxes)
