"""Bibliographies of BibTeX and BibLaTeX, with their macros, cross-references and accents of LaTeX.

An entry that is broken is read up to where it breaks, and counted; the next one is read from the line that begins it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from docmind.blocks import Block, Losses, Table
from docmind.reading.formats import Rules, facts_of
from docmind.reading.formats.bibliography import Entry, bare_doi, blocks_of_entries, whole_name, year_of
from docmind.reading.formats.latex_text import words_of_latex_text
from docmind.reading.formats.text import decode
from docmind.reading.formats.typeset import LaidOut
from docmind.records.documents import Upload

_BEGINS = re.compile(r"@\s*([A-Za-z]+)\s*([{(])")
_NEXT = re.compile(r"^[ \t]*@\s*[A-Za-z]+\s*[{(]", re.M)
_KEY = re.compile(r"\s*([^\s,{}=\"]*)\s*")
_FIELD = re.compile(r"[\s,]*([^\s,{}=\"#()]+)\s*=\s*")
_BARE = re.compile(r"[^\s,{}#\"]+")
_BRACES = re.compile(r"\\.|[{}]", re.S)
_BRACES_AND = re.compile(r"\\.|[{}]| and (?=\S)", re.IGNORECASE)
_QUOTES = re.compile(r"\\.|[{}\"]", re.S)
_MACROS_MAX = 20_000  # characters of a value that macros make
_MONTHS = {
    "jan": "January", "feb": "February", "mar": "March", "apr": "April", "may": "May", "jun": "June", "jul": "July",
    "aug": "August", "sep": "September", "oct": "October", "nov": "November", "dec": "December",
}  # fmt: skip
_DEEPEST, _MOST_XDATA = 2, 10  # entries that refer to each other, and those that one refers to
_OWN = """
crossref xdata key ids title subtitle options entryset relatedtype abstract annotation annote file keywords note pages
doi url
"""
_HELD_APART = frozenset(_OWN.split())
# What programs note for themselves.
_HOUSEKEEPING = re.compile(
    r"file|timestamp|owner|groups|date-(?:added|modified)|(?:creation|modification)date|bdsk-.*|__markedentry|"
    r"options|crossref|xdata|langid|hyphenation|mendeley-.*|citeulike-.*|biburl|bibsource|internal-note"
)
_SHOWN = {"isbn": "ISBN", "issn": "ISSN", "url": "URL", "eprint": "E-print", "howpublished": "How published"}
_VENUES = ("journal", "journaltitle", "booktitle", "eventtitle")
_PUBLISHERS = ("publisher", "school", "institution", "organization", "howpublished")


@dataclass(frozen=True, slots=True)
class _Raw:
    """An entry as it is written: its values have their macros, and the marks of LaTeX."""

    type: str
    key: str
    fields: dict[str, str]


def open_bibtex(upload: Upload, kind: str, rules: Rules) -> LaidOut:
    """Open a bibliography. Raises `TooLargeError` or `EmptyFileError`."""
    losses = Losses()
    blocks = blocks_of_bibtex(decode(upload, rules), losses)
    return LaidOut(blocks, facts_of(upload.name), upload.name, rules, losses)


def blocks_of_bibtex(text: str, losses: Losses) -> Iterator[Block | Table]:
    """Yield the entries of a bibliography."""
    raw = list(_entries(text, losses))
    by_key = {one.key.lower(): one for one in reversed(raw)}
    yield from blocks_of_entries([_entry(one, _inherited(one, by_key, 0)) for one in raw])


class _BrokenError(Exception):
    """A value that does not end, or a field without one."""


def _entries(text: str, losses: Losses) -> Iterator[_Raw]:
    macros = dict(_MONTHS)
    starts = [found.start() for found in _NEXT.finditer(text)]
    at = 0
    while (begun := _BEGINS.search(text, at)) is not None:
        kind = begun[1].lower()
        after = bisect_left(starts, begun.end())
        end = starts[after] if after < len(starts) else len(text)
        if kind in ("comment", "preamble"):
            at = end
            continue
        fields: dict[str, str] = {}
        key = ""
        at = begun.end()
        if kind != "string":
            said = _KEY.match(text, at, end)
            assert said is not None
            key, at = said[1], said.end()
        try:
            at = _fields(text, at, end, macros if kind == "string" else fields, macros)
        except _BrokenError:
            losses.note("part", key)
            at = end
        if kind != "string" and (key or fields):
            yield _Raw(kind, key, fields)


def _fields(text: str, at: int, end: int, fields: dict[str, str], macros: Mapping[str, str]) -> int:
    """Read the fields of an entry into `fields`, of two of one name the first. Returns where the entry ends.

    Raises `_BrokenError`; the fields before it are read then.
    """
    while (said := _FIELD.match(text, at, end)) is not None:
        value, at = _value(text, said.end(), end, macros)
        name = said[1].lower()
        if fields is macros:
            fields[name] = value
        else:
            fields.setdefault(name, value)
    closed = re.compile(r"[\s,]*[})]").match(text, at, end)
    if closed is None:
        raise _BrokenError
    return closed.end()


def _value(text: str, at: int, end: int, macros: Mapping[str, str]) -> tuple[str, int]:
    """Return a value, its parts between `#` put together, and where it ends."""
    parts: list[str] = []
    size = 0
    while True:
        part, at = _part(text, at, end, macros)
        parts.append(part)
        size += len(part)
        if size > _MACROS_MAX and len(parts) > 1:
            raise _BrokenError
        more = re.compile(r"\s*#\s*").match(text, at, end)
        if more is None:
            return "".join(parts), at
        at = more.end()


def _part(text: str, at: int, end: int, macros: Mapping[str, str]) -> tuple[str, int]:
    opening = text[at : min(at + 1, end)]
    if opening in ("{", '"'):
        depth = 0
        for sign in (_BRACES if opening == "{" else _QUOTES).finditer(text, at + 1, end):
            if sign[0] == "{":
                depth += 1
            elif sign[0] == "}" and depth:
                depth -= 1
            elif depth == 0 and sign[0] in ('"', "}"):
                if sign[0] == "}" and opening == '"':
                    raise _BrokenError
                return text[at + 1 : sign.start()], sign.end()
        raise _BrokenError
    bare = _BARE.match(text, at, end)
    if bare is None:
        raise _BrokenError
    word = bare[0].rstrip(")") if "(" not in bare[0] else bare[0]
    return macros.get(word.lower(), word), at + len(word)


def _inherited(raw: _Raw, by_key: Mapping[str, _Raw], depth: int) -> dict[str, str]:
    """Return the fields of an entry with those of the entries that it refers to."""
    fields = dict(raw.fields)
    if depth >= _DEEPEST:
        return fields
    named = [(name.strip(), True) for name in fields.get("xdata", "").split(",", _MOST_XDATA)[:_MOST_XDATA]]
    for name, is_all in [*named, (fields.get("crossref", "").strip(), False)]:
        parent = by_key.get(name.lower())
        if not name or parent is None or parent is raw:
            continue
        given = _inherited(parent, by_key, depth + 1)
        if not is_all and "title" in given and not set(_VENUES) & fields.keys():
            fields.setdefault("booktitle", given["title"])
        for field, value in given.items():
            if is_all or field not in _HELD_APART:
                fields.setdefault(field, value)
    return fields


def _entry(raw: _Raw, fields: Mapping[str, str]) -> Entry:
    said = {name: words_of_latex_text(value) for name, value in fields.items() if name not in ("url", "doi", "file")}
    said |= {name: _address(fields[name]) for name in ("url", "doi") if name in fields}
    date = said.get("year", "") or said.get("date", "")
    venue = next((said[name] for name in _VENUES if said.get(name)), "")
    publisher = next((said[name] for name in _PUBLISHERS if said.get(name)), "")
    title = ": ".join(filter(None, (said.get("title"), said.get("subtitle"))))
    eprint = " ".join(filter(None, (said.get("archiveprefix") or said.get("eprinttype"), said.get("eprint"))))
    used = {"title", "subtitle", "author", "editor", "year", "volume", "number", "issue", "pages", "doi", "url"}
    used |= {"abstract", "archiveprefix", "eprinttype", "eprint", *_VENUES, *_PUBLISHERS}
    others = {name: text for name, text in said.items() if name not in used and not _HOUSEKEEPING.fullmatch(name)}
    if said.get("date") == date and re.fullmatch(r"\d{4}", date):
        others.pop("date", None)
    more = {_SHOWN.get(name, name.replace("_", " ").capitalize()): text for name, text in others.items()}
    return Entry(
        key=raw.key,
        type=raw.type,
        title=title,
        authors=_names(fields.get("author", "")),
        editors=_names(fields.get("editor", "")),
        year=year_of(date),
        venue=venue or (eprint if not publisher else ""),
        publisher=publisher,
        volume=said.get("volume", ""),
        number=said.get("number") or said.get("issue", ""),
        pages=said.get("pages", ""),
        doi=bare_doi(said.get("doi", "")),
        url=said.get("url", ""),
        abstract=said.get("abstract", ""),
        more={"E-print": eprint, **more} if eprint else more,
    )


def _address(value: str) -> str:
    """Return an address without the marks that LaTeX needs in it."""
    found = re.fullmatch(r"\s*\\url\s*\{(.*)\}\s*", value, re.S)
    bare = re.sub(r"\\([%#_&~{}$])|[{}]", r"\1", found[1] if found else value)
    return "".join(bare.split())


def _names(value: str) -> tuple[str, ...]:
    """Return the names in a list of BibTeX: parted by "and" outside of braces; a name in braces stays as it is."""
    value = " ".join(value.split())
    names: list[str] = []
    depth = start = 0
    for sign in _BRACES_AND.finditer(value):
        if sign[0] in "{}":
            depth = max(0, depth + (1 if sign[0] == "{" else -1))
        elif depth == 0 and sign[0][0] == " ":
            names.append(value[start : sign.start()])
            start = sign.end()
    names.append(value[start:])
    return tuple(filter(None, map(_name, names)))


def _name(value: str) -> str:
    value = value.strip()
    if value.lower() == "others":
        return "et al."
    whole = re.fullmatch(r"\{(.*)\}", value, re.S) is not None
    # A comma within braces is part of the name.
    masked = re.sub(r"\{[^{}]*\}", lambda found: found[0].replace(",", "\x00"), value)
    name = value if whole else whole_name(masked).replace("\x00", ",")
    return words_of_latex_text(name)
