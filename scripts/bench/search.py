"""Search: the text model, questions over 10,000 nodes, the index at rest, a cold command, every list at once."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from harness import WORDS, Times, filled_vault, memory_of_tree_mb, opened_stores, questions, timed
from PIL import Image

from docmind.application import DocMind
from docmind.config import IndexSettings, RetrieveSettings, Settings, VisualSettings
from docmind.records.query import Query
from docmind.search.text import TextSearch
from docmind.storage.artifacts import Sealable
from docmind_testkit import COLOURS

_DOCUMENTS, _NODES, _SEEN, _CODE = 500, 10_000, 100, 50  # 20 pages each: the first 100 documents are seen by models


def bench_embed() -> None:
    """Compare MiniLM in onnxruntime int8 with transformers float32 and mean pooling, on the same full windows."""
    from docmind.embedding.minilm import MiniLM, default_cache_dir
    from docmind.embedding.minilm_weights import PUBLISHED

    texts = [" ".join(WORDS[(7 * n + at) % len(WORDS)] for at in range(200)) for n in range(48)]
    ours = MiniLM(default_cache_dir())
    exact = MiniLM(default_cache_dir(), precision="float32")
    int8, float32 = timed(lambda: ours.embed_documents(texts), 3), timed(lambda: exact.embed_documents(texts), 3)
    query = timed(lambda: ours.embed_query("What did the free cash flow do in 2022?"), 20)
    print(f"MiniLM int8      {len(texts) * 1e3 / int8.median:6.1f} windows/s   query {query.median:.1f} ms")
    print(f"MiniLM float32   {len(texts) * 1e3 / float32.median:6.1f} windows/s")
    weights = PUBLISHED.place
    assert weights is not None, f"needs {PUBLISHED.install}"
    rival = _transformers(weights.parent)
    theirs = timed(lambda: rival(texts), 3)
    cosine = (rival(texts) * ours.embed_documents(texts)).sum(axis=1)
    print(f"transformers     {len(texts) * 1e3 / theirs.median:6.1f} windows/s")
    print(f"ratio {theirs.median / int8.median:.2f}x, cosine mean {cosine.mean():.4f}, worst {cosine.min():.4f}")


def _transformers(folder: Path) -> Callable[[list[str]], np.ndarray]:
    """Embed with the same model as its authors describe: batches of 32, token means, of length 1."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()

    def batch(texts: list[str]) -> np.ndarray:
        fed = tokenizer(texts, padding=True, truncation=True, max_length=256, return_tensors="pt")
        with torch.inference_mode():
            tokens = model(**fed).last_hidden_state
        shown = fed["attention_mask"].unsqueeze(-1)
        means = (tokens * shown).sum(1) / shown.sum(1)
        return torch.nn.functional.normalize(means).numpy()

    return lambda texts: np.concatenate([batch(texts[at : at + 32]) for at in range(0, len(texts), 32)])


def bench_retrieve() -> None:
    """Time questions over 10,000 nodes, with and without late interaction, against a numpy scan; memory used."""
    late, off = Times(), Times()
    with filled_vault(documents=_DOCUMENTS, nodes=_NODES) as settings, DocMind(settings) as docmind:
        docmind.search("warm")
        plainly = settings.model_copy(update={"retrieve": RetrieveSettings(rerank="off")})
        whole = docmind.text_search
        without = TextSearch(plainly, whole._catalog, whole._nodes, whole._index, whole._embedder, whole._passages)
        for question in questions(120):  # by turns: both meet the same moments of this machine
            for times, retrieve in ((late, whole), (off, without)):
                with times.one():
                    retrieve.search(Query(question))
        memory = memory_of_tree_mb()
    vectors = np.random.default_rng(1).standard_normal((10_000, 384)).astype(np.float32)
    scan = timed(lambda: np.argpartition(-(vectors @ vectors[0]), 300)[:300], 20)
    print(f"retrieve at 10,000 nodes, with late interaction: {late}")
    print(f"retrieve at 10,000 nodes, without: {off}")
    print(f"numpy scan alone {scan.median:.1f} ms")
    print(f"memory of the owner and its children {memory:.0f} MB")


def bench_index() -> None:
    """Compare the index at rest, sealed and blinded, over 10,000 nodes: build, open, search, close."""
    steps = ("build", "open", "search", "close")
    with filled_vault(documents=_DOCUMENTS, nodes=_NODES) as settings:
        times: dict[str, dict[str, Times]] = {}
        kept = {}
        for at_rest in ("blinded", "ephemeral"):  # a folder each: one mode clears away what the other left
            index = IndexSettings.model_validate({"at_rest": at_rest})
            kept[at_rest] = settings.model_copy(update={"index": index})
            times[at_rest] = {name: Times() for name in steps}
        place = settings.data_dir / "index"
        aside = {at_rest: settings.data_dir.parent / at_rest for at_rest in kept}
        for turn in range(6):  # the first builds; then by turns, so that both meet the same moments of this machine
            for at_rest, chosen in kept.items():
                if turn:
                    aside[at_rest].rename(place)
                docmind = DocMind(chosen)
                with times[at_rest]["open" if turn else "build"].one():
                    docmind.index.ready()
                for question in questions(40):
                    with times[at_rest]["search"].one():
                        docmind.search(question)
                if turn == 2:  # a change, so that the next closing seals
                    docmind.erasures.erase([docmind.documents.all()[0].doc_id])
                with times[at_rest]["close"].one():
                    docmind.close()
                place.rename(aside[at_rest])
        sealed_mb = sum(path.stat().st_size for path in aside["ephemeral"].rglob("index.sealed")) / 2**20
    for name in steps[:-1]:
        blinded, sealed = (times[at_rest][name].median for at_rest in kept)
        print(f"{name}: blinded {blinded:.0f} ms, ephemeral {sealed:.0f} ms, ratio {sealed / blinded:.2f}")
    changed = [max(times[at_rest]["close"]) for at_rest in kept]
    print(f"close after a change, at most: blinded {changed[0]:.0f} ms, ephemeral {changed[1]:.0f} ms")
    print(f"sealed copy {sealed_mb:.0f} MB")


