"""Stored states of conversations: plain data only, no turn lost, nothing left by a purge."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import itertools
import json
import os
import pickle
import random
import re
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import ormsgpack
import pydantic
import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Send, interrupt
from PIL import Image

import forked
from checkpointed import KEY, graph, opened, place, question, turn
from conftest import HELPERS, tiny_disk
from docmind.conversations.checkpoints import Checkpoints, refuse
from docmind.errors import DiskFullError, NotFoundError, StateRefusedError, VaultError
from docmind.storage.database import Database
from each import each_of
from pagereader import count

CANARY = "Zyxxyvanadium-42"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vault.db"


@pytest.fixture
def vault(path: Path) -> Iterator[tuple[Database, Checkpoints]]:
    database, checkpoints = opened(path)
    yield database, checkpoints
    database.close()


@pytest.fixture
def db(vault: tuple[Database, Checkpoints]) -> Database:
    return vault[0]


@pytest.fixture
def checkpoints(vault: tuple[Database, Checkpoints]) -> Checkpoints:
    return vault[1]


@pytest.fixture
def app(checkpoints: Checkpoints) -> Any:
    return graph(checkpoints)


# --- turns ------------------------------------------------------------------------------------------------------------


def test_a_turn_is_two_states_and_a_fork_is_a_branch(app: Any, checkpoints: Checkpoints) -> None:
    one = turn(app, "t", " q1 ")
    two = turn(app, "t", "q2", one)
    other = turn(app, "t", "q2, edited", one)
    third = turn(app, "t", "q3", two)
    history = checkpoints.history("t")
    assert [saved.checkpoint_id for saved in history] == sorted(saved.checkpoint_id for saved in history)
    assert [saved.values["question"] for saved in history] == [
        *(" q1 ", "q1"), *("q2", "q2"), *("q2, edited", "q2, edited"), *("q3", "q3"),
    ]  # fmt: skip
    ended = {saved.checkpoint_id: saved for saved in history}
    assert ended[other].values == {
        "question": "q2, edited",
        "answer": {"text": "About q2, edited", "sources": []},
        "recent": ["q1", "q2, edited"],
    }
    assert ended[third].values["recent"] == ["q1", "q2", "q3"]
    begun = {saved.parent_id for saved in history}
    assert one in begun
    assert sum(saved.parent_id == one for saved in history) == 2
    assert history[0].parent_id is None
    assert history[0].metadata["source"] == "update"


def test_a_chain_is_the_way_to_the_beginning(app: Any, checkpoints: Checkpoints) -> None:
    at: str | None = None
    for n in range(5):
        at = turn(app, "t", f"q{n}", at)
    turn(app, "other", "else")
    assert at
    chain = checkpoints.chain("t", at)
    assert [saved.values["question"] for saved in chain] == [f"q{n}" for n in range(4, -1, -1) for _ in range(2)]
    assert [saved.parent_id for saved in chain[:-1]] == [saved.checkpoint_id for saved in chain[1:]]
    assert chain[-1].parent_id is None
    assert checkpoints.chain("t", at, 3) == chain[:3]
    assert checkpoints.chain("t", at, 0) == ()
    assert tuple(sorted(chain)) == checkpoints.history("t")


def test_a_point_that_is_not_there_is_one_sentence(app: Any, checkpoints: Checkpoints) -> None:
    at = turn(app, "t", "q")
    for thread_id, checkpoint_id in (("t", "nothing"), ("other", at)):
        with pytest.raises(NotFoundError, match="no such point"):
            checkpoints.chain(thread_id, checkpoint_id)
    assert checkpoints.history("nothing") == ()


def test_parents_in_a_ring_end(app: Any, checkpoints: Checkpoints, db: Database) -> None:
    at = turn(app, "t", "q")
    with db.transaction() as connection:
        connection.execute("UPDATE checkpoints SET parent_checkpoint_id = ? WHERE parent_checkpoint_id IS NULL", (at,))
    assert len(checkpoints.chain("t", at)) == 2


def test_everything_is_there_after_reopening(path: Path, vault: tuple[Database, Checkpoints]) -> None:
    database, checkpoints = vault
    at = turn(graph(checkpoints), "t", "q")
    before = checkpoints.history("t")
    database.close()
    database, checkpoints = opened(path)
    assert checkpoints.history("t") == before
    app = graph(checkpoints)
    turn(app, "t", "next", at)
    assert app.get_state(place("t")).values["recent"] == ["q", "next"]
    database.close()


def test_langgraphs_own_list_and_ours_are_the_same_states(app: Any, checkpoints: Checkpoints) -> None:
    one = turn(app, "t", "q1")
    turn(app, "t", "q2", one)
    states = list(app.get_state_history(place("t")))
    assert [state.config["configurable"]["checkpoint_id"] for state in states] == [
        saved.checkpoint_id for saved in reversed(checkpoints.history("t"))
    ]
    assert [len(list(checkpoints.list(place("t"), limit=n))) for n in (0, 1, 3, 99)] == [0, 1, 3, 4]
    assert [found.checkpoint["id"] for found in checkpoints.list(place("t"), before=place("t", one))] == [
        checkpoints.history("t")[0].checkpoint_id
    ]
    assert len(list(checkpoints.list(place("t"), filter={"source": "update"}))) == 2
    assert len(list(checkpoints.list(None))) == 4


def test_langgraphs_tables_are_as_our_statements_expect(app: Any, db: Database) -> None:
    """Where this fails after an update, look at each statement that ADR 0079 lists."""
    turn(app, "t", "q1")
    columns = {
        table: [row[1:4] for row in db.all(f"PRAGMA table_info({table})")] for table in ("checkpoints", "writes")
    }
    place = [("thread_id", "TEXT", 1), ("checkpoint_ns", "TEXT", 1), ("checkpoint_id", "TEXT", 1)]
    assert columns == {
        "checkpoints": [
            *place, ("parent_checkpoint_id", "TEXT", 0), ("type", "TEXT", 0), ("checkpoint", "BLOB", 0),
            ("metadata", "BLOB", 0),
        ],
        "writes": [
            *place, ("task_id", "TEXT", 1), ("task_path", "TEXT", 1), ("idx", "INTEGER", 1), ("channel", "TEXT", 1),
            ("type", "TEXT", 0), ("value", "BLOB", 0),
        ],
    }  # fmt: skip
    tables = {name for (name,) in db.all("SELECT name FROM sqlite_master WHERE type = 'table'")}
    own = Database(db._path.with_name("own.db"), KEY)
    assert tables - {name for (name,) in own.all("SELECT name FROM sqlite_master WHERE type = 'table'")} == set(columns)
    own.close()


@pytest.mark.slow
def test_no_other_statement_names_langgraphs_tables() -> None:
    """Each place is listed in ADR 0079; a name in quotes may become part of a statement."""
    import docmind

    named = re.compile(
        r"(?:FROM|INTO|UPDATE|JOIN|table_info\()\s*(?:checkpoints|writes)\b|[\"'](?:checkpoints|writes)[\"']"
    )
    found = {
        f"{path.parent.name}/{path.name}": len(named.findall(path.read_text(encoding="utf-8")))
        for path in Path(docmind.__path__[0]).rglob("*.py")
    }
    assert {name: number for name, number in found.items() if number} == {
        "conversations/checkpoints.py": 11, "conversations/carrying.py": 3, "conversations/checking.py": 2,
        "maintenance/doctor.py": 2, "maintenance/bundle.py": 2,
    }  # fmt: skip


def test_a_list_that_is_not_read_to_its_end_holds_nothing_up(app: Any, checkpoints: Checkpoints, db: Database) -> None:
    at = turn(app, "t", "q1")
    begun = checkpoints.list(place("t"))
    next(begun)
    other = threading.Thread(target=turn, args=(app, "t", "q2", at))
    other.start()
    other.join(20)
    assert not other.is_alive()
    db.scrub()
    assert len(list(begun)) == 1
    assert len(checkpoints.history("t")) == 4


def test_the_tables_are_made_once_and_never_within_a_transaction(path: Path) -> None:
    database = Database(path, KEY)
    with database.transaction() as connection:
        connection.execute("INSERT INTO preferences VALUES ('a', '1')")
        with pytest.raises(VaultError, match="inside a transaction"):
            Checkpoints(database)
    assert database.one("SELECT count(*) FROM preferences") == (1,)
    Checkpoints(database)
    made = database.all("SELECT name, sql FROM sqlite_master ORDER BY name")
    with database.transaction():
        Checkpoints(database)  # nothing left to create
    assert database.all("SELECT name, sql FROM sqlite_master ORDER BY name") == made
    database.close()


# --- failures ---------------------------------------------------------------------------------------------------------


def test_a_failure_keeps_its_class_and_the_turn_can_be_finished(checkpoints: Checkpoints, db: Database) -> None:
    def fails(state: Any) -> dict[str, Any]:
        raise LookupError(f"{CANARY} stands in the document: {state}")

    failing, app = graph(checkpoints, fails), graph(checkpoints)
    one = turn(app, "t", "q1")
    asked = question(failing, "t", "q2", one)
    with pytest.raises(LookupError, match=CANARY):
        failing.invoke(None, place("t", asked), durability="exit")
    writes = db.all("SELECT channel, value FROM writes")
    assert [ormsgpack.unpackb(value) for channel, value in writes if channel == "__error__"] == ["LookupError"]
    assert CANARY not in str(db.all("SELECT * FROM checkpoints") + writes)
    state = app.get_state(place("t"))
    assert (state.next, state.tasks[0].error) == (("write",), "LookupError")
    with pytest.raises(LookupError):  # fails again
        failing.invoke(None, state.config, durability="exit")
    app.invoke(None, app.get_state(place("t")).config, durability="exit")
    assert app.get_state(place("t")).values["answer"]["text"] == "About q2"
    assert app.get_state(place("t")).values["recent"] == ["q1", "q2"]
    app.invoke(None, place("t", asked), durability="exit")  # or from the question itself, beside it
    assert app.get_state(place("t")).values["recent"] == ["q1", "q2"]


@pytest.mark.parametrize("durability", ["exit", "sync", "async"])
def test_a_refused_result_of_a_node_keeps_the_question(checkpoints: Checkpoints, durability: Any) -> None:
    app = graph(checkpoints, lambda _: {"answer": {"sources": [{"image": b"\x89PNG"}]}})
    asked = question(app, "t", "q1")
    with pytest.raises(StateRefusedError, match=r"answer\.sources\[0\]\.image.*bytes"):
        app.invoke(None, place("t", asked), durability=durability)
    assert checkpoints.chain("t", asked)[0].values["question"] == "q1"
    mended = graph(checkpoints)
    mended.invoke(None, place("t", asked), durability="exit")
    assert mended.get_state(place("t")).values["answer"]["text"] == "About q1"


def test_an_interrupt_or_a_send_is_refused(checkpoints: Checkpoints) -> None:
    app = graph(checkpoints, lambda _: interrupt("stop"))
    asked = question(app, "t", "q1")
    with pytest.raises(StateRefusedError, match="__interrupt__"):
        app.invoke(None, place("t", asked), durability="sync")
    with pytest.raises(StateRefusedError):
        checkpoints.put_writes(place("t", asked) | {}, [("__pregel_tasks", Send("write", {}))], "task")


# --- what may be kept -------------------------------------------------------------------------------------------------


class Colour(enum.StrEnum):
    RED = "red"


@dataclass
class Record:
    text: str


class Model(pydantic.BaseModel):
    text: str


def nested(depth: int) -> Any:
    value: Any = "inside"
    for n in range(depth):
        value = [value] if n % 2 else {"a": value}
    return value


PLAIN = [
    None, True, 0, -(2**63), 2**63 - 1, 0.5, -1e300, "", "ação 漢字 \U0001f600 \x00\x1b", [], {},
    [None, {"a": [1, "b"]}],
    nested(16), "x" * 999, "word " * 1000, "a\n" * 2000, "A" * 500 + " " + "B" * 600, "data: 3, 4 and 5", "Data, mine",
    " DATA:text/html,<script>", "data:,x", "data:image/png;base64,iVBORw0KGgo= is how a picture begins.",
    {"path": "", "image_path": None, "source_path": "", "thumbnail_path": 3}, {"path": "chart"},
    {"text": "/etc/passwd"}, {"image_artifact_id": "f" * 64, "branch:to:x": None}, ["漢" * 2000],
]  # fmt: skip
NOT_PLAIN = [
    b"x", bytearray(b"x"), memoryview(b"x"), (1, 2), {1, 2}, frozenset(), float("nan"), float("inf"), -float("inf"),
    2**63, -(2**63) - 1, 10**400, "\ud800", {"\udfff": 1}, {1: "x"}, {None: "x"}, {b"x": 1}, Path("x"), Colour.RED,
    np.zeros(2), np.float64(0.5), np.int64(3), np.float32(1), np.bool_(True), np.str_("x"),
    Image.new("L", (1, 1)), Record("x"), Model(text="x"), dt.datetime.now(dt.UTC), dt.date(2026, 1, 1),
    decimal.Decimal(1), uuid.uuid4(), object(), object, len, lambda: 1, 1j, range(3), iter([1]), ValueError("x"),
    nested(17), nested(5000), "x" * ((1 << 20) + 1),
    "data:image/png;base64,iVBORw0KGgo=", " DATA:IMAGE/PNG;charset=x;BASE64,iVBO\nRw0K ", "data:;base64,eA==",
    "QUJD" * 250, "QUJD" * 250 + "==", "_-" * 500, ("QUJD" * 19 + "\r\n") * 20, "f" * 5000,
    {"image_path": "page.png"}, {"a": [{"thumbnail_path": "C:\\x"}]}, {"source_path": "/x"}, {"path": "/etc/passwd"},
    {"path": "a/b"}, {"path": "..\\b"}, {"path": "~"}, {"path": "C:"}, {"path": "file:x"},
]  # fmt: skip


@each_of("value", PLAIN)
def test_plain_data_is_kept_as_it_is(checkpoints: Checkpoints, db: Database, value: Any) -> None:
    refuse(value)
    app = graph(checkpoints, lambda _: {"answer": {"value": value} if not isinstance(value, dict) else value})
    if value != nested(16):  # one level deeper as part of an answer
        thread_id = uuid.uuid4().hex  # the conversation of this value only
        turn(app, thread_id, "q")
        kept = checkpoints.history(thread_id)[-1].values["answer"]
        assert (kept if isinstance(value, dict) else kept["value"]) == value


@each_of("value", NOT_PLAIN)
def test_what_is_not_plain_is_refused_wherever_it_stands(checkpoints: Checkpoints, db: Database, value: Any) -> None:
    for within, where in ((value, "top"), ([1, {"sources": [value]}], r"top\[1\]\.sources\[0\]")):
        with pytest.raises(StateRefusedError, match=where):
            refuse(within, "top")
    base: Any = {
        "v": 4, "id": "1", "ts": "", "channel_versions": {}, "versions_seen": {}, "updated_channels": None,
    }  # fmt: skip
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    with pytest.raises(StateRefusedError, match="answer"):
        checkpoints.put(config, base | {"channel_values": {"answer": value}}, {}, {})
    with pytest.raises(StateRefusedError, match="metadata"):
        checkpoints.put(config, base | {"channel_values": {}}, {"mine": value}, {})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(StateRefusedError, match="answer"):
        checkpoints.put_writes(place("t", "1"), [("question", "q"), ("answer", value)], "task")
    assert db.one("SELECT count(*) FROM checkpoints") == db.one("SELECT count(*) FROM writes") == (0,)


def test_the_refusal_names_the_place_and_not_what_stands_there() -> None:
    for value in ({"a": [Path(f"/{CANARY}")]}, {"a": [{"image_path": CANARY}]}, {f"the {CANARY} key": b"x"}):
        with pytest.raises(StateRefusedError) as refused:
            refuse(value)
        assert CANARY not in str(refused.value)
        assert len(str(refused.value)) < 200
        assert refused.value.hint


@pytest.mark.slow
def test_a_ring_or_shared_parts_without_end_are_refused_in_time() -> None:
    ring: dict[str, Any] = {}
    ring["again"] = ring
    shared: Any = ["x"] * 100
    for _ in range(12):
        shared = [shared] * 100
    for value in (ring, shared):
        with pytest.raises(StateRefusedError):
            refuse(value)


def test_a_state_has_at_most_a_megabyte_in_all(checkpoints: Checkpoints) -> None:
    half = ["many words " * 50] * 1000  # 0.55 MB
    app = graph(checkpoints, lambda _: {"answer": {"text": half}, "recent": []})
    turn(app, "t", "q")
    app = graph(checkpoints, lambda _: {"answer": {"text": half}, "recent": [half]})
    with pytest.raises(StateRefusedError, match="bytes"):
        turn(app, "t", "q2")
    assert checkpoints.history("t")[-1].values["question"] == "q2"


# --- what was planted -------------------------------------------------------------------------------------------------


def msgpack(value: Any) -> bytes:
    return ormsgpack.packb(value, option=ormsgpack.OPT_NON_STR_KEYS)


def extension(code: int, *parts: Any) -> Any:
    """Return what LangGraph's encoder writes for an object: how to build it again."""
    return ormsgpack.Ext(code, msgpack(parts))


