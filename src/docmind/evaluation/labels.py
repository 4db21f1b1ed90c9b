"""What the user says of sources: the table `source_labels`.

A label has the words of its question, and goes with the conversation in which it was given, or with the document.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

from docmind.errors import ConfigError, NotFoundError
from docmind.records.evaluation import GOOD, NO_SOURCE, SourceLabel
from docmind.records.values import PageNo, check, check_question, is_sound
from docmind.storage import Database, Row
from docmind.wording import _

_COLUMNS = "query_id, question, doc_id, page_no, grade, coalesce(thread_id, ''), at_ms"


class SourceLabels:
    """The user's labels. Thread-safe as `Database` is."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def put(
        self, question: str, doc_id: str, page_no: int, grade: int | None, *, thread_id: str = ""
    ) -> SourceLabel | None:
        """Label a page for a question of a conversation, or of none; with the grade None the label is removed.

        Equal words in one conversation are one question. Raises `NotFoundError` where there is no such page or
        conversation, `ConfigError` for another grade or an empty question, and for one that could not be asked.
        """
        words = " ".join(question.split())
        check_question(words)
        check(PageNo, page_no, "page_no")
        if not words or not is_sound(words):
            raise ConfigError(_("The question is empty."), hint=_("Type a question."))
        if grade not in (GOOD, NO_SOURCE, None):
            raise ConfigError(
                _("{grade} is no grade of a source.").format(grade=grade),
                hint=_("Give 2 for a good source, 0 for none, or null to remove the label."),
            )
        with self._db.transaction() as db:
            row = db.execute(
                "SELECT query_id FROM source_labels WHERE question = ? AND thread_id IS ?", (words, thread_id or None)
            ).fetchone()
            query_id = row[0] if row else secrets.token_hex(8)
            if grade is None:
                db.execute(
                    "DELETE FROM source_labels WHERE query_id = ? AND doc_id = ? AND page_no = ?",
                    (query_id, doc_id, page_no),
                )
                return None
            if not db.execute("SELECT 1 FROM pages WHERE doc_id = ? AND page_no = ?", (doc_id, page_no)).fetchone():
                raise NotFoundError(_("There is no page {page_no} in it.").format(page_no=page_no))
            if thread_id and not db.execute("SELECT 1 FROM chat_session WHERE thread_id = ?", (thread_id,)).fetchone():
                raise NotFoundError(_("There is no conversation {thread_id}.").format(thread_id=thread_id))
            label = SourceLabel(query_id, words, doc_id, page_no, grade, thread_id, time.time_ns() // 1_000_000)
            db.execute(
                "INSERT INTO source_labels (query_id, thread_id, question, doc_id, page_no, grade, at_ms)"
                " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (query_id, doc_id, page_no)"
                " DO UPDATE SET grade = excluded.grade, at_ms = excluded.at_ms",
                (query_id, thread_id or None, words, doc_id, page_no, grade, label.at_ms),
            )
        return label

    def all(self, thread_id: str | None = None) -> tuple[SourceLabel, ...]:
        """Return all labels, or those of one conversation ("" for none), the oldest first."""
        where, values = ("", ()) if thread_id is None else ("WHERE coalesce(thread_id, '') = ?", (thread_id,))
        rows = self._db.all(f"SELECT {_COLUMNS} FROM source_labels {where} ORDER BY at_ms, query_id", values)
        return tuple(map(_label, rows))

    def questions(self, query_ids: Sequence[str]) -> dict[str, str]:
        """Return the words of those of the questions that still have a label, by their ids."""
        wanted = set(query_ids)
        rows = self._db.all("SELECT DISTINCT query_id, question FROM source_labels")
        return {query_id: question for query_id, question in rows if query_id in wanted}


def _label(row: Row) -> SourceLabel:
    return SourceLabel(*row)
