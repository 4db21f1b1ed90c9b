"""A real HTTP server on loopback that acts as Ollama and as an OpenAI-compatible server, correctly or faultily.

As a fixture: `with serving() as server: server.queue(Behaviour("cut", "Half an ans"))`. As a process, for browsers and
benchmarks: `python tests/support/llm_server.py --port 11500 --behaviour answer --delay 0.02 --lie`; then `POST /_queue`
takes behaviours (a JSON list of objects), `POST /_default` one, and `GET /_received` (`?last=1`) tells what was asked.

Without text, an answer is made of sentences copied from the passages of the prompt, so that its evidence can be found.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import re
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from loopback import LoopbackHandler, LoopbackServer

Kind = Literal[
    "answer", "calls", "silent", "stall", "cut", "reset", "unmarked", "bad_utf8", "bad_json", "odd_json", "error_line",
    "endless", "endless_line", "thinking", "think_tags", "empty", "page", "plain_json", "status", "redirect", "gzip",
    "heartbeat", "no_body", "raw", "blind",
]  # fmt: skip
FALSE_SENTENCE = "The lighthouse of Vellamo was painted green by 4,711 volunteers in 1987."


@dataclass(frozen=True)
class Behaviour:
    """What happens to one request for an answer. `first_s` passes before the first piece, `delay_s` between pieces.

    A `blind` model refuses a request with images, by `status` and `body`, and answers any other.
    """

    kind: Kind = "answer"
    text: str = ""
    first_s: float = 0.0
    delay_s: float = 0.0
    calls: tuple[tuple[str, Any], ...] = ()
    status: int = 500
    body: str = ""
    """Of a refusal, or what an error in the stream says, or all bytes of a raw stream (Latin-1)."""
    location: str = ""
    pieces: int = 0
    """Answers of so many equal pieces, for benchmarks."""
    lie: bool = False
    """Adds a sentence that no document supports."""


@dataclass(frozen=True)
class Received:
    """One request; `at_ns` is the monotonic clock when its body had been read."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    at_ns: int
    sent_ns: list[int] = field(default_factory=list)
    """When each piece of the answer was sent."""
    was_closed: threading.Event = field(default_factory=threading.Event)
    """Set once the other side had hung up before the end."""


@dataclass
class Model:
    """A model that the server lists. `capabilities` is None where an old Ollama does not tell."""

    name: str
    family: str = "llama"
    capabilities: tuple[str, ...] | None = ("completion", "tools")
    is_loaded: bool = False
    context: int = 0
    """The tokens that it takes in: longer prompts are refused, as llama.cpp does, and the lists tell it; 0: any."""


class LLMServer(LoopbackServer):
    """The server on loopback. `protocols` says which of both it speaks. Thread-safe."""

    def __init__(
        self, port: int = 0, *, protocols: tuple[str, ...] = ("ollama", "openai"), models: tuple[Model, ...] = ()
    ) -> None:
        super().__init__(port, _Handler)
        self.protocols = protocols
        self.models = list(models or (Model("llama3.2:3b"),))
        self.default = Behaviour()
        self.received: list[Received] = []
        self.listing: bytes | None = None
        """Sent in place of every list of models where it is set."""
        self.listing_s = 0.0
        self.dim = 384
        """Length of embeddings."""
        self.over = threading.Event()
        self._queue: deque[Behaviour] = deque()

    def clear(self) -> None:
        """Remove all queued behaviours."""
        self._queue.clear()

    def queue(self, *behaviours: Behaviour) -> None:
        """Set the behaviours of the next requests for an answer; later ones get `default`."""
        self._queue.extend(behaviours)

    def next_behaviour(self) -> Behaviour:
        try:
            return self._queue.popleft()
        except IndexError:
            return self.default

    def asked(self) -> list[Received]:
        """Return the requests for an answer, oldest first."""
        return [one for one in self.received if one.path in ("/api/chat", "/v1/chat/completions")]

    def embedded(self) -> list[Received]:
        """Return the requests for embeddings, oldest first."""
        return [one for one in self.received if one.path in ("/api/embed", "/v1/embeddings")]


