"""The list of conversations: one row of `chat_session` each, which names the checkpoint where it stands."""

from __future__ import annotations

import re
import secrets
import time
import unicodedata

from docmind.conversation import Thread
from docmind.database import Database, Row
from docmind.errors import ConfigError, NotFoundError

LONGEST_TITLE = 200
SHORTEST_BEGINNING = 4
_HINT = "Run `docmind threads list` to see the conversations."
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_COLUMNS = "thread_id, title, created_at_ms, updated_at_ms, last_checkpoint_id, deleted_at_ms"
_JOINERS = "\u200c\u200d"  # format characters that words and emoji are made with


def one_line(text: str, longest: int = LONGEST_TITLE) -> str:
    """A text as a title: one trimmed line without control characters, bidi overrides or lone surrogates.

    What is longer than `longest` characters is cut at a word and ends with an ellipsis.
    """
    kept = "".join(" " if char.isspace() else char for char in text if char.isspace() or _is_shown(char))
    line = " ".join(kept.split()).strip(_JOINERS)
    if len(line) <= longest:
        return line
    cut = line[: longest - 1]
    at_word = cut.rsplit(" ", 1)[0]
    return (at_word if len(at_word) > longest // 2 else cut).rstrip() + "…"


class Sessions:
    """Reads and writes the `chat_session` table. As safe between threads as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def create(self, title: str = "", thread_id: str | None = None) -> Thread:
        """Begin a conversation; without an id it gets a random one of 32 hex digits. The title may wait.

        Raises `ConfigError` where the id is taken or not 1-64 letters, digits, dashes and underscores.
        """
        if thread_id is not None and not _ID.fullmatch(thread_id):
            raise ConfigError("A conversation's id has 1 to 64 letters, digits, dashes or underscores.", hint=_HINT)
        name = thread_id or secrets.token_hex(16)
        now = _now_ms()
        with self._db.transaction() as db:
            made = db.execute(
                "INSERT INTO chat_session (thread_id, title, created_at_ms, updated_at_ms) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (thread_id) DO NOTHING",
                (name, one_line(title), now, now),
            )
            if not made.rowcount:
                raise ConfigError(f"There is a conversation {name} already.", hint=_HINT)
        return Thread(name, one_line(title), now, now)

    def get(self, thread_id: str) -> Thread:
        """One conversation, a deleted one too. Raises `NotFoundError`."""
        row = self._db.one(f"SELECT {_COLUMNS} FROM chat_session WHERE thread_id = ?", (thread_id,))
        if row is None:
            raise NotFoundError(f"There is no conversation {one_line(thread_id, 64)}.", hint=_HINT)
        return _thread(row)

    def get_open(self, thread_id: str) -> Thread:
        """One conversation that can be gone on with. Raises `NotFoundError` for a deleted one too."""
        thread = self.get(thread_id)
        if thread.deleted_at_ms is not None:
            raise NotFoundError("This conversation was deleted.", hint="Restore it first.")
        return thread

    def all(self, deleted: bool = False) -> tuple[Thread, ...]:
        """Those that are not deleted, or only those that are; the one that was used last comes first."""
        rows = self._db.all(
            f"SELECT {_COLUMNS} FROM chat_session WHERE (deleted_at_ms IS NOT NULL) = ?"
            " ORDER BY updated_at_ms DESC, created_at_ms DESC, thread_id",
            (deleted,),
        )
        return tuple(map(_thread, rows))

    def find(self, name: str) -> Thread:
        """The conversation of this id, of the only id that begins so (4 characters or more), or of this title.

        Deleted ones are looked at where no other fits. Raises `NotFoundError`, also where several fit.
        """
        title = one_line(name)
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
                raise NotFoundError(f"Several conversations are called {title}: {ids}.", hint="Give the whole id.")
        raise NotFoundError(f"There is no conversation {one_line(name, 64) or 'without a name'}.", hint=_HINT)

    def rename(self, thread_id: str, title: str) -> Thread:
        """Give it another title of 1 to 200 characters. Raises `ConfigError`, `NotFoundError`."""
        line = one_line(title, max(LONGEST_TITLE, len(title)))
        if not line:
            raise ConfigError("A conversation's title needs at least one character that can be seen.", hint=_HINT)
        if len(line) > LONGEST_TITLE:
            raise ConfigError(f"A conversation's title has at most {LONGEST_TITLE} characters.", hint="Shorten it.")
        return self._set(thread_id, "title = ?", line)

    def touch(self, thread_id: str, checkpoint_id: str | None, at_ms: int) -> Thread:
        """Note where the conversation stands now. Raises `NotFoundError`."""
        return self._set(thread_id, "last_checkpoint_id = ?, updated_at_ms = ?", checkpoint_id, at_ms)

    def delete(self, thread_id: str) -> Thread:
        """Put it aside; `restore` brings it back as it was. Raises `NotFoundError`."""
        return self._set(thread_id, "deleted_at_ms = coalesce(deleted_at_ms, ?)", _now_ms())

    def restore(self, thread_id: str) -> Thread:
        """Undo `delete`. Raises `NotFoundError`."""
        return self._set(thread_id, "deleted_at_ms = NULL")

    def drop(self, thread_id: str) -> Thread:
        """Take the row away and return what it was. Raises `NotFoundError`."""
        with self._db.transaction() as db:
            thread = self.get(thread_id)
            db.execute("DELETE FROM chat_session WHERE thread_id = ?", (thread_id,))
        return thread

    def _set(self, thread_id: str, change: str, *values: object) -> Thread:
        with self._db.transaction() as db:
            db.execute(f"UPDATE chat_session SET {change} WHERE thread_id = ?", (*values, thread_id))
            return self.get(thread_id)


def _is_shown(char: str) -> bool:
    return char in _JOINERS or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _thread(row: Row) -> Thread:
    return Thread(*row)
