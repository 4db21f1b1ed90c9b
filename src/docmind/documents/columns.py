"""The attributes of a document, each declared once: where it is stored, who sets it, which faces show and carry it.

A field of `DocumentInfo` has its type, and its column here everything else. SELECT and INSERT lists, the decoding of
rows, what a person may edit, the table of the library, the facts of a document, snapshots, bundles and erasures are
made from these declarations. docs/architecture.md tells how to add one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, cast, get_args

from docmind.documents.facts import author_of, day_of, ids_of_mails, moment_of
from docmind.documents.stored import readable_texts, texts_of
from docmind.errors import ConfigError, DamagedError
from docmind.records.documents import DocumentInfo, Ingestion, Loss, LossKind, Parent
from docmind.records.values import Author, Day, Text, Title, bounds_of, is_sound
from docmind.rich_text import one_line
from docmind.wording import N_, _

SetBy = Literal["file", "reading", "person", "derived"]
"""Who sets an attribute: a reader, from the metadata of the file; DocMind while it reads; a person; other tables."""

Begun = Literal["", "once", "always", "unless empty", "unless renamed", "where empty"]
"""What beginning to read a document writes: nothing; a value for a new row only; in any case; unless the new value is
empty; unless a person renamed the document; only where the row has none yet, so that a person's value stays."""

Drawn = Literal["", "text", "number", "time", "day", "language", "tags", "title"]
"""How the table of the library draws a value, and in which order it sorts; "" where the table has no column of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One attribute of a document."""

    name: str
    set_by: tuple[SetBy, ...]
    begun: Begun = ""
    is_stored: bool = True
    """Whether the table `documents` has it; otherwise `sql` finds it in other tables."""
    sql: str = ""
    """The expression that is selected; the column where it is empty. `d` is the document's row, `w` its web page's."""
    read: Callable[[Any], Any] | None = None
    """Decodes what the database returns; raises `DamagedError`. None for plain values."""
    read_lenient: Callable[[Any], Any] | None = None
    """Decodes what `read` refused, as far as it can be."""
    empty: str = ""
    """The stored form of an empty value."""

    # what may be given
    found: Callable[[str], str] = str
    """Makes the value that is kept of what the metadata of a file says; "" of what is of no use."""
    value: Any = Title
    """The type, with its bounds, of a value that a person gives."""
    most: int = 300
    """Characters of a text that are kept."""
    about: str = ""
    """A sentence for the option of the command line that sets it."""

    # where it is shown
    label: str = ""
    shown: str = ""
    """The property of `DocumentInfo` that is shown in its place."""
    drawn: Drawn = ""
    width: str = ""
    """The width of its column in the table, as CSS."""
    rank: Literal[1, 2, 3, 4] = 1
    """From which width of the window on the table has room for it: 1 always, 4 on the widest only."""
    one: str = ""
    """The label of one of its values, where `label` names several."""
    menu: str = ""
    """The first entry of the menu by which the table is filtered; "" where it has none."""
    is_fact: bool = False
    """Whether the page of a document and `docmind show` list it by its label."""
    is_found: bool = False
    """Whether it is among the texts by which a list of documents is narrowed."""

    # what follows and carries it
    is_in_index: bool = False
    """Whether the index is written again when it changes."""
    is_trace: bool = False
    """Whether an erasure looks for it in the files: a name that may stand nowhere else."""
    change: str = ""
    """What a difference between two snapshots calls a change of it."""
    in_snapshots: bool = True
    in_bundles: bool = True

    @property
    def is_edited(self) -> bool:
        """Whether a person sets it as a text."""
        return "person" in self.set_by and bool(self.about)

    @property
    def label_of_one(self) -> str:
        """The label of one of its values."""
        return self.one or self.label

    def of(self, info: DocumentInfo) -> Any:
        """Return the value of a document that is shown."""
        return getattr(info, self.shown or self.name)


