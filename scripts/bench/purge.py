"""Erasing a document: seconds and memory, with its receipt, in a library of 10,000 pages."""

from __future__ import annotations

import argparse
import threading
import time

from harness import filled_vault, give_images, memory_of_tree_mb

from docmind.application import DocMind
from docmind.llm.service import OneModel

PAGES, EACH = 10_000, 100


def bench_purge(options: argparse.Namespace) -> None:
    """Erase a document of 100 pages from a library of 10,000; time each step, and sample the memory meanwhile."""
    pages = options.size or PAGES
    with filled_vault(documents=pages // EACH, nodes=pages) as settings:
        give_images(settings)
        with DocMind(settings, models=OneModel()) as docmind:
            docmind.search("warm")
            thread_id = docmind.conversations.create().thread_id
            docmind.conversations.ask("What did the free cash flow do in 2022?", thread_id=thread_id)
            doc_id = docmind.documents.all()[0].doc_id
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
            (receipt,) = docmind.erasures.erase(
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
