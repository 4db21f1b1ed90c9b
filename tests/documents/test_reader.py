"""Pages as they are read: joined words, search across lines, shapes of lines on a crooked page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from desks import environment_of
from docmind.application import DocMind
from docmind.config import Settings
from docmind.documents.line_shapes import page_slope, quads_at, quads_of
from docmind.documents.reader import Reader
from docmind.documents.words import Words
from docmind.errors import NotFoundError
from docmind.records.documents import Upload
from papers import pdf


@pytest.fixture
def docmind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DocMind]:
    for name, value in environment_of(tmp_path).items():
        monkeypatch.setenv(name, value)
    with DocMind(Settings.load()) as docmind:
        yield docmind


def lines(*texts: str) -> str:
    return "BT /F1 14 Tf 72 700 Td " + "".join(f"({text}) Tj 0 -24 Td " for text in texts) + "ET"


def added(docmind: DocMind, *pages: Sequence[str]) -> str:
    (result,) = docmind.add([Upload("paper.pdf", pdf([lines(*page) for page in pages]))])
    assert result.doc_id, result.message
    return result.doc_id


def copied(reader: Reader, doc_id: str) -> str:
    joins = {"-": ""}
    return "".join(
        (word.text[:-1] if word.joint == "-" else word.text) + joins.get(word.joint, word.joint)
        for word in reader.page(doc_id, 1).words
    )


@pytest.mark.slow
def test_lines_and_broken_words_are_joined(docmind: DocMind) -> None:
    doc_id = added(
        docmind,
        (
            "Terms",
            "The agreement of both parties is needed for each of the amend-",
            "ments to this contract, and a copy is sent to each of the parties.",
            "- the first item of a list",
            "- the second one",
        ),
    )
    text = copied(docmind.reader, doc_id)
    assert text.startswith("Terms\nThe agreement")
    assert "each of the amendments to this contract" in text
    assert "\n- the first item of a list\n- the second one" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wanted", "pages"),
    [
        ("NOTICE PERIOD", [1, 2]),
        ("amendments to this", [1]),
        ("the amend", [1]),
        ("six   months", [1]),
        ("zebra", []),
        ("  ", []),
        (".*", []),
    ],
)
def test_text_is_found_in_a_document(docmind: DocMind, wanted: str, pages: list[int]) -> None:
    doc_id = added(
        docmind,
        ("The notice period is six", "months for each of the amend-", "ments to this contract."),
        ("The other one has a notice", "period of its own."),
    )
    found = docmind.reader.find(doc_id, wanted)
    assert [place.page_no for place in found.places] == pages
    assert all(place.quads for place in found.places)
    assert not found.is_cut


@pytest.mark.slow
@pytest.mark.parametrize("wanted", ["cafe", "Café", "CAFE\u0301"])
def test_accents_make_no_difference(docmind: DocMind, wanted: str) -> None:
    (result,) = docmind.add([Upload("note.txt", "The café is closed on Sundays.".encode())])
    assert result.doc_id
    (place,) = docmind.reader.find(result.doc_id, wanted).places
    assert place.page_no == 1


@pytest.mark.slow
def test_a_place_over_two_lines_has_two_shapes(docmind: DocMind) -> None:
    doc_id = added(docmind, ("The notice period is six", "months to the end."))
    (place,) = docmind.reader.find(doc_id, "six months").places
    upper, lower = place.quads
    assert upper[0][0] > lower[0][0]
    assert upper[3][1] <= lower[0][1]


@pytest.mark.slow
def test_the_original_is_returned_as_it_was_added(docmind: DocMind) -> None:
    data = pdf([lines("Some text of a paper")])
    (result,) = docmind.add([Upload("paper.pdf", data)])
    assert result.doc_id
    assert docmind.documents.original(result.doc_id) == data


def test_what_is_gone_is_not_found(docmind: DocMind) -> None:
    for look in (
        lambda: docmind.reader.page("0123", 1),
        lambda: docmind.reader.find("0123", "text"),
        lambda: docmind.documents.original("0123"),
        lambda: docmind.reader.quads("0123", 1, ()),
    ):
        with pytest.raises(NotFoundError):
            look()


# --- a page that was scanned askew: ten words in each of three lines, level or not -----------------------------------


def askew(slope: float) -> Words:
    """Return words of 60 x 20 pixels, 80 apart, in lines 30 apart; each has the upright box around it."""
    boxes, spans = [], []
    for row in range(3):
        for column in range(10):
            left, rise = 100 + 80 * column, 60 * abs(slope)
            top = 200 + 30 * row + slope * (left + 30) - rise / 2
            boxes.append((left, top, 60, 20 + rise))
            at = 11 * (10 * row + column)
            spans.append((at, at + 10))
    return Words.of(spans, boxes)


@pytest.mark.parametrize("slope", [0.0, 0.02, -0.04])
def test_shapes_follow_a_crooked_line(slope: float) -> None:
    words = askew(slope)
    assert math.isclose(page_slope(words), slope, abs_tol=0.002)
    (quad,) = quads_at(words, 11 * 10, 11 * 20)  # the line in the middle
    (left, top), (right, fallen), _, (_, bottom) = quad
    assert math.isclose((fallen - top) / (right - left), slope, abs_tol=0.003)
    assert 18 <= bottom - top <= 23, "as high as a word, not as high as the box around the line"


@pytest.mark.parametrize("slope", [0.0, 0.02, -0.04])
def test_shapes_of_stored_boxes_are_those_of_their_words(slope: float) -> None:
    words = askew(slope)
    boxes = words.boxes_of(11 * 10, 11 * 30)
    assert quads_of(words, boxes) == quads_at(words, 11 * 10, 11 * 30)


def test_shapes_of_neighbours_do_not_overlap() -> None:
    boxes = [(100 + 80 * column, 200 + 16 * row, 60, 20) for row in range(2) for column in range(6)]
    words = Words.of([(7 * index, 7 * index + 6) for index in range(12)], boxes)
    upper, lower = quads_at(words, 0, 84)
    assert upper[3][1] == lower[0][1]


def test_a_box_without_words_keeps_its_corners() -> None:
    words = Words.of([], [])
    (box,) = askew(0.0).boxes_of(0, 10)
    assert quads_of(words, [box]) == (((100, 200), (160, 200), (160, 220), (100, 220)),)
