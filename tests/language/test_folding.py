"""Letters without their accents and case."""

from __future__ import annotations

from docmind.language import fold, folded, lowered_alike


def test_accents_go_and_case_stays() -> None:
    assert fold("Proteção") == "Protecao"
    assert fold("plain") == "plain"


def test_names_are_alike_whatever_their_accents_and_case() -> None:
    assert folded("Müller") == folded("MULLER") == "muller"
    assert folded("Straße") == "strasse"


def test_letters_in_small_capitals_and_signs_lose_their_case_too() -> None:
    assert folded("Nº 5 ™") == "no 5 tm"


def test_every_character_keeps_its_place() -> None:
    text = "Straße, ﬁn, İ, 日本 e\u0301"
    lowered = lowered_alike(text)
    assert len(lowered) == len(text)
    assert lowered == "straße, fn, i, 日本 e "


def test_a_long_text_is_folded_as_its_parts_are() -> None:
    text = "e\u0301\u0316 각 ﬁ Ångström " * 200  # marks stand on both sides of where it is cut
    assert fold(text) == fold("e\u0301\u0316 각 ﬁ Ångström ") * 200
    assert fold("a" + "\u0301\u0316" * 20_000) == "a"
