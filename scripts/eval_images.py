"""Query pictures: how often the page they show comes first, with and without each list, and what is found wrongly.

`qbi.jsonl` has `id, image, variant, doc, page`; the images lie beside it. A part of `eval.py`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from docmind.application import DocMind
from docmind.lists import Gathered, Listed, seen
from docmind.modalities import DEPTH
from docmind.picturetext import telling
from docmind.schema import Filters
from docmind.seeing import ListName, MultimodalHit

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
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    return [
        Shown(row["image"], row["variant"], (folder / row["image"]).read_bytes(), Path(row["doc"]).name, row["page"])
        for row in rows
    ]


def evaluate_images(desk: DocMind, pictures: Sequence[Shown], *, ocr_sample: int, show_misses: bool) -> None:
    """Print R@1 and R@5 by variant of each list and of all together, the times, and the share of false finds."""
    started = time.monotonic()
    if count := desk.lookalike.catch_up():
        seconds = time.monotonic() - started
        print(f"looked at {count} page images in {seconds:.0f} s, {seconds / count * 1000:.0f} ms each")
    names = {info.document: info.doc_id for info in desk.documents()}
    ranks: dict[str, list[int]] = {}
    times, unfound = [], 0
    for shown in pictures:
        at = time.perf_counter()
        result = desk.see(shown.data, k=_DEPTH, read=False)
        times.append((time.perf_counter() - at) * 1000)
        rank = _rank(shown, result.hits)
        ranks.setdefault(shown.variant, []).append(rank)
        unfound += not result.found
        if show_misses and rank != 1:
            print(f"  rank {rank or '>5'}: {shown.name}")
    print("\nPictures, not read")
    _table({"not read": ranks})
    times.sort()
    print(f"look: median {times[len(times) // 2]:.0f} ms, p95 {times[int(len(times) * 0.95)]:.0f} ms")
    print(f"{unfound}/{len(pictures)} said to be of no page ({unfound / len(pictures):.1%})")
    absent = pictures[:: max(1, len(pictures) // _ABSENT)][:_ABSENT]
    wrong = [
        shown for shown in absent if desk.lookalike.search(shown.data, filters=_without(names, shown.document)).found
    ]
    print(f"{len(wrong)}/{len(absent)} said to be found although their document was left out")
    for shown in wrong if show_misses else ():
        print(f"  false find: {shown.name}")
    if ocr_sample:
        _each_list(desk, _sample(pictures, ocr_sample), show_misses=show_misses)


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


def _each_list(desk: DocMind, pictures: Sequence[Shown], *, show_misses: bool) -> None:
    """Each list alone, and what is fused without one of them: the product's own lists and its own fusion."""
    ranks: dict[str, dict[str, list[int]]] = {}
    first: list[float] = []
    whole: list[float] = []
    for shown in pictures:
        at = time.perf_counter()
        found = desk.see(shown.data, k=_DEPTH, on_first=lambda _, at=at: first.append(time.perf_counter() - at))
        whole.append(time.perf_counter() - at)
        for name, hits in {**_combined(desk, shown, found.picture_text), "all": found.hits}.items():
            ranks.setdefault(name, {}).setdefault(shown.variant, []).append(_rank(shown, hits))
        if show_misses and _rank(shown, found.hits) != 1:
            print(f"  rank {_rank(shown, found.hits) or '>5'}, read as well: {shown.name}")
    print(f"\nThe same, read as well: {len(pictures)} pictures, each list alone and fused")
    _table(ranks)
    first.sort()
    whole.sort()
    print(
        f"first pages: median {first[len(first) // 2]:.2f} s, p95 {first[int(len(first) * 0.95)]:.2f} s;"
        f" all lists: median {whole[len(whole) // 2]:.1f} s, p95 {whole[int(len(whole) * 0.95)]:.1f} s"
    )


def _combined(desk: DocMind, shown: Shown, text: str) -> dict[str, Sequence[MultimodalHit]]:
    """The hits of each list, and of pairs where there are three."""
    modalities = desk._modalities
    lists: dict[ListName, Listed] = {
        "lookalike": Listed(seen(desk.lookalike.search(shown.data, k=DEPTH).hits)),
        "text": modalities._lists.words(telling(text), "text", DEPTH, Filters()) if text else Listed(()),
    }
    if desk.visual.is_on("image"):
        lists["image"] = modalities._lists.images("image", None, shown.data, DEPTH, Filters())
    sizes = (1, 2) if len(lists) > 2 else (1,)
    chosen = [some for size in sizes for some in combinations(lists, size)]
    found: dict[str, Sequence[MultimodalHit]] = {}
    for some in chosen:
        gathered = Gathered()
        for name in some:
            gathered.take(name, lists[name], 0.0)
        found[" + ".join(_CALLED[name] for name in some)] = modalities._first(
            modalities._merged(gathered, "rrf"), _DEPTH
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
            first, five = sum(rank == 1 for rank in found), sum(1 <= rank <= _DEPTH for rank in found)
            count = len(found)
            cells += f" {first / count:9.3f} {five / count:5.3f}"
        print(f"{variant:10} {count:4}{cells}")
