"""Claims that say more than their quote, give an action to another, or break off, with the real text model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from docmind.answers import Verifier
from docmind.embedding.minilm import MiniLM, default_cache_dir
from docmind.language import agree, figures
from each import each_of
from stored_pages import page, passages

LAMP = """The warranty lasts for twenty-four months from the day of delivery. Clean the glass with a dry cloth once
a month. The deposit is two months of rent and is paid back within six weeks. The lantern range sold 41,000 pieces,
3,000 more than a year ago. Brass has become dearer; prices will rise by two percent in spring. A repair may take ten
days."""
HOUSE = """The tenant clears the snow from the pavement. The landlord paints the windows in May.
Most of the shops have ordered it again. The pump is switched off before the filter is cleaned."""
ESCOLA = """A doutora Lima receitou o antibiótico e o doutor Sá pediu a análise. A entrada é gratuita para residentes.
O tratamento pode causar sonolência."""
TALLER = """El técnico revisa la presión una vez al año. La pieza rota cuesta 75 euros sin IVA.
El dueño repara el tejado y el inquilino la puerta."""
EVERYTHING = passages(
    page(LAMP.replace("\n", " ")), page(HOUSE.replace("\n", " "), name="b"),
    page(ESCOLA.replace("\n", " "), "pt", name="c"), page(TALLER.replace("\n", " "), "es", name="d"),
)  # fmt: skip


@pytest.fixture(scope="module")
def verifier() -> Verifier:
    return Verifier(MiniLM(default_cache_dir()))


def is_supported(verifier: Verifier, text: str) -> bool:
    claims = [sentence for sentence in verifier.verify(text, EVERYTHING).sentences if sentence.is_claim]
    assert claims, text
    return all(sentence.supported for sentence in claims)


@pytest.mark.slow
@each_of(
    "text",
    [
        "The warranty lasts for 24 months from the day of delivery.",
        "The warranty lasts for two years from the day of delivery.",
        "According to lamp.txt, the warranty lasts for 24 months from the day of delivery.",
        "Clean the glass once a month with a dry cloth.",
        "The lamp range sold 41,000 pieces, 3,000 more than a year ago.",
        "The lantern range sold 41,000 pieces, 3,000 more than a year ago",
        "Brass has become more expensive.",
        "A repair can take 10 days.",
        "The snow on the pavement is cleared by the tenant.",
        "Most shops ordered it again.",
        "A análise foi pedida pelo doutor Sá.",
        "É possível que o tratamento possa causar sonolência.",
        "El tejado lo repara el dueño.",
        "Una vez al año el técnico revisa la presión.",
    ],
)
def test_what_says_less_or_the_same_in_other_words_is_supported(verifier: Verifier, text: str) -> None:
    assert is_supported(verifier, text)


@each_of(
    "text",
    [
        "The deposit is paid back within six weeks after the date of the purchase.",  # a condition
        "The warranty of a car lasts for 24 months from the day of delivery.",  # a thing
        "The warranty lasts for 24 months from the day of delivery in Germany.",
        "The passage is about the warranty, which is only available for twenty-four months.",  # a restriction
        "The lamp range sold 2",  # another thing's number
        "A repair will take ten days.",  # from may to will
        "The deposit is paid back within six",  # broken off
        "Clean the glass with a",
        "The landlord clears the snow from the pavement.",  # another one's action
        "All of the shops have ordered it again.",
        "The pump is switched off after the filter is cleaned.",
        "The tenant clears the snow from the pavement because of the frost.",  # a cause
        "O doutor Sá receitou o antibiótico e a doutora Lima pediu a análise.",
        "A entrada é gratuita para todos.",
        "O tratamento causa sonolência.",
        "Solo el fabricante revisa la presión una vez al año.",
        "La pieza rota cuesta 75 euros sin IVA ni transporte.",
        "El inquilino repara el tejado y el dueño la puerta.",
    ],
)
def test_what_says_more_or_something_else_is_not(verifier: Verifier, text: str) -> None:
    assert not is_supported(verifier, text)


def test_a_number_of_things_is_no_percentage_or_duration_where_the_name_of_the_file_says_what_they_are(
    verifier: Verifier,
) -> None:
    (one,) = passages(page(LAMP.replace("\n", " ")))
    lamp = [replace(one, hit=replace(one.hit, document="lamp.txt"))]
    told = verifier.verify("The lamp range sold 2", lamp), verifier.verify("The lamp range sold 41,000 pieces.", lamp)
    assert [sentence.supported for one in told for sentence in one.sentences] == [False, True]


@each_of(
    "claim, told, same",
    [
        ("two years", "24 months", True),
        ("21 days", "three weeks", True),
        ("90 minutes", "1.5 hours", True),
        ("2 kg", "2000 gramas", True),
        ("two years", "2 months", False),
        ("five grams", "cinco mililitros", False),
        ("75 pounds", "75 euros", False),
        ("veintiséis", "26", True),
    ],
)
def test_amounts_are_compared_over_units(claim: str, told: str, same: bool) -> None:
    (one,), (other,) = figures(claim), figures(told)
    assert agree(one, other) == same
