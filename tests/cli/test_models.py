"""`docmind models`: what is offered, and which one writes the answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from llm_server import LLMServer, Model, serving
from shells import Shell, assert_inert, sentence_of


@pytest.fixture
def server() -> Iterator[LLMServer]:
    with serving(models=(Model("llama3.2:3b"), Model("evil\x1b[2J"))) as server:
        yield server


@pytest.fixture
def shell(tmp_path: Path, server: LLMServer) -> Shell:
    return Shell(tmp_path, DOCMIND_LLM__PROVIDER="ollama", DOCMIND_LLM__URL=server.url)


def test_list_and_use(shell: Shell, server: LLMServer) -> None:
    told = shell.json("models", "list")
    assert set(told) == {"models", "chosen", "is_off", "degraded"}
    first = told["models"][0]
    assert set(first) == {"name", "provider", "url", "model", "is_tool_calling", "is_remote"}
    assert (first["name"], first["url"], first["is_remote"]) == ("ollama/llama3.2:3b", server.url, False)
    shown = shell.run("models", "list").stdout
    assert f"* ollama/llama3.2:3b  {server.url}" in shown
    assert_inert(shown)
    assert "writes the answers now" in shell.run("models", "use", "llama3.2:3b").stdout
    assert shell.json("models", "use", "ollama/llama3.2:3b", "--url", server.url) == {"chosen": "ollama/llama3.2:3b"}
    assert shell.json("models", "use", "none") == {"chosen": None}
    off = shell.json("models", "list")
    assert (off["chosen"], off["is_off"]) == (None, True)
    assert "Answers are quotes" in shell.run("models", "list").stderr
    shell.run("models", "use", "llama3.2:3b")
    assert shell.json("models", "list")["chosen"] == "ollama/llama3.2:3b"


def test_what_is_not_there_is_one_sentence(shell: Shell, server: LLMServer) -> None:
    shell.run("list")  # makes the vault
    refused = shell.run("models", "use", "gpt-\x1b[2J", code=4)
    assert "no language model" in sentence_of(refused)
    assert "ollama/llama3.2:3b" in refused.stderr
    assert_inert(refused.stderr)
    shell.run("models", "use", "llama3.2:3b", "--url", "http://127.0.0.1:9", code=4)


def test_a_server_that_is_gone_and_models_that_are_off(shell: Shell) -> None:
    gone = shell.having(DOCMIND_LLM__URL="http://127.0.0.1:9")
    assert gone.json("models", "list")["models"] == []
    assert "No language model was found" in gone.run("models", "list").stderr
    off = shell.having(DOCMIND_LLM__PROVIDER="off")
    assert off.json("models", "list")["is_off"] is True
    assert "switched off" in sentence_of(off.run("models", "use", "llama3.2:3b", code=4))
