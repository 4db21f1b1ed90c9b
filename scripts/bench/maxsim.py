"""Late interaction over many pages: every kernel and plain float32, in one run on the same pages.

    .venv/bin/python scripts/bench maxsim [--size PAGES] [--many MORE] [--folder FOLDER]

PAGES (5,000 unless said) are scored by every kernel; with `--many` so many more pages are made (13 GB for 100,000, gone
afterwards) and searched through digests. Recall is of the ten best by float32 vectors that were never rounded.

A made-up page is coherent, as pages are: 32 x 32 patches, each the sum of a field that changes slowly over the page
(five by five random vectors, one direction that all pages share, one of 60 topics that its document shares), of a word
(65% of them: one of 4,000 directions; a word covers one to four patches of a row; half of a page's words come from the
30 of its document) and of noise; and six tokens that are the same on every page. A question takes nine words from one
page, blurred, and eleven vectors near their mean, as the model's own padding is. Ten pages are a document.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import resource
import secrets
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
from harness import Times, timed

from docmind.embedding.base import PagePatches
from docmind.index.blinding import Blinder
from docmind.late_interaction import store as patch_grid
from docmind.late_interaction.layout import digest_name
from docmind.late_interaction.maxsim import makers
from docmind.late_interaction.quantize import page_int8, query_int8
from docmind.late_interaction.row_file import Blocks
from docmind.late_interaction.store import LatePages
from docmind.late_interaction.token_pooling import digest
from docmind.storage.database import Database

DIM, SIDE, MORE, TOKENS, ASKED, TOP = 128, 32, 6, 20, 20, 10
LENGTH = SIDE * SIDE + MORE
MODEL = "made-up:1"
BLIND = Blinder(bytes(range(32)))
_CHUNK = 250


def unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


class Corpus:
    """Pages and questions by number, deterministic."""

    def __init__(self) -> None:
        source = np.random.default_rng(0)
        self.common = unit(source.standard_normal(DIM))
        self.words, self.topics = unit(source.standard_normal((4_000, DIM))), unit(source.standard_normal((60, DIM)))
        self.prompt = unit(0.8 * self.common + 0.6 * unit(source.standard_normal((MORE, DIM))))
        self.noise = source.standard_normal(4_000_000, dtype=np.float32) * np.float32(0.35 / DIM**0.5)
        near = np.linspace(0, 4, SIDE)[:, None] - np.arange(5)
        weights = np.maximum(0, 1 - np.abs(near))
        self.up = np.einsum("ia,jb->ijab", weights, weights).reshape(SIDE * SIDE, 25).astype(np.float32)

    def page(self, number: int) -> tuple[np.ndarray, list[int]]:
        """Return `(1030, 128)` float32 unit rows, and the words on the page."""
        topic, own = self._document(number)
        source = np.random.default_rng((2, number))
        knots = 0.7 * self.common + 0.35 * self.topics[topic] + 0.5 * unit(source.standard_normal((25, DIM)))
        run = np.repeat(np.arange(SIDE * SIDE), source.integers(1, 5, SIDE * SIDE))[: SIDE * SIDE]
        words = np.concatenate([own, source.integers(0, len(self.words), 60)])
        word = words[source.integers(0, len(words), SIDE * SIDE)][run]
        has_word = (source.random(SIDE * SIDE) < 0.65)[run]
        at = int(source.integers(0, len(self.noise) - SIDE * SIDE * DIM))
        patches = self.up @ knots.astype(np.float32) + self.noise[at : at + SIDE * SIDE * DIM].reshape(-1, DIM)
        patches[has_word] += np.float32(0.75) * self.words[word[has_word]]
        patches /= np.linalg.norm(patches, axis=1, keepdims=True)
        return np.concatenate([patches, self.prompt]), sorted(set(word[has_word].tolist()))

    def question(self, number: int, target: int) -> np.ndarray:
        """Return `(20, 128)` float32 unit rows about one page."""
        source = np.random.default_rng((3, number))
        words = self.words[source.choice(self.page(target)[1], 9, replace=False)]
        said = 0.35 * self.common + 0.8 * words + 0.25 * unit(source.standard_normal((9, DIM)))
        mean = 0.5 * self.common + 0.25 * self.topics[self._document(target)[0]] + 0.6 * unit(words.mean(axis=0))
        return unit(np.concatenate([said, mean + 0.4 * unit(source.standard_normal((TOKENS - 9, DIM)))]))

    def _document(self, number: int) -> tuple[int, np.ndarray]:
        source = np.random.default_rng((1, number // 10))
        return int(source.integers(0, len(self.topics))), source.integers(0, len(self.words), 30)


Made = tuple[np.ndarray, np.ndarray, list[tuple[float, int]], np.ndarray | None]
_corpus: Corpus
_questions: np.ndarray


def _start(questions: np.ndarray) -> None:
    global _corpus, _questions
    _corpus, _questions = Corpus(), questions


def _made(job: tuple[int, int, bool]) -> Made:
    """Return rows of a chunk of pages, their float32 scores, step and checksum of each, and digests where wanted."""
    first, count, with_digest = job
    rows, scores, facts, digests = [], [], [], []
    for number in range(first, first + count):
        vectors = _corpus.page(number)[0]
        scores.append((_questions @ vectors.T).max(axis=1).reshape(ASKED, TOKENS).sum(axis=1))
        turned = BLIND.dense(vectors)
        kept, step = page_int8(turned)
        rows.append(kept)
        facts.append((step, zlib.crc32(kept.data)))
        if with_digest:
            digests.append(digest(turned))
    return np.concatenate(rows), np.array(scores), facts, np.concatenate(digests) if with_digest else None


@contextmanager
def store(folder: Path, pages: int, with_digest: bool) -> Iterator[tuple[LatePages, np.ndarray, np.ndarray]]:
    """Store pages as the product does; return questions `(asked, 20, 128)` and true scores `(pages, asked)`.

    Written in bulk: page by page, each on the disk before the next, it would take an hour.
    """
    corpus = Corpus()
    targets = np.random.default_rng(5).integers(0, pages, ASKED)
    questions = np.stack([corpus.question(number, int(target)) for number, target in enumerate(targets)])
    database = Database(folder / "vault.db", secrets.token_bytes(32))
    late = LatePages(folder / "late", database, BLIND.dense)
    (folder / "late").mkdir()
    blocks, digests = Blocks(folder / "late" / "made.i8", DIM), Blocks(folder / "late" / digest_name(MODEL), DIM)
    with database.transaction() as db:
        db.execute(
            "INSERT INTO documents (doc_id, document, kind, status, pages, bytes, original, original_suffix,"
            " added_at_ms) VALUES ('d', 'd', 'pdf', 'ready', 1, 1, '', '', 0)"
        )
        db.executemany(
            "INSERT INTO pages (page_id, doc_id, page_no, width, height, text, words, text_source,"
            " confidence, language, image, image_suffix, thumbnail, thumbnail_suffix)"
            " VALUES (?1, 'd', ?2, 1131, 1600, '', x'', 'layer', 1.0, 'en', ?1, '.webp.enc', ?1, '')",
            [(f"{number:064x}", number) for number in range(pages)],
        )
    before = vault_bytes(database)
    jobs = [(at, min(_CHUNK, pages - at), with_digest) for at in range(0, pages, _CHUNK)]
    truth = []
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # of the processes that make pages
    pool = multiprocessing.get_context("spawn").Pool(os.cpu_count(), _start, (questions.reshape(-1, DIM),))
    try:
        with pool:
            for (first, _, _), (rows, scores, facts, made) in zip(jobs, pool.imap(_made, jobs), strict=True):
                blocks.write(first * LENGTH, rows)
                if made is not None:
                    digests.write(first * len(made) // len(facts), made)
                truth.append(scores)
                _insert(database, first, facts, made is not None)
        rows_of_table = (vault_bytes(database) - before) / pages
        print(f"disk {late.bytes() / pages / 1000:.1f} KB a page, and {rows_of_table / 1000:.1f} KB in the vault")
        yield late, questions, np.concatenate(truth)
    finally:
        late.close()
        database.close()


def _insert(database: Database, first: int, facts: list[tuple[float, int]], with_digest: bool) -> None:
    cells = np.array([*range(SIDE * SIDE), *[-1] * MORE], np.int32)
    packed = patch_grid.packed(PagePatches(np.empty((LENGTH, DIM), np.float32), SIDE, SIDE, cells))
    numbered = list(enumerate(facts, first))
    with database.transaction() as db:
        db.executemany(
            "INSERT INTO late_pages (image, fingerprint, file, start, tokens, dim, step, checksum, rows, cols, patches,"
            " slot) VALUES (?, ?, 'made.i8', ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (f"{number:064x}", MODEL, number * LENGTH, LENGTH, DIM, step, check, SIDE, SIDE, packed, slot)
                for number, (step, check) in numbered
                for slot in [number if with_digest else None]
            ],
        )


def recall(late: LatePages, questions: np.ndarray, truth: np.ndarray) -> float:
    found = 0
    for number, question in enumerate(questions):
        best = {f"{page:064x}" for page in np.argsort(-truth[:, number])[:TOP]}
        found += len(best & {image for image, _ in late.search(MODEL, question, TOP)})
    return found / (len(questions) * TOP)


def _bench_kernels(folder: Path, pages: int) -> None:
    """Time every kernel, the plain float32 versions, and the limit of the machine, over the same pages."""
    with store(folder, pages, with_digest=False) as (late, questions, truth):
        memory = psutil.Process().memory_info()
        started = time.perf_counter()
        late.search(MODEL, questions[0], TOP)
        first = time.perf_counter() - started
        after = psutil.Process().memory_info()
        own = (after.rss - after.shared) - (memory.rss - memory.shared)
        print(f"{pages:,} pages x {LENGTH:,} x {DIM}, {TOKENS} tokens; {os.cpu_count()} cores, numpy {np.__version__}")
        print(f"first search {first:.2f} s (table, torch, self-test, map)")
        print(f"memory: the map, {LENGTH * DIM / 1000:.1f} KB a page, and {own / 1e6:.0f} MB, torch among them")
        search = timed(lambda: late.search(MODEL, questions[1], TOP), 7)
        print(
            f"search {search.median:.0f} ms (least {min(search):.0f}), recall@10 {recall(late, questions, truth):.3f}"
        )
        rows = np.memmap(folder / "late" / "made.i8", np.int8, "r").reshape(-1, DIM)
        starts, lengths = np.arange(pages) * LENGTH, np.full(pages, LENGTH)
        turned = BLIND.dense(questions[1])
        asked, steps = query_int8(turned)
        tops, times = {}, {}
        for name, make in makers().items():
            try:
                kernel = make()
            except (ImportError, RuntimeError, OSError) as error:
                print(f"  {name:12} {error}")
                continue
            times[name] = timed(lambda kernel=kernel: kernel.best(asked, rows, starts, lengths), 7)
            tops[name] = np.argsort(-(kernel.best(asked, rows, starts, lengths) @ steps), kind="stable")[:TOP].tolist()
            print(f"  {name:12} {times[name].median:.0f} ms (least {min(times[name]):.0f})")
        print(f"  the same ten from every kernel: {len({tuple(top) for top in tops.values()}) == 1}")
        whole = rows.view(np.int64)
        print(f"  reading all bytes once, one core: {timed(whole.max, 3).median:.0f} ms")
        for name, took in _plain(rows, pages, turned).items():
            print(f"  {name}: {took:,.0f} ms, {took / search.median:.0f} times the search")


def _plain(rows: np.ndarray, pages: int, turned: np.ndarray) -> dict[str, float]:
    """Return milliseconds of the simple version: everything as float32, kept or made per question, and one einsum."""
    import torch

    started = time.perf_counter()
    whole = rows.astype(np.float32).reshape(pages, LENGTH, DIM)
    turning = (time.perf_counter() - started) * 1000
    print(f"  the store as float32: {whole.nbytes / 1e9:.1f} GB, made in {turning:,.0f} ms")

    def plain() -> object:
        return np.einsum("qd,ptd->pqt", turned, whole).max(axis=2).sum(axis=1)

    def by_torch() -> object:
        return torch.einsum("qd,ptd->pqt", torch.from_numpy(turned), torch.from_numpy(whole)).amax(2).sum(1)

    def by_blocks() -> object:
        found = [whole[at : at + 8].reshape(-1, DIM) @ turned.T for at in range(0, pages, 8)]
        return [products.reshape(-1, LENGTH, TOKENS).max(axis=1).sum(axis=1) for products in found]

    named = (("numpy einsum", plain), ("torch einsum", by_torch), ("numpy by 8 pages", by_blocks))
    times = {name: min(timed(work, 3)) for name, work in named}
    print(f"  peak memory of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB")
    ways = (("the store held as float32", 0.0), ("the store turned into float32 first", turning))
    return {f"{name}, {how}": took + more for name, took in times.items() for how, more in ways}


def _bench_many(folder: Path, pages: int) -> None:
    """Time many pages, through their digests."""
    started = time.perf_counter()
    with store(folder, pages, with_digest=True) as (late, questions, truth):
        print(f"{pages:,} pages made in {(time.perf_counter() - started) / 60:.0f} minutes")
        started = time.perf_counter()
        late.search(MODEL, questions[0], TOP)
        print(f"first search {time.perf_counter() - started:.2f} s")
        for turn in ("first", "second"):
            times = Times()
            for question in questions:
                with times.one():
                    late.search(MODEL, question, TOP)
            print(f"search, {turn} round {times.median:.0f} ms median, {max(times):.0f} ms worst")
        print(f"recall@10 {recall(late, questions, truth):.3f}")


def vault_bytes(database: Database) -> int:
    pages, size = (int((database.one(f"PRAGMA {name}") or (0,))[0]) for name in ("page_count", "page_size"))
    return pages * size


def bench_maxsim(options: argparse.Namespace) -> None:
    """Time MaxSim over 5,000 pages (`--size`) of 1,030 x 128: every kernel and plain float32, on the same pages."""
    for work, pages in ((_bench_kernels, options.size or 5_000), (_bench_many, options.many)):
        if pages:
            with tempfile.TemporaryDirectory(dir=options.folder) as folder:
                work(Path(folder), pages)
