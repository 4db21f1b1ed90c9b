"""The language of a page."""

from __future__ import annotations

import subprocess
import sys

import pytest

from docmind.documents.language import language_of, majority, with_ordinals


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "The parties agree that this contract is governed by the laws of the State of New York."),
        ("pt", "A presente lei dispõe sobre a proteção de dados pessoais e entra em vigor na data da sua publicação."),
        (
            "es",
            "La presente ley entrará en vigor el día siguiente al de su publicación en el Boletín Oficial del Estado.",
        ),
    ],
)
def test_sentences(code: str, text: str) -> None:
    assert language_of(text) == code


@pytest.mark.parametrize("text", ["", "Annex 4", "1,204 33.5% 2021 2022 " * 30, "- - -\n" * 100])
def test_what_cannot_be_told(text: str) -> None:
    assert language_of(text) == ""


def test_majority_leaves_out_pages_without_one() -> None:
    assert majority(["", "", "pt", "en", "pt"]) == "pt"
    assert majority(["", ""]) == ""


def test_the_model_is_loaded_at_the_first_question_only() -> None:
    check = "import sys, docmind.documents.language; sys.exit('py3langid' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Art. 5° e § 1° da Lei nº 13.709", "pt", "Art. 5º e § 1º da Lei nº 13.709"),
        ("Lei n° 5.511, de 1%/12/2006, § 3%", "pt", "Lei nº 5.511, de 1º/12/2006, § 3º"),
        ("Art. 5% e 21%/12/2006 de 5%, 1% ao mês", "pt", "Art. 5º e 21%/12/2006 de 5%, 1% ao mês"),
        ("a 25°C, 30 °C ou 12° 30'", "pt", "a 25°C, 30 °C ou 12° 30'"),
        ("turned by 90° at once", "en", "turned by 90° at once"),
    ],
)
def test_ordinals_are_no_degrees(text: str, language: str, expected: str) -> None:
    assert with_ordinals(text, language) == expected
