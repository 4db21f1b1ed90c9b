"""Checking a library of 10,000 pages: seconds of each level, and of the parts of the quick one."""

from __future__ import annotations

import argparse
import time

import numpy as np
from harness import filled_vault, give_images, opened_stores, timed

from docmind.application import DocMind
from docmind.config import Settings
from docmind.llm.service import OneModel
from docmind.storage import ORIGINAL

PAGES, EACH = 10_000, 100
_ORIGINAL = 60_000  # bytes


def bench_doctor(options: argparse.Namespace) -> None:
    """Check a library of 10,000 pages with an image, a thumbnail and marks each, quick and full."""
    pages = options.size or PAGES
    with filled_vault(documents=pages // EACH, nodes=pages) as settings:
        give_images(settings)
        _give_marks_and_originals(settings)
        with DocMind(settings, models=OneModel()) as docmind:
            docmind.search("warm")  # builds the index
        with DocMind(settings, models=OneModel()) as docmind:
            began = time.perf_counter()
            report = docmind.doctor.examine()
            cold = time.perf_counter() - began
            warm = timed(docmind.doctor.examine).median / 1000
            began = time.perf_counter()
            full = docmind.doctor.examine("full")
            took = time.perf_counter() - began
    looked = ", ".join(f"{number:,} {name}" for name, number in report.looked_at)
    print(f"quick: {cold:.2f} s with the start of the index, {warm:.2f} s afterwards ({looked}); found {report.counts}")
    print(f"full: {took:.1f} s; found {full.counts}")


def _give_marks_and_originals(settings: Settings) -> None:
    """Write marks for every page image, and seal an original for every document."""
    random = np.random.default_rng(11)
    with opened_stores(settings) as (database, artifacts):
        images = database.all("SELECT DISTINCT image FROM pages")
        with database.transaction(is_step=True) as db:
            db.executemany(
                "INSERT INTO looks (image, version, marks) VALUES (?, 0, ?)",
                [(image, random.bytes(2_000)) for (image,) in images],
            )
        for (doc_id,) in database.all("SELECT doc_id FROM documents"):
            original = artifacts.put(random.bytes(_ORIGINAL), ORIGINAL)
            with database.transaction(is_step=True) as db:
                db.execute(
                    "UPDATE documents SET original = ?, original_suffix = ? WHERE doc_id = ?",
                    (original.sha256, original.suffix, doc_id),
                )
