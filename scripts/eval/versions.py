"""Versions and series that are made (`series_set.py`): how many are called versions, and how many are found.

All files are added to one library, in the order of the set. A pair of one series is a false version where both share
their `series`; a document is told falsely where adding it names another one of which it is said to be a version.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

import series_later
import series_set
from series_set import KEPT_BACK, LOOKED_AT, Pair, Series

from docmind.application import DocMind
from docmind.config import EmbeddingSettings, KeySettings, LLMSettings, ReadingSettings, Settings
from docmind.records.documents import Upload

PARTS = (LOOKED_AT, KEPT_BACK, series_later.PART)


@dataclass(slots=True)
class Counted:
    """What was counted over one part of the set."""

    pairs: int = 0
    false_pairs: int = 0
    later: int = 0
    told: int = 0
    versions: int = 0
    found: int = 0
    misses: list[str] = field(default_factory=list[str])


def evaluate(*, show_misses: bool, parts: tuple[str, ...] = PARTS) -> None:
    """Print the counts of each part; `show_misses` names what was called falsely, or was not found."""
    series, pairs = (
        [*series_set.series(), *series_later.series()],
        [*series_set.pairs(), *series_later.pairs()],
    )
    with tempfile.TemporaryDirectory() as place, _library(Path(place)) as desk:
        for part in parts:
            counted = _counted(
                desk,
                [one for one in series if one.part == part],
                [one for one in pairs if one.part == part],
            )
            print(
                f"{part}: false versions: {counted.false_pairs} of {counted.pairs} pairs of one series,"
                f" {counted.told} of {counted.later} documents told so; found: {counted.found} of {counted.versions}"
            )
            for miss in counted.misses if show_misses else ():
                print(f"  {miss}")


def _library(place: Path) -> DocMind:
    return DocMind(
        Settings(
            data_dir=place / "data",
            keys=KeySettings(source="file", file=place / "key"),
            embedding=EmbeddingSettings(model="fake"),
            llm=LLMSettings(provider="off"),
            reading=ReadingSettings(ocr="off", image_side_px=400),
        )
    )


def _counted(desk: DocMind, kinds: list[Series], versions: list[Pair]) -> Counted:
    counted, false = Counted(), Counter[str]()
    for one in kinds:
        ids = [_added(desk, upload) for upload in one.files]
        told = sum(bool(message) for _doc_id, message in ids)
        alike = sum(_are_joined(desk, first, second) for (first, _), (second, _) in combinations(ids, 2))
        counted.pairs += len(ids) * (len(ids) - 1) // 2
        counted.false_pairs += alike
        counted.later += len(ids) - 1
        counted.told += told
        if alike or told:
            false[one.kind] = alike
            counted.misses.append(f"{one.kind}: {alike} pairs falsely, {told} told")
    for one in versions:
        (earlier, _), (later, _) = _added(desk, one.earlier), _added(desk, one.later)
        counted.versions += 1
        if _are_joined(desk, earlier, later):
            counted.found += 1
        else:
            counted.misses.append(f"{one.kind}: not found")
    return counted


def _added(desk: DocMind, upload: Upload) -> tuple[str, str]:
    (result,) = desk.add([upload])
    if not result.doc_id:
        raise SystemExit(f"{upload.name} was not read: {result.message}")
    return result.doc_id, result.message


def _are_joined(desk: DocMind, first: str, second: str) -> bool:
    one, other = desk.documents.get(first), desk.documents.get(second)
    return bool(one.series) and one.series == other.series
