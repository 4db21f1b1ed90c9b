"""Vaults for tests: small documents, and counts of the contents of a vault."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from docmind.application import DocMind
from docmind.config import (
    AnswerSettings,
    EmbeddingSettings,
    KeySettings,
    LLMSettings,
    ReadingSettings,
    Settings,
    StorageSettings,
)
from docmind.documents.catalog import Catalog
from docmind.index import open_index
from docmind.index.engines import IndexChoice
from docmind.ingest.jobs import _Current
from docmind.ingest.pipeline import Step
from docmind.llm.service import OneModel
from docmind.model_files import default_cache_dir
from docmind.records.documents import AddResult, ArtifactRef, QueueProgress, Upload
from docmind.storage.artifacts import Artifacts
from docmind.storage.database import Database
from docmind.storage.keys import open_keys
from docmind.storage.preferences import Preferences
from papers import line, pdf

SURE = 0.75  # probability from which an answer is sure in a test: words alone, without a reader, seldom tell more


def settings_in(folder: Path, **changes: Any) -> Settings:
    """Return settings of a vault in `folder`/data: key beside it, fake text model; no reader, OCR or language model."""
    places = {
        "data_dir": folder / "data",
        "cache_dir": folder / "cache",
        "keys": KeySettings(source="file", file=folder / "docmind.key"),
    }
    variables = tuple((name, value) for name, value in os.environ.items() if not name.startswith("PYTEST_"))
    return _anywhere(variables).model_copy(update=places | changes)


@cache
def _anywhere(_variables: tuple[tuple[str, str], ...]) -> Settings:
    """Return the settings of no place, once for all variables: reading these takes 12 ms of processor time."""
    return Settings(
        data_dir=Path("/data"),
        cache_dir=Path("/cache"),
        keys=KeySettings(source="file", file=Path("/docmind.key")),
        embedding=EmbeddingSettings(model="fake"),
        answer=AnswerSettings(passage_reader=False, sure=SURE),
        llm=LLMSettings(provider="off"),
        reading=ReadingSettings(ocr="off", image_side_px=400, workers=1),
        storage=StorageSettings(min_free_mb=1),
    )


def plain_in(folder: Path, **changes: Any) -> Settings:
    """Return the settings of a new vault in `folder`/data, its key beside it, without a language model."""
    return Settings(
        data_dir=folder / "data",
        keys=KeySettings(source="file", file=folder / "docmind.key"),
        llm=LLMSettings(provider="off"),
    ).model_copy(update=changes)


def pair_in(folder: Path) -> Settings:
    """Return settings of a vault in `folder`/data with the built-in pair of text models and the readers of passages."""
    return settings_in(
        folder, embedding=EmbeddingSettings(model="pair"), answer=AnswerSettings(), cache_dir=default_cache_dir()
    )


def environment_of(folder: Path, **more: str) -> dict[str, str]:
    """Return the same settings as variables, for a separate process."""
    return {
        "DOCMIND_DATA_DIR": str(folder / "data"),
        "DOCMIND_CACHE_DIR": str(folder / "cache"),
        "DOCMIND_KEYS__SOURCE": "file",
        "DOCMIND_KEYS__FILE": str(folder / "docmind.key"),
        "DOCMIND_EMBEDDING__MODEL": "fake",
        "DOCMIND_ANSWER__PASSAGE_READER": "false",
        "DOCMIND_ANSWER__SURE": str(SURE),
        "DOCMIND_LLM__PROVIDER": "off",
        "DOCMIND_READING__OCR": "off",
        "DOCMIND_READING__IMAGE_SIDE_PX": "400",
        "DOCMIND_READING__WORKERS": "1",
        "DOCMIND_STORAGE__MIN_FREE_MB": "1",
        **more,
    }


def text_pdf(pages: Sequence[str], **changes: Any) -> bytes:
    """Return a PDF with a line of text on each page; an empty line makes a blank page.

    The pages are slips of paper, 612 by 120 points: a smaller page image takes a third of the time to read.
    """
    shown = [line(text, size=14) if text else "" for text in pages]
    return pdf(shown, **{"box": "/CropBox [0 640 612 760]", **changes})


def report(name: str, pages: int, **changes: Any) -> Upload:
    """Return a PDF with a different text on each page; `changes` are those of `text_pdf`."""
    texts = [f"The {name} report, page {n}, counts {n * 37} herons" for n in range(pages)]
    return Upload(f"{name}.pdf", text_pdf(texts, **changes))


@dataclass(frozen=True)
class Inventory:
    """Counts of all contents of a vault."""

    documents: int
    ready: int
    pages: int
    nodes: int
    vectors: int
    files: int
    text_points: int
    page_points: int


NOTHING = Inventory(0, 0, 0, 0, 0, 0, 0, 0)


def inventory(settings: Settings) -> Inventory:
    """Open a closed vault and count its contents; check that every artifact opens and is named by a row."""
    keyset = open_keys(settings.data_dir, settings.keys).keyset
    database = Database(settings.data_dir / "vault.db", keyset.db_key)
    artifacts = Artifacts(settings.data_dir / "artifacts", keyset)
    names = {path.name for path in (settings.data_dir / "artifacts").iterdir()}
    assert {name[:64] for name in names} == Catalog(database).artifact_ids()
    for name in names:
        artifacts.verify(ArtifactRef(name[:64], name[64:]))
    rows = database.one(
        "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM documents WHERE status = 'ready'),"
        " (SELECT count(*) FROM pages), (SELECT count(*) FROM nodes), (SELECT count(*) FROM vectors)"
    )
    for table in ("vectors", "tokens"):
        loose = f"SELECT count(*) FROM {table} WHERE content_hash NOT IN (SELECT content_hash FROM nodes)"
        assert database.one(loose) == (0,)
    assert rows is not None
    index = open_index(
        settings, settings.data_dir / "index", 384, key=keyset.index_key(),
        at_rest=IndexChoice(settings.index, Preferences(database)).at_rest(),
    )  # fmt: skip
    points = index.count("text"), index.count("pages")
    index.close()
    artifacts.close()
    database.close()
    documents, ready, pages, nodes, vectors = rows
    return Inventory(documents, ready, pages, nodes, vectors, len(names), *points)


def read(desk: DocMind, upload: Upload, step: Step | None = None) -> AddResult:
    """Upload one file and have the writer read it, with the test's own step."""
    (upload_id,) = desk.queue._uploads.hand_in([upload])
    return read_again(desk, upload_id, step, password=upload.password)


