"""Suites that are tests already: they are counted.

Hostile bundles, planted violations, words left after an erasure; and the whole of the large sets of which other runs
take a tenth (tests/support/sampled.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import sampled
from faults.points import Tally
from faults.server import ROOT

SUITES = {
    "bundles": ("tests/maintenance/test_bundle.py", "test_a_forged_bundle_is_refused"),
    "doctor": ("tests/maintenance/test_doctor.py", "planted"),
    "canaries": ("tests/maintenance/test_purge.py", "test_no_word_of_it_is_left_in_any_file"),
    "sets": ("", ""),  # all tests of the files with a large set
}
WORDS = 4  # that each test of canaries searches for


def files_with_large_sets() -> list[Path]:
    """Return the files of tests that take a tenth of a set."""
    return [path for path in sorted((ROOT / "tests").rglob("test_*.py")) if "tenth_of(" in path.read_text("utf-8")]


def run(suite: str, *, say: Callable[[str], None] = lambda text: None) -> Tally:
    """Run the tests of a suite and count them; nothing is tried where there are none."""
    began, total = time.monotonic(), Tally()
    file, chosen = SUITES[suite]
    files = [ROOT / file] if file else files_with_large_sets()
    if not all(path.exists() for path in files):
        return total
    with tempfile.TemporaryDirectory() as name:
        report = Path(name, "report.xml")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            f"--junitxml={report}",
            *map(str, files),
            "-k",
            chosen,
        ]
        environment = {**os.environ, "CI": "true", sampled.WHOLE: "1"}
        subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, check=False)
        cases = list(ET.parse(report).iter("testcase")) if report.exists() else []
    for case in cases:
        wrong = [str(one.get("message"))[:300] for kind in ("failure", "error", "skipped") for one in case.iter(kind)]
        for _ in range(WORDS if suite == "canaries" else 1):
            total.add(str(case.get("name")), wrong)
        for one in wrong:
            say(f"FOUND {case.get('name')}: {one}")
    total.counts["canaries found" if suite == "canaries" else "tests"] = 0 if suite == "canaries" else len(cases)
    total.wall_s = time.monotonic() - began
    return total
