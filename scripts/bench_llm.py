"""What DocMind adds to a language model's own time, against a server on loopback that writes as fast as it is read.

The server runs in a process of its own and notes when a request came and when each token went; both processes read the
same monotonic clock.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from docmind.config import LLMSettings
from docmind.conversation import ModelInfo
from docmind.llm.contract import Message
from docmind.llm.served import ServedModel

_SERVER = Path(__file__).resolve().parent.parent / "tests" / "llm_server.py"
_TOKENS = 2_000
_ASK = (Message("system", "Be brief."), Message("user", "What did the free cash flow do in 2022? " * 200))


def bench_llm() -> None:
    """A stream through LlamaIndex and our wire beside a bare httpx read of the same stream."""
    with _server() as url:
        for provider in ("ollama", "openai"):
            base = url if provider == "ollama" else f"{url}/v1"
            model = ServedModel(ModelInfo(provider, base, "m"), LLMSettings(max_tokens=4_096))
            started = time.perf_counter()
            model.warm()
            warming = time.perf_counter() - started
            first = _until_received(url, model)
            before = [_until_received(url, model) for _ in range(20)]
            _measure(url, base, provider, model, warming, first, before)


def _measure(
    url: str, base: str, provider: str, model: ServedModel, warming: float, first: float, before: list[float]
) -> None:
    print(f"{provider}: libraries ready after {warming:.2f} s, in the background")
    print(
        f"  from stream() to the request at the server: first {first:.1f} ms,"
        f" then median {statistics.median(before):.1f} ms, worst {max(before):.1f} ms"
    )
    _behave(url, pieces=_TOKENS)
    pairs = [(_seconds(lambda: _ours(model)), _seconds(lambda: _bare(base, provider))) for _ in range(5)]
    ours, bare = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(
        f"  {_TOKENS} tokens as fast as they come: {ours * 1e3 / _TOKENS:.3f} ms a token, bare httpx"
        f" {bare * 1e3 / _TOKENS:.3f} ms: {ours / bare:.1f}x, {(ours - bare) * 1e3 / _TOKENS:.3f} ms added"
    )
    _behave(url, pieces=400, delay_s=0.004)
    came: list[int] = []
    for _ in model.stream(_ASK, _never):
        came.append(time.monotonic_ns())  # noqa: PERF401 - the time of each is what counts
    late = sorted((seen - sent) / 1e6 for seen, sent in zip(came, _last(url)["sent_ns"], strict=True))
    print(
        f"  one token every 4 ms: in hand {statistics.median(late):.2f} ms after it was sent,"
        f" p95 {late[int(len(late) * 0.95)]:.2f} ms"
    )


def _until_received(url: str, model: ServedModel) -> float:
    """Milliseconds from asking for the stream until the server has read the request."""
    _behave(url, pieces=1)
    started = time.monotonic_ns()
    for _ in model.stream(_ASK, _never):
        pass
    return (_last(url)["at_ns"] - started) / 1e6


def _ours(model: ServedModel) -> None:
    assert sum(1 for _ in model.stream(_ASK, _never)) == _TOKENS


def _bare(base: str, provider: str) -> None:
    path = "/api/chat" if provider == "ollama" else "/chat/completions"
    body = {"model": "m", "stream": True, "messages": [{"role": one.role, "content": one.text} for one in _ASK]}
    tokens = 0
    with httpx.Client(trust_env=False) as client, client.stream("POST", f"{base}{path}", json=body) as response:
        for line in response.iter_lines():
            text = line.removeprefix("data: ")
            if text and text != "[DONE]":
                json.loads(text)
                tokens += 1
    assert tokens == _TOKENS + 1  # the end is a line of its own


def _seconds(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _behave(url: str, **behaviour: Any) -> None:
    httpx.post(f"{url}/_default", json=behaviour, trust_env=False).raise_for_status()


def _last(url: str) -> dict[str, Any]:
    """The last request for an answer, as the server saw it."""
    return httpx.get(f"{url}/_received", trust_env=False, params={"last": 1}).json()[-1]


def _never() -> bool:
    return False


@contextmanager
def _server() -> Iterator[str]:
    command = [sys.executable, str(_SERVER), "--text", "Yes."]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
