"""Snapshots: what they cost in time and on the disk, for an unchanged library, and how long going back takes."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import filled_vault, give_images
from purge import EACH

from docmind.application import DocMind
from docmind.capabilities import folder_bytes
from docmind.config import EmbeddingSettings, KeySettings, LLMSettings, ReadingSettings, Settings
from docmind.llm.service import OneModel
from docmind.records.documents import Upload

PAGES = 10_000


def bench_snapshots(options: argparse.Namespace) -> None:
    """Take two snapshots of an unchanged library, check one, erase a document and go back."""
    with _filled(options) as settings, DocMind(settings, models=OneModel()) as docmind:
        documents, pages, _nodes = docmind.documents.counts()
        docmind.search("warm")
        before = _bytes(settings, docmind)
        print(f"{documents:,} documents, {pages:,} pages, {before / 1e6:.1f} MB")
        for name in ("first", "second"):
            began, held = time.perf_counter(), _bytes(settings, docmind)
            info = docmind.snapshots.create(name)
            took = time.perf_counter() - began
            grown = _bytes(settings, docmind) - held
            share = 100 * grown / before
            print(f"{name} snapshot: {took:.2f} s, {grown / 1e6:.2f} MB more, {share:.2f} % of the library")
        for deep in (False, True):
            began = time.perf_counter()
            check = docmind.snapshots.verify(info.snapshot_id, deep=deep)
            took = time.perf_counter() - began
            print(f"checked{', deep' if deep else ''}: {took:.2f} s, problems {len(check.problems)}")
        docmind.erasures.erase([docmind.documents.all()[0].doc_id])
        began = time.perf_counter()
        done = docmind.snapshots.activate(info.snapshot_id)
        print(
            f"went back: {time.perf_counter() - began:.2f} s, {done.restored} restored, {done.unchanged} as they were"
        )


def _bytes(settings: Settings, docmind: DocMind) -> int:
    docmind.vault.database.fold()
    return folder_bytes(settings.data_dir)


@contextmanager
def _filled(options: argparse.Namespace) -> Iterator[Settings]:
    """Yield settings of a library with the PDFs that were named, or with made pages."""
    if not options.pdf:
        pages = options.size or PAGES
        with filled_vault(documents=max(2, pages // EACH), nodes=pages) as settings:
            give_images(settings)
            yield settings
        return
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(
            data_dir=Path(folder) / "data",
            cache_dir=Path(folder) / "cache",
            keys=KeySettings(source="file", file=Path(folder) / "key"),
            embedding=EmbeddingSettings(model="fake"),
            llm=LLMSettings(provider="off"),
            reading=ReadingSettings(ocr="off"),
        )
        with DocMind(settings, models=OneModel()) as docmind:
            docmind.add([Upload(path.name, path.read_bytes()) for path in options.pdf])
        yield settings
