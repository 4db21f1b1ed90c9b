"""What changed between versions is answered by their comparison, in each language."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from desks import opened
from docmind.answers import recognise
from docmind.application import DocMind
from docmind.records.documents import Upload
from each import each_of

TEXT = "The rent of the mill house is {rent} crowns a month. It is due on the third day.\n\nThe garden is kept.{more}\n"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    with opened(tmp_path_factory.mktemp("desk")) as docmind:
        for number, (rent, more) in enumerate(((900, ""), (950, ""), (950, " The cellar is dry.")), 1):
            docmind.add([Upload(f"lease v{number}.txt", TEXT.format(rent=rent, more=more).encode())])
        yield docmind


@each_of(
    "question, topic, version",
    [
        ("What changed between the versions of the lease?", "lease", 0),
        ("What has changed in the lease?", "lease", 0),
        ("O que mudou no contrato?", "contrato", 0),
        ("¿Qué ha cambiado en el contrato?", "contrato", 0),
        ("What is new in version 2?", "", 2),
        ("What is new in the latest version of the lease?", "lease", 0),
        ("O que mudou entre as versões do contrato?", "contrato", 0),
        ("O que mudou na versão 2?", "", 2),
        ("¿Qué cambió entre las versiones del contrato?", "contrato", 0),
        ("¿Qué ha cambiado en la versión 3 del contrato?", "contrato", 3),
        ("Was hat sich zwischen den Versionen des Mietvertrags geändert?", "Mietvertrags", 0),
        ("Was ist neu in Version 2?", "", 2),
        ("Qu'est-ce qui a changé entre les versions du bail ?", "bail", 0),
    ],
)
def test_a_question_about_changes_is_recognised(question: str, topic: str, version: int) -> None:
    intent = recognise(question)
    assert (intent.kind, intent.topic, intent.version) == ("changes", topic, version)


@each_of("question", ["What changed in 2024?", "What is new?", "What is different about herons?", "O que mudou?"])
def test_other_questions_are_searched(question: str) -> None:
    assert recognise(question).kind == "passages"


@pytest.mark.slow
def test_the_newest_version_is_compared_with_the_one_before(desk: DocMind) -> None:
    answer = desk.ask("What changed between the versions of the lease?")
    assert answer.found
    assert "From lease v2.txt" in (answer.answer or "")
    assert "Added: The cellar is dry." in (answer.answer or "")
    assert [(one.document, one.quote) for one in answer.sources] == [("lease v3.txt", "The cellar is dry.")]
    assert answer.sources[0].boxes


@pytest.mark.slow
def test_a_version_is_named_by_its_number_and_both_are_quoted(desk: DocMind) -> None:
    answer = desk.ask("O que mudou na versão 2?")
    assert "Alterado: 900 → 950" in (answer.answer or "")
    assert [(one.document, one.quote) for one in answer.sources] == [
        ("lease v1.txt", "The rent of the mill house is 900 crowns a month."),
        ("lease v2.txt", "The rent of the mill house is 950 crowns a month."),
    ]
    assert [sentence.sources for sentence in answer.sentences if sentence.sources] == [(1,), (2,)]


@pytest.mark.slow
def test_without_versions_passages_are_searched(desk: DocMind) -> None:
    answer = desk.ask("What changed between the versions of the boat?")
    assert "From" not in (answer.answer or "")
