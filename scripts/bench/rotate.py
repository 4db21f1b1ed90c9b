"""Rotation of keys: files a second, and the seconds of each step, in a library with 10,000 page images."""

from __future__ import annotations

import argparse
import time

import numpy as np
from harness import filled_vault, memory_of_tree_mb, opened_stores

from docmind.application import DocMind
from docmind.config import Settings
from docmind.llm.service import OneModel
from docmind.records.rotation import RotationProgress
from docmind.storage import Sealable

PAGES, EACH = 10_000, 100
_IMAGE = 80_000  # bytes
_TOGETHER = 50


def bench_rotate(options: argparse.Namespace) -> None:
    """Rotate the keys of a library with 10,000 page images of 80 KB."""
    pages = options.size or PAGES
    with filled_vault(documents=pages // EACH, nodes=pages) as settings:
        _give_images(settings)
        with DocMind(settings, models=OneModel()) as docmind:
            docmind.search("warm")
            mb = (settings.data_dir / "vault.db").stat().st_size / 1e6
            began_at: dict[str, float] = {}
            before = memory_of_tree_mb()

            def note(now: RotationProgress) -> None:
                began_at.setdefault(now.step, time.perf_counter())

            began = time.perf_counter()
            report = docmind.rotation.run(note)
            at_end = time.perf_counter()
            more = memory_of_tree_mb() - before
            docmind.reopen()
            docmind.search("warm")
            took = time.perf_counter() - at_end
    ends = [*list(began_at.values())[1:], at_end]
    told = ", ".join(f"{step} {end - at:.2f}" for (step, at), end in zip(began_at.items(), ends, strict=True))
    files_s = ends[1] - began_at["Pages and files"]
    print(f"{report.files:,} files of {_IMAGE:,} bytes: {report.files / files_s:.0f} a second; vault.db {mb:.0f} MB")
    print(f"rotation: {at_end - began:.2f} s ({told}), {more:.0f} MB of memory more at its end")
    print(f"the index under its new key, with the opening before it: {took:.2f} s")


def _give_images(settings: Settings) -> None:
    """Seal an image of its own for every page."""
    random = np.random.default_rng(11)
    with opened_stores(settings) as (database, artifacts):
        rows = database.all("SELECT page_id FROM pages")
        for at in range(0, len(rows), _TOGETHER):
            some = rows[at : at + _TOGETHER]
            refs = artifacts.put_many([Sealable(random.bytes(_IMAGE), ".webp.enc") for _row in some])
            with database.transaction(is_step=True) as db:
                db.executemany(
                    "UPDATE pages SET image = ? WHERE page_id = ?",
                    [(image.sha256, page_id) for image, (page_id,) in zip(refs, some, strict=True)],
                )