class _Handler(LoopbackHandler):
    server: LLMServer  # pyright: ignore[reportIncompatibleVariableOverride] - narrower than the library says

    def do_GET(self) -> None:  # noqa: N802 - the name is the library's
        self._answer(None)

    def do_POST(self) -> None:  # noqa: N802 - the name is the library's
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            self._answer(json.loads(raw) if raw else None)
        except ValueError:
            self._answer(raw.decode("utf-8", "replace"))

    def _answer(self, body: Any) -> None:
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        path = self.path.split("?")[0]
        if path.startswith("/_"):
            self._controlled(path, body)
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(self.command, path, headers, body, time.monotonic_ns())
        self.server.received.append(received)
        protocol = "ollama" if path.startswith("/api/") else "openai"
        if protocol not in self.server.protocols:
            self._json({"error": "no such path"}, 404)
        elif path in ("/api/tags", "/api/ps", "/api/show", "/v1/models", "/props"):
            self._listing(path, body)
        elif path in ("/api/embed", "/v1/embeddings"):
            self._embed(body, protocol)
        elif path in ("/api/chat", "/v1/chat/completions"):
            _Reply(self, received, self.server.next_behaviour(), protocol).send()
        else:
            self._json({"error": "no such path"}, 404)

    def _controlled(self, path: str, body: Any) -> None:
        if path == "/_queue":
            self.server.queue(*(behaviour_of(one) for one in body))
        elif path == "/_default":
            self.server.default = behaviour_of(body)
        told = [
            {"path": one.path, "headers": one.headers, "body": one.body, "at_ns": one.at_ns, "sent_ns": one.sent_ns}
            for one in (self.server.received[-1:] if "last=1" in self.path else self.server.received)
        ]
        self._json(told if path == "/_received" else {"default": asdict(self.server.default)})

    def _listing(self, path: str, body: Any) -> None:
        self.server.over.wait(self.server.listing_s)
        if self.server.listing is not None:
            self._raw(self.server.listing, 200, "application/json")
        elif path == "/v1/models":
            data = [
                {"id": model.name, "object": "model", "owned_by": "llamacpp" if model.context else "test"}
                for model in self.server.models
            ]
            able = [one.name for one in self.server.models if "vision" in (one.capabilities or ())]
            told = [{"name": name, "model": name, "capabilities": ["completion", "multimodal"]} for name in able]
            self._json({"object": "list", "data": data} | ({"models": told} if told else {}))  # as llama.cpp does
        elif path == "/api/show":
            named = [model for model in self.server.models if isinstance(body, dict) and model.name == body["model"]]
            if not named:
                self._json({"error": f"model '{body}' not found"}, 404)
            else:
                facts = {"general.architecture": "llama", "llama.context_length": named[0].context}
                told = {"details": {"family": named[0].family}} | ({"model_info": facts} if named[0].context else {})
                able = named[0].capabilities
                self._json(told | ({} if able is None else {"capabilities": list(able)}))
        elif path == "/props":
            self._json({"default_generation_settings": {"n_ctx": self.server.models[0].context}, "total_slots": 1})
        else:
            shown = [model for model in self.server.models if path == "/api/tags" or model.is_loaded]
            details = [{"name": one.name, "model": one.name, "details": {"family": one.family}} for one in shown]
            self._json({"models": details})

    def _embed(self, body: Any, protocol: str) -> None:
        """Answer with the words' fixed directions, which are those of the fake text model.

        Of the behaviours it knows `answer`, `status`, `redirect`, `silent` and `raw`.
        """
        from docmind_testkit import FakeEmbedder

        do = self.server.next_behaviour()
        if do.kind == "status":
            self._raw(do.body.encode(), do.status, "application/json")
        elif do.kind == "redirect":
            self._raw(b"", 307, "text/plain", Location=do.location)
        elif do.kind == "silent":
            self.server.over.wait()
            self.close_connection = True
        elif do.kind == "raw":
            self._raw(do.body.encode("latin-1"), 200, "application/json")
        else:
            dim = body.get("dimensions", self.server.dim)
            rows = FakeEmbedder(dim).embed_documents(body["input"]).astype(float) * 3  # of any length, as some do
            told = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows.tolist())]
            self._json({"embeddings": rows.tolist()} if protocol == "ollama" else {"data": told[::-1]})

    def _json(self, value: Any, status: int = 200) -> None:
        self._raw(json.dumps(value).encode(), status, "application/json")

    def _raw(self, data: bytes, status: int, media_type: str, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)


