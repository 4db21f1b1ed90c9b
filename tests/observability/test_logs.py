"""Logs as JSON: events with the fields that may be told, and lines that hold nothing else."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

import pytest

from conftest import ROOT
from docmind.observability import Event, IngestionFailed, ListTimed, Searched
from docmind.observability.fields import NAMES, fields_of, told_fields

# --- what is told of an event -----------------------------------------------------------------------------------------


def test_each_event_has_a_name_of_its_own() -> None:
    assert len(set(NAMES.values())) == len(get_args(Event))
    assert NAMES[IngestionFailed] == "ingestion_failed"


def test_numbers_ids_and_words_of_lists_are_told() -> None:
    assert fields_of(IngestionFailed("6a5ccea3", "CorruptFileError")) == {
        "document_id": "6a5ccea3", "kind": "CorruptFileError",
    }  # fmt: skip
    assert fields_of(Searched((ListTimed("text", "ran", 3, 1.23456),), 3, 2.0)) == {
        "lists": [{"name": "text", "state": "ran", "hits": 3, "ms": 1.235}], "hits": 3, "ms": 2.0,
    }  # fmt: skip


def test_text_is_not_told_where_an_id_or_a_word_of_a_list_should_stand() -> None:
    wrong: Any = "The heron's nest"
    assert fields_of(IngestionFailed(wrong, wrong)) == {"document_id": None, "kind": None}
    assert fields_of(Searched((ListTimed(wrong, "ran", 0, 0.0),), 0, 0.0))["lists"] == [
        {"name": None, "state": "ran", "hits": 0, "ms": 0.0}
    ]


def test_fields_of_other_types_are_left_out() -> None:
    @dataclass(frozen=True)
    class Odd:
        page_id: str
        title: str
        names: tuple[str, ...]
        ms: float

    Odd.__annotations__.update(page_id=str, title=str, names=tuple[str, ...], ms=float)
    assert list(told_fields(Odd)) == ["page_id", "ms"]


# --- other lines ------------------------------------------------------------------------------------------------------

PROGRAM = """
import logging, sys, threading, time, warnings
from docmind.config import Settings
from docmind.observability import IngestionFailed, Embedded, emit, start_logs
from docmind.runtime import log_mistake

early = logging.getLogger("early.library")
early.propagate = False
early.addHandler(logging.StreamHandler())
start_logs(Settings(log_format="json", log_level="info"), is_command={is_command})
start_logs(Settings(log_format="json", log_level="info"), is_command={is_command})
ours = logging.getLogger("docmind.index")
for number in range(3):
    ours.warning("the index is built again: %s", ValueError("SECRET"))
early.error("SECRET %s", "SECRET")
late = logging.getLogger("late.library")
late.propagate = False
late.addHandler(logging.StreamHandler())
try:
    raise KeyError("SECRET")
except KeyError as error:
    late.exception("SECRET")
    log_mistake("docmind.index", "the copy was not read", error)
warnings.simplefilter("always")
warnings.warn("SECRET")
def fails():
    raise RuntimeError("SECRET")
thread = threading.Thread(target=fails, name="SECRET")
thread.start()
thread.join()
class Odd:
    def __del__(self):
        raise RuntimeError("SECRET")
Odd()
late.error("SECRET %d %s", "SECRET")
emit(IngestionFailed("6a5c", "CorruptFileError"))
emit(IngestionFailed("6a5d", "CorruptFileError"))
emit(Embedded("e5", 2, 1.5))
time.sleep(1.5)  # the thread has written them
raise SystemError("SECRET")
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_command", [True, False])
def test_a_line_holds_no_text_that_is_not_of_docmind(is_command: bool) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(is_command=is_command)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert not run.stdout
    assert "SECRET" not in run.stderr
    lines = [json.loads(line) for line in run.stderr.splitlines()]
    told = [{name: value for name, value in line.items() if name not in ("time", "level")} for line in lines]
    for line in told:
        assert all(frame.startswith(("__main__:", "threading:")) for frame in line.pop("frames", []))
    again = {"message": "the index is built again: %s", "error": "ValueError"}
    assert told == [
        {"event": "log", "logger": "docmind.index", **again},
        {"event": "log", "logger": "early.library"},
        {"event": "log", "logger": "late.library", "error": "KeyError"},
        {"event": "log", "logger": "docmind.index", "message": "the copy was not read", "error": "KeyError"},
        {"event": "log", "logger": "docmind", "message": "a thread ended", "error": "RuntimeError"},
        {"event": "log", "logger": "docmind", "message": "an error could not be raised", "error": "RuntimeError"},
        {"event": "log", "logger": "late.library"},
        {"event": "ingestion_failed", "document_id": "6a5c", "kind": "CorruptFileError"},
        {"event": "ingestion_failed", "document_id": "6a5d", "kind": "CorruptFileError"},
        {"event": "embedded", "model": "e5", "texts": 2, "ms": 1.5},
        {"event": "log", "logger": "docmind", "message": "the program ended", "error": "SystemError"},
    ]
    assert [line["level"] for line in lines[-4:]] == ["warning", "warning", "info", "error"]