def _ingestion_of(raw: str) -> Ingestion | None:
    """Return how a document was read, from its JSON. Raises `DamagedError` for text that is no name of an engine."""
    if not raw:
        return None
    try:
        found: dict[str, Any] = json.loads(raw)
        versions = tuple((_name(one), _name(version)) for one, version in found.pop("versions"))
        names = {one: _name(found.pop(one)) for one in ("engine", "ocr_engine")}
        losses = tuple(_loss(**each) for each in found.pop("losses", ()))
        numbers = {one: _amount(value) for one, value in found.items()}
        return Ingestion(**names, versions=versions, losses=losses, **numbers)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DamagedError(_("How a document was read can't be told: vault.db is damaged there.")) from error


def _name(value: object) -> str:
    if not isinstance(value, str) or (value and not _ENGINE.fullmatch(value)):
        raise ValueError("not the name of an engine")
    return value


def _amount(value: object) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or not is_sound(value) or value < 0:
        raise ValueError("not a number")
    return value


def _loss(kind: object, count: object, place: object) -> Loss:
    if kind not in _LOSSES or type(count) is not int or count < 1 or not isinstance(place, str):
        raise ValueError("not what a reader left out")
    return Loss(cast("LossKind", kind), count, place)


def parent_of(raw: str | None) -> Parent | None:
    """Return the record of what `PARENT` selects."""
    return Parent(*json.loads(raw)) if raw else None


def _none(_raw: object) -> None:
    return None


def _ids(raw: str | None) -> tuple[str, ...]:
    return tuple(sorted((raw or "").split()))


_LOSSES = frozenset(get_args(LossKind))
_ENGINE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._+-]{0,59}")
_STATES = (
    "CASE u.state WHEN 'paused' THEN 'paused' WHEN 'cancelled' THEN 'stopped' WHEN 'failed' THEN 'failed'"
    " WHEN 'locked' THEN 'failed' ELSE 'reading' END"
)
# The state of a document that is not ready is that of its file in the queue.
_STATUS = (
    f"CASE d.status WHEN 'ready' THEN d.status ELSE coalesce((SELECT {_STATES} FROM uploads u WHERE u.doc_id = d.doc_id"
    " AND u.state <> 'done' ORDER BY u.upload_id DESC LIMIT 1), d.status) END"
)
PAGES_DONE = "(SELECT count(*) FROM pages p WHERE p.doc_id = d.doc_id)"
PARENT = (
    "(SELECT json_array(p.doc_id, p.document, CASE p.title WHEN '' THEN p.heading ELSE p.title END, p.kind, p.dated)"
    " FROM documents p WHERE p.doc_id = d.parent_id"
    " AND (p.deleted_at_ms IS NULL OR d.deleted_at_ms IS NOT NULL))"
)
# Without `<> ''` each document would be compared with each: the index has only those that lie in another one.
_ENCLOSED = (
    "(SELECT count(*) FROM documents c WHERE c.parent_id = d.doc_id AND c.parent_id <> '' AND c.deleted_at_ms IS NULL)"
)
OCR_PAGES = "(SELECT count(*) FROM pages p WHERE p.doc_id = d.doc_id AND p.text_source = 'ocr')"

