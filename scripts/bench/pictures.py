"""Page images: search by picture in a vault of many pages, and the cost of visual models.

Forty pages (of the PDFs named, else made up) are looked at; the others have their images, and marks drawn from theirs
with 8 of the 64 bits of every code turned over. Visual models are of full size with random weights, which take as long
as trained ones; `docmind models bench NAME` measures a model that is here, from the pictures of real pages.
"""

from __future__ import annotations

import argparse
import io
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from harness import Times, memory_of_tree_mb, paper, timed
from PIL import Image

from docmind.config import ReadingSettings
from docmind.documents.catalog import Catalog
from docmind.image_match.matcher import ImageMatcher
from docmind.image_match.store import LookStore
from docmind.picture_marks import KINDS, PictureMarks, marks_of_page
from docmind.reading import PagePictures
from docmind.reading.formats import Rules
from docmind.reading.formats.pdf import open_pdf
from docmind.records.documents import Upload
from docmind.records.search import Sightings
from docmind.storage.artifacts import Artifacts, Sealable
from docmind.storage.database import Database
from docmind.storage.keys import Keyset

_PAGES, _REAL, _TURNED = 10_000, 40, 8
_SUFFIX = ".webp.enc"
_STAGES = ("marks", "index", "votes", "compare", "total")
_PAGE = (1240, 1754)  # A4 at 150 dpi


def bench_looks(options: argparse.Namespace) -> None:
    """Time search by picture over 10,000 pages (`--size`): the first search after opening, later ones, memory."""
    images = _images([path.read_bytes() for path in options.pdf] or [paper(_REAL, words_a_page=450)])
    crops = [_crop(image) for image in images]
    with tempfile.TemporaryDirectory() as folder:
        keys = Keyset.generate()
        names = _fill(Path(folder), keys, images, options.size or _PAGES)
        with _opened(Path(folder), keys) as looks:
            _row("first search, nothing loaded", *_looked(looks, crops[:1]))
        with _opened(Path(folder), keys) as looks:
            before, loading = memory_of_tree_mb(), Times()
            with loading.one():
                looks.follow()
                while not looks._known.images:
                    time.sleep(0.01)
            more = memory_of_tree_mb() - before
            size = looks._known.index.nbytes / 1e6
            print(
                f"index of {size:.0f} MB loaded in the background {loading.median:.0f} ms; all processes +{more:.0f} MB"
            )
            time.sleep(2)  # and the process that sees has started
            _row("first search after that", *_looked(looks, crops[:1]))
            times, results = _looked(looks, crops[1:])
            _row("later searches", times, results)
            slowest = times.index(max(times))
            _row("  the slowest", Times([times[slowest]]), [results[slowest]])
            firsts = [result.hits[0].page_id if result.hits else "" for result in results]
            right = sum(first == name for first, name in zip(firsts, names[1:], strict=True))
            print(f"{right}/{len(results)} crops had their page first")


def _looked(looks: ImageMatcher, pictures: list[bytes]) -> tuple[Times, list[Sightings]]:
    times, results = Times(), []
    for picture in pictures:
        with times.one():
            results.append(looks.search(picture))
    return times, results


def _row(name: str, times: Times, results: list[Sightings]) -> None:
    """Print the medians of every stage, in milliseconds."""
    stages = [dict(result.timings_ms) for result in results]
    cells = "  ".join(f"{stage} {Times(one[stage] for one in stages).median:.0f}" for stage in _STAGES)
    print(f"{name:30} {times.median:5.0f} ms   {cells}")


def _images(files: list[bytes]) -> list[bytes]:
    """Return pages as stored, spread over the files."""
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
    """Fill a vault with this many pages; return the ids of those that are real.

    Each page has an image file of its own: a real one, with its number behind the end of the picture.
    """
    times, real = Times(), []
    for image in images:
        with times.one():
            real.append(marks_of_page(np.asarray(Image.open(io.BytesIO(image)).convert("L"))))
    print(f"marks of a page {times.median:.0f} ms")
    packed = _many(real, pages)
    size = sum(map(len, packed))
    print(f"{pages} pages, {size / pages:,.0f} bytes of marks a page, {size / 1e6:.0f} MB")
    artifacts = Artifacts(folder / "artifacts", keys)
    database = Database(folder / "vault.db", keys.db_key)
    store = LookStore(database)
    refs = []
    for at in range(0, pages, 200):
        part = range(at, min(at + 200, pages))
        items = [Sealable(images[number % len(images)] + b"%08d" % number, _SUFFIX) for number in part]
        refs += artifacts.put_many(items)
    with database.transaction() as db:
        db.execute(
            "INSERT INTO documents (doc_id, document, kind, status, pages, bytes, original, original_suffix,"
            " added_at_ms) VALUES ('d', 'd', 'pdf', 'ready', 1, 1, '', '', 0)"
        )
        db.executemany(
            "INSERT INTO pages (page_id, doc_id, page_no, width, height, text, words, text_source,"
            " confidence, language, image, image_suffix, thumbnail, thumbnail_suffix)"
            " VALUES (?1, 'd', ?2, 1131, 1600, '', x'', 'layer', 1.0, 'en', ?3, ?4, ?3, ?4)",
            [(f"d::page::{number + 1}", number + 1, ref.sha256, ref.suffix) for number, ref in enumerate(refs)],
        )
        for ref, marks in zip(refs, packed, strict=True):
            store.put(ref.sha256, marks)
    database.close()
    artifacts.close()
    return [f"d::page::{number + 1}" for number in range(len(images))]


