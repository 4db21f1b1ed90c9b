"""A search over every list at 10,000 nodes and 2,000 pages, and what it costs where there are only words."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from PIL import Image

from bench_parts import WORDS, filled_vault
from docmind.application import DocMind
from docmind.artifacts import Artifacts
from docmind.config import Settings, VisualSettings
from docmind.database import Database
from docmind.embed.fake import COLOURS
from docmind.keys import open_keys

_DOCUMENTS, _NODES, _SEEN, _CODE = 500, 10_000, 100, 50  # 20 pages each: the first 100 documents are seen by models
_RUNS = 120


def bench_multimodal() -> None:
    """Words, code and page images in one search; late interaction by a model of 49 tokens a page is told apart."""
    questions = [" ".join(WORDS[(13 * n + 5 * at) % len(WORDS)] for at in range(9)) for n in range(_RUNS)]
    with _vault() as (settings, seen):
        blind = settings.model_copy(update={"visual": VisualSettings(models_dir=settings.data_dir / "none")})
        with DocMind(blind) as desk:
            desk.search("warm")
            alone = _timed(desk, questions, [desk.search, desk.multimodal_search])
        _tell("search for words", alone[0])
        _tell("multimodal_search, nothing else on", alone[1])
        print(f"ratio of the medians {np.median(alone[1]) / np.median(alone[0]):.3f}")
        one = settings.model_copy(update={"visual": VisualSettings(image_model="fake-image", late_model="off")})
        with DocMind(one) as desk:
            pages = desk.visual.embed("fake-image", seen).pages_added
            desk.multimodal_search("warm")
            (times,) = _timed(desk, questions, [desk.multimodal_search])
            _tell(f"words, code and {pages:,} page images", times)
            states = {report.list: report.state for report in desk.multimodal_search(questions[0]).lists}
        both = settings.model_copy(update={"visual": VisualSettings(image_model="fake-image", late_model="fake-late")})
        with DocMind(both) as desk:
            desk.visual.embed("fake-late", seen)
            desk.multimodal_search("warm")
            (times,) = _timed(desk, questions, [desk.multimodal_search])
            _tell("and late interaction on pages", times)
            states |= {report.list: report.state for report in desk.multimodal_search(questions[0]).lists}
        print("lists: " + ", ".join(f"{name} {state}" for name, state in states.items()))


def _timed(desk: DocMind, questions: Sequence[str], searches: Sequence[Callable[[str], object]]) -> list[list[float]]:
    """Milliseconds of each search by turns; no question finds itself in the cache."""
    times: list[list[float]] = [[] for _ in searches]
    for question in questions:
        for search, of in zip(searches, times, strict=True):
            desk._queries.clear()
            started = time.perf_counter()
            search(question)
            of.append((time.perf_counter() - started) * 1000)
    return times


def _tell(what: str, times: Sequence[float]) -> None:
    print(f"{what}: median {np.median(times):.1f} ms, p95 {np.percentile(times, 95):.1f} ms")


@contextmanager
def _vault() -> Iterator[tuple[Settings, tuple[str, ...]]]:
    """A vault of which some pages have images of their own, and some documents are code; and the ids of the former."""
    with filled_vault(documents=_DOCUMENTS, nodes=_NODES) as settings:
        keys = open_keys(settings.data_dir, settings.keys).keyset
        database = Database(settings.data_dir / "vault.db", keys.db_key)
        artifacts = Artifacts(settings.data_dir / "artifacts", keys)
        doc_ids = [row[0] for row in database.all("SELECT doc_id FROM documents ORDER BY added_at_ms")]
        random = np.random.default_rng(3)
        with database.transaction() as db:
            for doc_id in doc_ids[:_SEEN]:
                pages = [page for (page,) in db.execute("SELECT page_no FROM pages WHERE doc_id = ?", (doc_id,))]
                refs = artifacts.put_many([(_picture(random), ".webp.enc") for _ in pages])
                db.executemany(
                    "UPDATE pages SET image = ? WHERE doc_id = ? AND page_no = ?",
                    [(ref.sha256, doc_id, page) for ref, page in zip(refs, pages, strict=True)],
                )
            for doc_id in doc_ids[-_CODE:]:
                db.execute("UPDATE documents SET kind = 'code' WHERE doc_id = ?", (doc_id,))
                db.execute("UPDATE nodes SET modality = 'code' WHERE doc_id = ?", (doc_id,))
        artifacts.close()
        database.close()
        yield settings, tuple(doc_ids[:_SEEN])


def _picture(random: np.random.Generator) -> bytes:
    """A small page image in colours of its own."""
    palette = np.array(list(COLOURS.values()), np.uint8)
    patches = Image.fromarray(palette[random.integers(0, len(palette), (8, 6))])
    out = io.BytesIO()
    patches.resize((48, 64), Image.Resampling.NEAREST).save(out, "WEBP", lossless=True)
    return out.getvalue()
