"""Erasing a document: seconds and memory, with its receipt, in a library of 10,000 pages."""

from __future__ import annotations

import argparse
import threading
import time

import numpy as np
from harness import filled_vault, memory_of_tree_mb, opened_stores

from docmind.application import DocMind
from docmind.config import Settings
from docmind.llm.service import OneModel
from docmind.storage import Sealable

PAGES, EACH = 10_000, 100
_IMAGE, _THUMBNAIL = 60_000, 6_000  # bytes, as of pages of text
_TOGETHER = 50


def bench_purge(options: argparse.Namespace) -> None:
    """Erase a document of 100 pages from a library of 10,000; time each step, and sample the memory meanwhile."""
    pages = options.size or PAGES
    with filled_vault(documents=pages // EACH, nodes=pages) as settings:
        give_images(settings)
        with DocMind(settings, models=OneModel()) as docmind:
            docmind.search("warm")
            thread_id = docmind.conversations.create().thread_id
            docmind.conversations.ask("What did the free cash flow do in 2022?", thread_id=thread_id)
            doc_id = docmind.documents()[0].doc_id
            mb = (settings.data_dir / "vault.db").stat().st_size / 1e6
            steps: list[tuple[str, float]] = []
            before = memory_of_tree_mb()
            peak = [before]
            is_over = threading.Event()

            def sample() -> None:
                while not is_over.wait(0.05):
                    peak[0] = max(peak[0], memory_of_tree_mb())

            sampler = threading.Thread(target=sample)
            sampler.start()
            began = time.perf_counter()
            (receipt,) = docmind.erase(
                [doc_id], progress=lambda step, _number, _total: steps.append((step, time.perf_counter()))
            )
            took = time.perf_counter() - began
            is_over.set()
            sampler.join()
    ends = [at for _step, at in steps[1:]] + [began + took]
    told = ", ".join(f"{step} {end - at:.2f}" for (step, at), end in zip(steps, ends, strict=True))
    print(f"erase {receipt.pages} of {pages:,} pages, vault.db {mb:.0f} MB: {took:.2f} s ({told})")
    print(f"memory of the owner and its children: {before:.0f} MB before, {peak[0] - before:.0f} MB more at most")
    print(f"searched {receipt.files:,} files, {receipt.bytes / 1e6:.0f} MB; nothing left: {receipt.is_clean}")


def give_images(settings: Settings) -> None:
    """Seal an image and a thumbnail of its own for every page."""
    random = np.random.default_rng(11)
    with opened_stores(settings) as (database, artifacts):
        rows = database.all("SELECT page_id FROM pages")
        for at in range(0, len(rows), _TOGETHER):
            some = rows[at : at + _TOGETHER]
            sizes = [size for _row in some for size in (_IMAGE, _THUMBNAIL)]
            refs = artifacts.put_many([Sealable(random.bytes(size), ".webp.enc") for size in sizes])
            pairs = zip(refs[::2], refs[1::2], some, strict=True)
            with database.transaction(is_step=True) as db:
                db.executemany(
                    "UPDATE pages SET image = ?, thumbnail = ? WHERE page_id = ?",
                    [(image.sha256, thumbnail.sha256, page_id) for image, thumbnail, (page_id,) in pairs],
                )
