"""A language model on a server: asked through LlamaIndex, read in a thread of its own, given up when it is too slow."""

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
from docmind.conversation import ModelInfo
from docmind.endpoint import Endpoint, Resolve, permit, resolve_here
from docmind.errors import DocMindError, EndpointRefusedError, LanguageModelBrokenError, LanguageModelDownError
from docmind.llm.contract import Message, Stop, Tool, ToolCall
from docmind.llm.thoughts import Thoughts
from docmind.llm.wire import Heard, Wire, sound, sound_call

_LOOK_S = 0.05
"""How often `stop` is asked while nothing comes."""
_SPARE_PIECES = 64
_CHARS_PER_TOKEN = 24  # no vocabulary has longer tokens on average, over a whole answer
_MALFORMED = (ValueError, TypeError, LookupError, AttributeError, AssertionError, RecursionError)
"""What the libraries raise over an answer that is not shaped as it should be."""

_ASKED = Heard()
_Queue = queue.SimpleQueue["Heard | Exception | None"]


class ServedModel:
    """A `ChatModel` behind an address. Safe from any thread: every call has its own connection and reading thread.

    LlamaIndex and the server's library are imported in that thread when the first question is asked, or by `warm`.
    """

    def __init__(
        self, info: ModelInfo, settings: LLMSettings, *, key: str = "", resolve: Resolve = resolve_here
    ) -> None:
        self.info = info
        self._settings = settings
        self._key = key
        self._resolve = resolve

    def warm(self) -> None:
        """Import what asking needs: a second or two, once per process. Asks nothing. Raises `EndpointRefusedError`."""
        wire = self._wire()
        room = _room(self.info)
        room.model_of(wire, self._settings, 1.0)
        room.rehearse(wire, self._settings)
        wire.close()

    def stream(self, messages: Sequence[Message], stop: Stop) -> Iterator[str]:
        """Pieces of the answer as they come; see `ChatModel`."""
        return (piece for piece in self._ask(messages, (), stop) if isinstance(piece, str))

    def step(self, messages: Sequence[Message], tools: Sequence[Tool], stop: Stop) -> Iterator[str | ToolCall]:
        """The same with tools: pieces of text, then calls; see `ChatModel`."""
        return self._ask(messages, tools, stop)

    def _ask(self, messages: Sequence[Message], tools: Sequence[Tool], stop: Stop) -> Iterator[str | ToolCall]:
        wire = self._wire()
        heard: _Queue = queue.SimpleQueue()
        threading.Thread(
            target=self._listen, args=(wire, messages, tools, heard), name="docmind-llm", daemon=True
        ).start()
        try:
            yield from self._read(wire, heard, stop)
        finally:
            wire.abort()

    def _wire(self) -> Wire:
        endpoint = permit(self.info.url, self._settings.allowed_hosts)
        key = key_for(endpoint, self._key)
        return Wire(endpoint, self.info, key=key, max_tokens=self._settings.max_tokens, resolve=self._resolve)

    def _listen(self, wire: Wire, messages: Sequence[Message], tools: Sequence[Tool], heard: _Queue) -> None:
        # The reader gives up long before; this bounds the thread of a stream that nobody reads.
        timeout_s = self._settings.first_token_s + self._settings.stall_s
        try:
            room = _room(self.info)
            model = room.model_of(wire, self._settings, timeout_s)
            heard.put(_ASKED)
            for piece in room.hear(model, wire, messages, tools):
                heard.put(replace(piece, calls=tuple(map(sound_call, piece.calls))) if piece.calls else piece)
            heard.put(None)
        except Exception as error:  # noqa: BLE001 - raised again where the stream is read
            heard.put(error)
        finally:
            wire.close()

    def _read(self, wire: Wire, heard: _Queue, stop: Stop) -> Iterator[str | ToolCall]:
        thoughts, pieces, chars, has_answered, has_begun = Thoughts(), 0, 0, False, False
        last = math.inf  # no server is asked while libraries are imported
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
                    f"{wire.server} broke off in the middle of its answer."
                    if has_begun
                    else f"{wire.server} does not answer as a language model does."
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
                f"{wire.server} has not begun to answer within {settings.first_token_s:g} seconds.",
                hint="It may still be loading the model: try again, or raise DOCMIND_LLM__FIRST_TOKEN_S.",
            )
        if has_begun and silent_s > settings.stall_s:
            raise LanguageModelDownError(
                f"{wire.server} has said nothing for {settings.stall_s:g} seconds in the middle of its answer.",
                hint="Try again, or raise DOCMIND_LLM__STALL_S; what it wrote so far is kept.",
            )

    def _refuse_excess(self, wire: Wire, pieces: int, chars: int) -> None:
        most = self._settings.max_tokens
        if pieces > most + _SPARE_PIECES or chars > _CHARS_PER_TOKEN * most:
            raise LanguageModelBrokenError(
                f"{wire.server} writes on after the {most} tokens that it was allowed; what came is kept."
            )

    def _empty(self, wire: Wire, end: str) -> LanguageModelBrokenError:
        if end == "length":
            return LanguageModelBrokenError(
                f"{wire.server} used all of its {self._settings.max_tokens} tokens for thinking.",
                hint="Raise DOCMIND_LLM__MAX_TOKENS, or choose a model that thinks less.",
            )
        return LanguageModelBrokenError(f"{wire.server} answered with nothing.")


def key_for(endpoint: Endpoint, key: str) -> str:
    """The key, unless others could read it on its way. Raises `EndpointRefusedError`."""
    if key and endpoint.scheme == "http" and not endpoint.is_local:
        raise EndpointRefusedError(
            f"The key for {endpoint.label} would travel unencrypted.", hint="Use an https address, or unset the key."
        )
    return key


def _room(info: ModelInfo) -> ModuleType:
    """The module that speaks to this kind of server."""
    if info.provider == "ollama":
        from docmind.llm import ollama as room
    else:
        from docmind.llm import openai_like as room
    return room


def _told(wire: Wire, error: BaseException, has_begun: bool) -> BaseException:
    """What a failure of the reading thread means in one sentence; a mistake of ours stays what it is."""
    at: BaseException | None = error
    while at is not None:  # libraries wrap what our own wire raised
        if isinstance(at, DocMindError):
            return at
        if isinstance(at, httpx.ConnectError | httpx.ConnectTimeout):
            return LanguageModelDownError(f"{wire.server} cannot be reached.")
        if isinstance(at, httpx.TransportError):
            if has_begun:
                return LanguageModelBrokenError(f"{wire.server} broke off in the middle of its answer.")
            return LanguageModelDownError(f"{wire.server} hung up before it answered.")
        at = at.__cause__ or at.__context__
    if isinstance(error, _MALFORMED):
        if has_begun:
            return LanguageModelBrokenError(f"{wire.server} sent something within its answer that cannot be read.")
        return LanguageModelBrokenError(f"{wire.server} does not answer as a language model does.")
    return error
