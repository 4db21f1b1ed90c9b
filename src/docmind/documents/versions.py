"""Versions of one document: files of one name, or one title, with much of the same text and the same head.

Versions share a `series`, the id of the first of them. Which of them is the newest is told by the days that they are
about where those differ, else by when they were added. What a person says of two documents stands above what is found
(`said_versions`). A mail is no version of another one: two bills that come by mail are alike, and both hold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cmp_to_key

from docmind.documents.catalog import Catalog, Version
from docmind.documents.likeness import (
    ALIKE,
    ALIKE_OF_OTHER_DAY,
    Front,
    are_of_other_days,
    front_of,
    likeness,
    tells_apart,
    words_of,
)
from docmind.errors import DamagedError
from docmind.records.documents import DocumentInfo
from docmind.storage import Connection

_FRONTS, _COMPARED = 100, 5  # documents of that name or title, the latest first: heads, and texts with no other head
_READ = 50  # pages of each
_SENT_ONCE = "mail"  # the kind of document that has no versions
_LEAST_TITLE = 5  # letters of a title by which files of different names are compared
_COLUMNS = "doc_id, document, CASE title WHEN '' THEN heading ELSE title END, series, language"
_MARKS = re.compile(
    r"(?<![\s_.-])[\s_.-]*+(?:\(\d{1,2}\)|(?<![^\W_])(?:copy|copia|cópia|kopie|copie|final|new|novo|nuevo|neu|draft|rascunho|borrador|"
    r"(?:v|ver|version|rev|r)[ ._-]?\d{1,3}(?:\.\d{1,3})?))$"
)
_COPY = re.compile(r"(?<!\s)(?:\s*+\(\d{1,2}\)){1,9}$")
_DATE = re.compile(r"(?<!\d)(?:19|20)\d\d(?:[-_. ]?\d\d){0,2}(?!\d)|(?<!\d)\d\d[-_.]\d\d[-_.](?:19|20)\d\d(?!\d)")
_NUMBER = re.compile(r"\d+")
_ONE_WORD = re.compile(r"[ _-]+[^\W\d_]+")  # behind a name, whatever its language: "invoice 14 corrected"


def name_of_series(document: str) -> str:
    """Return the name of a file without its ending and what marks a version: "Lease (2).docx" is "lease"."""
    stem, dot, _ending = document.casefold().rpartition(".")
    name = stem if dot and stem else document.casefold()
    while (shorter := _MARKS.sub("", name)) and shorter != name:
        name = shorter
    return " ".join(name.split())


def _is_marked(document: str) -> bool:
    """Return whether the name of a file says that it is a version; `(2)` is what a browser makes of any second file."""
    name = _COPY.sub("", document.casefold().rpartition(".")[0])
    return _MARKS.search(name) is not None


def numbered_apart(document: str, other: str) -> bool:
    """Return whether two names of files are one but for a number, no year or day: `minutes 3`, `minutes 4`."""
    names = [name_of_series(name) for name in (document, other)]
    plain = [_DATE.sub("", name) for name in names]
    return plain[0] != plain[1] and _NUMBER.sub("0", plain[0]) == _NUMBER.sub("0", plain[1])


@dataclass(frozen=True, slots=True)
class _Compared:
    """A document as it is compared with others."""

    doc_id: str
    document: str
    title: str
    series: str
    language: str


def earlier_version(catalog: Catalog, db: Connection, doc_id: str) -> DocumentInfo | None:
    """Return the document outside the bin of which a document is a version, the most alike one; None for none.

    None for a document of which a person said of which one it is a version.
    """
    info = catalog.document(doc_id)
    if info.kind == _SENT_ONCE or _said(db, doc_id, are_versions=True):
        return None
    own = _Compared(doc_id, info.document, info.shown_title, info.series, info.language)
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM documents WHERE status = 'ready' AND deleted_at_ms IS NULL"
        " AND doc_id <> ? AND kind <> ? ORDER BY added_at_ms DESC, doc_id",
        (doc_id, _SENT_ONCE),
    ).fetchall()
    others = [_Compared(*row) for row in rows]
    parted = _said(db, doc_id, are_versions=False)
    series = {one.series for one in others if one.doc_id in parted and one.series}
    free = (one for one in others if one.doc_id not in parted and one.series not in series)
    return _most_alike(catalog, own, [one for one in free if _may_be_versions(own, one)])


def _most_alike(catalog: Catalog, own: _Compared, others: Sequence[_Compared]) -> DocumentInfo | None:
    if not others:
        return None
    front = _front(catalog, own)
    best, most, compared = None, ALIKE, 0
    words = _words(catalog, own.doc_id)
    for other in others[:_FRONTS]:
        try:
            its = _front(catalog, other)
            are_marked = any(map(_is_marked, (own.document, other.document)))
            if numbered_apart(own.document, other.document) or tells_apart(front, its, are_marked=are_marked):
                continue
            is_strict = are_of_other_days(front, its) and not are_marked
            alike = likeness(words, _words(catalog, other.doc_id), is_strict=is_strict)
        except DamagedError:  # told by the doctor
            continue
        if is_strict and alike < ALIKE_OF_OTHER_DAY:
            continue
        if alike >= most and (best is None or alike > most):
            best, most = other.doc_id, alike
        compared += 1
        if compared == _COMPARED:
            break
    return catalog.document(best) if best is not None else None


def _may_be_versions(one: _Compared, other: _Compared) -> bool:
    is_titled = sum(map(str.isalpha, one.title)) >= _LEAST_TITLE
    shorter, longer = sorted((name_of_series(one.document), name_of_series(other.document)), key=len)
    more = longer.removeprefix(shorter) if len(shorter) >= _LEAST_TITLE else longer
    is_named_alike = shorter == longer or _ONE_WORD.fullmatch(more) is not None
    return is_named_alike or (is_titled and one.title.casefold() == other.title.casefold())


def _front(catalog: Catalog, one: _Compared) -> Front:
    page = catalog.pages([(one.doc_id, 1)]).get((one.doc_id, 1))
    text, structure = (page.text, page.structure()) if page is not None else ("", ())
    return front_of(text, structure, one.title, one.language)


def _words(catalog: Catalog, doc_id: str) -> list[str]:
    read = catalog.pages((doc_id, page_no) for page_no in range(1, _READ + 1))
    return [word for _key, page in sorted(read.items()) for word in words_of(page.text)]


def join_series(db: Connection, doc_id: str, earlier: DocumentInfo) -> None:
    """Note in the caller's transaction that a document is a version of another."""
    series = earlier.series or earlier.doc_id
    db.execute("UPDATE documents SET series = ? WHERE doc_id IN (?, ?)", (series, doc_id, earlier.doc_id))