class _Reply:
    """The reply to one request for an answer, according to its behaviour."""

    def __init__(self, handler: _Handler, received: Received, behaviour: Behaviour, protocol: str) -> None:
        self._handler = handler
        self._received = received
        self._do = behaviour
        self._is_ollama = protocol == "ollama"
        self._model = received.body.get("model", "") if isinstance(received.body, dict) else ""

    def send(self) -> None:
        do, handler = self._do, self._handler
        asked = tokens_in(self._received.body)
        context = next((one.context for one in handler.server.models if one.name == self._model), 0)
        if context and asked > context:
            told = {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": asked, "n_ctx": context,
                    "message": "the request exceeds the available context size, try increasing it"}  # fmt: skip
            handler._json({"error": told}, 400)
        elif do.kind == "status" or (do.kind == "blind" and images_of(self._received.body)):
            media_type = "application/json" if do.body.startswith("{") else "text/plain"
            handler._raw(do.body.encode(), do.status, media_type)
        elif do.kind == "redirect":
            handler._raw(b"", do.status if 300 <= do.status < 400 else 307, "text/plain", Location=do.location)
        elif do.kind == "page":
            handler._raw(b"<!doctype html><h1>It works</h1>", 200, "text/html")
        elif do.kind == "plain_json":
            handler._raw(json.dumps({"choices": [{"message": {"content": do.text}}]}).encode(), 200, "application/json")
        elif do.kind == "no_body":
            handler._raw(b"", 200, "application/x-ndjson" if self._is_ollama else "text/event-stream")
        elif do.kind == "silent":
            self._hold()
        else:
            self._stream()

    def _stream(self) -> None:
        handler, do = self._handler, self._do
        handler.send_response(200)
        handler.send_header("Content-Type", "application/x-ndjson" if self._is_ollama else "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        if do.kind == "gzip":
            handler.send_header("Content-Encoding", "gzip")
        handler.end_headers()
        self._pause(do.first_s)
        try:
            if self._told():
                self._chunk(b"")
        except OSError:
            self._received.was_closed.set()
            handler.close_connection = True

    def _told(self) -> bool:
        """Send the answer; return False where it breaks off without the end that HTTP requires."""
        do = self._do
        if do.kind == "raw":
            self._chunk(do.body.encode("latin-1"))
            return True
        if do.kind in ("endless", "heartbeat"):
            while not self._handler.server.over.is_set():
                self._piece("on and on " if do.kind == "endless" else "")
                self._pause(do.delay_s)
            return False
        if do.kind == "endless_line":
            while not self._handler.server.over.is_set():
                self._chunk(b"data: " + b"x" * 65_536)
            return False
        if do.kind == "thinking":
            for word in ("The user ", "wants a number. ", "SECRET THOUGHT. "):
                self._piece("", thinking=word)
        for piece in self._pieces():
            self._piece(piece)
            self._pause(do.delay_s)
        return self._ended()

    def _ended(self) -> bool:
        do = self._do
        if do.kind == "stall":
            self._hold()
            return False
        if do.kind in ("cut", "reset"):
            if do.kind == "reset":
                linger = struct.pack("ii", 1, 0)
                self._handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self._handler.close_connection = True
            return False
        odd = {
            "bad_utf8": b'{"message": {"content": "caf\xe9 \xff"}}',
            "bad_json": b'{"message": {"content": "no end',
            "odd_json": b'["a", {"list": 1}]',
            "error_line": json.dumps({"error": do.body or "the graphics card\nran out of memory"}).encode(),
        }
        if do.kind in odd:
            self._line(odd[do.kind])
            return True
        self._call_tools()
        if do.kind != "unmarked":
            self._done()
        return True

    def _pieces(self) -> list[str]:
        do = self._do
        if do.kind == "empty":
            return []
        if do.pieces:
            return [f"word{number} " for number in range(do.pieces)]
        text = do.text if do.text or do.calls else copied_answer(self._received.body)
        if do.lie:
            text = f"{text} {FALSE_SENTENCE}"
        if do.kind == "think_tags":
            text = f"<think>\nSECRET THOUGHT: {text}\n</think>\n\n{text}"
        return re.findall(r"\S{1,9}\s*|\s+", text)

    def _call_tools(self) -> None:
        calls = self._do.calls
        if not calls:
            return
        if self._is_ollama:
            told = [{"function": {"name": name, "arguments": arguments}} for name, arguments in calls]
            self._line(json.dumps(self._ollama({"role": "assistant", "content": "", "tool_calls": told})).encode())
            return
        for index, (name, arguments) in enumerate(calls):  # as OpenAI does: name first, then arguments in parts
            written = arguments if isinstance(arguments, str) else json.dumps(arguments)
            head = {"index": index, "id": f"call_{index}", "type": "function", "function": {"name": name}}
            self._line(self._openai({"tool_calls": [head]}))
            for at in range(0, len(written), 7):
                part = {"index": index, "function": {"arguments": written[at : at + 7]}}
                self._line(self._openai({"tool_calls": [part]}))

    def _piece(self, text: str, thinking: str = "") -> None:
        if self._is_ollama:
            message = {"role": "assistant", "content": text} | ({"thinking": thinking} if thinking else {})
            line = json.dumps(self._ollama(message)).encode()
        else:
            line = self._openai({"content": text} | ({"reasoning_content": thinking} if thinking else {}))
        self._received.sent_ns.append(time.monotonic_ns())
        self._line(line)

    def _done(self) -> None:
        if self._is_ollama:
            end = self._ollama({"role": "assistant", "content": ""}) | {"done": True, "done_reason": "stop"}
            self._line(json.dumps(end | {"eval_count": 7, "prompt_eval_count": 11}).encode())
            return
        self._line(self._openai({}, "tool_calls" if self._do.calls else "stop"))
        self._line(b"[DONE]")

    def _ollama(self, message: dict[str, Any]) -> dict[str, Any]:
        return {"model": self._model, "created_at": "2026-11-21T12:00:00Z", "message": message, "done": False}

    def _openai(self, delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": {"role": "assistant"} | delta, "finish_reason": reason}
        chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": self._model, "choices": [choice]}
        return json.dumps(chunk).encode()

    def _line(self, line: bytes) -> None:
        self._chunk(line + b"\n" if self._is_ollama else b"data: " + line + b"\n\n")

    def _chunk(self, data: bytes) -> None:
        self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _pause(self, seconds: float) -> None:
        if seconds and self._hung_up(seconds):
            raise ConnectionError("the client hung up")

    def _hold(self) -> None:
        """Send nothing until the client hangs up or the server is closed."""
        while not self._handler.server.over.is_set():
            if self._hung_up(0.02):
                self._received.was_closed.set()
                break
        self._handler.close_connection = True

    def _hung_up(self, seconds: float) -> bool:
        """Return whether the client has closed the connection within that time."""
        connection = self._handler.connection
        connection.settimeout(seconds)
        try:
            return connection.recv(1, socket.MSG_PEEK) == b""
        except TimeoutError:
            return False
        except OSError:
            return True
        finally:
            connection.settimeout(None)


def copied_answer(body: Any) -> str:
    """Return up to three verbatim sentences of the prompt's passages, which share most words with the question."""
    prompt = "\n".join(text_of(one) for one in body.get("messages", [])) if isinstance(body, dict) else ""
    passages = re.findall(r"<passage[^>]*>\n(.*?)(?:\n?</passage>|\Z)", prompt, re.DOTALL)
    asked = re.findall(r"Question: (.*)", prompt)
    if not passages:
        return "The documents do not say it."
    words = set(re.findall(r"\w{3,}", (asked[-1] if asked else "").lower()))
    sentences = [
        sentence
        for passage in passages
        for sentence in re.split(r"(?<=[.!?])\s+", " ".join(passage.split()))
        if 20 <= len(sentence) <= 300 and sentence[-1] in ".!?"
    ] or [passages[0][:200]]
    shared = [len(words & set(re.findall(r"\w{3,}", sentence.lower()))) for sentence in sentences]
    best = sorted(range(len(sentences)), key=lambda at: (-shared[at], at))[:3]
    return " ".join(sentences[at] for at in best)


def text_of(message: dict[str, Any]) -> str:
    """Return the text of a message, which OpenAI's protocol may have in parts."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def tokens_in(body: Any) -> int:
    """Return how many tokens a prompt has for a tokenizer with pieces of up to six letters, and each digit alone."""
    messages = body.get("messages", []) if isinstance(body, dict) else []
    return sum(len(re.findall(r"\d|[^\W\d_]{1,6}|[^\w\s]", text_of(one))) for one in messages)


def images_of(body: Any) -> list[tuple[str, bytes]]:
    """Return the images of a request with their media types, in order. Raises `ValueError` where one is not base64.

    Ollama's protocol names no media type; there it is told from the first bytes.
    """
    found: list[tuple[str, bytes]] = []
    for message in body.get("messages", []) if isinstance(body, dict) else []:
        for told in message.get("images") or ():
            data = base64.b64decode(told, validate=True)
            found.append(("image/jpeg" if data.startswith(b"\xff\xd8\xff") else "unknown", data))
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if part["type"] == "image_url":
                head, _, data = part["image_url"]["url"].partition(";base64,")
                found.append((head.removeprefix("data:"), base64.b64decode(data, validate=True)))
    return found


def behaviour_of(told: dict[str, Any]) -> Behaviour:
    """Build a behaviour from JSON; calls are lists of (name, arguments)."""
    calls = tuple((name, arguments) for name, arguments in told.get("calls", ()))
    fields: dict[str, Any] = told | {"calls": calls}
    return Behaviour(**fields)


@contextlib.contextmanager
def serving(
    port: int = 0, *, protocols: tuple[str, ...] = ("ollama", "openai"), models: tuple[Model, ...] = ()
) -> Iterator[LLMServer]:
    """Run a server in threads of this process, closed afterwards."""
    server = LLMServer(port, protocols=protocols, models=models)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        thread.join()
        server.server_close()


def main() -> None:
    """Serve until the process is ended; the first line printed is the address."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--behaviour", default="answer", help="of every answer: a kind of `Behaviour`")
    parser.add_argument("--text", default="")
    parser.add_argument("--first", type=float, default=0.0, help="seconds before the first piece")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds between pieces")
    parser.add_argument("--lie", action="store_true", help="add a sentence that no document supports")
    parser.add_argument("--protocol", choices=["ollama", "openai", "both"], default="both")
    parser.add_argument("--model", action="append", help="a model it lists; may be given again")
    options = parser.parse_args()
    protocols = ("ollama", "openai") if options.protocol == "both" else (options.protocol,)
    models = tuple(Model(name) for name in options.model or ())
    with serving(options.port, protocols=protocols, models=models) as server:
        told = {"kind": options.behaviour, "text": options.text, "first_s": options.first, "delay_s": options.delay}
        server.default = replace(behaviour_of(told), lie=options.lie)
        print(server.url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.over.wait()


if __name__ == "__main__":
    main()
