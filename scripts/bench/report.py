"""Figures that the docs print, written by the runs that measured them.

A file of the docs holds them between two comments, `<!-- figures NAME -->` and `<!-- end NAME -->`; what stands between
is replaced, all else stays.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil

from docmind import __version__

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "docs" / "benchmarks.md"
_NOT_PRINTED = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|[^\n]*\r(?!\n)")  # colours, and lines that were written over


def machine() -> str:
    """Return the machine that measures: processor, cores, memory, system, and how busy it was in the last minute."""
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return (
        f"{_processor()}, {os.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GB,"
        f" {platform.system()} {platform.release().split('-')[0]}, Python {platform.python_version()},"
        f" DocMind {__version__}, {time.strftime('%Y-%m-%d')}{load}"
    )


def _processor() -> str:
    try:
        known = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^model name\s*:\s*(.+)$", known, re.MULTILINE)
    return " ".join(found[1].split()) if found else platform.machine()


def replaced(text: str, name: str, figures: str) -> str:
    """Return a text of the docs with new figures of this name. Raises `ValueError` where it has no place for them."""
    begin, end = f"<!-- figures {name} -->", f"<!-- end {name} -->"
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"there is no place for the figures {name}")
    before, rest = text.split(begin)
    return f"{before}{begin}\n{figures.strip()}\n{end}{rest.split(end)[1]}"


def write(path: Path, name: str, figures: str) -> None:
    """Put new figures into a file of the docs."""
    path.write_text(replaced(path.read_text("utf-8"), name, figures), "utf-8")


def section(name: str, about: str, output: str, measured_on: str) -> str:
    """Return the section of a bench in the docs: what it compares, on which machine, and what it printed."""
    printed = "\n".join(line.rstrip() for line in _NOT_PRINTED.sub("", output).strip().splitlines())
    return f"## {name}\n\n{about}\n\n{measured_on}\n\n```\n{printed}\n```"


def measure(name: str, command: list[str]) -> int:
    """Run one bench, print what it prints, and put it into docs/benchmarks.md. Returns its exit code.

    A bench that fails leaves the figures of before.
    """
    before = machine()
    ran = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    sys.stdout.write(ran.stdout)
    if ran.returncode == 0:
        first, _newline, rest = ran.stdout.strip().partition("\n")
        write(BENCHMARKS, name, section(name, first.partition(": ")[2], rest, before))
    return ran.returncode
