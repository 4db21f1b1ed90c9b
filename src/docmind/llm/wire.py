"""What passes between a model's server and the libraries: looked at before they see it, bounded, and plain UTF-8.

Whatever a server says about itself is hostile text: it is shortened to one line before it is told.
"""

from __future__ import annotations

import codecs
import json
import unicodedata
from dataclasses import dataclass

import httpx

from docmind.conversation import ModelInfo
from docmind.endpoint import Connection, Endpoint, Resolve, resolve_here
from docmind.errors import LanguageModelBrokenError, LanguageModelDownError, LanguageModelError
from docmind.llm.contract import ToolCall

_TOLD = 160  # characters of what a server says
_REFUSAL = 64 * 1024  # bytes of the body of a refusal
_SPARE = 1024 * 1024  # bytes that a server may send whatever it was asked
_PER_TOKEN = 4096  # bytes: the JSON around one token is about 300
_CONTROLS = dict.fromkeys(code for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t")


@dataclass(frozen=True, slots=True)
class Heard:
    """One piece of what a model sends: text, or a thought of no concern to the reader, or calls, or its end."""

    text: str = ""
    is_thought: bool = False
    calls: tuple[ToolCall, ...] = ()
    end: str = ""
    """Why it ended, in the server's word; empty before."""


class Wire(Connection):
    """One request to a model's server. Raises `LanguageModelDownError` where it refuses, and
    `LanguageModelBrokenError` where its answer is no text or too long, through whatever library reads it."""

    def __init__(
        self,
        endpoint: Endpoint,
        info: ModelInfo,
        *,
        key: str = "",
        max_tokens: int,
        resolve: Resolve = resolve_here,
    ) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        super().__init__(endpoint, self._look, headers=headers, resolve=resolve)
        self.info = info
        self.tail = b""
        """The last bytes of the answer."""
        self._taken = 0
        self._most = _SPARE + _PER_TOKEN * max_tokens
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    @property
    def server(self) -> str:
        """What the server is called in a sentence."""
        return f"{'Ollama' if self.info.provider == 'ollama' else 'The model server'} at {self.endpoint.label}"

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if response.status_code != 200:
            raise self._refusal(response)
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        is_stream = kind == "text/event-stream" if self.info.provider == "openai" else kind != "text/html"
        if not is_stream:
            response.close()
            raise LanguageModelBrokenError(f"{self.server} does not answer as a language model does.")
        return response

    def _look(self, piece: bytes) -> None:
        self._taken += len(piece)
        if self._taken > self._most:
            raise LanguageModelBrokenError(f"{self.server} does not end its answer; what came is kept.")
        try:
            self._decoder.decode(piece)
        except UnicodeDecodeError as error:
            raise LanguageModelBrokenError(f"{self.server} sent bytes that are no text.") from error
        self.tail = (self.tail + piece)[-64:]

    def _refusal(self, response: httpx.Response) -> LanguageModelError:
        body = b""
        try:
            for piece in response.iter_raw():
                body += piece
                if len(body) > _REFUSAL:
                    break
        except (httpx.TransportError, LanguageModelBrokenError):
            body = b""  # what it says about its refusal is broken too
        finally:
            response.close()
        said, status = _said(body), response.status_code
        if status == 404 and "model" in said.lower():
            asked = one_line(self.info.model)
            by = f" It can be fetched with `ollama pull {asked}`." if self.info.provider == "ollama" else ""
            return LanguageModelDownError(
                f"{self.server} has no model {asked}.", hint=f"Choose another model in Settings.{by}"
            )
        told = f"{self.server} refuses with status {status}" + (f": {said}" if said else "")
        return LanguageModelDownError(f"{told}.", hint=_hint(status, said.lower()))


def _hint(status: int, said: str) -> str:
    """What helps against a refusal."""
    if status in (401, 403):
        return "Set DOCMIND_LLM__API_KEY to a key that it accepts."
    if status == 429:
        return "It has too much to do: wait a little and try again."
    if "tool" in said:
        return "Choose a model that can call tools, or ask without agent mode."
    if "context" in said:
        return "Lower DOCMIND_LLM__CONTEXT_TOKENS to what the server was started with."
    return "Try again, or look at the log of the model's server."


def sound(text: str) -> str:
    """Text that can be stored and shown: lone surrogates (which JSON can spell) are replaced, control characters but
    line ends and tabs are left out."""
    if text.isascii() and text.isprintable():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").translate(_CONTROLS)


def sound_call(call: ToolCall) -> ToolCall:
    """The same call with such text in it. Raises `ValueError` where its arguments are no plain JSON."""
    written = json.dumps(call.arguments, ensure_ascii=False, allow_nan=False)
    repaired = written.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return ToolCall(one_line(sound(call.call_id)), one_line(sound(call.name)), json.loads(repaired))


def one_line(text: str, most: int = _TOLD) -> str:
    """Foreign text in one line, without anything that moves the cursor or turns the writing, cut at `most`."""
    plain = "".join(" " if unicodedata.category(char).startswith(("C", "Z")) else char for char in text[: 8 * most])
    plain = " ".join(plain.split())
    return plain if len(plain) <= most else f"{plain[: most - 1]}…"


def _said(body: bytes) -> str:
    """What the body of a refusal says: its `error` or `message` where it is JSON, text as it is, nothing of a page."""
    text = body.decode("utf-8", "replace")
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return "" if "<" in text[:64] else one_line(text).rstrip(".")
    for name in ("error", "message", "detail"):
        if isinstance(told, dict) and name in told:
            told = told[name]
    return one_line(told).rstrip(".") if isinstance(told, str) else ""
