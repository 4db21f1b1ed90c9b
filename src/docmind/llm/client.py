"""A language model on a server, called through LlamaIndex.

Its stream is read in a separate thread, with time limits. Reasoning models think before they answer: thinking tags at
the start are filtered, not shown.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import ModuleType

import httpx

from docmind.config import LLMSettings
from docmind.errors import (
    DocMindError,
    EndpointRefusedError,
    ImagesRefusedError,
    LanguageModelBrokenError,
    LanguageModelDownError,
)
from docmind.llm.base import Message, Stop, Tool, ToolCall
from docmind.llm.transport import StreamEvent, Wire, sound, sound_call
from docmind.network import Endpoint, Resolve, permit, resolve_here
from docmind.records.conversations import ModelInfo
from docmind.wording import _

_OPENED = ("<think>", "<thinking>", "<reasoning>")


class Thoughts:
    """The filter of one answer: takes its pieces and returns the visible text. Not thread-safe.

    Only a tag at the very start counts: a later one may be what the user asked about.
    """

    def __init__(self) -> None:
        self._held = ""
        self._closing = ""
        self._is_answer = False

    def take(self, piece: str) -> str:
        """Return the part of the answer that this piece completes; empty while the model thinks."""
        if self._is_answer:
            return piece
        self._held += piece
        while True:
            if self._closing:
                _unused, closed, after = self._held.partition(self._closing)
                if not closed:
                    self._held = self._held[-len(self._closing) :]  # a closing tag may be split
                    return ""
                self._closing, self._held = "", after
            begun = self._held.lstrip()
            tag = next((tag for tag in _OPENED if begun.startswith(tag)), "")
            if tag:
                self._closing, self._held = tag.replace("<", "</"), begun[len(tag) :]
            elif any(tag.startswith(begun) for tag in _OPENED):  # empty so far, or a split opening tag
                return ""
            else:
                return self._answer(begun)

    def rest(self) -> str:
        """Return the text held back at the end: empty, unless the answer ended within a possible tag."""
        return "" if self._closing or self._is_answer else self._answer(self._held.strip())

    def _answer(self, text: str) -> str:
        self._is_answer, self._held = True, ""
        return text


_LOOK_S = 0.05
"""How often `stop` is checked while nothing arrives."""
_SPARE_PIECES = 64
_CHARS_PER_TOKEN = 24  # no vocabulary has longer tokens on average, over a whole answer
_MALFORMED = (ValueError, TypeError, LookupError, AttributeError, AssertionError, RecursionError)
"""Errors that the libraries raise for malformed answers."""

_ASKED = StreamEvent()
_Queue = queue.SimpleQueue["StreamEvent | Exception | None"]


class ServedModel:
    """A `ChatModel` behind an address. Thread-safe: every call has its own connection and reading thread.

    LlamaIndex and the server's library are imported in that thread for the first question, or by `warm`.
    """

    def __init__(
        self,
        info: ModelInfo,
        settings: LLMSettings,
        *,
        key: str = "",
        resolve: Resolve = resolve_here,
        endpoint: Endpoint | None = None,
    ) -> None:
        """`endpoint` is where the model answers, in place of the URL of `info`."""
        self.info = info
        self._endpoint = endpoint
        self._settings = settings
        self._key = key
        self._resolve = resolve

    def warm(self) -> None:
        """Import the libraries: a second or two, once per process. Sends nothing. Raises `EndpointRefusedError`."""
        wire = self._wire()
        room = _room(self.info)
        room.model_of(wire, self._settings, 1.0)
        room.rehearse(wire, self._settings)
        wire.close()

    def stream(self, messages: Sequence[Message], stop: Stop) -> Iterator[str]:
        """Yield pieces of the answer as they arrive; see `ChatModel`."""
        return (piece for piece in self._ask(messages, (), stop) if isinstance(piece, str))

    def step(self, messages: Sequence[Message], tools: Sequence[Tool], stop: Stop) -> Iterator[str | ToolCall]:
        """Yield pieces of text, then tool calls; see `ChatModel`."""
        return self._ask(messages, tools, stop)

    def _ask(self, messages: Sequence[Message], tools: Sequence[Tool], stop: Stop) -> Iterator[str | ToolCall]:
        wire = self._wire(has_images=any(message.images for message in messages))
        heard: _Queue = queue.SimpleQueue()
        threading.Thread(
            target=self._listen, args=(wire, messages, tools, heard), name="docmind-llm", daemon=True
        ).start()
        try:
            yield from self._read(wire, heard, stop)
        finally:
            wire.abort()

    def _wire(self, *, has_images: bool = False) -> Wire:
        endpoint = self._endpoint or permit(self.info.url, self._settings.allowed_hosts, "language model")
        key = key_for(endpoint, self._key)
        return Wire(
            endpoint,
            self.info,
            key=key,
            max_tokens=self._settings.max_tokens,
            has_images=has_images,
            resolve=self._resolve,
        )

    def _listen(self, wire: Wire, messages: Sequence[Message], tools: Sequence[Tool], heard: _Queue) -> None:
        # The reader stops much earlier; this limits the thread of a stream that is not read.
        timeout_s = self._settings.first_token_s + self._settings.stall_s
        try:
            room = _room(self.info)
            model = room.model_of(wire, self._settings, timeout_s)
            heard.put(_ASKED)
            for piece in room.hear(model, wire, messages, tools):
                heard.put(replace(piece, calls=tuple(map(sound_call, piece.calls))) if piece.calls else piece)
            heard.put(None)
        except Exception as error:  # noqa: BLE001 - raised again by the reader of the stream
            heard.put(error)
        finally:
            wire.close()

    def _read(self, wire: Wire, heard: _Queue, stop: Stop) -> Iterator[str | ToolCall]:
        thoughts, pieces, chars, has_answered, has_begun = Thoughts(), 0, 0, False, False
        last = math.inf  # no request is sent while libraries are imported
        while not stop():
            try:
                piece = heard.get(timeout=_LOOK_S)
            except queue.Empty:
                self._refuse_silence(wire, time.monotonic() - last, has_begun)
                continue
            if isinstance(piece, Exception):
                if stop():
                    return
                raise _told(wire, piece, has_begun) from piece
            if piece is None:
                raise LanguageModelBrokenError(
                    _("{server} broke off in the middle of its answer.").format(server=wire.server)
                    if has_begun
                    else _("{server} doesn't answer like a language model.").format(server=wire.server)
                )
            last = time.monotonic()
            if piece is _ASKED:
                continue
            has_begun = True
            pieces, chars = pieces + 1, chars + len(piece.text)
            self._refuse_excess(wire, pieces, chars)
            text = thoughts.rest() if piece.end or piece.calls else thoughts.take(sound(piece.text))
            if text:
                has_answered = has_answered or not text.isspace()
                yield text
            yield from piece.calls
            has_answered = has_answered or bool(piece.calls)
            if piece.end:
                if not has_answered:
                    raise self._empty(wire, piece.end)
                return

    def _refuse_silence(self, wire: Wire, silent_s: float, has_begun: bool) -> None:
        settings = self._settings
        if not has_begun and silent_s > settings.first_token_s:
            raise LanguageModelDownError(
                _("{server} didn't begin to answer within {first_token_s:g} seconds.").format(
                    server=wire.server, first_token_s=settings.first_token_s
                ),
                hint=_("It may still be loading the model: try again, or raise DOCMIND_LLM__FIRST_TOKEN_S."),
            )
        if has_begun and silent_s > settings.stall_s:
            raise LanguageModelDownError(
                _("{server} stopped for {stall_s:g} seconds in the middle of its answer.").format(
                    server=wire.server, stall_s=settings.stall_s
                ),
                hint=_("Try again, or raise DOCMIND_LLM__STALL_S. What it wrote is kept."),
            )

    def _refuse_excess(self, wire: Wire, pieces: int, chars: int) -> None:
        most = self._settings.max_tokens
        if pieces > most + _SPARE_PIECES or chars > _CHARS_PER_TOKEN * most:
            raise LanguageModelBrokenError(
                _("{server} doesn't stop after its limit of {most} tokens. What it wrote is kept.").format(
                    server=wire.server, most=most
                )
            )

    def _empty(self, wire: Wire, end: str) -> LanguageModelBrokenError:
        if end == "length":
            return LanguageModelBrokenError(
                _("{server} used all of its {max_tokens} tokens for thinking.").format(
                    server=wire.server, max_tokens=self._settings.max_tokens
                ),
                hint=_("Raise DOCMIND_LLM__MAX_TOKENS, or choose a model that thinks less."),
            )
        return LanguageModelBrokenError(_("{server} sent an empty answer.").format(server=wire.server))


def key_for(endpoint: Endpoint, key: str) -> str:
    """Return the key, unless it would be sent unencrypted. Raises `EndpointRefusedError`."""
    if key and endpoint.scheme == "http" and not endpoint.is_local:
        raise EndpointRefusedError(
            _("The key for {label} would be sent unencrypted.").format(label=endpoint.label),
            hint=_("Use an https address, or unset the key."),
        )
    return key


def _room(info: ModelInfo) -> ModuleType:
    """Return the module for this kind of server."""
    if info.provider == "ollama":
        from docmind.llm import ollama as room
    else:
        from docmind.llm import openai as room
    return room


def _told(wire: Wire, error: BaseException, has_begun: bool) -> BaseException:
    """Return a failure of the reading thread as one sentence; bugs of DocMind are returned unchanged."""
    at: BaseException | None = error
    while at is not None:  # libraries wrap the errors of `Wire`
        if isinstance(at, ImagesRefusedError) and has_begun:
            return LanguageModelBrokenError(
                _("{server} broke off in the middle of its answer.").format(server=wire.server)
            )
        if isinstance(at, DocMindError):
            return at
        if isinstance(at, httpx.ConnectError | httpx.ConnectTimeout):
            return LanguageModelDownError(_("{server} cannot be reached.").format(server=wire.server))
        if isinstance(at, httpx.TransportError):
            if has_begun:
                return LanguageModelBrokenError(
                    _("{server} broke off in the middle of its answer.").format(server=wire.server)
                )
            return LanguageModelDownError(
                _("{server} closed the connection before it answered.").format(server=wire.server)
            )
        at = at.__cause__ or at.__context__
    if isinstance(error, _MALFORMED):
        if has_begun:
            return LanguageModelBrokenError(_("{server} sent an answer that can't be read.").format(server=wire.server))
        return LanguageModelBrokenError(_("{server} doesn't answer like a language model.").format(server=wire.server))
    return error