def bench_search() -> None:
    """Time a cold `docmind search`: interpreter, imports, keys, model, index."""
    with filled_vault(documents=200, nodes=4_000) as settings:
        assert settings.keys.file is not None
        environment = os.environ | {
            "DOCMIND_DATA_DIR": str(settings.data_dir),
            "DOCMIND_KEYS__FILE": str(settings.keys.file),
        }
        command = [sys.executable, "-m", "docmind", "search", "liability of the controller", "--json"]
        ours = timed(lambda: subprocess.run(command, env=environment, check=True, capture_output=True), 7)
        bare = timed(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True), 5)
    print(f"docmind search, cold process {ours.median / 1e3:.2f} s (an empty interpreter {bare.median / 1e3:.2f} s)")


def bench_multimodal() -> None:
    """Time words, code and page images in one search; late interaction with 49 tokens per page is listed separately."""
    asked = questions(120)
    with _pictured_vault() as (settings, seen):
        blind = settings.model_copy(update={"visual": VisualSettings(models_dir=settings.data_dir / "none")})
        with DocMind(blind) as docmind:
            docmind.search("warm")
            text = docmind.text_search
            words, alone = _in_turn(docmind, asked, lambda each: text.search(Query(each)), docmind.search)
        print(f"search for words: {words}")
        print(f"all lists, nothing else on: {alone}")
        print(f"ratio of the medians {alone.median / words.median:.3f}")
        states: dict[str, str] = {}
        models = {"image_model": "fake-image", "late_model": "off"}
        for embedded, name in (("fake-image", "words, code and page images"), ("fake-late", "and late interaction")):
            chosen = settings.model_copy(update={"visual": VisualSettings.model_validate(models)})
            with DocMind(chosen) as docmind:
                pages = docmind.visual.embed(embedded, seen).pages_added
                docmind.search("warm")
                (times,) = _in_turn(docmind, asked, docmind.search)
                print(f"{name}, {pages:,} pages: {times}")
                states |= {report.list: report.state for report in docmind.search(asked[0]).lists}
            models["late_model"] = "fake-late"
        print("lists: " + ", ".join(f"{name} {state}" for name, state in states.items()))


def _in_turn(docmind: DocMind, asked: list[str], *searches: Callable[[str], object]) -> list[Times]:
    """Time each search, in turn; no question is in the cache."""
    times = [Times() for _ in searches]
    for question in asked:
        for search, of in zip(searches, times, strict=True):
            docmind.queries.drop()
            with of.one():
                search(question)
    return times


@contextmanager
def _pictured_vault() -> Iterator[tuple[Settings, tuple[str, ...]]]:
    """Make a vault in which some pages have their own images and some documents are code; return the pages' ids."""
    with filled_vault(documents=_DOCUMENTS, nodes=_NODES) as settings:
        with opened_stores(settings) as (database, artifacts):
            doc_ids = [row[0] for row in database.all("SELECT doc_id FROM documents ORDER BY added_at_ms")]
            random = np.random.default_rng(3)
            with database.transaction() as db:
                for doc_id in doc_ids[:_SEEN]:
                    pages = [page for (page,) in db.execute("SELECT page_no FROM pages WHERE doc_id = ?", (doc_id,))]
                    refs = artifacts.put_many([Sealable(_picture(random), ".webp.enc") for _ in pages])
                    db.executemany(
                        "UPDATE pages SET image = ? WHERE doc_id = ? AND page_no = ?",
                        [(ref.sha256, doc_id, page) for ref, page in zip(refs, pages, strict=True)],
                    )
                for doc_id in doc_ids[-_CODE:]:
                    db.execute("UPDATE documents SET kind = 'code' WHERE doc_id = ?", (doc_id,))
                    db.execute("UPDATE nodes SET modality = 'code' WHERE doc_id = ?", (doc_id,))
        yield settings, tuple(doc_ids[:_SEEN])


def _picture(random: np.random.Generator) -> bytes:
    """Return a small page image in its own colours."""
    palette = np.array(list(COLOURS.values()), np.uint8)
    patches = Image.fromarray(palette[random.integers(0, len(palette), (8, 6))])
    out = io.BytesIO()
    patches.resize((48, 64), Image.Resampling.NEAREST).save(out, "WEBP", lossless=True)
    return out.getvalue()
