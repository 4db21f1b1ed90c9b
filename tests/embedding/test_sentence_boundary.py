"""Ends of sentences in legal and scientific prose of three languages."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest

from docmind.documents import language_of
from docmind.embedding import sentence_ends
from each import each_of

_LINES = Path(__file__).with_name("sentences.txt").read_text("utf-8").splitlines()
PASSAGES = [line for line in _LINES if not line.startswith(("#", "["))]
MISSED = ("iPhone sales", "α-Tubulin")  # sentences that begin with a small letter


@pytest.fixture(scope="module", autouse=True)
def known_languages() -> None:
    """Load what tells languages apart, which takes half a second, before a test needs it."""
    language_of("The mill was founded by two sisters, and it grinds wheat and rye.")


def cut(text: str, *, typed: bool = False) -> list[str]:
    bounds = (0, *sentence_ends(text, typed=typed), len(text))
    return [text[start:end].strip() for start, end in pairwise(bounds)]


def test_the_labelled_set_is_whole() -> None:
    assert len(PASSAGES) == len(set(PASSAGES)) == 124
    assert sum(len(passage.split(" | ")) for passage in PASSAGES) == 255


@each_of("passage", [p for p in PASSAGES if not any(word in p for word in MISSED)])
def test_labelled_sentences(passage: str) -> None:
    sentences = passage.split(" | ")
    assert cut(" ".join(sentences)) == sentences


@each_of(
    "text",
    [
        "See State v. Towery, 204 Ariz. 386, 390.",
        "The call begins at 4:30 p.m. ET on Monday.",
        "Nothing in Ariz. Rev. Stat. Ann. § 41 helps.",
        "See Order in State v. Rose, No. CR2007, p. 3.",
        "F. N. Sheats and J. B. Hess wrote it.",
        "It was followed' . . . and kept.",
        "S. DE E. DE HACIENDA, D.G. DEL CATASTRO",
        "“Art. 16. The data are kept.",
    ],
)
def test_no_end_within_a_citation_a_name_or_capitals(text: str) -> None:
    assert cut(text) == [text]


def test_words_that_are_abbreviations_too() -> None:
    assert cut("It is the state of the art. The rest is older.") == [
        "It is the state of the art.",
        "The rest is older.",
    ]
    assert cut("So says art. III of the law.") == ["So says art. III of the law."]


@each_of(
    "sentences",
    [
        ["Die Kündigung ist bis zum 30. Juni des Jahres möglich.", "Danach gilt der Vertrag weiter."],
        ["Das Protokoll der 14. Sitzung wird genehmigt.", "Es gilt bis zu seinem 23. Geburtstag."],
        ["Der Betrag wird am 3. eines Monats fällig und stieg im Jahr 2023.", "Kosten für Wasser kommen dazu."],
        ["Mødet holdes den 14. Juni i foreningens hus.", "Alle medlemmer er velkomne til at deltage i mødet."],
    ],
)
def test_a_number_with_a_full_stop_is_an_ordinal_where_they_are_written_so(sentences: list[str]) -> None:
    assert cut(" ".join(sentences)) == sentences


def test_a_number_ends_a_sentence_in_other_languages() -> None:
    sentences = ["The number of the members of the club is 14.", "Sessions are held in the house of the club."]
    assert cut(" ".join(sentences)) == sentences


def test_typed_sentences_may_begin_small() -> None:
    assert cut("i live in Porto. call me Ana, e.g. here", typed=True) == ["i live in Porto.", "call me Ana, e.g. here"]
    assert cut("no. my name is Ana", typed=True) == ["no.", "my name is Ana"]
    assert cut("i live in Porto. call me Ana") == ["i live in Porto. call me Ana"]


def test_only_the_asked_part_of_a_text_is_cut() -> None:
    text = "One is here. Two is there. Three is far."
    assert [text[:end] for end in sentence_ends(text, 13, 27)] == []
    assert [text[13:end] for end in sentence_ends(text, 13)] == ["Two is there."]


def test_scripts_with_their_own_stops() -> None:
    assert cut("第一句。第二句！第三句") == ["第一句。", "第二句！", "第三句"]
    assert cut("هل هذا صحيح؟ نعم") == ["هل هذا صحيح؟", "نعم"]


@pytest.mark.slow
@pytest.mark.parametrize("unit", [". ", "A. ", "1. ", "。", "Art. 1. ", "U.S. "])
def test_time_grows_with_the_length_only(unit: str) -> None:
    def seconds(length: int) -> float:
        before = time.process_time()
        assert all(a < b for a, b in pairwise(sentence_ends(unit * (length // len(unit)))))
        return time.process_time() - before

    assert seconds(320_000) < 24 * (seconds(40_000) + 0.01)  # 8 times as much text
