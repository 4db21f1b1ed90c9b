"""Suites that are tests already: hostile bundles, planted violations, words left after an erasure. They are counted."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

from faults.points import Tally
from faults.server import ROOT

SUITES = {
    "bundles": ("tests/maintenance/test_bundle.py", "test_a_forged_bundle_is_refused"),
    "doctor": ("tests/maintenance/test_doctor.py", "planted"),
    "canaries": ("tests/maintenance/test_purge.py", "test_no_word_of_it_is_left_in_any_file"),
}
WORDS = 4  # that each test of canaries searches for


def run(suite: str, *, say: Callable[[str], None] = lambda text: None) -> Tally:
    """Run the tests of a suite and count them; nothing is tried where there are none."""
    began, total = time.monotonic(), Tally()
    file, chosen = SUITES[suite]
    if not (ROOT / file).exists():
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
            file,
            "-k",
            chosen,
        ]
        subprocess.run(command, cwd=ROOT, env={**os.environ, "CI": "true"}, stdout=subprocess.DEVNULL, check=False)
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
