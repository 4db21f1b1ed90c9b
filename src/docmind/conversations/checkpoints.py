"""LangGraph's `SqliteSaver` over the single connection of `vault.db`.

A conversation's state may hold plain data only: anything else is refused when it is written and when it is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import ormsgpack
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import ERROR
from langgraph.checkpoint.sqlite import SqliteSaver

from docmind.errors import NotFoundError, StateRefusedError
from docmind.storage import Connection, Database, dbapi2
from docmind.wording import N_, _, number_text

DEEPEST = 16  # nested lists and dicts
LARGEST = 1 << 20  # bytes of one checkpoint, or of one write
_BASE64 = 1000  # characters; a longer text without spaces may be encoded bytes
_WRITING_HINT = N_("Ask again, or in other words; what was there before is kept.")
_PATH_FIELDS = frozenset(("image_path", "thumbnail_path", "source_path"))
_DATA_URL = re.compile(r"\s*data:[\w.+*/=;-]*;base64,[\sA-Za-z0-9+/_%=-]*", re.IGNORECASE)
_BASE64_TEXT = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_PATH = re.compile(r"[/\\~]|[A-Za-z]:|file:", re.IGNORECASE)
_SCALARS = frozenset((str, int, bool, type(None)))
_SHOWN_KEY = re.compile(r"[A-Za-z0-9_:.-]{1,40}")

_Where = tuple[Any, Any] | None  # the path to a value, as (path to the parent, key)


def refuse(value: Any, name: str = "state") -> None:
    """Raise `StateRefusedError` unless the value may be stored.

    Allowed: None, bool, int of 64 bits, finite float, str that is valid UTF-8, list, and dict with str keys, up to 16
    deep. Not allowed even as text: a file path in a field that is named for one, a text that is nothing but a `data:`
    URL of encoded bytes, and 1,000 or more characters of base64. The message names the place, never what stands there.
    """
    _walk(value, name, is_new=True)


def refuse_read(value: Any, name: str = "state") -> None:
    """Check types and depth of decoded data; LangGraph adds two levels around the state."""
    if not _is_plain(value, DEEPEST + 2):
        _walk(value, name, is_new=False)


def _is_plain(value: Any, depth: int) -> bool:
    """Check a value without recording paths.

    This is the fast way: nearly all that is read is valid, and there is much of it (400 states for 200 turns).
    """
    kind = type(value)
    if kind is dict:
        if not all(type(key) is str for key in value):
            return False
        value = value.values()
    elif kind is not list:
        return kind in _SCALARS or (kind is float and math.isfinite(value))
    if not depth:
        return False
    return all(type(inner) in _SCALARS or _is_plain(inner, depth - 1) for inner in value)


def _walk(value: Any, name: str, *, is_new: bool) -> None:
    deepest = DEEPEST if is_new else DEEPEST + 2
    left = LARGEST  # a value that fits has fewer parts than bytes; lists that share parts could have endlessly many
    stack: list[tuple[Any, int, _Where]] = [(value, 1, None)]
    while stack:
        item, depth, where = stack.pop()
        left -= 1
        if left < 0:
            raise _refused(name, where, f"has more than {LARGEST} parts", is_new)
        kind = type(item)  # exactly: a subclass, such as a numpy float, would be read back as another type
        if kind is str:
            if is_new and (reason := _text(item, where)):
                raise _refused(name, where, reason, is_new)
        elif kind is dict:
            if depth > deepest:
                raise _refused(name, where, f"is nested more than {DEEPEST} deep", is_new)
            for key, inner in item.items():
                if type(key) is not str or not _is_utf8(key):
                    raise _refused(name, where, "has a key that is not text", is_new)
                stack.append((inner, depth + 1, (where, key)))
        elif kind is list:
            if depth > deepest:
                raise _refused(name, where, f"is nested more than {DEEPEST} deep", is_new)
            stack.extend((inner, depth + 1, (where, at)) for at, inner in enumerate(item))
        elif kind is float:
            if not math.isfinite(item):
                raise _refused(name, where, "is not a finite number", is_new)
        elif kind is int:
            if not -(1 << 63) <= item < 1 << 63:
                raise _refused(name, where, "is a number of more than 64 bits", is_new)
        elif item is not None and kind is not bool:
            raise _refused(name, where, f"is of the type {kind.__name__}, not plain data", is_new)


def _text(text: str, where: _Where) -> str:
    """Return why a text is refused, or an empty string."""
    if len(text) > LARGEST:
        return f"has more than {LARGEST} characters"
    if not _is_utf8(text):
        return "is not valid text"
    key = where[1] if where else None
    if text and (key in _PATH_FIELDS or (key == "path" and _PATH.search(text))):
        return "is a file path"
    if _DATA_URL.fullmatch(text):
        return "is a data URL"
    if len(text) >= _BASE64 and _is_base64(text):
        return "is bytes written as base64"
    return ""


def _is_utf8(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_base64(text: str) -> bool:
    """Tell whether a text is base64, in one piece or in the long lines of a mail.

    Words on lines of their own are not base64.
    """
    lines = text.replace("\r", "").strip("\n").split("\n")
    return len("".join(lines)) >= _BASE64 > 20 * len(lines) and all(map(_BASE64_TEXT.fullmatch, lines))


def _refused(name: str, where: _Where, reason: str, is_new: bool) -> StateRefusedError:
    steps: list[str] = []
    while where:
        where, key = where
        shown = key if type(key) is str and _SHOWN_KEY.fullmatch(key) else "…"  # a key may hold a document's words
        steps.append(f"[{key}]" if type(key) is int else f".{shown}")
    place = name + "".join(reversed(steps))
    if is_new:
        return StateRefusedError(
            _("The conversation's state cannot keep {place}: it {reason}.").format(place=place, reason=reason),
            hint=_(_WRITING_HINT),
        )
    return StateRefusedError(
        _("A stored state of the conversation is refused: {place} {reason}.").format(place=place, reason=reason)
    )


_LABEL_REFUSED = N_("A stored state of the conversation is refused: its label is damaged.")
_PARTS = {"channel_values": dict, "channel_versions": dict, "versions_seen": dict, "id": str}


class Saved(NamedTuple):
    """A stored state. `values` are LangGraph's channels, including its own (`branch:to:…`)."""

    checkpoint_id: str
    parent_id: str | None
    values: dict[str, Any]
    metadata: dict[str, Any]


