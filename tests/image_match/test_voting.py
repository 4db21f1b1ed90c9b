"""The index of marks: building at once or page by page gives the same; and marks are packed without loss."""

from __future__ import annotations

import numpy as np
import pytest

from docmind.errors import DamagedError
from docmind.image_match import marks
from docmind.image_match.features import MOST_RUNS, MOST_SPOTS, marks_of_page, marks_of_query
from docmind.image_match.marks import RUN, SHEET, SPOT, Marks
from docmind.image_match.voting import Index
from sheets import figure, sheet


def grey(seed: int) -> np.ndarray:
    return np.asarray(sheet(seed, lines=12).convert("L"))


@pytest.fixture(scope="module")
def pages() -> list[Marks]:
    return [marks_of_page(grey(seed)) for seed in range(1, 5)]


def found_by(index: Index, seed: int, allowed: np.ndarray | None = None) -> list[int]:
    query = marks_of_query(grey(seed))
    return [candidate.page for candidate in index.candidates(query, (1_131, 1_600), 5, allowed)]


@pytest.mark.slow
def test_packing_keeps_codes_and_places(pages: list[Marks]) -> None:
    again = Marks.unpack(pages[0].pack())
    order = np.argsort(pages[0].kinds, kind="stable")
    assert (again.codes == pages[0].codes[order]).all()
    assert (again.kinds == pages[0].kinds[order]).all()
    assert np.abs(again.places - pages[0].places[order]).max() <= 1 / 16
    assert len(pages[0].pack()) == 7 + 16 * len(pages[0])


@pytest.mark.parametrize("harm", [lambda data: data[:-1], lambda data: b"\xff" + data[1:], lambda data: b""])
def test_torn_marks_are_damage(pages: list[Marks], harm) -> None:
    with pytest.raises(DamagedError):
        Marks.unpack(harm(pages[0].pack()))


def test_a_page_keeps_few_marks() -> None:
    crowded = marks_of_page(np.asarray(sheet(1).convert("L")))
    shapes = marks_of_page(np.asarray(figure(1).convert("L")))
    assert (crowded.kinds == RUN).sum() == MOST_RUNS
    assert (shapes.kinds == RUN).sum() < 100
    assert 20 < (shapes.kinds == SPOT).sum() <= MOST_SPOTS
    assert (crowded.kinds == SHEET).sum() == (shapes.kinds == SHEET).sum() == 1


def test_an_empty_sheet_has_no_marks() -> None:
    assert len(marks_of_page(np.full((500, 400), 255, np.uint8))) == 0


@pytest.mark.slow
def test_each_page_is_found(pages: list[Marks]) -> None:
    index = Index(pages)
    assert [found_by(index, seed)[0] for seed in range(1, 5)] == [0, 1, 2, 3]
    assert found_by(index, 2, np.array([True, False, True, True]))[:1] != [1]
    assert found_by(Index(), 1) == []


@pytest.mark.slow
def test_pages_come_and_go(pages: list[Marks]) -> None:
    index = Index(pages[:2]).with_pages(pages[2:], np.array([0]))
    assert index.pages == 3
    assert [found_by(index, seed)[0] for seed in (2, 3, 4)] == [0, 1, 2]
    assert len(index) == sum(len(page) for page in pages[1:])


def test_the_exact_key_comes_first_then_uncertain_bits_flip() -> None:
    numbers = np.ones((1, marks.BITS), np.float32)
    numbers[0, :20] = 0.01 * np.arange(1, 21)
    own, *others = marks.probes_of(numbers)[0]
    assert own == marks.keys_of(marks.packed(numbers))[0] == 2**marks.KEY_BITS - 1
    assert len(set(others)) == 15
    assert all(bin(own ^ other).count("1") <= 4 for other in others)


def test_votes_are_the_same_from_a_table_and_sorted(pages: list[Marks], monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of marks and pages may be too large: then they are sorted."""
    index, query = Index(pages * 3), marks_of_query(grey(2))
    tabled = index.candidates(query, (1_131, 1_600), 12, None)
    monkeypatch.setattr("docmind.image_match.voting._TABLE", 0)
    again = index.candidates(query, (1_131, 1_600), 12, None)
    assert [one.page for one in tabled] == [one.page for one in again]
    assert [one.votes for one in tabled] == pytest.approx([one.votes for one in again])
    assert sorted(one.page for one in tabled[:3]) == [1, 5, 9]
