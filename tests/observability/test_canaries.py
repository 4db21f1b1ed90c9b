"""Words that only documents, names, questions and titles hold stand in no log and no span.

Every call of the client's table is made twice: with ids that exist, and with canaries in place of every text.
"""

from __future__ import annotations

import io
import itertools
import json
import logging
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from PIL import Image, ImageDraw, ImageFont

from desks import settings_in, text_pdf
from docmind.application import DocMind
from docmind.client import CALLS
from docmind.config import ReadingSettings
from docmind.errors import DocMindError
from docmind.observability import add_sink, remove_sink, stop_traces, traces
from docmind.observability.logs import EventLog
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.values import bounds_of
from docmind.runtime.logging import JsonLines

pytestmark = pytest.mark.slow

CANARIES = (
    "Quokkazephyrine", "Wolframjubilant", "Xerobiscuitine", "Zinfandelmarquee", "Yachtsmarzipan", "Jackdawsquizz",
    "Fjordvexillo", "Brimplequokk", "Glimmersphynx", "ZEBRAVAULT",
)  # fmt: skip
TEXT, TITLE, NAME, TAG, QUESTION, THREAD, MEMORY, OTHER, FOLDER, DRAWN = CANARIES
NUMBERS = {"page_no": 1, "line": 1, "number": 1, "limit": 5, "newest": 5, "keep": 9, "last": 2, "upload_id": 1}
LAST = (
    "documents.read_again", "documents.replace", "snapshots.activate", "documents.uncorrect_line", "queue.cancel",
    "conversations.bin", "memories.remove", "documents.remove_collection", "snapshots.remove", "documents.bin",
    "documents.restore", "tokens.revoke", "garbage.prune", "erasures.erase", "queue.remove",
)  # fmt: skip
"""Calls that take away what others need, in the order in which they are made after them."""


def drawn(word: str) -> bytes:
    """Return a picture that shows a word."""
    image = Image.new("RGB", (900, 240), "white")
    font = ImageFont.load_default(72)
    ImageDraw.Draw(image).text((40, 70), word, fill="black", font=font)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def of_type(declared: Any, text: str) -> Any:
    """Return a value of this type, with `text` in place of every text."""
    declared, _ = bounds_of(declared)
    origin, inner = get_origin(declared), get_args(declared)
    if declared in (str, int, float, bool, bytes):
        return {str: text, int: 1, float: 1.0, bool: True, bytes: text.encode()}[declared]
    if origin is Literal:
        return inner[0]
    if origin is tuple:
        return (of_type(inner[0], text),)
    return of_type(inner[0], text) if inner else declared()  # a union, or a record of defaults


class Listening:
    """All that is logged and traced while it is there, as text."""

    def __init__(self) -> None:
        self.log, self.spans = io.StringIO(), InMemorySpanExporter()
        self.events = EventLog()
        self._handler = logging.StreamHandler(self.log)
        self._handler.setFormatter(JsonLines())

    def __enter__(self) -> Listening:
        root, ours = logging.getLogger(), logging.getLogger("docmind")
        self._levels = root.level, ours.level
        root.addHandler(self._handler)
        root.setLevel(logging.INFO)
        ours.setLevel(logging.DEBUG)
        add_sink(self.events.take)
        traces._trace_to(self.spans, is_at_once=True)
        return self

    def __exit__(self, *_: object) -> None:
        stop_traces()
        remove_sink(self.events.take)
        self.events.flush()
        root = logging.getLogger()
        root.removeHandler(self._handler)
        root.setLevel(self._levels[0])
        logging.getLogger("docmind").setLevel(self._levels[1])

    @property
    def ended(self) -> tuple[ReadableSpan, ...]:
        return self.spans.get_finished_spans()

    def told(self) -> Iterator[str]:
        yield from self.log.getvalue().splitlines()
        for span in self.ended:
            yield span.to_json(indent=None)


