"""The states of a conversation, as they are carried from one vault to another."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from docmind.conversations.checkpoints import Checkpoints, PlainSerializer, refuse, refuse_read
from docmind.documents import rows_of
from docmind.errors import StateRefusedError
from docmind.storage import Connection, Database
from docmind.wording import _

_TABLES = {
    "checkpoints": ("type", "checkpoint"),
    "writes": ("type", "value"),
}
"""LangGraph's tables, each with the columns of an encoded value."""


@dataclass(frozen=True, slots=True)
class CarriedStates:
    """The rows of one conversation in LangGraph's tables, each row as a dict by column."""

    rows: dict[str, list[dict[str, Any]]] = field(repr=False)


def make_state_tables(database: Database) -> None:
    """Create LangGraph's tables where they are missing."""
    Checkpoints(database)


def carried_states(database: Database, thread_id: str, renamed: Callable[[str], str]) -> CarriedStates:
    """Return the states of a conversation; every text in them goes through `renamed`.

    Raises `StateRefusedError` where a state holds anything but plain data.
    """
    serializer = PlainSerializer()
    rows: dict[str, list[dict[str, Any]]] = {}
    for table, (kind, value) in _TABLES.items():
        rows[table] = []
        for row in rows_of(database, table, "SELECT {columns} FROM {table} WHERE thread_id = ?", (thread_id,)):
            state = _renamed(serializer.loads_typed((str(row[kind]), _bytes(row[value]))), renamed)
            refuse(state)
            row[kind], row[value] = serializer.dumps_typed(state)
            if table == "checkpoints":
                row["metadata"] = _metadata(_bytes(row["metadata"]), renamed)
            rows[table].append(row)
    return CarriedStates(rows)


def adopt_states(db: Connection, carried: CarriedStates) -> None:
    """Write the states that are not there, in the caller's transaction."""
    for table, rows in carried.rows.items():
        for row in rows:
            db.execute(
                f"INSERT OR IGNORE INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                list(row.values()),
            )


def _bytes(value: Any) -> bytes:
    if type(value) is not bytes:
        raise StateRefusedError(_("A stored state of the conversation is refused: it is not in our encoding."))
    return value


def _metadata(data: bytes, renamed: Callable[[str], str]) -> bytes:
    try:
        label = json.loads(data)
    except (ValueError, TypeError, RecursionError) as error:
        raise StateRefusedError(_("A stored state of the conversation is refused: its label is damaged.")) from error
    refuse_read(label, "metadata")
    return json.dumps(_renamed(label, renamed), ensure_ascii=False).encode("utf-8", "ignore")


def _renamed(value: Any, renamed: Callable[[str], str]) -> Any:
    if type(value) is str:
        return renamed(value)
    if type(value) is list:
        return [_renamed(item, renamed) for item in value]
    if type(value) is dict:
        return {key: _renamed(item, renamed) for key, item in value.items()}
    return value
