"""What kind of answer a question asks for, in five languages, and whether a passage holds a value of that kind."""

from __future__ import annotations

import pytest

from docmind.answers.kinds import (
    AnswerKind,
    asked_of,
    holds,
    is_clause,
    is_of_another_year,
    is_statement,
    kind_of,
    language_of_question,
)


@pytest.mark.parametrize(
    ("kind", "questions"),
    [
        ("count", ("How many chairs are there?", "Quantas cadeiras há?", "¿Cuántas sillas hay?",
                 "Wie viele Stühle gibt es?",
                   "Combien de chaises y a-t-il ?")),
        ("amount", ("How much is the rent?", "Quanto custa a renda?", "¿Cuánto cuesta el alquiler?",
                 "Wie hoch ist die Miete?",
                    "Combien coûte le loyer ?")),
        ("date", ("When is it due?", "Quando vence?", "¿Cuándo vence?", "Wann ist es fällig?", "Quand est-ce dû ?")),
        ("duration", ("How long does it last?", "Quanto tempo dura?", "¿Cuánto tiempo dura?", "Wie lange dauert es?",
                      "Combien de temps dure-t-il ?")),
        ("person", ("Who signs it?", "Quem assina?", "¿Quién firma?", "Wer unterschreibt?", "Qui signe ?")),
        ("place", ("Where is it kept?", "Onde está?", "¿Dónde está?", "Wo ist es?", "Où est la clé ?")),
        ("clause", ("What does section 13.4 say?", "O que diz o artigo 5?", "¿Qué dice el artículo 5?",
                 "Was steht in Ziffer 4.2?",
                    "Que dit l'article 12 ?")),
        ("identifier", ("What is the phone number of Ana?", "Qual é o número de telefone?",
                 "¿Cuál es el número de cuenta?",
                        "Wie ist die Telefonnummer?", "Quel est le numéro de police ?")),
        ("yes/no", ("Are dogs allowed?", "Posso fumar?", "¿Se puede fumar?", "Darf man rauchen?",
                 "Est-ce que c'est permis ?")),
        ("number", ("What was the EBITDAR of one segment in 2022?", "What percentage is paid?",
                 "Wie alt ist das Haus?")),
        ("extreme", ("Which hill is the highest?", "¿Cuál es la colina más alta?", "Welcher Hügel ist der höchste?")),
        ("comparison", ("Compare the rent before and after April.", "Vergleiche die Mieten.")),
        ("list", ("List all people.", "Nenne alle Personen.")),
        ("other", ("What happens if it rains?", "Best Buy or Ulta?")),
    ],
)  # fmt: skip
def test_questions_have_a_kind(kind: AnswerKind, questions: tuple[str, ...]) -> None:
    assert {question: kind_of(question) for question in questions} == dict.fromkeys(questions, kind)


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("How many days?", "It takes a few days.", False),
        ("How many days?", "It takes ten days.", True),
        ("How many members were there in 2022?", "Beekeepers Annual report 2022", False),
        ("How many members were there in 2022?", "There were 412 members.", True),
        ("How many rules are there?", "2. Rules are kept.", False),
        ("How much is the deposit?", "The deposit is returned within fourteen days.", False),
        ("How much is the deposit?", "The deposit is 1,900 euros, returned within fourteen days.", True),
        ("¿Cuánto cuesta?", "Cuesta 35 euros.", True),
        ("Wie oft wird gemäht?", "Zweimal im Monat wird gemäht.", True),
        ("How often is it fed?", "It is fed twice.", True),
        ("When is the deposit returned?", "It is returned after the hire.", True),
        ("When was the case argued?", "It was argued before the court.", False),
        ("When was the case argued?", "It was argued on 1 November 2022.", True),
        ("Who orders the tiles?", "Tiles ordered by Mara.", True),
        ("Who orders the tiles?", "The tiles are ordered in time.", False),
        ("Who repairs the boiler?", "The landlord repairs the boiler.", True),
        ("What is the policy number?", "The policy number is printed above.", False),
        ("What is the policy number?", "Policy number NM-77 40 12", True),
        ("What does clause 2.1 say?", "2.1 Ground rent is due.", True),
        ("What does clause 2.1 say?", "2.10 Bees may be kept.", False),
        ("What does clause 2.1 say?", "12.1 The chair is elected.", False),
        ("Who pays the rent?", "Who pays the rent", False),
    ],
)
def test_a_passage_holds_the_value(question: str, text: str, *, expected: bool) -> None:
    assert holds(asked_of(question), text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Open: who orders the tiles?", False),
        ("The deposit for the boathouse is and is returned.", False),
        ("Die Kaution ist und wird zurückgezahlt.", False),
        ("The rent is ____ euros.", False),
        ("The deposit is 90 euros and is returned.", True),
        ("Who pays? The tenant.", True),
    ],
)
def test_a_question_or_a_sentence_with_a_hole_is_no_statement(text: str, *, expected: bool) -> None:
    assert is_statement(text) is expected


@pytest.mark.parametrize(
    ("text", "around", "expected"),
    [
        ("There were 398 members.", "arden_2022.pdf Annual report", False),
        ("There were 412 members.", "arden_2021.pdf Annual report", True),
        ("In 2021 there were 412 members.", "arden_2022.pdf", True),
        ("There were 412 members on 3 March 2022.", "arden_2021.pdf", False),
        ("There were 412 members.", "", False),
    ],
)
def test_years_of_a_passage_count_before_those_around_it(text: str, around: str, *, expected: bool) -> None:
    asked = asked_of("How many members were there in 2022?")
    assert is_of_another_year(asked, text, around) is expected
    assert not is_of_another_year(asked_of("How many members are there?"), text, around)


@pytest.mark.parametrize("text", ["2.1 Rent", "§ 2.1 Rent", "Section 2.1: Rent", "Art. 2.1º Rent", "Clause 2.1. Rent"])
def test_a_clause_begins_with_its_number(text: str) -> None:
    assert is_clause("2.1", text)
    assert not is_clause("2.11", text)
    assert not is_clause("1", text)


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("What is the notice period?", "en"),
        ("Quanto custa a chave perdida?", "pt"),
        ("¿Cuánto cuesta la llave perdida?", "es"),
        ("Was kostet ein verlorener Schlüssel?", "de"),
        ("Combien coûte une clé perdue ?", "fr"),
        ("Was verdient Herr Lemarquis?", "de"),
        ("how much is it", "en"),
        ("2024?", "en"),
    ],
)
def test_the_language_of_a_question(question: str, language: str) -> None:
    assert language_of_question(question) == language


def test_the_number_of_a_heading_is_no_count() -> None:
    asked = asked_of("How many cats may the tenant have?")
    assert not holds(asked, "5 Animals\nCats are allowed.")
    assert holds(asked, "5 cats are allowed.")
