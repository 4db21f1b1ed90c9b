"""Pandoc as a program: where it is found, and what is told where it is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conftest import require
from docmind.config import ReadingSettings
from docmind.reading import Reader, find_pandoc, pandoc_capability
from docmind.reading.pandoc import version_of_pandoc
from docmind.records.documents import Upload


def test_pandoc_is_present_with_its_version() -> None:
    require(find_pandoc(), "pandoc is not installed")
    found = pandoc_capability(ReadingSettings())
    assert (found.name, found.state) == ("pandoc", "present")
    assert version_of_pandoc(find_pandoc()) in found.detail


def test_a_process_that_waits_since_before_pandoc_was_installed_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    require(find_pandoc(), "pandoc is not installed")
    text = Upload("a.tex", rb"\documentclass{article}\begin{document}\section{Herons}\end{document}")
    with Reader(ReadingSettings()) as reader:
        with monkeypatch.context() as before:
            before.setattr("docmind.reading.reader.find_pandoc", lambda _wanted: "")
            reader.warm()
        with reader.read(text) as reading:
            assert (reading.engine, reading.told) == ("pandoc", "")


def test_pandoc_that_is_off_or_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    off = pandoc_capability(ReadingSettings(pandoc="off"))
    assert (off.state, off.hint) == ("off", "Set DOCMIND_READING__PANDOC=auto.")
    monkeypatch.setenv("PATH", "")
    missing = pandoc_capability(ReadingSettings(pandoc="no-such-pandoc"))
    assert (missing.state, "Install pandoc" in missing.hint) == ("missing", True)


def test_a_program_of_another_kind_is_not_taken_for_pandoc() -> None:
    found = pandoc_capability(ReadingSettings(pandoc=sys.executable))
    assert found.state == "missing"


def test_the_program_of_a_package_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "pypandoc" / "files" / "pandoc"
    program.parent.mkdir(parents=True)
    program.touch()
    (tmp_path / "pypandoc" / "__init__.py").write_text("raise RuntimeError('it is not imported')")
    monkeypatch.setenv("PATH", "")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_pandoc() == str(program)
