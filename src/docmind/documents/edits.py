"""What a person sets on documents: names, titles, languages, tags, collections, and the bin.

Nothing here reads a file again, and nothing here changes the index: `docmind.ingest.Library` does.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from docmind.documents.catalog import Catalog
from docmind.documents.columns import IN_INDEX, edited
from docmind.documents.enclosed import hand_over
from docmind.documents.language import majority
from docmind.documents.stored import readable_texts
from docmind.documents.tags import check_number, tag_of
from docmind.errors import ConfigError, NotFoundError
from docmind.records.documents import Collection, DocumentInfo, ReadingFacts
from docmind.rich_text import one_line
from docmind.storage import Connection, Database
from docmind.wording import _

_COLLECTION = 60  # the most characters of its name


class Edits:
    """The columns and tables of `vault.db` that a person sets. Thread-safe as `Database` is.

    Each method is one transaction over all documents that it is given, and raises `NotFoundError` where one of them is
    not there.
    """

    def __init__(self, database: Database, catalog: Catalog) -> None:
        self._db, self._catalog = database, catalog

    def state(self) -> int:
        """Return the number of the vault's last commit; 0 where commits are not counted."""
        row = self._db.one("SELECT max(seq) FROM ledger")
        return row[0] or 0 if row else 0

    def reading(self, doc_id: str) -> ReadingFacts:
        """Return how a document was read, and what is not done yet; no pages where there is none."""
        sources = self._db.all(
            "SELECT text_source, count(*), avg(confidence) FROM pages WHERE doc_id = ? GROUP BY text_source"
            " ORDER BY count(*) DESC",
            (doc_id,),
        )
        row = self._db.one(
            "SELECT count(*) FROM pages p WHERE doc_id = ? AND NOT EXISTS (SELECT 1 FROM looks l"
            " WHERE l.image = p.image)",
            (doc_id,),
        )
        return ReadingFacts(tuple(sources), row[0] if row else 0)

    # names and languages

    def edit(self, doc_id: str, values: Mapping[str, str | None]) -> DocumentInfo:
        """Set attributes that a person sets as texts (`columns.EDITED`), by name; None leaves one as it is.

        An empty title is the one found on the first page. Raises `NotFoundError`, and `ConfigError` for an empty name
        and for a value that its attribute does not take.
        """
        given = edited(values)
        info = self._catalog.document(doc_id)
        new: dict[str, object] = {name: value for name, value in given.items() if value != getattr(info, name)}
        if new:
            if not new.keys().isdisjoint(("document", "title")):
                new["read_as"] = info.read_as or (info.document, info.title)
            with self._db.transaction() as db:
                self._catalog.set(db, doc_id, new)
                if not new.keys().isdisjoint(IN_INDEX):
                    self._catalog.touch(doc_id)
        return self._catalog.document(doc_id)

    def set_language(self, doc_ids: Sequence[str], language: str) -> None:
        """Set the language, an ISO 639-1 code, of all pages of documents; "" detects it again from their texts.

        Raises `NotFoundError`, and `ConfigError` for a code that is none or a document that is still being read.
        """
        code = language.strip().lower()
        if code and not (len(code) == 2 and code.isascii() and code.isalpha()):
            raise ConfigError(
                _("{language} is no code of a language.").format(language=f"{language!r}"),
                hint=_("Give two letters: en, pt, es, …"),
            )
        with self._db.transaction() as db:
            for doc_id in dict.fromkeys(doc_ids):
                info = self._catalog.document(doc_id)
                if info.status != "ready":
                    raise ConfigError(
                        _("The language of {document} cannot be set while it is being read.").format(
                            document=info.document
                        ),
                        hint=_("Set it once all its pages are read."),
                    )
                if code:
                    db.execute("UPDATE pages SET language = ? WHERE doc_id = ?", (code, doc_id))
                    found = code
                else:
                    found = self._detect(db, doc_id)
                db.execute(
                    "UPDATE nodes SET language = (SELECT p.language FROM pages p WHERE p.doc_id = nodes.doc_id"
                    " AND p.page_no = nodes.page_no) WHERE doc_id = ?",
                    (doc_id,),
                )
                self._catalog.set(db, doc_id, {"language": found, "is_language_set": bool(code)})
                self._catalog.touch(doc_id)

    def _detect(self, db: Connection, doc_id: str) -> str:
        found = [page.with_language() for page in self._catalog.pages_of(doc_id)]
        db.executemany(
            "UPDATE pages SET language = ? WHERE doc_id = ? AND page_no = ?",
            [(page.language, doc_id, page.page_no) for page in found],
        )
        return majority(page.own_language for page in found)

    # tags

    def tag(self, doc_ids: Sequence[str], *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> None:
        """Add tags to documents and remove tags from them; capital letters do not make another tag.

        Documents that came in one of them follow it. Raises `NotFoundError`, and `ConfigError` for a tag that is empty
        or too long, or one too many.
        """
        added, removed = [tag_of(tag) for tag in add], {one_line(tag).casefold() for tag in remove}
        with self._db.transaction() as db:
            known = {tag.casefold(): tag for tag in self.tags()}
            for doc_id in self._catalog.enclosed.below(doc_ids, in_bin=False):
                old = self._catalog.document(doc_id).tags
                kept = {tag.casefold(): tag for tag in old if tag.casefold() not in removed}
                for tag in added:
                    kept.setdefault(tag.casefold(), known.setdefault(tag.casefold(), tag))
                check_number(len(kept), len(old))
                if (new := tuple(kept.values())) != old:
                    self._catalog.set(db, doc_id, {"tags": new})

    def tags(self) -> dict[str, int]:
        """Return all tags of documents outside the bin, in alphabetical order, with the number of their documents."""
        rows = self._db.all("SELECT tags, count(*) FROM documents WHERE deleted_at_ms IS NULL GROUP BY tags")
        counts: dict[str, int] = {}
        for tags, number in rows:
            for tag in readable_texts(tags):
                counts[tag] = counts.get(tag, 0) + number
        return dict(sorted(counts.items(), key=lambda one: one[0].casefold()))

    # collections

    def collections(self) -> list[Collection]:
        """Return all collections in alphabetical order."""
        rows = self._db.all(
            "SELECT c.collection_id, c.name, c.created_at_ms, (SELECT count(*) FROM collected m JOIN documents d"
            " ON d.doc_id = m.doc_id WHERE m.collection_id = c.collection_id AND d.deleted_at_ms IS NULL)"
            " FROM collections c"
        )
        return sorted((Collection(*row) for row in rows), key=lambda one: one.name.casefold())

    def collection(self, name: str) -> Collection:
        """Return the collection with this id or name. Raises `NotFoundError`."""
        wanted = one_line(name).casefold()
        for one in self.collections():
            if name == one.collection_id or wanted == one.name.casefold():
                return one
        raise NotFoundError(
            _("There is no collection {name}.").format(name=f"{name!r}"),
            hint=_("Run `docmind collection list` to see the collections."),
        )

    def new_collection(self, name: str) -> Collection:
        """Create a collection. Raises `ConfigError` for an empty name and for one that there is already."""
        with self._db.transaction() as db:
            self._check_name(line := _line(name, _COLLECTION))
            collection_id = secrets.token_hex(8)
            db.execute("INSERT INTO collections VALUES (?, ?, ?)", (collection_id, line, _now_ms()))
        return self.collection(collection_id)

    def rename_collection(self, collection_id: str, name: str) -> Collection:
        """Rename a collection. Raises `NotFoundError`, and `ConfigError` as `new_collection` does."""
        with self._db.transaction() as db:
            self.collection(collection_id)
            self._check_name(line := _line(name, _COLLECTION), but=collection_id)
            db.execute("UPDATE collections SET name = ? WHERE collection_id = ?", (line, collection_id))
        return self.collection(collection_id)

    def remove_collection(self, collection_id: str) -> Collection:
        """Delete a collection and return it; its documents stay. Raises `NotFoundError`."""
        gone = self.collection(collection_id)
        with self._db.transaction() as db:
            db.execute("DELETE FROM collections WHERE collection_id = ?", (gone.collection_id,))
        return gone

    def collect(self, collection_id: str, doc_ids: Sequence[str], *, leave: bool = False) -> None:
        """Put documents into a collection, or with `leave` take them out; both may have happened before.

        Documents that came in one of them follow it. Raises `NotFoundError`.
        """
        with self._db.transaction() as db:
            self.collection(collection_id)
            for doc_id in self._catalog.enclosed.below(doc_ids, in_bin=False):
                self._catalog.document(doc_id)
                sql = (
                    "DELETE FROM collected WHERE collection_id = ? AND doc_id = ?"
                    if leave
                    else "INSERT OR IGNORE INTO collected (collection_id, doc_id) VALUES (?, ?)"
                )
                if db.execute(sql, (collection_id, doc_id)).rowcount:
                    self._catalog.set(db, doc_id, {})

    def _check_name(self, name: str, but: str = "") -> None:
        if not name:
            raise ConfigError(_("A collection needs a name."), hint=_("Type a name with at least one letter."))
        with suppress(NotFoundError):
            if (known := self.collection(name)).collection_id != but:
                raise ConfigError(
                    _("There is already a collection {name}.").format(name=f"{known.name!r}"),
                    hint=_("Choose another name."),
                )

    # the bin

    def bin(self, doc_ids: Sequence[str]) -> None:
        """Move documents to the bin, and record a change of each, so that the index drops them.

        Documents that came in one of them follow it, but for those that lie in another one too, and those that are
        still being read, which follow once they are.
        """
        with self._db.transaction() as db:
            hand_over(db, self._catalog.enclosed.below(doc_ids, in_bin=False))
            given, family = set(doc_ids), self._catalog.enclosed.below(doc_ids, in_bin=False)
            self._move([one for one in family if one in given or self._catalog.state_of(one)[0]], _now_ms())

    def restore(self, doc_ids: Sequence[str]) -> tuple[str, ...]:
        """Take documents out of the bin, and record a change of each; those outside it stay as they are.

        Documents that went there together with the one in which they came follow it. Returns all of them.
        """
        with self._db.transaction():
            family = self._catalog.enclosed.restored_with(doc_ids)
            self._move(family, None)
        return family

    def expired(self, days: float, now_ms: int) -> list[str]:
        """Return the documents that have been in the bin for longer than so many days, by the vault's own clock.

        `now_ms` is the time of that clock.
        """
        self.note_bin(now_ms)
        until = now_ms - int(days * 86_400_000)
        sql = "SELECT doc_id FROM documents WHERE deleted_at_ms IS NOT NULL AND binned_own_ms <= ?"
        return [doc_id for (doc_id,) in self._db.all(sql, (until,))]

    def note_bin(self, now_ms: int) -> None:
        """Note which documents are in the bin: those that were moved there since the last call, from now on."""
        new = "WHERE deleted_at_ms IS NOT NULL AND binned_own_ms IS NULL"
        if self._db.one(f"SELECT 1 FROM documents {new}") is not None:
            with self._db.transaction(is_step=True) as db:
                db.execute(f"UPDATE documents SET binned_own_ms = ? {new}", (now_ms,))

    def _move(self, doc_ids: Sequence[str], at_ms: int | None) -> None:
        with self._db.transaction() as db:
            for doc_id in dict.fromkeys(doc_ids):
                if (self._catalog.document_or_binned(doc_id).deleted_at_ms is None) == (at_ms is None):
                    continue
                self._catalog.set(db, doc_id, {"deleted_at_ms": at_ms, "binned_own_ms": None})
                self._catalog.touch(doc_id)


def _line(text: str, longest: int) -> str:
    return one_line(text.encode("utf-8", "replace").decode())[:longest].strip()


def _now_ms() -> int:
    return int(time.time() * 1000)
