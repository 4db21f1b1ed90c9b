"""What a question asks for is recognised, and normal questions stay questions for passages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docmind.answers.intents import LONGEST, PASSAGES, Intent, is_all, is_this, recognise
from docmind.memory.service import requested
from each import each_of
from papers import DEVSET, devset

NORMAL = """\
What is the monthly rent?
How much is the deposit?
Who signed the contract?
When does the warranty end?
Which documents must be attached to the application?
Which documents do I have to bring to the appointment?
What documents are required for a refund?
Which files does the backup contain?
What does the lease say about pets?
Is the deposit refundable?
What was the total debt of Amcor in 2022?
What is the total amount of the invoice?
How much did the repair of the boiler cost?
How much does the gym cost per month?
How many herons does the spring report count?
What is not allowed in the stairwell?
Which dates and deadlines matter?
What amounts are named, and what are they for?
Hello, how much is the deposit?
Thanks. And when is it due?
Good morning means what in the phrase book?
How do I say hello in the greeting protocol?
Who wrote the summary of the hearing?
What does the executive summary say about revenue?
Where is the summary of accounting policies?
What is this clause for?
Why is the table of contents so long?
Does the list of documents name an invoice?
What sum is insured?
What is the total of the members of the council?
How much did Pfizer spend on research in 2023?
What are the documents that prove identity?
Are there documents that the tenant must hand over?
Which document has precedence in case of conflict?
Who keeps the documents about the accident?
Remember the deposit? When is it due?
What about the pets?
And in 2019?
Qual é o valor da renda?
Quanto custa o ginásio por mês?
Quais documentos devo entregar?
Que documentos tenho de levar à consulta?
Quem assinou o contrato?
Qual é o total de membros do conselho?
O que diz o contrato sobre animais?
Quantos dias de férias tenho?
Quando termina a garantia?
Onde está o resumo das contas?
Que multa se aplica em caso de atraso?
Qual é a soma segurada?
Bom dia é dito a que horas no protocolo?
Como se calcula o total de horas?
¿Cuál es el precio del alquiler?
¿Cuánto cuesta el gimnasio al mes?
¿Qué documentos debo entregar?
¿Qué documentos tengo que llevar a la cita?
¿Quién firmó el contrato?
¿Cuál es el total de miembros del consejo?
¿Qué dice el contrato sobre mascotas?
¿Cuándo termina la garantía?
¿Dónde está el resumen de las cuentas?
¿Qué multa se aplica en caso de retraso?
¿Cuál es la suma asegurada?
¿Cómo se calcula el total de horas?
¿Buenos días se dice a qué hora?
""".splitlines()


def intent(question: str) -> Intent:
    return recognise(question, requested(question))


@each_of("question", NORMAL)
def test_a_normal_question_asks_for_passages(question: str) -> None:
    assert intent(question) == PASSAGES


def test_questions_of_people_ask_for_passages() -> None:
    devset("questions.jsonl")
    asked = [json.loads(line)["question"] for line in (DEVSET / "questions.jsonl").read_text().splitlines()]
    assert [question for question in asked if intent(question).kind != "passages"] == []


def test_everyday_questions_ask_for_passages() -> None:
    data = json.loads(Path(__file__).with_name("everyday.json").read_text("utf-8"))
    asked = [*(row["question"] for row in data["questions"]), *data["outside"]]
    assert len(asked) > 90
    assert [question for question in asked if intent(question).kind != "passages"] == []


def test_a_request_to_remember_has_its_facts() -> None:
    assert intent("Remember that my rent is 900 euros.") == Intent("remember", facts=("My rent is 900 euros",))


@each_of(
    "greeting, language",
    [
        ("hi", "en"),
        ("Hello there!", "en"),
        ("Hi, how are you?", "en"),
        ("Good morning, DocMind", "en"),
        ("thanks a lot :)", "en"),
        ("Thank you very much!", "en"),
        ("OK, thanks", "en"),
        ("bom dia", "pt"),
        ("Olá! Tudo bem?", "pt"),
        ("Muito obrigada", "pt"),
        ("Boa noite, até amanhã", "pt"),
        ("¡Hola!", "es"),
        ("Buenos días", "es"),
        ("muchas gracias", "es"),
        ("Hola, ¿qué tal?", "es"),
    ],
)
def test_a_greeting_is_recognised(greeting: str, language: str) -> None:
    assert intent(greeting) == Intent("greeting", language)  # type: ignore[arg-type]


@pytest.mark.parametrize("piece", ["hi ", "thank you ", "ok ", "hola, ", "a", "¿", "\n", "́"])
def test_long_messages_ask_for_passages(piece: str) -> None:
    message = (piece * 2_000)[:2_000]
    assert len(message) > LONGEST
    assert intent(message) == PASSAGES
    assert intent(message[: LONGEST - 1] + "?").kind in ("passages", "greeting")


@each_of(
    "question, language, topic",
    [
        ("Which documents do I have about the boiler?", "en", "the boiler"),
        ("what documents do I have", "en", ""),
        ("What files do we have on insurance?", "en", "insurance"),
        ("Which of my documents mention a penalty clause?", "en", "a penalty clause"),
        ("Please list my documents about Ann Cole.", "en", "Ann Cole"),
        ("Can you show me all my documents?", "en", ""),
        ("Do I have any documents about taxes?", "en", "taxes"),
        ("Do I have anything about taxes?", "en", "taxes"),
        ("How many documents are there?", "en", ""),
        ("Hi! What do I have about the school?", "en", "the school"),
        ("Que documentos tenho sobre a caldeira?", "pt", "a caldeira"),
        ("Quais documentos falam de multas?", "pt", "multas"),
        ("Quais são os meus documentos?", "pt", ""),
        ("lista os documentos sobre seguros", "pt", "seguros"),
        ("Há algum documento sobre o IRS?", "pt", "o IRS"),
        ("¿Qué documentos hay sobre la caldera?", "es", "la caldera"),
        ("¿Cuáles son mis documentos?", "es", ""),
        ("Muéstrame mis documentos sobre seguros", "es", "seguros"),
        ("¿Qué archivos mencionan multas?", "es", "multas"),
        ("¿Tengo algún documento sobre impuestos?", "es", "impuestos"),
    ],
)
def test_a_list_of_documents_is_recognised(question: str, language: str, topic: str) -> None:
    assert intent(question) == Intent("documents", language, topic)  # type: ignore[arg-type]


@pytest.mark.parametrize("question", ["Which documents mention it?", "¿Qué documentos hay sobre eso?"])
def test_a_topic_that_was_said_before_is_searched_for(question: str) -> None:
    assert intent(question) == PASSAGES


@each_of(
    "question, language, topic",
    [
        ("Summarise the lease", "en", "the lease"),
        ("Please summarize report.pdf in five sentences.", "en", "report.pdf"),
        ("Can you sum up this document?", "en", "this document"),
        ("Give me a short summary of the lease", "en", "the lease"),
        ("TL;DR of the lease", "en", "the lease"),
        ("What is this about?", "en", "this"),
        ("What's the report about?", "en", "the report"),
        ("What are these documents about?", "en", "these documents"),
        ("Summarize", "en", ""),
        ("Resuma o contrato", "pt", "o contrato"),
        ("Faz um resumo do contrato de arrendamento", "pt", "contrato de arrendamento"),
        ("De que trata este documento?", "pt", "este documento"),
        ("Sobre o que é o relatório?", "pt", "o relatório"),
        ("Qual é o assunto deste documento?", "pt", "este documento"),
        ("Resume el contrato", "es", "el contrato"),
        ("Hazme un resumen del contrato", "es", "contrato"),
        ("¿De qué trata este documento?", "es", "este documento"),
        ("¿De qué va el informe?", "es", "el informe"),
    ],
)
def test_a_summary_is_recognised(question: str, language: str, topic: str) -> None:
    assert intent(question) == Intent("summary", language, topic)  # type: ignore[arg-type]


@each_of(
    "topic", ["", "this", "it", "the document", "this file", "isto", "este documento", "o ficheiro", "el documento"]
)
def test_words_for_what_is_talked_about(topic: str) -> None:
    assert is_this(topic)
    assert not is_all(topic)


@pytest.mark.parametrize("topic", ["my documents", "all documents", "everything", "os meus documentos", "mis archivos"])
def test_words_for_all_documents(topic: str) -> None:
    assert is_all(topic)
    assert not is_this(topic)


def test_a_name_is_neither() -> None:
    assert not is_this("the lease")
    assert not is_all("the lease")


@each_of(
    "question, language",
    [
        ("How much did I spend in total?", "en"),
        ("How much did we pay altogether for repairs?", "en"),
        ("how much have I spent on groceries in all", "en"),
        ("What is the sum of all invoices?", "en"),
        ("What is the sum of the amounts in May?", "en"),
        ("Add up the invoices of the plumber", "en"),
        ("Sum up all my expenses", "en"),
        ("What is the average of all my bills?", "en"),
        ("How many rows does the table have?", "en"),
        ("Quanto gastei no total?", "pt"),
        ("Quanto é que paguei ao todo em reparações?", "pt"),
        ("Qual é a soma das faturas?", "pt"),
        ("soma todas as despesas", "pt"),
        ("Qual é o total de todas as faturas?", "pt"),
        ("¿Cuánto gasté en total?", "es"),
        ("¿Cuánto sumé?", "es"),
        ("¿Cuánto he pagado en total por la luz?", "es"),
        ("¿Cuál es la suma de las facturas?", "es"),
        ("Suma los importes de mayo", "es"),
        ("¿Cuál es el total de mis gastos?", "es"),
    ],
)
def test_a_sum_is_recognised_and_says_what_it_needs(question: str, language: str) -> None:
    found = intent(question)
    assert found == Intent("sum", language)  # type: ignore[arg-type]
    assert not found.is_direct
    assert found.needs
    assert PASSAGES.needs == ""