def payloads(marker: Path) -> dict[str, Any]:
    """Return values that create a file if anything runs them."""
    touch = f"open({str(marker)!r}, 'w').close()"
    shell = f"touch {marker}"
    return {
        "os.system": extension(0, "os", "system", shell),
        "posix.system": extension(1, "posix", "system", [shell]),
        "builtins.eval": extension(0, "builtins", "eval", touch),
        "builtins.exec": extension(1, "builtins", "exec", [touch]),
        "subprocess.Popen": extension(1, "subprocess", "Popen", [["touch", str(marker)]]),
        "subprocess.run": extension(2, "subprocess", "run", {"args": ["touch", str(marker)]}),
        "a method": extension(3, "pathlib", "Path", str(marker), "touch"),
        "pydantic 1": extension(4, "subprocess", "Popen", {"args": ["touch", str(marker)]}),
        "pydantic 2": extension(5, "subprocess", "Popen", {"args": ["touch", str(marker)]}),
        "pathlib.Path": extension(0, "pathlib", "Path", "/etc/passwd"),
        "re.compile": extension(1, "re", "compile", ["(a+)+$"]),
        "datetime": extension(3, "datetime", "datetime", "2026-01-01", "fromisoformat"),
        "a message": extension(5, "langchain_core.messages.human", "HumanMessage", {"content": "x"}),
        "a command": extension(2, "langgraph.types", "Command", {"goto": "write"}),
        "a send": extension(1, "langgraph.types", "Send", ["write", {}]),
        "a set": extension(0, "builtins", "set", [1]),
        "an array": extension(6, "<f4", [1], "C", b"\0\0\0\0"),
        "a delta": ormsgpack.Ext(7, msgpack(1)),
        "an unknown extension": ormsgpack.Ext(99, b"x"),
        "one in another": extension(0, "builtins", "list", extension(0, "os", "system", shell)),
        "bytes": b"x",
        "numbers as keys": {1: 2},
        "not a number": float("nan"),
        "nested": nested(40),
    }


