"""Each hot path beside what somebody would pick instead, as a ratio within one run.

    .venv/bin/python scripts/bench.py [embed seal read ingest growth retrieve search multimodal looks start ...]

Times are wall clock on this machine, medians of several runs; rivals run in the same process and minute, so that the
ratio holds where the machine's speed does not.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench_looks import bench_looks
from bench_multimodal import bench_multimodal
from bench_parts import WORDS, app_over, filled_vault, memory_of_tree_mb, paper, wait_for_page
from bench_turns import bench_screen, bench_turns
from bench_visual import bench_visual
from docmind.application import DocMind
from docmind.config import KeySettings, RetrieveSettings, Settings
from docmind.retrieve import Retrieve
from docmind.schema import Upload


def timed(work: Callable[[], object], runs: int = 5) -> float:
    """Median seconds of `runs` calls, after one that is not counted."""
    work()
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


@contextmanager
def fresh_vault() -> Iterator[Settings]:
    """Settings for an empty vault that is gone afterwards."""
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        yield Settings(data_dir=place / "data", keys=KeySettings(file=place / "key"))


def bench_embed() -> None:
    """MiniLM in onnxruntime int8 beside sentence-transformers float32 on the same full windows."""
    import numpy as np

    from docmind.embed.minilm import MiniLM, default_cache_dir, model_folder

    texts = [" ".join(WORDS[(7 * n + at) % len(WORDS)] for at in range(200)) for n in range(48)]
    ours = MiniLM(default_cache_dir())
    exact = MiniLM(default_cache_dir(), precision="float32")
    seconds, exact_seconds = (
        timed(lambda: ours.embed_documents(texts), 3),
        timed(lambda: exact.embed_documents(texts), 3),
    )
    query = timed(lambda: ours.embed_query("What did the free cash flow do in 2022?"), 20)
    print(f"MiniLM int8      {len(texts) / seconds:6.1f} windows/s   query {query * 1000:.1f} ms")
    print(f"MiniLM float32   {len(texts) / exact_seconds:6.1f} windows/s")
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        print("sentence-transformers is not installed: no rival to compare with")
        return
    rival = SentenceTransformer(str(model_folder()), device="cpu")
    rival_seconds = timed(lambda: rival.encode(texts, normalize_embeddings=True), 3)
    cosine = (np.asarray(rival.encode(texts, normalize_embeddings=True)) * ours.embed_documents(texts)).sum(axis=1)
    print(f"sentence-transf. {len(texts) / rival_seconds:6.1f} windows/s")
    print(f"ratio {rival_seconds / seconds:.2f}x, cosine mean {cosine.mean():.4f}, worst {cosine.min():.4f}")


def bench_seal() -> None:
    """Sealing and opening a page image, beside the bare cipher and the disk."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    from docmind.artifacts import Artifacts, seal, unseal
    from docmind.keys import Keyset
    from docmind.schema import ArtifactRef

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
        putting = timed(lambda: artifacts.put_many([(os.urandom(120_000), ".webp.enc") for _ in range(16)]), 5) / 16

        def plainly() -> None:
            with (Path(scratch) / "plain").open("wb") as file:
                file.write(os.urandom(120_000))
                file.flush()
                os.fsync(file.fileno())

        plain = timed(plainly, 16)
        artifacts.close()
    print(f"seal 120 KB {ours * 1e6:.0f} µs, open {opening * 1e6:.0f} µs; bare AES-GCM {bare * 1e6:.0f} µs")
    print(f"put (sealed, fsynced, 16 at a time) {putting * 1e3:.2f} ms; plain write and fsync {plain * 1e3:.2f} ms")


def bench_read() -> None:
    """The reading process on a born-digital paper, beside pypdfium2's own text and plain rendering."""
    import pypdfium2

    from docmind.parse import Reader

    pdf, pages = paper(40), 40
    with Reader(Settings().reading) as reader:

        def read() -> None:
            with reader.read(Upload("paper.pdf", pdf)) as reading:
                assert sum(1 for _ in reading) == pages

        seconds = timed(read, 3)

    def text_only() -> None:
        document = pypdfium2.PdfDocument(pdf)
        for page in document:
            page.get_textpage().get_text_range()

    def with_png() -> None:
        document = pypdfium2.PdfDocument(pdf)
        for number in range(8):
            document[number].render(scale=2).to_pil().save(os.devnull, format="PNG")

    print(f"read: text, word boxes, page image, thumbnail {pages / seconds:.1f} pages/s (one process)")
    print(
        f"pypdfium2, text alone {pages / timed(text_only, 3):.0f} pages/s; render and PNG {8 / timed(with_png, 3):.1f}"
    )


def bench_ingest() -> None:
    """A born-digital paper from bytes to searchable and sealed."""
    rates: dict[str, list[float]] = {"late": [], "off": []}
    with fresh_vault() as settings, fresh_vault() as other:
        plainly = other.model_copy(update={"retrieve": RetrieveSettings(rerank="off")})
        with DocMind(settings) as desk, DocMind(plainly) as without:
            both = (("late", desk), ("off", without))
            for _, mind in both:
                mind.add([Upload("warm.pdf", paper(2, seed=99))])
            for seed in range(3):
                for name, mind in both:
                    started = time.perf_counter()
                    result = mind.add([Upload(f"paper{seed}.pdf", paper(60, seed=seed))])[0]
                    rates[name].append(result.pages / (time.perf_counter() - started))
            status = desk.status()
            torch = "torch" in sys.modules
    nodes = status.nodes / status.pages
    late, off = statistics.median(rates["late"]), statistics.median(rates["off"])
    print(f"ingest {late:.1f} pages/s ({nodes:.1f} nodes a page; torch imported: {torch})")
    print(f"without late interaction {off:.1f} pages/s")


