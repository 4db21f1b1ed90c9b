"""The list of conversations: one row of `chat_session` each, with its current checkpoint."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Sequence

from docmind.errors import ConfigError, NotFoundError
from docmind.records.conversations import Thread
from docmind.records.search import Filters
from docmind.rich_text import clip
from docmind.storage import Database, Row
from docmind.wording import N_, _

LONGEST_TITLE = 200
SHORTEST_BEGINNING = 4
_HINT = N_("Run `docmind threads list` to see the conversations.")
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_COLUMNS = (
    "thread_id, title, created_at_ms, updated_at_ms, last_checkpoint_id, deleted_at_ms, is_pinned, is_archived,"
    " (SELECT group_concat(b.doc_id, ' ') FROM bound_documents b JOIN documents d ON d.doc_id = b.doc_id"
    " WHERE b.thread_id = chat_session.thread_id AND d.deleted_at_ms IS NULL),"
    " (SELECT group_concat(b.collection_id, ' ') FROM bound_collections b WHERE b.thread_id = chat_session.thread_id)"
)


class Sessions:
    """The `chat_session` table. As thread-safe as `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def create(self, title: str = "", thread_id: str | None = None) -> Thread:
        """Create a conversation, with a random id of 32 hex digits where none is given.

        The title may be empty.

        Raises `ConfigError` where the id is taken or not 1-64 letters, digits, dashes and underscores.
        """
        if thread_id is not None and not _ID.fullmatch(thread_id):
            raise ConfigError(
                _("A conversation's id has 1 to 64 letters, digits, dashes or underscores."), hint=_(_HINT)
            )
        name = thread_id or secrets.token_hex(16)
        now = _now_ms()
        with self._db.transaction() as db:
            self._db.recount()
            made = db.execute(
                "INSERT INTO chat_session (thread_id, title, created_at_ms, updated_at_ms) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (thread_id) DO NOTHING",
                (name, clip(title, LONGEST_TITLE), now, now),
            )
            if not made.rowcount:
                raise ConfigError(_("The conversation {name} already exists.").format(name=name), hint=_(_HINT))
        return Thread(name, clip(title, LONGEST_TITLE), now, now)

    def bind(self, thread_id: str, collections: Sequence[str] = (), documents: Sequence[str] = ()) -> Thread:
        """Bind a conversation to these collections and documents, and to no others.

        Ids of what does not exist are left out. Raises `NotFoundError`.
        """
        with self._db.transaction() as db:
            self.get(thread_id)
            for table, column, ids in (
                ("collections", "collection_id", collections),
                ("documents", "doc_id", documents),
            ):
                db.execute(f"DELETE FROM bound_{table} WHERE thread_id = ?", (thread_id,))
                db.executemany(
                    f"INSERT OR IGNORE INTO bound_{table} (thread_id, {column})"
                    f" SELECT ?, {column} FROM {table} WHERE {column} = ?",
                    [(thread_id, one) for one in ids],
                )
            return self.get(thread_id)

    def get(self, thread_id: str) -> Thread:
        """Return a conversation, even a deleted one. Raises `NotFoundError`."""
        row = self._db.one(f"SELECT {_COLUMNS} FROM chat_session WHERE thread_id = ?", (thread_id,))
        if row is None:
            raise NotFoundError(
                _("There is no conversation {thread_id}.").format(thread_id=clip(thread_id, 64)), hint=_(_HINT)
            )
        return _thread(row)

    def get_open(self, thread_id: str) -> Thread:
        """Return a conversation that can be continued.

        Raises `NotFoundError` for a deleted one too.
        """
        thread = self.get(thread_id)
        if thread.deleted_at_ms is not None:
            raise NotFoundError(_("This conversation was deleted."), hint=_("Restore it first."))
        return thread

    def all(self, deleted: bool = False, archived: bool = False) -> tuple[Thread, ...]:
        """Return the conversations of the list, pinned ones first, then last used first.

        With `archived` only those of the archive; with `deleted` only the deleted ones, archived or not.
        """
        rows = self._db.all(
            f"SELECT {_COLUMNS} FROM chat_session WHERE (deleted_at_ms IS NOT NULL) = ?1 AND (?1 OR is_archived = ?2)"
            " ORDER BY is_pinned DESC, updated_at_ms DESC, created_at_ms DESC, thread_id",
            (deleted, archived),
        )
        return tuple(map(_thread, rows))

    def find(self, name: str) -> Thread:
        """Return the conversation of this id, start of an id (4 characters or more), or title.

        Deleted ones are considered where no other fits. Raises `NotFoundError`, also where several fit.
        """
        title = clip(name, LONGEST_TITLE)
        found = [
            _thread(row)
            for row in self._db.all(
                f"SELECT {_COLUMNS} FROM chat_session WHERE thread_id = ?1 OR title = ?2 AND title <> ''"
                " OR substr(thread_id, 1, length(?1)) = ?1 AND length(?1) >= ?3 ORDER BY updated_at_ms DESC",
                (name.strip() if name.isprintable() else "", title, SHORTEST_BEGINNING),
            )
        ]
        for fitting in (
            [thread for thread in found if thread.thread_id == name.strip()],
            [thread for thread in found if thread.deleted_at_ms is None],
            found,
        ):
            if len(fitting) == 1:
                return fitting[0]
            if fitting:
                ids = ", ".join(thread.thread_id for thread in fitting[:5])
                raise NotFoundError(
                    _("Several conversations are named {title}: {ids}.").format(title=title, ids=ids),
                    hint=_("Give the whole id."),
                )
        raise NotFoundError(
            _("There is no conversation {name}.").format(name=clip(name, 64) or "without a name"), hint=_(_HINT)
        )

    def rename(self, thread_id: str, title: str) -> Thread:
        """Rename a conversation; titles have 1 to 200 characters.

        Raises `ConfigError`, `NotFoundError`.
        """
        line = clip(title, max(LONGEST_TITLE, len(title)))
        if not line:
            raise ConfigError(_("A title needs at least one visible character."), hint=_(_HINT))
        if len(line) > LONGEST_TITLE:
            raise ConfigError(
                _("A title has at most {longest_title} characters.").format(longest_title=LONGEST_TITLE),
                hint=_("Shorten it."),
            )
        return self._set(thread_id, "title = ?", line)

    def touch(self, thread_id: str, checkpoint_id: str | None, at_ms: int) -> Thread:
        """Set the current checkpoint of the conversation, and when it was last used.

        Raises `NotFoundError`.
        """
        return self._set(thread_id, "last_checkpoint_id = ?, updated_at_ms = ?", checkpoint_id, at_ms)

    def bin(self, thread_id: str) -> Thread:
        """Mark a conversation as deleted; `restore` undoes it. Raises `NotFoundError`."""
        return self._set(thread_id, "deleted_at_ms = coalesce(deleted_at_ms, ?)", _now_ms())

    def restore(self, thread_id: str) -> Thread:
        """Undo `bin`. Raises `NotFoundError`."""
        return self._set(thread_id, "deleted_at_ms = NULL")

    def pin(self, thread_id: str, is_pinned: bool) -> Thread:
        """Put a conversation at the top of the list, and out of the archive; or unpin it. Raises `NotFoundError`."""
        return self._set(thread_id, "is_pinned = ?1, is_archived = is_archived AND NOT ?1", is_pinned)

    def archive(self, thread_id: str, is_archived: bool) -> Thread:
        """Move a conversation to the archive, and unpin it; or move it out. Raises `NotFoundError`."""
        return self._set(thread_id, "is_archived = ?1, is_pinned = is_pinned AND NOT ?1", is_archived)

    def erase(self, thread_id: str) -> Thread:
        """Delete the row and return it. Raises `NotFoundError`."""
        with self._db.transaction() as db:
            self._db.recount()
            thread = self.get(thread_id)
            db.execute("DELETE FROM chat_session WHERE thread_id = ?", (thread_id,))
        return thread

    def _set(self, thread_id: str, change: str, *values: object) -> Thread:
        with self._db.transaction() as db:
            db.execute(f"UPDATE chat_session SET {change} WHERE thread_id = ?{len(values) + 1}", (*values, thread_id))
            return self.get(thread_id)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _thread(row: Row) -> Thread:
    *fields, is_pinned, is_archived, documents, collections = row
    doc_ids, collections = (tuple(sorted((ids or "").split())) for ids in (documents, collections))
    bound = Filters(doc_ids=doc_ids, collections=collections)
    return Thread(*fields, is_pinned=bool(is_pinned), is_archived=bool(is_archived), bound=bound)
