"""Versions of one document: files of one name, or one title, with much of the same text.

Versions share a `series`, the id of the first of them. Which of them is the newest is told by the days that they are
about where those differ, else by when they were added.
"""

from __future__ import annotations

import re

from docmind.documents.catalog import Catalog
from docmind.errors import DamagedError
from docmind.records.documents import DocumentInfo
from docmind.storage import Connection

_ALIKE = 0.3  # Jaccard index of the trigrams of words, from which on two files of one name are versions
_COMPARED = 5  # documents of that name, the latest first
_READ = 50  # pages of each
_LEAST_TITLE = 2  # words of a title by which files of different names are compared
_MARKS = re.compile(
    r"[\s_.-]*(?:\(\d{1,2}\)|(?<![^\W_])(?:copy|copia|cópia|kopie|copie|final|new|novo|nuevo|neu|draft|rascunho|borrador|"
    r"(?:v|ver|version|rev|r)[ ._-]?\d{1,3}(?:\.\d{1,3})?))$"
)
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
    rows = db.execute(
        "SELECT doc_id, document, CASE title WHEN '' THEN heading ELSE title END, pages FROM documents"
        " WHERE status = 'ready' AND deleted_at_ms IS NULL AND doc_id <> ? ORDER BY added_at_ms DESC, doc_id",
        (doc_id,),
    ).fetchall()
    name, title = name_of_series(info.document), info.shown_title.casefold()
    is_titled = len(title.split()) >= _LEAST_TITLE
    found = [
        (other, pages)
        for other, document, its_title, pages in rows
        if name_of_series(document) == name or (is_titled and its_title.casefold() == title)
    ][:_COMPARED]
    own = _trigrams(catalog, doc_id, info.pages) if found else frozenset[tuple[str, ...]]()
    best, likeness = None, _ALIKE
    for other, pages in found:
        try:
            alike = _jaccard(own, _trigrams(catalog, other, pages))
        except DamagedError:  # told by the doctor
            continue
        if alike >= likeness and (best is None or alike > likeness):
            best, likeness = other, alike
    return catalog.document(best) if best is not None else None


def join_series(db: Connection, doc_id: str, earlier: DocumentInfo) -> None:
    """Note in the caller's transaction that a document is a version of another."""
    series = earlier.series or earlier.doc_id
    db.execute("UPDATE documents SET series = ? WHERE doc_id IN (?, ?)", (series, doc_id, earlier.doc_id))


def _trigrams(catalog: Catalog, doc_id: str, pages: int) -> frozenset[tuple[str, ...]]:
    read = catalog.pages((doc_id, page_no) for page_no in range(1, min(pages, _READ) + 1))
    words = [word for page in read.values() for word in _WORD.findall(page.text.casefold())]
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def _jaccard(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    together = len(one | other)
    return len(one & other) / together if together else 0.0
