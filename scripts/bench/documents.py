"""From bytes to sealed pages: the cipher, the reading process, ingestion."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from harness import Times, filled_vault, fresh_vault, memory_of_tree_mb, paper, questions, timed

from docmind.application import DocMind
from docmind.config import RetrieveSettings, Settings
from docmind.records.documents import Upload

_PASSAGES = (1_000, 10_000, 30_000)


def bench_seal() -> None:
    """Compare sealing and opening a page image with the bare cipher and the disk."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from docmind.records.documents import ArtifactRef
    from docmind.storage.artifacts import Artifacts, Sealable, seal, unseal
    from docmind.storage.keys import Keyset

    keys, page = Keyset.generate(), os.urandom(120_000)
    ref = ArtifactRef("0" * 64, ".webp.enc")
    cipher = AESGCM(os.urandom(32))
    bare = timed(lambda: cipher.encrypt(bytes(12), page, b""), 50)
    ours = timed(lambda: seal(page, keys, ref, salt=bytes(16), nonce=bytes(12)), 50)
    with tempfile.TemporaryDirectory() as scratch:
        artifacts = Artifacts(Path(scratch) / "a", keys)
        known = artifacts.put(page, ".webp.enc")
        sealed = (Path(scratch) / "a" / known.file_name).read_bytes()
        opening = timed(lambda: unseal(sealed, keys, known), 50)
        items = [Sealable(os.urandom(120_000), ".webp.enc") for _ in range(16)]
        putting = timed(lambda: artifacts.put_many(items), 5).median / 16

        def plainly() -> None:
            with (Path(scratch) / "plain").open("wb") as file:
                file.write(os.urandom(120_000))
                file.flush()
                os.fsync(file.fileno())

        plain = timed(plainly, 16)
        artifacts.close()
    seal_us, open_us, bare_us = (times.median * 1e3 for times in (ours, opening, bare))
    print(f"seal 120 KB {seal_us:.0f} µs, open {open_us:.0f} µs; bare AES-GCM {bare_us:.0f} µs")
    print(f"put (sealed, fsynced, 16 at a time) {putting:.2f} ms; plain write and fsync {plain.median:.2f} ms")


def bench_read() -> None:
    """Compare the reading process on a born-digital paper with pypdfium2's text and plain rendering."""
    import pypdfium2

    from docmind.reading.reader import Reader

    pdf, pages = paper(40), 40
    with Reader(Settings().reading) as reader:

        def read() -> None:
            with reader.read(Upload("paper.pdf", pdf)) as reading:
                assert sum(1 for _ in reading) == pages

        ours = timed(read, 3).median

    def text_only() -> None:
        document = pypdfium2.PdfDocument(pdf)
        for page in document:
            page.get_textpage().get_text_range()

    def with_png() -> None:
        document = pypdfium2.PdfDocument(pdf)
        for number in range(8):
            document[number].render(scale=2).to_pil().save(os.devnull, format="PNG")

    print(f"read: text, word boxes, page image, thumbnail {pages * 1e3 / ours:.1f} pages/s (one process)")
    text, pictures = timed(text_only, 3).median, timed(with_png, 3).median
    print(f"pypdfium2, text alone {pages * 1e3 / text:.0f} pages/s; render and PNG {8e3 / pictures:.1f}")


def bench_ingest() -> None:
    """Time a born-digital paper of 60 pages from bytes to searchable and sealed."""
    late, off = Times(), Times()
    with fresh_vault() as settings, fresh_vault() as other:
        plainly = other.model_copy(update={"retrieve": RetrieveSettings(rerank="off")})
        with DocMind(settings) as docmind, DocMind(plainly) as without:
            both = ((late, docmind), (off, without))
            for _, one in both:
                one.add([Upload("warm.pdf", paper(2, seed=99))])
            for seed in range(3):
                for times, one in both:
                    with times.one():
                        one.add([Upload(f"paper{seed}.pdf", paper(60, seed=seed))])
            status = docmind.status()
            torch = "torch" in sys.modules
    nodes = status.nodes / status.pages
    print(f"ingest {60e3 / late.median:.1f} pages/s ({nodes:.1f} nodes a page; torch imported: {torch})")
    print(f"without late interaction {60e3 / off.median:.1f} pages/s")


