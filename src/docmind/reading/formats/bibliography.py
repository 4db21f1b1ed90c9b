"""The entries of a bibliography as blocks: one table of all, and below it each as it is cited, with its fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from docmind.blocks import Block, Table

_AUTHORS_MAX = 10  # names in a citation
_CAPTION = "Bibliography: papers and other works"
_COLUMNS = ("Title", "Author", "Year", "Published in", "Type", "Key")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One work. Texts are as a person reads them; `more` has further fields, by their names as shown.

    `authors` are whole names ("Ada Lovelace"); where a work has `editors` only, these are cited. `venue` is the
    journal, book, series or publisher in which it came out.
    """

    key: str = ""
    type: str = ""
    title: str = ""
    authors: tuple[str, ...] = ()
    editors: tuple[str, ...] = ()
    year: str = ""
    venue: str = ""
    publisher: str = ""
    volume: str = ""
    number: str = ""
    pages: str = ""
    doi: str = ""
    url: str = ""
    abstract: str = ""
    more: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def by(self) -> str:
        """Who made the work, in one line."""
        if self.authors or not self.editors:
            return ", ".join(self.authors)
        return f"{', '.join(self.editors)} ({'eds.' if len(self.editors) > 1 else 'ed.'})"


def blocks_of_entries(entries: Sequence[Entry]) -> Iterator[Block | Table]:
    """Yield a table with a row for each entry, and then each entry by itself."""
    if entries:
        rows = [(one.title, one.by, one.year, one.venue or one.publisher, one.type, one.key) for one in entries]
        kept = [at for at in range(len(_COLUMNS)) if any(row[at] for row in rows)]
        named = [[name for at, name in enumerate(_COLUMNS) if at in kept]]
        yield Table(rows=named + [[row[at] for at in kept] for row in rows], header_rows=1, caption=_CAPTION)
    for one in entries:
        yield Block(kind="heading", text=one.title or one.key or one.by or one.type, level=2)
        yield Block(kind="paragraph", text=cited(one))
        for name, text in _fields(one):
            yield Block(kind="item", text=f"{name}: {text}")


def cited(entry: Entry) -> str:
    """Return an entry as it stands in a list of references, as one sentence: who, when, what, where."""
    names = entry.authors or entry.editors
    by = ", ".join(names[:_AUTHORS_MAX]) + (" et al." if len(names) > _AUTHORS_MAX else "")
    if not entry.authors and entry.editors:
        by += " (eds.)" if len(entry.editors) > 1 else " (ed.)"
    issue = f"{entry.volume}({entry.number})" if entry.volume and entry.number else entry.volume or entry.number
    pages = f"pp. {entry.pages}" if entry.pages and not issue else entry.pages
    publisher = entry.publisher if entry.publisher != entry.venue else ""
    head = " ".join(filter(None, (by, f"({entry.year})" if entry.year else "")))
    title = f"“{entry.title}”" if entry.title else ""
    address = f"https://doi.org/{entry.doi}" if entry.doi else entry.url
    what = ", ".join(filter(None, (title, entry.venue, issue, pages, publisher, address)))
    return ": ".join(filter(None, (head, what)))


def _fields(entry: Entry) -> Iterable[tuple[str, str]]:
    editors = ", ".join(entry.editors) if entry.authors else ""
    said = {
        "Key": entry.key, "Type": entry.type, "Editor": editors, "Publisher": entry.publisher, "DOI": entry.doi,
        "URL": entry.url, **entry.more, "Abstract": entry.abstract,
    }  # fmt: skip
    return ((name, text) for name, text in said.items() if text)


def whole_name(name: str) -> str:
    """Return a name as it is spoken: "Lovelace, Ada" is Ada Lovelace, "King, Jr, Martin" is Martin King Jr."""
    parts = [" ".join(part.split()) for part in name.split(",")]
    if len(parts) == 2:
        return " ".join(filter(None, (parts[1], parts[0])))
    if len(parts) == 3:
        first, suffix = (parts[2], parts[1]) if _SUFFIX.fullmatch(parts[1]) else (parts[1], parts[2])
        return " ".join(filter(None, (first, parts[0], suffix)))
    return " ".join(name.split())


_SUFFIX = re.compile(r"(?:Jr|Sr|[IVX]+)\.?", re.IGNORECASE)


def year_of(date: str) -> str:
    """Return the year of a date, as it is written where it has none of four digits ("in press")."""
    found = re.search(r"(?<!\d)(?:1[0-9]|20|21)\d\d(?!\d)", date)
    return found[0] if found else date.strip(" /")


def bare_doi(doi: str) -> str:
    """Return a DOI without the address of its resolver."""
    return re.sub(r"^(?:https?://(?:dx\.)?doi\.org/|doi:\s*)", "", doi.strip(), flags=re.IGNORECASE)