PAYLOADS = list(payloads(Path("x")))


@pytest.fixture
def planted(app: Any, db: Database, tmp_path: Path) -> tuple[str, Path, dict[str, Any]]:
    """Return a checkpoint of a valid conversation, the file a payload would make, its values."""
    at = turn(app, "t", "q")
    (blob,) = db.one("SELECT checkpoint FROM checkpoints WHERE checkpoint_id = ?", (at,)) or (b"",)
    return at, tmp_path / "marker", ormsgpack.unpackb(blob)


def plant(db: Database, at: str, kind: str | None, content: Any, metadata: Any = b"{}") -> None:
    with db.transaction() as connection:
        connection.execute(
            "UPDATE checkpoints SET type = ?, checkpoint = ?, metadata = ? WHERE checkpoint_id = ?",
            (kind, content, metadata, at),
        )


def plant_write(db: Database, at: str, kind: str | None, content: Any) -> None:
    with db.transaction() as connection:
        connection.execute(
            "INSERT OR REPLACE INTO writes (thread_id, checkpoint_id, task_id, idx, channel, type, value)"
            " VALUES ('t', ?, 'task', 0, 'answer', ?, ?)",
            (at, kind, content),
        )


def assert_refused(app: Any, checkpoints: Checkpoints, at: str, marker: Path, *, in_writes: bool = False) -> None:
    """Assert that every way to read it raises `StateRefusedError`, and that nothing was run."""
    ways = [
        lambda: checkpoints.get_tuple(place("t", at)),
        lambda: checkpoints.get_tuple(place("t")),
        lambda: list(checkpoints.list(place("t"))),
        lambda: app.get_state(place("t", at)),
        lambda: list(app.get_state_history(place("t"))),
        lambda: app.invoke(None, place("t", at), durability="exit"),
        lambda: question(app, "t", "next", at),
    ]
    if not in_writes:
        ways += [lambda: checkpoints.history("t"), lambda: checkpoints.chain("t", at)]
    for way in ways:
        with pytest.raises(StateRefusedError, match="is refused") as refused:
            way()
        assert "\n" not in str(refused.value)
        assert str(marker) not in str(refused.value)
    assert not marker.exists()


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_planted_payload_is_refused_and_never_run(
    app: Any, checkpoints: Checkpoints, db: Database, planted: tuple[str, Path, dict[str, Any]], name: str
) -> None:
    at, marker, checkpoint = planted
    value = payloads(marker)[name]
    sound = msgpack(checkpoint)
    for part in ("channel_values", "versions_seen", "channel_versions"):
        plant(db, at, "msgpack", msgpack(checkpoint | {part: checkpoint[part] | {"answer": value}}))
        assert_refused(app, checkpoints, at, marker)
    plant(db, at, "msgpack", msgpack(value))
    assert_refused(app, checkpoints, at, marker)
    plant(db, at, "msgpack", sound)
    plant_write(db, at, "msgpack", msgpack(value))
    assert_refused(app, checkpoints, at, marker, in_writes=True)


