"""Query pictures: how often the shown page is first, with and without each list, and what is found wrongly.

`qbi.jsonl` has `id, image, variant, doc, page`; the images lie beside it. `evaluate_distortions` asks with pages of the
vault, turned, bent, blurred and shrunk.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import cv2
import numpy as np
from harness import Times, at_rank, json_rows
from PIL import Image

from docmind.application import DocMind
from docmind.reading.ocr.query_pictures import telling
from docmind.records.query import Query
from docmind.records.search import Filters, ListName, MultimodalHit, Sightings
from docmind.search.lists import CollectedLists, ListResult, listed
from docmind.search.multimodal import DEPTH

_DEPTH = 5
_ABSENT = 100  # pictures whose document is left out
_CALLED: dict[ListName, str] = {"lookalike": "look", "text": "words", "image": "model"}


@dataclass(frozen=True, slots=True)
class Shown:
    """One query picture and the page it shows."""

    name: str
    variant: str
    data: bytes
    document: str
    page_no: int


def read_pictures(folder: Path) -> list[Shown]:
    """All query pictures of a folder; none where it has no `qbi.jsonl`."""
    path = folder / "qbi.jsonl"
    rows = json_rows(path) if path.exists() else []
    return [
        Shown(row["image"], row["variant"], (folder / row["image"]).read_bytes(), Path(row["doc"]).name, row["page"])
        for row in rows
    ]


def evaluate_images(docmind: DocMind, pictures: Sequence[Shown], *, ocr_sample: int, show_misses: bool) -> None:
    """Print R@1 and R@5 by variant of each list and of all together, the times, and the share of false finds."""
    started = time.monotonic()
    if count := docmind.lookalike.catch_up():
        seconds = time.monotonic() - started
        print(f"looked at {count} page images in {seconds:.0f} s, {seconds / count * 1000:.0f} ms each")
    names = {info.document: info.doc_id for info in docmind.documents.all()}
    ranks: dict[str, list[int]] = {}
    times, unfound = Times(), 0
    for shown in pictures:
        with times.one():
            result = docmind.search(Query(picture=shown.data, k=_DEPTH, read_picture=False))
        rank = _rank(shown, result.hits)
        ranks.setdefault(shown.variant, []).append(rank)
        unfound += not result.found
        if show_misses and rank != 1:
            print(f"  rank {rank or '>5'}: {shown.name}")
    print("\nPictures, not read")
    _table({"not read": ranks})
    print(f"look: {times}")
    print(f"{unfound}/{len(pictures)} said to be of no page ({unfound / len(pictures):.1%})")
    absent = pictures[:: max(1, len(pictures) // _ABSENT)][:_ABSENT]
    wrong = [
        shown for shown in absent if docmind.lookalike.search(shown.data, filters=_without(names, shown.document)).found
    ]
    print(f"{len(wrong)}/{len(absent)} said to be found although their document was left out")
    for shown in wrong if show_misses else ():
        print(f"  false find: {shown.name}")
    if ocr_sample:
        _each_list(docmind, _sample(pictures, ocr_sample), show_misses=show_misses)


def _sample(pictures: Sequence[Shown], count: int) -> list[Shown]:
    """As many of each variant, spread evenly over its pictures; all where there are no more."""
    variants: dict[str, list[Shown]] = {}
    for shown in pictures:
        variants.setdefault(shown.variant, []).append(shown)
    each = max(1, count // len(variants))
    return [
        shown[at * len(shown) // min(each, len(shown))]
        for shown in variants.values()
        for at in range(min(each, len(shown)))
    ]


def _each_list(docmind: DocMind, pictures: Sequence[Shown], *, show_misses: bool) -> None:
    """Each list alone, and what is fused without one of them: the product's own lists and its own fusion."""
    ranks: dict[str, dict[str, list[int]]] = {}
    first, whole = Times(), Times()
    for shown in pictures:
        at = time.perf_counter()
        with whole.one():
            found = docmind.search(
                Query(picture=shown.data, k=_DEPTH),
                on_first=lambda _, at=at: first.append((time.perf_counter() - at) * 1000),
            )
        for name, hits in {**_combined(docmind, shown, found.picture_text), "all": found.hits}.items():
            ranks.setdefault(name, {}).setdefault(shown.variant, []).append(_rank(shown, hits))
        if show_misses and _rank(shown, found.hits) != 1:
            print(f"  rank {_rank(shown, found.hits) or '>5'}, read as well: {shown.name}")
    print(f"\nThe same, read as well: {len(pictures)} pictures, each list alone and fused")
    _table(ranks)
    print(f"first pages: {first}; all lists: {whole}")


