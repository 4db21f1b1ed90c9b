"""Words of grammar."""

from __future__ import annotations

from hashlib import sha256

from docmind.language import STOP_WORDS, fold, stop_words


def test_the_words_that_are_in_no_index_stay_the_same() -> None:
    """An index has what was left out when it was made: a change of these needs a new version of its terms."""
    assert sha256(" ".join(sorted(STOP_WORDS)).encode()).hexdigest()[:16] == "13ebfde3414f6a33"


def test_stop_words_are_told_by_language() -> None:
    assert "with" in stop_words("en") - stop_words("pt", "es")
    assert {"with", "mit", "avec", "nel"} <= stop_words()


def test_stop_words_are_folded() -> None:
    assert all(word == fold(word).lower() for word in stop_words())
