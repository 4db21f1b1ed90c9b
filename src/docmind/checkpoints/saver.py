"""LangGraph's `SqliteSaver` on the one connection of `vault.db`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
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
from langgraph.checkpoint.sqlite.utils import load_pending_writes, pending_writes_sql, search_where

from docmind.checkpoints.plain import LARGEST, refuse, refuse_read
from docmind.database import Connection, Database, Row, dbapi2
from docmind.errors import NotFoundError, StateRefusedError

_COLUMNS = "thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata"
_PARTS = {"channel_values": dict, "channel_versions": dict, "versions_seen": dict, "id": str}


class Saved(NamedTuple):
    """One stored state. `values` are LangGraph's channels, its own (`branch:to:…`) among them."""

    checkpoint_id: str
    parent_id: str | None
    values: dict[str, Any]
    metadata: dict[str, Any]


class PlainSerializer(JsonPlusSerializer):
    """Msgpack of plain data and nothing else: no extension types, no constructors, no pickles, no other encodings.

    LangGraph's strict mode is not enough: it rebuilds paths, patterns and messages, and hands back the arguments of
    what it does not rebuild. Here all of them raise `StateRefusedError`.
    """

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=None)

    def with_msgpack_allowlist(self, extra_allowlist: Any) -> PlainSerializer:
        """LangGraph adds the types of a graph's state here; none is ever allowed."""
        return self

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        if obj is None:
            return "null", b""
        try:
            data = ormsgpack.packb(obj, option=_PASS)
        except ormsgpack.MsgpackEncodeError as error:
            raise StateRefusedError("The conversation's state holds what is not plain data.") from error
        if len(data) > LARGEST:
            raise StateRefusedError(
                f"The conversation's state takes {len(data):,} bytes; {LARGEST:,} are the most.",
                hint="Ask a narrower question; what was there before is kept.",
            )
        return "msgpack", data

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        kind, content = data
        if kind == "null":
            return None
        if kind != "msgpack" or not isinstance(content, bytes):
            raise StateRefusedError("A stored state of the conversation is refused: it is not in our encoding.")
        try:
            value = ormsgpack.unpackb(content)  # without a hook any extension type is an error
        except ValueError as error:
            raise StateRefusedError("A stored state of the conversation is refused: it is not plain data.") from error
        refuse_read(value)
        return value


_PASS = (
    ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_UUID
)


