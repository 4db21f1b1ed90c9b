"""Query pictures: how often the page they show comes first, with and without reading them, and what is found wrongly.

`qbi.jsonl` has `id, image, variant, doc, page`; the images lie beside it. A part of `eval.py`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from docmind.application import DocMind
from docmind.config import ReadingSettings
from docmind.errors import ReadingError
from docmind.fuse import rrf
from docmind.ocr import Ocr
from docmind.schema import Filters

_DEPTH = 5
_ABSENT = 100  # pictures whose document is left out
_WORDS = 120  # of what was read, that are searched for
_STRIDE = 61  # through pictures that stand in groups: a prime meets every variant


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
    """Print R@1 and R@5 by variant, the times, the share of false finds, and a sample that is read as well."""
    started = time.monotonic()
    if count := desk.lookalike.catch_up():
        seconds = time.monotonic() - started
        print(f"looked at {count} page images in {seconds:.0f} s, {seconds / count * 1000:.0f} ms each")
    names = {info.document: info.doc_id for info in desk.documents()}
    ranks: dict[str, list[int]] = {}
    times, unfound = [], 0
    for shown in pictures:
        at = time.perf_counter()
        result = desk.lookalike.search(shown.data, k=_DEPTH)
        times.append((time.perf_counter() - at) * 1000)
        rank = _rank(shown, [(hit.document, hit.page_no) for hit in result.hits])
        ranks.setdefault(shown.variant, []).append(rank)
        unfound += not result.found
        if show_misses and rank != 1:
            print(f"  rank {rank or '>5'}: {shown.name}")
    print("\nPictures, not read")
    _table(ranks)
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
        _read_as_well(desk, [pictures[at * _STRIDE % len(pictures)] for at in range(min(ocr_sample, len(pictures)))])


def _read_as_well(desk: DocMind, pictures: Sequence[Shown]) -> None:
    """The same with the text on the picture: alone, and both lists fused, a page that was found first."""
    ocr = Ocr(ReadingSettings())
    alone: dict[str, list[int]] = {}
    both: dict[str, list[int]] = {}
    times = []
    try:
        for shown in pictures:
            at = time.perf_counter()
            seen = desk.lookalike.search(shown.data, k=_DEPTH)
            try:
                text = " ".join(ocr.recognise(shown.data).text.split()[:_WORDS])
            except ReadingError:
                text = ""
            read = [(hit.document, hit.page_no) for hit in desk.search(text, k=10).hits] if text else []
            times.append((time.perf_counter() - at) * 1000)
            looked = [(hit.document, hit.page_no) for hit in seen.hits]
            found = [(hit.document, hit.page_no) for hit in seen.hits if hit.found]
            lists = [[f"{page:06}{name}" for name, page in pages] for pages in (looked, read)]
            fused = [(key[6:], int(key[:6])) for key, _ in rrf(lists, 60)]
            alone.setdefault(shown.variant, []).append(_rank(shown, read))
            both.setdefault(shown.variant, []).append(_rank(shown, list(dict.fromkeys([*found, *fused]))))
    finally:
        ocr.close()
    print(f"\nA sample of {len(pictures)}, by the text read on them alone")
    _table(alone)
    print("\nThe same sample, looked at and read")
    _table(both)
    times.sort()
    print(f"look and read: median {times[len(times) // 2] / 1000:.1f} s")


def _without(names: dict[str, str], document: str) -> Filters:
    return Filters(doc_ids=tuple(doc_id for name, doc_id in names.items() if name != document))


def _rank(shown: Shown, pages: list[tuple[str, int]]) -> int:
    """1 for the first; 0 where it is not among them."""
    wanted = (shown.document, shown.page_no)
    return pages.index(wanted) + 1 if wanted in pages else 0


def _table(ranks: dict[str, list[int]]) -> None:
    print(f"{'variant':10} {'n':>4} {'R@1':>6} {'R@5':>6}")
    for variant, found in {**ranks, "all": [rank for row in ranks.values() for rank in row]}.items():
        first, five = sum(rank == 1 for rank in found), sum(1 <= rank <= _DEPTH for rank in found)
        print(f"{variant:10} {len(found):4} {first / len(found):6.3f} {five / len(found):6.3f}")
