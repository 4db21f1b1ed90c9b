"""What a document is called where it has no title."""

from __future__ import annotations

from dataclasses import replace

from docmind.records.documents import DocumentInfo, readable_name
from each import each_of


@each_of(
    "document, name",
    [
        ("my_lease 2024.pdf", "my lease 2024"),
        ("notes.md", "notes"),
        ("sea_tides.py", "sea_tides.py"),
        ("v1.2 of the plan", "v1.2 of the plan"),
        (".hidden", ".hidden"),
        ("", ""),
    ],
)
def test_a_file_name_is_made_readable(document: str, name: str) -> None:
    assert readable_name(document) == name


def test_a_title_comes_before_the_heading_and_the_file_name() -> None:
    info = DocumentInfo("d", "my_lease.pdf", "", "pdf", "ready", 1, 1, 0, "en", 1, 0)
    assert info.label == "my lease"
    assert replace(info, heading="Lease").label == "Lease"
    assert replace(info, heading="Lease", title="Lease of 2024").label == "Lease of 2024"
