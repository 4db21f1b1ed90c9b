"""Segmentation by a unigram vocabulary, compared with the model of the package `tokenizers`."""

from __future__ import annotations

from random import Random

import pytest
from tokenizers import Tokenizer, models

import tinye5
from docmind.embedding.unigram import Unigram
from sampled import tenth_of

PIECES, SCORES = tinye5.vocabulary()
UNKNOWN = 3


@pytest.fixture(scope="module")
def words() -> Unigram:
    return Unigram(PIECES, SCORES, unknown=UNKNOWN, special=(0, 1, 2, len(PIECES) - 1))


@pytest.fixture(scope="module")
def reference(words: Unigram) -> Tokenizer:
    """Return the model of `tokenizers`, behind the same rules."""
    tokenizer = Tokenizer(models.Unigram(list(zip(PIECES, SCORES, strict=True)), UNKNOWN, False))
    tokenizer.normalizer, tokenizer.pre_tokenizer = words._normaliser, words._words
    return tokenizer


def named(words: Unigram, text: str) -> list[str]:
    return [PIECES[number] for number in words.ids(text)]


def test_the_most_probable_pieces_win(words: Unigram) -> None:
    assert named(words, "the court held") == ["▁the", "▁court", "▁held"]
    assert named(words, "query: thep") == ["▁", "query", ":", "▁the", "p"]


def test_spans_are_those_of_the_text(words: Unigram) -> None:
    text = "  the\tﬀ court"
    assert [text[start:end] for start, end in words.spans(text)] == ["the", "ﬀ", "ﬀ", "ﬀ", "court"]
    assert words.spans("").shape == (0, 2)


def test_neighbouring_unknown_characters_are_one_piece(words: Unigram) -> None:
    assert words.ids("☃☃☃ a☃") == [PIECES.index("▁"), UNKNOWN, PIECES.index("▁"), PIECES.index("a"), UNKNOWN]


def test_special_pieces_are_not_found_in_a_text(words: Unigram) -> None:
    assert not {0, 1, 2, len(PIECES) - 1} & set(words.ids("</s> <pad><s> <mask>"))


def test_composed_and_decomposed_letters_are_the_same(words: Unigram) -> None:
    assert words.ids("e\u0301") == words.ids("é")


@pytest.mark.parametrize("seed", range(4))
def test_random_texts_are_cut_as_by_the_package(words: Unigram, reference: Tokenizer, seed: int) -> None:
    drawn = [*tinye5.WORDS, *tinye5.LETTERS, " ", " ", "☃", "日本", "½", "①", "\u200b", "～", "e\u0301", "x" * 40]
    for number in tenth_of(range(200)):
        random = Random(f"{seed} {number}")
        text = "".join(random.choice(drawn) for _ in range(random.randrange(30)))
        expected = reference.encode(text, add_special_tokens=False)
        assert words.ids(text) == expected.ids
        assert [tuple(span) for span in words.spans(text).tolist()] == expected.offsets