class PlainSerializer(JsonPlusSerializer):
    """Serializer for plain data in msgpack only.

    There are no extension types, constructors, pickles or other encodings.

    LangGraph's strict mode is not enough: it rebuilds paths, patterns and messages, and returns the arguments of what
    it does not rebuild. Here all of them raise `StateRefusedError`.
    """

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=None)

    def with_msgpack_allowlist(self, extra_allowlist: Any) -> PlainSerializer:
        """Ignore the types of a graph's state, which LangGraph adds here: none is allowed."""
        return self

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        if obj is None:
            return "null", b""
        try:
            data = ormsgpack.packb(obj, option=_PASS)
        except ormsgpack.MsgpackEncodeError as error:
            raise StateRefusedError(_("The conversation's state holds what is not plain data.")) from error
        if len(data) > LARGEST:
            raise StateRefusedError(
                _("The conversation's state takes {count} bytes; {largest} are the most.").format(
                    count=number_text(len(data)), largest=number_text(LARGEST)
                ),
                hint=_("Ask a narrower question; what was there before is kept."),
            )
        return "msgpack", data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        kind, content = data
        if kind == "null":
            return None
        if kind != "msgpack" or not isinstance(content, bytes):
            raise StateRefusedError(_("A stored state of the conversation is refused: it is not in our encoding."))
        try:
            value = ormsgpack.unpackb(content)  # without a hook, any extension type is an error
        except ValueError as error:
            raise StateRefusedError(
                _("A stored state of the conversation is refused: it is not plain data.")
            ) from error
        refuse_read(value)
        return value


_PASS = (
    ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_UUID
)


