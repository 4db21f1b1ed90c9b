"""Search by picture in a vault of many pages: bytes on disk, bytes in memory, seconds.

    .venv/bin/python scripts/bench_looks.py [PAGES] [PDF …]

Forty pages (of the PDFs named, else made up) are looked at; the others are drawn from their marks, 8 of the 64 bits
of every code turned over. Times are wall clock on this machine.
"""

from __future__ import annotations

import io
import secrets
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from PIL import Image

from bench_parts import paper
from docmind.database import Database
from docmind.lookalike.detect import marks_of_page, marks_of_query
from docmind.lookalike.marks import KINDS, Marks
from docmind.lookalike.store import LookStore
from docmind.lookalike.verify import Picture
from docmind.lookalike.votes import Index
from docmind.readers import Rules
from docmind.readers.pdf import open_pdf
from docmind.schema import Upload

_REAL, _TURNED = 40, 8


def main() -> int:
    """Print the table."""
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    greys = _greys([Path(name).read_bytes() for name in sys.argv[2:]] or [paper(_REAL, words_a_page=450)])
    started = time.perf_counter()
    real = [marks_of_page(grey) for grey in greys]
    print(f"marks of a page {(time.perf_counter() - started) / len(real) * 1000:.0f} ms")
    packed = _many(real, pages)
    print(f"{pages} pages, {sum(map(len, packed)) / pages:,.0f} bytes a page, {sum(map(len, packed)) / 1e6:.0f} MB")
    with tempfile.TemporaryDirectory() as folder:
        index = _loaded(Path(folder), packed)
    times: dict[str, list[float]] = {"marks": [], "votes": [], "compare": []}
    right = 0
    for number, grey in enumerate(greys):
        height, width = grey.shape
        crop = np.asarray(Image.fromarray(grey).crop((width // 10, height // 8, 7 * width // 10, height // 2)))
        size = crop.shape[1], crop.shape[0]
        at = time.perf_counter()
        query, picture = marks_of_query(crop), Picture(crop)
        times["marks"].append(time.perf_counter() - at)
        at = time.perf_counter()
        found = index.candidates(query, size, 8, None)
        times["votes"].append(time.perf_counter() - at)
        right += bool(found) and found[0].page == number
        at = time.perf_counter()
        picture.compare(greys[number], found[0].pairs)
        times["compare"].append(time.perf_counter() - at)
    for stage, seconds in times.items():
        print(f"{stage:8} median {statistics.median(seconds) * 1000:.0f} ms, worst {max(seconds) * 1000:.0f} ms")
    print(f"{right}/{len(greys)} crops had the most votes")
    return 0


def _greys(files: list[bytes]) -> list[np.ndarray]:
    """Pages as stored, spread over the files."""
    found = []
    for data in files:
        opened = open_pdf(Upload("paper.pdf", data), "pdf", Rules())
        wanted = np.linspace(1, opened.pages, min(opened.pages, _REAL // len(files)))
        images = (opened.page(round(number)).image for number in wanted)
        found += [np.asarray(Image.open(io.BytesIO(image)).convert("L")) for image in images]
    return found


def _many(real: list[Marks], pages: int) -> list[bytes]:
    source = np.random.default_rng(0)
    pools = [np.concatenate([marks.codes[marks.kinds == kind] for marks in real]) for kind in range(KINDS)]
    made = [marks.pack() for marks in real[:pages]]
    while len(made) < pages:
        like = real[len(made) % len(real)]
        codes = np.concatenate([source.choice(pools[kind], (like.kinds == kind).sum()) for kind in range(KINDS)])
        for _ in range(_TURNED):
            codes ^= np.uint64(1) << source.integers(0, 64, len(codes)).astype(np.uint64)
        order = np.argsort(like.kinds, kind="stable")
        made.append(Marks(codes, like.places[order], like.kinds[order]).pack())
    return made


def _loaded(folder: Path, packed: list[bytes]) -> Index:
    """Through an encrypted database, as at the first search after a start."""
    database = Database(folder / "vault.db", secrets.token_bytes(32))
    store = LookStore(database)
    images = [f"{number:064x}" for number in range(len(packed))]
    with database.transaction() as db:
        db.execute(
            "INSERT INTO documents (doc_id, document, kind, status, pages, bytes, original, original_suffix,"
            " added_at_ms) VALUES ('d', 'd', 'pdf', 'ready', 1, 1, '', '', 0)"
        )
        db.executemany(
            "INSERT INTO pages VALUES (?1, 'd', ?2, 1131, 1600, '', x'', 'layer', 1.0, 'en', ?3, '.webp.enc', ?3, '')",
            [(f"d::page::{number}", number, image) for number, image in enumerate(images)],
        )
        for image, marks in zip(images, packed, strict=True):
            store.put(image, marks)
    before = psutil.Process().memory_info().rss
    at = time.perf_counter()
    found = store.marks(images)
    read = time.perf_counter() - at
    at = time.perf_counter()
    index = Index([Marks.unpack(found[image]) for image in images])
    built = time.perf_counter() - at
    del found
    grown = (psutil.Process().memory_info().rss - before) / 1e6
    print(
        f"read from the vault {read:.1f} s, index built {built:.1f} s, {index.nbytes / 1e6:.0f} MB (+{grown:.0f} RSS)"
    )
    database.close()
    return index


if __name__ == "__main__":
    sys.exit(main())
