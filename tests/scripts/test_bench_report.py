"""Figures in the docs are written by the runs that measured them, each in its own place."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from bench import report

ROOT = Path(__file__).resolve().parents[2]


def test_figures_replace_those_of_before_and_nothing_else() -> None:
    text = (
        "# Title\n<!-- figures one -->\nold\n<!-- end one -->\nbetween\n<!-- figures two -->\n<!-- end two -->\nend\n"
    )
    new = report.replaced(text, "two", "12 ms")
    assert new == text.replace("<!-- figures two -->\n", "<!-- figures two -->\n12 ms\n")
    assert "old" not in report.replaced(new, "one", "new")
    assert report.replaced(new, "two", "12 ms") == new


@pytest.mark.parametrize("text", ["", "<!-- figures one -->", "<!-- end one --> <!-- figures one -->"])
def test_a_page_without_a_place_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="no place"):
        report.replaced(text, "one", "1")


def test_a_section_has_what_was_printed_last_on_each_line() -> None:
    shown = report.section("read", "Compare reading.", "1/2\r2/2\x1b[K done \nread 3 ms\n", "A machine")
    assert shown == "## read\n\nCompare reading.\n\nA machine\n\n```\n2/2 done\nread 3 ms\n```"


def test_the_machine_is_named_without_the_host() -> None:
    assert re.search(r"\d+ cores, \d+ GB", report.machine())
    assert report.platform.node() not in report.machine()


def test_a_bench_that_fails_leaves_the_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text("<!-- figures one -->\nold\n<!-- end one -->\n")
    monkeypatch.setattr(report, "BENCHMARKS", page)
    assert report.measure("one", [sys.executable, "-c", "print('half'); raise SystemExit(3)"]) == 3
    assert "old" in page.read_text()
    assert report.measure("one", [sys.executable, "-c", "print('one: Compare it.'); print('5 ms')"]) == 0
    assert "5 ms" in page.read_text()
    assert "Compare it." in page.read_text()


def test_every_bench_has_its_place() -> None:
    source = (ROOT / "scripts" / "bench" / "__main__.py").read_text()
    names = re.findall(r'"(\w+)"', source.partition("BENCHES = {")[2].partition("}")[0])
    modules = re.findall(r'^    "(\w+)": \(', source, re.MULTILINE)
    for module in modules:
        names.remove(module)
    places = re.findall(r"<!-- figures (\w+) -->", (ROOT / "docs" / "benchmarks.md").read_text())
    assert places == names