def say_versions(db: Connection, one: DocumentInfo, other: DocumentInfo) -> None:
    """Note in the caller's transaction that a person calls two documents versions of one, with those of both series."""
    series = other.series or one.series or other.doc_id
    for each in (one, other):
        db.execute("UPDATE documents SET series = ? WHERE doc_id = ?", (series, each.doc_id))
        if each.series:
            db.execute("UPDATE documents SET series = ? WHERE series = ?", (series, each.series))
    _say(db, one.doc_id, other.doc_id, are_versions=True)


def say_no_version(db: Connection, info: DocumentInfo) -> int:
    """Note in the caller's transaction that a person calls a document no version of any in its series.

    Returns of how many it was one.
    """
    rows = db.execute(
        "SELECT doc_id FROM documents WHERE series = ? AND series <> '' AND doc_id <> ?", (info.series, info.doc_id)
    )
    others: list[str] = [row[0] for row in rows.fetchall()]
    for other in others:
        _say(db, info.doc_id, other, are_versions=False)
    db.execute("UPDATE documents SET series = '' WHERE doc_id = ?", (info.doc_id,))
    if len(others) == 1:
        db.execute("UPDATE documents SET series = '' WHERE doc_id = ?", tuple(others))
    return len(others)


def check_series(catalog: Catalog, db: Connection, series: str) -> None:
    """Find the versions among the documents of a series again, in the caller's transaction.

    Documents of the bin stay in it, and those of which a person said that they are versions.
    """
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM documents WHERE series = ? AND deleted_at_ms IS NULL AND status = 'ready'"
        " ORDER BY added_at_ms, doc_id",
        (series,),
    ).fetchall()
    joined: dict[str, str] = {}
    known: list[_Compared] = []
    for one in (_Compared(*row) for row in rows):
        said = _said(db, one.doc_id, are_versions=True) & joined.keys()
        earlier = next(iter(said), "")
        if not earlier and (found := _most_alike(catalog, one, known[::-1])) is not None:
            earlier = found.doc_id
        joined[one.doc_id] = joined[earlier] if earlier else one.doc_id
        known.append(one)
    first, sizes = next(iter(joined.values()), ""), Counter(joined.values())
    has_more = db.execute(
        "SELECT 1 FROM documents WHERE series = ? AND deleted_at_ms IS NOT NULL", (series,)
    ).fetchone()
    for doc_id, name in joined.items():
        new = series if name == first and (has_more or sizes[name] > 1) else name if sizes[name] > 1 else ""
        db.execute("UPDATE documents SET series = ? WHERE doc_id = ?", (new, doc_id))


def _say(db: Connection, one: str, other: str, *, are_versions: bool) -> None:
    db.execute("INSERT OR REPLACE INTO said_versions VALUES (?, ?, ?)", (*sorted((one, other)), are_versions))


def _said(db: Connection, doc_id: str, *, are_versions: bool) -> set[str]:
    """Return the documents that a person called versions of this one, or no versions."""
    rows = db.execute(
        "SELECT CASE doc_id WHEN ?1 THEN other ELSE doc_id END FROM said_versions"
        " WHERE (doc_id = ?1 OR other = ?1) AND are_versions = ?2",
        (doc_id, are_versions),
    )
    return {row[0] for row in rows.fetchall()}


def earlier_versions(catalog: Catalog, doc_id: str) -> list[DocumentInfo]:
    """Return the earlier versions of a document outside the bin, the newest first. Raises `NotFoundError`."""
    series = catalog.document(doc_id).series
    if not series:
        return []
    there = {info.doc_id: info for info in catalog.in_series(series)}
    versions = catalog.versions(list(there))
    older = [there[one.doc_id] for one in versions.values() if versions[doc_id].is_after(one)]
    return sorted(older, key=cmp_to_key(_newest_first))


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
