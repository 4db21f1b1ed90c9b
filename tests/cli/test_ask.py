"""`docmind ask`: alone and in a conversation, with a language model and without one.

Answers on a terminal: text as it comes, harmless, replaced by the checked text.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from docmind.cli.ask import Stream, ask_about_model, rows_of
from docmind.cli.output import UNSUPPORTED, marked, print_turn
from docmind.config import LLMSettings
from docmind.llm.discover import discover
from docmind.llm.service import LanguageModels
from docmind.records.answers import SEEN, Answer, Sentence, Source
from docmind.records.conversations import RunProgress, Turn
from docmind.records.search import Hit
from docmind.storage.database import Database
from docmind.storage.preferences import Preferences
from llm_server import FALSE_SENTENCE, Behaviour, LLMServer, serving
from network.test_web_search import answering
from shells import Shell, assert_inert, sentence_of, stocked_shell


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("LINES", "10")


def on_a_terminal(test: Callable[..., None]) -> Callable[..., None]:
    test = pytest.mark.usefixtures("terminal")(test)
    return pytest.mark.skipif(os.name != "posix", reason="sequences that move the cursor")(test)


def writing(text: str) -> RunProgress:
    return RunProgress("r", "t", "q?", "running", "writing", text=text, model="m")


def answered(text: str, *sentences: Sentence) -> Turn:
    source = Source(1, "herons.pdf", "d" * 64, 2, "p", "Herons nest in trees.", (), 10, 10)
    return Turn("c", None, "q?", 0, "answered", answer=Answer("q?", text, True, (source,), sentences=sentences))


Written = Callable[[], str]


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Written:
    return lambda: capsys.readouterr().out


def screen_of(stream: str, width: int = 40) -> list[str]:
    """Return what a terminal finally shows; it knows the few sequences that DocMind writes."""
    rows, row, column, at = [""], 0, 0, 0
    while at < len(stream):
        char = stream[at]
        if stream[at : at + 2] == "\x1b[":
            end = next(n for n in range(at + 2, len(stream)) if stream[n].isalpha())
            number, kind = stream[at + 2 : end], stream[end]
            assert kind in "AJK", stream[at : end + 1]
            if kind == "A":
                row -= int(number)
                assert row >= 0
            else:
                rows[row] = rows[row][:column]
                rows = rows[: row + 1] if kind == "J" else rows
            at = end + 1
            continue
        at += 1
        if char == "\r":
            column = 0
        elif char == "\n":
            row, column = row + 1, 0
        else:
            if column == width:
                row, column = row + 1, 0
                rows += [""] * (row + 1 - len(rows))
            rows[row] = f"{rows[row]:{column}}"[:column] + char + rows[row][column + 1 :]
            column += 1
        rows += [""] * (row + 1 - len(rows))
    return rows


@on_a_terminal
def test_pieces_are_written_once_and_as_they_come(written: Written) -> None:
    stream = Stream(is_live=True)
    stream.show(writing("Herons "))
    assert written().endswith("Herons ")
    stream.show(writing("Herons nest"))
    assert written() == "nest"
    stream.show(writing("Herons nest"))
    assert written() == ""


@on_a_terminal
def test_the_checked_text_takes_the_place_of_what_was_streamed(written: Written) -> None:
    long = "Herons nest in trees. " * 6
    stream = Stream(is_live=True)
    for end in range(0, len(long), 7):
        stream.show(writing(long[:end]))
    stream.end(answered("Herons nest in trees. [1]"))
    assert screen_of(written()) == ["Herons nest in trees. [1]", "  [1] herons.pdf, page 2", ""]


@on_a_terminal
def test_the_checked_text_follows_a_text_taller_than_the_screen(written: Written) -> None:
    stream = Stream(is_live=True)
    stream.show(writing("word\n" * 30))
    stream.end(answered("Herons nest in trees. [1]"))
    shown = screen_of(written())
    assert shown[:30] == ["word"] * 30
    assert shown[-4:] == ["With sources:", "Herons nest in trees. [1]", "  [1] herons.pdf, page 2", ""]


@on_a_terminal
def test_a_text_that_begins_anew_replaces_the_one_before(written: Written) -> None:
    stream = Stream(is_live=True)
    stream.show(writing("I will look"))
    stream.show(writing(""))
    stream.show(writing("Herons"))
    stream.break_off()
    assert screen_of(written()) == ["Herons", ""]


@on_a_terminal
def test_the_stage_gives_way_to_the_text(written: Written) -> None:
    stream = Stream(is_live=True)
    stream.show(RunProgress("r", "t", "q?", "running", "searching"))
    assert screen_of(said := written()) == ["searching…"]
    stream.show(writing("Herons"))
    assert screen_of(said + written()) == ["Herons"]


@on_a_terminal
def test_the_parts_of_a_summary_are_counted(written: Written) -> None:
    stream = Stream(is_live=True)
    now = RunProgress("r", "t", "q?", "running", "summarising", text="Of part one.", parts_done=3, parts_total=12)
    stream.show(now)
    assert screen_of(said := written()) == ["summarizing, 3 of 12 parts…"]
    stream.show(writing("Herons"))
    assert screen_of(said + written()) == ["Herons"]


@on_a_terminal
def test_the_pages_are_shown_before_the_first_token(written: Written) -> None:
    stream = Stream(is_live=True)
    hit = Hit(rank=1, score=1.0, document="lamp.pdf", doc_id="d", page_no=2, page_id="p", page_width=1, page_height=1)
    now = RunProgress("r", "t", "q?", "running", "writing", model="ollama/parrot-7b", pages=(hit,))
    stream.show(now)
    assert screen_of(said := written()) == ["parrot-7b is reading lamp.pdf, page 2…"]
    stream.show(replace(now, pages=(hit, hit)))  # the screen is 40 wide, and one row is erased
    assert len(screen_of(said + written())) == 1


@on_a_terminal
def test_nothing_is_streamed_where_nobody_watches(written: Written) -> None:
    stream = Stream(is_live=False)
    stream.show(writing("Herons nest"))
    assert written() == ""
    stream.end(answered("Herons nest in trees. [1]"))
    assert written() == "Herons nest in trees. [1]\n  [1] herons.pdf, page 2\n"


@on_a_terminal
def test_no_sequence_slips_through_whole_or_split(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")  # so that the program writes no sequences of its own
    evil = "a\x1b[2J\x1b]0;owned\x07\x9b2Jb\x1bPq\x1b\\c\r\x08\x7f\u202ed\u2028e\ud800f\n"
    for size in (1, 2, 3, len(evil)):
        stream = Stream(is_live=True)
        for end in range(size, len(evil) + size, size):
            stream.show(writing(evil[:end]))
        stream.end(answered(evil, Sentence(evil, 0, len(evil))))
        said = written()
        assert_inert(said)
        assert "owned" in said


@on_a_terminal
def test_rows_are_counted_as_a_terminal_wraps() -> None:
    assert rows_of("", 10) == 1
    assert rows_of("0123456789", 10) == 1
    assert rows_of("0123456789a", 10) == 2
    assert rows_of("a\n\nb", 10) == 3
    assert rows_of("漢" * 5, 10) == 1
    assert rows_of("a" + "漢" * 5, 10) == 2  # a wide character is not split at the edge
    assert rows_of("012345678漢", 10) == 2


@pytest.mark.parametrize(("typed", "used"), [("y\n", "llama3.2:3b"), ("n\n", ""), (None, "")])
def test_a_model_that_was_found_is_asked_about_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str | None, used: str
) -> None:
    database = Database(tmp_path / "vault.db", os.urandom(32))
    with serving(protocols=("ollama",)) as server:
        probe = partial(discover, ports=[("ollama", server.port)])
        models = LanguageModels(LLMSettings(), Preferences(database), discover=probe)
        desk: Any = SimpleNamespace(models=models)
        monkeypatch.setattr("docmind.cli.ask.is_asking", lambda: typed is not None)
        told = []
        for _ in range(2):
            with CliRunner().isolation(input=typed) as (_, errors, *_):
                ask_about_model(desk)
                told.append(errors.getvalue().decode() if errors else "")
        assert f"ollama/llama3.2:3b at {server.url}" in told[0]
        current = models.current()
        assert (current.info.model if current else "") == used
        if typed is None:
            assert "Use it with `docmind models use ollama/llama3.2:3b`" in told[0]
            assert told[0] == told[1]
        else:
            assert told[1] == "", "asked once"
        assert not server.asked()
    database.close()


@on_a_terminal
def test_claims_that_no_page_supports_are_marked() -> None:
    text = "Herons nest. [1] They are green. The documents do not say why."
    sentences = (
        Sentence("Herons nest.", 0, 12, (1,), supported=True),
        Sentence("They are green.", 17, 32),
        Sentence("The documents do not say why.", 33, 62, is_claim=False),
    )
    told = marked(Answer("q?", text, True, sentences=sentences))
    assert told == f"Herons nest. [1] They are green. {UNSUPPORTED} The documents do not say why."


def test_what_rests_on_an_image_is_marked_with_its_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = Source(1, "herons.pdf", "d" * 64, 2, "p", "", (), 10, 10, kind="seen")
    answer = Answer(
        "q?", "They are green. [1]", True, (page,), sentences=(Sentence("They are green.", 0, 15, (1,), seen=True),),
        model="ollama/vl",
    )  # fmt: skip
    print_turn(Turn("c", None, "q?", 0, "answered", answer=answer))
    assert capsys.readouterr().out == (
        f"They are green. [{SEEN}] [1]\n  [1] herons.pdf, page 2, seen on the page, not in its text\n"
    )


@on_a_terminal
def test_stdout_is_asked_whether_somebody_watches(monkeypatch: pytest.MonkeyPatch, written: Written) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    Stream().show(writing("Herons"))
    assert written().endswith("Herons")


ANSWER = {
    *("question", "answer", "found", "sources", "degraded", "timings_ms", "sentences", "model"),
    *("thread_id", "checkpoint_id", "before_id", "state", "asked_as", "message", "hint", "mode", "nearest", "web"),
}


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """Make a vault; each test uses its own conversations."""
    return stocked_shell(tmp_path_factory.mktemp("asked"))


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with serving() as server:
        yield server


def with_model(shell: Shell, server: LLMServer) -> Shell:
    return shell.having(DOCMIND_LLM__PROVIDER="ollama", DOCMIND_LLM__URL=server.url)


# --- without a model --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_without_a_thread_nothing_is_kept(shell: Shell) -> None:
    before = shell.json("threads", "list")
    told = shell.json("ask", "Where do herons nest?")
    assert set(told) >= ANSWER
    assert (told["thread_id"], told["checkpoint_id"], told["model"]) == (None, None, "")
    assert shell.json("threads", "list") == before


@pytest.mark.slow
def test_what_was_told_and_defined_is_known_without_a_conversation(tmp_path: Path) -> None:
    shell = stocked_shell(tmp_path)
    noted = shell.json("ask", "Remember that by VERNA I mean herons and my boat is the Gannet.")
    assert (noted["outcome"], noted["told"]) == ("noted", ["By VERNA I mean herons", "My boat is the Gannet"])
    assert (noted["asked_as"], noted["nearest"], noted["sources"]) == ("", [], [])
    again = shell.run("ask", "What is my boat called?")
    assert "You told me: “My boat is the Gannet”" in again.stdout
    meant = shell.json("ask", "Where do VERNA nest?")
    assert meant["asked_as"] == "Where do herons nest?"
    assert meant["sources"] == shell.json("ask", "Where do herons nest?")["sources"]


@pytest.mark.slow
def test_greetings_lists_summaries_and_sums_without_a_conversation(shell: Shell) -> None:
    greeted = shell.json("ask", "Hello!")
    assert (greeted["outcome"], greeted["found"]) == ("greeting", False)
    assert (greeted["asked_as"], greeted["nearest"]) == ("", [])
    listed = shell.json("ask", "What documents do I have?")
    assert listed["outcome"] == "documents"
    assert listed["sources"]
    name = listed["sources"][0]["document"]
    assert f"[1] {name}, page 1" in shell.run("ask", "What documents do I have?").stdout
    assert shell.json("ask", f"Summarise {name}")["outcome"] == "summary"
    assert "needs a language model" in shell.run("ask", "What is the sum of all my nests?").stdout
    assert shell.json("ask", "What is the sum of all my nests?")["needs"] == "Adding up needs a language model."


@pytest.mark.slow
def test_each_sentence_says_what_supports_it(shell: Shell) -> None:
    for words in ((), ("--thread", "sentences"), ("--quotes",)):
        told = shell.json("ask", "Where do herons nest?", *words)
        assert told["found"]
        assert told["sentences"]
        numbers = {source["n"] for source in told["sources"]}
        for sentence in told["sentences"]:
            assert set(sentence) == {"text", "start", "end", "sources", "supported", "is_claim", "seen"}
            assert told["answer"][sentence["start"] : sentence["end"]] == sentence["text"]
            assert sentence["supported"] is True
            assert set(sentence["sources"]) <= numbers
            assert sentence["sources"]
        assert all(source["boxes"] and source["page_width"] for source in told["sources"])


@pytest.mark.slow
def test_a_conversation_begins_with_an_id_and_goes_on(shell: Shell) -> None:
    first = shell.run("ask", "Where do herons nest?", "--thread", "begun-1")
    assert "New conversation: begun-1" in first.stderr
    second = shell.run("ask", "And what are those nests made of?", "--thread", "begun-1", "--json")
    assert second.stderr == ""
    told = json.loads(second.stdout)
    assert (told["thread_id"], told["question"]) == ("begun-1", "And what are those nests made of?")
    assert told["asked_as"] == "And what are those nests made of?"
    turns = shell.json("threads", "show", "begun-1")["turns"]
    assert [turn["checkpoint_id"] for turn in turns][-1] == told["checkpoint_id"]
    assert told["before_id"] == turns[0]["checkpoint_id"]


@pytest.mark.slow
def test_new_makes_another_conversation_each_time(shell: Shell) -> None:
    ids = {shell.json("ask", "Where do herons nest?", "--thread", "new")["thread_id"] for _ in range(2)}
    assert len(ids) == 2
    assert "new" not in ids


@pytest.mark.slow
def test_a_conversation_is_found_by_part_of_its_id_or_title(shell: Shell) -> None:
    made = shell.json("ask", "Where do owls nest?", "--thread", "found-by-part-1")
    shell.run("threads", "rename", "found-by-part-1", "About owls")
    for name in ("found-by-p", "About owls"):
        told = shell.json("ask", "Where do owls nest?", "--thread", name)
        assert told["thread_id"] == made["thread_id"]
    shell.run("ask", "Where do owls nest?", "--thread", "found-by-part-2")
    assert "Several" in sentence_of(shell.run("ask", "Where?", "--thread", "found-by-part", code=4))


@pytest.mark.parametrize("name", ["no such title", "x" * 65, "../up", "é", "\x1b[2J", ""])
def test_what_can_be_no_id_is_one_sentence_and_makes_nothing(shell: Shell, name: str) -> None:
    before = shell.json("threads", "list")
    refused = shell.run("ask", "Where do herons nest?", "--thread", name, code=4)
    assert "no conversation" in sentence_of(refused)
    assert_inert(refused.stderr)
    assert shell.json("threads", "list") == before


@pytest.mark.slow
def test_a_deleted_conversation_is_not_asked_in(shell: Shell) -> None:
    shell.run("ask", "Where do herons nest?", "--thread", "gone-1")
    shell.run("threads", "delete", "gone-1")
    refused = shell.run("ask", "Where do herons nest?", "--thread", "gone-1", code=4)
    assert "was deleted" in sentence_of(refused)
    assert "docmind threads restore gone-1" in refused.stderr


@pytest.mark.slow
def test_at_asks_beside_what_came_after(shell: Shell) -> None:
    first = shell.json("ask", "Where do herons nest?", "--thread", "beside-1")
    second = shell.json("ask", "Where do owls nest?", "--thread", "beside-1")
    end = first["checkpoint_id"][-8:]
    third = shell.json("ask", "Where do owls hunt?", "--thread", "beside-1", "--at", end)
    assert second["before_id"] == third["before_id"] == first["checkpoint_id"]
    view = shell.json("threads", "show", "beside-1")
    assert [turn["question"] for turn in view["turns"]] == ["Where do herons nest?", "Where do owls hunt?"]
    assert len(view["runs"]) == 3


def test_options_that_do_not_go_together_are_one_sentence(shell: Shell) -> None:
    assert "--at" in sentence_of(shell.run("ask", "Where?", "--at", "12345678", code=2))
    assert "--quotes" in sentence_of(shell.run("ask", "Where?", "--quotes", "--thread", "new", code=2))
    shell.run("ask", "Where do herons nest?", "--thread", "pointless-1")
    pointless = shell.run("ask", "Where?", "--thread", "pointless-1", "--at", "zzzzzzzz", code=4)
    assert "no checkpoint" in sentence_of(pointless)


def test_an_empty_question_keeps_no_turn(shell: Shell) -> None:
    before = shell.json("threads", "list")
    for words in ((), ("--thread", "new"), ("--thread", "empty-1"), ("--quotes",)):
        assert "empty" in sentence_of(shell.run("ask", "  ", *words, code=2))
    assert shell.json("threads", "list") == before


def test_a_checkpoint_is_one_of_a_conversation_that_is_there(shell: Shell) -> None:
    before = shell.json("threads", "list")
    for name in ("new", "never-begun"):
        assert "no conversation" in sentence_of(shell.run("ask", "Where?", "--thread", name, "--at", "123456", code=4))
    assert shell.json("threads", "list") == before


@pytest.mark.slow
def test_where_nothing_is_found_the_nearest_pages_are_named(shell: Shell) -> None:
    for words in ((), ("--quotes",), ("--thread", "new")):
        result = shell.run("ask", "Quantum chromodynamics of neutron stars?", *words)
        assert "I couldn't find this in your documents." in result.stdout
        assert "Closest pages: " in result.stdout


@pytest.mark.slow
def test_quotes_are_the_same_in_a_conversation_and_out_of_one(shell: Shell) -> None:
    own = {"thread_id", "checkpoint_id", "before_id", "asked_at_ms", "timings_ms"}
    for question in ("Where do herons nest?", "Quantum chromodynamics of neutron stars?"):
        alone, kept = shell.json("ask", question), shell.json("ask", question, "--thread", "new")
        for told in (alone, kept):
            for source in told["sources"]:
                del source["index_epoch"]  # it matters only for an answer that is stored
        assert {name: alone[name] for name in alone if name not in own} == {
            name: kept[name] for name in kept if name not in own
        }


# --- with a model -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_model_answers_and_what_no_page_says_is_marked(shell: Shell, server: LLMServer) -> None:
    server.default = Behaviour("answer", lie=True)
    other = with_model(shell, server)
    told = other.json("ask", "Where do herons nest?")
    assert told["model"] == "ollama/llama3.2:3b"
    assert (told["thread_id"], told["state"], told["degraded"]) == (None, "answered", [])
    lies = [sentence for sentence in told["sentences"] if sentence["text"] == FALSE_SENTENCE]
    assert [(lie["supported"], lie["is_claim"], lie["sources"]) for lie in lies] == [(False, True, [])]
    assert [sentence["supported"] for sentence in told["sentences"]].count(True) >= 1
    assert told["other"]["answer"] == "“Herons nest in tall trees near rivers.” [1]"
    shown = other.run("ask", "Where do herons nest?").stdout
    quotes, _, written = shown.partition("The model's answer:")
    assert quotes.startswith("“Herons nest in tall trees near rivers.” [1]")
    assert f"{FALSE_SENTENCE} {UNSUPPORTED}" in written
    assert shown.count(UNSUPPORTED) == 1
    assert "  [1] herons.pdf, page 2" in quotes
    assert "  [1] herons.pdf, page 2" in written


@pytest.mark.slow
def test_quotes_lead_where_no_page_says_what_a_model_writes(shell: Shell, server: LLMServer) -> None:
    server.default = Behaviour("answer", FALSE_SENTENCE)
    other = with_model(shell, server)
    result = other.run("ask", "Where do herons nest?")
    assert result.stdout.startswith("“Herons nest in tall trees near rivers.” [1]")
    assert FALSE_SENTENCE not in result.stdout
    assert "The model's answer isn't in your documents." in result.stderr
    told = other.json("ask", "Where do herons nest?")
    assert (told["model"], told["other"]["answer"]) == ("", FALSE_SENTENCE)


def test_quotes_are_given_where_they_are_asked_for(shell: Shell, server: LLMServer) -> None:
    told = with_model(shell, server).json("ask", "Where do herons nest?", "--quotes")
    assert told["model"] == ""
    assert told["found"]
    assert server.asked() == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cut", "bad_utf8", "status", "reset", "empty"])
def test_quotes_stand_in_for_a_model_that_fails(shell: Shell, server: LLMServer, kind: str) -> None:
    server.default = Behaviour(kind, "Half an ans")  # type: ignore[arg-type]
    other = with_model(shell, server)
    result = other.run("ask", "Where do herons nest?", "--thread", f"failed-{kind}")
    assert "“Herons nest in tall trees near rivers.” [1]" in result.stdout
    assert "Half an" not in result.stdout
    assert "The answer is made of quotes." in result.stderr
    told = other.json("ask", "Where do herons nest?", "--thread", f"failed-{kind}")
    assert (told["model"], told["state"], told["found"]) == ("", "answered", True)
    assert told["message"].endswith(".")
    assert told["degraded"]


@pytest.mark.slow
def test_a_model_that_is_not_there_is_told(shell: Shell) -> None:
    gone = {"DOCMIND_LLM__PROVIDER": "ollama", "DOCMIND_LLM__URL": "http://127.0.0.1:9"}
    result = shell.run("ask", "Where do herons nest?", **gone)
    assert "Herons nest" in result.stdout
    assert "Without answers" in result.stderr
    assert shell.json("ask", "Where do herons nest?", **gone)["degraded"]


def test_a_host_that_is_not_allowed_is_not_asked(shell: Shell) -> None:
    far = {"DOCMIND_LLM__PROVIDER": "ollama", "DOCMIND_LLM__URL": "http://192.0.2.1:11434"}
    result = shell.run("ask", "Where do herons nest?", **far)
    assert "Herons nest" in result.stdout
    assert "DOCMIND_LLM__ALLOWED_HOSTS" in result.stderr or "allowed" in result.stderr


@pytest.mark.slow
def test_what_a_model_says_commands_no_terminal(shell: Shell, server: LLMServer) -> None:
    server.default = Behaviour(
        "answer", "Herons nest in tall trees near rivers. Owls\x1b[2J sing\x1b]0;owned\x07 at \u202enight.\x9b31m"
    )
    result = with_model(shell, server).run("ask", "Where do herons nest?", "--thread", "inert-1")
    assert "owned" in result.stdout
    assert_inert(result.stdout)
    assert_inert(shell.run("threads", "show", "inert-1").stdout)


def test_the_command_line_asks_one_vault_after_another(shell: Shell, server: LLMServer, tmp_path: Path) -> None:
    empty = Shell(tmp_path, **with_model(shell, server).more)
    assert "library is empty" in empty.run("ask", "Where do herons nest?").stderr


@pytest.mark.slow
def test_the_web_is_searched_for_one_question_that_says_so(shell: Shell, server: LLMServer) -> None:
    searched = Behaviour("calls", calls=(("web_search", {"query": "heron nests"}),))
    found = {"title": "Nests\x1b[2J", "url": "http://example.org/nests", "content": "Herons build on platforms."}
    with answering() as web:
        web.body = json.dumps({"results": [found]}).encode()
        other = with_model(shell, server).having(DOCMIND_WEB__PROVIDER="searxng", DOCMIND_WEB__URL=web.url)
        server.queue(searched)
        told = other.json("ask", "Where do herons nest?", "--web")
        assert told["mode"] == "agent"
        assert [result["url"] for result in told["web"]] == ["http://example.org/nests"]
        assert "example.org" not in str(told["sources"])
        server.queue(searched)
        shown = other.run("chat", typed="/web Where do herons nest?").stdout
        assert "From the web: Nests" in shown
        assert_inert(shown)
        server.queue(searched)
        asked = len(web.asked)
        assert other.json("ask", "Where do herons nest?", "--mode", "agent")["web"] == []
        assert len(web.asked) == asked
        assert "agent mode" in sentence_of(other.run("ask", "Where?", "--web", "--mode", "standard", code=2))


def test_the_web_is_off_unless_it_is_set(shell: Shell) -> None:
    refused = shell.run("ask", "Where do herons nest?", "--web", code=2)
    assert "Web search is off" in sentence_of(refused)
    assert "docmind settings set web.provider" in refused.stderr
    assert "Web search is off" in shell.run("chat", typed="/web Where do herons nest?", code=2).stderr


def test_agent_mode_without_a_model_is_told(shell: Shell) -> None:
    told = shell.json("ask", "Where do herons nest?", "--mode", "agent")
    assert told["found"]
    assert [part["stage"] for part in told["degraded"]] == ["agent mode"]