class Checkpoints(SqliteSaver):
    """Reads and writes LangGraph's `checkpoints` and `writes` tables, in transactions of `Database`.

    As safe between threads as `Database` is. LangGraph saves from threads of its own: whoever runs a graph must not
    hold a transaction meanwhile, or both wait for each other. Only `Saved` leaves this room, and what LangGraph asks.
    """

    def __init__(self, database: Database) -> None:
        """Make the tables where they are missing."""
        super().__init__(database.connection, serde=PlainSerializer())
        self.jsonplus_serde = PlainSerializer()
        self._database = database
        self.setup()

    def setup(self) -> None:
        """Once, outside of any transaction: LangGraph's script would commit it."""
        if self.is_setup:
            return
        if not any(name == "task_path" for _, name, *_ in self._database.all("PRAGMA table_info(writes)")):
            with self._database.outside():
                try:
                    super().setup()
                except dbapi2.OperationalError as error:  # it expects the exception of another library here
                    if "duplicate column name" not in str(error):
                        raise
        self.is_setup = True

    @contextmanager
    def cursor(self, transaction: bool = True) -> Iterator[Any]:
        """What LangGraph's methods work with: a transaction of its own, or a reading that nothing comes between."""
        with self._database.transaction() if transaction else self._database.reading() as db:
            cursor = db.cursor()
            try:
                yield cursor
            finally:
                cursor.close()

    # LangGraph's interface

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The state that a config names, or the newest. Raises `StateRefusedError`."""
        found = next(self.list(_whole(config), limit=1), None)
        return found._replace(config=config) if found and get_checkpoint_id(config) else found

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 (LangGraph's name)
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """States, newest first, all read before the first is given. Raises `StateRefusedError`."""
        where, values = search_where(config, filter, before)
        with self._database.reading() as db:
            rows = _rows(db, f"{where} ORDER BY checkpoint_id DESC LIMIT ?", (*values, -1 if limit is None else limit))
            writes = [db.execute(pending_writes_sql(True), row[:3]).fetchall() for row in rows]
        return iter([self._tuple(row, pending) for row, pending in zip(rows, writes, strict=True)])

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a state, durably when it returns. Raises `StateRefusedError` where it is not plain."""
        for channel, value in checkpoint["channel_values"].items():
            refuse(value, channel)
        refuse(dict(metadata), "metadata")
        refuse(get_checkpoint_metadata(config, metadata), "metadata")  # with what LangGraph adds from the config
        return super().put(_whole(config), checkpoint, metadata, new_versions)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote. Of a failure only the class is kept: its message may hold a document's words."""
        plain = [
            (channel, type(value).__name__ if channel == ERROR and isinstance(value, BaseException) else value)
            for channel, value in writes
        ]
        for channel, value in plain:
            refuse(value, channel)
        super().put_writes(_whole(config), plain, task_id, task_path)

    # ours

    def history(self, thread_id: str) -> tuple[Saved, ...]:
        """Every state of a thread, oldest first: the tree of its runs. Raises `StateRefusedError`."""
        with self._database.reading() as db:
            rows = _rows(db, "WHERE thread_id = ? AND checkpoint_ns = '' ORDER BY checkpoint_id", (thread_id,))
        return tuple(map(self._saved, rows))

    def chain(self, thread_id: str, checkpoint_id: str, limit: int | None = None) -> tuple[Saved, ...]:
        """A state, its parent, and so on to the beginning, or `limit` of them. Raises `NotFoundError`."""
        found: dict[str, Row] = {}
        at: str | None = checkpoint_id
        with self._database.reading() as db:
            while at and at not in found and (limit is None or len(found) < limit):
                where = "WHERE thread_id = ? AND checkpoint_ns = '' AND checkpoint_id = ?"
                rows = _rows(db, where, (thread_id, at))
                if not rows:
                    break
                found[at], at = rows[0], rows[0][3]
        if not found and limit != 0:
            raise NotFoundError(
                "This conversation has no such point.", hint="Run `docmind threads show` to see the points it has."
            )
        return tuple(map(self._saved, found.values()))

    def purge(self, thread_id: str) -> int:
        """Delete all of a thread and return how many states that were.

        Their bytes are gone only after `Database.scrub`.
        """
        with self._database.transaction() as db:
            count = db.execute("SELECT count(*) FROM checkpoints WHERE thread_id = ?", (thread_id,)).fetchone()[0]
            self.delete_thread(thread_id)
        return count

    def _saved(self, row: Row) -> Saved:
        checkpoint, metadata = self._opened(row)
        return Saved(row[2], row[3], checkpoint["channel_values"], metadata)

    def _tuple(self, row: Row, writes: Sequence[Row]) -> CheckpointTuple:
        checkpoint, metadata = self._opened(row)
        thread_id, space, checkpoint_id, parent_id = row[:4]
        place = {"thread_id": thread_id, "checkpoint_ns": space}
        return CheckpointTuple(
            {"configurable": {**place, "checkpoint_id": checkpoint_id}},
            checkpoint,
            metadata,
            {"configurable": {**place, "checkpoint_id": parent_id}} if parent_id else None,
            load_pending_writes(writes, self.serde),
        )

    def _opened(self, row: Row) -> tuple[Any, Any]:
        """The checkpoint and its metadata, in the shape that LangGraph and we rely on."""
        _, _, checkpoint_id, _, kind, content, about = row
        checkpoint = self.serde.loads_typed((kind, content))
        if not _is_checkpoint(checkpoint) or checkpoint["id"] != checkpoint_id:
            raise StateRefusedError("A stored state of the conversation is refused: it has not the shape of one.")
        try:
            metadata = {} if about is None else json.loads(about)
        except (ValueError, TypeError, RecursionError) as error:
            raise StateRefusedError("A stored state of the conversation is refused: its label is damaged.") from error
        if not isinstance(metadata, dict):
            raise StateRefusedError("A stored state of the conversation is refused: its label is damaged.")
        refuse_read(metadata, "metadata")
        return checkpoint, metadata


def _is_checkpoint(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(name), kind) for name, kind in _PARTS.items())
        and all(isinstance(seen, dict) for seen in value["versions_seen"].values())
    )


def _whole(config: RunnableConfig) -> RunnableConfig:
    """With the namespace of the graph itself where none is named: LangGraph leaves it out and then misses it."""
    return {**config, "configurable": {"checkpoint_ns": "", **config.get("configurable", {})}}


def _rows(db: Connection, where: str, values: Sequence[object]) -> Sequence[Row]:
    return db.execute(f"SELECT {_COLUMNS} FROM checkpoints {where}", values).fetchall()
