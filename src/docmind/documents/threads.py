"""Exchanges of mails: which mails belong together, by the ids in their headers or by subject and people.

A mail names the mails before it by their ids (RFC 5322, `In-Reply-To` and `References`). All mails of one exchange
share `thread`, the id of its first mail as far as the headers tell. Where a program left the ids out, an answer joins
the mail with the same subject that two people of both share.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # a reading process takes topics from here, and loads no code of keys
    from docmind.storage import Connection

_ANSWERS = (
    r"re|aw|antw?|antwort|sv|vs|vá|res|resp|resposta|respuesta|réf?|rép|odp|ynt|correction|corrected|erratum|korrektur"
    r"|berichtigung|correção|correcção|corrigido|corrección|corregido|rectificación|rectificatif|corrigé"
)
_FORWARDS = r"fwd?|wg|enc|encaminhada|rv|reenv|reenvío|tr|i|doorst|vb|vs|pd"
_MARK = re.compile(
    rf"\s*(?:(?P<answer>{_ANSWERS})|(?P<forward>{_FORWARDS}))\s*(?:\[\d{{1,3}}\]|\(\d{{1,3}}\)|\^\d{{1,3}})?\s?[:：]",
    re.I,
)
_LIST = re.compile(r"\s*\[[^\]]{1,60}\]\s*")  # the name of a mailing list
_MOST = 200  # mails with one subject that are compared
_APART = timedelta(days=180)
_LONGEST = 250  # characters of a subject
_ANSWER, _FORWARD = "re: ", "fwd: "


class _Mail(NamedTuple):
    doc_id: str
    thread: str
    message_id: str
    refers_to: str
    topic: str
    sender: str
    recipients: str
    sent_at: str


_COLUMNS = ", ".join(_Mail._fields)


def topic_of(subject: str) -> str:
    """Return a subject without what marks answers and forwards, in small letters, behind "re: " or "fwd: " of these."""
    left, mark = " ".join(subject[: 4 * _LONGEST].split()), ""
    while True:
        if (found := _LIST.match(left)) is not None and found.end() < len(left):
            left = left[found.end() :]
        elif (found := _MARK.match(left)) is not None:
            mark = mark or (_ANSWER if found["answer"] else _FORWARD)
            left = left[found.end() :]
        else:
            return f"{mark}{left.casefold().strip()[:_LONGEST]}" if left.strip() else ""


def is_answer(topic: str) -> bool:
    """Return whether a topic is that of an answer."""
    return topic.startswith(_ANSWER)


def join_thread(db: Connection, doc_id: str) -> None:
    """Note the exchange to which a document belongs, in the caller's transaction; nothing for one that is no mail.

    Mails that were known as two exchanges are one where this mail names both.
    """
    row = db.execute(f"SELECT {_COLUMNS} FROM documents WHERE doc_id = ? AND kind = 'mail'", (doc_id,)).fetchone()
    if row is None:
        return
    mail = _Mail(*row)
    before = mail.refers_to.split()
    ids = [*before, *([mail.message_id] if mail.message_id else [])]
    marks = ", ".join("?" * len(ids))
    found = db.execute(
        f"SELECT DISTINCT thread FROM documents WHERE thread <> '' AND doc_id <> ?"
        f" AND (message_id IN ({marks}) OR thread IN ({marks}))",
        (doc_id, *ids, *ids),
    ).fetchall()
    known = sorted(thread for (thread,) in found)
    if not known and not before:
        known = _by_subject(db, mail)
    first = _label(db, doc_id, ids[0]) if ids else ""
    if not first or (known and not before and first not in known):
        first = next(iter(known), "") or doc_id
    db.execute("UPDATE documents SET thread = ? WHERE doc_id = ?", (first, doc_id))
    for other in known:
        if other != first:
            db.execute("UPDATE documents SET thread = ? WHERE thread = ?", (first, other))


def _label(db: Connection, doc_id: str, message_id: str) -> str:
    """Return the exchange of the mail with this id, which is the id itself as long as that mail is not there."""
    query = "SELECT thread FROM documents WHERE message_id = ? AND thread <> '' AND doc_id <> ? LIMIT 1"
    found = db.execute(query, (message_id, doc_id)).fetchone()
    return found[0] if found else message_id


def _by_subject(db: Connection, mail: _Mail) -> list[str]:
    """Return the exchanges that a mail belongs to by its subject and people: one, or none."""
    bare = mail.topic.removeprefix(_ANSWER)
    if not bare or bare.startswith(_FORWARD):
        return []
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM documents WHERE kind = 'mail' AND topic IN (?, ?) AND doc_id <> ? AND thread <> ''"
        f" ORDER BY sent_at DESC LIMIT {_MOST}",
        (bare, _ANSWER + bare, mail.doc_id),
    )
    for row in rows.fetchall():
        other = _Mail(*row)
        if _is_answered(other, mail) or (not other.refers_to and _is_answered(mail, other)):
            return [other.thread]
    return []


def _is_answered(first: _Mail, answer: _Mail) -> bool:
    """Return whether a mail answers another one, or an answer to it: two people share both, and time goes on."""
    if not is_answer(answer.topic) or len(_people(first) & _people(answer)) < 2:
        return False
    one, other = _time(first.sent_at), _time(answer.sent_at)
    return one is None or other is None or timedelta(0) <= other - one <= _APART


def _people(mail: _Mail) -> set[str]:
    """Return the people of a mail, each by the address, or by the name where there is none."""
    said = (one.rpartition("<")[2].strip("> ").casefold() for one in (mail.sender, *mail.recipients.split("; ")))
    return {one for one in said if one}


def _time(sent_at: str) -> datetime | None:
    try:
        return datetime.fromisoformat(sent_at).astimezone(UTC) if sent_at else None
    except ValueError:  # of a damaged row
        return None
