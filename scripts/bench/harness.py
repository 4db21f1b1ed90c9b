"""What the benches share: durations, generated papers, vaults filled without a model, a page in a browser."""

from __future__ import annotations

import hashlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from docmind.access import find_running
from docmind.config import KeySettings, Settings
from docmind.documents.catalog import Catalog, PageRecord
from docmind.documents.chunk_store import NodeRecord, NodeStore
from docmind.documents.words import Words
from docmind.embedding.minilm import TOKEN_DIM, MiniLM, default_cache_dir
from docmind.records.documents import DocumentInfo
from docmind.storage.artifacts import Artifacts, Sealable
from docmind.storage.database import Database
from docmind.storage.keys import open_keys
from docmind.storage.mark import Mark

ROOT = Path(__file__).resolve().parents[2]
TESTKIT = ROOT / "tests" / "support"
sys.path += [str(TESTKIT), str(TESTKIT.parent)]  # for models without weights, and papers

CHROMIUM = Path("/usr/bin/chromium")
_TOGETHER = 50  # pages whose images are sealed together

WORDS = tuple(
    """controller liability personal data protection contract penalty revenue margin operating income fiscal year
quarter merchandise inventory assembly president committee article paragraph law treaty census climate health
exposure pathway adaptation vulnerability model training loss dataset layer attention gradient image detection
anchor proposal convolution court petition evidence jury sentence appeal statute claim damages settlement
account transfer property seizure school food commodity program distribution price farmer nutrition child
lunch department hearing witness testimony budget spending growth dividend share repurchase interest debt
maturity lease asset goodwill impairment tax benefit segment region customer product service digital media
marketing subscription platform research experiment method table figure result baseline precision recall
question answer document page source index vector query memory thread checkpoint archive signature encryption
key password recovery backup storage network process worker limit timeout failure repair""".split()  # noqa: SIM905 - a list of them would be a page
)


class Times(list[float]):
    """Milliseconds of one thing that was done several times."""

    @property
    def median(self) -> float:
        return statistics.median(self)

    @property
    def p95(self) -> float:
        return sorted(self)[int(len(self) * 0.95)]

    @contextmanager
    def one(self) -> Iterator[None]:
        """Time the block, and add it."""
        started = time.perf_counter()
        yield
        self.append((time.perf_counter() - started) * 1000)

    def __str__(self) -> str:
        return f"median {self.median:.1f} ms, p95 {self.p95:.1f} ms"


def timed(work: Callable[[], object], runs: int = 5) -> Times:
    """Time `runs` calls, after one that is not counted."""
    work()
    times = Times()
    for _ in range(runs):
        with times.one():
            work()
    return times


def questions(count: int) -> list[str]:
    """Return questions of nine words, the same at every run."""
    return [" ".join(WORDS[(13 * n + 5 * at) % len(WORDS)] for at in range(9)) for n in range(count)]