COLUMNS: tuple[Column, ...] = (
    Column(name="doc_id", set_by=("reading",), begun="once"),
    Column(
        name="document", set_by=("reading", "person"), begun="unless renamed", most=200, label=N_("Name"),
        about=N_("Name"), is_found=True, is_in_index=True, is_trace=True, change=N_("name"),
    ),
    Column(
        name="title", set_by=("file", "person"), begun="unless renamed", label=N_("Title"), shown="shown_title",
        drawn="title", width="minmax(0, 1fr)",
        about=N_("The title; an empty one is the title found on the first page."), is_found=True, is_in_index=True,
        is_trace=True, change=N_("title"),
    ),
    Column(
        name="author", set_by=("file", "person"), begun="where empty", found=author_of, value=Author,
        label=N_("Author"), drawn="text", width="minmax(0, 9rem)", rank=4, menu=N_("All authors"),
        about=N_("The author."), is_fact=True, is_found=True, is_trace=True, change=N_("author"),
    ),
    Column(
        name="sender", set_by=("file",), begun="always", label=N_("From"), is_fact=True, is_found=True, is_trace=True
    ),
    Column(
        name="recipients", set_by=("file",), begun="always", most=4_000, value=Text, label=N_("To"), is_fact=True,
        is_trace=True,
    ),
    Column(name="kind", set_by=("reading",), begun="always", label=N_("Kind"), menu=N_("All kinds")),
    Column(name="status", set_by=("reading",), begun="always", sql=_STATUS),
    Column(
        name="pages", set_by=("reading",), begun="always", label=N_("Pages"), drawn="number", width="4rem", rank=2
    ),
    Column(name="pages_done", set_by=("derived",), is_stored=False, sql=PAGES_DONE),
    Column(name="ocr_pages", set_by=("derived",), is_stored=False, sql=OCR_PAGES),
    Column(
        name="language", set_by=("reading", "person"), label=N_("Language"), drawn="language", width="6rem", rank=3,
        menu=N_("All languages"), is_in_index=True, change=N_("language"),
    ),
    Column(name="is_language_set", set_by=("person",), change=N_("language")),
    Column(
        name="tags", set_by=("person",), begun="unless empty", read=texts_of, read_lenient=readable_texts, empty="[]",
        label=N_("Tags"), one=N_("Tag"), drawn="tags", width="minmax(0, 11rem)", rank=3, menu=N_("All tags"),
        is_found=True, change=N_("tags"),
    ),
    Column(
        name="collections", set_by=("person",), is_stored=False, read=_ids, label=N_("Collection"),
        menu=N_("All collections"),
        sql="(SELECT group_concat(c.collection_id, ' ') FROM collected c WHERE c.doc_id = d.doc_id)",
    ),
    Column(
        name="dated", set_by=("file", "reading", "person"), begun="where empty", found=day_of, value=Day,
        label=N_("Date"), drawn="day", width="6.5rem", rank=4, about=N_("The day it is about, as 2024-03-31."),
        is_fact=True, change=N_("date"),
    ),
    Column(name="stamped", set_by=("file",), begun="always", found=day_of, value=Day),
    Column(
        name="added_at_ms", set_by=("reading",), begun="once", label=N_("Added"), drawn="time", width="6.5rem", rank=2,
        menu=N_("Any date"),
    ),
    Column(name="bytes", set_by=("reading",), begun="once"),
    Column(name="message", set_by=("reading",), begun="always"),
    Column(name="heading", set_by=("reading",), is_in_index=True, is_trace=True),
    Column(
        name="read_as", set_by=("person",), read=texts_of, read_lenient=readable_texts, empty="[]", is_in_index=True
    ),
    Column(name="deleted_at_ms", set_by=("person",)),
    Column(
        name="updated_at_ms", set_by=("derived",), begun="always", label=N_("Changed"), is_fact=True,
        in_snapshots=False,
    ),
    Column(
        name="ingestion", set_by=("reading",), begun="always", read=_ingestion_of, read_lenient=_none,
        in_snapshots=False,
    ),
    Column(name="series", set_by=("derived",), in_snapshots=False, in_bundles=False),
    Column(name="parent_id", set_by=("reading",), begun="once", in_bundles=False),
    Column(name="parent", set_by=("derived",), is_stored=False, read=parent_of, sql=PARENT),
    Column(name="enclosed", set_by=("derived",), is_stored=False, sql=_ENCLOSED),
    Column(name="binned_own_ms", set_by=("derived",)),
    Column(name="sent_at", set_by=("file",), begun="always", found=moment_of),
    Column(name="thread", set_by=("derived",)),
    Column(name="message_id", set_by=("file",), begun="always", found=ids_of_mails),
    Column(name="refers_to", set_by=("file",), begun="always", found=ids_of_mails, most=4_000, value=Text),
    Column(name="topic", set_by=("file",), begun="always"),
    Column(name="address", set_by=("derived",), is_stored=False, sql="coalesce(w.address, '')"),
    Column(name="fetched_at_ms", set_by=("derived",), is_stored=False, sql="coalesce(w.fetched_at_ms, 0)"),
    Column(name="original", set_by=("reading",), begun="always"),
    Column(name="original_suffix", set_by=("reading",), begun="always"),
)  # fmt: skip
"""All columns: those of `DocumentInfo`, and those of the row alone, which are no field of it."""

