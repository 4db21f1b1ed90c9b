"""The client of OpenAI-compatible servers (llama.cpp, LM Studio, vLLM).

`OpenAILike` over our own transport. The conversion of messages and tools to LlamaIndex's types is used for Ollama, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import httpx

from docmind.config import LLMSettings
from docmind.errors import LanguageModelBrokenError, LanguageModelDownError
from docmind.llm.base import Message, Tool, ToolCall
from docmind.llm.transport import StreamEvent, Wire
from docmind.rich_text import plain_line
from docmind.runtime import ALONE
from docmind.wording import _

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.llms import LLM


def chat_messages(messages: Sequence[Message]) -> list[ChatMessage]:
    """Convert messages; a tool's answer names the call it belongs to.

    Images follow the text: as a list `images` of base64 for Ollama, as `image_url` with a data URL for OpenAI.
    """
    from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock, ToolCallBlock

    made = []
    for message in messages:
        blocks: list[Any] = [TextBlock(text=message.text)]
        blocks += [ImageBlock(image=image, image_mimetype="image/jpeg") for image in message.images]
        blocks += [
            ToolCallBlock(tool_call_id=call.call_id, tool_name=call.name, tool_kwargs=call.arguments)
            for call in message.calls
        ]
        named = {"tool_call_id": message.call_id} if message.role == "tool" else {}
        made.append(ChatMessage(role=MessageRole(message.role), blocks=blocks, additional_kwargs=named))
    return made


def offered(tools: Sequence[Tool]) -> dict[str, Any]:
    """Return the request parameters that offer tools to the model; empty without tools."""
    if not tools:
        return {}
    told = [{"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in tools]
    return {"tools": [{"type": "function", "function": one} for one in told]}


_THOUGHTS = ("reasoning_content", "reasoning")
_MOST_CALLS = 32


def model_of(wire: Wire, settings: LLMSettings, timeout_s: float) -> LLM:
    """Return the model, ready for questions; imports the libraries."""
    with ALONE:
        import openai.resources.chat.completions  # noqa: F401 - `openai` itself would import it during the first question
        from llama_index.llms.openai_like import OpenAILike

    client = httpx.Client(transport=wire, follow_redirects=False, trust_env=False, timeout=timeout_s)
    try:
        return _made(OpenAILike, wire, settings, client, timeout_s)
    except ValueError as error:  # LlamaIndex rejects some names of OpenAI models with another interface
        raise LanguageModelDownError(
            _("{server} offers {model} in a way that DocMind doesn't support.").format(
                server=wire.server, model=plain_line(wire.info.model)
            ),
            hint=_("Choose another model in Settings."),
        ) from error


def _made(kind: Any, wire: Wire, settings: LLMSettings, client: httpx.Client, timeout_s: float) -> LLM:
    return kind(
        model=wire.info.model,
        api_base=wire.endpoint.url,
        api_key="none",  # the transport adds the real one; the environment's is never read
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
    """Run one request without a server: the library's delayed work takes a tenth of a second."""
    chunk = {"id": "", "object": "chat.completion.chunk", "created": 0, "model": "", "choices": [
        {"index": 0, "delta": {"role": "assistant", "content": "."}, "finish_reason": "stop"}
    ]}  # fmt: skip
    said = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n"
    reply = httpx.Response(200, headers={"content-type": "text/event-stream"}, text=said)
    with httpx.Client(transport=httpx.MockTransport(lambda request: reply)) as client:
        from llama_index.llms.openai_like import OpenAILike

        model = _made(OpenAILike, wire, settings, client, 1.0)
        for _unused in model.stream_chat(chat_messages((Message("user", "."),))):
            pass


def hear(model: LLM, wire: Wire, messages: Sequence[Message], tools: Sequence[Tool]) -> Iterator[StreamEvent]:
    """Yield the pieces that the model sends; the last piece has an `end`, unless the server broke off."""
    import openai

    parts: dict[int, list[str]] = {}  # the calls received so far: id, name, arguments
    try:
        for chunk in model.stream_chat(chat_messages(messages), **offered(tools)):
            choices = chunk.raw.choices  # type: ignore[union-attr]
            if not choices:
                continue
            delta = choices[0].delta
            if delta is not None:
                if any(getattr(delta, name, None) for name in _THOUGHTS):
                    yield StreamEvent(is_thought=True)
                if delta.content:
                    yield StreamEvent(delta.content)
                if delta.tool_calls:
                    _grow(parts, delta.tool_calls)
                    yield StreamEvent(is_thought=True)
            if choices[0].finish_reason:
                yield from _called(wire, parts)
                yield StreamEvent(end=choices[0].finish_reason)
                return
        if b"[DONE]" in wire.tail:  # some servers send no other end
            yield from _called(wire, parts)
            yield StreamEvent(end="stop")
    except openai.APIConnectionError as error:
        raise error.__cause__ or error from None
    except openai.APIError as error:
        said = error.body if isinstance(error.body, str) else error.message
        raise wire.broken(said) from error


def _grow(parts: dict[int, list[str]], told: Sequence[Any]) -> None:
    """Add the parts of calls. It is done here because LlamaIndex reads only the first call of each piece."""
    for at, call in enumerate(told):
        part = parts.setdefault(call.index if call.index is not None else at, ["", "", ""])
        arguments = call.function.arguments if call.function else None
        part[0] = part[0] or call.id or ""
        part[1] += (call.function.name if call.function else "") or ""
        part[2] += json.dumps(arguments) if isinstance(arguments, dict) else arguments or ""
    if len(parts) > _MOST_CALLS:
        raise LanguageModelBrokenError(_("The model asked for too many tools at once."))


def _called(wire: Wire, parts: dict[int, list[str]]) -> Iterator[StreamEvent]:
    calls = []
    for index, (call_id, name, written) in sorted(parts.items()):
        arguments = json.loads(written or "{}")
        if not isinstance(arguments, dict):
            raise LanguageModelBrokenError(
                _("{server} asked for a tool in a way that can't be read.").format(server=wire.server)
            )
        calls.append(ToolCall(call_id or f"call_{index}", name, arguments))
    if calls:
        yield StreamEvent(calls=tuple(calls))
