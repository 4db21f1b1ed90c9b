"""A statement makes the question of its value, in its language, or none."""

from __future__ import annotations

from docmind.answers import question_of
from each import each_of


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
