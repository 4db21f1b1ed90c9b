"""Imports of commands: what a fresh process has loaded after them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shells import stocked_shell

HEAVY = {
    "langgraph", "langchain_core", "llama_index", "openai", "ollama", "torch", "transformers", "streamlit",
    "qdrant_client", "reportlab",
}  # fmt: skip
RUN = """
import atexit, json, sys
loaded = {}

def note(words):
    loaded[words] = sorted({name.split(".")[0] for name in sys.modules})
    open(sys.argv[1], "w").write(json.dumps(loaded))

atexit.register(note, "the end")
from docmind.cli import main
for words in json.loads(sys.argv[2]):
    assert not main(words, standalone_mode=False), words
    note(" ".join(words))
"""
CHEAP = [
    ["--help"],
    ["list"],
    ["status"],
    ["show", "herons.pdf", "1"],
    ["search", "Where do herons nest?"],
    ["ask", "Where do herons nest?"],
    ["ask", "Where do herons nest?", "--quotes"],
    ["threads", "list"],
    ["threads", "rename", "birds", "Birds"],
]


@pytest.mark.slow
def test_cheap_commands_load_nothing_heavy(tmp_path: Path) -> None:
    """One process runs them all: what it has not loaded at the end, none of them has loaded."""
    shell = stocked_shell(tmp_path)
    shell.run("ask", "Where do herons nest?", "--thread", "birds")
    loaded = tmp_path / "loaded"
    command = [sys.executable, "-c", RUN, str(loaded), json.dumps(CHEAP)]
    ended = subprocess.run(command, env=os.environ | shell.environment, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(loaded.read_text())
    assert len(told) == len(CHEAP) + 1
    for words, modules in told.items():
        assert not set(modules) & HEAVY, words
