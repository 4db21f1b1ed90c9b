"""The numbers, dates and names of a claim, bound within one statement of a page, with the real text model."""

from __future__ import annotations

import pytest

from docmind.answers import DraftVerifier, Verifier, sentences_of
from docmind.embedding.minilm import MiniLM, default_cache_dir
from each import each_of
from stored_pages import page, passages

EN = """Invoice date: 12 October 2025 Due date: 26 October 2025

Item | Quantity | Unit price
Oak shelves | 12 | EUR 180.00
Reading bench | 3 | EUR 410.00

Net amount EUR 4,390.00 Total EUR 5,224.10

Tomás is away from 13 to 24 July, Wen in the whole of August. Seven of nine members attended."""
DE = """Kaltmiete: 890,00 € Kaution: 2.670,00 €

Der Mieter streicht die Wände alle fünf Jahre, die Vermieterin streicht das Treppenhaus alle zehn Jahre.
Haustiere sind in der ganzen Wohnung nicht erlaubt."""
ES = """Prima anual: 312,60 € Franquicia: 150 €

La póliza cubre los daños por agua hasta 6.000 euros y los robos hasta 9.500 euros."""
FR = """Cotisation mensuelle : 39,90 € Frais d'inscription : 25,00 €

Les cours de yoga sont donnés par Inès Morel, ceux de boxe par Karim Bellil."""
PT = """Quota mensal: 58,00 € Fundo de reserva: 12.340,50 €

As obras na fachada começam em junho e terminam em setembro."""
PAGES = {
    language: passages(page(text, language))
    for language, text in zip(("en", "de", "es", "fr", "pt"), (EN, DE, ES, FR, PT), strict=True)
}


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM(default_cache_dir())


@pytest.mark.slow
@each_of(
    "language, claim, verdict",
    [
        ("en", "The total of the invoice is EUR 5,224.10.", "supported"),
        ("en", "The total of the invoice is EUR 5,242.10.", "contradicted"),
        ("en", "The net amount is EUR 5,224.10.", "contradicted"),
        ("en", "Tomás is away in August.", "contradicted"),
        ("en", "Tomás is away in July.", "supported"),
        ("en", "Wen is away in July.", "contradicted"),
        ("en", "The due date of the invoice is in October 2025.", "supported"),
        ("en", "The reading bench costs EUR 180.00.", "contradicted"),
        ("en", "The reading bench costs EUR 410.00.", "supported"),
        ("de", "Die Kaltmiete beträgt 890 Euro.", "supported"),
        ("de", "Die Kaltmiete beträgt 2.670 Euro.", "contradicted"),
        ("de", "Der Mieter streicht die Wände alle zehn Jahre.", "contradicted"),
        ("es", "La prima anual es de 312,60 euros.", "supported"),
        ("es", "Los daños por agua se cubren hasta 9.500 euros.", "contradicted"),
        ("fr", "Les frais d'inscription s'élèvent à 25 euros.", "supported"),
        ("fr", "Inès Morel donne les cours de boxe.", "contradicted"),
        ("pt", "A quota mensal é de 58 euros.", "supported"),
        ("pt", "As obras na fachada terminam em junho.", "contradicted"),
    ],
)
def test_who_what_when_and_how_much_stand_together(model: MiniLM, language: str, claim: str, verdict: str) -> None:
    (sentence,) = sentences_of(claim)[1]
    assert DraftVerifier(model).find(sentence, PAGES[language]).verdict == verdict


@each_of("language", ["en", "de", "es", "fr", "pt"])
def test_a_page_supports_its_own_words(model: MiniLM, language: str) -> None:
    own = PAGES[language][0].page.text.rpartition("\n\n")[2]
    assert all(one.supported for one in Verifier(model).verify(own, PAGES[language]).sentences)


@each_of(
    "question, written, leads",
    [
        ("How much is the total?", "You have to pay EUR 5,224.10.", True),
        ("How much is the total?", "You have to pay EUR 4,390.00.", False),
        ("Who is away in August?", "It is Tomás.", False),
        ("How much is the total?", "Seven of nine members attended. The total is EUR 5,225.10.", False),
    ],
)
def test_a_text_leads_where_what_was_asked_for_stands_there(
    model: MiniLM, question: str, written: str, leads: bool
) -> None:
    assert Verifier(model).verify(written, PAGES["en"], question=question).leads == leads