def _combined(docmind: DocMind, shown: Shown, text: str) -> dict[str, Sequence[MultimodalHit]]:
    """Return the hits of each list, and of pairs where there are three."""
    modalities = docmind.lists
    lists: dict[ListName, ListResult] = {
        "lookalike": ListResult(
            [listed(hit, "lookalike") for hit in docmind.lookalike.search(shown.data, k=DEPTH).hits]
        ),
        "text": modalities._lists.words(Query(telling(text), k=DEPTH), "text") if text else ListResult(()),
    }
    if docmind.visual.is_on("image"):
        lists["image"] = modalities._lists.images("image", Query(picture=shown.data, k=DEPTH)).call()
    sizes = (1, 2) if len(lists) > 2 else (1,)
    chosen = [some for size in sizes for some in combinations(lists, size)]
    found: dict[str, Sequence[MultimodalHit]] = {}
    for some in chosen:
        collected = CollectedLists()
        for name in some:
            collected.take(name, lists[name], 0.0)
        found[" + ".join(_CALLED[name] for name in some)] = modalities._first(
            modalities._merged(collected.lists, Query(merge="rrf", dedup_key="page_id")), _DEPTH
        )
    return found


def _without(names: dict[str, str], document: str) -> Filters:
    return Filters(doc_ids=tuple(doc_id for name, doc_id in names.items() if name != document))


def _rank(shown: Shown, hits: Sequence[MultimodalHit]) -> int:
    """1 for the first; 0 where it is not among them."""
    pages = [(hit.document, hit.page_no) for hit in hits]
    wanted = (shown.document, shown.page_no)
    return pages.index(wanted) + 1 if wanted in pages else 0


def _table(columns: dict[str, dict[str, list[int]]]) -> None:
    """R@1 and R@5 of each column, by variant."""
    print(f"{'':10} {'':>4}" + "".join(f" {name:>15}" for name in columns))
    print(f"{'variant':10} {'n':>4}" + "".join(f" {'R@1':>9} {'R@5':>5}" for _ in columns))
    variants = list(next(iter(columns.values()), {}))
    for variant in [*variants, "all"]:
        cells, count = "", 0
        for ranks in columns.values():
            found = ranks[variant] if variant != "all" else [rank for row in ranks.values() for rank in row]
            count = len(found)
            cells += f" {at_rank(found, 1):9.3f} {at_rank(found, _DEPTH):5.3f}"
        print(f"{variant:10} {count:4}{cells}")


Distortion = Callable[[Image.Image], bytes]
_ORIENTATION = 0x0112  # the EXIF tag


