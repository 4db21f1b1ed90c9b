"""Negations and opposites: their place decides, not their presence."""

from __future__ import annotations

import pytest

from docmind.answers.negation import is_flipped, language_of_words, tokens
from each import each_of


@each_of(
    "language, claim, page, flipped",
    [
        ("en", "Goodwill is deductible for tax purposes.", "Goodwill is not deductible for tax purposes.", True),
        ("en", "Goodwill is not deductible.", "Goodwill is not deductible for tax purposes.", False),
        ("en", "Goodwill isn't deductible.", "Goodwill is not deductible for tax purposes.", False),
        ("en", "The pen may not be sold.", "Selling the pen is prohibited.", False),
        ("en", "Biopharma is not a reportable segment.", "Biopharma is the only reportable segment.", True),
        ("en", "Pets are allowed without written consent.", "Pets are not allowed without written consent.", True),
        ("en", "Rent is due monthly.", "Rent is due monthly. Pets are not allowed.", False),
        ("en", "Expenses decreased 17.3% to $762.7 million.", "Expenses increased 17.3% to $762.7 million.", True),
        ("pt", "O operador não deve manter registro.", "O operador deve manter registro das operações.", True),
        ("pt", "O Líder vota no Colégio.", "O Líder vota no Colégio de Líderes.", False),
        ("es", "El sufragio será obligatorio.", "El sufragio no será obligatorio para los menores.", True),
        ("es", "El sufragio no será obligatorio.", "El sufragio no será obligatorio.", False),
        ("es", "El sufragio não será obligatorio.", "El sufragio será obligatorio.", True),
    ],
)
def test_flips(language: str, claim: str, page: str, flipped: bool) -> None:
    assert is_flipped(tokens(claim), tokens(page), language, language) == flipped


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("the rent of the house is due", "en"),
        ("o valor da multa não foi pago", "pt"),
        ("el valor de la multa no fue pagado por los dueños", "es"),
        ("17,606 15,785", ""),
    ],
)
def test_the_language_of_a_sentence(text: str, language: str) -> None:
    assert language_of_words(tokens(text)) == language
