"""The user's own instructions for answers, of all conversations and of one: language, length, tone.

They are choices, not facts: a question takes all of them, whatever it is about. They go into the prompt after the rules
on sources, and nothing about the check of an answer depends on them.
"""

from __future__ import annotations

import hashlib

from docmind.errors import ConfigError, DamagedError
from docmind.records.search import Degraded
from docmind.rich_text import visible
from docmind.storage import Database, Preferences
from docmind.wording import _

LONGEST_INSTRUCTIONS = 2_000  # characters
_ALL = "instructions"


class Instructions:
    """The instructions kept in `vault.db`. Thread-safe as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._preferences = Preferences(database)

    def get(self, thread_id: str | None = None) -> str:
        """Return the instructions of a conversation, or those of all; empty without any. Raises `DamagedError`."""
        kept = self._preferences.get(_name(thread_id))
        return kept if isinstance(kept, str) else ""

    def put(self, text: str, thread_id: str | None = None) -> str:
        """Keep instructions, an empty text for none, and return them as they are kept. Raises `ConfigError`."""
        kept = visible(text.encode("utf-8", "replace").decode()).strip()
        if len(kept) > LONGEST_INSTRUCTIONS:
            raise ConfigError(
                _("Instructions have at most {longest_instructions:,} characters; these have {number:,}.").format(
                    longest_instructions=LONGEST_INSTRUCTIONS, number=len(kept)
                ),
                hint=_("Keep what matters for every answer, and put the rest in your question."),
            )
        if kept:
            self._preferences.put(_name(thread_id), kept)
        else:
            self.remove(thread_id)
        return kept

    def remove(self, thread_id: str | None = None) -> None:
        """Delete the instructions of a conversation, or those of all. Idempotent."""
        self._preferences.remove(_name(thread_id))

    def of(self, thread_id: str | None) -> tuple[tuple[str, ...], tuple[Degraded, ...]]:
        """Return what counts for a question: for all conversations, then for this one; and what cannot be read."""
        texts: list[str] = []
        degraded: list[Degraded] = []
        for place in (None, thread_id) if thread_id else (None,):
            try:
                texts.append(self.get(place))
            except DamagedError as error:
                degraded.append(Degraded("instructions", str(error)))
        return tuple(text for text in texts if text), tuple(degraded)


def _name(thread_id: str | None) -> str:
    """Return the name of the preference; the ids of conversations are too long for one."""
    if thread_id is None:
        return _ALL
    return f"{_ALL}.{hashlib.blake2b(thread_id.encode(), digest_size=16).hexdigest()}"