def bench_growth() -> None:
    """Adding one document to 1,000 beside adding it to an empty vault."""

    def one(desk: DocMind, seed: int) -> float:
        started = time.perf_counter()
        desk.add([Upload(f"new{seed}.pdf", paper(5, seed=10_000 + seed))])
        return time.perf_counter() - started

    with fresh_vault() as settings, DocMind(settings) as desk:
        one(desk, -1)
        empty = statistics.median(one(desk, seed) for seed in range(9))
    with filled_vault(documents=1_000, nodes=3_000) as settings, DocMind(settings) as desk:
        one(desk, -1)
        full = statistics.median(one(desk, seed) for seed in range(9))
    print(
        f"add 5 pages: to an empty vault {empty * 1e3:.0f} ms, to 1,000 documents {full * 1e3:.0f} ms:"
        f" {full / empty:.2f}x"
    )


def bench_retrieve() -> None:
    """Questions over 10,000 nodes, with and without late interaction, beside a numpy scan; memory of all processes."""
    import numpy as np

    questions = [" ".join(WORDS[(13 * n + 5 * at) % len(WORDS)] for at in range(9)) for n in range(120)]
    times: dict[str, list[float]] = {"late": [], "off": []}
    with filled_vault(documents=500, nodes=10_000) as settings, DocMind(settings) as desk:
        desk.search(questions[0])
        finding = desk._parts.ready()
        plainly = settings.model_copy(update={"retrieve": RetrieveSettings(rerank="off")})
        whole = finding.retrieve
        without = Retrieve(plainly, whole._catalog, whole._nodes, whole._index, whole._embedder, whole._blind)
        for question in questions:  # by turns: both meet the same moments of this machine
            for name, retrieve in (("late", whole), ("off", without)):
                started = time.perf_counter()
                retrieve.search(question)
                times[name].append((time.perf_counter() - started) * 1000)
        memory = memory_of_tree_mb()
    vectors = np.random.default_rng(1).standard_normal((10_000, 384)).astype(np.float32)
    scan = timed(lambda: np.argpartition(-(vectors @ vectors[0]), 300)[:300], 20)
    for name, said in (("late", "with late interaction"), ("off", "without")):
        one = sorted(times[name])
        print(f"retrieve at 10,000 nodes, {said}: median {one[60]:.1f} ms, p95 {one[114]:.1f} ms")
    print(f"numpy scan alone {scan * 1e3:.1f} ms")
    print(f"memory of the owner and its children {memory:.0f} MB")


def bench_search() -> None:
    """`docmind search` from nothing: interpreter, imports, keys, model, index."""
    with filled_vault(documents=200, nodes=4_000) as settings:
        assert settings.keys.file is not None
        environment = os.environ | {
            "DOCMIND_DATA_DIR": str(settings.data_dir),
            "DOCMIND_KEYS__FILE": str(settings.keys.file),
        }
        command = [sys.executable, "-m", "docmind", "search", "liability of the controller", "--json"]
        seconds = timed(lambda: subprocess.run(command, env=environment, check=True, capture_output=True), 7)
        bare = timed(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), 5)
    print(f"docmind search, cold process {seconds:.2f} s (an empty interpreter {bare:.2f} s)")


def bench_llm() -> None:
    """What is added to a language model's own time: before the request leaves, and per streamed token."""
    import bench_llm as streaming

    streaming.bench_llm()


def bench_start() -> None:
    """`streamlit run app.py` until a page can be used, over 10,000 nodes; memory of all its processes."""
    with filled_vault(documents=500, nodes=10_000) as settings:
        seconds, memory, how = [], 0.0, ""
        for _ in range(4):
            started = time.perf_counter()
            with app_over(settings) as (port, server):
                how = wait_for_page(port)
                seconds.append(time.perf_counter() - started)
                time.sleep(3)  # what is loaded in the background is there by now
                memory = max(memory, memory_of_tree_mb(server.pid))
    print(
        f"streamlit run to {how}: {statistics.median(seconds[1:]):.2f} s"
        " (the first start, which fills the index, is left out)"
    )
    print(f"memory of the app and its children {memory:.0f} MB")


def bench_maxsim() -> None:
    """MaxSim over 5,000 pages of 1,030 x 128: every kernel beside plain float32, on the same pages."""
    import bench_maxsim as maxsim

    with tempfile.TemporaryDirectory() as scratch:
        maxsim.bench_kernels(Path(scratch), 5_000)


BENCHES = {
    "embed": bench_embed,
    "seal": bench_seal,
    "read": bench_read,
    "ingest": bench_ingest,
    "growth": bench_growth,
    "retrieve": bench_retrieve,
    "search": bench_search,
    "multimodal": bench_multimodal,
    "maxsim": bench_maxsim,
    "looks": bench_looks,
    "start": bench_start,
    "llm": bench_llm,
    "turns": bench_turns,
    "screen": bench_screen,
    "visual": bench_visual,
}


def main() -> int:
    """Run the benches named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*BENCHES, []], help="which; all where none is named")
    names = parser.parse_args().names or list(BENCHES)
    if len(names) > 1:  # a process each: none finds what another has loaded
        return max(subprocess.run([sys.executable, __file__, name], check=False).returncode for name in names)
    print(f"\n{names[0]}: {(BENCHES[names[0]].__doc__ or '').splitlines()[0]}", flush=True)
    BENCHES[names[0]]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