@contextmanager
def fresh_vault() -> Iterator[Settings]:
    """Yield settings for an empty temporary vault."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        yield Settings(data_dir=place / "data", keys=KeySettings(file=place / "key"))


def paper(pages: int, *, seed: int = 0, words_a_page: int = 190) -> bytes:
    """Make a born-digital PDF: Helvetica text in two sizes, about one node per page."""
    picks = np.random.default_rng(seed).integers(0, len(WORDS), (pages, words_a_page))
    objects: list[bytes] = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (pages, b" ".join(b"%d 0 R" % (4 + 2 * n) for n in range(pages))),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, row in enumerate(picks, 1):
        text = [WORDS[pick] for pick in row]
        lines = [" ".join(text[at : at + 10]) for at in range(0, len(text), 10)]
        body = [f"BT /F1 16 Tf 72 760 Td (Section {number} of paper {seed}) Tj ET"]
        body += [f"BT /F1 11 Tf 72 {730 - 30 * at} Td ({line}.) Tj ET" for at, line in enumerate(lines)]
        stream = zlib.compress("\n".join(body).encode())
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (len(objects) + 2)
        )
        objects.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(stream), stream))
    made, offsets = b"%PDF-1.7\n", []
    for number, body_ in enumerate(objects, 1):
        offsets.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, body_)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    return made + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (
        size,
        table,
        size,
        len(made),
    )


@contextmanager
def filled_vault(*, documents: int, nodes: int) -> Iterator[Settings]:
    """Yield settings of a vault with that many documents and nodes: real rows and files, random unit vectors."""
    with fresh_vault() as settings:
        settings.data_dir.mkdir()
        with opened_stores(settings) as (database, artifacts):
            _fill(Catalog(database), NodeStore(database), artifacts, documents, nodes)
        yield settings


@contextmanager
def opened_stores(settings: Settings) -> Iterator[tuple[Database, Artifacts]]:
    """Yield the database, with its high-water mark, and the sealed files of a vault; create them where missing."""
    opened = open_keys(settings.data_dir, settings.keys)
    keys = opened.keyset
    mark = Mark(settings.data_dir / "mark", keys.db_key, opened.vault_id)
    database = Database(settings.data_dir / "vault.db", keys.db_key, mark=mark)
    artifacts = Artifacts(settings.data_dir / "artifacts", keys)
    try:
        yield database, artifacts
    finally:
        artifacts.close()
        database.close()


def give_images(settings: Settings, *, image_bytes: int = 60_000, thumbnail_bytes: int = 6_000) -> None:
    """Seal an image and a thumbnail of its own for every page, by default as large as those of text; 0: none."""
    random = np.random.default_rng(11)
    sizes = {name: size for name, size in (("image", image_bytes), ("thumbnail", thumbnail_bytes)) if size}
    with opened_stores(settings) as (database, artifacts):
        rows = database.all("SELECT page_id FROM pages")
        for at in range(0, len(rows), _TOGETHER):
            some = rows[at : at + _TOGETHER]
            wanted = [(name, page_id, size) for name, size in sizes.items() for (page_id,) in some]
            refs = artifacts.put_many([Sealable(random.bytes(size), ".webp.enc") for _name, _page_id, size in wanted])
            with database.transaction(is_step=True) as db:
                for ref, (name, page_id, _size) in zip(refs, wanted, strict=True):
                    db.execute(f"UPDATE pages SET {name} = ? WHERE page_id = ?", (ref.sha256, page_id))


def _fill(catalog: Catalog, store: NodeStore, artifacts: Artifacts, documents: int, nodes: int) -> None:
    random = np.random.default_rng(7)
    model = MiniLM(default_cache_dir())
    vocabulary = _directions(random, 4_000)
    picture = artifacts.put(b"a page image", ".webp.enc")
    each = nodes // documents
    for number in range(documents):
        doc_id = hashlib.sha256(str(number).encode()).hexdigest()[:32]
        name = f"paper {number}.pdf"
        info = DocumentInfo(doc_id, name, "", "pdf", "reading", each, 0, 0, "", 1_000, number)
        catalog.begin_document(info, picture)
        pages, records, vectors, tokens = [], [], {}, {}
        for page_no in range(1, each + 1):
            text = " ".join(WORDS[pick] for pick in random.integers(0, len(WORDS), 150))
            words = Words.of([(0, 5)], [(10, 10, 50, 12)]).pack()
            pages.append(
                PageRecord(
                    doc_id=doc_id,
                    page_no=page_no,
                    width=1_131,
                    height=1_600,
                    text=text,
                    words=words,
                    text_source="layer",
                    confidence=1.0,
                    language="en",
                    image=picture,
                    thumbnail=picture,
                )
            )
            content = random.bytes(16)
            node_id = str(uuid.uuid5(uuid.NAMESPACE_OID, f"{doc_id}/{page_no}"))
            records.append(NodeRecord(node_id, doc_id, page_no, 0, 0, len(text), "text", "en", content))
            vector = random.standard_normal(384).astype(np.float32)
            vectors[content] = vector / np.linalg.norm(vector)
            tokens[content] = vocabulary[random.integers(0, len(vocabulary), 160)]
        catalog.put_pages(pages)
        store.put(records)
        store.put_vectors(model.fingerprint, vectors)
        store.put_tokens(model.token_fingerprint, tokens)
        catalog.finish_document(doc_id, language="en")


def _directions(random: np.random.Generator, count: int) -> np.ndarray:
    """Return `(count, 32)` int8: random token vectors."""
    rows = random.standard_normal((count, TOKEN_DIM))
    return np.rint(rows / np.linalg.norm(rows, axis=1, keepdims=True) * 127).astype(np.int8)


def memory_of_tree_mb(pid: int | None = None) -> float:
    """Return the proportional memory of a process (this one) and its children: shared memory counts once."""
    me = psutil.Process(pid)
    total = 0
    for process in (me, *me.children(recursive=True)):
        with suppress(psutil.Error):
            info = process.memory_full_info()
            total += getattr(info, "pss", info.rss)
    return total / 2**20


def free_port() -> int:
    """Return a free loopback port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment_of(settings: Settings, **more: str) -> dict[str, str]:
    """Return the variables of a program over a vault with a key file; `more` may name a language model."""
    assert settings.keys.file is not None
    return os.environ | {
        "DOCMIND_DATA_DIR": str(settings.data_dir),
        "DOCMIND_KEYS__FILE": str(settings.keys.file),
        "DOCMIND_LLM__PROVIDER": "off",
        **more,
    }


@contextmanager
def app_over(settings: Settings, **more: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Run the app over a vault on its own port; it may not be ready yet.

    It has no language model unless `more`, further variables, name one.
    """
    port = free_port()
    environment = environment_of(settings, **more)
    options = ["--server.port", str(port), "--server.headless", "true"]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", *options]
    server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    try:
        yield port, server
    finally:
        server.terminate()
        server.wait()


def link_to(settings: Settings) -> str:
    """Return a new link to the app that `app_over` started."""
    running = find_running(settings.data_dir)
    assert running is not None
    return running.link()


def wait_for_server(port: int, timeout_s: float = 60.0) -> None:
    """Wait until the server of `app_over` answers."""
    address = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            with urllib.request.urlopen(address, timeout=1):
                break
        except urllib.error.HTTPError:  # it serves, but nobody without a ticket
            break
        except (urllib.error.URLError, OSError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


@contextmanager
def chromium_page(**options: Any) -> Iterator[Any]:
    """Yield a page of a new Chromium, None where there is none; `options` are those of Playwright's `new_page`."""
    if not CHROMIUM.exists():
        print("there is no Chromium to look with")
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield browser.new_page(**options)
        browser.close()


def open_first_page(page: Any, settings: Settings) -> None:
    """Open the app of `app_over`, which answers already, and wait for its question box."""
    page.goto(link_to(settings))
    page.get_by_test_id("stChatInputTextArea").wait_for()
