"""Follow-ups are told from questions that stand by themselves."""

from __future__ import annotations

import json

import pytest

from docmind.agent.contextualise import points_back, understand
from papers import DEVSET, devset

REVENUE = "What was the revenue in 2018?"


@pytest.mark.parametrize(
    "question",
    [
        "And in 2019?",
        "What does that chart show?",
        "Who signed it?",
        "Why?",
        "how much did it cost",
        "Is it audited?",
        "What was its net income in 2022?",
        "Quais são as suas obrigações?",
        "Tell me more",
        "What about the second clause?",
        "e na página seguinte?",
        "O que diz essa tabela?",
        "Quem assinou isso?",
        "y en la página siguiente?",
        "¿Y qué dice ese gráfico?",
        "¿Por qué?",
    ],
)
def test_a_question_that_leans_on_the_one_before(question: str) -> None:
    assert points_back(question)
    understood = understand(question, [REVENUE])
    assert understood.is_contextual
    assert "revenue" in understood.text
    assert understood.text.endswith(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of Chile?",
        "What was the total debt of Amcor in 2022?",
        "Quais são os direitos fundamentais?",
        "¿Cuáles son los derechos de los trabajadores?",
        "What does the table of contents list?",
        "Which clauses say that the tenant pays?",
        "What did Amcor say about its net income?",
    ],
)
def test_a_question_that_stands_by_itself(question: str) -> None:
    assert understand(question, [REVENUE]).text == question
    assert not understand(question, [REVENUE]).is_contextual


def test_questions_of_people_stand_by_themselves() -> None:
    """At most one in fifty of the questions that were asked of documents is taken for a follow-up."""
    devset("questions.jsonl")
    asked = [json.loads(line)["question"] for line in (DEVSET / "questions.jsonl").read_text().splitlines()]
    assert sum(map(points_back, asked)) <= len(asked) / 50


def test_nothing_before_means_nothing_to_lean_on() -> None:
    assert understand("And that chart?", []).text == "And that chart?"
    assert not understand("And that chart?", []).is_contextual


def test_another_year_takes_the_place_of_the_first() -> None:
    assert "2018" not in understand("And in 2019?", [REVENUE]).text
    assert "2018" in understand("And the debt?", [REVENUE]).text


def test_the_last_question_that_stood_by_itself_is_what_a_chain_leans_on() -> None:
    understood = understand("And who signed it?", ["Who audits the accounts?", REVENUE, "And in 2019?", "Why?"])
    assert understood.text == f"{REVENUE} Why? And who signed it?"


@pytest.mark.parametrize(
    ("question", "step"),
    [
        ("And on the next page?", 1),
        ("e na página seguinte?", 1),
        ("¿y en la página siguiente?", 1),
        ("What stands on that page?", 0),
        ("And the previous page?", -1),
        ("And in 2019?", None),
    ],
)
def test_pages_named_by_their_place(question: str, step: int | None) -> None:
    assert understand(question, [REVENUE]).page_step == step