@pytest.mark.slow
def test_an_error_of_a_page_is_a_line_without_its_message() -> None:
    """Streamlit has handlers of its own, and writes such an error past all of them where it may."""
    script = (
        "import asyncio\nfrom streamlit.logger import get_logger\nearly = get_logger('streamlit.early')\n"
        "from docmind.config import Settings\nfrom docmind.observability import start_logs\n"
        "from docmind.ui.app import options\n"
        "options.apply()\nstart_logs(Settings(log_format='json'))\n"
        "from streamlit.error_util import handle_uncaught_app_exception\n"
        "try:\n    raise KeyError('SECRET')\nexcept KeyError as error:\n    handle_uncaught_app_exception(error)\n"
        "get_logger('streamlit.late').error('SECRET')\nearly.error('SECRET')\n"
        "async def end(): asyncio.get_running_loop().call_soon(lambda: {}['SECRET'])\n"
        "asyncio.run(end())\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "SECRET" not in run.stdout + run.stderr
    lines = [json.loads(line) for line in run.stderr.splitlines()]
    told = [(line["logger"], line.get("error")) for line in lines if line["level"] == "error"]
    assert ("streamlit.error_util", "KeyError") in told
    assert {("streamlit.early", None), ("streamlit.late", None), ("asyncio", "KeyError")} <= set(told)


@pytest.mark.slow
def test_events_that_wait_are_written_at_the_end() -> None:
    script = (
        "from docmind.config import Settings\nfrom docmind.observability import Embedded, emit, start_logs\n"
        "start_logs(Settings(log_format='json', log_level='info'))\n"
        "[emit(Embedded('e5', number, 1.5)) for number in range(50)]\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert [json.loads(line)["texts"] for line in run.stderr.splitlines()] == list(range(50))


@pytest.mark.slow
def test_failures_alone_are_logged_at_the_level_of_warnings() -> None:
    script = (
        "from docmind.config import Settings\n"
        "from docmind.observability import Embedded, IngestionFailed, emit, start_logs\n"
        "start_logs(Settings(log_format='json'))\n"
        "emit(Embedded('e5', 1, 1.5))\nemit(IngestionFailed('6a5c', 'EmptyFileError'))\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert [json.loads(line)["event"] for line in run.stderr.splitlines()] == ["ingestion_failed"]


def calls_of_logs(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """Yield each call of a logger, and of `log_mistake`, with what it is called by."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            called = ast.unparse(node.func)
            is_logger = called.partition(".")[0].strip("_").lower() in ("log", "logger") or "getLogger(" in called
            if called.endswith("log_mistake") or (is_logger and not called.endswith(("getLogger", "setLevel"))):
                yield called, node


@pytest.mark.slow
def test_what_docmind_logs_is_a_constant_with_places_for_values() -> None:
    """The text of such a line is written as it stands: a name that was put into it before would be written too."""
    odd, seen = [], 0
    for path in (ROOT / "src" / "docmind").rglob("*.py"):
        for called, node in calls_of_logs(ast.parse(path.read_text("utf-8"))):
            place = 1 if called.endswith(("log_mistake", ".log")) else 0
            if called.endswith((".debug", ".info", ".warning", ".error", ".exception", ".critical", ".log", "mistake")):
                seen += 1
                said = node.args[place]
                if not (isinstance(said, ast.Constant) and isinstance(said.value, str)):
                    odd.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert seen > 40
    # What `log_mistake` and `start_logging` were given, which is a constant where these are called.
    known = {"src/docmind/runtime/logging.py"}
    assert {place.rpartition(":")[0] for place in odd} == known, odd