class Checkpoints(SqliteSaver):
    """LangGraph's `checkpoints` and `writes` tables, in transactions of `Database`.

    As thread-safe as `Database`. LangGraph saves from its own threads: a caller that runs a graph must not hold a
    transaction, or both wait for each other. Callers get `Saved` records, and LangGraph what its interface asks for.
    """

    def __init__(self, database: Database) -> None:
        """Create the tables where they are missing."""
        self._database = database
        super().__init__(database.connection, serde=PlainSerializer())
        self.jsonplus_serde = PlainSerializer()
        self.setup()

    def setup(self) -> None:
        """Create the tables once, outside of any transaction: LangGraph's script would commit it."""
        if self.is_setup:
            return
        # A read-only vault without tables for states has no conversations either.
        if not self._database.is_read_only and not any(
            name == "task_path" for _, name, *_ in self._database.all("PRAGMA table_info(writes)")
        ):
            with self._database.outside() as self.conn:
                try:
                    super().setup()
                except dbapi2.OperationalError as error:  # LangGraph expects the exception class of sqlite3 here
                    if "duplicate column name" not in str(error):
                        raise
        self.is_setup = True

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[Any]:
        """Open a cursor for LangGraph, in its own write transaction or in a consistent read."""
        # A turn ends by recording where its thread stands; listeners are not told of LangGraph's saves before that.
        with self._database.transaction(is_step=True) if transaction else self._database.reading() as db:
            self.conn = db  # after a damaged page the database has a new connection
            cursor = db.cursor()
            try:
                yield cursor
            finally:
                cursor.close()

    # LangGraph's interface

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the state that a config names, or the newest one. Raises `StateRefusedError`."""
        with _labels_refused():
            found = super().get_tuple(_whole(config))
        return found and _checked(found)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 (LangGraph's name)
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Return states, newest first, all read before the first is returned.

        Raises `StateRefusedError`.
        """
        with _labels_refused():
            found = [*super().list(config, filter=filter, before=before, limit=limit)]
        return iter([_checked(state) for state in found])

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a state durably. Raises `StateRefusedError` where it is not plain data."""
        for channel, value in checkpoint["channel_values"].items():
            refuse(value, channel)
        refuse(dict(metadata), "metadata")
        refuse(get_checkpoint_metadata(config, metadata), "metadata")  # including what LangGraph adds from the config
        return super().put(_whole(config), checkpoint, metadata, new_versions)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote.

        Of an exception only the class is kept: its message may hold document text.
        """
        plain = [
            (channel, type(value).__name__ if channel == ERROR and isinstance(value, BaseException) else value)
            for channel, value in writes
        ]
        for channel, value in plain:
            refuse(value, channel)
        super().put_writes(_whole(config), plain, task_id, task_path)

    # DocMind's own methods

    def history(self, thread_id: str) -> tuple[Saved, ...]:
        """Return every state of a thread, oldest first: the tree of its runs.

        Raises `StateRefusedError`.
        """
        return tuple(map(_saved, self.list(_root(thread_id))))[::-1]

    def chain(self, thread_id: str, checkpoint_id: str, limit: int | None = None) -> tuple[Saved, ...]:
        """Return a state and its ancestors, up to the first state or `limit` of them.

        Raises `NotFoundError`.
        """
        found: dict[str, Saved] = {}
        at: str | None = checkpoint_id
        with self._database.reading():
            while at and at not in found and (limit is None or len(found) < limit):
                state = self.get_tuple(_root(thread_id, at))
                if state is None:
                    break
                found[at] = _saved(state)
                at = found[at].parent_id
        if not found and limit != 0:
            raise NotFoundError(
                _("This conversation has no such point."),
                hint=_("Run `docmind threads show` to see the points it has."),
            )
        return tuple(found.values())

    def child_of(self, thread_id: str, checkpoint_id: str) -> str | None:
        """Return the id of the state that was stored last of those that follow directly on this one, or None.

        LangGraph's newest state is that of the highest id, which begins with the time of day: after the computer's
        clock was set back it is an older one.
        """
        row = self._database.one(
            "SELECT checkpoint_id FROM checkpoints WHERE thread_id = ? AND checkpoint_ns = ''"
            " AND parent_checkpoint_id = ? ORDER BY rowid DESC LIMIT 1",
            (thread_id, checkpoint_id),
        )
        return row[0] if row else None

    def threads(self) -> tuple[str, ...]:
        """Return the ids of all threads that have a state."""
        return tuple(thread_id for (thread_id,) in self._database.all("SELECT DISTINCT thread_id FROM checkpoints"))

    def channels(
        self, thread_id: str, holds: Callable[[bytes], bool]
    ) -> Iterator[tuple[tuple[str, int], dict[str, Any] | None]]:
        """Yield the place and the channels of every state and pending write whose stored bytes `holds` accepts.

        A pending write is one channel. The channels of what is refused are None. Give the place to `rewrite`.
        """
        for table, columns in (("checkpoints", "type, checkpoint, ''"), ("writes", "type, value, channel")):
            for (number,) in self._database.all(f"SELECT rowid FROM {table} WHERE thread_id = ?", (thread_id,)):
                stored = self._database.one(f"SELECT {columns} FROM {table} WHERE rowid = ?", (number,))
                if stored is None or not stored[1] or not holds(stored[1]):
                    continue
                try:
                    value = self.serde.loads_typed((stored[0], stored[1]))
                except StateRefusedError:
                    value = None
                if table == "checkpoints":
                    yield (table, number), value["channel_values"] if value and _is_checkpoint(value) else None
                else:
                    yield (table, number), None if value is None else {stored[2]: value}

    def rewrite(self, place: tuple[str, int], channels: dict[str, Any]) -> None:
        """Replace the channels of a state, or the value of a pending write, as `channels` yielded it."""
        table, number = place
        with self._database.transaction() as db:
            if table == "checkpoints":
                row = db.execute("SELECT type, checkpoint FROM checkpoints WHERE rowid = ?", (number,)).fetchone()
                value = {**self.serde.loads_typed((row[0], row[1])), "channel_values": channels}
                column = "checkpoint"
            else:
                (value,) = channels.values()
                column = "value"
            kind, data = self.serde.dumps_typed(value)
            db.execute(f"UPDATE {table} SET type = ?, {column} = ? WHERE rowid = ?", (kind, data, number))

    def erase(self, thread_id: str) -> int:
        """Delete all states of a thread and return how many there were.

        Their bytes are erased only by `Database.scrub`.
        """
        with self._database.transaction() as db:
            count = db.execute("SELECT count(*) FROM checkpoints WHERE thread_id = ?", (thread_id,)).fetchone()[0]
            self.delete_thread(thread_id)
        return count


