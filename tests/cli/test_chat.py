"""`docmind chat` through a pipe: one question per line, every command, JSON, and refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import forked
from docmind.cli.chat_commands import COMMANDS
from llm_server import Behaviour, LLMServer, serving
from shells import Shell, assert_inert, stocked_shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return stocked_shell(tmp_path)


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with serving() as server:
        yield server


def objects(shell: Shell, *typed: str, thread: Any = "mine", code: Any = 0, **more: str) -> list[dict[str, Any]]:
    """Return what `chat --json` prints: an object per line."""
    result = shell.run("chat", "--thread", thread, "--json", typed="\n".join(typed), code=code, **more)
    return [json.loads(line) for line in result.stdout.splitlines()]


def asked(shell: Shell, thread: str = "mine") -> list[str]:
    return [turn["question"] for turn in shell.json("threads", "show", thread)["turns"]]


@pytest.mark.slow
def test_lines_are_questions_and_nothing_else_is_shown(shell: Shell) -> None:
    typed = "\ufeffWhere do herons nest?\r\n\n  \nAnd what are those nests made of?"
    result = shell.run("chat", typed=typed.encode())
    assert result.stdout.startswith("“Herons nest in tall trees near rivers.” [1]")
    assert "412 sticks" in result.stdout
    assert "/help" not in result.output
    assert "\n> " not in result.output
    assert_inert(result.output)
    (thread,) = shell.json("threads", "list")["threads"]
    assert thread["title"] == "Where do herons nest?"
    assert asked(shell, thread["thread_id"]) == ["Where do herons nest?", "And what are those nests made of?"]


@pytest.mark.slow
def test_nothing_asked_begins_no_conversation(shell: Shell) -> None:
    assert shell.run("chat", typed="").output == ""
    shell.run("chat", typed="/help\n/threads\n/new\n/quit\nWhere do herons nest?\n")
    assert shell.json("threads", "list") == {"threads": []}


@pytest.mark.slow
def test_back_and_fork_move_and_keep_what_came_after(shell: Shell) -> None:
    questions = ("Where do herons nest?", "Where do owls nest?", "Where do owls hunt?")
    first, second, third, back, other, fork, back_two = objects(
        shell, *questions, "/back", "Where do herons wait?", "/fork 1", "/back 2"
    )
    assert back["command"] == "/back"
    assert back["checkpoint_id"] == second["checkpoint_id"]
    assert other["before_id"] == second["checkpoint_id"]
    assert fork["checkpoint_id"] not in {turn["checkpoint_id"] for turn in (first, second, third, other)}
    assert back_two["thread_id"] == "mine"
    assert asked(shell) == []
    assert len(shell.json("threads", "show", "mine")["runs"]) == 4
    forth = objects(shell, "/threads mine", "Where do herons nest?", "/tree")
    assert len(forth[2]["runs"]) == 5
    assert asked(shell) == ["Where do herons nest?"]


@pytest.mark.slow
def test_going_back_too_far_is_one_sentence(shell: Shell) -> None:
    for entry in ("/back", "/back 3", "/back 0", "/back x", "/back ١", "/fork -1", "/back 99999999999999999999"):
        (refused,) = objects(shell, entry, thread="fresh", code=4 if entry in ("/back", "/back 3") else 2)
        assert refused["message"].endswith("."), entry
        assert refused["hint"]


@pytest.mark.slow
def test_sources_and_their_pages(shell: Shell) -> None:
    _, sources, opened, missing = objects(shell, "Where do herons nest?", "/sources", "/open 1", "/open 9", code=4)
    assert sources["sources"][0]["quote"] == "Herons nest in tall trees near rivers."
    assert (opened["document"], opened["page_no"]) == ("herons.pdf", 2)
    assert opened["text"] == "Herons nest in tall trees near rivers. Their nests are made of 412 sticks."
    assert missing["error"] == "NotFoundError"
    shown = shell.run("chat", "--thread", "mine", typed="/sources\n/open 1").stdout
    assert "“Herons nest in tall trees near rivers.”" in shown
    assert "herons.pdf, page 2\n\nHerons nest" in shown


@pytest.mark.slow
def test_a_source_whose_document_was_deleted_still_has_its_quote(shell: Shell) -> None:
    objects(shell, "Where do herons nest?")
    shell.run("delete", "herons.pdf", "-y")
    shown = shell.run("chat", "--thread", "mine", typed="/sources\n/open 1").stdout
    kept = "This document is in the bin. Restore it to see the page."
    assert f"herons.pdf, page 2\n{kept}\n\nHerons nest in tall trees near rivers." in shown
    shell.run("purge", "herons.pdf", "-y", "--keep-quotes")
    shown = shell.run("chat", "--thread", "mine", typed="/sources\n/open 1").stdout
    kept = "This document has been deleted. The quote is kept from when it was cited."
    assert f"herons.pdf, page 2\n{kept}\n\nHerons nest in tall trees near rivers." in shown


@pytest.mark.slow
def test_a_source_of_an_erased_document_says_so(shell: Shell) -> None:
    objects(shell, "Where do herons nest?")
    shell.run("purge", "herons.pdf", "-y", "--now")
    shown = shell.run("chat", "--thread", "mine", typed="/sources\n/open 1").stdout
    assert "erased document, page 2, erased with its document" in shown
    assert "This document has been erased, and its quotes with it." in shown
    assert "tall trees" not in shown


@pytest.mark.slow
def test_threads_lists_and_switches(shell: Shell) -> None:
    objects(shell, "Where do owls nest?", thread="owls")
    _, listed, switched, told = objects(
        shell, "Where do herons nest?", "/threads", "/threads owls", "Where do owls hunt?"
    )
    assert [thread["thread_id"] for thread in listed["threads"]] == ["mine", "owls"]
    assert (switched["thread_id"], told["thread_id"]) == ("owls", "owls")
    assert asked(shell, "owls") == ["Where do owls nest?", "Where do owls hunt?"]
    shell.run("threads", "delete", "owls")
    assert objects(shell, "/threads owls", code=4)[0]["error"] == "NotFoundError"


@pytest.mark.slow
def test_new_begins_with_the_next_question(shell: Shell) -> None:
    first, _, second = objects(shell, "Where do herons nest?", "/new", "Where do owls nest?")
    assert first["thread_id"] == "mine"
    assert second["thread_id"] not in ("mine", None)
    assert asked(shell, second["thread_id"]) == ["Where do owls nest?"]


@pytest.mark.slow
def test_retry_answers_beside(shell: Shell) -> None:
    first, second = objects(shell, "Where do herons nest?", "/retry")
    assert second["question"] == first["question"]
    assert second["before_id"] == first["before_id"]
    assert len(shell.json("threads", "show", "mine")["runs"]) == 2
    assert objects(shell, "/retry", thread="fresh", code=4)[0]["message"].startswith("This conversation is still empty")


@pytest.mark.slow
def test_export_writes_here_or_where_it_is_told(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    file = tmp_path / "a b.pdf"
    exports = ["/export", f"/export pdf {file}", f"/export {tmp_path / 'c d.zip'}", "/export"]
    told = objects(shell, "Where do herons nest?", *exports, code=2)
    assert [said.get("file") for said in told[1:4]] == [
        "Where do herons nest.zip", str(file), str(tmp_path / "c d.zip"),
    ]  # fmt: skip
    assert "already exists" in told[4]["message"]
    assert file.read_bytes().startswith(b"%PDF-")
    assert (tmp_path / "c d.zip").read_bytes().startswith(b"PK")


@pytest.mark.slow
def test_what_shall_be_remembered_is(shell: Shell) -> None:
    told = objects(shell, "/remember The lease ends in June", "/remember", code=2)
    assert told[0]["memory"]["text"] == "The lease ends in June"
    assert told[1]["error"] == "ConfigError"
    assert [memory["text"] for memory in shell.json("memory", "list")["memories"]] == ["The lease ends in June"]


@pytest.mark.slow
def test_instructions_are_kept_for_here_or_everywhere(shell: Shell) -> None:
    told = objects(
        shell, "/instructions", "/instructions Answer in Portuguese.", "/instructions --all Be brief.",
        "/instructions none", thread="told",
    )  # fmt: skip
    assert [(said["all"], said["thread"]) for said in told] == [
        ("", ""), ("", "Answer in Portuguese."), ("Be brief.", "Answer in Portuguese."), ("Be brief.", ""),
    ]  # fmt: skip
    shown = shell.run("chat", typed="/instructions\n/instructions --all none").stdout
    assert "In all conversations: Be brief.\nIn this conversation: none" in shown
    assert shown.endswith("In all conversations: none\nIn this conversation: none\n")
    begun = shell.run("chat", typed="/instructions Answer in verse.\n/threads").stdout
    assert "In this conversation: Answer in verse." in begun


@pytest.mark.slow
def test_examples_are_questions_that_can_be_asked(shell: Shell) -> None:
    (told,) = objects(shell, "/examples")
    assert 1 <= len(told["examples"]) <= 3
    (answered,) = objects(shell, told["examples"][0])
    assert answered["found"]


@pytest.mark.slow
def test_help_names_every_command(shell: Shell) -> None:
    shown = shell.run("chat", typed="/help").stdout
    for name, command in COMMANDS.items():
        assert command.usage.split()[0] == f"/{name}"
        assert command.usage in shown


def test_every_command_is_described() -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text("utf-8").replace("\\|", "|")
    for command in COMMANDS.values():
        assert f"`{command.usage}`" in page, command.usage


@pytest.mark.slow
def test_an_unknown_command_is_one_sentence_and_the_rest_goes_on(shell: Shell) -> None:
    result = shell.run("chat", typed="/nonsense\x1b[2J now\nWhere do herons nest?\n", code=2)
    assert "There is no command /nonsense" in result.stderr
    assert_inert(result.stderr)
    assert "Herons nest" in result.stdout
    assert asked(shell, shell.json("threads", "list")["threads"][0]["thread_id"]) == ["Where do herons nest?"]


@pytest.mark.slow
def test_a_space_before_a_slash_makes_it_a_question(shell: Shell) -> None:
    (told,) = objects(shell, " /etc/hosts, what is that?")
    assert told["question"] == "/etc/hosts, what is that?"


@pytest.mark.slow
def test_filters_hold_for_every_question(shell: Shell) -> None:
    typed = "Where do herons nest?\nWhere do owls nest?"
    shell.run("chat", "--thread", "mine", "--doc", "owls.txt", typed=typed)
    for turn in shell.json("threads", "show", "mine")["turns"]:
        assert {source["document"] for source in turn["sources"]} <= {"owls.txt"}
        assert len(turn["filters"]["doc_ids"]) == 1
    shell.run("chat", "--doc", "nobody.pdf", typed="", code=4)


@pytest.mark.slow
def test_bytes_that_are_no_text_are_a_question(shell: Shell) -> None:
    result = shell.run("chat", "--thread", "mine", typed=b"Where do herons nest \xff\xfe?\n")
    assert "Herons nest" in result.stdout


@pytest.mark.slow
def test_a_model_that_fails_is_told_and_retried(shell: Shell, server: LLMServer) -> None:
    served = {"DOCMIND_LLM__PROVIDER": "ollama", "DOCMIND_LLM__URL": server.url}
    server.queue(Behaviour("cut", "Half an ans"), Behaviour("answer", "Herons nest in tall trees near rivers."))
    failed, retried = objects(shell, "Where do herons nest?", "/retry", **served)
    assert (failed["model"], failed["found"]) == ("", True)
    assert failed["message"]
    assert (retried["model"], retried["message"]) == ("ollama/llama3.2:3b", "")
    assert retried["before_id"] == failed["before_id"]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of a terminal")
def test_ctrl_c_ends_a_pipe_and_keeps_the_question(shell: Shell, server: LLMServer) -> None:
    import signal
    import time

    server.default = Behaviour("endless", delay_s=0.02)
    environment = shell.having(DOCMIND_LLM__PROVIDER="ollama", DOCMIND_LLM__URL=server.url).environment
    process = forked.popen(
        [sys.executable, "-m", "docmind", "chat", "--thread", "mine"],
        env=os.environ | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"Where do herons nest?\nWhere do owls nest?\n")
    process.stdin.flush()
    until = time.monotonic() + 60
    while not server.asked():
        assert time.monotonic() < until
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in told
    turns = shell.json("threads", "show", "mine")["turns"]
    assert [(turn["question"], turn["state"]) for turn in turns] == [("Where do herons nest?", "stopped")]


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_a_question_that_a_crash_cut_off_is_kept_and_retried(shell: Shell, server: LLMServer) -> None:
    import time

    server.default = Behaviour("endless", delay_s=0.02)
    environment = shell.having(DOCMIND_LLM__PROVIDER="ollama", DOCMIND_LLM__URL=server.url).environment
    process = forked.popen(
        [sys.executable, "-m", "docmind", "chat", "--thread", "mine"],
        env=os.environ | environment,
        stdin=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"Where do herons nest?\n")
    process.stdin.flush()
    until = time.monotonic() + 60
    while not server.asked() or not server.asked()[0].sent_ns:
        assert time.monotonic() < until
        time.sleep(0.02)
    process.kill()
    process.communicate(timeout=60)
    shown = shell.run("threads", "show", "mine")
    assert "> Where do herons nest?" in shown.stdout
    assert "“Herons nest in tall trees near rivers.” [1]" in shown.stdout
    assert "Without language model: it has not finished its answer." in shown.stderr
    (turn,) = shell.json("threads", "show", "mine")["turns"]
    assert (turn["state"], turn["model"], turn["found"]) == ("answered", "", True)
    (retried,) = objects(shell, "/retry")
    assert (retried["state"], retried["found"], retried["degraded"]) == ("answered", True, [])
    assert asked(shell) == ["Where do herons nest?"]