BY_NAME: dict[str, Column] = {column.name: column for column in COLUMNS}
FIELDS: tuple[Column, ...] = tuple(BY_NAME[one.name] for one in fields(DocumentInfo))
"""The columns that `DocumentInfo` shows, in its order."""
FACTS: tuple[Column, ...] = tuple(column for column in COLUMNS if "file" in column.set_by)
"""What a reader hands over from the metadata of a file."""
EDITED: tuple[Column, ...] = tuple(column for column in COLUMNS if column.is_edited)
"""What a person sets as a text."""
MENUS: tuple[Column, ...] = tuple(column for column in COLUMNS if column.menu)
"""The columns by which the library's table is filtered."""
DRAWN: tuple[Column, ...] = tuple(column for column in COLUMNS if column.drawn)
"""The columns of the library's table, in its order."""
NAMES: tuple[str, ...] = tuple(column.name for column in COLUMNS if column.is_trace)
"""The texts by which a document is known, which an erasure looks for."""
IN_INDEX: tuple[str, ...] = tuple(column.name for column in COLUMNS if column.is_in_index)
DECODED: tuple[Column, ...] = tuple(column for column in COLUMNS if column.is_stored and column.read)
"""Stored columns that hold more than a plain value."""
OF_MAILS = ("sender", "recipients", "sent_at", "thread", "message_id", "refers_to", "topic")
"""The stored columns that only mails have a value of."""
NOT_IN_SNAPSHOTS = frozenset(column.name for column in COLUMNS if column.is_stored and not column.in_snapshots)
NOT_IN_BUNDLES = frozenset(column.name for column in COLUMNS if column.is_stored and not column.in_bundles)
CHANGES: dict[str, tuple[str, ...]] = {
    change: tuple(column.name for column in COLUMNS if column.change == change and column.is_stored)
    for change in dict.fromkeys(column.change for column in COLUMNS if column.change)
}
"""What a difference between two snapshots can name, and the columns that are compared for it."""

SELECTED = ", ".join(column.sql or f"d.{column.name}" for column in FIELDS)
"""The SELECT list of a `DocumentInfo`, of `documents d LEFT JOIN web_pages w`."""

_BEGUN = tuple(column for column in COLUMNS if column.begun)
_ON_CONFLICT: dict[str, str] = {
    "always": "{name} = excluded.{name}",
    "unless empty": "{name} = CASE excluded.{name} WHEN '{empty}' THEN {name} ELSE excluded.{name} END",
    "unless renamed": "{name} = CASE read_as WHEN '[]' THEN excluded.{name} ELSE {name} END",
    "where empty": "{name} = CASE {name} WHEN '{empty}' THEN excluded.{name} ELSE {name} END",
}
BEGIN = (
    f"INSERT INTO documents ({', '.join(column.name for column in _BEGUN)})"
    f" VALUES ({', '.join('?' * len(_BEGUN))}) ON CONFLICT (doc_id) DO UPDATE SET "
    + ", ".join(
        _ON_CONFLICT[column.begun].format(name=column.name, empty=column.empty)
        for column in _BEGUN
        if column.begun in _ON_CONFLICT
    )
)
"""Writes the row of a document that begins to be read; `begun_values` are its values."""

