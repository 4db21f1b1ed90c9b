"""Conversations written by a real language model inside DocMind: checked, and replaced by quotes when it dies."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from desks import settings_in
from docmind.application import DocMind
from docmind.config import LLMSettings, SummarySettings
from docmind.records.conversations import RunProgress
from docmind.records.documents import Upload
from looking import wait_for
from papers import line, pdf
from smollm import NAME, smollm

WARRANTY = "The warranty lasts for twenty-four months from the day of delivery."
DEPOSIT = "The deposit is two months of rent and is paid back within six weeks."
LASTS = "How long does the warranty last?"
STORY = "Explain everything about the warranty in twenty long paragraphs."
TWO = "What is the capital of France, and how is it linked to the warranty?"


@pytest.fixture(scope="module")
def docmind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocMind]:
    llm = LLMSettings(provider="inside", gguf=smollm(), temperature=0, threads=1, max_tokens=96)
    with DocMind(settings_in(tmp_path_factory.mktemp("inside"), llm=llm)) as one:
        one.add(
            [Upload("lamp.pdf", pdf([line(WARRANTY, size=12), line("Clean the glass with a dry cloth.", size=12)]))]
        )
        one.models.list()
        yield one


@pytest.mark.slow
def test_what_it_writes_is_checked_against_the_pages(docmind: DocMind) -> None:
    answer = docmind.conversations.ask(LASTS).answer
    assert answer is not None
    assert answer.model == f"inside/{NAME}"
    assert answer.sentences[0].supported
    assert "twenty-four" in answer.sources[0].quote or "24" in answer.answer


@pytest.mark.slow
def test_a_wrong_sentence_is_marked(docmind: DocMind) -> None:
    """The smallest of models adds what it knows of the world: the documents do not say it."""
    turn = docmind.conversations.ask(TWO)
    answer = next(one for one in (turn.answer, turn.answer and turn.answer.other) if one is not None and one.model)
    assert answer.model == f"inside/{NAME}"
    assert "Paris" in answer.answer
    wrong = [sentence for sentence in answer.sentences if "Paris" in sentence.text]
    assert wrong
    assert not any(sentence.supported for sentence in wrong)


@pytest.mark.slow
def test_quotes_take_the_place_of_a_model_that_dies(docmind: DocMind) -> None:
    def kill_once_it_writes(now: RunProgress) -> None:
        if now.text:
            for pid in docmind.models._inside.pids():
                with contextlib.suppress(ProcessLookupError):  # it is dead already, and one piece was on its way
                    os.kill(pid, signal.SIGKILL)

    answer = docmind.conversations.ask(STORY, on_progress=kill_once_it_writes).answer
    assert answer is not None
    assert answer.model == "", "quotes"
    assert [one.reason for one in answer.degraded if one.stage == "language model"] == [
        f"The model {NAME} inside DocMind broke off in the middle of its answer."
    ]
    again = docmind.conversations.ask(LASTS).answer
    assert again is not None
    assert again.model == f"inside/{NAME}", "the next question starts it again"


@pytest.mark.slow
def test_what_is_stopped_keeps_what_was_written(docmind: DocMind) -> None:
    thread_id = docmind.conversations.create("A story").thread_id
    run_id = docmind.conversations.start(STORY, thread_id=thread_id)
    wait_for(lambda: docmind.conversations.run(run_id).text)
    docmind.conversations.stop(run_id)
    turn = docmind.conversations.wait(run_id, 60).turn
    assert turn is not None
    assert turn.answer is not None
    (written,) = [one for one in (turn.answer, turn.answer.other) if one is not None and one.model]
    assert (turn.state, written.model) == ("stopped", f"inside/{NAME}")
    assert written.answer


@pytest.mark.slow
def test_a_small_context_gets_fewer_passages(tmp_path: Path) -> None:
    """The passages are cut to what the model takes in, so that it can still answer."""
    page = "\n".join(f"Line {n} of the catalogue names lamp {n} with its warranty and price." for n in range(400))
    llm = LLMSettings(provider="inside", gguf=smollm(), temperature=0, max_tokens=32, context_tokens=1_024)
    with DocMind(settings_in(tmp_path, llm=llm)) as small:
        small.add([Upload(f"{name}.txt", f"Catalogue {name}\n{page}".encode()) for name in ("a", "b", "c")])
        small.models.list()
        answer = small.conversations.ask("Which warranty has lamp 7 of the catalogue?").answer
        assert answer is not None
        assert not answer.degraded
        assert answer.model == f"inside/{NAME}"


@pytest.mark.slow
def test_a_long_document_is_summarised_part_by_part(tmp_path: Path) -> None:
    """The smallest of models writes what it can; what the pages do not say is marked."""
    story = "\n\n".join(
        f"CHAPTER {n}\n\nLamp {n} of the catalogue costs {40 + n} pounds. {WARRANTY} Clean the glass with a dry cloth."
        for n in range(1, 40)
    )
    llm = LLMSettings(provider="inside", gguf=smollm(), temperature=0, threads=1, max_tokens=32, context_tokens=1_024)
    limits = SummarySettings(max_calls=3)
    told: list[tuple[int, int]] = []
    with DocMind(settings_in(tmp_path, llm=llm, summary=limits)) as small:
        small.add([Upload("catalogue.txt", story.encode())])
        small.models.list()
        turn = small.conversations.ask(
            "Summarise catalogue.txt", on_progress=lambda now: told.append((now.parts_done, now.parts_total))
        )
    assert turn.answer is not None
    (answer,) = [one for one in (turn.answer, turn.answer.other) if one is not None and one.model]
    assert (answer.outcome, answer.model, turn.message) == ("summary", f"inside/{NAME}", "")
    assert (1, 2) in told
    assert [part.stage for part in answer.degraded] == ["some parts"]
    assert answer.answer
    assert all(sentence.sources for sentence in answer.sentences if sentence.supported)