def test_the_payloads_are_real_ones(tmp_path: Path) -> None:
    """The control: without the plain serializer the payloads run, or come back as objects."""
    ran = []
    for name, value in payloads(tmp_path / "marker").items():
        if name not in ("an unknown extension", "nested"):
            (tmp_path / "marker").unlink(missing_ok=True)
            result = JsonPlusSerializer(allowed_msgpack_modules=True).loads_typed(("msgpack", msgpack([value])))
            if isinstance(result[0], subprocess.Popen):
                result[0].wait()
            ran += [name] * (tmp_path / "marker").exists()
    assert {"os.system", "posix.system", "builtins.eval", "builtins.exec", "subprocess.Popen", "subprocess.run"} <= set(
        ran
    )
    strict = JsonPlusSerializer(allowed_msgpack_modules=None)
    assert isinstance(strict.loads_typed(("msgpack", msgpack(payloads(tmp_path)["pathlib.Path"]))), Path)


class Runs:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.marker}",)


@pytest.mark.parametrize("kind", ["pickle", "json", "bytes", "bytearray", "msgpack", "null", "yaml", "", None])
def test_a_planted_encoding_is_refused(
    app: Any, checkpoints: Checkpoints, db: Database, planted: tuple[str, Path, dict[str, Any]], kind: str | None
) -> None:
    at, marker, checkpoint = planted
    made = {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": [f"touch {marker}"]}
    core = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"], "kwargs": {}}
    sound = msgpack(checkpoint)
    contents = [
        pickle.dumps(Runs(marker)), json.dumps(made).encode(), json.dumps([core]).encode(),
        json.dumps(checkpoint).encode(), b"", b"\xc1", random.Random(1).randbytes(500), sound[:-1],
        b"\x91" * 100_000, b"\xdd\xff\xff\xff\xff", "text", 5, None,
    ]  # fmt: skip
    for content in contents:
        plant(db, at, kind, content)
        assert_refused(app, checkpoints, at, marker)
    plant(db, at, "msgpack", sound)
    for content in contents:
        plant_write(db, at, kind, content)
        if kind not in ("null", "msgpack"):
            assert_refused(app, checkpoints, at, marker, in_writes=True)
            continue
        try:  # a write of nothing is a write, and the first bytes of garbage may be a number
            found = checkpoints.get_tuple(place("t", at))
        except StateRefusedError:
            continue
        assert found
        refuse([value for _, _, value in found.pending_writes or ()])
    assert not marker.exists()


@pytest.mark.parametrize(
    "metadata", [b"", b"{", b"[]", b"5", b"null", b"\xff\xfe\xfa", b'{"a": NaN}', b"[" * 200_000, b'{"a":' * 40, 5, "x"]
)
def test_a_planted_label_is_refused(
    app: Any, checkpoints: Checkpoints, db: Database, planted: tuple[str, Path, dict[str, Any]], metadata: Any
) -> None:
    at, marker, checkpoint = planted
    plant(db, at, "msgpack", msgpack(checkpoint), metadata)
    assert_refused(app, checkpoints, at, marker)


def test_a_label_that_describes_an_object_stays_a_description(
    checkpoints: Checkpoints, db: Database, planted: tuple[str, Path, dict[str, Any]]
) -> None:
    at, marker, checkpoint = planted
    made = {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": [f"touch {marker}"]}
    plant(db, at, "msgpack", msgpack(checkpoint), json.dumps({"step": made}).encode())
    assert checkpoints.history("t")[-1].metadata == {"step": made}
    assert not marker.exists()


@pytest.mark.parametrize(
    "change",
    [
        {"channel_values": []}, {"channel_values": None}, {"id": "another"}, {"id": 5}, {"versions_seen": {"x": 1}},
        {"channel_versions": "x"},
    ],
)  # fmt: skip
def test_a_state_of_another_shape_is_refused(
    app: Any, checkpoints: Checkpoints, db: Database, planted: tuple[str, Path, dict[str, Any]], change: dict[str, Any]
) -> None:
    at, marker, checkpoint = planted
    plant(db, at, "msgpack", msgpack(checkpoint | change))
    assert_refused(app, checkpoints, at, marker)
    plant(db, at, "msgpack", msgpack({k: v for k, v in checkpoint.items() if k not in change}))
    assert_refused(app, checkpoints, at, marker)


def test_an_unreadable_conversation_can_be_purged(
    app: Any, checkpoints: Checkpoints, db: Database, planted: tuple[str, Path, dict[str, Any]]
) -> None:
    at, marker, _ = planted
    turn(app, "other", "sound")
    plant(db, at, "pickle", pickle.dumps(Runs(marker)))
    assert len(checkpoints.history("other")) == 2
    assert checkpoints.erase("t") == 2
    assert checkpoints.history("t") == ()
    assert not marker.exists()


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
def test_no_switch_of_the_environment_weakens_it(tmp_path: Path, when: str) -> None:
    marker = tmp_path / "marker"
    packed = msgpack(payloads(marker)["os.system"])
    code = f"""
import os
os.environ.pop("LANGGRAPH_STRICT_MSGPACK", None)
if {when!r} == "before": os.environ["LANGGRAPH_STRICT_MSGPACK"] = "false"
from docmind.conversations.checkpoints import PlainSerializer
from docmind.errors import StateRefusedError
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "false"
serializer = PlainSerializer().with_msgpack_allowlist([("os", "system"), ("posix", "system")])
try: print(serializer.loads_typed(("msgpack", {packed!r})))
except StateRefusedError: print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"
    assert not marker.exists()


# --- many at once, and ends without warning ---------------------------------------------------------------------------


@pytest.mark.slow
def test_turns_beside_rolled_back_writes_lose_nothing(path: Path) -> None:
    """8 conversations of 15 turns while documents are added and rolled back all the time."""
    database, checkpoints = opened(path)
    app = graph(checkpoints)
    over = threading.Event()
    kept = given_up = 0

    def talk(name: str) -> list[str]:
        done: list[str] = []
        for n in range(15):
            done.append(turn(app, name, f"{name} {n}", done[-1] if done else None))
        return done

    def take_in() -> None:
        nonlocal kept, given_up
        rng = random.Random(3)
        while not over.is_set():
            try:
                with database.transaction() as connection:
                    for n in range(20):
                        key = f"{kept}.{given_up}.{n}"
                        connection.execute("INSERT INTO preferences VALUES (?, ?)", (key, "x" * rng.randrange(3000)))
                    if rng.random() < 0.5:
                        raise KeyError("given up")
                kept += 1
            except KeyError:
                given_up += 1

    names = [f"thread-{n}" for n in range(8)]
    with ThreadPoolExecutor(9) as pool:
        ingest = pool.submit(take_in)
        try:
            ended = dict(zip(names, pool.map(talk, names), strict=True))
        finally:
            over.set()
        ingest.result()
    assert min(kept, given_up) > 3
    assert database.one("SELECT count(*) FROM preferences") == (kept * 20,)
    for name, done in ended.items():
        history = checkpoints.history(name)
        assert [saved.checkpoint_id for saved in history][1::2] == done
        assert [saved.values["question"] for saved in history[1::2]] == [f"{name} {n}" for n in range(15)]
        assert [saved.checkpoint_id for saved in checkpoints.chain(name, done[-1])][::2] == done[::-1]
    database.close()
    database, checkpoints = opened(path)
    assert sum(len(checkpoints.history(name)) for name in ended) == 240
    assert database.one("PRAGMA integrity_check") == ("ok",)
    database.close()


def test_a_rolled_back_transaction_drops_only_its_own_states(app: Any, checkpoints: Checkpoints, db: Database) -> None:
    at = turn(app, "t", "kept")
    other = threading.Thread(target=turn, args=(app, "u", "of another thread"))

    def give_up() -> None:
        with db.transaction():
            question(app, "t", "given up", at)  # saved by this thread, within its transaction
            other.start()
            raise KeyError("given up")

    with pytest.raises(KeyError):
        give_up()
    other.join(20)
    assert [saved.values["question"] for saved in checkpoints.history("t")] == ["kept", "kept"]
    assert len(checkpoints.history("u")) == 2


CHILD = """
import sys, time
sys.path[:0] = {tests!r}
from pathlib import Path
from checkpointed import graph, opened, place, question, quoted, turn
database, checkpoints = opened(Path({path!r}))

def say(*words):
    print(*words, flush=True)

def slow(state):
    say("writing")
    time.sleep(60)
    return quoted(state)

if {many}:
    app, at = graph(checkpoints), None
    while True:
        at = turn(app, "t", "q", at)
        say(at)
one = turn(graph(checkpoints), "t", "first")
app = graph(checkpoints, slow)
asked = question(app, "t", "second", one)
say(asked)
app.invoke(None, place("t", asked), durability="exit")
"""


def child(path: Path, *, many: bool) -> forked.Started:
    code = CHILD.format(tests=HELPERS, path=str(path), many=many)
    return forked.popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def kill(process: forked.Started) -> list[str]:
    """Kill the process as a power cut would; return what it had printed until then."""
    process.kill()
    process.wait(30)
    assert process.stdout
    said = process.stdout.read().splitlines(keepends=True)  # `communicate` would lose lines read ahead of time
    return [line.strip() for line in said if line.endswith("\n")]


@pytest.mark.slow
@pytest.mark.crash
def test_a_question_survives_a_kill_and_its_turn_can_be_finished(path: Path) -> None:
    process = child(path, many=False)
    assert process.stdout
    asked = process.stdout.readline().strip()
    assert process.stdout.readline() == "writing\n"
    kill(process)
    database, checkpoints = opened(path)
    assert database.one("PRAGMA integrity_check") == ("ok",)
    assert database.all("PRAGMA cipher_integrity_check") == []
    assert [saved.values["question"] for saved in checkpoints.history("t")] == ["first", "first", "second"]
    app = graph(checkpoints)
    state = app.get_state(place("t"))
    assert state.config["configurable"]["checkpoint_id"] == asked
    assert state.next == ("contextualise",)
    app.invoke(None, state.config, durability="exit")
    assert app.get_state(place("t")).values["recent"] == ["first", "second"]
    database.close()


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.parametrize("after", [1, 17, 40])
def test_every_turn_that_was_acknowledged_survives_a_kill(path: Path, after: int) -> None:
    process = child(path, many=True)
    assert process.stdout
    said = [process.stdout.readline().strip() for _ in range(after)]
    said += kill(process)
    database, checkpoints = opened(path)
    assert database.one("PRAGMA integrity_check") == ("ok",)
    history = checkpoints.history("t")
    assert set(said) <= {saved.checkpoint_id for saved in history}
    assert len(said) * 2 <= len(history) <= len(said) * 2 + 2
    turn(graph(checkpoints), "t", "goes on", history[-1].checkpoint_id)
    database.close()


@pytest.mark.crash
def test_a_full_disk_is_told_and_no_turn_is_lost(tmp_path: Path) -> None:
    with tiny_disk(tmp_path, megabytes=4) as disk:
        database, checkpoints = opened(disk / "vault.db")
        app = graph(checkpoints, lambda state: {"answer": {"text": [state["question"] * 20] * 2000}})
        done: list[str] = []

        def talk_for_ever() -> None:
            while True:
                done.append(turn(app, "t", f"q{len(done)}", done[-1] if done else None))

        with pytest.raises(DiskFullError):
            talk_for_ever()
        assert done
        assert set(done) <= {saved.checkpoint_id for saved in checkpoints.history("t")}
        database.close()


# --- purge ------------------------------------------------------------------------------------------------------------


def talk_of_it(app: Any, thread_id: str, word: str, turns: int = 12) -> None:
    at: str | None = None
    for n in range(turns):
        at = turn(app, thread_id, f"{n} {word} " * 40, at)
        question(app, thread_id, f"{word} and no answer", at)


def test_nothing_is_left_of_a_purged_conversation(path: Path) -> None:
    database, checkpoints = opened(path)
    app = graph(checkpoints)
    talk_of_it(app, "t", CANARY)
    talk_of_it(app, "other", "Quxotic")
    states = len(checkpoints.history("t"))
    assert sum(count(path, KEY, CANARY)) > 1000
    assert checkpoints.erase("t") == states
    assert checkpoints.history("t") == ()
    assert database.one("SELECT count(*) FROM writes WHERE thread_id = 't'") == (0,)
    assert sum(count(path, KEY, CANARY)) > 0  # in the log, until it is scrubbed
    database.scrub()
    assert count(path, KEY, CANARY) == (0, 0)
    log = path.with_name("vault.db-wal")
    assert not log.exists() or not log.stat().st_size
    assert count(path, KEY, "Quxotic")[0] > 1000
    assert len(checkpoints.history("other")) == states
    assert checkpoints.erase("t") == 0
    turn(app, "t", "again")
    database.close()
    assert count(path, KEY, CANARY) == (0, 0)
    assert b"".join(file.read_bytes() for file in path.parent.iterdir()).count(CANARY.encode()) == 0


def test_the_reader_sees_what_was_only_deleted(path: Path) -> None:
    """The control: without scrubbing, the words of a purged conversation stay in unused pages."""
    database, checkpoints = opened(path)
    database.all("PRAGMA secure_delete = OFF")
    talk_of_it(graph(checkpoints), "t", CANARY)
    checkpoints.erase("t")
    database.all("PRAGMA wal_checkpoint(TRUNCATE)")
    assert database.one("SELECT count(*) FROM checkpoints") == (0,)
    in_file, in_log = count(path, KEY, CANARY)
    assert in_file > 1000
    assert in_log == 0
    database.scrub()
    assert count(path, KEY, CANARY) == (0, 0)
    database.close()


# --- growth -----------------------------------------------------------------------------------------------------------


def realistic(rng: random.Random) -> dict[str, Any]:
    """Return an answer of 1,500 characters in ten sentences, with five sources.

    Each source has a quote of 240 characters and eight boxes.
    """

    def words(length: int) -> str:
        return "".join(rng.choice("eeaaiioottnnssrrlldcmpuh      ") for _ in range(length))

    def artifact() -> str:
        return f"{rng.getrandbits(256):064x}"

    sources = [
        {
            "number": number, "doc_id": artifact(), "page_no": rng.randrange(300), "document": "Annual report 2025.pdf",
            "quote": words(240), "boxes": [[rng.randrange(3000) for _ in range(4)] for _ in range(8)],
            "image_artifact_id": artifact(), "image_artifact_suffix": ".webp.enc", "thumbnail_artifact_id": artifact(),
            "thumbnail_artifact_suffix": ".webp.enc", "epoch": rng.randrange(1000), "score": rng.random(),
        }
        for number in range(1, 6)
    ]  # fmt: skip
    sentences = [{"text": words(150), "supported": True, "sources": [1, 2]} for _ in range(10)]
    return {"text": " ".join(part["text"] for part in sentences), "sentences": sentences, "sources": sources}


@pytest.mark.slow
def test_a_turn_costs_under_20_kb_besides_its_text_even_later(path: Path) -> None:
    database, checkpoints = opened(path)
    rng = random.Random(1)
    app = graph(checkpoints, lambda _: {"answer": realistic(rng)})
    sizes, at = [], None
    for n in range(200):
        if n % 100 == 0:
            database.scrub()
            sizes.append(path.stat().st_size)
        at = turn(app, "t", f"What does the chart on page {n} of the annual report show?", at)
    database.scrub()
    sizes.append(path.stat().st_size)
    text = 1500 + 5 * 240 + 60
    first, second = ((later - earlier) / 100 - text for earlier, later in itertools.pairwise(sizes))
    assert 1000 < first < 20_000
    assert second < first * 1.1
    database.close()
