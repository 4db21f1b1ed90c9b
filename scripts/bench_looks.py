"""Search by picture in a vault of many pages, end to end: seconds of the first search and of later ones, memory.

    .venv/bin/python scripts/bench_looks.py [--pages N] [PDF …]
    .venv/bin/python scripts/bench_looks.py --distort VAULT [--sample N]

Forty pages (of the PDFs named, else made up) are looked at; the others have their images, and marks drawn from theirs
with 8 of the 64 bits of every code turned over. `--distort` asks a vault that is there (`DIR/data`, `DIR/key`) for
pages of its own, turned, bent, blurred and shrunk. Times are wall clock on this machine.
"""

from __future__ import annotations

import argparse
import io
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
from PIL import Image

from bench_parts import paper
from docmind.artifacts import Artifacts
from docmind.catalog import Catalog
from docmind.config import ReadingSettings
from docmind.database import Database
from docmind.keys import Keyset
from docmind.lookalike.detect import marks_of_page
from docmind.lookalike.marks import KINDS, Marks
from docmind.lookalike.search import Lookalike
from docmind.lookalike.sighting import Sightings
from docmind.lookalike.store import LookStore
from docmind.readers import Rules
from docmind.readers.pdf import open_pdf
from docmind.schema import Upload
from eval_distortions import evaluate_distortions

_PAGES, _REAL, _TURNED = 10_000, 40, 8
_SUFFIX = ".webp.enc"
_STAGES = ("marks", "index", "votes", "compare", "total")


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdfs", nargs="*", type=Path)
    parser.add_argument("--pages", type=int, default=_PAGES)
    parser.add_argument("--distort", type=Path, metavar="VAULT")
    parser.add_argument("--sample", type=int, default=40, help="pages that are distorted")
    arguments = parser.parse_args()
    if arguments.distort:
        evaluate_distortions(arguments.distort, arguments.sample)
    else:
        _bench([path.read_bytes() for path in arguments.pdfs], arguments.pages)
    return 0


def bench_looks() -> None:
    """Search by picture over 10,000 pages: the first one after opening, later ones, memory."""
    _bench([], _PAGES)


def _bench(pdfs: list[bytes], pages: int) -> None:
    images = _images(pdfs or [paper(_REAL, words_a_page=450)])
    crops = [_crop(image) for image in images]
    with tempfile.TemporaryDirectory() as folder:
        keys = Keyset.generate()
        names = _fill(Path(folder), keys, images, pages)
        with _opened(Path(folder), keys) as looks:
            _row("first search, nothing loaded", [_timed(looks, crops[0])])
        with _opened(Path(folder), keys) as looks:
            before, at = _memory(), time.perf_counter()
            looks.follow()
            while not looks._known.images:
                time.sleep(0.01)
            print(f"index loaded in the background {time.perf_counter() - at:.1f} s", end=", ")
            print(
                f"{looks._known.index.nbytes / 1e6:.0f} MB; the process and its children +{_memory() - before:.0f} MB"
            )
            time.sleep(2)  # and the process that sees has started
            _row("first search after that", [_timed(looks, crops[0])])
            later = [_timed(looks, crop) for crop in crops[1:]]
            _row("later searches", later)
            _row("  the slowest", [max(later, key=lambda one: one[0])])
            firsts = [result.hits[0].page_id if result.hits else "" for _, result in later]
            right = sum(first == name for first, name in zip(firsts, names[1:], strict=True))
            print(f"{right}/{len(later)} crops had their page first")


def _timed(looks: Lookalike, picture: bytes) -> tuple[float, Sightings]:
    at = time.perf_counter()
    result = looks.search(picture)
    return time.perf_counter() - at, result


def _row(name: str, searches: list[tuple[float, Sightings]]) -> None:
    """Medians of every stage, in milliseconds."""
    stages = [dict(result.timings_ms) for _, result in searches]
    cells = "  ".join(f"{stage} {statistics.median(one[stage] for one in stages):.0f}" for stage in _STAGES)
    print(f"{name:30} {statistics.median(seconds for seconds, _ in searches) * 1000:5.0f} ms   {cells}")


def _memory() -> float:
    """Of this process and those below it, in MB."""
    me = psutil.Process()
    return sum(one.memory_info().rss for one in (me, *me.children(recursive=True))) / 1e6


def _images(files: list[bytes]) -> list[bytes]:
    """Pages as stored, spread over the files."""
    found = []
    for data in files:
        opened = open_pdf(Upload("paper.pdf", data), "pdf", Rules())
        wanted = np.linspace(1, opened.pages, min(opened.pages, _REAL // len(files)))
        found += [opened.page(round(number)).image for number in wanted]
    return found


def _crop(image: bytes) -> bytes:
    page = Image.open(io.BytesIO(image))
    out = io.BytesIO()
    page.crop((page.width // 10, page.height // 8, 7 * page.width // 10, page.height // 2)).save(out, "PNG")
    return out.getvalue()


def _fill(folder: Path, keys: Keyset, images: list[bytes], pages: int) -> list[str]:
    """A vault of so many pages; returns the ids of those that are real.

    Each page has an image file of its own: a real one, with its number behind the end of the picture.
    """
    started = time.perf_counter()
    real = [marks_of_page(np.asarray(Image.open(io.BytesIO(image)).convert("L"))) for image in images]
    print(f"marks of a page {(time.perf_counter() - started) / len(real) * 1000:.0f} ms")
    packed = _many(real, pages)
    size = sum(map(len, packed))
    print(f"{pages} pages, {size / pages:,.0f} bytes of marks a page, {size / 1e6:.0f} MB")
    artifacts = Artifacts(folder / "artifacts", keys)
    database = Database(folder / "vault.db", keys.db_key)
    store = LookStore(database)
    refs = []
    for at in range(0, pages, 200):
        part = range(at, min(at + 200, pages))
        items = [(images[number % len(images)] + b"%08d" % number, _SUFFIX) for number in part]
        refs += artifacts.put_many(items)
    with database.transaction() as db:
        db.execute(
            "INSERT INTO documents (doc_id, document, kind, status, pages, bytes, original, original_suffix,"
            " added_at_ms) VALUES ('d', 'd', 'pdf', 'ready', 1, 1, '', '', 0)"
        )
        db.executemany(
            "INSERT INTO pages VALUES (?1, 'd', ?2, 1131, 1600, '', x'', 'layer', 1.0, 'en', ?3, ?4, ?3, ?4)",
            [(f"d::page::{number + 1}", number + 1, ref.sha256, ref.suffix) for number, ref in enumerate(refs)],
        )
        for ref, marks in zip(refs, packed, strict=True):
            store.put(ref.sha256, marks)
    database.close()
    artifacts.close()
    return [f"d::page::{number + 1}" for number in range(len(images))]


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


@contextmanager
def _opened(folder: Path, keys: Keyset) -> Iterator[Lookalike]:
    database, artifacts = Database(folder / "vault.db", keys.db_key), Artifacts(folder / "artifacts", keys)
    looks = Lookalike(ReadingSettings(), database, Catalog(database), artifacts)
    try:
        yield looks
    finally:
        looks.close()
        artifacts.close()
        database.close()


if __name__ == "__main__":
    sys.exit(main())
