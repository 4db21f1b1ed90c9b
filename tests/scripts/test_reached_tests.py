"""`--changed`: the files of tests that a change reaches."""

from __future__ import annotations

import pytest

from conftest import ROOT
from each import each_of
from reached_tests import ALWAYS, reached


@pytest.mark.slow
@each_of(
    "changed, there, absent",
    [
        (  # its package, what imports it, the mirror of a module that does, the suite of the facade
            "src/docmind/answers/kinds.py",
            ["answers/test_names", "ui/chat/test_copy_answer", "conversations/test_drafts", "client/test_contract"],
            ["storage/test_database", "index/test_contract", "browser/test_chat"],
        ),
        (
            "src/docmind/answers/kinds.toml",
            ["answers/test_names", "client/test_contract"],
            ["storage/test_database"],
        ),
        (
            "src/docmind/index/edge.py",
            ["index/test_contract", "index/test_edge", "client/test_contract"],
            ["answers/test_names"],
        ),
        ("tests/support/sheets.py", ["reading/ocr/test_pictures"], ["answers/test_names"]),
        ("tests/browser/test_chat.py", ["browser/test_chat"], ["browser/test_app"]),
        ("README.md", [], ["answers/test_names"]),
    ],
)
def test_a_change_reaches(changed: str, there: list[str], absent: list[str]) -> None:
    found = set(reached(ROOT, [changed]))
    assert set(ALWAYS) <= found
    assert {f"tests/{name}.py" for name in there} <= found
    assert not {f"tests/{name}.py" for name in absent} & found
