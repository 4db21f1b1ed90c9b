"""The table of `docs/reliability.md`: one row for each suite, written by the run that measured it."""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path

from faults.points import Tally, quick_folder
from faults.server import ROOT

PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"
_COLUMNS = ("what", "aim", "tried", "survived", "lost", "how", "measured")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: what is tried, how many are the aim, and what one survivor is."""

    suite: str
    title: str
    aim: int


ROWS = (
    Row("points", "Fault points", 3_000),
    Row("kills", "Random kills", 1_000),
    Row("power", "Power-loss states", 500),
    Row("mutants", "Document mutants", 10_000),
    Row("cases", "Two owners, wrong clocks, missing keys", 22),
    Row("bundles", "Hostile bundles", 40),
    Row("doctor", "Planted violations", 20),
    Row("canaries", "Canaries after an erasure, encrypted and in clear", 8),
    Row("sets", "Tests with large sets, the whole sets", 900),
)


def lines_of(text: str) -> dict[str, str]:
    """Return the rows of the table in the text of the page, by title."""
    inside = text.partition(BEGIN)[2].partition(END)[0]
    rows = [line for line in inside.splitlines() if line.startswith("| ") and not line.startswith("| what")]
    return {line.split("|")[1].strip(): line for line in rows}


def written(text: str, suite: str, tally: Tally, seed: int, version: str) -> str:
    """Return the text of the page with the row of a suite replaced; the other rows stay.

    A suite that tried nothing is not measured.
    """
    lines = lines_of(text)
    for row in ROWS:
        if row.suite == suite:
            lines[row.title] = _line(row, tally, seed, version) if tally.tried else _empty(row)
    head = "| " + " | ".join(_COLUMNS) + " |\n|" + "---|" * len(_COLUMNS)
    body = "\n".join(lines.get(row.title, _empty(row)) for row in ROWS)
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{head}\n{body}\n{END}{rest.partition(END)[2]}"


def write(suite: str, tally: Tally, seed: int, version: str) -> None:
    """Write the row of a suite into the page."""
    PAGE.write_text(written(PAGE.read_text("utf-8"), suite, tally, seed, version), "utf-8")


def machine() -> str:
    """Return the machine in neutral words: system, cores, and the file system that the vaults lay in."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    place = _file_system(Path(quick_folder() or "/tmp"))
    return f"{platform.system()} {platform.machine()}, {cores} cores, {place}"


def _file_system(folder: Path) -> str:
    found, longest = "", -1
    try:
        for line in Path("/proc/self/mounts").read_text().splitlines():
            _, place, kind = line.split()[:3]
            if folder.is_relative_to(place) and len(place) > longest:
                found, longest = kind, len(place)
    except OSError:
        return "an unknown file system"
    return found


def _line(row: Row, tally: Tally, seed: int, version: str) -> str:
    how = ", ".join(f"{name} {count:,}" for name, count in sorted(tally.counts.items(), key=lambda one: -one[1]))
    minutes = f"{tally.wall_s / 60:.1f} min"
    measured = f"{time.strftime('%Y-%m-%d')}, {version}, seed {seed}, {minutes}; {machine()}"
    cells = (row.title, f"{row.aim:,}", f"{tally.tried:,}", f"{tally.survived:,}", f"{tally.lost:,}", how, measured)
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"


def _empty(row: Row) -> str:
    return f"| {row.title} | {row.aim:,} | not measured | | | | |"
