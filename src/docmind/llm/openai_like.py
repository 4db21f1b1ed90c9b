"""Asks an OpenAI-compatible server (llama.cpp, LM Studio, vLLM) through LlamaIndex's `OpenAILike`, over our wire."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import httpx

from docmind.config import LLMSettings
from docmind.errors import LanguageModelBrokenError, LanguageModelDownError
from docmind.llm.chat import chat_messages, offered
from docmind.llm.contract import Message, Tool, ToolCall
from docmind.llm.wire import Heard, Wire, one_line
from docmind.loading import ALONE

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

_THOUGHTS = ("reasoning_content", "reasoning")
_MOST_CALLS = 32


def model_of(wire: Wire, settings: LLMSettings, timeout_s: float) -> LLM:
    """The model, ready to be asked; imports what asking needs."""
    with ALONE:
        import openai.resources.chat.completions  # noqa: F401 - `openai` itself would do it within the first question
        from llama_index.llms.openai_like import OpenAILike

    client = httpx.Client(transport=wire, follow_redirects=False, trust_env=False, timeout=timeout_s)
    try:
        return _made(OpenAILike, wire, settings, client, timeout_s)
    except ValueError as error:  # LlamaIndex knows some names of OpenAI's that have another interface
        raise LanguageModelDownError(
            f"{wire.server} offers {one_line(wire.info.model)} in a way that is not spoken here.",
            hint="Choose another model in Settings.",
        ) from error


def _made(kind: Any, wire: Wire, settings: LLMSettings, client: httpx.Client, timeout_s: float) -> LLM:
    return kind(
        model=wire.info.model,
        api_base=wire.endpoint.url,
        api_key="none",  # the real one is put on by the wire, and the environment's is never read
        is_chat_model=True,
        is_function_calling_model=True,
        context_window=settings.context_tokens,
        max_tokens=settings.max_tokens,
        temperature=settings.temperature,
        max_retries=0,
        timeout=timeout_s,
        http_client=client,
    )


def rehearse(wire: Wire, settings: LLMSettings) -> None:
    """Ask once without a server: what the library puts off until then takes a tenth of a second."""
    chunk = {"id": "", "object": "chat.completion.chunk", "created": 0, "model": "", "choices": [
        {"index": 0, "delta": {"role": "assistant", "content": "."}, "finish_reason": "stop"}
    ]}  # fmt: skip
    said = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"
    reply = httpx.Response(200, headers={"content-type": "text/event-stream"}, text=said)
    with httpx.Client(transport=httpx.MockTransport(lambda request: reply)) as client:
        from llama_index.llms.openai_like import OpenAILike

        model = _made(OpenAILike, wire, settings, client, 1.0)
        for _ in model.stream_chat(chat_messages((Message("user", "."),))):
            pass


def hear(model: LLM, wire: Wire, messages: Sequence[Message], tools: Sequence[Tool]) -> Iterator[Heard]:
    """What the model sends, piece by piece; the last piece has an `end`, unless the server broke off."""
    import openai

    parts: dict[int, list[str]] = {}  # the calls, as they grow: id, name, arguments
    try:
        for chunk in model.stream_chat(chat_messages(messages), **offered(tools)):
            choices = chunk.raw.choices  # type: ignore[union-attr]
            if not choices:
                continue
            delta = choices[0].delta
            if delta is not None:
                if any(getattr(delta, name, None) for name in _THOUGHTS):
                    yield Heard(is_thought=True)
                if delta.content:
                    yield Heard(delta.content)
                if delta.tool_calls:
                    _grow(parts, delta.tool_calls)
                    yield Heard(is_thought=True)
            if choices[0].finish_reason:
                yield from _called(wire, parts)
                yield Heard(end=choices[0].finish_reason)
                return
        if b"[DONE]" in wire.tail:  # some servers say no more than that
            yield from _called(wire, parts)
            yield Heard(end="stop")
    except openai.APIConnectionError as error:
        raise error.__cause__ or error from None
    except openai.APIError as error:
        said = error.body if isinstance(error.body, str) else error.message
        raise LanguageModelBrokenError(f"{wire.server} broke off: {one_line(said).rstrip('.')}.") from error


def _grow(parts: dict[int, list[str]], told: Sequence[Any]) -> None:
    """Put the parts of calls together. LlamaIndex reads only the first call of each piece, so it is done here."""
    for at, call in enumerate(told):
        part = parts.setdefault(call.index if call.index is not None else at, ["", "", ""])
        arguments = call.function.arguments if call.function else None
        part[0] = part[0] or call.id or ""
        part[1] += (call.function.name if call.function else "") or ""
        part[2] += json.dumps(arguments) if isinstance(arguments, dict) else arguments or ""
    if len(parts) > _MOST_CALLS:
        raise LanguageModelBrokenError("The model asks for more tools at once than anybody can follow.")


def _called(wire: Wire, parts: dict[int, list[str]]) -> Iterator[Heard]:
    calls = []
    for index, (call_id, name, written) in sorted(parts.items()):
        arguments = json.loads(written or "{}")
        if not isinstance(arguments, dict):
            raise LanguageModelBrokenError(f"{wire.server} asks for a tool in a way that cannot be read.")
        calls.append(ToolCall(call_id or f"call_{index}", name, arguments))
    if calls:
        yield Heard(calls=tuple(calls))