def _saved(state: CheckpointTuple) -> Saved:
    parent = state.parent_config
    return Saved(
        state.checkpoint["id"],
        get_checkpoint_id(parent) if parent else None,
        state.checkpoint["channel_values"],
        {**state.metadata},
    )


def _checked(state: CheckpointTuple) -> CheckpointTuple:
    """Return a state whose shape readers may rely on. Raises `StateRefusedError`."""
    check_shape(state.checkpoint)
    if state.checkpoint["id"] != get_checkpoint_id(state.config):
        raise StateRefusedError(_("A stored state of the conversation is refused: it has not the shape of one."))
    if not isinstance(state.metadata, dict):
        raise StateRefusedError(_(_LABEL_REFUSED))
    refuse_read(state.metadata, "metadata")
    return state


@contextmanager
def _labels_refused() -> Iterator[None]:
    """Refuse what LangGraph cannot decode: of a stored state, only its label is not decoded by `PlainSerializer`."""
    try:
        yield
    except (ValueError, TypeError, RecursionError) as error:
        raise StateRefusedError(_(_LABEL_REFUSED)) from error


def stored_states(db: Connection) -> set[tuple[str, str]]:
    """Return thread and checkpoint id of every state of the root graph; none where no conversation was begun yet."""
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'checkpoints'").fetchone() is None:
        return set()
    return set(db.execute("SELECT thread_id, checkpoint_id FROM checkpoints WHERE checkpoint_ns = ''").fetchall())


def check_shape(value: Any) -> None:
    """Raise `StateRefusedError` unless a decoded state has the shape of one."""
    if not _is_checkpoint(value):
        raise StateRefusedError(_("A stored state of the conversation is refused: it has not the shape of one."))


def _is_checkpoint(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(name), kind) for name, kind in _PARTS.items())
        and all(isinstance(seen, dict) for seen in value["versions_seen"].values())
    )


def _whole(config: RunnableConfig) -> RunnableConfig:
    """Add the root graph's namespace where none is named: LangGraph omits and requires it."""
    return {**config, "configurable": {"checkpoint_ns": "", **config.get("configurable", {})}}


def _root(thread_id: str, checkpoint_id: str | None = None) -> RunnableConfig:
    """Return the place of a state of the root graph; of all states of its thread without an id."""
    place = {"thread_id": thread_id, "checkpoint_ns": ""}
    return {"configurable": place if checkpoint_id is None else {**place, "checkpoint_id": checkpoint_id}}
