"""Versions of one document: files of one name, or one title, with much of the same text.

Versions share a `series`, the id of the first of them. Which of them is the newest is told by the days that they are
about where those differ, else by when they were added. A mail is no version of another one: two bills that come by mail
are alike, and both hold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cmp_to_key
from typing import Any

from docmind.documents.catalog import Catalog, Version
from docmind.errors import DamagedError
from docmind.records.documents import DocumentInfo
from docmind.storage import Connection

_ALIKE = 0.3  # Jaccard index of the trigrams of words, from which on two files of one name are versions
_SHORT, _ALIKE_IF_SHORT = 200, 0.75  # words of a short text, and the same of its words without numbers
_COMPARED = 5  # documents of that name, the latest first
_READ = 50  # pages of each
_SENT_ONCE = "mail"  # the kind of document that has no versions
_LEAST_TITLE = 2  # words of a title by which files of different names are compared
_MARKS = re.compile(
    r"(?<![\s_.-])[\s_.-]*+(?:\(\d{1,2}\)|(?<![^\W_])(?:copy|copia|cópia|kopie|copie|final|new|novo|nuevo|neu|draft|rascunho|borrador|"
    r"(?:v|ver|version|rev|r)[ ._-]?\d{1,3}(?:\.\d{1,3})?))$"
)
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"\w+")


def name_of_series(document: str) -> str:
    """Return the name of a file without its ending and what marks a version: "Lease (2).docx" is "lease"."""
    stem, dot, _ending = document.casefold().rpartition(".")
    name = stem if dot and stem else document.casefold()
    while (shorter := _MARKS.sub("", name)) and shorter != name:
        name = shorter
    return " ".join(name.split())


def earlier_version(catalog: Catalog, db: Connection, doc_id: str) -> DocumentInfo | None:
    """Return the document outside the bin of which a document is a version, the most alike one; None for none."""
    info = catalog.document(doc_id)
    if info.kind == _SENT_ONCE:
        return None
    rows = db.execute(
        "SELECT doc_id, document, CASE title WHEN '' THEN heading ELSE title END, pages FROM documents"
        " WHERE status = 'ready' AND deleted_at_ms IS NULL AND doc_id <> ? AND kind <> ?"
        " ORDER BY added_at_ms DESC, doc_id",
        (doc_id, _SENT_ONCE),
    ).fetchall()
    name, title = name_of_series(info.document), info.shown_title.casefold()
    is_titled = len(title.split()) >= _LEAST_TITLE
    found = [
        (other, pages)
        for other, document, its_title, pages in rows
        if name_of_series(document) == name or (is_titled and its_title.casefold() == title)
    ][:_COMPARED]
    own = _words(catalog, doc_id, info.pages) if found else []
    best, likeness = None, _ALIKE
    for other, pages in found:
        try:
            alike = _likeness(own, _words(catalog, other, pages))
        except DamagedError:  # told by the doctor
            continue
        if alike >= likeness and (best is None or alike > likeness):
            best, likeness = other, alike
    return catalog.document(best) if best is not None else None


def join_series(db: Connection, doc_id: str, earlier: DocumentInfo) -> None:
    """Note in the caller's transaction that a document is a version of another."""
    series = earlier.series or earlier.doc_id
    db.execute("UPDATE documents SET series = ? WHERE doc_id IN (?, ?)", (series, doc_id, earlier.doc_id))


def earlier_versions(catalog: Catalog, doc_id: str) -> list[DocumentInfo]:
    """Return the earlier versions of a document outside the bin, the newest first. Raises `NotFoundError`."""
    series = catalog.document(doc_id).series
    if not series:
        return []
    there = {info.doc_id: info for info in catalog.in_series(series)}
    versions = catalog.versions(list(there))
    older = [one for one in versions.values() if versions[doc_id].is_after(one)]
    older.sort(key=lambda one: (one.dated, one.added_at_ms), reverse=True)
    return [there[one.doc_id] for one in older]


def versions_in(documents: Iterable[DocumentInfo]) -> dict[str, list[DocumentInfo]]:
    """Return the documents of each series of which there are several, the newest first."""
    series: dict[str, list[DocumentInfo]] = {}
    for info in documents:
        if info.series:
            series.setdefault(info.series, []).append(info)
    several = {name: infos for name, infos in series.items() if len(infos) > 1}
    return {name: sorted(infos, key=cmp_to_key(_newest_first)) for name, infos in several.items()}


def _newest_first(one: DocumentInfo, other: DocumentInfo) -> int:
    return -1 if _version(one).is_after(_version(other)) else 1


def _version(info: DocumentInfo) -> Version:
    return Version(info.doc_id, info.document, info.series, info.dated, info.added_at_ms)


def _words(catalog: Catalog, doc_id: str, pages: int) -> list[str]:
    read = catalog.pages((doc_id, page_no) for page_no in range(1, min(pages, _READ) + 1))
    return [word for page in read.values() for word in _WORD.findall(page.text.casefold())]


def _likeness(one: list[str], other: list[str]) -> float:
    """Return the Jaccard index of trigrams; of a short text that of its words, whatever its numbers, if that is high.

    A few changed prices leave a short list hardly a trigram.
    """
    trigrams = _jaccard(Counter(set(_trigrams(one))), Counter(set(_trigrams(other))))
    if max(len(one), len(other)) > _SHORT:
        return trigrams
    plain = _jaccard(*(Counter(word for word in text if not _DIGIT.search(word)) for text in (one, other)))
    return max(trigrams, plain if plain >= _ALIKE_IF_SHORT else 0.0)


def _trigrams(words: list[str]) -> Iterable[tuple[str, ...]]:
    return zip(words, words[1:], words[2:], strict=False)


def _jaccard(one: Counter[Any], other: Counter[Any]) -> float:
    together = (one | other).total()
    return (one & other).total() / together if together else 0.0
