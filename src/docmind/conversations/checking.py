"""The check of all stored states of conversations: each must decode, and hold only what a state may hold."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from docmind.conversations.checkpoints import PlainSerializer, check_shape, refuse, refuse_read
from docmind.errors import DamagedError, StateRefusedError
from docmind.storage import Database

_TABLES = {"checkpoints": "type, checkpoint, metadata", "writes": "type, value, NULL"}
_LABEL = re.compile(r"[A-Za-z0-9_.:|-]{0,128}")
_DEEPEST = 8


class StateFault(NamedTuple):
    """A stored state that is refused, or that holds a path, encoded bytes or text where it must not."""

    thread_id: str
    fault: Literal["refused", "foreign"]


def check_states(database: Database, report: Callable[[], None] = lambda: None) -> Iterator[StateFault]:
    """Decode every state and pending write of every conversation, and yield those that fail, each conversation once.

    `report` is called for each. A question or an answer may look like a path: what a user or a document says is no
    fault. The label of a state has ids and numbers only.
    """
    serializer, told = PlainSerializer(), set[StateFault]()
    there = {name for (name,) in database.all("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table, columns in _TABLES.items():
        if table not in there:
            continue
        for number, thread_id in database.all(f"SELECT rowid, thread_id FROM {table} ORDER BY rowid"):
            report()
            fault = _fault(database, serializer, f"SELECT {columns} FROM {table} WHERE rowid = ?", number)
            if fault is not None and (found := StateFault(thread_id, fault)) not in told:
                told.add(found)
                yield found


def _fault(
    database: Database, serializer: PlainSerializer, query: str, number: int
) -> Literal["refused", "foreign"] | None:
    try:
        row = database.one(query, (number,))
        if row is None:  # deleted meanwhile
            return None
        value = serializer.loads_typed((row[0], row[1]))
        label = json.loads(row[2]) if row[2] is not None else {}
        refuse_read(label, "metadata")
        if row[2] is not None:
            check_shape(value)
    except (StateRefusedError, DamagedError, ValueError, TypeError, RecursionError):
        return "refused"
    channels = value["channel_values"] if row[2] is not None else {"value": value}
    try:
        for name, channel in channels.items():
            refuse(channel, name)
    except StateRefusedError:
        return "foreign"
    return None if _is_label(label, _DEEPEST) else "foreign"


def _is_label(value: Any, depth: int) -> bool:
    """Return whether data is made of short names and numbers."""
    if isinstance(value, str):
        return bool(_LABEL.fullmatch(value))
    if isinstance(value, dict):
        return depth > 0 and all(_is_label(one, depth - 1) for pair in value.items() for one in pair)
    if isinstance(value, list):
        return depth > 0 and all(_is_label(one, depth - 1) for one in value)
    return True
