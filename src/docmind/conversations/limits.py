"""Which documents a conversation is meant to be asked alone: those that were added for it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from docmind.errors import ConfigError, DamagedError
from docmind.storage import Database, Preferences
from docmind.wording import _

_MOST = 400  # documents: what one preference has room for


class Limits:
    """The limits kept in `vault.db`, by conversation. Thread-safe as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._preferences = Preferences(database)

    def get(self, thread_id: str) -> tuple[str, ...]:
        """Return the ids of the documents, empty for all; a limit that cannot be read is none."""
        try:
            kept = self._preferences.get(_name(thread_id))
        except DamagedError:
            return ()
        return tuple(doc_id for doc_id in kept if isinstance(doc_id, str)) if isinstance(kept, list) else ()

    def put(self, thread_id: str, doc_ids: Sequence[str]) -> None:
        """Keep a limit; none of documents means all. Raises `ConfigError` above 400."""
        if len(doc_ids) > _MOST:
            raise ConfigError(
                _("A conversation can be limited to at most {most} documents; these are {number:,}.").format(
                    most=_MOST, number=len(doc_ids)
                ),
                hint=_("Put them into a collection, or ask all documents."),
            )
        if doc_ids:
            self._preferences.put(_name(thread_id), list(doc_ids))
        else:
            self.drop(thread_id)

    def drop(self, thread_id: str) -> None:
        """Delete the limit of a conversation. Idempotent."""
        self._preferences.drop(_name(thread_id))


def _name(thread_id: str) -> str:
    """Return the name of the preference; the ids of conversations are too long for one."""
    return f"documents.{hashlib.blake2b(thread_id.encode(), digest_size=16).hexdigest()}"
