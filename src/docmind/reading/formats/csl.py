"""Bibliographies in CSL-JSON, as Zotero and other programs for references write it."""

from __future__ import annotations

import html
import json
import re
from typing import Any, cast

from docmind.errors import CorruptFileError
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.bibliography import Entry, bare_doi, blocks_of_entries, year_of
from docmind.reading.formats.text import decode
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Upload
from docmind.wording import _

_TAG = re.compile(r"</?[a-z]+(?:\s[^<>]*)?>", re.IGNORECASE)
_SHOWN = {
    "keyword": "Keywords", "note": "Note", "annote": "Note", "ISBN": "ISBN", "ISSN": "ISSN", "language": "Language",
    "edition": "Edition", "publisher-place": "Place", "collection-title": "Series", "genre": "Genre",
    "medium": "Medium", "event-title": "Event", "event": "Event", "archive": "Archive", "version": "Version",
}  # fmt: skip


def open_csl(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a bibliography. Raises `CorruptFileError`, `TooLargeError` or `EmptyFileError`."""
    try:
        given = json.loads(decode(upload, rules))
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(_("{name} is broken or was cut off.").format(name=upload.name)) from error
    items = cast("list[Any]", given if isinstance(given, list) else _mapping(given).get("items") or [])
    entries = [_entry(_mapping(item)) for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    return LaidOut(blocks_of_entries(entries), facts_of(upload.name), upload.name, rules)


def _entry(item: dict[str, Any]) -> Entry:
    dates = {name: _date(_mapping(item.get(name))) for name in ("issued", "accessed")}
    more = {name: text for field, name in _SHOWN.items() if (text := _text(item.get(field)))}
    if dates["issued"] != (year := year_of(dates["issued"])):
        more = {"Date": dates["issued"], **more}
    if dates["accessed"]:
        more["Accessed"] = dates["accessed"]
    return Entry(
        key=_text(item.get("citation-key")) or _text(item.get("id")),
        type=_text(item.get("type")).replace("-", " "),
        title=_text(item.get("title")),
        authors=_names(item.get("author")),
        editors=_names(item.get("editor")),
        year=year,
        venue=_text(item.get("container-title")),
        publisher=_text(item.get("publisher")),
        volume=_text(item.get("volume")),
        number=_text(item.get("issue")) or _text(item.get("number")),
        pages=_text(item.get("page")).replace("-", "–"),
        doi=bare_doi(_text(item.get("DOI"))),
        url=_text(item.get("URL")),
        abstract=_text(item.get("abstract")),
        more=more,
    )


def _names(value: Any) -> tuple[str, ...]:
    people = map(_mapping, cast("list[Any]", value) if isinstance(value, list) else [])
    parts = ("given", "dropping-particle", "non-dropping-particle", "family", "suffix", "literal")
    return tuple(filter(None, (" ".join(filter(None, (_text(one.get(part)) for part in parts))) for one in people)))


def _date(value: dict[str, Any]) -> str:
    """Return a date year first; a span of two as its beginning."""
    spans = value.get("date-parts")
    first = cast("list[Any]", spans)[0] if isinstance(spans, list) and spans else None
    parts = [_text(part) for part in cast("list[Any]", first)] if isinstance(first, list) else []
    said = "-".join(part.zfill(2) for part in parts[:3] if part)
    return said or _text(value.get("raw")) or _text(value.get("literal"))


def _text(value: Any) -> str:
    """Return a value on one line: the tags of a text in HTML are left out."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    text = html.unescape(_TAG.sub("", value)) if isinstance(value, str) else ""
    return " ".join(text.split())


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
