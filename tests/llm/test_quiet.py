"""The client libraries contact nobody else: a fresh process is watched from its first line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from llm_server import serving

CHILD = """
import json, os, sys
seen = {"connect": [], "lookup": [], "open": [], "run": []}
def watch(event, args):
    if event == "socket.connect": seen["connect"].append(str(args[1]))
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"): seen["lookup"].append(str(args[0]))
    elif event == "open": seen["open"].append([str(args[0]), str(args[1] or "")])
    elif event in ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn"): seen["run"].append(str(args[0]))
sys.addaudithook(watch)
from docmind.config import LLMSettings
from docmind.records.conversations import ModelInfo
from docmind.llm.base import Message, Tool
from docmind.llm.client import ServedModel
provider, url = sys.argv[1:]
model = ServedModel(ModelInfo(provider, url, "gpt-4o"), LLMSettings())
model.warm()
text = "".join(model.stream([Message("user", "A question? " * 50)], lambda: False))
list(model.step([Message("user", "hello")], [Tool("t", "d", {"type": "object", "properties": {}})], lambda: False))
print(json.dumps(seen | {"text": text}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_only_the_server_is_reached_and_nothing_is_written(provider: str, tmp_path: Path) -> None:
    environment = dict(
        os.environ,
        PYTHONPATH=str(ROOT / "src"),
        PYTHONDONTWRITEBYTECODE="1",
        HOME=str(tmp_path),
        OLLAMA_API_KEY="of the environment",
        OPENAI_API_KEY="of the environment",
        OPENAI_ORG_ID="of the environment",
        OPENAI_BASE_URL="http://127.0.0.1:9/v1",
        OPENAI_API_BASE="http://127.0.0.1:9/v1",
        OLLAMA_HOST="http://127.0.0.1:9",
        HTTP_PROXY="http://127.0.0.1:9",
        ALL_PROXY="http://127.0.0.1:9",
    )
    with serving() as server:
        url = server.url + ("/v1" if provider == "openai" else "")
        command = [sys.executable, "-c", CHILD, provider, url]
        told = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path)
        seen = json.loads(told.stdout)
        sent = server.received
    assert seen["text"] == "The documents do not say it."
    assert set(seen["connect"]) == {f"('127.0.0.1', {server.port})"}
    assert set(seen["lookup"]) == {"127.0.0.1"}
    assert set(seen["run"]) <= {"uname"}  # for a header about this machine, which does not leave
    assert [one.path for one in sent] == ["/api/chat" if provider == "ollama" else "/v1/chat/completions"] * 2
    assert "of the environment" not in json.dumps([one.headers for one in sent] + [one.body for one in sent])
    written = [name for name, mode in seen["open"] if set(mode) & set("wax+") and name != os.devnull]
    assert not written
    code = (str(Path(sys.prefix)), sys.base_prefix, str(ROOT), "/proc", "/sys", "/dev", "/usr", "/etc", "/lib")
    read = [name for name, _ in seen["open"] if not name.isdigit()]
    assert not [name for name in read if not name.startswith(code) and not os.path.realpath(name).startswith(code)]
    assert not list(tmp_path.iterdir())
