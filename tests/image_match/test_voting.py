"""The index of marks: building at once or page by page gives the same."""

from __future__ import annotations

import numpy as np
import pytest

from docmind.image_match.voting import Index
from docmind.picture_marks import marks_of_page, marks_of_query
from sheets import sheet


def grey(seed: int) -> np.ndarray:
    return np.asarray(sheet(seed, lines=12).convert("L"))


@pytest.fixture(scope="module")
def pages() -> list[bytes]:
    return [marks_of_page(grey(seed)).pack() for seed in range(1, 5)]


def found_by(index: Index, seed: int, allowed: np.ndarray | None = None) -> list[int]:
    query = marks_of_query(grey(seed))
    return [candidate.page for candidate in index.candidates(query, (1_131, 1_600), 5, allowed)]


@pytest.mark.slow
def test_each_page_is_found(pages: list[bytes]) -> None:
    index = Index(pages)
    assert [found_by(index, seed)[0] for seed in range(1, 5)] == [0, 1, 2, 3]
    assert found_by(index, 2, np.array([True, False, True, True]))[:1] != [1]
    assert found_by(Index(), 1) == []


@pytest.mark.slow
def test_pages_come_and_go(pages: list[bytes]) -> None:
    index = Index(pages[:2]).with_pages(pages[2:], np.array([0]))
    assert index.pages == 3
    assert [found_by(index, seed)[0] for seed in (2, 3, 4)] == [0, 1, 2]
    assert len(index) == sum((len(page) - 7) // 16 for page in pages[1:])


@pytest.mark.slow
def test_votes_are_the_same_from_a_table_and_sorted(pages: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of marks and pages may be too large: then they are sorted."""
    index, query = Index(pages * 3), marks_of_query(grey(2))
    tabled = index.candidates(query, (1_131, 1_600), 12, None)
    monkeypatch.setattr("docmind.image_match.voting._TABLE", 0)
    again = index.candidates(query, (1_131, 1_600), 12, None)
    assert [one.page for one in tabled] == [one.page for one in again]
    assert [one.votes for one in tabled] == pytest.approx([one.votes for one in again])
    assert sorted(one.page for one in tabled[:3]) == [1, 5, 9]
