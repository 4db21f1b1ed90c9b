"""Example questions come from statements of the documents, are surely answered by them, and are safe to show."""

from __future__ import annotations

from pathlib import Path

import pytest

from desks import settings_in
from docmind.answers import question_of
from docmind.application import DocMind
from docmind.config import EmbeddingSettings
from docmind.conversations.examples import ALL
from docmind.embedding.minilm import default_cache_dir
from docmind.records.documents import Upload
from docmind.records.query import Query
from docmind.records.search import Filters
from each import each_of

LEASE = """# Lease of 12 Harbour Street

## Deposit

The deposit is EUR 1,900 and is paid before the keys are handed over.

The garden fee is EUR 40 in summer.

The garden fee is EUR 20 in winter.

## Signatures

The signature page is signed on 4 May 2025.
"""
ARRENDAMENTO = """# Contrato

## Caução

A renda é de 950 euros por mês e é paga por transferência bancária ao senhorio do apartamento.
"""
EXPENSES = """Date,What,Amount EUR
2025-01-04,Paint,950
2025-01-09,Brushes,61.2
2025-02-04,Ladder,120
2025-02-11,Tape,40
"""


@each_of(
    "statement, language, question",
    [
        ("The deposit is EUR 1,900.", "en", "How much is the deposit?"),
        ("- The gym closes on weekdays at 22:00.", "en", "When does the gym close on weekdays?"),
        ("The landlord repairs the boiler, the roof and the pipes.", "en", "Who repairs the boiler?"),
        ("Ben Cole moves the water pipe on 3 June.", "en", "When does Ben Cole move the water pipe?"),
        ("Gross profit increased 18.0% to $1.2 billion.", "en", "By how much did gross profit increase?"),
        ("14.2 The president is elected for three years.", "en", "For how long is the president elected?"),
        ("The technician is called Tiago Reis.", "en", "Who is the technician?"),
        ("The hall has 240 seats.", "en", "How many seats does the hall have?"),
        ("The keys are kept in the harbour office.", "en", "Where are the keys kept?"),
        ("Guests pay a fee of 12 euros.", "en", "How much is the fee?"),
        ("The customer pays a surcharge of 62 euros for delivery.", "en", "How much is the surcharge?"),
        ("A renda é de 950 euros por mês.", "pt", "Quanto é a renda?"),
        ("O contrato termina em 31 de março de 2026.", "pt", "Quando termina o contrato?"),
        ("La fianza se devuelve el 5 de mayo de 2026.", "es", "¿Cuándo se devuelve la fianza?"),
        ("El arrendador repara la caldera.", "es", "¿Quién repara la caldera?"),
        ("Die Kündigungsfrist beträgt drei Monate.", "de", "Wie lang ist die Kündigungsfrist?"),
        ("Le bail commence le 1er mars 2025.", "fr", "Quand commence le bail ?"),
    ],
)
def test_a_statement_makes_the_question_of_its_value(statement: str, language: str, question: str) -> None:
    made = question_of(statement, language)
    assert (made.question if made is not None else "") == question


@each_of(
    "statement",
    [
        "The company paid $400.",  # which company
        "This is EUR 300.",
        "The fee that they charge is EUR 300.",
        "The report was signed on 4 May 2025.",
        "The exhibit is open until 4 May 2025.",
        "The deposit is high.",
        "Is the deposit EUR 1,900?",
        "From: jo@lind.example",
        "The ![x](http://127.0.0.1) is EUR 300.",
        "The <b>deposit</b> is EUR 300.",
        "",
    ],
)
def test_a_doubtful_statement_makes_no_question(statement: str) -> None:
    assert question_of(statement, "en") is None


def test_a_language_without_rules_makes_no_question() -> None:
    assert question_of("De huur is 950 euro.", "nl") is None
    assert question_of("The deposit is EUR 1,900.", "all") is None


@pytest.mark.slow
def test_examples_are_answered_by_their_documents(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, embedding=EmbeddingSettings(), cache_dir=default_cache_dir())
    with DocMind(settings) as desk:
        assert desk.examples.wait(60) == ()
        desk.add([Upload("lease.md", LEASE.encode()), Upload("contrato.md", ARRENDAMENTO.encode())])
        desk.add([Upload("expenses.csv", EXPENSES.encode())])
        found = desk.examples.wait(60)
        assert found is not None
        assert set(found) == {
            "How much is the deposit?",
            "Quanto é a renda?",
            "What is the total amount in expenses?",
        }
        for question in found:
            assert desk.ask(question).outcome == "answer"
        assert desk.examples.get() == found, "they are kept for this state of the library"
        desk.erasures.erase([desk.documents.find("lease.md").doc_id])
        later = desk.examples.wait(60)
        assert later is not None
        assert "How much is the deposit?" not in later


@pytest.mark.slow
def test_examples_are_about_what_is_asked(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, embedding=EmbeddingSettings(), cache_dir=default_cache_dir())
    with DocMind(settings) as desk:
        desk.add([Upload("lease.md", LEASE.encode()), Upload("contrato.md", ARRENDAMENTO.encode())])
        home = desk.documents.new_collection("Home").collection_id
        desk.documents.collect(home, [desk.documents.find("lease.md").doc_id])
        only = Filters(collections=(home,))
        found = desk.examples.wait(60, only)
        assert found is not None
        assert "How much is the deposit?" in found
        assert "Quanto é a renda?" not in found
        assert desk.ask(Query(found[0], filters=only)).outcome == "answer"
        both = desk.examples.wait(60)
        assert both is not None
        assert "Quanto é a renda?" in both


@pytest.mark.slow
def test_a_library_without_statements_offers_its_list(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, embedding=EmbeddingSettings(), cache_dir=default_cache_dir())
    with DocMind(settings) as desk:
        desk.add([Upload("![x](http:⁄⁄a.b).txt", b"7")])
        assert desk.examples.wait(60) == (ALL,)
