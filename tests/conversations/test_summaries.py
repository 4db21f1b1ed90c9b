"""Summaries by a language model over a real vault and a real HTTP server that refuses prompts above its context."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from desks import OneModel, settings_in
from docmind.application import DocMind
from docmind.config import LLMSettings, SummarySettings
from docmind.llm.client import ServedModel
from docmind.llm.discover import discover
from docmind.records.conversations import ModelInfo, RunProgress, Turn
from docmind.records.documents import Upload
from llm_server import FALSE_SENTENCE, Behaviour, LLMServer, Model, images_of, serving, text_of, tokens_in
from looking import album, looking_in

NAME = "llama3.2:3b"
CONTEXT = 1_024
CHAPTERS = 24
SHIPS = "\n\n".join(
    f"CHAPTER {n}\n\n" + " ".join(f"The keeper of island {n} counted {n * 37 + month} ships in month {month}."
                                  for month in range(1, 9))
    for n in range(1, CHAPTERS + 1)
)  # fmt: skip
ASKED = "Summarise ships.txt"
LLM = LLMSettings(max_tokens=256)
LIMITS = SummarySettings()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("summaries")
    with DocMind(settings_in(folder)) as docmind:
        docmind.add([Upload("ships.txt", SHIPS.encode()), Upload("note.txt", b"The boat leaves the harbour at noon.")])
    return folder


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with serving(models=(Model(NAME, context=CONTEXT),)) as one:
        yield one


Asks = Callable[..., Turn]


@pytest.fixture
def ask(folder: Path, server: LLMServer) -> Iterator[Asks]:
    """Return a function that asks the vault with the server's model; settings and the model's facts may be given."""
    opened: list[DocMind] = []

    def ask(
        question: str = ASKED,
        *,
        limits: SummarySettings = LIMITS,
        info: ModelInfo | None = None,
        watch: Callable[[DocMind, RunProgress], None] | None = None,
        instructions: str = "",
    ) -> Turn:
        while opened:
            opened.pop().close()
        desk = DocMind(settings_in(folder, llm=LLM, summary=limits), models=OneModel())
        opened.append(desk)
        (known,) = discover(LLMSettings(provider="openai", url=f"{server.url}/v1"), ports=()).models
        assert isinstance(desk.models, OneModel)
        desk.models.model = ServedModel(info or known, LLM)
        thread_id = desk.conversations.create().thread_id
        if instructions:
            desk.conversations.instruct(instructions, thread_id)
        return desk.conversations.ask(
            question, thread_id=thread_id, on_progress=(lambda now: watch(desk, now)) if watch else None
        )

    yield ask
    for one in opened:
        one.close()


def prompts(server: LLMServer) -> list[list[str]]:
    return [[text_of(message) for message in one.body["messages"]] for one in server.asked()]


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["openai", "ollama"])
def test_the_context_is_what_the_server_tells(server: LLMServer, protocol: Any) -> None:
    (found,) = discover(LLMSettings(provider=protocol, url=server.url), ports=()).models
    assert found.context_tokens == CONTEXT
    server.models[0].context = 0
    (found,) = discover(LLMSettings(provider=protocol, url=server.url), ports=()).models
    assert found.context_tokens == 0


@pytest.mark.slow
def test_parts_then_their_summaries_within_the_context(ask: Asks, server: LLMServer) -> None:
    told: list[tuple[str, int, int]] = []
    turn = ask(watch=lambda _, now: told.append((now.stage, now.parts_done, now.parts_total)))
    answer = turn.answer
    assert answer is not None
    assert (turn.state, turn.message, answer.outcome, answer.model) == ("answered", "", "summary", f"openai/{NAME}")
    assert answer.degraded == ()
    assert all(tokens_in(one.body) <= CONTEXT for one in server.asked())
    shown = [text for _, text in prompts(server)]
    assert all(sum(f"CHAPTER {n}\n" in text for text in shown) == 1 for n in range(1, CHAPTERS + 1)), "each part once"
    assert f"Question: {ASKED}" in shown[-1]
    assert 'part="' in shown[-1]
    total = told[-1][2]
    assert 1 < total < len(server.asked()) <= LIMITS.max_calls
    assert list(dict.fromkeys(done for stage, done, of in told if stage == "summarising" and of)) == [*range(total + 1)]
    assert answer.sentences
    assert all(one.supported and one.sources for one in answer.sentences), "the server copies what stands there"
    assert {source.document for source in answer.sources} == {"ships.txt"}


@pytest.mark.slow
def test_what_the_pages_do_not_say_is_marked(ask: Asks, server: LLMServer) -> None:
    server.default = Behaviour(lie=True)
    answer = ask().answer
    assert answer is not None
    false = [one for one in answer.sentences if one.text in FALSE_SENTENCE]
    assert false
    assert not any(one.supported for one in false)
    assert any(one.supported for one in answer.sentences)


@pytest.mark.slow
def test_a_short_document_takes_one_call(ask: Asks, server: LLMServer) -> None:
    answer = ask("What is note.txt about?", instructions="Be brief.").answer
    assert answer is not None
    ((rules, shown),) = prompts(server)
    assert "<wishes>\nBe brief.\n</wishes>" in rules
    assert "The boat leaves" in shown
    assert answer.sentences[0].supported


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2, 5])
def test_calls_are_bounded_and_parts_then_spread(ask: Asks, server: LLMServer, most: int) -> None:
    answer = ask(limits=SummarySettings(max_calls=most), instructions="Be brief.").answer
    assert answer is not None
    assert 1 <= len(server.asked()) <= most
    assert answer.found
    (missing,) = answer.degraded
    assert missing.stage == "some parts"
    assert "DOCMIND_SUMMARY__MAX_CALLS" in missing.reason
    assert [("<wishes>" in rules) for rules, _ in prompts(server)][-1], "for the summary, not for its parts"


@pytest.mark.slow
def test_a_stop_keeps_what_was_written(ask: Asks, server: LLMServer) -> None:
    server.default = Behaviour(delay_s=0.002)

    def stop(desk: DocMind, now: RunProgress) -> None:
        if now.parts_done == 2 and now.text.count("\n\n") >= 2:
            desk.conversations.stop(now.run_id)

    turn = ask(watch=stop)
    assert turn.state == "stopped"
    assert turn.answer is not None
    assert turn.answer.model
    assert turn.answer.found, "what was written is checked too"
    (missing,) = turn.answer.degraded
    assert "then it was stopped" in missing.reason
    assert len(server.asked()) <= 3


@pytest.mark.slow
def test_a_server_that_dies_leaves_the_parts_that_are_there(ask: Asks, server: LLMServer) -> None:
    server.queue(Behaviour(), Behaviour())
    server.default = Behaviour("status", status=503, body="out of memory")
    turn = ask()
    assert "503" in turn.message
    assert turn.answer is not None
    assert turn.answer.model
    assert turn.answer.found
    assert any("2 of " in part.reason and "the model failed" in part.reason for part in turn.answer.degraded)
    assert len(server.asked()) == 3


@pytest.mark.slow
def test_a_part_that_breaks_off_is_left_out_once(ask: Asks, server: LLMServer) -> None:
    server.queue(Behaviour(), Behaviour("empty"), Behaviour("cut", "The keeper"))
    turn = ask()
    assert "broke off" in turn.message, "two parts in a row"
    server.clear()
    server.queue(Behaviour(), Behaviour("empty"))
    turn = ask()
    assert turn.message == ""
    assert turn.answer is not None
    (missing,) = turn.answer.degraded
    assert missing.stage == "some parts"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["status", "cut", "empty"])
def test_central_sentences_where_nothing_was_written(ask: Asks, server: LLMServer, kind: Any) -> None:
    server.default = Behaviour(kind, "The keeper of", status=500)
    turn = ask()
    answer = turn.answer
    assert answer is not None
    assert (answer.outcome, answer.model) == ("summary", "")
    assert answer.answer.startswith("Key sentences from ")
    assert answer.found
    assert turn.message
    assert len(server.asked()) <= 2


@pytest.mark.slow
def test_the_time_is_bounded(ask: Asks, server: LLMServer) -> None:
    server.queue(Behaviour(), Behaviour())
    server.default = Behaviour("heartbeat", delay_s=0.02)
    answer = ask(limits=SummarySettings(max_seconds=4)).answer
    assert answer is not None
    assert any("DOCMIND_SUMMARY__MAX_SECONDS" in part.reason for part in answer.degraded)
    assert answer.model
    assert answer.found


@pytest.mark.slow
def test_a_server_that_takes_in_less_than_it_tells_gets_smaller_parts(ask: Asks, server: LLMServer) -> None:
    (known,) = discover(LLMSettings(provider="openai", url=f"{server.url}/v1"), ports=()).models
    turn = ask(info=replace(known, context_tokens=4_096))
    assert turn.message == ""
    assert turn.answer is not None
    assert turn.answer.found
    refused = [one for one in server.asked() if tokens_in(one.body) > CONTEXT]
    assert 1 <= len(refused) <= 3, "the first one each time; then the parts are smaller"


@pytest.mark.slow
def test_no_summary_of_a_part_is_stored(ask: Asks, server: LLMServer) -> None:
    server.default = Behaviour(text="A secret note about storms.")
    kept: list[DocMind] = []
    turn = ask(watch=lambda desk, now: kept.append(desk))
    assert turn.answer is not None
    runner = kept[-1].conversations._started()
    saved = runner.checkpoints.history(turn.answer.thread_id or "")
    assert len(saved) == 3, "the beginning, the question, the answer"
    answers = json.dumps([point.values for point in saved], default=str)
    assert answers.count("secret note") == 1


@pytest.mark.slow
def test_the_image_of_a_page_without_words_goes_along(tmp_path: Path, server: LLMServer) -> None:
    server.models[0].context = 0
    server.default = Behaviour(text="The page is red all over. [image 1]")
    llm = LLMSettings(image_side_px=320, images=2)
    settings = looking_in(tmp_path, late_model="off").model_copy(update={"llm": llm})
    with DocMind(settings, models=OneModel()) as desk:
        desk.add([album("colours", "red", "green", "blue")])
        assert isinstance(desk.models, OneModel)
        desk.models.model = ServedModel(ModelInfo("ollama", server.url, NAME, True, takes_images=True), llm)
        thread_id = desk.conversations.create().thread_id
        answer = desk.conversations.ask("Summarise colours", thread_id=thread_id).answer
        assert answer is not None
        (one,) = server.asked()
        assert len(images_of(one.body)) == 2
        assert 'image 1 is page 1 of "colours.tiff"' in prompts(server)[0][1]
        assert [(part.seen, part.supported) for part in answer.sentences] == [(True, False)]
        server.queue(Behaviour("blind", status=400, body="this model has no eyes"), Behaviour("empty"))
        again = desk.conversations.ask("Summarise colours", thread_id=thread_id)
        assert again.answer is not None
        assert any(part.stage == "page images" for part in again.answer.degraded)
