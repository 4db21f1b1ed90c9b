"""Imports of a command: what a fresh process has loaded when it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shells import Shell, stocked_shell

HEAVY = {
    "langgraph", "langchain_core", "llama_index", "openai", "ollama", "torch", "transformers", "streamlit",
    "qdrant_client", "reportlab",
}  # fmt: skip
RUN = """
import atexit, json, sys
loaded = sys.argv.pop(1)
atexit.register(lambda: open(loaded, "w").write(json.dumps(sorted({name.split(".")[0] for name in sys.modules}))))
from docmind.cli import main
main()
"""


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    shell = stocked_shell(tmp_path_factory.mktemp("cold"))
    shell.run("ask", "Where do herons nest?", "--thread", "birds")
    return shell


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("list",),
        ("search", "Where do herons nest?"),
        ("show", "herons.pdf", "1"),
        ("ask", "Where do herons nest?"),
        ("ask", "Where do herons nest?", "--quotes"),
        ("threads", "list"),
        ("threads", "rename", "birds", "Birds"),
        ("status",),
    ],
    ids=" ".join,
)
def test_a_cheap_command_loads_nothing_heavy(shell: Shell, tmp_path: Path, words: tuple[str, ...]) -> None:
    loaded = tmp_path / "loaded"
    command = [sys.executable, "-c", RUN, str(loaded), *words]
    ended = subprocess.run(command, env=os.environ | shell.environment, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    assert not set(json.loads(loaded.read_text())) & HEAVY
