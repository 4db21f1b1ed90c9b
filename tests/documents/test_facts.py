"""The author and the day of a document, from metadata."""

from __future__ import annotations

from docmind.documents.facts import author_of, day_of


def test_metadata() -> None:
    dates = ("D:20240301120000+01'00'", "2024-03-01T12:00", "2024-03-01", "20240301", "D:2024", "2024", "x", "")
    assert [day_of(raw) for raw in dates] == ["2024-03-01"] * 4 + [""] * 4
    assert author_of("Ada Lovelace") == "Ada Lovelace"
    assert [author_of(raw) for raw in ("Windows User", "openpyxl", "unknown", "1")] == [""] * 4