def _many(real: list[PictureMarks], pages: int) -> list[bytes]:
    source = np.random.default_rng(0)
    pools = [np.concatenate([marks.codes[marks.kinds == kind] for marks in real]) for kind in range(KINDS)]
    made = [marks.pack() for marks in real[:pages]]
    while len(made) < pages:
        like = real[len(made) % len(real)]
        codes = np.concatenate([source.choice(pools[kind], (like.kinds == kind).sum()) for kind in range(KINDS)])
        for _ in range(_TURNED):
            codes ^= np.uint64(1) << source.integers(0, 64, len(codes)).astype(np.uint64)
        order = np.argsort(like.kinds, kind="stable")
        made.append(PictureMarks(codes, like.places[order], like.kinds[order]).pack())
    return made


@contextmanager
def _opened(folder: Path, keys: Keyset) -> Iterator[ImageMatcher]:
    database, artifacts = Database(folder / "vault.db", keys.db_key), Artifacts(folder / "artifacts", keys)
    catalog = Catalog(database)
    pictures = PagePictures(ReadingSettings(), artifacts, catalog.figures)
    looks = ImageMatcher(ReadingSettings(), database, catalog, pictures)
    try:
        yield looks
    finally:
        looks.close()
        pictures.close()
        artifacts.close()
        database.close()


def bench_visual() -> None:
    """Time SigLIP base and ColModernVBERT in float32 and bfloat16: milliseconds for a page and a question."""
    import torch
    from transformers import SiglipConfig, SiglipImageProcessorPil, SiglipModel

    from docmind.embedding.device import measure

    gain, error = measure("cpu")
    print(f"{torch.get_num_threads()} threads; bfloat16 multiplies {gain:.1f} times as fast, error {error:.4f}")
    noise = np.random.default_rng(7).integers(0, 255, (_PAGE[1], _PAGE[0], 3), dtype=np.uint8)
    page = Image.fromarray(noise)
    prepare = SiglipImageProcessorPil(size={"height": 224, "width": 224}, image_mean=[0.5] * 3, image_std=[0.5] * 3)
    small = timed(lambda: prepare(images=[page], return_tensors="pt"))
    print(f"SigLIP base, a page made small          {small.median:8.0f} ms")
    torch.manual_seed(7)
    model = SiglipModel(SiglipConfig()).eval()
    _siglip(model, "float32")
    _siglip(model.bfloat16(), "bfloat16")
    del model
    late = _colmodernvbert()
    _late(late, "float32")
    _late(late.bfloat16(), "bfloat16")


def _siglip(model: Any, precision: str) -> None:
    import torch

    ids = torch.randint(2, 30_000, (1, 64))
    with torch.inference_mode():
        for batch in (1, 4):
            pixels = torch.randn(batch, 3, 224, 224, dtype=model.dtype)
            times = timed(lambda pixels=pixels: model.get_image_features(pixel_values=pixels))
            print(f"SigLIP base, a page, batch of {batch}, {precision:9}{times.median / batch:8.0f} ms")
        times = timed(lambda: model.get_text_features(input_ids=ids))
    print(f"SigLIP base, a question, {precision:15}{times.median:8.0f} ms")


def _colmodernvbert() -> Any:
    """Return the published sizes: a SigLIP of 512 pixels and ModernBERT with 22 layers."""
    import torch
    from transformers import ColModernVBertConfig, ColModernVBertForRetrieval, ModernVBertConfig

    vision = {"image_size": 512, "patch_size": 16}
    inner = ModernVBertConfig(text_config={"vocab_size": 50_408}, vision_config=vision, image_token_id=50_407)
    torch.manual_seed(7)
    return ColModernVBertForRetrieval(ColModernVBertConfig(vlm_config=inner)).eval()


def _late(model: Any, precision: str) -> None:
    """Return the inputs of a portrait page: twelve tiles and the whole page, 64 tokens each."""
    import torch

    tiles = 13
    ids = torch.tensor([[9, 9, *[50_407] * 64] * tiles + [9] * 14])
    pixels = torch.randn(1, tiles, 3, 512, 512)
    with torch.inference_mode():
        times = timed(lambda: model(input_ids=ids, pixel_values=pixels), runs=1)
        print(f"ColModernVBERT, a page, {precision:16}{times.median:8.0f} ms")
        question = torch.randint(10, 30_000, (1, 24))
        times = timed(lambda: model(input_ids=question))
    print(f"ColModernVBERT, a question, {precision:12}{times.median:8.0f} ms")