def evaluate_distortions(docmind: DocMind, sample: int) -> None:
    """Print R@1, R@5 and the share that is said to be found, for each distortion of the same pages."""
    docmind.lookalike.catch_up()
    places = sorted((info.doc_id, number + 1) for info in docmind.documents.all() for number in range(info.pages))
    chosen = places[:: max(1, len(places) // sample)][:sample]
    print(f"{len(chosen)} of {len(places)} pages\n{'distortion':24} {'R@1':>6} {'R@5':>6} {'found':>6} {'median':>9}")
    pages = [(place, Image.open(io.BytesIO(docmind.documents.page_image(*place))).convert("RGB")) for place in chosen]
    for name, distort in DISTORTIONS.items():
        ranks, found, times = [], 0, Times()
        for place, page in pages:
            picture = distort(page)
            with times.one():
                result = docmind.lookalike.search(picture, k=5)
            ranks.append(_rank_of_image(place, result))
            found += result.found and ranks[-1] == 1
        shares = f"{at_rank(ranks, 1):6.2f} {at_rank(ranks, 5):6.2f} {found / len(ranks):6.2f}"
        print(f"{name:24} {shares} {times.median:6.0f} ms", flush=True)


def _rank_of_image(place: tuple[str, int], result: Sightings) -> int:
    """Pages that share one image share its rank too."""
    scores = {(hit.doc_id, hit.page_no): (hit.rank, hit.score) for hit in result.hits}
    return scores[place][0] if place in scores else 0


def _png(page: Image.Image) -> bytes:
    return _saved(page, "PNG")


def _saved(page: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    page.save(out, kind, **options)
    return out.getvalue()


def _exif(orientation: int) -> Distortion:
    turns = {3: Image.Transpose.ROTATE_180, 6: Image.Transpose.ROTATE_90, 8: Image.Transpose.ROTATE_270}

    def saved(page: Image.Image) -> bytes:
        """Store the picture rotated, with the orientation tag, as a phone does."""
        tag = Image.Exif()
        tag[_ORIENTATION] = orientation
        return _saved(page.transpose(turns[orientation]), "JPEG", quality=85, exif=tag)

    return saved


def _turned(degrees: float) -> Distortion:
    return lambda page: _png(page.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=(120, 110, 100)))


def _aslant(depth: float) -> Distortion:
    """Shorten the upper edge by `depth` on either side, on a table."""

    def bent(page: Image.Image) -> bytes:
        width, height = page.size
        here = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
        inset = depth * width
        there = np.array([[inset, inset / 2], [width - inset, 0], [width, height], [0, height - inset / 3]], np.float32)
        matrix = cv2.getPerspectiveTransform(here, there)
        return _png(
            Image.fromarray(cv2.warpPerspective(np.asarray(page), matrix, page.size, borderValue=(120, 110, 100)))
        )

    return bent


def _blurred(sigma: float) -> Distortion:
    return lambda page: _png(Image.fromarray(cv2.GaussianBlur(np.asarray(page), (0, 0), sigma)))


def _sized(side: int) -> Distortion:
    def sized(page: Image.Image) -> bytes:
        scale = side / max(page.size)
        size = (max(1, round(page.width * scale)), max(1, round(page.height * scale)))
        return _saved(page.resize(size, Image.Resampling.LANCZOS), "JPEG", quality=85)

    return sized


def _noisy(page: Image.Image) -> bytes:
    source = np.random.default_rng(0)
    pixels = np.asarray(page, np.float32) * 0.7 + 30 + source.normal(0, 18, (page.height, page.width, 1))
    shade = np.linspace(1.0, 0.55, page.width, dtype=np.float32)[None, :, None]
    return _saved(Image.fromarray(np.clip(pixels * shade, 0, 255).astype(np.uint8)), "JPEG", quality=60)


def _part(left: float, top: float, right: float, bottom: float) -> Distortion:
    def cropped(page: Image.Image) -> bytes:
        width, height = page.size
        return _png(page.crop((round(left * width), round(top * height), round(right * width), round(bottom * height))))

    return cropped


DISTORTIONS: dict[str, Distortion] = {
    "as it is": _png,
    "turned 90": lambda page: _png(page.transpose(Image.Transpose.ROTATE_90)),
    "turned 180": lambda page: _png(page.transpose(Image.Transpose.ROTATE_180)),
    "turned 270": lambda page: _png(page.transpose(Image.Transpose.ROTATE_270)),
    "turned 5": _turned(5),
    "turned 20": _turned(20),
    "turned 93": _turned(93),
    "EXIF 6 (phone upright)": _exif(6),
    "EXIF 3 (upside down)": _exif(3),
    "perspective 6%": _aslant(0.06),
    "perspective 12%": _aslant(0.12),
    "perspective 20%": _aslant(0.2),
    "blur 2": _blurred(2),
    "blur 4": _blurred(4),
    "JPEG quality 20": lambda page: _saved(page, "JPEG", quality=20),
    "JPEG quality 5": lambda page: _saved(page, "JPEG", quality=5),
    "noise and shadow": _noisy,
    "800 px": _sized(800),
    "400 px": _sized(400),
    "200 px": _sized(200),
    "8,000 px": _sized(8_000),
    "upper half": _part(0, 0, 1, 0.5),
    "quarter": _part(0.25, 0.25, 0.75, 0.75),
    "black and white inverted": lambda page: _png(Image.fromarray(255 - np.asarray(page))),
}
