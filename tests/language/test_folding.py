"""Letters without their accents and case."""

from __future__ import annotations

from docmind.language import fold, folded


def test_accents_go_and_case_stays() -> None:
    assert fold("Proteção") == "Protecao"
    assert fold("plain") == "plain"


def test_names_are_alike_whatever_their_accents_and_case() -> None:
    assert folded("Müller") == folded("MULLER") == "muller"
    assert folded("Straße") == "strasse"
