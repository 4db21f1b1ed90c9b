"""`docmind chat` and `docmind ask` on a real terminal: streamed, stopped, pasted into, ended."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import require
from llm_server import Behaviour, LLMServer, serving
from shells import Shell, stocked_shell
from terminals import CTRL_C, CTRL_D, ENTER, UP, Terminal, terminal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals")
EVIL = "Herons \x1b[2J\x1b]0;owned\x07 nest."
OURS = re.compile(r"\x1b\[(?:\?2004[hl]|[0-9]*[AJK]|C|[0-9]*[CDPK@]|\?1034h)|\r|\x07")
"""Sequences that DocMind and the line editor write: cursor and line, never colours, titles or clearing the screen."""


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with serving() as server:
        yield server


@pytest.fixture
def shell(tmp_path: Path, server: LLMServer) -> Shell:
    return stocked_shell(tmp_path, DOCMIND_LLM__PROVIDER="ollama", DOCMIND_LLM__URL=server.url)


@pytest.mark.slow
def test_an_answer_is_streamed_then_shown_with_its_sources(shell: Shell, server: LLMServer) -> None:
    server.default = Behaviour("answer", delay_s=0.05, lie=True)
    with terminal(["chat", "--thread", "mine"], shell.environment) as screen:
        screen.wait_for("> ")
        screen.type("Where do herons nest?" + ENTER).wait_for("“Herons nest in tall trees near rivers.” [1]")
        screen.wait_for("  [1] herons.pdf, page 2")
        streamed = screen.wait_for("1987.")
        assert "[1]" not in streamed
        checked = screen.wait_for("> ")
        assert "\x1b[J" in checked
        assert "trees near rivers. [1]" in checked
        assert "[not found in your documents]" in checked
        assert "  [1] herons.pdf, page 2" in checked
        screen.settle().type(CTRL_D)
        assert screen.end() == 0
    turns = shell.json("threads", "show", "mine")["turns"]
    assert [turn["state"] for turn in turns] == ["answered"]


@pytest.mark.slow
def test_ctrl_c_stops_the_answer_and_not_the_program(shell: Shell, server: LLMServer) -> None:
    server.queue(Behaviour("endless", delay_s=0.02))
    with terminal(["chat", "--thread", "mine"], shell.environment) as screen:
        screen.wait_for("> ")
        screen.type("Where do herons nest?" + ENTER)
        screen.wait_for("“Herons nest in tall trees near rivers.” [1]")
        screen.wait_for("on and on")
        screen.type(CTRL_C).wait_for("You stopped the model. These are the quotes.")
        screen.wait_for("> ")
        screen.type("Where do owls nest?" + ENTER).wait_for("owls.txt, page 1")
        screen.wait_for("> ")
        screen.settle().type(CTRL_C).wait_for("Press Ctrl-C again")
        screen.wait_for("> ")
        screen.settle().type(CTRL_C)
        assert screen.end() == 130
    told = shell.json("threads", "show", "mine")
    assert [(turn["question"], turn["state"]) for turn in told["turns"]] == [
        ("Where do herons nest?", "stopped"), ("Where do owls nest?", "answered"),
    ]  # fmt: skip
    assert told["turns"][0]["other"]["answer"].startswith("on and on")


@pytest.mark.slow
def test_ctrl_c_stops_a_model_that_is_silent(shell: Shell, server: LLMServer) -> None:
    server.queue(Behaviour("silent"))
    with terminal(["chat"], shell.environment) as screen:
        screen.wait_for("> ")
        screen.type("Where do herons nest?" + ENTER).wait_for("is reading")
        screen.type(CTRL_C).wait_for("You stopped the model. These are the quotes.", within_s=10)
        screen.wait_for("> ")
        screen.type("/quit" + ENTER)
        assert screen.end() == 0


@pytest.mark.slow
def test_pasted_lines_are_one_question_also_in_the_history(shell: Shell) -> None:
    import readline

    require("libedit" not in (readline.__doc__ or ""), "this Python edits lines with libedit, which marks no pastes")
    with terminal(["chat", "--thread", "mine"], shell.environment) as screen:
        screen.wait_for("> ")
        screen.paste("Where do\nherons nest?").type(ENTER).wait_for("herons.pdf, page 2")
        screen.wait_for("> ")
        screen.type(UP).type(ENTER).wait_for("herons.pdf, page 2")
        screen.wait_for("> ")
        screen.type("Where do owls neXst?" + "\x1b[D" * 3 + "\x7f" + ENTER).wait_for("owls.txt")  # edited
        screen.wait_for("> ")
        screen.settle().type(CTRL_D)
        assert screen.end() == 0
    asked = [turn["question"] for turn in shell.json("threads", "show", "mine")["turns"]]
    assert asked == ["Where do\nherons nest?", "Where do\nherons nest?", "Where do owls nest?"]
    assert not list(Path(shell.folder).rglob("*history*"))


@pytest.mark.slow
def test_a_resumed_chat_has_earlier_questions_in_its_history(shell: Shell) -> None:
    shell.run("ask", "Where do herons nest?", "--thread", "mine")
    with terminal(["chat", "--thread", "mine"], shell.environment) as screen:
        shown = screen.wait_for("\r\n\r\n")
        assert "Where do herons nest?" in shown
        screen.wait_for("herons.pdf, page 2")
        screen.wait_for("> ")
        screen.type(UP + ENTER).wait_for("herons.pdf, page 2")
        screen.wait_for("> ")
        screen.type("/back" + ENTER).wait_for("Went back 1 question.")
        screen.wait_for("> ")
        screen.settle().type(CTRL_D)
        assert screen.end() == 0
    assert len(shell.json("threads", "show", "mine")["runs"]) == 2
    assert len(shell.json("threads", "show", "mine")["turns"]) == 1


@pytest.mark.slow
def test_no_model_text_or_file_name_controls_the_terminal(shell: Shell, server: LLMServer) -> None:
    server.default = Behaviour("answer", EVIL * 3, delay_s=0.01)
    name = "evil\x1b[31m.txt"
    shell.run("add", shell.file(name, b"Bitterns nest in the reeds of the marsh."))
    with terminal(["chat", "--thread", "mine"], shell.environment) as screen:
        screen.wait_for("> ")
        screen.type("Where do bitterns nest?" + ENTER).wait_for("owned")
        screen.wait_for("\r\n\r\n")
        screen.type("/sources" + ENTER).wait_for("> ")
        screen.type("/threads" + ENTER).wait_for("> ")
        screen.type("/tree" + ENTER).wait_for("> ")
        screen.settle().type(CTRL_D)
        assert screen.end() == 0
    left = OURS.sub("", screen.shown)
    assert [char for char in left if not char.isprintable() and char != "\n"] == []
    assert "\x1b]" not in screen.shown
    assert "\x1b[2J" not in screen.shown
    assert "\x1b[31m" not in screen.shown


@pytest.mark.slow
def test_ask_streams_too_and_ctrl_c_keeps_what_was_written(shell: Shell, server: LLMServer) -> None:
    server.default = Behaviour("endless", delay_s=0.02)
    with terminal(["ask", "Where do herons nest?", "--thread", "mine"], shell.environment) as screen:
        screen.wait_for("“Herons nest in tall trees near rivers.” [1]")
        screen.wait_for("on and on")
        screen.type(CTRL_C).wait_for("You stopped the model. These are the quotes.")
        assert screen.end() == 0
    (turn,) = shell.json("threads", "show", "mine")["turns"]
    assert turn["state"] == "stopped"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="bytes that are no text can be typed here")
def test_bytes_that_are_no_text_can_be_typed(shell: Shell) -> None:
    with terminal(["chat", "--thread", "mine"], shell.environment) as screen:
        screen.wait_for("> ")
        os.write(screen._ours, b"Where do herons nest \xff\xfe?\r")
        screen.wait_for("herons.pdf, page 2")
        screen.wait_for("> ")
        screen.settle().type(CTRL_D)
        assert screen.end() == 0


@pytest.mark.slow
def test_keys_pressed_during_an_answer_wait_for_the_prompt(shell: Shell, server: LLMServer) -> None:
    server.queue(Behaviour("answer", "Herons nest in tall trees near rivers. " * 4, delay_s=0.05))
    with terminal(["chat", "--thread", "mine"], shell.environment) as screen:
        screen.wait_for("> ")
        screen.type("Where do herons nest?" + ENTER).wait_for("Herons nest")
        screen.type("Where do owls nest?")
        streamed = screen.wait_for("\x1b[?2004h> ")
        assert "do owls" not in streamed
        screen.settle().type(ENTER).wait_for("owls.txt, page 1")
        screen.settle().type(CTRL_D).wait_for("Continue later: docmind chat --thread mine")
        assert screen.end() == 0
    assert len(shell.json("threads", "show", "mine")["turns"]) == 2


@pytest.mark.slow
def test_a_background_job_is_not_halted_by_its_terminal(shell: Shell) -> None:
    """It costs what a start of Python and its imports cost: `bash` starts it."""
    job = f"{sys.executable} -m docmind ask 'Where do herons nest?' & wait $!; echo ended $?"
    made = Terminal(["bash", "-i", "-c", job], {**os.environ, **shell.environment})
    try:
        made.wait_for("ended 0")
    finally:
        made.close()
