"""How a question refers to the one before, and what it is with the words of that one."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest

from docmind.conversations.following import completed, has_topic, may_go_on, meets, page_step, points_back
from each import each_of
from papers import DEVSET, devset


@each_of(
    "question",
    [
        "And in 2019?", "What does that chart show?", "Who signed it?", "Why?", "how much did it cost",
        "Is it audited?",
        "Quais são as suas obrigações?", "Tell me more", "What about the second clause?", "e na página seguinte?",
        "O que diz essa tabela?", "Quem assinou isso?", "y en la página siguiente?", "¿Y qué dice ese gráfico?",
        "¿Por qué?", "Und im Winter?", "Aber wer zahlt?", "Et en hiver ?", "Mais pourquoi ?",
    ],
)  # fmt: skip
def test_a_question_that_leans_on_the_one_before(question: str) -> None:
    assert points_back(question)
    assert may_go_on(question)


@each_of(
    "question",
    [
        "What is the capital of Chile?",
        "What was the total debt of Amcor in 2022?",
        "Quais são os direitos fundamentais?",
        "¿Cuáles son los derechos de los trabajadores?",
        "What does the table of contents list?",
        "Which clauses say that the tenant pays?",
        "What did Amcor say about its net income?",
        "Wer haftet für Schäden an der Mietsache?",
        "Combien coûte l'abonnement annuel ?",
        "Où se trouve le parking des visiteurs étrangers ?",
        "O jardim tem árvores de fruto antigas?",
    ],
)
def test_a_question_that_refers_to_none(question: str) -> None:
    assert not points_back(question)


def test_questions_of_people_stand_by_themselves() -> None:
    """At most one in fifty independent questions about documents is taken for a follow-up."""
    devset("questions.jsonl")
    asked = [json.loads(line)["question"] for line in (DEVSET / "questions.jsonl").read_text().splitlines()]
    assert sum(map(points_back, asked)) <= len(asked) / 50


@each_of(
    "question, step",
    [
        ("And on the next page?", 1), ("e na página seguinte?", 1), ("¿y en la página siguiente?", 1),
        ("What stands on that page?", 0), ("And the previous page?", -1), ("And in 2019?", None),
    ],
)  # fmt: skip
def test_pages_named_by_their_place(question: str, step: int | None) -> None:
    assert page_step(question) == step


def alike(phrase: str, others: Sequence[str]) -> np.ndarray:
    """Stand for a text model: phrases are alike by the letters of their ends that they have in common."""
    return np.array([sum(a == b for a, b in zip(phrase[::-1], one[::-1], strict=False)) for one in others])


@each_of(
    "earlier, asked, whole",
    [
        ("Wann öffnet das Bad im Sommer?", "Und im Winter?", "Wann öffnet das Bad im Winter?"),
        ("What was the revenue in 2018?", "And in 2019?", "What was the revenue in 2019?"),
        ("How high was the debt?", "And in 2019?", "How high was the debt 2019?"),
        ("How many herons does the spring report count?", "And the autumn report?",
         "How many herons does the autumn report count?"),
        ("What does the oak skirting board cost?", "And the fire door?", "What does the fire door cost?"),
        ("¿Cuánto cuesta la tarjeta roja?", "¿Y la tarjeta verde oscura?", "¿Cuánto cuesta la tarjeta verde oscura?"),
        ("Who mows the grass by the pond?", "For how long?", "For how long mows grass pond?"),
        ("Quel est le loyer ?", "Pourquoi ?", "Pourquoi loyer?"),
        ("Wann war die Versammlung?", "Und wer hat das Protokoll geschrieben?",
         "wer hat das Protokoll geschrieben Versammlung?"),
        ("Why?", "And in 2019?", "And in 2019?"),
        ("Is it?", "?", "?"),
        ("What is the check-in time?", "And the check-out time?", "What is the check-out time?"),
        ("Which carpet is for the car?", "And for the van?", "Which carpet is for the van?"),
        ("Combien coûte l'eau ?", "Et l'électricité ?", "Combien coûte l'électricité ?"),
        ("Who pays the rent on 1.5.2024?", "And on 1.6.2024?", "Who pays the rent on 1.6.2024?"),
        ("What was the revenue in 2018?", "And the debt in 2019?", "What was the debt in 2019?"),
        ("When does the pool open in summer?", "What about winter?", "When does the pool open in winter?"),
        ("Wie hoch ist die Miete?", "Was ist mit der Kaution?", "Wie hoch ist die Kaution?"),
    ],
)  # fmt: skip
def test_a_question_gets_the_words_that_it_leaves_out(earlier: str, asked: str, whole: str) -> None:
    assert completed(asked, earlier, alike) == whole


@each_of(
    "asked, is_told",
    [
        ("For how long?", False), ("And that page?", False), ("Who signed it?", False), ("And in 2019?", True),
        ("And the swimming pool?", True), ("Und die Kaution?", True),
        ("Which of the tenants pays for the repair of the boiler?", True),
    ],
)  # fmt: skip
def test_a_question_says_what_it_is_about(asked: str, is_told: bool) -> None:
    assert has_topic(asked) is is_told


def test_a_whole_question_needs_no_other() -> None:
    assert not may_go_on("Which of the tenants pays for the repair of the boiler?")
    assert may_go_on("For how long?")


def test_a_quote_has_words_of_a_question_in_other_forms() -> None:
    assert meets("Who takes old tyres?", "Tyre, old: taken for 4 euros") == 2
    assert meets("For how long?", "four years") == 0


@pytest.mark.parametrize("piece", ["and the ", "the pets ", "a", "and ", "of Amcor in 2022 ", "foo bar "])
def test_long_follow_ups_take_no_long_time(piece: str) -> None:
    long = (piece * 20_000)[:20_000]
    assert completed(long, long, alike) == long.strip()
    assert len(completed("And the pets?", long, alike)) < 1_000
    assert len(completed(long[:590], long, alike)) < 2_000
