"""Large libraries are imported by one thread at a time."""

from __future__ import annotations

import subprocess
import sys

import pytest

BOTH = """
import sys, threading
sys.setswitchinterval(1e-5)
from docmind.config import LLMSettings
from docmind.records.conversations import ModelInfo
from docmind.llm.client import ServedModel
failed = []
def attempt(work):
    try:
        work()
    except BaseException as error:
        failed.append(repr(error))
def read():
    import docmind.ingest.llama_nodes
model = ServedModel(ModelInfo(sys.argv[1], "http://127.0.0.1:9", "any"), LLMSettings())
threads = [threading.Thread(target=attempt, args=(work,)) for work in (read, model.warm)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
sys.exit("; ".join(failed) or 0)
"""


@pytest.mark.slow
def test_reading_and_a_language_model_may_begin_at_once() -> None:
    for provider in ("ollama", "openai"):
        ended = subprocess.run([sys.executable, "-c", BOTH, provider], check=False, capture_output=True, timeout=120)
        assert ended.returncode == 0, ended.stderr.decode()