def arguments_of(call: Any, known: dict[str, Any], text: str) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of a call: of `known` by name, else by type with `text`."""
    given: dict[str, Any] = {}
    rest: list[Any] = []
    for name, declared in (call.params or {}).items():
        if name == "query":
            given[name] = Query(picture=drawn(text)) if call.is_by_picture else Query(f"Where is the {text} kept?")
        elif name.startswith("*"):
            rest.append(of_type(declared, text)[0])
        else:
            given[name] = known.get(name, NUMBERS.get(name, of_type(declared, text)))
    return rest, given


def method_of(desk: DocMind, call: Any) -> Any:
    found: Any = desk
    for part in (call.method or call.name).split("."):
        found = getattr(found, part)
    return found


def in_order() -> list[Any]:
    by_name = {call.name: call for call in CALLS}
    return [call for call in CALLS if call.name not in LAST] + [by_name[name] for name in LAST]


def filled(desk: DocMind) -> dict[str, Any]:
    """Add documents, a conversation, a memory, a collection and a snapshot, all named by canaries; return their ids."""
    folder = f"{FOLDER}/{NAME}"
    results = desk.add(
        [
            Upload(f"{folder}.pdf", text_pdf([f"The {TEXT} engine needs oil.", "Page two."], title=TITLE), tags=(TAG,)),
            Upload(f"{NAME} broken.pdf", f"%PDF-1.4 {TEXT}".encode()),
            Upload(f"{NAME} again.txt", f"The {TEXT} engine is kept in the {OTHER} barn.".encode()),
            Upload(f"{NAME} photo.png", drawn(DRAWN)),
        ]
    )
    talk = desk.conversations
    thread = talk.create(THREAD)
    talk.ask(f"Where is the {TEXT} engine that {QUESTION} kept?", thread_id=thread.thread_id)
    memory = desk.memories.add(f"{MEMORY} means the {TEXT} engine.")
    collection = desk.documents.new_collection(f"{OTHER} papers")
    snapshot = desk.snapshots.create(f"{OTHER} before")
    assert results[0].doc_id and results[2].doc_id  # noqa: PT018
    desk.documents.edit(results[0].doc_id, title=TITLE, author=OTHER)
    ids = results[0].doc_id, results[2].doc_id
    return {
        "doc_id": ids[0], "other": ids[1], "doc_ids": ids, "documents": ids, "thread_id": thread.thread_id,
        "memory_id": memory.memory_id, "collection_id": collection.collection_id, "collections": (),
        "snapshot_id": snapshot.snapshot_id, "checkpoint_id": None, "dated": "2024-03-31", "languages": "eng",
        "language": "en", "days": 9.0, "max_total_bytes": 10**12, "min_age_seconds": 10**6, "engine": "", "pages": (1,),
        "mode": "never", "run_id": "none", "upload_ids": (1,),
    }  # fmt: skip


def spoken(text: str) -> list[str]:
    return [word for word in CANARIES if word.lower() in text.lower()]


def test_nothing_of_documents_and_questions_is_logged_or_traced(tmp_path: Path) -> None:
    reading = ReadingSettings(image_side_px=400, workers=1)
    seen: list[str] = []
    with ExitStack() as opened:
        listening = opened.enter_context(Listening())
        desk = opened.enter_context(DocMind(settings_in(tmp_path, reading=reading)))
        known = filled(desk)
        found = desk.search(Query(DRAWN)).hits
        assert any(DRAWN in hit.text for hit in found), "the picture was not read"
        words = itertools.cycle(CANARIES)
        for call in in_order():
            method = method_of(desk, call)
            if call.params is None:
                seen.append(call.name)
                continue
            for values in (known, {}):
                rest, given = arguments_of(call, values, next(words))
                with suppress(DocMindError):
                    method(*rest, **given)
            seen.append(call.name)
        runs_over(desk)
    assert sorted(seen) == sorted(call.name for call in CALLS)
    lines = [json.loads(line) for line in listening.log.getvalue().splitlines()]
    assert {"ingestion_completed", "ingestion_failed", "ocr_read", "searched", "answered"} <= {
        line["event"] for line in lines
    }
    assert {"ingest", "search", "answer", "search.text"} <= {span.name for span in listening.ended}
    assert [line for line in lines if line.get("message") == "a run failed"] == []
    assert [(line, spoken(line)) for line in listening.told() if spoken(line)] == []


def runs_over(desk: DocMind) -> None:
    """Wait for what was started and not waited for."""
    desk.conversations.close()


def test_a_word_that_is_told_is_found() -> None:
    """The search for canaries finds one in a log and in a span."""
    with Listening() as listening:
        logging.getLogger("docmind.test").warning(f"{TITLE} is logged")  # noqa: G004
        with suppress(ValueError), traces.traced("search"):
            current = traces._current.get()
            assert current is not None
            current[1].set_attribute("odd", TEXT.upper())
            raise ValueError(NAME)
    assert [spoken(line) for line in listening.told()] == [[TITLE], [TEXT]]
