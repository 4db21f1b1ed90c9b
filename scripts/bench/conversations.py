"""Conversations: turns, their growth and opening, the first quote on the screen, a language model's stream, memories.

The server of `llm` runs in a process of its own and notes when a request came and when each token went; both processes
read the same monotonic clock.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import httpx
import numpy as np
from harness import (
    ROOT,
    WORDS,
    Times,
    app_over,
    chromium_page,
    filled_vault,
    memory_of_tree_mb,
    open_first_page,
    timed,
    wait_for_server,
)
from langgraph.store.base import PutOp

from desks import text_pdf
from docmind.application import DocMind
from docmind.config import LLMSettings, MemorySettings, Settings
from docmind.embedding.registry import open_text_model
from docmind.llm.base import Message, Stop
from docmind.llm.client import ServedModel
from docmind.llm.service import OneModel
from docmind.memory.service import Memories
from docmind.memory.store import MemoryStore
from docmind.records.conversations import ModelInfo
from docmind.records.documents import Upload
from docmind.storage.database import Database
from docmind_testkit import FakeChatModel

TURNS = 200
QUESTION = "When does the contract with the harbour authority end?"
_SERVER = ROOT / "tests" / "support" / "llm_server.py"
_TOKENS = 2_000
_LAKES = tuple(
    enumerate(f"{a}{b}" for a in ("Vella", "Toru", "Kemi", "Sava") for b in ("mo", "nen", "ka", "ri", "lo", "ta"))
)
# Resolves with the milliseconds from the Enter key to the quote, and to the picture of its page, which has its words.
_FIRST_SEEN = """words => window.seen = new Promise((resolve, reject) => {
    let begun = 0, quote = 0;
    document.addEventListener("keydown", event => { if (event.key === "Enter") begun = performance.now(); },
        { capture: true, once: true });
    const look = () => {
        const now = performance.now(), main = document.querySelector('[data-testid="stMain"]');
        const told = [...main.querySelectorAll('[data-testid="stMarkdown"]')];
        if (begun && !quote && told.some(text => text.textContent.includes(words))) quote = now - begun;
        const picture = [...main.querySelectorAll("img")].find(image => image.alt.includes(words));
        if (quote && picture && picture.complete && picture.naturalWidth) resolve([quote, now - begun]);
        else if (begun && now - begun > 20_000) reject("no quote came");
        else requestAnimationFrame(look);
    };
    look();
})"""
_ASK = (Message("system", "Be brief."), Message("user", "What did the free cash flow do in 2022? " * 200))


class Clocked(FakeChatModel):
    """A model that repeats one long answer and records when it was asked."""

    asked = 0.0

    def stream(self, messages: Sequence[Message], stop: Stop) -> Iterator[str]:
        self.asked = time.perf_counter()
        return super().stream(messages, stop)


def bench_turns() -> None:
    """Time 200 turns in one thread over 10,000 nodes: quotes, a turn with a model, growth, opening, rewinding."""
    models = OneModel()
    with filled_vault(documents=500, nodes=10_000) as settings, DocMind(settings, models=models) as docmind:
        talks = docmind.conversations
        docmind.search("warm")
        talks.warm()
        thread_id = talks.create().thread_id
        quotes, own, text = Times(), Times(), 0
        for number in range(TURNS // 2):
            with quotes.one():
                talks.ask(_question(number), thread_id=thread_id)
        model = Clocked(_answer(), loop=True)
        models.model = model
        before = _database_bytes(settings.data_dir)
        for number in range(TURNS // 2):
            started = time.perf_counter()
            turn = talks.ask(_question(number), thread_id=thread_id)
            own.append((model.asked - started) * 1000)
            assert turn.answer is not None
            text += len(turn.question) + len(turn.answer.answer) + sum(len(s.quote) for s in turn.answer.sources)
        grown = (_database_bytes(settings.data_dir) - before - text) / (TURNS // 2)
        first = talks.view(thread_id, last=1).runs[0].checkpoint_id
        opening = timed(lambda: talks.view(thread_id), 7).median
        shown = timed(lambda: talks.view(thread_id, last=30), 7).median
        rewinding = timed(lambda: (talks.resume(thread_id, first), talks.view(thread_id, last=30)), 7).median
    print(f"a turn of quotes: {quotes}")
    print(f"own time before the model is asked: {own}")
    print(f"{TURNS} turns: opened in {opening:.0f} ms, the last 30 {shown:.0f} ms, rewound to 1 {rewinding:.0f} ms")
    print(f"vault.db grows by {grown / 1000:.1f} KB a turn besides {text / (TURNS // 2) / 1000:.1f} KB of text")


def bench_screen() -> None:
    """Time from the Enter key to the first quote and to its page, in Chromium, over 10,000 nodes, without a model."""
    quotes, pictures = Times(), Times()
    with filled_vault(documents=500, nodes=10_000) as settings:
        with DocMind(settings, models=OneModel()) as docmind:
            lines = [f"The herons of the lake {lake} nest in the reeds of its shore number {n}." for n, lake in _LAKES]
            docmind.add([Upload("birds.pdf", text_pdf(lines))])
        with app_over(settings) as (port, _), chromium_page(viewport={"width": 1440, "height": 900}) as page:
            if page is None:
                return
            wait_for_server(port)
            for number, lake in _LAKES:
                open_first_page(page, settings)
                box = page.get_by_test_id("stChatInputTextArea")
                box.fill(f"Where do the herons of the lake {lake} nest?")
                page.wait_for_timeout(1_000)  # the page is at rest, as it is while somebody types
                page.evaluate(f"words => {{ ({_FIRST_SEEN})(words) }}", f"of its shore number {number}")
                box.press("Enter")
                quote, picture = page.evaluate("window.seen")
                quotes.append(quote)
                pictures.append(picture)
    # The first question meets an app that started a second ago and still loads its models.
    first, its_picture = quotes.pop(0), pictures.pop(0)
    print(f"Enter to the first quote in Chromium: {quotes}; right after the start {first:.0f} ms")
    print(f"Enter to the picture of its page: {pictures}; right after the start {its_picture:.0f} ms")


def _question(number: int) -> str:
    return f"What do the {' '.join(WORDS[(13 * number + 5 * at) % len(WORDS)] for at in range(6))} say in {number}?"


def _answer() -> str:
    return (
        ". ".join(" ".join(WORDS[(7 * n + at) % len(WORDS)] for at in range(18)).capitalize() for n in range(9)) + "."
    )


def _database_bytes(data_dir: Path) -> int:
    return sum(path.stat().st_size for path in data_dir.glob("vault.db*"))


def bench_start() -> None:
    """Time `streamlit run app.py` until a page is usable, over 10,000 nodes; memory of all its processes.

    The browser runs already, as it does where somebody works.
    """
    with filled_vault(documents=500, nodes=10_000) as settings:
        times, answers, memory = Times(), Times(), 0.0
        for number in range(8):
            with chromium_page() as page:
                started = time.perf_counter()
                with app_over(settings) as (port, server):
                    wait_for_server(port)
                    answers.append((time.perf_counter() - started) * 1000)
                    if page is not None:
                        open_first_page(page, settings)
                        times.append((time.perf_counter() - started) * 1000)
                    time.sleep(3)  # what is loaded in the background is there by now
                    memory = max(memory, memory_of_tree_mb(server.pid) if number else 0.0)
    print("the first start, which fills the index, is left out")
    print(f"streamlit run to a server that answers: {Times(answers[1:])}")
    if times:
        print(f"streamlit run to a question box in Chromium: {Times(times[1:])}")
    print(f"memory of the app and its children {memory:.0f} MB")


def bench_llm() -> None:
    """Compare a stream through LlamaIndex and our transport with a bare httpx read of the same stream."""
    with _server() as url:
        for provider in ("ollama", "openai"):
            base = url if provider == "ollama" else f"{url}/v1"
            model = ServedModel(ModelInfo(provider, base, "m"), LLMSettings(max_tokens=4_096))
            warming = Times()
            with warming.one():
                model.warm()
            first = _until_received(url, model)
            before = Times(_until_received(url, model) for _ in range(20))
            print(f"{provider}: libraries ready after {warming.median / 1000:.2f} s, in the background")
            print(f"  from stream() to the request at the server: first {first:.1f} ms, then {before}")
            _compare_streams(url, base, provider, model)


def _compare_streams(url: str, base: str, provider: str, model: ServedModel) -> None:
    _behave(url, pieces=_TOKENS)
    ours, bare = Times(), Times()
    for _ in range(5):
        with ours.one():
            assert sum(1 for _ in model.stream(_ASK, _never)) == _TOKENS
        with bare.one():
            _bare(base, provider)
    added = (ours.median - bare.median) / _TOKENS
    print(
        f"  {_TOKENS} tokens as fast as they come: {ours.median / _TOKENS:.3f} ms a token, bare httpx"
        f" {bare.median / _TOKENS:.3f} ms: {ours.median / bare.median:.1f}x, {added:.3f} ms added"
    )
    _behave(url, pieces=400, delay_s=0.004)
    came: list[int] = []
    for _ in model.stream(_ASK, _never):
        came.append(time.monotonic_ns())  # noqa: PERF401 - the time of each is what counts
    late = Times((seen - sent) / 1e6 for seen, sent in zip(came, _last(url)["sent_ns"], strict=True))
    print(f"  one token every 4 ms: in hand after it was sent: {late}")


def _until_received(url: str, model: ServedModel) -> float:
    """Return the milliseconds from asking for the stream until the server has read the request."""
    _behave(url, pieces=1)
    started = time.monotonic_ns()
    for _ in model.stream(_ASK, _never):
        pass
    return (_last(url)["at_ns"] - started) / 1e6


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


def _behave(url: str, **behaviour: Any) -> None:
    httpx.post(f"{url}/_default", json=behaviour, trust_env=False).raise_for_status()


def _last(url: str) -> dict[str, Any]:
    """Return the last request for an answer, as the server received it."""
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


class Quick:
    """The real model for questions; random directions for the many stored texts, which take no time."""

    def __init__(self, model: Any) -> None:
        self._model, self._rng = model, np.random.default_rng(0)

    def __getattr__(self, name: str) -> object:
        return getattr(self._model, name)

    def embed_documents(self, texts: list[str]) -> np.ndarray:
        vectors = self._rng.standard_normal((len(texts), self._model.dim)).astype(np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def bench_memory(options: argparse.Namespace) -> None:
    """Time 10,000 memories (`--size`) with sqlite-vec and by brute force, with the real text model."""
    model = Quick(open_text_model(Settings()))
    _bench_memories(options.size or 10_000, "auto", model)
    _bench_memories(options.size or 10_000, "off", model)


def _bench_memories(many: int, vectors: Literal["auto", "off"], model: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "vault.db", bytes(32))
        store = MemoryStore(database, model, vectors=vectors == "auto")
        rest = {"same": "", "kind": "fact"}
        texts = (f"fact {n} " + "about a page " * 8 for n in range(many))
        puts = [PutOp(("vault",), uuid.uuid4().hex, {"text": text, **rest}) for text in texts]
        putting, opening = Times(), Times()
        with putting.one():
            store.batch(puts)
        print(f"{many:,} memories, sqlite-vec {'on' if vectors == 'auto' else 'off'}; milliseconds")
        print(f"  put in one batch           {putting.median:8.0f} (without embedding)")
        memories = Memories(MemorySettings(vectors=vectors), database, model)
        with opening.one():
            memories.list(limit=1)
        print(f"  opening                    {opening.median:8.1f}")
        for name, work in (
            ("embedding the question", lambda: model.embed_query(QUESTION)),
            ("nearest 10 of the vault", lambda: store.search(("vault",), query=QUESTION)),
            ("recall", lambda: memories.recall(QUESTION, thread_id="t")),
            ("the newest 200", memories.list),
            ("adding one", lambda: memories.add(str(time.time_ns()))),
        ):
            print(f"  {name:26} {timed(work, 15).median:8.1f}")
        database.close()