def read_again(desk: DocMind, upload_id: int, step: Step | None = None, password: str | None = None) -> AddResult:
    """Have the writer read a file of the queue, and record the outcome."""
    result = desk.ingest.read(desk.queue._uploads.handed_in(upload_id), step or Step(), password=password)
    if result.status != "added":
        desk.queue._uploads.settle(upload_id, result)
    return result


def settled(desk: DocMind, patience_s: float = 60.0) -> QueueProgress:
    """Wait until nothing is being read; `patience_s` is how long nothing may be done meanwhile."""
    until, before = 0.0, (-1, -1)
    while (now := desk.queue.progress()).is_busy:
        if (now.files_done, now.pages_done) != before:
            until, before = time.monotonic() + patience_s, (now.files_done, now.pages_done)
        assert time.monotonic() < until, f"the queue does not end: {now}"
        time.sleep(0.01)
    return now


@contextmanager
def held_after(pages: int) -> Iterator[None]:
    """Hold every file that is read in this process behind so many pages, until it is stopped or the block ends.

    So that a test need not be quicker than the reading of a long file.
    """
    let_go, page = threading.Event(), _Current._page

    def held(self: _Current, stage: str, done: int, total: int) -> None:
        page(self, stage, done, total)
        while done > pages and not (self.stop.is_set() or let_go.wait(0.005)):
            continue

    with mock.patch.object(_Current, "_page", held):
        try:
            yield
        finally:
            let_go.set()


def opened(folder: Path, **changes: Any) -> DocMind:
    return DocMind(settings_in(folder, **changes))


def talking(folder: Path, **changes: Any) -> DocMind:
    """Open a vault whose language model is the one that a test puts into `models.model`; none at first."""
    return DocMind(settings_in(folder, **changes), models=OneModel())
