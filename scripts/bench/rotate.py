"""Rotation of keys: files a second, and the seconds of each step, in a library with 10,000 page images."""

from __future__ import annotations

import argparse
import time

from harness import filled_vault, give_images, memory_of_tree_mb

from docmind.application import DocMind
from docmind.llm.service import OneModel
from docmind.records.rotation import RotationProgress

PAGES, EACH = 10_000, 100
_IMAGE = 80_000  # bytes


def bench_rotate(options: argparse.Namespace) -> None:
    """Rotate the keys of a library with 10,000 page images of 80 KB."""
    pages = options.size or PAGES
    with filled_vault(documents=pages // EACH, nodes=pages) as settings:
        give_images(settings, image_bytes=_IMAGE, thumbnail_bytes=0)
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