_READ = tuple((place, column.read, column.read_lenient) for place, column in enumerate(FIELDS) if column.read)


def begun_values(info: DocumentInfo, **more: object) -> list[object]:
    """Return the values of `BEGIN`; `more` are those that are no fields."""
    found = [more[column.name] if column.name in more else getattr(info, column.name) for column in _BEGUN]
    return [column.empty if value is None else stored(value) for column, value in zip(_BEGUN, found, strict=True)]


def stored(value: Any) -> object:
    """Return the form in which the database holds a value."""
    if isinstance(value, Ingestion):
        return json.dumps(asdict(value))
    return json.dumps(value) if isinstance(value, tuple) else value


def info_of(row: tuple[Any, ...], *, lenient: bool = False) -> DocumentInfo:
    """Return the record of a row of `SELECTED`.

    Raises `DamagedError` where a value cannot be read; with `lenient` it is left out.
    """
    values: list[Any] = list(row)
    for place, read, read_lenient in _READ:
        values[place] = (read_lenient if lenient and read_lenient else read)(values[place])
    return DocumentInfo(*values)


def found_facts(raw: Mapping[str, object]) -> dict[str, str]:
    """Return what a reader found in the metadata of a file: a text for each column of `FACTS`, "" of what is of no use.

    Metadata is hostile: what is no text is left out, and texts are put on one line, cut, and held to their bounds.
    """
    found: dict[str, str] = {}
    for column in FACTS:
        given = raw.get(column.name)
        value = _line(column, column.found(_line(column, given))) if isinstance(given, str) else ""
        found[column.name] = value if _fits(column, value) else ""
    return found


def _fits(column: Column, value: str) -> bool:
    try:
        _check(column, value)
    except ConfigError:
        return False
    return True


def _check(column: Column, value: str) -> None:
    for bound in bounds_of(column.value)[1]:
        bound.check(value, column.name)


def edited(values: Mapping[str, str | None]) -> dict[str, str]:
    """Return what a person gives for columns of `EDITED`, as it is kept; None stands for no change.

    Raises `ConfigError` for an empty name, and for a value that its column does not take.
    """
    names = {column.name for column in EDITED}
    if unknown := values.keys() - names:
        raise TypeError(f"a document has no {sorted(unknown)[0]} that is edited")
    found = {name: _line(BY_NAME[name], value) for name, value in values.items() if value is not None}
    if found.get("document") == "":
        raise ConfigError(_("A document needs a name."), hint=_("Type a name with at least one letter."))
    for name, value in found.items():
        _check(BY_NAME[name], value)
    return found


def _line(column: Column, text: str) -> str:
    return one_line(text.encode("utf-8", "replace").decode())[: column.most].strip()


def check_stored(row: Mapping[str, object]) -> None:
    """Check the values of a row of `documents` that comes from another vault. Raises `ValueError`."""
    if not all(is_readable(column, row.get(column.name, column.empty)) for column in DECODED):
        raise ValueError("not what its column holds")
    for column in (*FACTS, *EDITED):
        value = row.get(column.name, "")
        if not isinstance(value, str) or not is_sound(value):
            raise ValueError("not a text")
    for column in FACTS:
        if not _fits(column, str(row.get(column.name, ""))):
            raise ValueError("not within its bounds")


def is_readable(column: Column, raw: object) -> bool:
    """Return whether a column of `DECODED` holds what it should."""
    assert column.read is not None
    try:
        column.read(raw)
    except DamagedError:
        return False
    return True


def texts_to_find(info: DocumentInfo) -> str:
    """Return the texts by which a list of documents is narrowed, a line for each."""
    found: list[str] = []
    for column in FIELDS:
        if column.is_found:
            value = column.of(info)
            found += value if isinstance(value, tuple) else [value]
    return "\n".join(filter(None, found))