def bench_files(options: argparse.Namespace) -> None:
    """Time many text files of about 1 KB, and a second comparison of their folder, against plain SQLite and a walk."""
    import hashlib
    import sqlite3
    import time

    count = options.size or 1_000
    said = questions(count)
    with fresh_vault() as settings:
        folder = settings.data_dir.parent / "papers"
        for number in range(count):
            text = ". ".join(f"Entry {number}, {said[(number + at) % count]}" for at in range(14))
            path = folder / f"{number % 20:02}" / f"note {number}.{('txt', 'md')[number % 2]}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        with DocMind(settings) as docmind:
            docmind.add([Upload("warm.txt", b"Herons nest in tall trees.")])
            followed = docmind.folders.add(folder, is_watched=False)
            started = time.perf_counter()
            first = docmind.folders.sync(followed.folder_id)
            docmind.queue.finish()
            reading = time.perf_counter() - started
            again = timed(lambda: docmind.folders.sync(followed.folder_id), 5)
            assert first.added == count, first
        files = sorted(path for path in folder.rglob("*") if path.is_file())

        def plainly() -> None:
            (settings.data_dir.parent / "plain.db").unlink(missing_ok=True)
            with sqlite3.connect(settings.data_dir.parent / "plain.db") as db:
                db.execute("CREATE VIRTUAL TABLE page USING fts5(name, text)")
                for path in files:
                    db.execute("INSERT INTO page VALUES (?, ?)", (path.name, path.read_text("utf-8")))
                    db.commit()

        plain = timed(plainly, 1).median
        hashing = timed(lambda: [hashlib.sha256(path.read_bytes()).digest() for path in files], 3).median
    print(f"{count:,} text files: read, embedded, encrypted {count / reading:.1f} files/s")
    print(f"SQLite FTS5, nothing embedded or encrypted, a commit each {count * 1e3 / plain:.0f} files/s")
    second, digests = count * 1e3 / again.median, count * 1e3 / hashing
    print(f"second sync, nothing changed {second:,.0f} files/s; a digest of each {digests:,.0f}")


def bench_table(options: argparse.Namespace) -> None:
    """Time a CSV file of many rows: laid out, its pages as sheets and drawn, read in the reading process, and added."""
    import time

    from docmind.config import ReadingSettings
    from docmind.reading import Reader
    from docmind.reading.formats import Rules, reader
    from docmind.reading.formats.image import encode
    from docmind.reading.formats.typeset import draw_sheet

    rows = options.size or 5_000
    lines = ["id,bird,weight,place", *(f"{n},heron {n % 97},{n * 37 % 9_973},nest {n % 31}" for n in range(rows))]
    upload = Upload("birds.csv", "\n".join(lines).encode())

    def seconds(work: Callable[[], object]) -> float:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started

    opened = reader("csv")(upload, "csv", Rules())
    pages = opened.pages
    layout = seconds(lambda: reader("csv")(upload, "csv", Rules()))
    some = range(1, min(pages, 200) + 1)
    as_sheets = seconds(lambda: [opened.page(number) for number in some]) / len(some)
    sheets = [opened.page(number).image for number in some[:10]]
    as_drawn = seconds(lambda: [encode(draw_sheet(sheet), Rules()) for sheet in sheets]) / len(sheets)
    with Reader(ReadingSettings()) as reading:
        whole = seconds(lambda: list(reading.read(upload)))
    print(f"{rows:,} rows, {len(upload.data) / 1e6:.1f} MB, {pages:,} pages: laid out in {layout:.1f} s")
    print(f"a page {as_sheets * 1e3:.1f} ms as its sheet, {as_drawn * 1e3:.0f} ms drawn")
    print(f"read in its process {whole:.1f} s, {rows / whole:,.0f} rows/s; all drawn {layout + pages * as_drawn:.0f} s")
    with fresh_vault() as settings, DocMind(settings) as docmind:
        docmind.add([Upload("warm.txt", b"Herons nest in tall trees.")])
        added = seconds(lambda: docmind.add([upload]))
    print(f"added, embedded, encrypted {added:.1f} s, {rows / added:,.0f} rows/s")


def bench_growth() -> None:
    """Compare adding to 1,000 documents with adding to an empty vault; time a library of 1,000 to 30,000 passages."""

    def added(docmind: DocMind) -> float:
        times = Times()
        for seed in range(-1, 9):
            with times.one():
                docmind.add([Upload(f"new{seed}.pdf", paper(5, seed=10_000 + seed))])
        return Times(times[1:]).median

    with fresh_vault() as settings, DocMind(settings) as docmind:
        empty = added(docmind)
    with filled_vault(documents=1_000, nodes=3_000) as settings, DocMind(settings) as docmind:
        full = added(docmind)
    print(f"add 5 pages: to an empty vault {empty:.0f} ms, to 1,000 documents {full:.0f} ms: {full / empty:.2f}x")
    for passages in _PASSAGES:
        _grown(passages)


def _grown(passages: int) -> None:
    """Print what a library of so many passages, ten a document, takes: to open, to list, and to search."""
    with filled_vault(documents=passages // 10, nodes=passages) as settings:
        with DocMind(settings) as docmind:
            docmind.index.ready()  # fills it
        started = time.perf_counter()
        with DocMind(settings) as docmind:
            docmind.index.ready()
            opened = time.perf_counter() - started
            docmind.search("warm")
            listed = timed(docmind.documents.all, 5).median
            searched = Times()
            for question in questions(60):
                with searched.one():
                    docmind.search(question)
            memory = memory_of_tree_mb()
    print(
        f"{passages:,} passages of {passages // 10:,} documents: opened in {opened:.2f} s, listed in {listed:.0f} ms, "
        f"searched in {searched}, {memory:.0f} MB"
    )
