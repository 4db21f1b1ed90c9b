"""The transport between a model's server and the libraries: checked, limited in size, and valid UTF-8.

All text of a server about itself is untrusted: it is shortened to one line before it is shown.
"""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import dataclass

import httpx

from docmind.errors import (
    ContextExceededError,
    ImagesRefusedError,
    LanguageModelBrokenError,
    LanguageModelDownError,
    LanguageModelError,
)
from docmind.llm.base import ToolCall
from docmind.network import Connection, Endpoint, Resolve, resolve_here
from docmind.records.conversations import ModelInfo
from docmind.rich_text import plain_line
from docmind.wording import _

_REFUSAL = 64 * 1024  # bytes of the body of a refusal
_SPARE = 1024 * 1024  # bytes that a server may send in addition to its tokens
_PER_TOKEN = 4096  # bytes: the JSON around one token is about 300
_OF_IMAGES = re.compile(r"\bimages?\b|image_url|\bimage[ _]input|\bvision\b|\bmulti-?modal|\bmmproj", re.IGNORECASE)
_OF_CONTEXT = re.compile(
    r"\bcontext\b(?:(?!\bcontext\b).)*\b(?:size|length|window)|exceed(?:(?!exceed).)*\bcontext|\bcontext_length",
    re.IGNORECASE,
)
_OF_REQUEST = frozenset({400, 413, 415, 422})  # the request cannot be used, whatever the body says of it
_CONTROLS = dict.fromkeys(code for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t")


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One piece of a model's output: text, or a thought that is not shown, or calls, or the end."""

    text: str = ""
    is_thought: bool = False
    calls: tuple[ToolCall, ...] = ()
    end: str = ""
    """Why the answer ended, in the server's word; empty before."""


class Wire(Connection):
    """One request to a model's server.

    Raises `LanguageModelDownError` where the server refuses, and `LanguageModelBrokenError` where its answer is not
    text or too long, through whatever library reads it.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        info: ModelInfo,
        *,
        key: str = "",
        max_tokens: int,
        has_images: bool = False,
        resolve: Resolve = resolve_here,
    ) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        super().__init__(endpoint, self._look, headers=headers, resolve=resolve)
        self.info = info
        self._has_images = has_images
        self.tail = b""
        """The last bytes of the answer."""
        self._taken = 0
        self._most = _SPARE + _PER_TOKEN * max_tokens
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    @property
    def server(self) -> str:
        """The server's name for use in a sentence."""
        if self.info.provider == "inside":
            return _("The model {model} inside DocMind").format(model=plain_line(self.info.model, 60))
        return f"{'Ollama' if self.info.provider == 'ollama' else 'The model server'} at {self.endpoint.label}"

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        if response.status_code != 200:
            raise self._refusal(response)
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        is_stream = kind != "text/html" if self.info.provider == "ollama" else kind == "text/event-stream"
        if not is_stream:
            response.close()
            raise LanguageModelBrokenError(
                _("{server} doesn't answer like a language model.").format(server=self.server)
            )
        return response

    def broken(self, said: str) -> LanguageModelError:
        """Return the error for a message that the server sends within its answer."""
        told = plain_line(said).rstrip(".")
        if self._has_images and _OF_IMAGES.search(told):
            return ImagesRefusedError(_("{server} refuses images: {told}.").format(server=self.server, told=told))
        return LanguageModelBrokenError(_("{server} broke off: {told}.").format(server=self.server, told=told))

    def _look(self, piece: bytes) -> None:
        self._taken += len(piece)
        if self._taken > self._most:
            raise LanguageModelBrokenError(
                _("{server} doesn't end its answer. What it wrote is kept.").format(server=self.server)
            )
        try:
            self._decoder.decode(piece)
        except UnicodeDecodeError as error:
            raise LanguageModelBrokenError(
                _("{server} sent something that isn't text.").format(server=self.server)
            ) from error
        self.tail = (self.tail + piece)[-64:]

    def _refusal(self, response: httpx.Response) -> LanguageModelError:
        body = b""
        try:
            for piece in response.iter_raw():
                body += piece
                if len(body) > _REFUSAL:
                    break
        except (httpx.TransportError, LanguageModelBrokenError):
            body = b""  # the body of the refusal is broken too
        finally:
            response.close()
        said, status = _said(body), response.status_code
        if status == 404 and "model" in said.lower():
            asked = plain_line(self.info.model)
            by = (
                _(" It can be fetched with `ollama pull {asked}`.").format(asked=asked)
                if self.info.provider == "ollama"
                else ""
            )
            return LanguageModelDownError(
                _("{server} has no model {asked}.").format(server=self.server, asked=asked),
                hint=_("Choose another model in Settings.{by}").format(by=by),
            )
        if self._has_images and (status in _OF_REQUEST or _OF_IMAGES.search(said)):
            return ImagesRefusedError(
                _("{server} refuses images").format(server=self.server) + (f": {said}." if said else ".")
            )
        if self.info.provider == "inside" and "context" in said.lower():
            return ContextExceededError(
                _(
                    "{server} takes at most {context_tokens:,} tokens at once; the question with its pages has more."
                ).format(server=self.server, context_tokens=self.info.context_tokens),
                hint=_(
                    "Ask in fewer words, raise DOCMIND_LLM__CONTEXT_TOKENS, or choose a model with a larger context."
                ),
            )
        if status in _OF_REQUEST and _OF_CONTEXT.search(said):
            return ContextExceededError(
                _("The question is too long for {server}: {said}.").format(server=self.server, said=said)
            )
        told = _("{server} refuses with status {status}").format(server=self.server, status=status) + (
            f": {said}" if said else ""
        )
        return LanguageModelDownError(f"{told}.", hint=_hint(status, said.lower()))


def _hint(status: int, said: str) -> str:
    """Return a hint on how to fix a refusal."""
    if status in (401, 403):
        return _("Set DOCMIND_LLM__API_KEY to a key that it accepts.")
    if status == 429:
        return _("It has too much to do: wait a little and try again.")
    if "tool" in said:
        return _("Choose a model that can call tools, or ask without agent mode.")
    if "context" in said:
        return _("Lower DOCMIND_LLM__CONTEXT_TOKENS to what the server was started with.")
    return _("Try again, or look at the log of the model's server.")


def sound(text: str) -> str:
    """Return text that can be stored and shown.

    Lone surrogates (possible in JSON) are replaced, control characters other than line ends and tabs are removed.
    """
    if text.isascii() and text.isprintable():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").translate(_CONTROLS)


def sound_call(call: ToolCall) -> ToolCall:
    """Return the call with sound text. Raises `ValueError` where its arguments are not plain JSON."""
    written = json.dumps(call.arguments, ensure_ascii=False, allow_nan=False)
    repaired = written.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return ToolCall(plain_line(sound(call.call_id)), plain_line(sound(call.name)), json.loads(repaired))


def _said(body: bytes) -> str:
    """Return the message of a refusal's body: its `error` or `message` in JSON, plain text, nothing of HTML."""
    text = body.decode("utf-8", "replace")
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return "" if "<" in text[:64] else plain_line(text).rstrip(".")
    for name in ("error", "message", "detail"):
        if isinstance(told, dict) and name in told:
            told = told[name]
    return plain_line(told).rstrip(".") if isinstance(told, str) else ""
